"""The SDKs' own objects at the events: guards see their words, redaction leaves no trace in them,
answers are objects that the SDKs understand, and what is no whole response is refused."""

import json
from collections.abc import Iterator
from typing import Any

import anthropic
import httpx2
import openai
import pytest
from anthropic.types import Message, ParsedMessage, RawMessageStreamEvent
from openai.types.chat import (
    ChatCompletion,
    ChatCompletionChunk,
    ChatCompletionMessage,
    ParsedChatCompletion,
)
from openai.types.responses import ParsedResponse, Response, ResponseTextDeltaEvent
from pydantic import BaseModel, TypeAdapter

from hookline import Hooks, deny
from hookline.translate.choice import AnyTranslator
from hookline.translate.values import SDKCall
from tests.kit.translators import check_valid

EMAIL = "jane@example.org"
Json = dict[str, Any]


class Contact(BaseModel):
    mail: str


def chat_json(content: str) -> Json:
    token = {"token": EMAIL, "logprob": -1.0, "bytes": None, "top_logprobs": []}
    cited = {"url": "https://x", "title": EMAIL, "start_index": 0, "end_index": 1}
    message = {
        "role": "assistant",
        "content": content,
        "annotations": [{"type": "url_citation", "url_citation": cited}],
        "reasoning_content": "kept",
        "tool_calls": [
            {"id": "1", "type": "function", "function": {"name": "a", "arguments": "{}"}}
        ],
    }
    choice = {
        "index": 0,
        "message": message,
        "finish_reason": "stop",
        "logprobs": {"content": [token], "refusal": None},
    }
    return {
        "id": "1",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [choice, {**choice, "index": 1}],
    }


def response_json(content: str) -> Json:
    text = {"type": "output_text", "text": content, "annotations": [], "logprobs": []}
    message = {
        "type": "message",
        "id": "1",
        "role": "assistant",
        "status": "completed",
        "content": [text],
    }
    call = {"type": "function_call", "call_id": "1", "name": "a", "arguments": "{}"}
    return {
        "id": "1",
        "object": "response",
        "created_at": 1,
        "model": "m",
        "status": "completed",
        "output": [message, call],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
    }


def message_json(content: str) -> Json:
    return {
        "id": "1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [
            {"type": "thinking", "thinking": "kept", "signature": "s"},
            {"type": "text", "text": content, "citations": None},
            {"type": "tool_use", "id": "1", "name": "a", "input": {}},
        ],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }


def parsed_chat() -> Any:
    value = chat_json(json.dumps({"mail": EMAIL}))
    for choice in value["choices"]:
        choice["message"] = {**choice["message"], "parsed": {"mail": EMAIL}}
    return ParsedChatCompletion[Contact].model_validate(value)


def parsed_response() -> Any:
    value = response_json(json.dumps({"mail": EMAIL}))
    value["output"][0]["content"][0]["parsed"] = {"mail": EMAIL}
    return ParsedResponse[Contact].model_validate(value)


def parsed_message() -> Any:
    value = message_json(json.dumps({"mail": EMAIL}))
    value["content"][1]["parsed_output"] = {"mail": EMAIL}
    return ParsedMessage[Contact].model_validate(value)


RESPONSES: dict[str, Any] = {
    "chat": ChatCompletion.model_validate(chat_json(f"write to {EMAIL}")),
    "chat, parsed": parsed_chat(),
    "responses": Response.model_validate(response_json(f"write to {EMAIL}")),
    "responses, parsed": parsed_response(),
    "anthropic": Message.model_validate(message_json(f"write to {EMAIL}")),
    "anthropic, parsed": parsed_message(),
}
CHAT: Json = {"model": "m", "messages": [{"role": "user", "content": "hi"}], "temperature": 0}
ITEMS: Json = {"model": "m", "input": "hi"}
CLAUDE: Json = {"model": "m", "max_tokens": 9, "messages": CHAT["messages"], "system": "s"}
CALLS: dict[str, tuple[SDKCall, type[Any]]] = {
    "openai-chat": (SDKCall("openai-chat", CHAT), ChatCompletion),
    "openai-responses": (SDKCall("openai-responses", ITEMS), Response),
    "anthropic": (SDKCall("anthropic", CLAUDE), Message),
}


@pytest.fixture
def hooks() -> Iterator[Hooks]:
    with Hooks() as made:
        yield made


def text_of(answer: Any) -> str:
    if isinstance(answer, ChatCompletion):
        return answer.choices[0].message.content or ""
    if isinstance(answer, Response):
        return answer.output_text
    [block] = answer.content
    return str(block.text)


@pytest.mark.parametrize("name", RESPONSES)
def test_redaction_leaves_no_trace_in_an_sdks_response(hooks: Hooks, name: str) -> None:
    @hooks.on("AfterModel")
    def redact(event: Any) -> Any:
        shown = json.loads(json.dumps(event["llm_response"]).replace(EMAIL, "[mail]"))
        return {"hookSpecificOutput": {"llm_response": shown}}

    response = RESPONSES[name]
    before = response.model_dump_json()
    assert EMAIL in before
    left = hooks.sync.after_model(CHAT, response).response
    assert type(left) is type(response)
    assert EMAIL not in left.model_dump_json()
    assert EMAIL not in repr(left)
    assert "[mail]" in left.model_dump_json()
    check_valid(left)
    assert response.model_dump_json() == before
    assert AnyTranslator().call_names(left) == AnyTranslator().call_names(response)
    assert ("kept" in before) == ("kept" in left.model_dump_json())


@pytest.mark.parametrize(
    "request_",
    [
        {**CHAT, "messages": [ChatCompletionMessage(role="assistant", content=EMAIL)]},
        {**CHAT, "messages": [ChatCompletionMessage(role="assistant", refusal=EMAIL)]},
        {"model": "m", "input": RESPONSES["responses"].output},
        {**CLAUDE, "messages": [{"role": "assistant", "content": RESPONSES["anthropic"].content}]},
        SDKCall("anthropic", {"messages": [{"role": "user", "content": EMAIL}]}),
        {**CHAT, "messages": [{"role": "user", "content": EMAIL}], "stop": openai.NOT_GIVEN},
        {**CHAT, "messages": [{"role": "user", "content": EMAIL}], "tools": openai.omit},
        {**CLAUDE, "messages": [{"role": "user", "content": EMAIL}], "tools": anthropic.NOT_GIVEN},
    ],
)
def test_a_guard_sees_the_words_among_an_sdks_objects(hooks: Hooks, request_: Json) -> None:
    @hooks.on("BeforeModel")
    def guard(event: Any) -> Any:
        return deny("seen") if EMAIL in json.dumps(event["llm_request"]) else None

    answer = hooks.sync.before_model(request_)
    assert (answer.denied, answer.reason) == (True, "seen")


@pytest.mark.parametrize("api", CALLS)
@pytest.mark.parametrize("is_synthetic", [True, False])
def test_what_is_said_in_the_models_place_is_an_object_of_the_sdk(
    hooks: Hooks, api: str, is_synthetic: bool
) -> None:
    @hooks.on("BeforeModel")
    def answer_it(_event: Any) -> Any:
        if is_synthetic:
            return {"hookSpecificOutput": {"llm_response": {"text": "said"}}}
        return deny("said")

    call, kind = CALLS[api]
    response = hooks.sync.before_model(call).response
    assert isinstance(response, kind)
    assert text_of(response) == "said"
    assert response.model == "m"
    check_valid(response)


@pytest.mark.parametrize("name", RESPONSES)
def test_a_rejected_response_of_an_sdk_leaves_one_of_the_same_api(hooks: Hooks, name: str) -> None:
    @hooks.on("AfterModel")
    def reject(_event: Any) -> Any:
        return deny("said")

    response = RESPONSES[name]
    # The request does not tell the API, nor that the caller has its SDK.
    left = hooks.sync.after_model({"model": "m", "messages": []}, response).response
    assert isinstance(left, tuple(kind for _, kind in CALLS.values()))
    assert type(left).__module__.partition(".")[0] == type(response).__module__.partition(".")[0]
    assert text_of(left) == "said"


def make_stream() -> Any:
    client = openai.OpenAI(api_key="x")
    return openai.Stream(cast_to=ChatCompletionChunk, response=httpx2.Response(200), client=client)


@pytest.mark.parametrize(
    "response",
    [
        ChatCompletionChunk.model_validate(
            {
                "id": "1",
                "object": "chat.completion.chunk",
                "created": 1,
                "model": "m",
                "choices": [{"index": 0, "delta": {"content": EMAIL}, "finish_reason": None}],
            }
        ),
        ResponseTextDeltaEvent(
            type="response.output_text.delta",
            delta=EMAIL,
            content_index=0,
            item_id="1",
            output_index=0,
            sequence_number=0,
            logprobs=[],
        ),
        TypeAdapter[Any](RawMessageStreamEvent).validate_python(
            {
                "type": "content_block_delta",
                "index": 0,
                "delta": {"type": "text_delta", "text": EMAIL},
            }
        ),
        RESPONSES["chat"].choices[0],
        RESPONSES["chat"].choices[0].message,
        RESPONSES["anthropic"].content[1],
        ChatCompletion.model_validate({**chat_json(""), "choices": [], "answer": EMAIL}),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_no_whole_response_is_refused(hooks: Hooks, response: Any) -> None:
    @hooks.on("AfterModel")
    def guard(_event: Any) -> Any:
        raise AssertionError("it was shown")

    answer = hooks.sync.after_model(CHAT, response)
    assert answer.word == "failed"
    [error] = answer.errors
    assert error.stage == "translation"
    assert answer.response is response


def test_a_stream_is_refused(hooks: Hooks) -> None:
    hooks.on("AfterModel")(lambda _event: deny("it was shown"))
    stream = make_stream()
    assert hooks.sync.after_model(CHAT, stream).word == "failed"
    stream.response.close()


def test_a_hook_that_answers_more_choices_gets_them_as_objects() -> None:
    translator = AnyTranslator()
    change = {"candidates": [{"content": {"parts": [text]}} for text in ("a", "b", "c")]}
    edited = translator.from_hook_llm_response(change, RESPONSES["chat"])
    assert [choice.message.content for choice in edited.choices] == ["a", "b", "c"]
    check_valid(edited)


def test_a_text_in_place_of_nothing_is_an_object_too() -> None:
    translator = AnyTranslator()
    for name, calls in (("responses", "output"), ("anthropic", "content")):
        response = RESPONSES[name]
        held = [each for each in getattr(response, calls) if each.type not in ("text", "message")]
        bare = response.model_copy(update={calls: held})
        edited = translator.from_hook_llm_response({"text": "new"}, bare)
        assert translator.to_hook_llm_response(edited)["text"] == "new"
        assert translator.call_names(edited) == ["a"]
        check_valid(edited)
