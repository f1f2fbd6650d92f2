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
from hookline.translate.choice import AnyTranslator
from hookline.translate.langchain import LangChainTranslator
from tests.adapters.langchain.models import Recorded, ScriptedModel
from tests.arbitrary import JSON, PAYLOADS
from tests.kit.translators import (
    HIDDEN,
    SECRET,
    check_answers,
    check_any_answer,
    check_any_value,
    check_request,
    check_response,
)

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


@pytest.mark.parametrize(
    ("choice", "shown"),
    [
        (True, {"mode": "ANY"}),
        ("auto", {"mode": "AUTO"}),
        ("required", {"mode": "ANY"}),
        ("none", {"mode": "NONE"}),
        ({"type": "any"}, {"mode": "ANY"}),
        ("a", {"mode": "ANY", "allowedFunctionNames": ["a"]}),
        ({"type": "tool", "name": "a"}, {"mode": "ANY", "allowedFunctionNames": ["a"]}),
        (
            {"type": "function", "function": {"name": "a"}},
            {"mode": "ANY", "allowedFunctionNames": ["a"]},
        ),
    ],
    ids=str,
)
def test_a_tool_choice_is_shown_as_its_mode_and_the_tool_it_names(choice: Any, shown: Any) -> None:
    assert translator.to_hook_tool_config(choice) == shown
    assert translator.from_hook_tool_config(shown, choice) is choice


@pytest.mark.parametrize("choice", [5, {"type": 5}, {}])
def test_a_tool_choice_of_an_unknown_shape_is_refused(choice: Any) -> None:
    with pytest.raises(TranslationError, match="has an unknown shape"):
        translator.to_hook_tool_config(choice)


@pytest.mark.parametrize(
    ("wanted", "base", "made"),
    [
        ({"mode": "any"}, None, "any"),
        ({"mode": "VALIDATED"}, "any", "auto"),
        ({"allowedFunctionNames": ["a"]}, None, "auto"),
        ({"allowedFunctionNames": []}, "any", "none"),
        ({"mode": "NONE"}, "any", "none"),
    ],
    ids=str,
)
def test_a_tool_choice_that_a_hook_changes_is_a_word_of_langchain(
    wanted: Any, base: Any, made: str
) -> None:
    assert translator.from_hook_tool_config(wanted, base) == made
    with pytest.raises(TranslationError, match="'SOME' is not one of"):
        translator.from_hook_tool_config({"mode": "some"}, base)


@pytest.mark.parametrize(
    ("own", "mode", "choice"),
    [(None, "AUTO", None), ("any", "AUTO", "auto"), (None, "ANY", "any"), ("auto", "ANY", "any")],
)
def test_tools_that_hooks_allow_are_declared_and_a_choice_is_made_only_where_it_differs(
    own: Any, mode: str, choice: Any
) -> None:
    tools: list[Any] = [a, {"name": "b", "input_schema": {}}]
    model = ScriptedModel(reply=Recorded())
    request = ModelRequest(model=model, messages=[HumanMessage("hi")], tools=tools, tool_choice=own)
    wanted = {"toolConfig": {"mode": mode, "allowedFunctionNames": ["b"]}}
    edited = translator.from_hook_llm_request(wanted, request)
    assert (edited.tools, edited.tool_choice) == (tools[1:], choice)


@pytest.mark.parametrize(
    ("own", "now"),
    [
        (None, "new\n\nmore"),
        (SystemMessage(""), "new\n\nmore"),
        (SystemMessage("old"), "old\n\nnew\n\nmore"),
        (
            SystemMessage([{"type": "image", "url": "x"}]),
            [{"type": "image", "url": "x"}, {"type": "text", "text": "new\n\nmore"}],
        ),
    ],
    ids=["none", "empty", "text", "blocks"],
)
def test_system_messages_of_a_hook_follow_the_system_prompt(own: Any, now: Any) -> None:
    said = HumanMessage("hi")
    added = [{"role": "system", "content": text} for text in ("new", "more")]
    wanted = {"messages": [*added, {"role": "user", "content": "hi"}]}
    request = ModelRequest(model=ScriptedModel(reply=Recorded()), messages=[said])
    request = request.override(system_message=own)
    assert translator.from_hook_llm_request(wanted, request).system_message.content == now
    if own is None or not isinstance(own.content, str):
        first, *rest = translator.from_hook_llm_request(wanted, [*([own] if own else []), said])
        assert (type(first), first.content, rest) == (SystemMessage, now, [said])


def test_a_list_of_messages_has_no_model_and_no_settings_to_change(
    caplog: pytest.LogCaptureFixture,
) -> None:
    request = [HumanMessage("hi")]
    shown = translator.to_hook_llm_request(request)
    assert (shown["model"], shown["config"]) == ("", {})
    wanted = {"model": "other", "config": {"temperature": 1.0, "topK": 3}}
    assert translator.from_hook_llm_request(wanted, request) is request
    assert "model 'other' was left out" in caplog.text
    assert "settings (temperature, top_k) were left out" in caplog.text


@pytest.mark.parametrize(
    ("about", "finish", "changed"),
    [
        ({"stop_reason": "end_turn"}, "end_turn", {"stop_reason": "length"}),
        ({"finish_reason": "", "stop_reason": "refusal"}, "refusal", {"stop_reason": "length"}),
        ({"finish_reason": 5}, None, {"finish_reason": "length"}),
        ({}, None, {"finish_reason": "length"}),
    ],
    ids=str,
)
def test_the_reason_of_an_end_is_read_and_changed_where_the_provider_has_it(
    about: Any, finish: str | None, changed: Any
) -> None:
    message = AIMessage("hi", response_metadata=about)
    (shown,) = translator.to_hook_llm_response(message)["candidates"]
    assert shown.get("finishReason") == finish
    wanted = {"candidates": [{"finishReason": "length"}]}
    edited = translator.from_hook_llm_response(wanted, message)
    assert edited.response_metadata == {**about, **changed}


def test_a_call_that_is_left_out_is_gone_from_every_place_that_repeats_it() -> None:
    calls = [ToolCall(name=name, args={}, id=id) for name, id in (("a", "1"), ("b", "2"))]
    blocks: list[Any] = [
        {"type": "text", "text": "so"},
        {"type": "tool_use", "id": "1", "name": "a", "input": {}},
        {"type": "tool_use", "id": "2", "name": "b", "input": {}},
        {"type": "function_call", "name": "a"},
        {"type": "tool_use", "id": "3", "name": "a", "input": {}},
        "a",
    ]
    raw = [{"id": "1", "function": {"name": "a"}}, {"id": "2", "function": {"name": "b"}}]
    message = AIMessage(blocks, tool_calls=calls, additional_kwargs={"tool_calls": raw, "x": 1})
    left = translator.drop_calls(message, ["a"])
    assert [call["name"] for call in left.tool_calls] == ["b"]
    assert left.content == [blocks[0], blocks[2], blocks[4], "a"]
    assert left.additional_kwargs == {"tool_calls": raw[1:], "x": 1}
    assert translator.drop_calls(message, ["a", "b"]).additional_kwargs == {"x": 1}


USAGE: Any = {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}


@pytest.mark.parametrize("is_extended", [True, False])
def test_the_answers_of_a_response_are_replaced_in_their_places(is_extended: bool) -> None:
    result = [AIMessage("1"), ToolMessage("x", tool_call_id="1"), AIMessage("2"), AIMessage("3")]
    inner = ModelResponse(result, structured_response={"n": 1})
    response: Any = ExtendedModelResponse(inner) if is_extended else inner
    parts = [{"content": {"parts": [text]}} for text in "abcd"]
    for count, contents in ((4, ["a", "x", "b", "c", "d"]), (1, ["a", "x"])):
        edited = translator.from_hook_llm_response({"candidates": parts[:count]}, response)
        assert type(edited) is type(response)
        held = edited.model_response if is_extended else edited
        assert [message.content for message in held.result] == contents
        assert held.structured_response is None


def test_the_usage_of_a_response_is_that_of_the_first_answer_with_one() -> None:
    counted = [AIMessage(text, usage_metadata=USAGE) for text in "23"]
    response = ModelResponse([AIMessage("1"), *counted])
    assert translator.to_hook_llm_response(response)["usageMetadata"]["promptTokenCount"] == 1
    change = {"text": "1", "usageMetadata": {"promptTokenCount": 9}}
    edited = translator.from_hook_llm_response(change, response).result
    assert [m.usage_metadata for m in edited] == [None, {**USAGE, "input_tokens": 9}, USAGE]


def test_a_value_that_a_call_holds_is_not_a_repeated_text() -> None:
    call = ToolCall(name="Answer", args={"n": 1}, id="1")
    response = ModelResponse([AIMessage("so", tool_calls=[call])], structured_response={"n": 1})
    edited = translator.from_hook_llm_response({"text": "-"}, response)
    assert (edited.result[0].content, edited.structured_response) == ("-", {"n": 1})


def test_a_message_alone_takes_one_answer_of_a_hook(caplog: pytest.LogCaptureFixture) -> None:
    message = AIMessage("hi", id="7")
    parts = [{"content": {"parts": [text]}} for text in "ab"]
    assert translator.from_hook_llm_response({"candidates": parts[:1]}, message).content == "a"
    assert not caplog.text
    edited = translator.from_hook_llm_response({"candidates": parts}, message)
    assert (edited.content, edited.id) == ("a", "7")
    assert caplog.text.count("other candidates were left out") == 1
    edited = translator.from_hook_llm_response({"candidates": []}, message)
    assert (edited.content, edited.id) == ("", "7")


@pytest.mark.parametrize(
    ("held", "stays"),
    [
        ({"additional_kwargs": {"audio": {"id": "1"}}}, True),
        ({"additional_kwargs": {"reasoning_content": "hm"}}, True),
        ({"additional_kwargs": {"function_call": {"name": "a"}}}, True),
        ({"invalid_tool_calls": [{"name": "a", "args": "{", "id": "1", "error": ""}]}, True),
        ({"tool_calls": [ToolCall(name="a", args={}, id="1")]}, True),
        ({"additional_kwargs": {"parsed": "hi"}}, False),
        ({}, False),
    ],
    ids=str,
)
def test_a_message_without_its_text_stays_if_it_holds_more(held: Any, stays: bool) -> None:
    request = [AIMessage("hi", **held)]
    edited = translator.from_hook_llm_request({"messages": []}, request)
    assert [message.content for message in edited] == ([""] if stays else [])


@pytest.mark.parametrize(
    ("role", "shown"),
    [("human", "user"), ("assistant", "model"), ("ai", "model"), ("developer", "system")],
)
def test_a_message_of_any_role_is_shown_in_a_role_of_hooks(role: str, shown: str) -> None:
    request: list[BaseMessage] = [ChatMessage(content="hi", role=role)]
    assert translator.to_hook_llm_request(request)["messages"][0]["role"] == shown
    wanted = {"messages": [{"role": shown, "content": "ho"}]}
    if shown != "system":
        (edited,) = translator.from_hook_llm_request(wanted, request)
        assert (edited.content, edited.role) == ("ho", role)
    wanted = {"messages": [{"role": "user" if shown == "model" else "model", "content": "hi"}]}
    (edited,) = translator.from_hook_llm_request(wanted, request)
    assert type(edited) is (HumanMessage if shown == "model" else AIMessage)


@pytest.mark.parametrize(
    ("own", "name", "value"),
    [
        ("max_tokens", "maxOutputTokens", 9),
        ("max_output_tokens", "maxOutputTokens", 9),
        ("top_p", "topP", 0.5),
        ("top_k", "topK", 3),
        ("stop", "stopSequences", ["x"]),
        ("stop_sequences", "stopSequences", ["x"]),
        ("n", "candidateCount", 2),
        ("presence_penalty", "presencePenalty", 0.5),
        ("frequency_penalty", "frequencyPenalty", 0.5),
    ],
)
def test_a_setting_is_shown_under_hooks_name_and_changed_under_its_own(
    own: str, name: str, value: Any
) -> None:
    model = ScriptedModel(reply=Recorded())
    said: list[Any] = [HumanMessage("hi")]
    request = ModelRequest(model=model, messages=said, model_settings={own: value, "seed": 1})
    assert translator.to_hook_llm_request(request)["config"] == {name: value}
    wanted = value * 2
    edited = translator.from_hook_llm_request({"config": {name: wanted}}, request)
    assert edited.model_settings == {own: wanted, "seed": 1}


def test_what_a_provider_repeats_of_a_text_goes_with_it() -> None:
    about = {"logprobs": {"content": ["old"]}, "finish_reason": "stop"}
    message = AIMessage("old", response_metadata=about, additional_kwargs={"parsed": "old", "n": 1})
    edited = translator.from_hook_llm_response({"text": "new"}, message)
    assert edited.response_metadata == {"finish_reason": "stop"}
    assert edited.additional_kwargs == {"n": 1}
