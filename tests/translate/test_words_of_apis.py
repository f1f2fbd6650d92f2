"""The names that each message API has for settings, counts, tool choices and empty answers."""

from types import SimpleNamespace
from typing import Any

import pytest

from hookline.errors import TranslationError
from hookline.translate.choice import make_translator
from hookline.translate.values import SDKCall
from tests.translate.forms import Json, said

CHAT, ITEMS, CLAUDE = (
    make_translator(name) for name in ("openai-chat", "openai-responses", "anthropic")
)
HI: Json = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
ITEM: Json = {"model": "m", "input": "hi"}


@pytest.mark.parametrize(
    ("translator", "own", "name"),
    [
        (CHAT, "temperature", "temperature"),
        (CHAT, "max_completion_tokens", "maxOutputTokens"),
        (CHAT, "max_tokens", "maxOutputTokens"),
        (CHAT, "top_p", "topP"),
        (CHAT, "n", "candidateCount"),
        (CHAT, "presence_penalty", "presencePenalty"),
        (CHAT, "frequency_penalty", "frequencyPenalty"),
        (ITEMS, "temperature", "temperature"),
        (ITEMS, "max_output_tokens", "maxOutputTokens"),
        (ITEMS, "top_p", "topP"),
        (CLAUDE, "temperature", "temperature"),
        (CLAUDE, "max_tokens", "maxOutputTokens"),
        (CLAUDE, "top_p", "topP"),
        (CLAUDE, "top_k", "topK"),
    ],
)
def test_a_setting_is_shown_under_hooks_name_and_changed_under_its_own(
    translator: Any, own: str, name: str
) -> None:
    request = {**(ITEM if translator is ITEMS else HI), own: 1}
    assert translator.to_hook_llm_request(request)["config"] == {name: 1}
    assert translator.from_hook_llm_request({"config": {name: 2}}, request) == {**request, own: 2}
    assert translator.from_hook_llm_request({"config": {name: 1}}, request) is request


@pytest.mark.parametrize(
    ("given", "shown"), [("x", ["x"]), (["x"], ["x"]), (("x", "y"), ["x", "y"])], ids=str
)
def test_stops_are_shown_as_a_list(given: Any, shown: list[str]) -> None:
    config = CHAT.to_hook_llm_request({**HI, "stop": given})["config"]
    assert config == {"stopSequences": shown}
    claude = CLAUDE.to_hook_llm_request({**HI, "stop_sequences": given})["config"]
    assert claude == {"stopSequences": shown}


@pytest.mark.parametrize(
    ("translator", "response", "names"),
    [
        (CHAT, {"choices": []}, ("prompt_tokens", "completion_tokens", "total_tokens")),
        (ITEMS, {"output": []}, ("input_tokens", "output_tokens", "total_tokens")),
        (CLAUDE, {"role": "assistant", "content": []}, ("input_tokens", "output_tokens")),
    ],
    ids=["openai-chat", "openai-responses", "anthropic"],
)
def test_counts_are_shown_with_their_sum_and_changed_where_the_api_has_them(
    translator: Any, response: Json, names: tuple[str, ...]
) -> None:
    def count(*counts: int) -> Json:
        return {**response, "usage": dict(zip(names, counts, strict=False))}

    shown = {"promptTokenCount": 1, "candidatesTokenCount": 2, "totalTokenCount": 3}
    assert translator.to_hook_llm_response(count(1, 2, 3))["usageMetadata"] == shown
    assert translator.to_hook_llm_response(count(1, 2))["usageMetadata"] == shown
    assert translator.to_hook_llm_response(count(1))["usageMetadata"] == {"promptTokenCount": 1}
    assert "usageMetadata" not in translator.to_hook_llm_response(response)
    change = {"candidates": [], "usageMetadata": {name: n * 10 for name, n in shown.items()}}
    edited = translator.from_hook_llm_response(change, count(1, 2, 3))
    assert edited["usage"] == count(10, 20, 30)["usage"]
    assert "usage" not in translator.from_hook_llm_response(change, response)


def named(*names: str, mode: str = "ANY") -> Json:
    return {"mode": mode, "allowedFunctionNames": list(names)}


A = {"name": "a"}
ALLOWED = [{"type": "function", "function": A}, {"type": "custom"}]


@pytest.mark.parametrize(
    ("translator", "choice", "shown"),
    [
        *((CHAT, word, {"mode": mode}) for word, mode in (("auto", "AUTO"), ("required", "ANY"))),
        (CHAT, {"type": "function", "function": A}, named("a")),
        (CHAT, A, named("a")),
        *(
            (
                CHAT,
                {"type": "allowed_tools", "allowed_tools": {"mode": word, "tools": ALLOWED}},
                named("a", mode=mode),
            )
            for word, mode in (("required", "ANY"), ("auto", "AUTO"))
        ),
        (ITEMS, "none", {"mode": "NONE"}),
        (ITEMS, {"type": "function", "name": "a"}, named("a")),
        (ITEMS, {"type": "mcp", "server_label": "wiki", "name": "a"}, named("wiki")),
        (ITEMS, {"type": "function", "namespace": "n", "name": "a"}, named("n")),
        (ITEMS, {"type": "web_search_preview"}, named("web_search")),
        (ITEMS, {"type": "computer_use_preview"}, named("computer")),
        (ITEMS, {"type": "file_search", "name": ""}, named("file_search")),
        (ITEMS, {"type": "allowed_tools", "mode": "required", "tools": [A, {}]}, named("a")),
        (ITEMS, {"type": "allowed_tools", "tools": [A]}, named("a", mode="AUTO")),
        (CLAUDE, {"type": "any"}, {"mode": "ANY"}),
        (CLAUDE, {"type": "tool", "name": "a"}, named("a")),
    ],
)
def test_a_tool_choice_is_shown_as_a_mode_and_names(
    translator: Any, choice: Any, shown: Json
) -> None:
    assert translator.to_hook_tool_config(choice) == shown


@pytest.mark.parametrize(
    ("translator", "choice"),
    [
        *((CHAT, choice) for choice in ("some", 5, {}, {"type": "function"}, {"name": 5})),
        *((ITEMS, choice) for choice in ("some", 5, {}, {"type": 5}, A)),
        *((CLAUDE, choice) for choice in ("auto", 5, {}, {"type": "tool"}, {"type": 5}, A)),
    ],
)
def test_a_tool_choice_of_an_unknown_shape_is_refused(translator: Any, choice: Any) -> None:
    with pytest.raises(TranslationError, match="has an unknown shape"):
        translator.to_hook_tool_config(choice)


@pytest.mark.parametrize("model", ["m", 5])
@pytest.mark.parametrize(
    ("translator", "made"),
    [
        (
            CHAT,
            {
                "object": "chat.completion",
                "created": 0,
                "choices": [
                    {
                        "index": 0,
                        "message": {"role": "assistant", "content": "no"},
                        "finish_reason": "stop",
                    }
                ],
            },
        ),
        (
            ITEMS,
            {
                "object": "response",
                "created_at": 0,
                "status": "completed",
                "output": [
                    {
                        "id": "hookline",
                        "type": "message",
                        "role": "assistant",
                        "status": "completed",
                        "content": [{"type": "output_text", "text": "no", "annotations": []}],
                    }
                ],
                "parallel_tool_calls": False,
                "tool_choice": "none",
                "tools": [],
            },
        ),
        (
            CLAUDE,
            {
                "type": "message",
                "role": "assistant",
                "content": [{"type": "text", "text": "no"}],
                "stop_reason": "end_turn",
                "stop_sequence": None,
                "usage": {"input_tokens": 0, "output_tokens": 0},
            },
        ),
    ],
    ids=["openai-chat", "openai-responses", "anthropic"],
)
def test_an_answer_in_the_models_place_is_whole(translator: Any, made: Json, model: Any) -> None:
    answer = translator.empty_response("no", like={"model": model})
    expected = {**made, "id": "hookline", "model": model if model == "m" else ""}
    assert answer == expected


def test_functions_of_the_older_kind_count_where_no_tools_are() -> None:
    older = {**HI, "functions": [A, {"name": "b"}], "function_call": "auto"}
    assert CHAT.tool_selection(older) == ("auto", older["functions"])
    any_ = {"toolConfig": {"mode": "ANY"}}
    assert CHAT.from_hook_llm_request(any_, older) == older | {"function_call": "auto"}
    one = CHAT.from_hook_llm_request(any_, {**older, "functions": [A]})
    assert one == {**older, "functions": [A], "function_call": A}
    tools = [{"type": "function", "function": {"name": "c"}}]
    both = {**older, "tools": tools, "tool_choice": "required"}
    assert CHAT.tool_selection(both) == ("required", tools)
    assert CHAT.tool_names(both) == ["c", "a", "b"]
    left = CHAT.from_hook_llm_request({"toolConfig": named("c")}, both)
    assert left == {**HI, "tools": tools, "tool_choice": "required"}


@pytest.mark.parametrize(
    ("message", "names", "left"),
    [
        ({"function_call": {"name": "a", "arguments": ""}}, ["a"], {"content": "t"}),
        (
            {"tool_calls": [ALLOWED[0]], "function_call": {"name": "b"}},
            ["a", "b"],
            {"content": "t", "function_call": {"name": "b"}},
        ),
    ],
    ids=["older", "both"],
)
def test_a_call_of_the_older_kind_is_a_call(message: Json, names: list[str], left: Json) -> None:
    choice = {"message": {"content": "t", **message}, "finish_reason": "function_call"}
    response = {"choices": [choice]}
    assert CHAT.call_names(response) == names
    [kept] = CHAT.drop_calls(response, ["a"])["choices"]
    assert kept["message"] == left
    assert kept["finish_reason"] == ("stop" if len(names) == 1 else "function_call")


def test_speech_stays_only_with_the_words_that_it_says() -> None:
    audio = {"id": "1", "transcript": "spoken"}
    message = {"role": "assistant", "content": "a", "refusal": "no", "audio": audio}
    response = {"choices": [{"index": 0, "message": message, "logprobs": {"content": []}}]}

    def edit(*texts: str) -> Json:
        change = {"candidates": [{"content": {"parts": list(texts)}}]}
        [choice] = CHAT.from_hook_llm_response(change, response)["choices"]
        assert "logprobs" not in choice
        edited: Json = choice["message"]
        return edited

    assert edit("b", "no", "spoken") == message | {"content": "b"}
    assert edit("a", "", "spoken") == {"role": "assistant", "content": "a", "audio": audio}
    assert edit("a", "no", "changed") == {"role": "assistant", "content": "anochanged"}
    assert edit("x") == {"role": "assistant", "content": "x"}
    assert edit() == {"role": "assistant", "content": None}


@pytest.mark.parametrize(
    ("translator", "value"),
    [
        (CHAT, {"choices": [{"delta": {"content": "a"}}]}),
        (CHAT, {"choices": [5]}),
        (CHAT, {"choices": [{"message": "a"}]}),
        (CHAT, {"choices": {}}),
        (CHAT, SimpleNamespace(choices=[])),
        (ITEMS, {}),
        (ITEMS, {"output": "a"}),
        (ITEMS, SimpleNamespace(output=[])),
        (CLAUDE, {"role": "user", "content": []}),
        (CLAUDE, {"role": "assistant", "content": "a"}),
        (CLAUDE, {"role": "assistant"}),
        (CLAUDE, SimpleNamespace(role="assistant", content=[])),
    ],
)
def test_what_is_no_whole_response_is_refused(translator: Any, value: Any) -> None:
    kind = type(value).__name__
    with pytest.raises(TranslationError, match=f"a model response cannot be {kind} here"):
        translator.to_hook_llm_response(value)


@pytest.mark.parametrize(
    ("translator", "value"),
    [
        (CHAT, {}),
        (CHAT, {"messages": {}}),
        (CHAT, []),
        (CHAT, SimpleNamespace(messages=[])),
        (ITEMS, {**ITEM, "messages": [1]}),
        (ITEMS, []),
        (ITEMS, SimpleNamespace(input="")),
        (CLAUDE, {}),
        (CLAUDE, {"messages": "a"}),
        (CLAUDE, SimpleNamespace(messages=[])),
    ],
)
def test_what_is_no_request_is_refused(translator: Any, value: Any) -> None:
    kind = type(value).__name__
    with pytest.raises(TranslationError, match=f"a model request cannot be {kind} here"):
        translator.to_hook_llm_request(value)


@pytest.mark.parametrize(
    ("tools", "names", "left"),
    [
        ([A, {"name": "b"}], ["b", "a"], None),
        ([A, {"name": "b"}], ["b"], [{"name": "b"}]),
        ([{"type": "mcp_toolset", "mcp_server_name": "wiki"}, A], ["wiki"], "first"),
        ([{"type": "memory"}, A], ["memory"], "first"),
    ],
    ids=str,
)
def test_anthropic_declares_the_allowed_tools_alone(
    tools: list[Json], names: list[str], left: Any
) -> None:
    request = {**HI, "tools": tools}
    edited = CLAUDE.from_hook_llm_request({"toolConfig": named(*names)}, request)
    assert edited["tool_choice"] == {"type": "any"}
    assert edited["tools"] == (tools[:1] if left == "first" else tools if left is None else left)
    parallel = {"type": "auto", "disable_parallel_tool_use": True}
    none = {"toolConfig": {"mode": "NONE"}}
    assert CLAUDE.from_hook_llm_request(none, {**request, "tool_choice": parallel}) == HI


def test_an_input_of_items_keeps_the_type_that_the_user_gave_it() -> None:
    assert ITEMS.to_hook_llm_request({"input": ""})["messages"] == []
    for wanted in (said(("model", "a")), said(("user", "a"), ("user", "b"))):
        edited = ITEMS.from_hook_llm_request({"messages": wanted}, ITEM)
        spoken = [each["role"].replace("model", "assistant") for each in wanted]
        assert [item["role"] for item in edited["input"]] == spoken
    with pytest.raises(TranslationError, match=r"prompt\.variables cannot be shown"):
        ITEMS.to_hook_llm_request({**ITEM, "prompt": {"variables": {"a": "b"}}})


def test_texts_of_items_go_to_the_first_message_that_has_some() -> None:
    def message(*texts: str) -> Json:
        content = [{"type": "output_text", "text": text, "annotations": []} for text in texts]
        return {"type": "message", "role": "assistant", "content": content}

    change: Json = {"candidates": [{"content": {"parts": ["x", "y"]}}]}
    for items, left in (
        ([message(), message("a")], [message(), message("x", "y")]),
        ([message(), message()], [message("x", "y"), message()]),
        ([message("a"), message("b", "c")], [message("x", "y")]),
    ):
        edited = ITEMS.from_hook_llm_response(change, {"output": items})
        assert edited == {"output": left}
    with pytest.raises(TranslationError, match="output_text differs"):
        ITEMS.to_hook_llm_response({"output": [message("a")], "output_text": "b"})


@pytest.mark.parametrize("name", ["genai", "openai-chat", "openai-responses", "anthropic"])
def test_nothing_is_said_of_what_is_no_request_or_response(name: str) -> None:
    translator = make_translator(name)
    for ask in (translator.tool_names, translator.tool_selection):
        with pytest.raises(TranslationError, match="a model request cannot be int"):
            ask(5)
    with pytest.raises(TranslationError, match="a model response cannot be int"):
        translator.call_names(5)
    with pytest.raises(TranslationError, match="a model response cannot be int"):
        translator.drop_calls(5, ["a"])


@pytest.mark.parametrize(
    ("item", "name"),
    [
        ({"type": "function_call", "name": "a"}, "a"),
        ({"type": "custom_tool_call", "name": "a"}, "a"),
        ({"type": "computer_call"}, "computer"),
        ({"type": "local_shell_call"}, "local_shell"),
        ({"type": "shell_call"}, "shell"),
        ({"type": "apply_patch_call"}, "apply_patch"),
    ],
    ids=str,
)
def test_an_item_that_the_caller_executes_is_a_call_of_its_tool(item: Json, name: str) -> None:
    response = {"output": [item, {"type": "web_search_call"}]}
    assert ITEMS.call_names(response) == [name]
    assert ITEMS.drop_calls(response, [name])["output"] == [{"type": "web_search_call"}]


@pytest.mark.parametrize(
    ("translator", "empty"),
    [
        (CHAT, {"model": "", "messages": []}),
        (ITEMS, {"model": "", "input": []}),
        (CLAUDE, {"model": "", "messages": []}),
    ],
    ids=["openai-chat", "openai-responses", "anthropic"],
)
def test_a_new_request_has_what_the_api_requires(translator: Any, empty: Json) -> None:
    assert translator.new_request({}) == empty
    call = translator.new_request(SDKCall("any", {}))
    assert (type(call), call) == (SDKCall, empty)
