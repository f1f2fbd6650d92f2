"""The index: the page that answers each question."""

from hookline._support.places import STATE_VARIABLE
from hookline.cli.failures import ASKS
from tools.reference.markdown import page, table

_QUESTIONS = (
    ("What does a hook on AfterModel read?", "[AfterModel](events/after-model.md)"),
    ("Which events are there, and which can be blocked?", "[events](events/index.md)"),
    ("What may a hook answer?", "[events](events/index.md#what-every-hook-may-answer)"),
    ("Which key makes a hook fail closed?", "[settings](settings.md#fail-closed): `onFailure`"),
    ("What may stand in a settings file?", "[settings](settings.md)"),
    ("Which layer wins?", "[settings](settings.md#which-layer-wins)"),
    ("For which tools does a hook run?", "[matchers](matchers.md)"),
    (f"What does exit code {ASKS} mean?", "[exit codes](exit-codes.md): a hook asks"),
    ("What does exit code 1 or 2 of a hook mean?", "[exit codes](exit-codes.md#of-a-hook)"),
    ("Where is the system policy file?", "[files](files.md#settings)"),
    ("What stays after an uninstall?", "[files](files.md#uninstall)"),
    ("Which variables does a hook find?", "[environment](environment.md)"),
    (f"What does `{STATE_VARIABLE}` do?", "[environment](environment.md)"),
    ("What does `fire --json` print?", "[fire --json](fire-json.md)"),
    ("What does `timeout` or `malformed` mean?", "[failures](failures.md)"),
    (
        "What does a rule of `hookline check` mean?",
        "[failures](failures.md#rules-of-hookline-check)",
    ),
    ("Which options has a command?", "[commands](commands.md)"),
    ("What can I call from Python?", "[Python API](api.md)"),
)


def render() -> str:
    return page(
        "Reference",
        "Written from the code, and checked against it by the test suite. For how to do things, "
        "see the guides.",
        table(("question", "answer"), _QUESTIONS),
    )
