"""What hooks may say of a model's request and response."""

from typing import Any

import pytest

from hookline.wire.model import (
    LLMConfigChange,
    LLMRequestChange,
    LLMResponseChange,
    find_unread,
    is_llm_response,
    merge_llm_request,
    read_llm_request,
    read_llm_response,
    read_tool_config,
    well_formed,
)


def test_fields_that_the_format_lacks_are_found_at_any_depth() -> None:
    request = {
        "model": "m",
        "temperature": 0,
        "messages": [{"role": "user", "content": "c", "name": "n"}, "text"],
        "config": {"topP": 1, "top_p": 1},
        "toolConfig": {"mode": "ANY", "allowed": []},
    }
    assert [*find_unread(request, LLMRequestChange)] == [
        *("temperature", "messages.name", "config.top_p", "toolConfig.allowed"),
    ]
    content = {"parts": ["p"], "text": "t"}
    response = {"text": "t", "candidates": [{"content": content, "stop": 1}], "id": 5}
    assert [*find_unread(response, LLMResponseChange)] == [
        *("candidates.content.text", "candidates.stop", "id"),
    ]
    assert [*find_unread({}, LLMResponseChange)] == []


def test_only_what_a_hook_could_send_back_is_well_formed() -> None:
    given = {"temperature": 0.5, "maxOutputTokens": 1.5, "topK": "3", "stopSequences": ["a"]}
    assert well_formed(given, LLMConfigChange) == {"temperature": 0.5, "stopSequences": ["a"]}
    assert well_formed({"novel": 5, "topP": None}, LLMConfigChange) == {"novel": 5, "topP": None}


@pytest.mark.parametrize(
    ("base", "change", "merged"),
    [
        ({"model": "m"}, {"model": "n"}, {"model": "n"}),
        ({"model": "m"}, {"model": None}, {"model": "m"}),
        (
            {"config": {"topK": 1, "topP": 1}},
            {"config": {"topK": 2, "topP": None}},
            {"config": {"topK": 2, "topP": 1}},
        ),
        ({"config": 5}, {"config": {"topK": 2}}, {"config": {"topK": 2}}),
        (
            {"toolConfig": {"mode": "ANY"}},
            {"toolConfig": {"allowedFunctionNames": ["a"]}},
            {"toolConfig": {"mode": "ANY", "allowedFunctionNames": ["a"]}},
        ),
    ],
)
def test_a_change_is_merged_field_by_field(base: Any, change: Any, merged: Any) -> None:
    assert merge_llm_request(base, change) == merged


@pytest.mark.parametrize(
    ("part", "text"),
    [("p", "p"), ({"text": "p"}, "p"), ({"text": "p", "thought": None}, "p")],
)
def test_a_part_may_be_written_as_gemini_has_it(part: Any, text: str) -> None:
    response = read_llm_response({"candidates": [{"content": {"parts": [part]}}]})
    assert response.candidates is not None
    assert response.candidates[0].content is not None
    assert response.candidates[0].content.parts == [text]


@pytest.mark.parametrize(
    "response",
    [
        {},
        {"text": None},
        {"text": 5},
        {"usageMetadata": {}},
        {"candidates": 5},
        {"candidates": [5]},
        {"candidates": [{"content": 5}]},
        {"candidates": [{"content": {"parts": 5}}]},
        {"candidates": [{"content": {"parts": [{"text": "p", "thought": True}]}}]},
        {"candidates": [{"content": {"parts": [{}]}}]},
        "text",
    ],
)
def test_a_response_that_is_malformed_is_refused_whole(response: Any) -> None:
    assert not is_llm_response(response)
    with pytest.raises(ValueError, match=r"^is malformed: "):
        read_llm_response(response)


def test_a_change_names_only_what_the_hook_named() -> None:
    config = read_tool_config({"allowedFunctionNames": [], "mode": None, "novel": 5})
    assert config.named() == {"allowedFunctionNames": []}
    assert read_llm_request({}).named() == {}
    with pytest.raises(ValueError, match=r"is malformed: .*mode"):
        read_tool_config({"mode": 5})
    assert is_llm_response({"text": ""})
    assert is_llm_response({"candidates": []})
