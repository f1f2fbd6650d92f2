"""The recorded translator cases, and the inputs on which another engine loses or leaks text."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hookline.errors import TranslationError
from tests.translate.forms import TYPED, Json, as_json, said, text, translator

CONFORMANCE = Path(__file__).parents[1] / "conformance"
OPERATIONS: dict[str, Callable[..., Any]] = {
    "toHookLLMRequest": translator.to_hook_llm_request,
    "fromHookLLMRequest": translator.from_hook_llm_request,
    "toHookLLMResponse": translator.to_hook_llm_response,
    "fromHookLLMResponse": translator.from_hook_llm_response,
    "toHookToolConfig": translator.to_hook_tool_config,
    "fromHookToolConfig": translator.from_hook_tool_config,
}


def run(case: Json) -> list[Any]:
    return [OPERATIONS[call["op"]](*call["args"]) for call in case["translate"]]


def hazard(name: str) -> Json:
    case: Json = json.loads((CONFORMANCE / "hazards" / f"{name}.json").read_text("utf-8"))
    return case


@pytest.mark.requirement("DELTA-HPAY-003")
@pytest.mark.parametrize("path", sorted(CONFORMANCE.glob("cases/tr-*.json")), ids=lambda p: p.stem)
def test_the_translator_answers_as_recorded(path: Path) -> None:
    case = json.loads(path.read_text("utf-8"))
    before = json.dumps(case["translate"])
    assert run(case) == case["expect"]["translated"]
    assert json.dumps(case["translate"]) == before


def test_every_recorded_translation_is_here() -> None:
    assert len(list(CONFORMANCE.glob("cases/tr-*.json"))) == 10


@pytest.mark.parametrize("event", ["BeforeModel", "AfterModel"])
@pytest.mark.requirement("DELTA-HPAY-003", "INV-3", "INV-7")
def test_hooks_are_shown_the_same_of_typed_values_as_of_their_json(event: str) -> None:
    name = "stdin-before-model" if event == "BeforeModel" else "stdin-after-model"
    case = json.loads((CONFORMANCE / "cases" / f"{name}.json").read_text("utf-8"))
    document = case["expect"]["collected"]["stdin.json"]["json"]
    request = case["args"]["sdk_request"]
    for value in (request, TYPED.request(request)):
        assert translator.to_hook_llm_request(value) == document["llm_request"]
    if event == "AfterModel":
        response = case["args"]["sdk_response"]
        assert translator.to_hook_llm_response(response) == document["llm_response"]


def test_a_config_change_drops_no_field() -> None:
    (edited,) = run(hazard("config-merge-drops-fields"))
    assert edited["config"] == {
        "temperature": 0.7,
        "maxOutputTokens": 9,
        "systemInstruction": "be brief",
        "tools": [{"functionDeclarations": [{"name": "t"}]}],
    }


def test_an_empty_text_part_shifts_no_message() -> None:
    case = hazard("empty-text-part-shifts-messages")
    shown, edited = run(case)
    assert shown["messages"] == said(("user", "next"))
    assert edited is case["translate"][1]["args"][1]


def test_content_that_is_no_string_is_refused() -> None:
    with pytest.raises(TranslationError, match=r"messages\[0\]\.content"):
        run(hazard("object-content-is-stringified"))


def test_untouched_text_stays_behind_the_media_it_follows() -> None:
    case = hazard("text-moves-before-media")
    assert run(case) == [case["translate"][0]["args"][1]]


def test_text_and_parts_agree_on_what_is_visible() -> None:
    (shown,) = run(hazard("thought-text-differs-between-fields"))
    assert shown["text"] == "".join(shown["candidates"][0]["content"]["parts"]) == "shown"


def test_thoughts_are_never_shown_and_keep_their_flags() -> None:
    shown, edited = run(hazard("thoughts-become-visible-text"))
    assert shown["messages"] == said(("model", "answer"))
    assert edited["contents"][0]["parts"] == [
        {"text": "secret plan ", "thought": True},
        {"text": "secret plan answer", "thoughtSignature": "sig"},
    ]


@pytest.mark.requirement("INV-7")
def test_a_synthetic_response_has_the_callers_type() -> None:
    case = hazard("synthetic-response-needs-denial")
    hook = {"candidates": [{"content": {"role": "model", "parts": ["cached"]}}]}
    expected = {"candidates": [{"content": text("cached", role="model")}]}
    request = case["args"]["sdk_request"]
    assert translator.from_hook_llm_response(hook, like=request) == expected
    typed = translator.from_hook_llm_response(hook, like=TYPED.request(request))
    assert type(typed).__name__ == "GenerateContentResponse"
    assert as_json(typed) == expected
