"""What becomes of a request when a hook changes it."""

from typing import Any

import pytest
from google.genai import types

from hookline.errors import TranslationError
from hookline.translate.genai import GenerateContentParameters
from tests.translate.forms import (
    ANSWER,
    CALL,
    IMAGE,
    THOUGHT,
    Form,
    Json,
    as_json,
    in_both_forms,
    said,
    text,
    translator,
)

CONFIG: Json = {
    "temperature": 0.7,
    "maxOutputTokens": 100,
    "systemInstruction": "be brief",
    "seed": 7,
    "tools": [{"functionDeclarations": [{"name": "t"}]}],
    "toolConfig": {
        "functionCallingConfig": {"mode": "AUTO"},
        "retrievalConfig": {"languageCode": "de"},
    },
    "safetySettings": [{"category": "HARM_CATEGORY_HARASSMENT", "threshold": "BLOCK_NONE"}],
}


def edited_contents(form: Form, contents: Any, messages: list[Json]) -> Any:
    """The contents, as JSON, after a hook gave these messages."""
    base = form.request({"model": "m", "contents": contents})
    return as_json(translator.from_hook_llm_request({"messages": messages}, base))["contents"]


@in_both_forms
def test_an_untouched_round_trip_is_the_very_same_request(form: Form) -> None:
    contents = ["a", text("b", "c"), {"role": "model", "parts": [THOUGHT, CALL]}]
    base = form.request({"model": "m", "contents": contents, "config": CONFIG})
    assert translator.from_hook_llm_request(translator.to_hook_llm_request(base), base) is base
    assert translator.from_hook_llm_request({}, base) is base


@in_both_forms
def test_what_the_hook_does_not_name_is_the_identical_object(form: Form) -> None:
    base = form.request({"model": "m", "contents": [text("q")], "config": CONFIG})
    edited = as_json(translator.from_hook_llm_request({"config": {"maxOutputTokens": 9}}, base))
    assert edited == as_json(base) | {"config": as_json(base)["config"] | {"maxOutputTokens": 9}}
    new = translator.from_hook_llm_request({"model": "n"}, base)
    if form.name == "typed":
        assert (new.model, new.contents, new.config) == ("n", base.contents, base.config)
        assert new.contents is base.contents
        assert new.config is base.config
    else:
        assert new == base | {"model": "n"}
        assert new["contents"] is base["contents"]


@in_both_forms
def test_a_partial_tool_config_changes_only_what_it_names(form: Form) -> None:
    base = form.request({"model": "m", "contents": "q", "config": CONFIG})
    hook = {"toolConfig": {"allowedFunctionNames": ["t"]}}
    edited = as_json(translator.from_hook_llm_request(hook, base))
    calling = {"mode": "AUTO", "allowedFunctionNames": ["t"]}
    expected = CONFIG["toolConfig"] | {"functionCallingConfig": calling}
    assert edited["config"] == as_json(base)["config"] | {"toolConfig": expected}


@in_both_forms
def test_settings_are_applied_to_a_request_without_a_config(form: Form) -> None:
    base = form.request({"model": "m", "contents": "q"})
    hook = {"config": {"temperature": 0, "topK": 3}, "toolConfig": {"mode": "none"}}
    edited = as_json(translator.from_hook_llm_request(hook, base))
    assert edited["config"] == {
        "temperature": 0,
        "topK": 3,
        "toolConfig": {"functionCallingConfig": {"mode": "NONE"}},
    }
    assert edited["contents"] == "q"


@in_both_forms
def test_settings_outside_the_format_and_nulls_change_nothing(form: Form) -> None:
    base = form.request({"model": "m", "contents": "q", "config": CONFIG})
    hook: Json = {
        "model": None,
        "messages": None,
        "config": {"seed": 1, "tools": [], "temperature": None},
        "tools": [],
    }
    assert translator.from_hook_llm_request(hook, base) is base


@in_both_forms
def test_equal_messages_keep_their_content_and_the_text_goes_where_the_first_stood(
    form: Form,
) -> None:
    rich = {"role": "user", "parts": [IMAGE, {"text": "what "}, IMAGE, {"text": "is this"}]}
    base = [text("one", "two"), rich]
    edited = edited_contents(form, base, said(("user", "onetwo"), ("user", "NEW")))
    assert edited == [base[0], {"role": "user", "parts": [IMAGE, {"text": "NEW"}, IMAGE]}]


@in_both_forms
def test_a_changed_text_keeps_the_thoughts_and_signatures_around_it(form: Form) -> None:
    signed = {"text": "answer", "thoughtSignature": "c2ln"}
    base = [{"role": "model", "parts": [THOUGHT, signed]}]
    edited = edited_contents(form, base, said(("model", "NEW")))
    assert edited == [{"role": "model", "parts": [THOUGHT, signed | {"text": "NEW"}]}]


@in_both_forms
def test_one_text_for_several_keeps_what_is_known_about_the_first(form: Form) -> None:
    signed = {"text": "an", "thoughtSignature": "c2ln"}
    base = [{"role": "model", "parts": [signed, {"text": "swer"}]}]
    edited = edited_contents(form, base, said(("model", "NEW")))
    assert edited == [{"role": "model", "parts": [signed | {"text": "NEW"}]}]


@in_both_forms
def test_a_part_that_carries_more_than_its_text_loses_the_text_alone(form: Form) -> None:
    base = [{"role": "model", "parts": [{"text": "a", **CALL}, {"text": "b", **IMAGE}]}]
    blanked = [{"role": "model", "parts": [CALL, IMAGE]}]
    assert edited_contents(form, base, []) == blanked
    edited = edited_contents(form, base, said(("model", "NEW")))
    assert edited == [{"role": "model", "parts": [{"text": "NEW"}, CALL, IMAGE]}]


@in_both_forms
def test_a_replaced_run_is_paired_by_position(form: Form) -> None:
    calling = {"role": "model", "parts": [{"text": "b"}, CALL]}
    base = [text("a"), calling, {"role": "user", "parts": [ANSWER]}, text("c")]
    edited = edited_contents(form, base, said(("user", "A"), ("model", "B"), ("user", "c")))
    called = {"role": "model", "parts": [{"text": "B"}, CALL]}
    assert edited == [text("A"), called, base[2], base[3]]


@in_both_forms
def test_a_message_left_out_loses_its_text_and_an_empty_content_goes(form: Form) -> None:
    picture = {"role": "user", "parts": [{"text": "b"}, IMAGE]}
    base = [text("a"), picture, text("c")]
    edited = edited_contents(form, base, said(("user", "c")))
    assert edited == [{"role": "user", "parts": [IMAGE]}, text("c")]
    assert edited_contents(form, base, []) == [{"role": "user", "parts": [IMAGE]}]


@in_both_forms
def test_additions_stand_where_the_hook_put_them_and_split_no_call_from_its_answer(
    form: Form,
) -> None:
    call, answer = {"role": "model", "parts": [CALL]}, {"role": "user", "parts": [ANSWER]}
    base = [text("a"), call, answer, text("b", role="model"), call, answer]
    messages = said(("model", "0"), ("user", "a"), ("user", "1"), ("model", "b"), ("user", "2"))
    edited = edited_contents(form, base, messages)
    assert edited == [
        text("0", role="model"),
        *(text("a"), call, answer, text("1"), text("b", role="model"), call, answer),
        text("2"),
    ]


@in_both_forms
def test_one_edited_message_among_equal_ones_is_an_edit(form: Form) -> None:
    base = [{"role": "user", "parts": [{"text": "ok"}, IMAGE]} for _ in range(3)]
    edited = edited_contents(form, base, said(("user", "ok"), ("user", "NEW"), ("user", "ok")))
    changed = {"role": "user", "parts": [{"text": "NEW"}, IMAGE]}
    assert edited == [base[0], changed, base[2]]


@in_both_forms
def test_a_role_changes_only_when_the_hook_says_another_than_it_was_shown(form: Form) -> None:
    base = [text("a", role="function"), text("b")]
    edited = edited_contents(form, base, said(("user", "A"), ("model", "b")))
    assert edited == [text("A", role="function"), text("b", role="model")]


@in_both_forms
def test_contents_that_are_no_list_become_a_list_of_contents_when_they_change(form: Form) -> None:
    new = said(("user", "new"))
    assert edited_contents(form, "old", new) == [text("new")]
    assert edited_contents(form, {"text": "old"}, new) == [text("new")]
    assert edited_contents(form, text("old"), new) == [text("new")]
    added = said(("user", "old"), ("user", "new"))
    assert edited_contents(form, "old", added) == [text("old"), text("new")]


@in_both_forms
@pytest.mark.parametrize(
    "between", ["b", text("b"), [{"text": "b"}]], ids=["text", "content", "list"]
)
def test_bare_parts_stay_apart_when_the_message_between_them_is_removed(
    form: Form, between: Any
) -> None:
    contents = [{"text": "a"}, between, {"text": "c"}, IMAGE]
    edited = edited_contents(form, contents, said(("user", "a"), ("user", "c")))
    assert edited == [{"text": "a"}, {"role": "user", "parts": [{"text": "c"}, IMAGE]}]


@in_both_forms
def test_bare_calls_stay_the_models_when_the_message_between_them_is_removed(form: Form) -> None:
    edited = edited_contents(form, [CALL, "b", CALL, ANSWER], [])
    assert edited == [CALL, {"role": "model", "parts": [CALL]}, ANSWER]


@in_both_forms
def test_bare_entries_of_a_list_stay_bare_so_that_they_stay_one_turn(form: Form) -> None:
    assert edited_contents(form, ["look", IMAGE], said(("user", "NEW"))) == ["NEW", IMAGE]
    assert edited_contents(form, [[IMAGE, "look"]], said(("user", "NEW"))) == [[IMAGE, "NEW"]]
    run = [{"text": "a"}, IMAGE, {"text": "b"}]
    assert edited_contents(form, run, said(("user", "NEW"))) == [{"text": "NEW"}, IMAGE]
    as_model = edited_contents(form, ["look", IMAGE], said(("model", "look")))
    assert as_model == [text("look", role="model"), IMAGE]


@in_both_forms
@pytest.mark.parametrize(
    "hook",
    [
        5,
        {"messages": [{"role": "user", "content": [{"text": "x"}]}], "model": "n"},
        {"messages": [{"role": "assistant", "content": "x"}]},
        {"messages": [{"role": "user"}]},
        {"messages": "x"},
        {"model": 5},
        {"config": "hot"},
        {"config": {"temperature": "hot"}},
        {"config": {"maxOutputTokens": True}},
        {"toolConfig": {"mode": "SOMETIMES"}},
        {"toolConfig": {"allowedFunctionNames": "t"}},
    ],
)
def test_a_malformed_change_is_refused_whole_and_the_request_stays_as_it_was(
    form: Form, hook: Any
) -> None:
    base = form.request({"model": "m", "contents": [text("q")], "config": CONFIG})
    before = as_json(base)
    with pytest.raises(TranslationError):
        translator.from_hook_llm_request(hook, base)
    assert as_json(base) == before


def test_without_a_base_the_request_is_made_in_the_form_of_the_other() -> None:
    hook = {"model": "m", "messages": said(("user", "hi")), "config": {"topK": 3}}
    plain = {"model": "m", "contents": [text("hi")], "config": {"topK": 3}}
    assert translator.from_hook_llm_request(hook) == plain
    made = translator.from_hook_llm_request(hook, like=GenerateContentParameters("other"))
    assert isinstance(made, GenerateContentParameters)
    assert isinstance(made.contents[0], types.Content)
    assert isinstance(made.config, types.GenerateContentConfig)
    assert as_json(made) == plain
