"""The laws of translation, over many requests, responses and answers, in both forms."""

import copy
import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from hookline.errors import TranslationError
from hookline.translate.genai_values import visible_texts
from hookline.wire import codec
from hookline.wire.model import llm_request_problem, merge_llm_request
from tests.translate import strategies as some
from tests.translate.forms import JSON, TYPED, Form, Json, as_json, in_both_forms, translator

REQUEST_NAMES = (
    *("model", "messages", "role", "content", "config", "temperature", "maxOutputTokens"),
    *("topK", "stopSequences", "toolConfig", "mode", "allowedFunctionNames"),
)
RESPONSE_NAMES = (
    *("text", "candidates", "content", "role", "parts", "finishReason", "index"),
    *("safetyRatings", "category", "probability", "usageMetadata", "totalTokenCount"),
)


def hidden_parts(contents: list[Any]) -> list[Any]:
    """What hooks do not see of each content, in order."""
    return [
        [part for part in content.get("parts") or [] if not visible_texts([part])]
        for content in as_json(contents)
    ]


@pytest.mark.requirement("DELTA-HPAY-003", "INV-3")
@in_both_forms
@given(value=some.requests())
def test_an_untouched_request_comes_back_as_itself(form: Form, value: Json) -> None:
    base, before = form.request(value), copy.deepcopy(value)
    shown = codec.decode(codec.encode(translator.to_hook_llm_request(base)))
    assert translator.from_hook_llm_request(shown, base) is base
    assert as_json(base) == as_json(form.request(before))


@pytest.mark.requirement("DELTA-HPAY-003", "INV-3")
@in_both_forms
@given(value=some.responses)
def test_an_untouched_response_comes_back_as_itself(form: Form, value: Json) -> None:
    base, before = form.response(value), copy.deepcopy(value)
    shown = codec.decode(codec.encode(translator.to_hook_llm_response(base)))
    assert translator.from_hook_llm_response(shown, base) is base
    assert as_json(base) == as_json(form.response(before))


@in_both_forms
@given(value=some.requests(some.content_lists), choice=st.integers(0))
def test_an_edited_message_changes_its_own_text_and_nothing_else(
    form: Form, value: Json, choice: int
) -> None:
    base = form.request(value)
    shown: Any = translator.to_hook_llm_request(base)
    assume(bool(shown["messages"]))
    shown["messages"][choice % len(shown["messages"])]["content"] = "NEW!"
    edited = translator.from_hook_llm_request(shown, base)
    assert translator.to_hook_llm_request(edited) == shown
    old, new = JSON.request(as_json(base)), JSON.request(as_json(edited))
    assert hidden_parts(new["contents"]) == hidden_parts(old["contents"])
    differing = [i for i, each in enumerate(old["contents"]) if each != new["contents"][i]]
    assert len(differing) == 1
    assert new | {"contents": 0} == old | {"contents": 0}


@in_both_forms
@given(value=some.requests(some.content_lists), messages=some.messages)
def test_hooks_are_shown_the_messages_they_asked_for_and_no_hidden_part_is_lost(
    form: Form, value: Json, messages: list[Json]
) -> None:
    base = form.request(value)
    edited = translator.from_hook_llm_request({"messages": messages}, base)
    shown = translator.to_hook_llm_request(edited)["messages"]
    # A system message is a turn only where the request has such turns; else it is an instruction.
    own = [m for m in translator.to_hook_llm_request(base)["messages"] if m["role"] == "system"]
    wanted = [m["content"] for m in messages if m["role"] == "system"]
    turns = [m["content"] for m in shown if m["role"] == "system"]
    assert [m for m in shown if m["role"] != "system"] == [
        m for m in messages if m["role"] != "system"
    ]
    assert len(turns) == min(len(own), len(wanted))
    told = json.dumps(as_json(edited).get("config"), ensure_ascii=False)
    told_before = json.dumps(as_json(base).get("config"), ensure_ascii=False)
    for text in set(wanted) - set(turns):
        assert json.dumps(text, ensure_ascii=False)[1:-1] in told
    assert len(wanted) > len(turns) or told == told_before
    kept = [parts for parts in hidden_parts(as_json(edited)["contents"]) if parts]
    assert kept == [parts for parts in hidden_parts(as_json(base)["contents"]) if parts]


@in_both_forms
@given(value=some.requests(), name=st.sampled_from(sorted(some.settings)), data=st.data())
def test_an_edited_setting_changes_its_own_key_and_nothing_else(
    form: Form, value: Json, name: str, data: st.DataObject
) -> None:
    base = form.request(value)
    new = data.draw(some.settings[name])
    edited = as_json(translator.from_hook_llm_request({"config": {name: new}}, base))
    expected = as_json(base)
    expected["config"] = expected.get("config", {}) | {name: new}
    assert edited == expected


@in_both_forms
@given(value=some.requests(), answer=some.answers_with(*REQUEST_NAMES))
def test_any_answer_about_a_request_works_or_is_refused(
    form: Form, value: Json, answer: Any
) -> None:
    base, before = form.request(value), as_json(form.request(copy.deepcopy(value)))
    said = copy.deepcopy(answer)
    with suppress(TranslationError):
        translator.to_hook_llm_request(translator.from_hook_llm_request(answer, base))
    assert as_json(base) == before
    assert answer == said


@in_both_forms
@given(value=some.responses, answer=some.answers_with(*RESPONSE_NAMES))
def test_any_answer_about_a_response_works_or_is_refused(
    form: Form, value: Json, answer: Any
) -> None:
    base, before = form.response(value), as_json(form.response(copy.deepcopy(value)))
    said = copy.deepcopy(answer)
    with suppress(TranslationError):
        translator.to_hook_llm_response(translator.from_hook_llm_response(answer, base))
        translator.from_hook_llm_response(answer, like=base)
    assert as_json(base) == before
    assert answer == said


@in_both_forms
@given(value=some.tool_configs, answer=some.answers_with("mode", "allowedFunctionNames"))
def test_any_answer_about_a_tool_config_works_or_is_refused(
    form: Form, value: Json, answer: Any
) -> None:
    base = form.tool_config(value)
    before = as_json(base)
    with suppress(TranslationError):
        translator.to_hook_tool_config(translator.from_hook_tool_config(answer, base))
    assert as_json(base) == before


@given(value=some.answers_with("model", "contents", "config", "parts", "role", "text", "tools"))
def test_any_json_given_as_a_request_works_or_is_refused(value: Any) -> None:
    with suppress(TranslationError):
        shown = translator.to_hook_llm_request(value)
        assert translator.from_hook_llm_request(shown, value) is value
        translator.tool_names(value)


@given(value=some.answers_with(*RESPONSE_NAMES))
def test_any_json_given_as_a_response_works_or_is_refused(value: Any) -> None:
    with suppress(TranslationError):
        shown = translator.to_hook_llm_response(value)
        assert translator.from_hook_llm_response(shown, value) is value


@pytest.mark.requirement("DELTA-HPAY-003", "INV-7")
@given(request=some.requests(), response=some.responses)
def test_both_forms_show_hooks_the_same(request: Json, response: Json) -> None:
    typed = TYPED.request(request)
    assert translator.to_hook_llm_request(typed) == translator.to_hook_llm_request(request)
    assert translator.tool_names(typed) == translator.tool_names(request)
    shown = translator.to_hook_llm_response(TYPED.response(response))
    assert shown == translator.to_hook_llm_response(response)


@pytest.mark.requirement("INV-7")
@given(value=some.requests(), change=some.request_changes)
def test_both_forms_of_a_request_take_a_change_alike(value: Json, change: Json) -> None:
    typed = translator.from_hook_llm_request(change, TYPED.request(value))
    plain = translator.from_hook_llm_request(change, value)
    assert as_json(typed) == as_json(TYPED.request(plain))


@pytest.mark.requirement("INV-7")
@given(value=some.responses, texts=st.lists(some.texts, max_size=4))
def test_both_forms_of_a_response_take_a_change_alike(value: Json, texts: list[str]) -> None:
    assume(bool(value.get("candidates")))
    change = {"candidates": [{"content": {"parts": texts}}]}
    typed = translator.from_hook_llm_response(change, TYPED.response(value))
    plain = translator.from_hook_llm_response(change, value)
    assert as_json(typed) == as_json(TYPED.response(plain))
    assert translator.to_hook_llm_response(typed)["candidates"][0]["content"]["parts"] == texts
    before = [value["candidates"][0].get("content", {})]
    assert hidden_parts([plain["candidates"][0].get("content", {})]) == hidden_parts(before)


@given(first=some.request_changes, second=some.request_changes)
def test_merged_changes_apply_like_one_after_the_other(first: Json, second: Json) -> None:
    base = {"model": "m", "contents": ["a"]}
    merged = translator.from_hook_llm_request(merge_llm_request(first, second), base)
    once = translator.from_hook_llm_request(first, base)
    # An allow-list loses the names that the request does not declare, and is another one then.
    if "messages" not in first and "toolConfig" not in first:
        assert merged == translator.from_hook_llm_request(second, once)
    assert llm_request_problem(merge_llm_request(first, second)) is None
