"""The laws of translation, for every API that needs no SDK of its own here."""

import copy
from typing import Any

import pytest
from google.genai.types import GenerateContentResponse
from hypothesis import given
from hypothesis import strategies as st

from hookline.translate import HookTranslator
from hookline.translate.choice import AnyTranslator, make_translator
from tests.kit.translators import (
    check_answers,
    check_any_answer,
    check_any_value,
    check_request,
    check_response,
)
from tests.translate import apis
from tests.translate import strategies as some
from tests.translate.forms import Form, Json, in_both_forms

REQUESTS: dict[str, st.SearchStrategy[Json]] = {
    "openai-chat": apis.chat_requests(),
    "openai-responses": apis.item_requests(),
    "anthropic": apis.claude_requests(),
}
RESPONSES: dict[str, st.SearchStrategy[Json]] = {
    "openai-chat": apis.chat_responses,
    "openai-responses": apis.item_responses,
    "anthropic": apis.claude_responses,
}


@pytest.mark.parametrize("api", REQUESTS)
@given(data=st.data())
def test_requests_obey_the_laws(api: str, data: st.DataObject) -> None:
    check_request(make_translator(api), data.draw(REQUESTS[api]))


@pytest.mark.parametrize("api", RESPONSES)
@given(data=st.data())
def test_responses_obey_the_laws(api: str, data: st.DataObject) -> None:
    check_response(make_translator(api), data.draw(RESPONSES[api]))


@pytest.mark.parametrize("api", REQUESTS)
@given(data=st.data())
def test_answers_of_hooks_come_in_the_form_of_the_request(api: str, data: st.DataObject) -> None:
    for like in (data.draw(REQUESTS[api]), data.draw(RESPONSES[api])):
        check_answers(make_translator(api), like, dict)


# What the values of all the APIs have somewhere, and what hooks answer.
NAMES = (
    *("model", "messages", "contents", "input", "config", "toolConfig", "tools", "tool_choice"),
    *("functions", "role", "content", "type", "text", "parts", "name", "function", "system"),
    *("choices", "message", "candidates", "output", "output_text", "usage", "refusal", "audio"),
    *("transcript", "tool_calls", "finish_reason", "stop_reason", "status", "index", "mode"),
    *("allowedFunctionNames", "temperature", "stop", "n", "finishReason", "safetyRatings"),
    *("usageMetadata", "prompt", "variables", "prompt_tokens", "allowed_tools", "max_tokens"),
)
WORDS = ("user", "assistant", "model", "tool", "text", "message", "output_text", "function")
TRANSLATORS = [
    AnyTranslator(),
    *(make_translator(api) for api in (*REQUESTS, "genai", "hooks")),
]
of_each_translator = pytest.mark.parametrize(
    "translator", TRANSLATORS, ids=lambda each: type(each).__name__
)
_values = st.recursive(
    st.none() | st.booleans() | st.integers(0, 2) | st.sampled_from(["", "a", *WORDS]),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=4)
    ),
    max_leaves=12,
)


@of_each_translator
@given(value=_values)
def test_any_json_is_read_or_refused(translator: HookTranslator, value: object) -> None:
    check_any_value(translator, value)


@st.composite
def _broken(draw: st.DrawFn, whole: st.SearchStrategy[Json]) -> Any:
    """A value of an API, with something else put into some place of it."""
    value = copy.deepcopy(draw(whole))
    at: Any = value
    while True:
        places = list(at) if isinstance(at, dict) else range(len(at))
        if not places:
            return value
        place = draw(st.sampled_from(places))
        if draw(st.booleans()) or not isinstance(at[place], dict | list):
            at[place] = draw(_values)
            return value
        at = at[place]


@pytest.mark.parametrize("api", REQUESTS)
@given(data=st.data())
def test_what_is_broken_anywhere_is_read_or_refused(api: str, data: st.DataObject) -> None:
    for translator in (make_translator(api), AnyTranslator()):
        check_any_value(translator, data.draw(_broken(REQUESTS[api])))
        check_any_value(translator, data.draw(_broken(RESPONSES[api])))


@pytest.mark.parametrize("api", REQUESTS)
@given(data=st.data(), answer=_values)
def test_any_answer_of_a_hook_is_applied_or_refused(
    api: str, data: st.DataObject, answer: object
) -> None:
    request, response = data.draw(REQUESTS[api]), data.draw(RESPONSES[api])
    check_any_answer(make_translator(api), answer, request=request, response=response)


@in_both_forms
@given(value=some.requests())
def test_requests_of_gemini_obey_the_laws(form: Form, value: Json) -> None:
    # Neighbours among its contents may be one message: they are compared by what hooks are shown.
    check_request(make_translator("genai"), form.request(value), messages=lambda _request: ())


@in_both_forms
@given(request=some.requests(), response=some.responses)
def test_responses_of_gemini_obey_the_laws(form: Form, request: Json, response: Json) -> None:
    translator = make_translator("genai")
    check_response(translator, form.response(response))
    kind = dict if form.name == "json" else GenerateContentResponse
    check_answers(translator, form.request(request), kind)


@given(messages=some.messages, config=st.fixed_dictionaries({}, optional=some.settings))
def test_hooks_own_form_obeys_the_laws(messages: list[Json], config: Json) -> None:
    request = {"model": "m", "messages": messages, "config": config}
    for translator in (make_translator("hooks"), AnyTranslator()):
        check_request(translator, request)
        check_answers(translator, request, dict)
        texts = [message["content"] for message in messages]
        check_response(translator, {"candidates": [{"content": {"parts": [*texts, "a"]}}]})
