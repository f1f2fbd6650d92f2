"""The variables that hooks find, and how the words of a command refer to them."""

import re

from hypothesis import given
from hypothesis import strategies as st

from hookline.wire.hooks import expanded, hook_variables


def test_every_hook_finds_nine_variables() -> None:
    assert hook_variables(project_dir="/p", cwd="/p/c", session_id="s-1", event="BeforeTool") == {
        "HOOKLINE_PROJECT_DIR": "/p",
        "LLXPRT_PROJECT_DIR": "/p",
        "GEMINI_PROJECT_DIR": "/p",
        "CLAUDE_PROJECT_DIR": "/p",
        "HOOKLINE_CWD": "/p/c",
        "GEMINI_CWD": "/p/c",
        "HOOKLINE_SESSION_ID": "s-1",
        "GEMINI_SESSION_ID": "s-1",
        "HOOKLINE_EVENT": "BeforeTool",
    }


@given(
    text=st.text("$AB{}1é_ -\n"),
    values=st.dictionaries(st.text("AB1é_ -$}", max_size=3), st.text("$AB{}")),
)
def test_what_a_shell_would_call_a_variable_is_replaced_once(
    text: str, values: dict[str, str]
) -> None:
    name = "([A-Za-z_][A-Za-z0-9_]*)"
    variable = re.compile(rf"\${name}|\${{{name}}}")
    expected = variable.sub(lambda found: values.get(found[1] or found[2], found[0]), text)
    assert expanded(text, values) == expected
