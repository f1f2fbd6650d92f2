"""What hooks are shown of a response, and what becomes of it when they change it."""

from typing import Any

import pytest
from google.genai import types

from hookline.errors import TranslationError
from hookline.translate.genai import GenerateContentParameters
from hookline.wire.model import is_llm_response
from tests.translate.forms import (
    CALL,
    THOUGHT,
    Form,
    Json,
    as_json,
    in_both_forms,
    text,
    translator,
)

RATED: Json = {"category": "HARM_CATEGORY_HARASSMENT", "probability": "LOW", "blocked": False}
RESPONSE: Json = {
    "candidates": [
        {
            "content": {
                "role": "model",
                "parts": [THOUGHT, {"text": "a"}, CALL, {"text": "b"}],
            },
            "finishReason": "STOP",
            "index": 0,
            "safetyRatings": [RATED],
        }
    ],
    "usageMetadata": {"promptTokenCount": 3, "totalTokenCount": 7, "thoughtsTokenCount": 1},
    "responseId": "r1",
}
SHOWN: Json = {
    "text": "ab",
    "candidates": [
        {
            "content": {"role": "model", "parts": ["a", "b"]},
            "finishReason": "STOP",
            "index": 0,
            "safetyRatings": [{"category": "HARM_CATEGORY_HARASSMENT", "probability": "LOW"}],
        }
    ],
    "usageMetadata": {"promptTokenCount": 3, "totalTokenCount": 7},
}


def with_parts(*parts: Json) -> Json:
    """The response with these parts in its candidate."""
    candidate = RESPONSE["candidates"][0]
    content = {"role": "model", "parts": list(parts)}
    return RESPONSE | {"candidates": [candidate | {"content": content}]}


def edited_response(form: Form, hook: Json, base: Json = RESPONSE) -> Any:
    return as_json(translator.from_hook_llm_response(hook, form.response(base)))


@in_both_forms
def test_visible_texts_finish_reason_ratings_and_three_counts_are_shown(form: Form) -> None:
    assert translator.to_hook_llm_response(form.response(RESPONSE)) == SHOWN


@in_both_forms
def test_absent_stays_absent_in_responses(form: Form) -> None:
    assert translator.to_hook_llm_response(form.response({})) == {"candidates": []}
    only_a_call = {"candidates": [{"content": {"role": "model", "parts": [CALL]}}]}
    shown = translator.to_hook_llm_response(form.response(only_a_call))
    assert shown == {"candidates": [{"content": {"role": "model", "parts": []}}]}


@in_both_forms
def test_an_untouched_round_trip_is_the_very_same_response(form: Form) -> None:
    base = form.response(RESPONSE)
    assert translator.from_hook_llm_response(translator.to_hook_llm_response(base), base) is base
    assert translator.from_hook_llm_response({"text": "ab"}, base) is base
    empty = form.response({"candidates": [{"index": 0}]})
    assert translator.from_hook_llm_response(translator.to_hook_llm_response(empty), empty) is empty


@in_both_forms
def test_as_many_parts_as_were_shown_are_replaced_one_by_one_in_place(form: Form) -> None:
    hook = {"candidates": [{"content": {"role": "model", "parts": ["A", "b"]}}]}
    assert edited_response(form, hook) == with_parts(THOUGHT, {"text": "A"}, CALL, {"text": "b"})


@in_both_forms
def test_another_number_of_parts_goes_to_the_place_of_the_first(form: Form) -> None:
    for texts in (["A"], ["A", "B", "C"]):
        hook = {"candidates": [{"content": {"parts": texts}}]}
        new = [{"text": each} for each in texts]
        assert edited_response(form, hook) == with_parts(THOUGHT, *new, CALL)


@in_both_forms
def test_no_parts_blank_the_text_and_keep_the_rest(form: Form) -> None:
    hook = {"candidates": [{"content": {"role": "model", "parts": []}}]}
    assert edited_response(form, hook) == with_parts(THOUGHT, CALL)


@in_both_forms
def test_text_for_a_candidate_that_had_none_goes_before_its_calls(form: Form) -> None:
    hook = {"candidates": [{"content": {"parts": ["A"]}}]}
    base = with_parts(THOUGHT, CALL)
    assert edited_response(form, hook, base) == with_parts(THOUGHT, {"text": "A"}, CALL)
    bare = {"candidates": [{"index": 0}]}
    answered = {"index": 0, "content": text("A", role="model")}
    assert edited_response(form, hook, bare) == {"candidates": [answered]}


@in_both_forms
def test_named_fields_change_alone(form: Form) -> None:
    hook = {
        "candidates": [{"finishReason": "OTHER", "index": 1}],
        "usageMetadata": {"totalTokenCount": 0},
    }
    expected = as_json(form.response(RESPONSE))
    expected["candidates"][0] |= {"finishReason": "OTHER", "index": 1}
    expected["usageMetadata"] |= {"totalTokenCount": 0}
    assert edited_response(form, hook) == expected


@in_both_forms
def test_text_alone_is_the_first_candidates_text(form: Form) -> None:
    second = {"content": text("other", role="model"), "index": 1}
    base = RESPONSE | {"candidates": [*RESPONSE["candidates"], second]}
    edited = edited_response(form, {"text": "NEW"}, base)
    first = with_parts(THOUGHT, {"text": "NEW"}, CALL)["candidates"][0]
    assert edited == base | {"candidates": [first, second]}
    assert edited_response(form, {"text": "NEW"}, {}) == {
        "candidates": [{"content": text("NEW", role="model")}]
    }


@in_both_forms
def test_text_counts_when_the_candidates_are_as_shown_and_candidates_win_otherwise(
    form: Form,
) -> None:
    new_text = with_parts(THOUGHT, {"text": "NEW"}, CALL)
    assert edited_response(form, SHOWN | {"text": "NEW"}) == new_text
    candidates = [{"content": {"role": "model", "parts": ["A", "b"]}}]
    new_parts = with_parts(THOUGHT, {"text": "A"}, CALL, {"text": "b"})
    assert edited_response(form, SHOWN | {"candidates": candidates}) == new_parts
    both = SHOWN | {"text": "NEW", "candidates": candidates}
    assert edited_response(form, both) == new_parts


@in_both_forms
def test_candidates_left_out_are_gone_and_those_added_are_new(form: Form) -> None:
    base = {"candidates": [{"content": text("a"), "index": 0}, {"content": text("b"), "index": 1}]}
    kept = {"content": {"parts": ["a"]}}
    assert edited_response(form, {"candidates": [kept]}, base)["candidates"] == [
        base["candidates"][0]
    ]
    added = {"content": {"parts": ["c"]}, "safetyRatings": [{"category": "", "probability": "LOW"}]}
    edited = edited_response(form, {"candidates": [kept, {}, added]}, base)["candidates"]
    new = {"content": text("c", role="model"), "safetyRatings": [{"probability": "LOW"}]}
    assert edited == [*base["candidates"], new]


@in_both_forms
def test_parts_that_a_hook_writes_as_gemini_has_them_are_their_texts(form: Form) -> None:
    base = form.response({"candidates": [{"content": text("a", "b", role="model")}]})
    parts = [{"text": "c", "thought": None}, "d"]
    edited = translator.from_hook_llm_response(
        {"candidates": [{"content": {"parts": parts}}]}, base
    )
    assert as_json(edited) == {"candidates": [{"content": text("c", "d", role="model")}]}


@in_both_forms
@pytest.mark.parametrize(
    "hook",
    [
        5,
        {},
        {"usageMetadata": {"totalTokenCount": 1}},
        {"text": None, "candidates": None},
        {"text": 5},
        {"candidates": "x"},
        {"candidates": [5]},
        {"candidates": [{"content": "x"}]},
        {"candidates": [{"content": {"parts": "x"}}]},
        {"candidates": [{"content": {"parts": [{"text": "x", "thought": True}]}}]},
        {"candidates": [{"content": {"parts": [{"functionCall": {"name": "x"}}]}}]},
        {"candidates": [{"content": {"parts": [{"text": 5}]}}]},
        {"text": "x", "candidates": [{"content": {"parts": [None]}}]},
        {"text": "x", "usageMetadata": {"totalTokenCount": "many"}},
    ],
)
def test_a_response_of_the_wrong_shape_is_refused(form: Form, hook: Any) -> None:
    base = form.response(RESPONSE)
    before = as_json(base)
    assert not is_llm_response(hook)
    with pytest.raises(TranslationError):
        translator.from_hook_llm_response(hook, base)
    assert as_json(base) == before


@pytest.mark.parametrize("value", [5, None, [], "x", {"candidates": 5}, {"candidates": [5]}])
def test_what_is_no_response_is_refused(value: object) -> None:
    with pytest.raises(TranslationError):
        translator.to_hook_llm_response(value)


def test_a_synthetic_response_needs_no_base_and_takes_the_form_of_the_request() -> None:
    hook = {"candidates": [{"content": {"role": "model", "parts": ["cached"]}}]}
    plain = {"candidates": [{"content": text("cached", role="model")}]}
    assert is_llm_response(hook)
    assert translator.from_hook_llm_response(hook) == plain
    assert translator.from_hook_llm_response(hook, like={"model": "m"}) == plain
    typed = translator.from_hook_llm_response(hook, like=GenerateContentParameters("m"))
    assert isinstance(typed, types.GenerateContentResponse)
    assert typed.text == "cached"


def test_an_empty_response_carries_the_reason_in_the_form_of_the_caller() -> None:
    plain = translator.empty_response("not today")
    assert translator.to_hook_llm_response(plain)["text"] == "not today"
    typed = translator.empty_response("not today", like=GenerateContentParameters("m"))
    assert isinstance(typed, types.GenerateContentResponse)
    assert as_json(typed) == plain
    assert typed.text == "not today"


@in_both_forms
def test_a_replaced_text_leaves_no_trace_in_what_the_api_says_about_it(form: Form) -> None:
    secret = "jane@example.org"
    value = {
        "candidates": [
            {
                "content": text(f"write to {secret}", role="model"),
                "finishReason": "STOP",
                "citationMetadata": {"citations": [{"title": secret, "startIndex": 0}]},
                "logprobsResult": {"chosenCandidates": [{"token": secret, "logProbability": -1}]},
                "groundingMetadata": {
                    "webSearchQueries": ["mail"],
                    "groundingSupports": [{"segment": {"text": secret, "startIndex": 9}}],
                },
            }
        ],
        "sdkHttpResponse": {"headers": {"x": "y"}, "body": secret},
    }
    edited = translator.from_hook_llm_response({"text": "write to me"}, form.response(value))
    assert secret not in str(as_json(edited))
    assert as_json(edited) == {
        "candidates": [
            {
                "content": text("write to me", role="model"),
                "finishReason": "STOP",
                "groundingMetadata": {"webSearchQueries": ["mail"]},
            }
        ],
        "sdkHttpResponse": {"headers": {"x": "y"}},
    }
