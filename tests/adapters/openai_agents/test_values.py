"""What is read from a tool's output for hooks, and what the SDK is given in its place."""

from typing import Any

import pytest
from agents import (
    ToolOutputImage,
    ToolOutputText,
    WebSearchTool,
    function_tool,
    tool_namespace,
)

from hookline.adapters.openai_agents.internals import copy_with
from hookline.adapters.openai_agents.toolcalls import ask_policy, read_output, tool_name

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


async def test_a_policy_is_a_word_or_a_function_that_may_be_awaited() -> None:
    async def later(*given: Any) -> bool:
        return given == (1, 2)

    assert await ask_policy(True) is True
    assert await ask_policy(False, 1, 2) is False
    assert await ask_policy(later, 1, 2) is True
    assert await ask_policy(lambda *given: given == (1,), 1, 2) is False


def test_a_tool_has_its_namespace_before_its_name() -> None:
    tool = function_tool(lambda: "", name_override="pay")
    [spaced] = tool_namespace(name="bank", description="A bank.", tools=[tool])
    assert (tool_name(tool), tool_name(spaced)) == ("pay", "bank.pay")
    assert tool_name(WebSearchTool()) == "web_search"


def test_a_copy_has_the_changes_and_the_tool_is_as_it_was() -> None:
    tool = function_tool(lambda: "", name_override="pay")
    copied = copy_with(tool, name="send")
    assert (copied.name, tool.name, copied.params_json_schema) == (
        "send",
        "pay",
        tool.params_json_schema,
    )
