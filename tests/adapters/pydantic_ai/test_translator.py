"""What hooks are shown of Pydantic AI's messages, and what their edits do to them."""

from collections.abc import Sequence
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic_ai.messages import (
    BinaryContent,
    CachePoint,
    Citation,
    CompactionPart,
    FilePart,
    ImageUrl,
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
from pydantic_ai.settings import ToolOrOutput
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.usage import RequestUsage

from hookline.testing.translators import (
    HIDDEN,
    SECRET,
    check_answers,
    check_any_answer,
    check_any_value,
    check_request,
    check_response,
)
from hookline.translate.pydantic_ai import PydanticAICall, PydanticAITranslator
from tests.arbitrary import JSON, NOT_JSON

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
