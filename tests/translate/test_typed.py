"""What only google-genai's own objects can show: callables, enums, subclasses, spellings."""

import enum
import subprocess
import sys
from typing import Any

import pydantic
import pytest
from google.genai import types

from hookline.translate.genai import GenerateContentParameters
from tests.translate.forms import IMAGE, as_json, parse, said, text, translator


def read_file(path: str) -> str:
    """A tool given as a Python function."""
    return path


def test_callables_among_the_tools_survive_an_edit_untouched() -> None:
    config = types.GenerateContentConfig(temperature=1, tools=[read_file])
    base = GenerateContentParameters("m", "q", config)
    edited = translator.from_hook_llm_request({"config": {"temperature": 0}}, base)
    assert edited.config.temperature == 0
    assert isinstance(edited.config.temperature, float)
    assert edited.config.tools is config.tools
    assert config.tools == [read_file]
    assert config.temperature == 1


def test_untouched_contents_of_an_edited_list_are_the_identical_objects() -> None:
    first, second = types.UserContent("a"), parse(types.Content, text("b"))
    base = GenerateContentParameters("m", [first, second])
    edited = translator.from_hook_llm_request(
        {"messages": said(("user", "a"), ("user", "B"))}, base
    )
    assert edited.contents[0] is first
    assert as_json(edited.contents[1]) == text("B")
    assert base.contents[1] is second
    assert as_json(second) == text("b")


def test_contents_of_one_role_only_are_rebuilt_when_the_role_changes() -> None:
    base = GenerateContentParameters("m", [types.UserContent([types.Part(text="a")])])
    edited = translator.from_hook_llm_request({"messages": said(("model", "A"))}, base)
    assert type(edited.contents[0]) is types.Content
    assert as_json(edited.contents) == [text("A", role="model")]


def test_files_in_a_run_become_parts_when_the_run_becomes_a_content() -> None:
    file = types.File(uri="https://files.example/1", mime_type="image/png")
    one, other = types.Part(text="a"), types.Part(text="c")
    base = GenerateContentParameters("m", [one, "b", other, file])
    edited = translator.from_hook_llm_request(
        {"messages": said(("user", "a"), ("user", "c"))}, base
    )
    file_data = {"fileUri": "https://files.example/1", "mimeType": "image/png"}
    parts = [{"text": "c"}, {"fileData": file_data}]
    assert as_json(edited.contents) == [{"text": "a"}, {"role": "user", "parts": parts}]


def test_a_file_stays_the_users_when_the_text_beside_it_becomes_the_models() -> None:
    file = types.File(uri="https://files.example/1", mime_type="image/png")
    base = GenerateContentParameters("m", [types.Part(text="a"), file])
    edited = translator.from_hook_llm_request({"messages": said(("model", "A"))}, base)
    assert as_json(edited.contents[0]) == {"role": "model", "parts": [{"text": "A"}]}
    assert edited.contents[1:] == [file]


def test_a_plain_dict_may_hold_typed_values_and_keeps_them() -> None:
    content, config = types.UserContent("a"), types.GenerateContentConfig(top_k=3)
    base = {"model": "m", "contents": [content], "config": config}
    hook = {"messages": said(("user", "a"), ("user", "b")), "config": {"topK": 4}}
    edited = translator.from_hook_llm_request(hook, base)
    assert edited["contents"][0] is content
    assert isinstance(edited["contents"][1], types.Content)
    assert edited["config"].top_k == 4
    assert config.top_k == 3


def test_a_typed_content_among_dicts_stays_typed() -> None:
    base = GenerateContentParameters("m", [text("a"), types.UserContent("b")])
    edited = translator.from_hook_llm_request(
        {"messages": said(("user", "a"), ("model", "B"))}, base
    )
    assert edited.contents[0] == text("a")
    assert type(edited.contents[1]) is types.Content
    assert as_json(edited.contents[1]) == text("B", role="model")


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({"max_output_tokens": 1}, {"max_output_tokens": 9, "top_p": 0.5}),
        ({"maxOutputTokens": 1}, {"maxOutputTokens": 9, "topP": 0.5}),
        ({"temperature": 1}, {"temperature": 1, "max_output_tokens": 9, "top_p": 0.5}),
    ],
)
def test_a_config_dict_keeps_its_spelling(config: Any, expected: Any) -> None:
    base = GenerateContentParameters("m", [text("q")], config)
    hook = {"config": {"maxOutputTokens": 9, "topP": 0.5}, "messages": said(("user", "Q"))}
    edited = translator.from_hook_llm_request(hook, base)
    assert edited.config == expected
    assert edited.contents == [text("Q")]
    types.GenerateContentConfig.model_validate(edited.config)


def test_a_snake_case_config_in_a_plain_dict_keeps_its_spelling() -> None:
    base = {"model": "m", "contents": "q", "config": {"max_output_tokens": 1}}
    edited = translator.from_hook_llm_request({"config": {"topP": 0.5}}, base)
    assert edited["config"] == {"max_output_tokens": 1, "top_p": 0.5}


def test_enums_are_shown_as_plain_words_and_rebuilt_only_when_they_change() -> None:
    rating = types.SafetyRating(
        category=types.HarmCategory.HARM_CATEGORY_HARASSMENT,
        probability=types.HarmProbability.LOW,
        blocked=True,
    )
    candidate = types.Candidate(finish_reason=types.FinishReason.STOP, safety_ratings=[rating])
    base = types.GenerateContentResponse(candidates=[candidate])
    shown: Any = translator.to_hook_llm_response(base)
    shown_rating = shown["candidates"][0]["safetyRatings"][0]
    assert shown_rating == {"category": "HARM_CATEGORY_HARASSMENT", "probability": "LOW"}
    assert not any(isinstance(word, enum.Enum) for word in shown_rating.values())
    shown["candidates"][0]["safetyRatings"][0]["probability"] = "HIGH"
    edited = translator.from_hook_llm_response(shown, base).candidates[0]
    assert edited.safety_ratings == [
        rating.model_copy(update={"probability": types.HarmProbability.HIGH})
    ]
    assert edited.finish_reason is types.FinishReason.STOP


def test_a_word_the_sdk_does_not_know_is_kept_without_a_warning() -> None:
    hook = {"candidates": [{"content": {"parts": ["x"]}, "finishReason": "GAVE_UP"}]}
    made = translator.from_hook_llm_response(hook, like=types.GenerateContentResponse())
    assert isinstance(made.candidates[0].finish_reason, types.FinishReason)
    assert as_json(made)["candidates"][0]["finishReason"] == "GAVE_UP"


def test_what_the_sdk_parsed_from_a_text_goes_when_a_hook_changes_the_text() -> None:
    class Person(pydantic.BaseModel):
        name: str

    response = parse(types.GenerateContentResponse, {"candidates": [{"content": text("{}")}]})
    base = response.model_copy(update={"parsed": Person(name="secret")})
    assert translator.from_hook_llm_response({"text": "[redacted]"}, base).parsed is None
    kept = translator.from_hook_llm_response({"candidates": [{"index": 0}]}, base)
    assert kept.parsed == base.parsed


@pytest.mark.requirement("INV-7")
def test_translating_json_loads_no_sdk() -> None:
    program = """
import sys
from hookline.translate.genai import GenAITranslator, GenerateContentParameters
t = GenAITranslator()
request = {"model": "m", "contents": ["a"], "config": {"topK": 1}}
hook = t.to_hook_llm_request(request)
hook["messages"] = [{"role": "model", "content": "b"}]
hook["toolConfig"] = {"mode": "ANY"}
t.from_hook_llm_request(hook, request)
t.from_hook_llm_request(hook, GenerateContentParameters("m", "a"))
response = t.empty_response("no", like=GenerateContentParameters("m"))
t.from_hook_llm_response({"text": "yes"}, response)
assert type(response) is dict, response
loaded = [name for name in sys.modules if name.split(".")[0] in ("google", "pydantic")]
assert not loaded, loaded
"""
    subprocess.run([sys.executable, "-W", "error", "-c", program], check=True, timeout=30)


def test_an_image_between_bare_texts_stays_with_them() -> None:
    image = parse(types.Part, IMAGE)
    base = GenerateContentParameters("m", ["look", image, "here"])
    hook = {"messages": said(("user", "LOOK"), ("user", "here"))}
    edited = translator.from_hook_llm_request(hook, base)
    assert edited.contents == ["LOOK", image, "here"]
    assert edited.contents[1] is image
