"""Values of google-genai in each of their forms: how they are read, copied and made."""

from typing import Any

import pytest
from google.genai import types

from hookline.errors import TranslationError
from hookline.translate.genai import GenAITranslator, accept_config, read_declared_names
from hookline.translate.genai_values import (
    GenerateContentParameters,
    build,
    enum_word,
    field,
    form_of,
    list_field,
    object_field,
    objects_field,
    put_texts,
    set_fields,
    visible_texts,
    with_fields,
)

genai = GenAITranslator()


@pytest.mark.parametrize(
    ("value", "otherwise", "form"),
    [
        (types.Part(text="a"), "camel", "typed"),
        (GenerateContentParameters(), "camel", "typed"),
        ({"top_k": 1}, "camel", "snake"),
        ({"topK": 1}, "snake", "camel"),
        ({"text": 1}, "snake", "snake"),
        ({"text": 1}, "typed", "snake"),
        ({"text": 1}, "camel", "camel"),
        ({}, "camel", "camel"),
        (None, "snake", "snake"),
    ],
    ids=str,
)
def test_a_value_tells_its_form_or_takes_that_of_its_neighbours(
    value: Any, otherwise: Any, form: str
) -> None:
    assert form_of(value, otherwise) == form


def test_a_field_is_found_under_either_spelling_and_the_first_counts() -> None:
    assert field({"topK": 1, "top_k": 2}, "topK") == 1
    assert field({"top_k": 2}, "topK") == 2
    assert field({"topK": None, "top_k": 2}, "topK") is None
    assert field(types.GenerateContentConfig(top_k=3), "topK") == 3
    assert field(None, "topK") is None


def test_a_field_of_another_type_is_refused_by_its_name() -> None:
    assert (object_field({}, "a"), list_field({}, "a"), objects_field({}, "a")) == (None, [], [])
    with pytest.raises(TranslationError, match="a must be an object, not list"):
        object_field({"a": []}, "a")
    with pytest.raises(TranslationError, match="a must be a list, not str"):
        list_field({"a": "b"}, "a")
    with pytest.raises(TranslationError, match="a cannot hold str"):
        objects_field({"a": [{}, "b"]}, "a")


@pytest.mark.parametrize(
    ("value", "form", "changed"),
    [
        ({"topK": 1, "n": 2}, "snake", {"topK": 9, "n": 2, "maxOutputTokens": 5}),
        ({"top_k": 1}, "camel", {"top_k": 9, "max_output_tokens": 5}),
        ({"n": 2}, "snake", {"n": 2, "top_k": 9, "max_output_tokens": 5}),
        ({"n": 2}, "camel", {"n": 2, "topK": 9, "maxOutputTokens": 5}),
    ],
    ids=str,
)
def test_a_copy_has_new_fields_in_the_spelling_of_the_old(
    value: Any, form: Any, changed: Any
) -> None:
    before = dict(value)
    assert with_fields(value, {"topK": 9, "maxOutputTokens": 5}, form=form) == changed
    assert value == before
    assert with_fields(value, {}, form=form) is value
    left = with_fields(value, {"topK": None, "seed": None}, form=form)
    assert left == {name: held for name, held in before.items() if name not in ("topK", "top_k")}


def test_a_new_value_has_the_form_that_is_wanted() -> None:
    assert build("camel", "GenerateContentConfig", {"topK": 1}) == {"topK": 1}
    assert build("snake", "GenerateContentConfig", {"topK": 1}) == {"top_k": 1}
    made = build("typed", "GenerateContentConfig", {"topK": 1})
    assert made == types.GenerateContentConfig(top_k=1)
    assert set_fields(None, "GenerateContentConfig", {"topK": 1}, form="camel") == {"topK": 1}
    assert set_fields(made, "GenerateContentConfig", {}, form="typed") is made
    changed = set_fields(made, "GenerateContentConfig", {"seed": 2}, form="typed")
    assert changed == types.GenerateContentConfig(top_k=1, seed=2)
    with pytest.raises(TranslationError, match="google-genai cannot make a GenerateContentConfig"):
        build("typed", "GenerateContentConfig", {"topK": "many"})


def test_a_word_is_a_member_of_the_sdks_enum_in_typed_form_alone() -> None:
    assert enum_word("camel", "FinishReason", "stop") == "stop"
    assert enum_word("typed", "FinishReason", "stop") is types.FinishReason.STOP
    new = enum_word("typed", "FinishReason", "NOVEL")
    assert (type(new), new.value, str(new.name)) == (types.FinishReason, "NOVEL", "NOVEL")


CALL: Any = {"functionCall": {"name": "a"}}
THOUGHT: Any = {"text": "hm", "thought": True}


@pytest.mark.parametrize(
    ("parts", "texts", "left"),
    [
        ([THOUGHT, CALL], ["x"], [THOUGHT, {"text": "x"}, CALL]),
        ([THOUGHT], ["x"], [THOUGHT, {"text": "x"}]),
        ([], ["x", "y"], [{"text": "x"}, {"text": "y"}]),
        ([{"text": "a", "thoughtSignature": "s"}, CALL, {"text": "b"}], ["x"], None),
        ([{"text": "a"}, {"text": "b"}], [], []),
        (["a", CALL], ["x", "y"], ["x", {"text": "y"}, CALL]),
    ],
    ids=str,
)
def test_texts_stand_at_the_place_of_the_first_or_after_the_thoughts(
    parts: Any, texts: list[str], left: Any
) -> None:
    signed = [{"text": "x", "thoughtSignature": "s"}, CALL]
    made = put_texts(parts, texts, form="camel")
    assert made == (signed if left is None else left)
    assert visible_texts(made) == texts


@pytest.mark.parametrize(
    ("calling", "tools", "kept"),
    [
        ({"allowedFunctionNames": ["a"]}, ["a"], {"mode": "VALIDATED"}),
        ({"mode": "auto", "allowedFunctionNames": ["a"]}, ["a"], {"mode": "VALIDATED"}),
        ({"mode": "ANY", "allowedFunctionNames": ["a"]}, ["a"], {}),
        ({"mode": "AUTO", "allowedFunctionNames": []}, ["a"], {}),
        ({"mode": "NONE"}, [], None),
    ],
    ids=str,
)
def test_a_config_is_sent_in_a_form_that_the_api_accepts(
    calling: Any, tools: list[str], kept: Any
) -> None:
    declared = [{"functionDeclarations": [{"name": name} for name in tools]}] if tools else []
    config = {"tools": declared, "toolConfig": {"functionCallingConfig": calling, "n": 1}}
    accepted = accept_config(config)
    if kept is None:
        assert accepted == {"tools": declared, "toolConfig": {"n": 1}}
    else:
        assert accepted["toolConfig"]["functionCallingConfig"] == {**calling, **kept}
        assert (accepted is config) == (not kept)


def test_the_names_of_functions_are_unknown_where_only_a_server_knows_them() -> None:
    named = {"functionDeclarations": [{"name": "a"}, {"name": ""}]}
    assert read_declared_names({"tools": [named, {"googleSearch": {}}]}) == frozenset({"a"})
    assert read_declared_names({}) == frozenset()
    assert read_declared_names({"tools": [named, {"mcpServers": [{}]}]}) is None
    assert read_declared_names({"tools": [named, object()]}) is None


def test_arguments_that_are_streamed_go_with_their_call() -> None:
    more: Any = {"functionCall": {"partialArgs": []}}
    other = {"functionCall": {"name": "b"}}
    parts = [{"text": "so"}, CALL, more, {"text": "x"}, more, other, more]
    response = {"candidates": [{"content": {"parts": parts}}, {"content": {"parts": [other]}}]}
    left = genai.drop_calls(response, ["a"])["candidates"]
    assert left[0]["content"]["parts"] == [parts[0], parts[3], other, more]
    assert left[1] is response["candidates"][1]
    assert genai.call_names(response) == ["a", "b", "b"]
    assert genai.drop_calls(response, ["c"]) is response


def test_a_response_of_text_is_read_whatever_stands_beside_it() -> None:
    assert genai.to_hook_llm_response({"text": "a", "note": "b"})["text"] == "a"
    with pytest.raises(TranslationError, match="neither candidates nor text, but note"):
        genai.to_hook_llm_response({"note": "b"})
    with pytest.raises(TranslationError, match="both contents and messages"):
        genai.to_hook_llm_request({"contents": "a", "messages": [1]})
