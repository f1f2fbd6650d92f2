"""Which prompt a run goes on with, and whether it may end with an open question."""

from typing import Any, Union

import pytest
from pydantic_ai.messages import (
    ImageUrl,
    ModelRequest,
    ModelResponse,
    TextContent,
    TextPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.tools import DeferredToolRequests

from hookline.adapters.pydantic_ai.capability import (
    _find_last_prompt,
    _has_deferred,
    _mark_text,
    _read_prompt,
)

IMAGE = ImageUrl(url="https://example.org/a.png")
RETURNED = ToolReturnPart("look", content="seen", tool_call_id="1")
OTHER = TextContent("b", metadata={"source": "other"})
ADDED = _mark_text(["x", "y"])


def ask(*contents: Any) -> ModelRequest:
    return ModelRequest([UserPromptPart(content) for content in contents])


@pytest.mark.parametrize(
    ("messages", "prompt"),
    [
        ([], None),
        ([ModelResponse([TextPart("b")])], None),
        ([ask("a"), ModelResponse([TextPart("b")])], "a"),
        ([ask("a"), ask("b")], "b"),
        ([ask("a", "b")], "b"),
        ([ask("a"), ModelRequest([RETURNED, UserPromptPart("b")])], "a"),
        ([ask("a"), ask([ADDED])], "a"),
        ([ask("a", [ADDED])], "a"),
        ([ask("a", [ADDED, "b"])], [ADDED, "b"]),
        ([ask("a", [OTHER])], [OTHER]),
    ],
)
def test_the_last_prompt_is_the_users_and_neither_a_tools_nor_a_hooks(
    messages: Any, prompt: Any
) -> None:
    assert _find_last_prompt(messages) == prompt


@pytest.mark.parametrize(
    ("prompt", "text"),
    [(None, ""), ("a", "a"), (["a", IMAGE, TextContent("b")], "a\n\nb"), ([IMAGE], "")],
    ids=str,
)
def test_a_prompt_is_shown_as_its_texts(prompt: Any, text: str) -> None:
    assert _read_prompt(prompt) == text
    assert ADDED.content == "x\n\ny"


@pytest.mark.parametrize(
    ("output_type", "may_defer"),
    [
        (str, False),
        (DeferredToolRequests, True),
        ([str, DeferredToolRequests], True),
        ((int, str), False),
        (str | DeferredToolRequests, True),
        (Union[str, int], False),  # noqa: UP007
        ([str, [int, int | DeferredToolRequests]], True),
        ("DeferredToolRequests", False),
    ],
    ids=str,
)
def test_a_run_may_end_with_a_question_if_its_output_types_say_so(
    output_type: Any, may_defer: bool
) -> None:
    assert _has_deferred(output_type) is may_defer
