"""A tool's result as hooks read it, and what ADK is given in its place."""

from typing import Any

import pytest
from google.genai import types

from hookline.adapters.adk.results import ADDED, apply_outcome, holds_media, read_result
from hookline.calls.tool import ToolError, ToolOutcome, ToolResult

IMAGE = types.Part(inline_data=types.Blob(mime_type="image/png", data=b"x"))
FILE = types.Part(file_data=types.FileData(mime_type="image/gif", file_uri="gs://a"))


@pytest.mark.parametrize(
    ("value", "read", "fails"),
    [
        (None, "", False),
        ("a", "a", False),
        ({"result": "a"}, "a", False),
        ({"result": {"error": "no"}}, "no", True),
        ({"error": "no"}, "no", True),
        ({"error": "no", "code": 3}, '{"error":"no","code":3}', False),
        ({"result": "a", "code": 3}, '{"result":"a","code":3}', False),
        ({"content": "a"}, '{"content":"a"}', False),
        ([1, 2], "[1,2]", False),
        ({"content": [{"text": "a"}]}, [{"text": "a"}], False),
        ({"content": [{"text": "a"}], "isError": True}, [{"text": "a"}], True),
        (
            {"content": [{"text": "a"}], "structuredContent": {"b": 1}},
            [{"text": "a"}, {"text": '{"b":1}'}],
            False,
        ),
        (IMAGE, [{"type": "media", "mimeType": "image/png"}], False),
        (["a", FILE], [{"text": "a"}, {"type": "media", "mimeType": "image/gif"}], False),
        ([types.Part(text="a")], [{"text": "a"}], False),
    ],
)
def test_hooks_read_what_the_model_reads(value: Any, read: Any, fails: bool) -> None:
    result = read_result(value)
    assert result.llm_content == read
    assert (result.error is not None) == fails


@pytest.mark.parametrize(
    ("value", "holds"),
    [
        (IMAGE, True),
        ([{"a": (1, IMAGE)}], True),
        ({"a": "b"}, False),
        ([], False),
        ("a", False),
    ],
)
def test_media_are_found_wherever_they_are_in_a_result(value: Any, holds: bool) -> None:
    assert holds_media(value) == holds


def outcome(value: Any = None, read: str = "read", **more: Any) -> ToolOutcome:
    error = ToolError("tool_failed", read) if more.pop("fails", False) else None
    return ToolOutcome(result=ToolResult(read, error=error), value=value, **more)


@pytest.mark.parametrize(
    ("given", "applied"),
    [
        (outcome("a"), None),
        (outcome({"b": 1}), None),
        (outcome("a", added="more"), {"result": "a\n\nmore"}),
        (outcome("", added="more"), {"result": "more"}),
        (outcome({"b": 1}, added="more"), {"b": 1, ADDED: "more"}),
        (outcome([1], added="more"), {"result": [1], ADDED: "more"}),
        (outcome("a", replaced=True), {"result": "read"}),
        (outcome("a", replaced=True, fails=True), {"error": "read"}),
        (outcome(ran=False), {"error": "read"}),
        (outcome("a", followed=True), {"result": "a"}),
        (outcome({"b": 1}, followed=True), {"b": 1}),
        (outcome([1], followed=True, added="more"), {"result": [1], ADDED: "more"}),
        (outcome("a", followed=True, replaced=True), {"result": "read"}),
        (outcome("a", followed=True, ran=False), {"error": "read"}),
    ],
)
def test_a_result_takes_the_place_of_the_tools_own_only_where_hooks_changed_it(
    given: ToolOutcome, applied: Any
) -> None:
    assert apply_outcome(given) == applied
