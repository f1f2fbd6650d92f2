"""What hooks are shown of Pydantic AI's messages, and what their edits do to them."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic_ai.messages import (
    BinaryContent,
    CachePoint,
    Citation,
    CompactionPart,
    FilePart,
    ImageUrl,
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    RetryFeedbackPart,
    RetryInfo,
    SpeechPart,
    StructuredContent,
    SystemPromptPart,
    TextContent,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
    WebCitationSource,
)
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.native_tools import WebSearchTool
from pydantic_ai.settings import ToolOrOutput
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.usage import RequestUsage

from hookline.errors import TranslationError
from hookline.translate.choice import AnyTranslator
from hookline.translate.pydantic_ai import PydanticAICall, PydanticAITranslator
from tests.arbitrary import JSON, NOT_JSON
from tests.kit.translators import (
    HIDDEN,
    SECRET,
    check_answers,
    check_any_answer,
    check_any_value,
    check_request,
    check_response,
)

TRANSLATOR = PydanticAITranslator()
TEXT = st.text(min_size=1, max_size=20) | st.just(f"write to {SECRET}")
IMAGE = ImageUrl(url=f"https://example.org/{HIDDEN}.png")
AUDIO = BinaryContent(data=b"sound", media_type="audio/wav")


def find_parts(request: Any) -> Sequence[Any]:
    """The parts of all messages: the least that an edit may replace."""
    messages = request.messages if isinstance(request, PydanticAICall) else request
    return [part for message in messages for part in message.parts]


contents = st.one_of(
    TEXT,
    st.lists(
        st.one_of(
            TEXT,
            st.builds(TextContent, TEXT),
            st.builds(StructuredContent, value=TEXT),
            st.just(IMAGE),
            st.just(CachePoint()),
        ),
        min_size=1,
        max_size=4,
    ),
)
request_parts = st.one_of(
    st.builds(SystemPromptPart, content=TEXT),
    st.builds(UserPromptPart, content=contents),
    st.builds(SpeechPart, speaker=st.just("user"), transcript=TEXT, audio=st.just(AUDIO)),
    st.builds(CompactionPart, content=TEXT),
    st.just(ToolReturnPart("look", content=HIDDEN, tool_call_id="1")),
    st.just(RetryFeedbackPart(HIDDEN, retry=RetryInfo(cause="no_output"))),
)
response_parts = st.one_of(
    st.builds(TextPart, content=st.text(min_size=1, max_size=20)),
    st.builds(
        TextPart,
        content=st.just(f"write to {SECRET}"),
        id=st.just(SECRET),
        provider_name=st.just("openai"),
        provider_details=st.just({"logprobs": [{"token": SECRET}]}),
        citations=st.just([Citation([WebCitationSource("https://e.org", excerpts=[SECRET])])]),
    ),
    st.just(ThinkingPart(HIDDEN, signature=HIDDEN, provider_name="anthropic")),
    st.just(ToolCallPart("look", {"at": HIDDEN}, tool_call_id=HIDDEN)),
    st.just(FilePart(BinaryContent(data=HIDDEN.encode(), media_type="image/png"))),
    st.just(CompactionPart(None, provider_name="openai", provider_details={"sealed": HIDDEN})),
)
responses = st.builds(
    ModelResponse,
    parts=st.lists(response_parts, max_size=4),
    usage=st.just(RequestUsage(input_tokens=3, output_tokens=4)),
    finish_reason=st.sampled_from([None, "stop", "tool_call"]),
    model_name=st.just("m"),
)
messages = st.lists(
    st.one_of(
        st.builds(
            ModelRequest,
            parts=st.lists(request_parts, max_size=4),
            instructions=st.none() | st.just(HIDDEN),
        ),
        responses,
    ),
    max_size=4,
)
TOOLS = [ToolDefinition(name="look"), ToolDefinition(name="go")]
FINAL = ToolDefinition(name="final_result", kind="output", description=HIDDEN)
choices: Any = st.sampled_from(["auto", "required", "none", ["look"], ToolOrOutput(["go"])])
calls = st.builds(
    PydanticAICall,
    messages=messages,
    settings=st.none()
    | st.fixed_dictionaries(
        {"timeout": st.just(3)},
        optional={"temperature": st.floats(0, 1), "max_tokens": st.integers(1, 9)},
    ),
    parameters=st.none()
    | st.builds(
        ModelRequestParameters,
        function_tools=st.sampled_from([[], TOOLS]),
        output_tools=st.just([FINAL]),
    ),
    model=st.just("test"),
)


@settings(max_examples=60, deadline=None)
@given(request=messages | calls)
def test_requests_obey_the_laws_of_translation(request: Any) -> None:
    check_request(TRANSLATOR, request, messages=find_parts)


@settings(max_examples=80, deadline=None)
@given(response=responses)
def test_responses_obey_the_laws_of_translation(response: ModelResponse) -> None:
    check_response(TRANSLATOR, response)


@settings(max_examples=40, deadline=None)
@given(request=messages | calls)
def test_answers_in_the_models_place_are_model_responses(request: Any) -> None:
    check_answers(TRANSLATOR, request, ModelResponse)


@settings(max_examples=100, deadline=None)
@given(value=JSON | NOT_JSON)
def test_any_value_is_read_or_refused(value: Any) -> None:
    check_any_value(TRANSLATOR, value)


@settings(max_examples=60, deadline=None)
@given(answer=JSON, request=calls, response=responses)
def test_any_answer_of_a_hook_is_applied_or_refused(
    answer: Any, request: Any, response: ModelResponse
) -> None:
    check_any_answer(TRANSLATOR, answer, request=request, response=response)


@pytest.mark.parametrize(("names", "kept"), [(["look"], []), (["web_search"], ["web_search"])])
def test_a_providers_own_tools_are_chosen_by_their_names(names: list[str], kept: list[str]) -> None:
    request = PydanticAICall(
        messages=[],
        parameters=ModelRequestParameters(function_tools=TOOLS, native_tools=[WebSearchTool()]),
    )
    assert TRANSLATOR.tool_names(request) == ["look", "go", "web_search"]
    chosen = {"toolConfig": {"mode": "AUTO", "allowedFunctionNames": names}}
    edited = TRANSLATOR.from_hook_llm_request(chosen, request)
    assert [tool.unique_id for tool in edited.parameters.native_tools] == kept


def test_each_part_with_a_text_is_a_message_and_its_neighbours_stay_the_objects_they_are() -> None:
    system, prompt = SystemPromptPart("Be kind."), UserPromptPart(["Hello, ", IMAGE, "you."])
    result = ToolReturnPart("look", content="seen", tool_call_id="1")
    text, thought = TextPart("Good day."), ThinkingPart("hm")
    request = [ModelRequest([system, prompt, result]), ModelResponse([thought, text])]
    shown = TRANSLATOR.to_hook_llm_request(request)["messages"]
    assert shown == [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": "Hello, you."},
        {"role": "model", "content": "Good day."},
    ]
    edited = TRANSLATOR.from_hook_llm_request(
        {"messages": [shown[0], {**shown[1], "content": "Hi."}, shown[2]]}, request
    )
    assert edited[0].parts[0] is system
    assert edited[0].parts[1].content == ["Hi.", IMAGE]
    assert edited[0].parts[2] is result
    assert edited[1] is request[1]


def test_a_message_that_changes_its_role_keeps_what_else_it_holds() -> None:
    request = [ModelRequest([UserPromptPart(["Hello.", IMAGE])])]
    for role, kind in (("system", SystemPromptPart), ("model", TextPart)):
        wanted = {"messages": [{"role": role, "content": "Hi."}]}
        edited = TRANSLATOR.from_hook_llm_request(wanted, request)
        parts = find_parts(edited)
        assert isinstance(parts[0], kind)
        assert parts[1].content == [IMAGE]


def test_a_changed_response_is_not_continued_from_the_providers_own_copy() -> None:
    response = ModelResponse(
        [TextPart(f"write to {SECRET}", id="msg_1", provider_name="openai")],
        provider_name="openai",
        provider_response_id="resp_1",
        provider_details={"logprobs": [SECRET], "finish_reason": "stop"},
        history_digest="digest",
    )
    edited = TRANSLATOR.from_hook_llm_response({"text": "write to nobody"}, response)
    assert SECRET not in repr(edited)
    assert (edited.parts[0].id, edited.provider_response_id, edited.history_digest) == (None,) * 3
    assert edited.provider_details == {"finish_reason": "stop"}


def test_messages_of_a_kind_nobody_knows_are_refused() -> None:
    strange = SimpleNamespace(part_kind="hologram", content="hello")
    parts: Any = [strange]
    for read, value in (
        (TRANSLATOR.to_hook_llm_request, [ModelRequest(parts)]),
        (TRANSLATOR.to_hook_llm_response, ModelResponse(parts)),
    ):
        with pytest.raises(TranslationError, match="hologram"):
            read(value)


def test_messages_are_known_by_their_type() -> None:
    request: list[ModelMessage] = [ModelRequest([UserPromptPart("Hello.")])]
    for value in (request, PydanticAICall(messages=request, model="m")):
        shown = AnyTranslator().to_hook_llm_request(value)
        assert shown["messages"] == [{"role": "user", "content": "Hello."}]
    made = AnyTranslator().empty_response("no", like=request)
    assert isinstance(made, ModelResponse)
    assert ModelMessagesTypeAdapter.validate_json(ModelMessagesTypeAdapter.dump_json([made]))


@pytest.mark.parametrize(
    ("choice", "shown"),
    [
        ("auto", {"mode": "AUTO"}),
        ("required", {"mode": "ANY"}),
        ("none", {"mode": "NONE"}),
        (["look"], {"mode": "ANY", "allowedFunctionNames": ["look"]}),
        (ToolOrOutput(["go"]), {"mode": "AUTO", "allowedFunctionNames": ["go"]}),
    ],
    ids=str,
)
def test_a_tool_choice_is_shown_and_comes_back_as_itself(choice: Any, shown: Any) -> None:
    assert TRANSLATOR.to_hook_tool_config(choice) == shown
    assert TRANSLATOR.from_hook_tool_config(shown, choice) is choice
    assert TRANSLATOR.from_hook_tool_config({"mode": "none"}, choice) == "none"


@pytest.mark.parametrize("choice", ["some", [5], ["look", 5], 5], ids=str)
def test_a_tool_choice_of_an_unknown_shape_is_refused(choice: Any) -> None:
    with pytest.raises(TranslationError, match="has an unknown shape"):
        TRANSLATOR.to_hook_tool_config(choice)


@pytest.mark.parametrize(
    ("wanted", "choice", "left"),
    [
        ({"mode": "ANY"}, "required", ["look", "go", "web_search"]),
        ({"mode": "ANY", "allowedFunctionNames": ["go"]}, ["go"], ["go"]),
        ({"mode": "ANY", "allowedFunctionNames": ["web_search"]}, "auto", ["web_search"]),
        ({"allowedFunctionNames": ["go"]}, ToolOrOutput(["go"]), ["go"]),
        ({"mode": "AUTO", "allowedFunctionNames": ["x"]}, "none", []),
        ({"mode": "NONE"}, "none", []),
    ],
    ids=str,
)
def test_tools_that_hooks_do_not_allow_are_not_declared(
    wanted: Any, choice: Any, left: list[str]
) -> None:
    parameters = ModelRequestParameters(
        function_tools=TOOLS, native_tools=[WebSearchTool()], output_tools=[FINAL]
    )
    request = PydanticAICall(messages=[], settings={"timeout": 3}, parameters=parameters)
    edited = TRANSLATOR.from_hook_llm_request({"toolConfig": wanted}, request)
    assert edited.settings == {"timeout": 3, "tool_choice": choice}
    assert TRANSLATOR.tool_selection(edited)[0] == choice
    assert (TRANSLATOR.tool_names(edited) or []) == left
    assert edited.parameters.output_tools == [FINAL]
    assert request.settings == {"timeout": 3}


def test_settings_are_changed_in_a_call_alone_and_the_model_nowhere(
    caplog: pytest.LogCaptureFixture,
) -> None:
    wanted = {"model": "other", "config": {"temperature": 0.1, "maxOutputTokens": 5}}
    call = PydanticAICall(messages=[], settings={"max_tokens": 9, "seed": None}, model="m")
    edited = TRANSLATOR.from_hook_llm_request(wanted, call)
    assert (edited.model, edited.settings) == ("m", {"max_tokens": 5, "temperature": 0.1})
    assert caplog.text.count("model 'other' was left out") == 1
    assert "has no settings" not in caplog.text
    assert TRANSLATOR.from_hook_llm_request(wanted, []) == []
    assert "temperature, max_tokens was left out: a list of messages has no" in caplog.text


def test_the_model_has_stopped_by_itself_once_no_call_is_left() -> None:
    calls = [ToolCallPart(name, {}, tool_call_id=name) for name in ("look", "go")]
    response = ModelResponse([TextPart("so"), *calls], finish_reason="tool_call")
    assert TRANSLATOR.call_names(response) == ["look", "go"]
    left = TRANSLATOR.drop_calls(response, ["look"])
    assert (left.parts, left.finish_reason) == ([response.parts[0], calls[1]], "tool_call")
    left = TRANSLATOR.drop_calls(response, ["go", "look"])
    assert (left.parts, left.finish_reason) == ([response.parts[0]], "stop")


@pytest.mark.parametrize(
    ("texts", "contents"),
    [
        (["1", "2"], ["hm", "1", "look", "2", "go"]),
        (["a", "2"], ["hm", "a", "look", "2", "go"]),
        (["x"], ["hm", "x", "look", "go"]),
        (["x", "y", "z"], ["hm", "x", "y", "z", "look", "go"]),
        ([], ["hm", "look", "go"]),
    ],
    ids=str,
)
def test_texts_of_a_hook_stand_at_the_places_of_the_old_ones(
    texts: list[str], contents: list[str]
) -> None:
    thought, first, second = ThinkingPart("hm"), TextPart("1"), TextPart("2")
    calls = [ToolCallPart(name, {}, tool_call_id=name) for name in ("look", "go")]
    response = ModelResponse([thought, first, calls[0], second, calls[1]])
    change = {"candidates": [{"content": {"parts": texts}}]}
    parts = TRANSLATOR.from_hook_llm_response(change, response).parts
    assert [getattr(p, "content", None) or getattr(p, "tool_name", "") for p in parts] == contents
    bare = ModelResponse([thought, *calls])
    added = TRANSLATOR.from_hook_llm_response(change, bare).parts
    assert added == [thought, *calls, *map(TextPart, texts)]


@pytest.mark.parametrize(
    ("part", "now"),
    [
        (TextContent("hi", metadata={"n": 1}), TextContent("-", metadata={"n": 1})),
        (StructuredContent(value="hi"), "-"),
        ("hi", "-"),
    ],
    ids=["marked", "structured", "plain"],
)
def test_a_text_among_other_contents_keeps_its_marks_and_the_later_texts_go(
    part: Any, now: Any
) -> None:
    request = [ModelRequest([UserPromptPart([IMAGE, part, CachePoint(), part, "more"])])]
    shown = TRANSLATOR.to_hook_llm_request(request)["messages"]
    wanted = {"messages": [{**shown[0], "content": "-"}]}
    (edited,) = TRANSLATOR.from_hook_llm_request(wanted, request)
    assert edited.parts[0].content == [IMAGE, now, CachePoint()]
    (left,) = TRANSLATOR.from_hook_llm_request({"messages": []}, request)
    assert left.parts[0].content == [IMAGE, CachePoint()]


def test_speech_and_summaries_that_hooks_change_do_not_keep_the_old_words() -> None:
    summary = CompactionPart("old", id="c_1", provider_name="p", provider_details={"x": "old"})
    said = SpeechPart(speaker="user", transcript="old", audio=AUDIO)
    answer = SpeechPart(speaker="assistant", transcript="old", audio=AUDIO)
    request = [ModelRequest([said]), ModelResponse([summary, answer])]
    shown = TRANSLATOR.to_hook_llm_request(request)["messages"]
    assert [each["role"] for each in shown] == ["user", "model", "model"]
    wanted = {"messages": [{**each, "content": "new"} for each in shown]}
    first, second, third = find_parts(TRANSLATOR.from_hook_llm_request(wanted, request))
    assert (type(first), first.content) == (UserPromptPart, "new")
    assert second == CompactionPart("new", provider_name="p")
    assert third == TextPart("new")


def test_a_part_that_a_hook_adds_within_a_message_belongs_to_it() -> None:
    request = [ModelRequest([UserPromptPart("a"), UserPromptPart("b")], instructions="Obey.")]
    shown = TRANSLATOR.to_hook_llm_request(request)["messages"]
    for role, counts in (("user", [3]), ("system", [3]), ("model", [1, 1, 1])):
        wanted = [shown[0], {"role": role, "content": "new"}, shown[1]]
        edited = TRANSLATOR.from_hook_llm_request({"messages": wanted}, request)
        assert [len(message.parts) for message in edited] == counts
        # The last half of a message that was split keeps what belongs to the whole of it.
        told = [getattr(message, "instructions", None) for message in edited]
        assert told == [None] * (len(counts) - 1) + ["Obey."]


def test_parts_that_a_hook_adds_between_messages_are_messages_of_their_own() -> None:
    request = [ModelRequest([UserPromptPart("a")]), ModelResponse([TextPart("b")])]
    shown = TRANSLATOR.to_hook_llm_request(request)["messages"]
    added = [{"role": role, "content": role} for role in ("user", "model", "model")]
    wanted = {"messages": [shown[0], *added, shown[1]]}
    edited = TRANSLATOR.from_hook_llm_request(wanted, request)
    assert (edited[0], edited[-1]) == (request[0], request[1])
    kinds = [type(message) for message in edited[1:-1]]
    assert kinds == [ModelRequest, ModelResponse, ModelResponse]
    (alone,) = TRANSLATOR.from_hook_llm_request({"messages": [shown[1]]}, request)
    assert alone is request[1]


def test_instructions_stay_without_any_text() -> None:
    request = [ModelRequest([UserPromptPart("a")], instructions="Obey.")]
    (left,) = TRANSLATOR.from_hook_llm_request({"messages": []}, request)
    assert (left.parts, left.instructions) == ([], "Obey.")
    bare = [ModelRequest([UserPromptPart("a")])]
    assert TRANSLATOR.from_hook_llm_request({"messages": []}, bare) == []


@pytest.mark.parametrize(
    ("own", "name", "value"),
    [
        ("temperature", "temperature", 0.5),
        ("max_tokens", "maxOutputTokens", 9),
        ("top_p", "topP", 0.5),
        ("top_k", "topK", 3),
        ("stop_sequences", "stopSequences", ["x"]),
        ("presence_penalty", "presencePenalty", 0.5),
        ("frequency_penalty", "frequencyPenalty", 0.5),
    ],
)
def test_a_setting_is_shown_under_hooks_name_and_changed_under_its_own(
    own: str, name: str, value: Any
) -> None:
    request = PydanticAICall(messages=[], settings={own: value, "seed": 1})
    assert TRANSLATOR.to_hook_llm_request(request)["config"] == {name: value}
    edited = TRANSLATOR.from_hook_llm_request({"config": {name: value * 2}}, request)
    assert edited.settings == {own: value * 2, "seed": 1}
