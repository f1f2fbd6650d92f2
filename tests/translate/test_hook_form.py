"""Requests and responses in hooks' own form: what is read of them, changed and refused."""

from typing import Any

import pytest

from hookline.errors import TranslationError
from hookline.translate.hook_form import HookFormTranslator
from tests.translate.forms import Json, said

own = HookFormTranslator()


def test_messages_that_a_hook_does_not_touch_are_the_same_objects_in_their_order() -> None:
    first, second = {"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}
    third = {"content": "c"}
    request = {"messages": [first, second, third]}
    assert own.to_hook_llm_request(request)["messages"] == said(
        ("user", "a"), ("model", "b"), ("user", "c")
    )
    wanted = said(("user", "a"), ("model", "B"), ("user", "c"), ("model", "d"))
    edited = own.from_hook_llm_request({"messages": wanted}, request)["messages"]
    assert edited == [first, {"role": "assistant", "content": "B"}, third, edited[3]]
    assert (edited[0] is first, edited[2] is third) == (True, True)
    # The word for the model is the request's own.
    assert edited[3] == {"role": "assistant", "content": "d"}
    plain = {"messages": [first]}
    made = own.from_hook_llm_request({"messages": wanted}, plain)["messages"]
    assert [each["role"] for each in made] == ["user", "model", "user", "model"]


def test_several_changes_of_a_conversation_are_made_each_in_its_place() -> None:
    request = {"messages": said(("user", "a"), ("model", "b"), ("user", "c"), ("model", "d"))}
    wanted = said(("user", "a"), ("user", "c"), ("model", "D"), ("user", "e"))
    assert own.from_hook_llm_request({"messages": wanted}, request)["messages"] == wanted
    left = said(("model", "b"), ("model", "d"))
    assert own.from_hook_llm_request({"messages": left}, request)["messages"] == left


@pytest.mark.parametrize(
    ("message", "problem"),
    [
        (5, "messages cannot hold int"),
        ({"role": "tool", "content": "a"}, r"messages\[0\].role 'tool' is not one of user, model"),
        ({"role": 5, "content": "a"}, r"messages\[0\].role 5 is not one of"),
        ({"role": "user"}, r"messages\[0\].content must be a string, not NoneType"),
        ({"content": "a", "name": "x"}, r"messages\[0\] has name, which hooks cannot be shown"),
    ],
)
def test_a_message_that_holds_more_than_hooks_are_shown_is_refused(
    message: Any, problem: str
) -> None:
    with pytest.raises(TranslationError, match=problem):
        own.to_hook_llm_request({"messages": [message]})
    fine = {"role": "user", "content": "a", "name": ""}
    assert own.to_hook_llm_request({"messages": [fine]})["messages"] == said(("user", "a"))


@pytest.mark.parametrize(
    "response",
    [
        {"text": 5},
        {"candidates": [5]},
        {"candidates": [{"content": 5}]},
        {"candidates": [{"content": {"parts": [5]}}]},
        {"candidates": [{"content": {"parts": ["a"]}}], "text": "b"},
        {"candidates": [{"content": {"note": "a"}}]},
        {"usageMetadata": 5},
        5,
    ],
    ids=str,
)
def test_a_response_of_another_shape_is_refused_whatever_is_asked_of_it(response: Any) -> None:
    for ask in (own.to_hook_llm_response, own.call_names):
        with pytest.raises(TranslationError):
            ask(response)
    with pytest.raises(TranslationError):
        own.drop_calls(response, ["a"])


RATED: Json = {
    "candidates": [
        {"content": {"parts": ["a"]}, "index": 0, "safetyRatings": [{"category": "X", "n": 1}]},
        {"content": {"role": "model", "parts": ["b"]}, "finishReason": "STOP"},
    ],
    "usageMetadata": {"totalTokenCount": 3, "n": 1},
}


def edit(change: Json, response: Json = RATED) -> Json:
    edited: Json = own.from_hook_llm_response(change, response)
    return edited


def test_candidates_are_changed_in_what_a_hook_names() -> None:
    first, second = RATED["candidates"]
    changed = edit({"candidates": [{"finishReason": "STOP"}, {"index": 4}]})
    assert changed["candidates"] == [{**first, "finishReason": "STOP"}, {**second, "index": 4}]
    assert changed["text"] == "a"
    same = edit({"candidates": [{"index": 0}, {"finishReason": "STOP"}]})
    assert same is RATED
    alone = edit({"text": "z"})["candidates"]
    assert alone == [{**first, "content": {"parts": ["z"]}}, second]
    assert alone[1] is second
    added = edit({"candidates": [{}, {}, {"content": {"parts": []}}]})["candidates"]
    assert added == [first, second, {"content": {"role": "model", "parts": []}}]
    assert edit({"candidates": []}) == {"candidates": [], "usageMetadata": RATED["usageMetadata"]}


def test_ratings_are_changed_in_what_a_hook_names() -> None:
    first, _second = RATED["candidates"]
    shown = own.to_hook_llm_response(RATED)["candidates"][0]["safetyRatings"]
    assert shown == [{"category": "X", "probability": ""}]
    ratings = [{"probability": "LOW"}, {"category": "Y", "probability": "HIGH"}]
    [changed, *_] = edit({"candidates": [{"safetyRatings": ratings}, {}]})["candidates"]
    assert changed["safetyRatings"] == [{"category": "X", "n": 1, "probability": "LOW"}, ratings[1]]
    same = edit({"candidates": [{"safetyRatings": [{"category": "X"}]}, {}]})
    assert same is RATED
    assert "safetyRatings" not in own.to_hook_llm_response(RATED)["candidates"][1]
    assert first["safetyRatings"] == [{"category": "X", "n": 1}]


def test_counts_are_changed_beside_those_that_hooks_are_not_shown() -> None:
    counted = edit({"text": "a", "usageMetadata": {"totalTokenCount": 9}})
    assert counted["usageMetadata"] == {"totalTokenCount": 9, "n": 1}
    assert edit({"text": "a", "usageMetadata": {"totalTokenCount": 3}}) is RATED
    made = own.from_hook_llm_response({"text": "a", "usageMetadata": {"promptTokenCount": 1}})
    assert made["usageMetadata"] == {"promptTokenCount": 1}


def test_a_tool_config_takes_what_a_hook_names() -> None:
    base = {"mode": "ANY", "n": 1}
    assert own.from_hook_tool_config({"mode": "ANY"}, base) is base
    assert own.from_hook_tool_config({"mode": "NONE"}, base) == {"mode": "NONE", "n": 1}
    assert own.from_hook_tool_config({}) == {}
    with pytest.raises(TranslationError, match="toolConfig must be an object, not str"):
        own.to_hook_tool_config("any")
    for ask in (own.tool_names, own.tool_selection):
        with pytest.raises(TranslationError, match="a model request must be an object, not list"):
            ask([])
