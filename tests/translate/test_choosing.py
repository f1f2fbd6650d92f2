"""Which API a value is of, by what only that API has."""

from typing import Any

import pytest

from hookline.errors import TranslationError
from hookline.translate.choice import TRANSLATORS, AnyTranslator, make_translator
from hookline.translate.streams import find_stream_form
from hookline.translate.values import JSONCall

translator = AnyTranslator()
HI = {"role": "user", "content": "hi"}


def _tells_anthropic(request: Any) -> bool:
    """Anthropic alone takes a hook's system message beside the conversation, as ``system``."""
    added = {"messages": [*translator.to_hook_llm_request(request)["messages"]]}
    added["messages"].append({"role": "system", "content": "be brief"})
    return "be brief" in str(translator.from_hook_llm_request(added, request).get("system"))


@pytest.mark.parametrize(
    "fields",
    [
        {"system": "s"},
        {"stop_sequences": ["x"]},
        {"top_k": 3},
        {"thinking": {"type": "enabled"}},
        {"container": "c"},
        {"output_config": {}},
        *({"tool_choice": {"type": kind}} for kind in ("auto", "any", "none")),
        {"tool_choice": {"type": "tool", "name": "ls"}},
        {"tools": [{"name": "ls"}]},
        {"max_tokens": 9, "model": "claude-x"},
    ],
    ids=str,
)
def test_a_request_with_what_only_anthropic_has_is_anthropics(fields: dict[str, Any]) -> None:
    assert _tells_anthropic({"model": "m", "messages": [HI], **fields})


@pytest.mark.parametrize(
    "block",
    [
        {"type": "tool_use", "id": "1", "name": "ls", "input": {}},
        {"type": "tool_result", "tool_use_id": "1", "content": "a"},
        {"type": "thinking", "thinking": "hm", "signature": "s"},
        {"type": "redacted_thinking", "data": "x"},
        {"type": "image", "source": {}},
        {"type": "document", "source": {}},
    ],
    ids=lambda block: block["type"],
)
def test_a_block_that_only_anthropic_has_tells_its_messages(block: dict[str, Any]) -> None:
    role = "user" if block["type"] in ("tool_result", "image", "document") else "assistant"
    assert _tells_anthropic({"model": "m", "messages": [HI, {"role": role, "content": [block]}]})


@pytest.mark.parametrize(
    "request_",
    [
        {"max_tokens": 9, "model": "gpt-x", "messages": [HI]},
        {"model": "claude-x", "n": 1, "messages": [HI]},
        {"tools": [{"type": "function", "function": {"name": "ls"}}], "messages": [HI]},
        {"tool_choice": "auto", "messages": [HI]},
        {"messages": [{"role": "developer", "content": "s"}, HI], "max_tokens": 9},
    ],
    ids=str,
)
def test_what_openai_has_as_well_does_not_make_a_request_anthropics(request_: Any) -> None:
    assert not _tells_anthropic(request_)
    assert translator.has_system_turns(request_)


@pytest.mark.parametrize(
    ("config", "api"),
    [
        (None, "genai"),
        ({}, "genai"),
        ({"functionCallingConfig": {"mode": "ANY"}}, "genai"),
        ({"mode": "ANY"}, "hooks"),
        ({"allowedFunctionNames": ["ls"]}, "hooks"),
        ("required", "openai-chat"),
        ({"type": "function", "function": {"name": "ls"}}, "openai-chat"),
        ({"type": "function", "name": "ls"}, "openai-responses"),
        ({"type": "allowed_tools", "mode": "auto", "tools": []}, "openai-responses"),
        ({"type": "any"}, "anthropic"),
        ({"type": "tool", "name": "ls"}, "anthropic"),
    ],
    ids=str,
)
def test_a_tool_choice_is_read_as_its_own_api_reads_it(config: Any, api: str) -> None:
    shown = translator.to_hook_tool_config(config)
    assert shown == make_translator(api).to_hook_tool_config(config)
    changed = translator.from_hook_tool_config({"mode": "NONE"}, config)
    assert changed == make_translator(api).from_hook_tool_config({"mode": "NONE"}, config)


@pytest.mark.parametrize(
    ("response", "name"),
    [
        ({"choices": []}, "openai-chat"),
        ({"output": []}, "openai-responses"),
        ({"output": [], "text": {"format": {"type": "text"}}}, "openai-responses"),
        ({"role": "assistant", "content": []}, "anthropic"),
        ({"candidates": []}, "genai"),
        ({}, "genai"),
        ({"text": "hi"}, "hooks"),
        ({"candidates": [{"content": {"parts": ["hi"]}}]}, "hooks"),
        ({"candidates": [{"content": {"parts": [{"text": "hi"}]}}]}, "genai"),
        ({"candidates": [{"content": {"parts": ["a", {"text": "b"}]}}]}, "genai"),
    ],
    ids=str,
)
def test_an_answer_in_place_of_a_response_has_the_form_of_its_api(response: Any, name: str) -> None:
    answer = translator.empty_response("no", like=response)
    assert answer == make_translator(name).empty_response("no", like=response)
    again = translator.from_hook_llm_response({"text": "new"}, response)
    assert again == make_translator(name).from_hook_llm_response({"text": "new"}, response)


def test_a_value_of_no_api_is_described() -> None:
    with pytest.raises(TranslationError, match="a model request cannot be int; hookline reads"):
        translator.to_hook_llm_request(5)
    with pytest.raises(TranslationError, match="cannot be a list of int; hookline reads"):
        translator.to_hook_llm_request([1])
    with pytest.raises(TranslationError, match="an object of input, messages; hookline reads"):
        translator.to_hook_llm_request({"input": "a", "messages": [HI]})
    with pytest.raises(TranslationError, match="a model response cannot be list; hookline reads"):
        translator.to_hook_llm_response([])


def test_a_caller_of_an_unknown_api_still_gets_an_answer() -> None:
    answer = translator.empty_response("no", like=JSONCall("mistral", {"messages": []}))
    assert translator.to_hook_llm_response(answer).get("text") == "no"


def test_every_translator_that_needs_no_framework_loads_once() -> None:
    for name in TRANSLATORS.keys() - {"langchain", "pydantic-ai", "strands"}:
        assert make_translator(name) is make_translator(name)


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ({"type": "response.created"}, "ResponsesStreams"),
        ({"output": []}, "ResponsesStreams"),
        ({"type": "message_start"}, "AnthropicStreams"),
        ({"type": "content_block_delta"}, "AnthropicStreams"),
        ({"type": "message", "content": []}, "AnthropicStreams"),
        ({"choices": []}, "ChatStreams"),
        ({"type": "ping"}, "NoneType"),
        ({"candidates": []}, "GenAIStreams"),
        ({"candidates": [{"content": {"parts": [{"text": "a"}]}}]}, "GenAIStreams"),
        ({"candidates": [{"content": {"parts": ["hooks' own form"]}}]}, "NoneType"),
    ],
    ids=str,
)
def test_a_chunk_or_a_response_tells_its_stream(value: Any, kind: str) -> None:
    assert type(find_stream_form(value)).__name__ == kind
