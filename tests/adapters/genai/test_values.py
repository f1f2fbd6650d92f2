"""What is read from the arguments, contents and results that google-genai passes around."""

from collections.abc import Callable
from inspect import signature
from typing import Any

import pytest
from google.genai.types import Content, FunctionCall, FunctionResponse, Part

from hookline.adapters.genai.tools import RefusedInput, _convert, _read_value, _show_input
from hookline.adapters.genai.turns import _ends_with_results, _read_prompt, make_response


def plain(a: int, b: str = "x") -> None: ...
def spread(a: int, *rest: int, **more: int) -> None: ...


@pytest.mark.parametrize(
    ("function", "args", "kwargs", "shown"),
    [
        (plain, (1,), {}, {"a": 1, "b": "x"}),
        (plain, (), {"a": 1, "b": "y"}, {"a": 1, "b": "y"}),
        (plain, (), {"b": "y"}, {"b": "y"}),
        (plain, (), {"a": 1, "c": 2}, {"a": 1, "c": 2}),
        (spread, (1,), {}, {"a": 1}),
        (spread, (1, 2), {"c": 3}, {"a": 1, "rest": (2,), "c": 3}),
        (spread, (1,), {"more": 3}, {"a": 1, "more": 3}),
    ],
)
def test_hooks_read_the_arguments_by_name_with_their_defaults(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], shown: Any
) -> None:
    assert _show_input(signature(function), args, kwargs) == shown


def test_what_hooks_changed_is_converted_as_the_annotations_say() -> None:
    assert _convert(plain, {"a": "3"}) == {"a": 3}
    assert _convert(plain, {"c": "3"}) == {"c": "3"}
    with pytest.raises(RefusedInput, match="gave plain an invalid value of a, so") as refused:
        _convert(plain, {"a": "secret"})
    assert "secret" not in str(refused.value)


def test_what_hooks_changed_stays_where_the_annotations_say_nothing() -> None:
    def odd(a: "nowhere.Type") -> None: ...  # type: ignore[name-defined]  # noqa: F821

    class Opaque: ...

    def own(a: Opaque) -> None: ...

    assert _convert(odd, {"a": "3"}) == {"a": "3"}
    assert _convert(own, {"a": "3"}) == {"a": "3"}


@pytest.mark.parametrize(("value", "read"), [(None, ""), ("a", "a"), ([1], "[1]"), (0, "0")])
def test_hooks_read_a_result_as_text(value: Any, read: str) -> None:
    assert _read_value(value).llm_content == read


RESULT = Part(function_response=FunctionResponse(name="f", response={}))
CALL = Part(function_call=FunctionCall(name="f"))
SAID = Part(text="so")


@pytest.mark.parametrize(
    ("contents", "goes_on"),
    [
        ("so", False),
        ([], False),
        (RESULT, True),
        ([SAID, RESULT], False),
        ([RESULT, RESULT], True),
        (["so", RESULT], False),
        ([Content(parts=[SAID]), RESULT], True),
        ([Content(parts=[RESULT]), Content(parts=[SAID])], False),
        ([Content(parts=[SAID]), Content(parts=[RESULT])], True),
        ([Content(parts=[RESULT, SAID])], False),
        ([CALL, RESULT], True),
        ([Content(parts=[RESULT]), CALL], False),
        ([{"parts": [{"function_response": {"name": "f", "response": {}}}]}], True),
    ],
)
def test_a_turn_goes_on_with_results_alone(contents: Any, goes_on: bool) -> None:
    assert _ends_with_results(contents) == goes_on


@pytest.mark.parametrize(
    ("contents", "prompt"),
    [
        ("so", "so"),
        ([Content(role="user", parts=[SAID]), Content(role="model", parts=[Part(text="x")])], "so"),
        (
            [Content(role="user", parts=[Part(text="a")]), Content(role="user", parts=[SAID])],
            "so",
        ),
        ([Content(role="model", parts=[SAID])], ""),
        (3, "3"),
    ],
)
def test_a_prompt_is_what_the_user_said_last(contents: Any, prompt: str) -> None:
    assert _read_prompt(contents) == prompt


def test_a_response_in_the_models_place_is_complete() -> None:
    response = make_response("no")
    assert response.text == "no"
    [candidate] = response.candidates or []
    assert (candidate.index, str(candidate.finish_reason)) == (0, "FinishReason.STOP")
