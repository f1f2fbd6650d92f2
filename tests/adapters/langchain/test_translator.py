"""The translator of LangChain keeps the laws of translation, over its own messages and requests."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain.agents.middleware import ExtendedModelResponse, ModelRequest, ModelResponse
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolCall,
    ToolMessage,
)
from langchain_core.tools import tool
from langgraph.types import Command

from hookline.errors import TranslationError
from hookline.testing.translators import (
    HIDDEN,
    SECRET,
    check_answers,
    check_any_answer,
    check_any_value,
    check_request,
    check_response,
)
from hookline.translate.choosing import AnyTranslator
from hookline.translate.langchain import LangChainTranslator
from tests.adapters.langchain.models import Recorded, ScriptedModel
from tests.arbitrary import JSON, PAYLOADS

translator = LangChainTranslator()

TEXTS = st.text(max_size=6).map(lambda text: f"{text}{SECRET}") | st.text(max_size=6)


def text_blocks() -> st.SearchStrategy[Any]:
    plain = TEXTS.map(lambda text: {"type": "text", "text": text})
    cited = TEXTS.map(
        lambda text: {"type": "text", "text": text, "annotations": [{"cited_text": text}]}
    )
    return plain | cited | TEXTS


HIDDEN_BLOCKS = st.sampled_from(
    [
        {"type": "image", "url": HIDDEN},
        {"type": "image_url", "image_url": {"url": HIDDEN}},
        {"type": "reasoning", "reasoning": HIDDEN},
        {"type": "thinking", "thinking": HIDDEN, "signature": HIDDEN},
        {"type": "file", "base64": HIDDEN, "mime_type": "application/pdf"},
        {"type": "non_standard", "value": {"a": HIDDEN}},
    ]
)
CONTENTS: st.SearchStrategy[Any] = TEXTS | st.lists(text_blocks() | HIDDEN_BLOCKS, max_size=3)


@st.composite
def answers(draw: st.DrawFn, mark: str = HIDDEN) -> AIMessage:
    """What a model says; ``mark`` is in what goes with a message that hooks take away whole."""
    content = draw(CONTENTS)
    calls = [
        ToolCall(name=draw(st.sampled_from(["a", "b"])), args={"x": HIDDEN}, id=f"{HIDDEN}{n}")
        for n in range(draw(st.integers(0, 2)))
    ]
    names_calls = draw(st.booleans())
    if names_calls and isinstance(content, list):
        content = [
            *content,
            *({"type": "tool_use", "id": c["id"], "name": c["name"], "input": {}} for c in calls),
        ]
    repeated = content if isinstance(content, str) and SECRET in content else None
    about = {"finish_reason": "stop", "model_name": mark}
    return AIMessage(
        content,
        id=mark,
        tool_calls=calls,
        usage_metadata={"input_tokens": 1, "output_tokens": 2, "total_tokens": 3},
        response_metadata=about | ({"logprobs": {"content": [repeated]}} if repeated else {}),
        additional_kwargs={"parsed": repeated, "seen": mark} if repeated else {},
    )


def chat_messages() -> st.SearchStrategy[Any]:
    return st.one_of(
        CONTENTS.map(lambda content: HumanMessage(content, id="1")),
        CONTENTS.map(lambda content: SystemMessage(content)),
        TEXTS.map(lambda text: ChatMessage(content=text, role="user")),
        answers("2"),
        st.just(ToolMessage(HIDDEN, tool_call_id=HIDDEN)),
        st.just(FunctionMessage(content=HIDDEN, name="f")),
    )


INSTRUCTED = SystemMessage([{"type": "text", "text": HIDDEN}])


@tool
def a(x: str) -> str:
    """A."""
    return x


@st.composite
def model_requests(draw: st.DrawFn) -> ModelRequest[Any]:
    tools: list[Any] = [a, {"name": "b", "input_schema": {}}]
    tools.append({"type": "function", "function": {"name": "c"}})
    return ModelRequest(
        model=ScriptedModel(reply=Recorded()),
        messages=draw(st.lists(chat_messages(), max_size=3)),
        # It is not shown, so that hooks cannot replace what it says.
        system_message=draw(st.sampled_from([None, SystemMessage("Be kind."), INSTRUCTED])),
        tools=tools[: draw(st.integers(0, 3))],
        tool_choice=draw(st.sampled_from([None, "auto", "any", "none", "a", {"type": "auto"}])),
        model_settings=draw(st.sampled_from([{}, {"temperature": 0.5, "stop": ["x"]}])),
    )


@given(st.lists(chat_messages(), min_size=1, max_size=4))
def test_lists_of_messages_keep_the_laws(request: list[BaseMessage]) -> None:
    check_request(translator, request)


@given(model_requests())
def test_model_requests_keep_the_laws(request: ModelRequest[Any]) -> None:
    check_request(translator, request)


@given(answers())
def test_messages_of_a_model_keep_the_laws(response: AIMessage) -> None:
    check_response(translator, response)


@given(st.lists(answers(), max_size=2), st.booleans())
def test_model_responses_keep_the_laws(messages: list[AIMessage], is_extended: bool) -> None:
    response: Any = ModelResponse([*messages, ToolMessage(HIDDEN, tool_call_id=HIDDEN)])
    if is_extended:
        response = ExtendedModelResponse(response, Command(update={"kept": HIDDEN}))
    check_response(translator, response)


@pytest.mark.parametrize(
    ("like", "kind"),
    [
        ([HumanMessage("hi")], AIMessage),
        (AIMessage("hi"), AIMessage),
        (ModelRequest(model=ScriptedModel(reply=Recorded()), messages=[]), ModelResponse),
        (ModelResponse([AIMessage("hi")]), ModelResponse),
    ],
    ids=["messages", "message", "request", "response"],
)
def test_answers_have_the_callers_own_type(like: Any, kind: type) -> None:
    check_answers(translator, like, kind)
    check_answers(AnyTranslator(), like, kind)


@given(JSON | st.lists(chat_messages() | st.integers(), max_size=2))
def test_any_value_is_read_or_refused(value: Any) -> None:
    check_any_value(translator, value)


@given(JSON | PAYLOADS, st.lists(chat_messages(), max_size=3), answers())
def test_any_answer_of_a_hook_is_applied_or_refused(
    answer: Any, request: list[BaseMessage], response: AIMessage
) -> None:
    check_any_answer(translator, answer, request=request, response=response)


@pytest.mark.parametrize(
    "odd",
    [
        HumanMessage([{"text": "no type"}]),
        ChatMessage(content="hi", role="critic"),
        RemoveMessage(id="1"),
        AIMessage([{"type": "text", "text": 7}]),
        HumanMessage([{"type": "novel", "chapter": "a text that no guard has read"}]),
    ],
    ids=["block", "role", "kind", "text", "type"],
)
def test_a_message_that_nobody_knows_is_refused_by_name(odd: BaseMessage) -> None:
    with pytest.raises(TranslationError, match=r"messages\[0\]"):
        AnyTranslator().to_hook_llm_request([odd])


def test_a_piece_of_a_stream_that_was_merged_is_read_as_a_message() -> None:
    merged = AIMessageChunk(content="Hello ") + AIMessageChunk(content="you.")
    assert translator.to_hook_llm_response(merged)["text"] == "Hello you."


def test_the_text_of_a_message_is_shown_as_a_plain_string() -> None:
    shown = translator.to_hook_llm_request([HumanMessage("hi")])
    assert type(shown["messages"][0]["content"]) is str


def test_a_refusal_is_shown_and_can_be_replaced() -> None:
    message = AIMessage("", additional_kwargs={"refusal": f"not {SECRET}"})
    assert translator.to_hook_llm_response(message)["text"] == f"not {SECRET}"
    edited = translator.from_hook_llm_response({"text": "no"}, message)
    assert edited.additional_kwargs == {"refusal": "no"}


def test_a_message_in_another_role_keeps_what_it_holds() -> None:
    message = HumanMessage("hi", id="7", name="jane")
    wanted = [{"role": "model", "content": "hi"}]
    (edited,) = translator.from_hook_llm_request({"messages": wanted}, [message])
    assert isinstance(edited, AIMessage)
    assert (edited.content, edited.id, edited.name) == ("hi", "7", "jane")


def test_the_name_and_the_settings_of_the_model_are_shown_and_can_be_changed() -> None:
    class Warm(ScriptedModel):
        temperature: float = 0.7

    model = Warm(reply=Recorded())
    request = ModelRequest(model=model, messages=[HumanMessage("hi")])
    shown = translator.to_hook_llm_request(request)
    assert (shown["model"], shown["config"]) == ("scripted", {"temperature": 0.7})
    edited = translator.from_hook_llm_request({"config": {"temperature": 0.1}}, request)
    assert edited.model is model
    assert edited.model_settings == {"temperature": 0.1}
    edited = translator.from_hook_llm_request({"model": "other"}, request)
    assert edited.model.model_name == "other"
    assert model.model_name == "scripted"


def test_no_tools_where_the_api_wants_them_declared_is_a_choice_of_none() -> None:
    class Claude(ScriptedModel):
        @property
        def _llm_type(self) -> str:
            return "anthropic-chat"

    called = AIMessage("", tool_calls=[ToolCall(name="a", args={}, id="1")])
    messages: list[Any] = [HumanMessage("hi"), called, ToolMessage("x", tool_call_id="1")]
    none = {"toolConfig": {"mode": "NONE"}}
    request = ModelRequest(model=Claude(reply=Recorded()), messages=messages, tools=[a])
    edited = translator.from_hook_llm_request(none, request)
    assert (edited.tools, edited.tool_choice) == ([a], {"type": "none"})
    edited = translator.from_hook_llm_request(none, request.override(messages=messages[:1]))
    assert (edited.tools, edited.tool_choice) == ([], None)
