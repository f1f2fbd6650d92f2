"""What is read from a tool's output for hooks, and what the SDK is given in its place."""

from types import SimpleNamespace
from typing import Any

import pytest
from agents import ShellCommandOutput, ShellResult, ToolOutputImage, ToolOutputText, function_tool
from agents.editor import ApplyPatchOperation, ApplyPatchResult

from hookline.adapters.openai_agents.localtools import (
    _read_change,
    _read_shell,
    _show_change,
)
from hookline.adapters.openai_agents.toolcalls import (
    _apply_outcome,
    ask_policy,
    copy_with,
    read_output,
    tool_name,
)
from hookline.calls.tool import ToolOutcome, ToolResult

TEXT, IMAGE = ToolOutputText(text="a"), ToolOutputImage(file_id="f", detail="low")


@pytest.mark.parametrize(
    ("value", "read"),
    [
        ("a", "a"),
        (None, ""),
        ({"n": 1}, '{"n":1}'),
        ([], "[]"),
        ([1, 2], "[1,2]"),
        (TEXT, [{"text": "a"}]),
        ([TEXT, IMAGE], [{"text": "a"}, {"type": "image", "file_id": "f", "detail": "low"}]),
        ({"type": "text", "text": None}, [{"text": ""}]),
        (
            ({"type": "file", "filename": "x", "file_data": "d"},),
            [{"type": "file", "filename": "x"}],
        ),
        ([TEXT, "b"], None),
        ({"type": "video"}, '{"type":"video"}'),
    ],
    ids=str,
)
def test_hooks_read_texts_and_the_kinds_of_all_else(value: Any, read: Any) -> None:
    content = read_output(value).llm_content
    assert isinstance(content, str) if read is None else content == read


def apply(value: Any, **more: Any) -> Any:
    return _apply_outcome(ToolOutcome(result=ToolResult("read"), value=value, **more))


def test_the_sdk_is_given_the_tools_own_object_unless_hooks_changed_it() -> None:
    for value in ("a", {"n": 1}, [TEXT]):
        assert apply(value) is value
        for change in ({"replaced": True}, {"ran": False, "added": "more"}):
            assert apply(value, **change) == "read"


@pytest.mark.parametrize(
    ("value", "given"),
    [
        ("a", "read"),
        ({"n": 1}, "read"),
        (IMAGE, [IMAGE, ToolOutputText(text="more")]),
        ([TEXT, IMAGE], [TEXT, IMAGE, ToolOutputText(text="more")]),
        ([], "read"),
    ],
    ids=str,
)
def test_what_hooks_add_is_a_part_among_parts_and_a_text_elsewhere(value: Any, given: Any) -> None:
    assert apply(value, added="more") == given


async def test_a_policy_is_a_word_or_a_function_that_may_be_awaited() -> None:
    async def later(*given: Any) -> bool:
        return given == (1, 2)

    assert await ask_policy(True) is True
    assert await ask_policy(False, 1, 2) is False
    assert await ask_policy(later, 1, 2) is True
    assert await ask_policy(lambda *given: given == (1,), 1, 2) is False


def test_a_tool_has_its_namespace_before_its_name() -> None:
    for space, name in ((None, "pay"), ("", "pay"), ("bank", "bank.pay")):
        assert tool_name(SimpleNamespace(name="pay", _tool_namespace=space)) == name
    assert tool_name(SimpleNamespace(name="pay")) == "pay"


def test_a_copy_has_the_changes_and_the_tool_is_as_it_was() -> None:
    tool = function_tool(lambda: "", name_override="pay")
    copied = copy_with(tool, name="send")
    assert (copied.name, tool.name, copied.params_json_schema) == (
        "send",
        "pay",
        tool.params_json_schema,
    )


def test_hooks_read_what_commands_printed() -> None:
    outputs = [
        ShellCommandOutput(stdout="a", stderr="b"),
        ShellCommandOutput(),
        ShellCommandOutput(stdout="c"),
    ]
    assert _read_shell(ShellResult(outputs)).llm_content == "a\nb\nc"
    assert _read_shell("plain").llm_content == "plain"


def test_hooks_read_a_change_of_a_file_without_what_it_does_not_say() -> None:
    deleted = ApplyPatchOperation(type="delete_file", path="a")
    changed = ApplyPatchOperation(type="update_file", path="a", diff="+b")
    assert _show_change(deleted) == {"type": "delete_file", "path": "a"}
    assert _show_change(changed) == {"type": "update_file", "path": "a", "diff": "+b"}
    assert _read_change(ApplyPatchResult(status="completed", output="x")).llm_content == "x"
    assert _read_change("y").llm_content == "y"
