"""What hooks are shown of a request."""

from typing import Any

import pytest
from google.genai import types

from hookline.errors import TranslationError
from hookline.translate.genai import GenerateContentParameters
from hookline.wire import codec
from tests.translate.forms import (
    ANSWER,
    CALL,
    IMAGE,
    THOUGHT,
    Form,
    Json,
    in_both_forms,
    said,
    text,
    translator,
)


def shown_messages(form: Form, contents: Any) -> Any:
    request = form.request({"model": "m", "contents": contents})
    return translator.to_hook_llm_request(request)["messages"]


@in_both_forms
@pytest.mark.parametrize(
    ("contents", "messages"),
    [
        ("hi", said(("user", "hi"))),
        ({"text": "hi"}, said(("user", "hi"))),
        (text("hi", role="model"), said(("model", "hi"))),
        ({"parts": [{"text": "hi"}]}, said(("user", "hi"))),
        (["a", "b"], said(("user", "a"), ("user", "b"))),
        (["a", text("b", role="model"), "c"], said(("user", "a"), ("model", "b"), ("user", "c"))),
        ([], []),
        (None, []),
    ],
)
def test_contents_may_be_a_string_a_part_a_content_or_a_list_of_them(
    form: Form, contents: Any, messages: list[Json]
) -> None:
    assert shown_messages(form, contents) == messages


@in_both_forms
def test_a_run_of_bare_parts_is_one_message_as_the_sdk_sends_it(form: Form) -> None:
    run = [{"text": "see "}, IMAGE, {"text": "this"}]
    assert shown_messages(form, run) == said(("user", "see this"))
    assert shown_messages(form, [run]) == said(("user", "see this"))
    around_a_call = [{"text": "a"}, CALL, {"text": "b"}]
    assert shown_messages(form, around_a_call) == said(("user", "a"), ("user", "b"))


@in_both_forms
def test_roles_other_than_model_and_system_are_shown_as_user(form: Form) -> None:
    roles = ("user", "model", "system", "function", "tool")
    contents = [text("x", role=role) for role in roles]
    shown = [message["role"] for message in shown_messages(form, contents)]
    assert shown == ["user", "model", "system", "user", "user"]


@in_both_forms
def test_text_parts_are_joined_and_thoughts_and_other_parts_are_not_shown(form: Form) -> None:
    parts = [THOUGHT, {"text": "see "}, IMAGE, {"text": "this"}, CALL]
    assert shown_messages(form, [{"role": "model", "parts": parts}]) == said(("model", "see this"))


@in_both_forms
@pytest.mark.parametrize("parts", [[CALL], [ANSWER], [THOUGHT], [{"text": ""}, CALL], []])
def test_a_message_without_visible_text_is_left_out(form: Form, parts: list[Json]) -> None:
    contents = [{"role": "model", "parts": parts}, text("next")]
    assert shown_messages(form, contents) == said(("user", "next"))


@in_both_forms
def test_the_eight_settings_of_the_format_are_shown_and_nothing_else_of_the_config(
    form: Form,
) -> None:
    settings = {
        "temperature": 0.0,
        "maxOutputTokens": 64,
        "topP": 0.5,
        "topK": 20.0,
        "stopSequences": ["x"],
        "candidateCount": 2,
        "presencePenalty": -0.5,
        "frequencyPenalty": 0.25,
    }
    hidden = {
        "systemInstruction": "be brief",
        "seed": 7,
        "safetySettings": [
            {"category": "HARM_CATEGORY_HARASSMENT", "threshold": "BLOCK_NONE"},
        ],
    }
    request = form.request({"model": "m", "contents": "q", "config": settings | hidden})
    assert translator.to_hook_llm_request(request)["config"] == settings


@in_both_forms
def test_absent_stays_absent(form: Form) -> None:
    request = form.request({"model": "m", "contents": "q"})
    expected = {"model": "m", "messages": said(("user", "q")), "config": {}}
    assert translator.to_hook_llm_request(request) == expected


@in_both_forms
def test_the_tool_config_is_shown_with_its_mode_as_a_plain_word(form: Form) -> None:
    calling = {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["t"]}}
    request = form.request({"model": "m", "contents": "q", "config": {"toolConfig": calling}})
    shown = translator.to_hook_llm_request(request)
    assert shown["toolConfig"] == {"mode": "ANY", "allowedFunctionNames": ["t"]}
    assert type(shown["toolConfig"]["mode"]) is str
    assert codec.decode(codec.encode(shown)) == shown


def test_files_are_parts_that_are_not_shown() -> None:
    file = types.File(uri="https://files.example/1", mime_type="image/png")
    request = GenerateContentParameters("m", ["what is", file, types.Part(text="this?")])
    shown = translator.to_hook_llm_request(request)["messages"]
    assert shown == said(("user", "what is"), ("user", "this?"))


@pytest.mark.parametrize(
    "request_",
    [
        5,
        "hi",
        None,
        [],
        types.Part(text="x"),
        {"model": 5, "contents": "q"},
        {"model": "m", "contents": 5},
        {"model": "m", "contents": [5]},
        {"model": "m", "contents": [[["deep"]]]},
        {"model": "m", "contents": {"parts": "abc"}},
        {"model": "m", "contents": {"parts": [5]}},
        {"model": "m", "contents": "q", "config": "hot"},
        {"model": "m", "contents": "q", "config": {"toolConfig": 5}},
    ],
)
def test_what_is_no_request_is_refused(request_: object) -> None:
    with pytest.raises(TranslationError):
        translator.to_hook_llm_request(request_)


def test_settings_a_hook_could_not_send_back_are_not_shown() -> None:
    config = {"temperature": "hot", "maxOutputTokens": 64.5, "topK": True, "topP": 1}
    request = {"model": "m", "contents": "q", "config": config}
    assert translator.to_hook_llm_request(request)["config"] == {"topP": 1}
