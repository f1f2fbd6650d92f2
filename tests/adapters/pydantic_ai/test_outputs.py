"""Structured answers as hooks read them, and the calls that are made of what they left."""

from dataclasses import replace
from typing import Any

import pytest
from pydantic_ai.messages import ModelResponse, TextPart, ThinkingPart, ToolCallPart
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.tools import ToolDefinition

from hookline import BlockedByHook
from hookline.adapters.pydantic_ai.outputs import put_outputs, show_outputs

PARAMETERS = ModelRequestParameters(output_tools=[ToolDefinition(name="final")])
ANSWER = ToolCallPart("final", {"a": 1}, tool_call_id="1")
OTHER = ToolCallPart("shell", {"a": 1}, tool_call_id="2")
SAID = TextPart("so ")


def edit(response: ModelResponse, *parts: Any) -> ModelResponse:
    """What becomes of a response whose parts hooks changed into these."""
    shown = show_outputs(response, PARAMETERS)
    return put_outputs(replace(shown, parts=list(parts)), shown, response)


def test_a_structured_answer_is_shown_as_the_text_of_its_json() -> None:
    shown = show_outputs(ModelResponse([SAID, ANSWER, OTHER]), PARAMETERS)
    assert [type(part) for part in shown.parts] == [TextPart, TextPart, ToolCallPart]
    assert shown.parts[1] == TextPart('{"a":1}')
    assert shown.parts[2] is OTHER


@pytest.mark.parametrize("parameters", [PARAMETERS, None])
def test_a_response_without_one_is_shown_and_left_as_it_is(parameters: Any) -> None:
    response = ModelResponse([SAID, OTHER] if parameters else [ANSWER])
    assert show_outputs(response, parameters) is response
    changed = ModelResponse([TextPart("no")])
    assert put_outputs(changed, response, response) is changed


def test_what_hooks_leave_is_the_response_itself() -> None:
    response = ModelResponse([ANSWER])
    shown = show_outputs(response, PARAMETERS)
    assert put_outputs(shown, shown, response) is response
    assert edit(response, *shown.parts).parts[0] is ANSWER


def test_a_changed_text_is_the_call_with_other_arguments() -> None:
    made = edit(ModelResponse([SAID, ANSWER]), SAID, TextPart('{"a": 2}'))
    assert made.parts == [SAID, replace(ANSWER, args={"a": 2})]
    written = replace(ANSWER, args='{"a":1}')
    [call] = edit(ModelResponse([written]), TextPart('{"a": 2}')).parts
    assert call == replace(written, args='{"a": 2}')


def test_one_text_for_all_is_a_text_and_the_answer_at_its_end() -> None:
    response = ModelResponse([SAID, TextPart("x"), ANSWER])
    thought = ThinkingPart("hm")
    made = edit(response, thought, TextPart('well: {"a": 2}'))
    assert made.parts == [thought, TextPart("well: "), replace(ANSWER, args={"a": 2})]
    assert edit(response, TextPart('{"a": 2}')).parts == [replace(ANSWER, args={"a": 2})]
    assert edit(response, TextPart('{"a": 2}'), thought).parts[1:] == [thought]


@pytest.mark.parametrize("text", ["no", "", "[1]", '{"a"', "3"])
@pytest.mark.parametrize("before", [[], [SAID]])
def test_a_text_without_the_json_of_an_object_is_refused(text: str, before: list[Any]) -> None:
    with pytest.raises(BlockedByHook, match="left no JSON object"):
        edit(ModelResponse([*before, ANSWER]), TextPart(text))


def test_one_text_cannot_be_the_answer_of_two_calls_nor_none_that_of_one() -> None:
    twice = ModelResponse([SAID, ANSWER, replace(ANSWER, tool_call_id="3")])
    with pytest.raises(BlockedByHook, match="left no JSON object"):
        edit(twice, TextPart('{"a": 2}'))
    with pytest.raises(BlockedByHook, match="left no JSON object"):
        edit(ModelResponse([SAID, ANSWER]), ThinkingPart("hm"))
