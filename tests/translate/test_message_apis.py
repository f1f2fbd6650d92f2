"""What the laws cannot say: where each message API has its system prompt, tools and words."""

from typing import Any

import pytest

from hookline.calls.streams import merge_chunks, split_response
from hookline.errors import TranslationError
from hookline.translate.choice import AnyTranslator
from tests.translate.forms import Json, said

translator = AnyTranslator()


def function(name: str) -> Json:
    return {"type": "function", "function": {"name": name}}


CHAT: Json = {
    "model": "m",
    "temperature": 0.5,
    "messages": [{"role": "developer", "content": "d"}, {"role": "user", "content": "u"}],
    "tools": [function("a"), {"type": "custom", "custom": {"name": "b"}}, function("c")],
}
CLAUDE: Json = {
    "model": "m",
    "max_tokens": 9,
    "messages": [{"role": "user", "content": "u"}],
    "tools": [{"name": "a", "input_schema": {}}, {"type": "bash_20250124", "name": "bash"}],
}
ITEMS: Json = {
    "model": "m",
    "input": "u",
    "tools": [
        {"type": "function", "name": "a"},
        {"type": "web_search_preview"},
        {"type": "mcp", "server_label": "wiki", "server_url": "https://x"},
    ],
}


def restricted(request: Json, mode: str, *names: str) -> Json:
    config = {"mode": mode, "allowedFunctionNames": list(names)}
    edited: Json = translator.from_hook_llm_request({"toolConfig": config}, request)
    return edited


def test_openai_chat_declares_the_allowed_tools_alone() -> None:
    """Servers ignore or refuse an allow-list in the tool choice, and read the list of tools."""
    assert translator.tool_names(CHAT) == ["a", "b", "c"]
    edited = restricted(CHAT, "ANY", "b", "a", "unknown")
    custom = {"type": "custom", "custom": {"name": "b"}}
    assert edited == CHAT | {"tool_choice": "required", "tools": [function("a"), custom]}
    no_list = translator.from_hook_llm_request({"toolConfig": {"mode": "any"}}, CHAT)
    assert no_list == CHAT | {"tool_choice": "required"}


def test_a_request_without_its_tools_has_no_tool_choice_and_stays_a_request_of_its_api() -> None:
    """The API refuses a choice among no tools. Without them the arguments look like hooks' own."""
    plain = {"model": "m", "messages": [{"role": "user", "content": "u"}]}
    tools = {"tools": [function("a")], "tool_choice": function("a"), "parallel_tool_calls": True}
    for change in ({"mode": "none"}, {"allowedFunctionNames": ["unknown"]}):
        edited = translator.from_hook_llm_request({"toolConfig": change}, {**plain, **tools})
        assert edited == plain
        assert translator.empty_response("no", like=edited)["choices"]


def test_a_forced_tool_that_hooks_take_away_is_no_longer_named() -> None:
    edited = restricted({**CHAT, "tool_choice": function("a")}, "AUTO", "c")
    assert edited == CHAT | {"tool_choice": "auto", "tools": [function("c")]}


def test_openai_chat_has_no_tool_choice_where_nothing_is_declared() -> None:
    request = {"model": "m", "messages": CHAT["messages"]}
    assert restricted(request, "NONE") is request


def test_functions_of_the_older_kind_are_restricted_too() -> None:
    request = {**CHAT, "functions": [{"name": "a"}, {"name": "b"}], "function_call": "auto"}
    del request["tools"]
    assert translator.tool_names(request) == ["a", "b"]
    assert restricted(request, "NONE").keys() == {"model", "temperature", "messages"}
    edited = restricted(request, "ANY", "b")
    assert edited["functions"] == [{"name": "b"}]
    assert edited["function_call"] == {"name": "b"}
    assert "tool_choice" not in edited


def test_anthropic_goes_without_the_tools_that_are_not_allowed() -> None:
    choice = {"type": "auto", "disable_parallel_tool_use": True}
    edited = restricted({**CLAUDE, "tool_choice": choice}, "ANY", "bash")
    assert edited["tools"] == [CLAUDE["tools"][1]]
    assert edited["tool_choice"] == {"type": "any", "disable_parallel_tool_use": True}
    none = restricted({**CLAUDE, "mcp_servers": [{"name": "wiki"}]}, "AUTO", "unknown")
    assert none == {name: CLAUDE[name] for name in CLAUDE if name != "tools"}
    wiki = restricted({**CLAUDE, "mcp_servers": [{"name": "wiki"}]}, "AUTO", "wiki")
    assert wiki == none | {"mcp_servers": [{"name": "wiki"}], "tool_choice": {"type": "auto"}}


def test_anthropic_declares_its_tools_where_the_conversation_has_calls() -> None:
    """The API refuses a conversation with calls if no tool is declared."""
    block = {"type": "tool_use", "id": "1", "name": "a", "input": {}}
    messages = [*CLAUDE["messages"], {"role": "assistant", "content": [block]}]
    request = {**CLAUDE, "messages": messages}
    assert restricted(request, "NONE") == request | {"tool_choice": {"type": "none"}}


def test_openai_responses_names_its_own_tools_by_their_type() -> None:
    assert translator.tool_names(ITEMS) == ["a", "web_search", "wiki"]
    edited = restricted(ITEMS, "AUTO", "web_search", "wiki")
    assert (edited["tool_choice"], edited["tools"]) == ("auto", ITEMS["tools"][1:])


@pytest.mark.parametrize("name", ["openai-chat", "openai-responses", "anthropic"])
def test_a_hooks_system_message_goes_where_the_api_takes_it(name: str) -> None:
    def add(request: Json) -> Any:
        shown = translator.to_hook_llm_request(request)["messages"]
        change = {"messages": [*shown, {"role": "system", "content": "s"}]}
        return translator.from_hook_llm_request(change, request)

    if name == "openai-chat":
        assert add(CHAT)["messages"] == [*CHAT["messages"], {"role": "system", "content": "s"}]
    elif name == "openai-responses":
        assert add({**ITEMS, "instructions": "i"})["input"] == said(("user", "u"), ("system", "s"))
    else:
        assert add(CLAUDE) == CLAUDE | {"system": "s"}
        assert add({**CLAUDE, "system": "own"})["system"] == "own\n\ns"
        own = [{"type": "text", "text": "own", "cache_control": {"type": "ephemeral"}}]
        added = [*own, {"type": "text", "text": "s"}]
        assert add({**CLAUDE, "system": own})["system"] == added


def test_settings_have_each_apis_names_and_those_it_lacks_are_warned_of(
    caplog: pytest.LogCaptureFixture,
) -> None:
    change = {"config": {"temperature": 1, "maxOutputTokens": 7, "topK": 3, "stopSequences": ["x"]}}
    assert translator.from_hook_llm_request(change, CHAT) == CHAT | {
        "temperature": 1,
        "max_completion_tokens": 7,
        "stop": ["x"],
    }
    older = {**CHAT, "max_tokens": 5}
    assert translator.from_hook_llm_request(change, older)["max_tokens"] == 7
    assert "config.topK was left out: OpenAI chat completions has no such setting" in caplog.text
    edited = translator.from_hook_llm_request(change, {**CLAUDE, "system": "s"})
    assert (edited["max_tokens"], edited["top_k"], edited["stop_sequences"]) == (7, 3, ["x"])
    edited = translator.from_hook_llm_request(change, ITEMS)
    assert edited == ITEMS | {"temperature": 1, "max_output_tokens": 7}


def test_a_refusal_is_shown_and_edited_in_its_place() -> None:
    message = {"role": "assistant", "content": "a", "refusal": "no"}
    response = {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
    shown = translator.to_hook_llm_response(response)
    assert shown["candidates"][0]["content"]["parts"] == ["a", "no"]
    change = {"candidates": [{"content": {"parts": ["a", "never"]}}]}
    [choice] = translator.from_hook_llm_response(change, response)["choices"]
    assert choice["message"] == message | {"refusal": "never"}
    [choice] = translator.from_hook_llm_response({"text": "b"}, response)["choices"]
    assert choice["message"] == {"role": "assistant", "content": "b"}


def test_an_edited_transcript_takes_the_speech_with_it() -> None:
    audio = {"id": "1", "data": "c3BlZWNo", "transcript": "secret"}
    message = {"role": "assistant", "content": None, "audio": audio}
    response = {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
    [choice] = translator.from_hook_llm_response({"text": "-"}, response)["choices"]
    assert choice["message"] == {"role": "assistant", "content": "-"}


def test_a_text_taken_away_leaves_a_null_beside_calls() -> None:
    call = {"id": "1", "type": "function", "function": {"name": "a", "arguments": "{}"}}
    message = {"role": "assistant", "content": "secret", "tool_calls": [call]}
    response = {"choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]}
    change: Json = {"candidates": [{"content": {"parts": []}}]}
    [choice] = translator.from_hook_llm_response(change, response)["choices"]
    assert choice["message"] == message | {"content": None}
    request = {"messages": [{"role": "user", "content": "hi"}, message]}
    kept = translator.from_hook_llm_request({"messages": said(("user", "hi"))}, request)
    assert kept["messages"][1] == message | {"content": None}


def test_calls_stay_with_the_model_when_its_words_become_the_users() -> None:
    call = {"id": "1", "type": "function", "function": {"name": "a", "arguments": "{}"}}
    message = {"role": "assistant", "content": "I look", "tool_calls": [call]}
    result = {"role": "tool", "tool_call_id": "1", "content": "x"}
    request = {"messages": [message, result]}
    edited = translator.from_hook_llm_request({"messages": said(("user", "look"))}, request)
    assert edited["messages"] == [
        {"role": "user", "content": "look"},
        message | {"content": None},
        result,
    ]


def test_thoughts_come_before_a_new_text_and_calls_after_it() -> None:
    thought = {"type": "thinking", "thinking": "t", "signature": "s"}
    use = {"type": "tool_use", "id": "1", "name": "a", "input": {}}
    response = {"role": "assistant", "content": [thought, use]}
    edited = translator.from_hook_llm_response({"text": "new"}, response)
    assert edited["content"] == [thought, {"type": "text", "text": "new"}, use]


def test_a_cache_mark_stays_at_the_end_of_the_texts() -> None:
    mark = {"cache_control": {"type": "ephemeral"}}
    blocks = [{"type": "text", "text": "a"}, {"type": "text", "text": "b", **mark}]
    request = {**CLAUDE, "messages": [{"role": "user", "content": blocks}]}
    edited = translator.from_hook_llm_request({"messages": said(("user", "ab!"))}, request)
    assert edited["messages"][0]["content"] == [{"type": "text", "text": "ab!", **mark}]


def test_texts_of_several_items_are_edited_each_in_its_own() -> None:
    def message(*texts: str) -> Json:
        content = [{"type": "output_text", "text": text, "annotations": []} for text in texts]
        return {"type": "message", "role": "assistant", "content": content}

    call = {"type": "function_call", "call_id": "1", "name": "a", "arguments": "{}"}
    response = {"output": [message("a", "b"), call, message("c")], "output_text": "abc"}
    change = {"candidates": [{"content": {"parts": ["a", "B", "c"]}}]}
    edited = translator.from_hook_llm_response(change, response)
    assert edited == {"output": [message("a", "B"), call, message("c")], "output_text": "aBc"}
    assert edited["output"][2] is response["output"][2]
    whole = translator.from_hook_llm_response({"text": "x"}, response)
    assert whole == {"output": [message("x"), call], "output_text": "x"}


def test_an_input_that_is_a_text_stays_one() -> None:
    edited = translator.from_hook_llm_request({"messages": said(("user", "x"))}, ITEMS)
    assert edited == ITEMS | {"input": "x"}


@pytest.mark.parametrize(
    ("response", "left", "word"),
    [
        (
            {
                "choices": [
                    {
                        "message": {"content": "t", "tool_calls": [function("a"), function("b")]},
                        "finish_reason": "tool_calls",
                    }
                ]
            },
            ["b"],
            "tool_calls",
        ),
        (
            {
                "role": "assistant",
                "content": [{"type": "tool_use", "id": "1", "name": "a", "input": {}}],
                "stop_reason": "tool_use",
            },
            [],
            "end_turn",
        ),
        (
            {
                "output": [
                    {"type": "shell_call", "call_id": "1"},
                    {"type": "function_call", "name": "a"},
                ],
                "status": "completed",
            },
            ["shell"],
            "completed",
        ),
    ],
    ids=["openai-chat", "anthropic", "openai-responses"],
)
def test_calls_that_are_not_allowed_can_be_taken_out(response: Json, left: Any, word: str) -> None:
    kept = translator.drop_calls(response, ["a"])
    assert translator.call_names(kept) == left
    [candidate] = translator.to_hook_llm_response(kept)["candidates"]
    assert candidate["finishReason"] == word


def test_a_word_for_the_end_that_the_api_does_not_have_is_left_out(
    caplog: pytest.LogCaptureFixture,
) -> None:
    response: Json = {
        "choices": [{"index": 0, "message": {"content": "a"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3},
    }
    change: Json = {"candidates": [{"finishReason": "MAX_TOKENS"}]}
    assert translator.from_hook_llm_response(change, response) is response
    assert "finishReason 'MAX_TOKENS' was left out" in caplog.text
    change = {"candidates": [{"finishReason": "length", "index": 2}]}
    [choice] = translator.from_hook_llm_response(change, response)["choices"]
    assert (choice["finish_reason"], choice["index"]) == ("length", 2)
    counted = {"text": "a", "usageMetadata": {"totalTokenCount": 9}}
    edited = translator.from_hook_llm_response(counted, response)
    assert edited["usage"] == response["usage"] | {"total_tokens": 9}


def test_an_api_with_one_answer_takes_the_first_of_several(
    caplog: pytest.LogCaptureFixture,
) -> None:
    response = {"role": "assistant", "content": [{"type": "text", "text": "secret"}]}
    change = {"candidates": [{"content": {"parts": [text]}} for text in ("a", "b")]}
    edited = translator.from_hook_llm_response(change, response)
    assert edited == {"role": "assistant", "content": [{"type": "text", "text": "a"}]}
    assert "candidates were left out after the first" in caplog.text
    assert translator.from_hook_llm_response({"candidates": []}, response)["content"] == []


USE: Json = {"type": "tool_use", "id": "t", "name": "a", "input": {}}
RESULT: Json = {"type": "tool_result", "tool_use_id": "t", "content": "r"}
CLAUDE_PAIR = [
    {"role": "assistant", "content": [{"type": "text", "text": "wait"}, USE]},
    {"role": "user", "content": [RESULT, {"type": "text", "text": "and?"}]},
]
GENAI_PAIR = [
    {"role": "model", "parts": [{"text": "wait"}, {"functionCall": {"name": "a"}}]},
    {"role": "user", "parts": [{"functionResponse": {"name": "a"}}, {"text": "and?"}]},
]


@pytest.mark.parametrize("role", ["user", "model"])
@pytest.mark.parametrize(
    ("request_", "name"),
    [({**CLAUDE, "messages": CLAUDE_PAIR}, "messages"), ({"contents": GENAI_PAIR}, "contents")],
    ids=["anthropic", "genai"],
)
def test_a_message_added_before_a_result_does_not_part_it_from_its_call(
    request_: Json, name: str, role: str
) -> None:
    wait, asked = translator.to_hook_llm_request(request_)["messages"]
    wanted = [wait, {"role": role, "content": "new"}, asked]
    edited = translator.from_hook_llm_request({"messages": wanted}, request_)
    assert translator.to_hook_llm_request(edited)["messages"] == wanted
    call, result, _new, rest = edited[name]
    assert call is request_[name][0]
    parts = "content" if name == "messages" else "parts"
    old = request_[name][1]
    assert result == {**old, parts: old[parts][:1]}
    assert rest == {**old, parts: old[parts][1:]}


def test_a_result_stays_with_its_call_when_its_text_gets_another_role() -> None:
    request = {**CLAUDE, "messages": CLAUDE_PAIR}
    wait, _asked = translator.to_hook_llm_request(request)["messages"]
    wanted = [wait, {"role": "model", "content": "so"}]
    edited = translator.from_hook_llm_request({"messages": wanted}, request)
    assert edited["messages"][1:] == [
        {"role": "user", "content": [RESULT]},
        {"role": "assistant", "content": "so"},
    ]


def test_an_item_of_openai_that_gets_another_role_has_no_blocks_of_the_old_one() -> None:
    block = {"type": "output_text", "text": "hi", "annotations": []}
    said = {"type": "message", "id": "m1", "status": "completed", "role": "assistant"}
    request = {"model": "m", "input": [{**said, "content": [block]}]}
    wanted = [{"role": "user", "content": "ho"}]
    edited = translator.from_hook_llm_request({"messages": wanted}, request)
    assert edited["input"] == wanted


REFUSAL: Json = {"type": "refusal", "refusal": "I will not"}


def _make_response(*parts: Json) -> Json:
    message = {"id": "m", "type": "message", "role": "assistant", "content": [*parts]}
    # As the SDK has it: the texts, without refusals.
    text = "".join(part.get("text", "") for part in parts)
    return {"output": [message], "status": "completed", "output_text": text}


def test_a_refusal_of_openai_responses_is_read_and_replaced_with_the_text() -> None:
    said_first: Json = {"type": "output_text", "text": "So: ", "annotations": []}
    response = _make_response(said_first, REFUSAL)
    shown = translator.to_hook_llm_response(response)
    assert shown["candidates"][0]["content"]["parts"] == ["So: ", "I will not"]
    for chunks in (split_response(response), split_response(response)[:-2]):
        assert translator.to_hook_llm_response(merge_chunks(chunks))["text"] == "So: I will not"
    edited = translator.from_hook_llm_response({"text": "[gone]"}, response)
    assert edited == _make_response({**said_first, "text": "[gone]"})
    alone = translator.from_hook_llm_response({"text": "[gone]"}, _make_response(REFUSAL))
    assert alone == _make_response({**REFUSAL, "refusal": "[gone]"})


def test_output_text_that_is_not_in_the_output_is_refused() -> None:
    response = _make_response(REFUSAL) | {"output_text": "hidden"}
    with pytest.raises(TranslationError, match="output_text differs"):
        translator.to_hook_llm_response(response)
