"""A system message that a hook adds goes where the API takes it, and never out as a turn."""

from typing import Any

import pytest
from google.genai import types

from hookline.translate.genai import GenerateContentParameters
from tests.translate.forms import Form, Json, as_json, in_both_forms, said, text, translator

RULES = ("system", "be brief")
PART: Json = {"text": "own"}


def sent(request: Any, *pairs: tuple[str, str]) -> Any:
    return translator.from_hook_llm_request({"messages": said(*pairs)}, request)


@in_both_forms
def test_an_added_system_message_is_the_system_instruction(form: Form) -> None:
    request = form.request({"model": "m", "contents": [text("hi")]})
    edited = as_json(sent(request, RULES, ("user", "hi"), ("system", "and kind")))
    assert edited["contents"] == [text("hi")]
    parts = [{"text": "be brief"}, {"text": "and kind"}]
    assert edited["config"] == {"systemInstruction": {"parts": parts}}


@in_both_forms
@pytest.mark.parametrize(
    ("own", "expected"),
    [
        ("own", "own\n\nbe brief"),
        ({"parts": [PART]}, {"parts": [PART, {"text": "be brief"}]}),
        (
            {"role": "user", "parts": [PART, {"text": "more"}]},
            {"role": "user", "parts": [PART, {"text": "more"}, {"text": "be brief"}]},
        ),
        (["own", PART], ["own", PART, "be brief"]),
    ],
)
def test_it_is_added_to_the_system_instruction_that_is_there(
    form: Form, own: Any, expected: Any
) -> None:
    config = {"systemInstruction": own, "temperature": 0.5}
    request = form.request({"model": "m", "contents": "hi", "config": config})
    before = as_json(request)
    edited = as_json(sent(request, RULES, ("user", "hi")))
    assert edited["config"] == {"systemInstruction": expected, "temperature": 0.5}
    assert edited["contents"] == "hi"
    assert as_json(request) == before


@pytest.mark.parametrize("own", [types.Part(text="own"), types.File(uri="u", mime_type="t/t")])
def test_an_instruction_of_one_part_becomes_a_list_that_the_sdk_takes(own: Any) -> None:
    config = types.GenerateContentConfig(system_instruction=own)
    edited = sent(GenerateContentParameters("m", "hi", config), RULES, ("user", "hi"))
    assert edited.config.system_instruction == [own, "be brief"]
    assert config.system_instruction == own


def test_the_instruction_of_a_snake_case_config_is_its_own_field() -> None:
    request = GenerateContentParameters("m", "hi", {"system_instruction": "own"})
    edited = sent(request, ("user", "hi"), RULES)
    assert edited.config == {"system_instruction": "own\n\nbe brief"}
    assert edited.contents is request.contents


@in_both_forms
def test_a_message_turned_into_a_system_message_is_no_turn_any_more(form: Form) -> None:
    request = form.request({"model": "m", "contents": [text("one"), text("two")]})
    edited = as_json(sent(request, ("system", "one"), ("user", "two")))
    assert edited["contents"] == [text("two")]
    assert edited["config"]["systemInstruction"] == {"parts": [{"text": "one"}]}


@in_both_forms
def test_a_request_with_system_turns_of_its_own_is_left_alone(form: Form) -> None:
    contents = [text("s", role="system"), text("hi"), text("s", role="system")]
    config = {"systemInstruction": "own"}
    request = form.request({"model": "m", "contents": contents, "config": config})
    shown = translator.to_hook_llm_request(request)
    assert translator.from_hook_llm_request(shown, request) is request
    pairs = [(message["role"], message["content"]) for message in shown["messages"]]
    edited = as_json(sent(request, *pairs, RULES))
    assert edited["contents"] == contents
    assert edited["config"] == {"systemInstruction": "own\n\nbe brief"}


@in_both_forms
def test_a_system_message_without_text_adds_nothing(form: Form) -> None:
    request = form.request({"model": "m", "contents": "hi"})
    assert sent(request, ("system", ""), ("user", "hi")) is request
