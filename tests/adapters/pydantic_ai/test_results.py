"""A tool's result as hooks read it, and what Pydantic AI is given in its place."""

from typing import Any

import pytest
from pydantic_ai.messages import BinaryContent, TextContent, ToolReturn
from pydantic_ai.tools import ToolDenied

from hookline.adapters.pydantic_ai.results import apply_outcome, read_result
from hookline.calls.tool import ToolOutcome, ToolResult

IMAGE = BinaryContent(b"x", media_type="image/png", identifier="i")
SHOWN = {"type": "binary", "mediaType": "image/png", "id": "i"}


@pytest.mark.parametrize(
    ("value", "read"),
    [
        (None, ""),
        ("a", "a"),
        ([1, 2], "[1,2]"),
        ({"a": 1}, '{"a":1}'),
        (ToolDenied("no"), "no"),
        (IMAGE, [SHOWN]),
        (["a", IMAGE], [{"text": "a"}, SHOWN]),
        (ToolReturn("a"), "a"),
        (ToolReturn("a", content="b"), [{"text": "a"}, {"text": "b"}]),
        (
            ToolReturn(["a"], content=[TextContent("b"), IMAGE]),
            [{"text": "a"}, {"text": "b"}, SHOWN],
        ),
    ],
)
def test_hooks_read_what_the_model_reads(value: Any, read: Any) -> None:
    assert read_result(value).llm_content == read


@pytest.mark.parametrize(
    ("metadata", "shown"), [({"a": 1}, {"a": 1}), (None, None), ("a", None), ({}, {})]
)
def test_hooks_read_the_metadata_that_a_tool_gives(metadata: Any, shown: Any) -> None:
    assert read_result(ToolReturn("a", metadata=metadata)).metadata == shown
    assert read_result("a").metadata is None


def apply(value: Any, **more: Any) -> Any:
    return apply_outcome(ToolOutcome(result=ToolResult("read"), value=value, **more))


def test_a_result_that_hooks_leave_is_the_tools_own_object() -> None:
    for value in ("a", {"b": 1}, ToolReturn("a")):
        assert apply(value) is value


@pytest.mark.parametrize("more", [{"replaced": True}, {"ran": False}, {"added": "more"}])
def test_a_text_is_what_hooks_left_of_it(more: dict[str, Any]) -> None:
    assert apply("a", **more) == "read"


@pytest.mark.parametrize("more", [{"replaced": True}, {"ran": False, "added": "more"}])
def test_a_replaced_value_is_the_text_of_hooks(more: dict[str, Any]) -> None:
    assert apply({"b": 1}, **more) == "read"


@pytest.mark.parametrize(
    ("value", "content"),
    [
        ({"b": 1}, "more"),
        (ToolReturn("a"), "more"),
        (ToolReturn("a", content="b"), ["b", "more"]),
        (ToolReturn("a", content=["b", IMAGE]), ["b", IMAGE, "more"]),
    ],
)
def test_what_hooks_add_stands_beside_a_value_that_is_not_a_text(value: Any, content: Any) -> None:
    applied = apply(value, added="more")
    assert applied.content == content
    own = value.return_value if isinstance(value, ToolReturn) else value
    assert applied.return_value == own
