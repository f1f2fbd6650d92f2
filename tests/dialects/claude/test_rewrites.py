"""What hooks put in place of a tool's input or result reaches the host under the host's names."""

from typing import Any

import msgspec
import pytest

from hookline.dialects import EventDocument, HookAnswer
from hookline.dialects.claude.tools import TOOLS, show_as_host
from hookline.dialects.tools import ToolAlias, ToolResponse
from hookline.wire.events import HookEventName
from hookline.wire.fired import Facts, Original
from tests.dialects.claude.answering import (
    CLAUDE,
    apply,
    behavior,
    document_of,
    own,
    permission,
    read,
)
from tests.eleven import Json


def rewrite(tool: str, given: Json, updated: Json, **more: Any) -> HookAnswer:
    answer = own("PreToolUse", updatedInput=updated)
    return read("PreToolUse", 0, answer, tool_name=tool, tool_input=given, **more)


def rewritten(tool: str, given: Json, updated: Json) -> Json:
    said = rewrite(tool, given, updated)
    assert said.failed is None
    changed: Json = apply("PreToolUse", said, tool_name=tool, tool_input=given).tool_input
    return changed


@pytest.mark.parametrize(
    ("tool", "given", "updated", "left"),
    [
        # A path that was made absolute to be shown stays as it was given.
        (
            "read_file",
            {"absolute_path": "a.py", "limit": 5},
            {"file_path": "/repo/a.py"},
            {"absolute_path": "a.py"},
        ),
        ("read_file", {"path": "a.py"}, {"file_path": "/etc/b"}, {"path": "/etc/b"}),
        ("read_file", {"path": "a.py"}, {}, {}),
        ("read_file", {"path": "a"}, {"path": "/b", "file_path": "/repo/a"}, {"path": "/b"}),
        (
            "write_file",
            {"file_path": "a", "content": "x"},
            {"file_path": "/repo/a", "content": "y", "novel": 1},
            {"file_path": "a", "content": "y", "novel": 1},
        ),
        ("grep", {"pattern": "p", "include": "*.py"}, {"pattern": "p"}, {"pattern": "p"}),
        ("task", {"goal_prompt": "g"}, {"prompt": "h"}, {"goal_prompt": "h"}),
        ("mcp__s__t", {"a": 1, "b": {"c": [1]}}, {"b": {"c": []}}, {"b": {"c": []}}),
        ("mcp__s__t", {"a": 1}, {"a": None}, {"a": None}),
        ("unknown", {"a": 1}, {"a": 1}, {"a": 1}),
    ],
)
def test_an_updated_input_replaces_the_whole_under_the_hosts_names(
    tool: str, given: Json, updated: Json, left: Json
) -> None:
    assert rewritten(tool, given, updated) == left


def test_only_what_was_changed_is_named_so_that_hooks_beside_it_keep_their_changes() -> None:
    given = {"file_path": "a", "content": "x", "mode": 1}
    first = rewrite("write_file", given, {"file_path": "/repo/a", "content": "y", "mode": 1})
    second = rewrite("write_file", given, {"file_path": "/repo/a", "content": "x"})
    fields: Json = {"tool_name": "write_file", "tool_input": given}
    for answers in ((first, second), (second, first)):
        merged = apply("PreToolUse", *answers, **fields)
        assert merged.tool_input == {"file_path": "a", "content": "y"}


def test_of_two_hooks_that_disagree_about_a_field_the_later_one_counts() -> None:
    given = {"a": 1, "b": 1}
    changing = rewrite("t", given, {"a": 2, "b": 1})
    removing = rewrite("t", given, {"b": 1})
    fields: Json = {"tool_name": "t", "tool_input": given}
    assert apply("PreToolUse", changing, removing, **fields).tool_input == {"b": 1}
    assert apply("PreToolUse", removing, changing, **fields).tool_input == {"a": 2, "b": 1}


TWICE: Json = {"path": "a", "absolute_path": "b"}


@pytest.mark.parametrize(
    ("given", "updated"),
    [
        (TWICE, {"file_path": "/c"}),
        ({"path": "a"}, {"path": "/b", "file_path": "/c"}),
    ],
)
def test_two_names_for_one_field_are_a_failure_but_never_lose_a_denial(
    given: Json, updated: Json
) -> None:
    fields: Json = {"tool_name": "read_file", "tool_input": given}
    said = rewrite("read_file", given, updated)
    assert said.failed == "malformed"
    assert "all stand for" in (said.error or "")
    allowed = read("PreToolUse", 0, permission("allow", updatedInput=updated), **fields)
    assert allowed.failed == "malformed"
    denied = read("PreToolUse", 0, permission("deny", updatedInput=updated), **fields)
    assert apply("PreToolUse", denied, **fields).denied
    asked = read("PreToolUse", 0, permission("ask", updatedInput=updated), **fields)
    assert apply("PreToolUse", asked, **fields).asks
    answer = own("PreToolUse", updatedInput=updated)
    exited = read("PreToolUse", 2, answer, "no", **fields)
    assert apply("PreToolUse", exited, **fields).reason == "no"
    for each in (denied, asked, exited):
        assert any("updatedInput was ignored" in warning for warning in each.warnings)


def test_an_input_that_nobody_could_show_is_no_input() -> None:
    deep: Any = 1
    for _ in range(300):
        deep = [deep]
    for odd in (deep, float("inf")):
        document = document_of("PreToolUse")
        said = CLAUDE.read_value(document, own("PreToolUse", updatedInput={"a": odd}))
        assert said.failed == "malformed"
        denied = CLAUDE.read_value(document, permission("deny", updatedInput={"a": odd}))
        assert denied.output == {"decision": "deny"}


def test_the_hosts_own_tools_are_mapped_as_it_declares_them() -> None:
    tools = {**TOOLS, "my_shell": ToolAlias("Bash", {"command": ("cmd",)})}
    payload = {"tool_name": "my_shell", "tool_input": {"cmd": "ls", "shell": "zsh"}, "cwd": "/"}
    document = EventDocument(HookEventName.BEFORE_TOOL, payload, tools=tools)
    original = {"tool_name": "Bash", "tool_input": {"command": "ls", "shell": "zsh"}}
    for each in (
        document,
        msgspec.structs.replace(document, facts=Facts(original=Original("claude", original))),
    ):
        said = CLAUDE.read_value(each, own("PreToolUse", updatedInput={"command": "ls -l"}))
        assert said.output == {
            "hookSpecificOutput": {"tool_input": {"cmd": "ls -l"}, "removeToolInput": ["shell"]}
        }


def test_a_call_that_claude_code_made_is_rewritten_in_its_own_words() -> None:
    call = {"notebook_path": "/n", "new_source": "x", "cell_id": "1"}
    shown = show_as_host("NotebookEdit", call)
    original = {"tool_name": "NotebookEdit", "tool_input": call}
    document = EventDocument(
        HookEventName.BEFORE_TOOL,
        {"tool_name": shown.name, "tool_input": shown.input, "cwd": "/"},
        Facts(original=Original("claude", original)),
    )
    updated = {"notebook_path": "/n", "new_source": "y"}
    said = CLAUDE.read_value(document, own("PreToolUse", updatedInput=updated))
    assert said.output == {
        "hookSpecificOutput": {"tool_input": {"new_string": "y"}, "removeToolInput": ["cell_id"]}
    }


@pytest.mark.parametrize(("host", "field"), [("my_shell", "cmd"), ("run_shell_command", "command")])
def test_a_call_in_claude_codes_words_is_rewritten_in_those_that_the_host_was_given(
    host: str, field: str
) -> None:
    tools = {**TOOLS, "my_shell": ToolAlias("Bash", {"command": ("cmd",)})}
    document = EventDocument(
        HookEventName.BEFORE_TOOL,
        {"tool_name": host, "tool_input": {field: "ls"}, "cwd": "/"},
        Facts(original=Original("claude", {"tool_name": "Bash", "tool_input": {"command": "ls"}})),
        tools,
    )
    said = CLAUDE.read_value(document, own("PreToolUse", updatedInput={"command": "ls -l"}))
    assert said.output == {"hookSpecificOutput": {"tool_input": {field: "ls -l"}}}


def test_a_permission_rewrites_the_input_as_well() -> None:
    fields: Json = {"tool_name": "read_file", "tool_input": {"path": "a"}}
    allowed = behavior("allow", updatedInput={"file_path": "/b"})
    said = read("PermissionRequest", 0, allowed, **fields)
    answer = apply("PermissionRequest", said, **fields)
    assert answer.tool_input == {"path": "/b"}
    assert answer.final_output is not None
    assert answer.final_output.decision == "allow"


def refuse(*_: object) -> str:
    raise ValueError("not like that")


@pytest.mark.parametrize(
    ("tool", "output", "text"),
    [
        ("read_file", {"type": "text", "file": {"filePath": "f", "content": "c"}}, "c"),
        ("read_file", {"type": "text", "file": {"filePath": "f"}}, None),
        ("search_file_content", {"content": "c", "filenames": []}, "c"),
        ("glob", {"filenames": ["a", "b"]}, "a\nb"),
        ("glob", {"filenames": []}, ""),
        ("web_fetch", {"result": "r"}, "r"),
        ("web_fetch", {"odd": "r"}, None),
        ("task", {"content": [{"type": "text", "text": "t"}]}, "t"),
        # A tool with no declared form takes text and blocks alone.
        ("write_file", {"filePath": "f"}, None),
        ("write_file", [{"type": "text", "text": "t"}], "t"),
        ("write_file", [{"type": "image"}], None),
        ("write_file", [], ""),
        ("mcp__s__t", {"content": [{"type": "text", "text": "t"}], "isError": False}, "t"),
        ("mcp__s__t", {"rows": [1]}, '{"rows":[1]}'),
        ("mcp__s__t", ["a"], None),
        ("mcp__s__t", True, None),
        ("my_shell", {"stdout": "out", "stderr": ""}, "out"),
        ("refusing", {"a": 1}, None),
        ("refusing", "text", "text"),
    ],
)
@pytest.mark.parametrize("field", ["updatedToolOutput", "updatedMCPToolOutput"])
def test_a_new_result_is_read_in_the_form_that_the_tool_has(
    tool: str, output: object, text: str | None, field: str
) -> None:
    refusing = ToolAlias("Refusing", response=ToolResponse(refuse, refuse))
    tools = {**TOOLS, "refusing": refusing, "my_shell": ToolAlias("Bash")}
    fields: Json = {"tool_name": tool, "tool_input": {}}
    payload = document_of("PostToolUse", **fields).payload
    document = EventDocument(HookEventName.AFTER_TOOL, payload, tools=tools)
    value = own("PostToolUse", **{field: output})
    said = CLAUDE.read_value(document, value)
    assert apply("PostToolUse", said, **fields).tool_output == text
    assert any("is not in the form" in warning for warning in said.warnings) is (text is None)
    strict = CLAUDE.read_value(document, value, strict=True)
    assert strict.failed == ("malformed" if text is None else None)


@pytest.mark.parametrize("code", [0, 1, 2])
@pytest.mark.parametrize(
    "stdout",
    [
        own("PostToolUse", updatedToolOutput={"odd": "[redacted]"}),
        own("PreToolUse", updatedToolOutput="[redacted]"),
        '{"hookSpecificOutput": {"updatedToolOutput": "[redac',
    ],
)
def test_a_result_that_a_failing_guard_was_to_replace_is_not_shown(
    code: int, stdout: object
) -> None:
    said = read("PostToolUse", code, stdout, "err", strict=True)
    assert apply("PostToolUse", said, strict=True).denied
