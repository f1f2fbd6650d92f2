"""What hooks read of each event and what they may answer to it, with the meaning of each field.

The meanings of the fields that hooks read are in ``wire/inputs.py``. Those of the model's format
are here, as firing a model's event loads its types and must not load more.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import UNSET, Meta, UnsetType, field

from hookline.settings.schema.document import make_type
from hookline.wire import inputs
from hookline.wire.events import EVENTS, HookEventName
from hookline.wire.model import (
    CandidateChange,
    ContentChange,
    HookToolConfig,
    HookToolConfigChange,
    LLMCandidate,
    LLMConfig,
    LLMConfigChange,
    LLMContent,
    LLMMessage,
    LLMRequest,
    LLMRequestChange,
    LLMResponse,
    LLMResponseChange,
    LLMSafetyRating,
    LLMUsage,
    MessageChange,
    SafetyRatingChange,
    UsageChange,
)
from hookline.wire.outputs import SPECIFIC_FIELDS

INPUTS: Mapping[HookEventName, type] = {
    event: getattr(inputs, f"{event.value}Event") for event in HookEventName
}

_MESSAGE = {
    "role": "Who speaks: user, model or system.",
    "content": "The text of the message; images, tool calls and thoughts are not shown.",
}
_CONFIG = {
    "temperature": "How freely the model chooses its words.",
    "maxOutputTokens": "How many tokens the response may have.",
    "topP": "Tokens are chosen from the likeliest that have this probability together.",
    "topK": "Tokens are chosen from so many of the likeliest.",
    "stopSequences": "Texts at which the model stops.",
    "candidateCount": "How many candidates the model should give.",
    "presencePenalty": "How much to avoid words that were used before.",
    "frequencyPenalty": "How much to avoid words, by how often they were used before.",
}
_TOOL_CONFIG = {
    "mode": "AUTO: the model may call tools; ANY: it must call one; NONE: it must not.",
    "allowedFunctionNames": "The only tools that the model may call; left out, it may call all.",
}
_REQUEST = {
    "model": "The name of the model.",
    "messages": "The messages of the conversation that have text, oldest first.",
    "config": "The generation settings, as far as the agent sets them.",
    "toolConfig": "Which tools the model may call, if the request says so.",
}
_CONTENT = {
    "role": "Always model.",
    "parts": "The visible texts of the candidate, one for each part.",
}
_RATING = {
    "category": "What was rated.",
    "probability": "How likely that is to do harm, in the provider's words.",
}
_CANDIDATE = {
    "content": "What the model says.",
    "finishReason": "Why the model stopped, in the provider's words.",
    "index": "The place among the candidates.",
    "safetyRatings": "How the provider rates the candidate.",
}
_USAGE = {
    "promptTokenCount": "How many tokens the request had.",
    "candidatesTokenCount": "How many tokens the response has.",
    "totalTokenCount": "How many tokens both have.",
}
_RESPONSE = {
    "text": "The text of the first candidate; left out if it has none.",
    "candidates": "The answers that the model offers; mostly there is one.",
    "usageMetadata": "How many tokens the call took, if the provider says so.",
}
# The meanings of the fields of the model's format, in what a hook reads and in its answer.
MODEL_MEANINGS: Mapping[type, Mapping[str, str]] = {
    LLMMessage: _MESSAGE,
    LLMConfig: _CONFIG,
    HookToolConfig: _TOOL_CONFIG,
    LLMRequest: _REQUEST,
    LLMContent: _CONTENT,
    LLMSafetyRating: _RATING,
    LLMCandidate: _CANDIDATE,
    LLMUsage: _USAGE,
    LLMResponse: _RESPONSE,
    MessageChange: {**_MESSAGE, "content": "The text of the message."},
    LLMConfigChange: _CONFIG,
    HookToolConfigChange: _TOOL_CONFIG,
    LLMRequestChange: {
        "model": "Another model.",
        "messages": "The whole conversation as it should be: what is not in it is taken out.",
        "config": "The generation settings to change; the others stay.",
        "toolConfig": "Which tools the model may call; what is left out stays.",
    },
    ContentChange: {**_CONTENT, "parts": "The texts in place of the candidate's own."},
    SafetyRatingChange: _RATING,
    CandidateChange: _CANDIDATE,
    UsageChange: _USAGE,
    LLMResponseChange: {
        "text": "The text of the first candidate, for a response that is nothing but a text.",
        "candidates": "All candidates as they should be; what one leaves out stays as it was.",
        "usageMetadata": "How many tokens the call took.",
    },
}


class Specific(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The fields that every event reads."""

    hook_event_name: Annotated[
        str | UnsetType,
        Meta(description="The name of the event, as some hooks repeat it; nothing depends on it."),
    ] = field(name="hookEventName", default=UNSET)
    user_message: Annotated[
        str | UnsetType, Meta(description="A text that the user sees and the model does not.")
    ] = field(name="userMessage", default=UNSET)


class WithContext(Specific, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A text for the model, and one for the user."""

    additional_context: Annotated[
        str | UnsetType, Meta(description="A text that is added to what the model reads next.")
    ] = field(name="additionalContext", default=UNSET)


_Word: TypeAlias = Literal["allow", "approve", "ask", "block", "deny"]


class BeforeToolSpecific(WithContext, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The fields that only BeforeTool reads."""

    tool_input: Annotated[
        dict[str, Any] | UnsetType,
        Meta(
            description="Arguments to change: each replaces the one of its name, and the others "
            "stay.",
            examples=[{"path": "notes.txt"}],
        ),
    ] = UNSET
    remove_tool_input: Annotated[
        list[str] | UnsetType, Meta(description="The names of arguments to take away.")
    ] = field(name="removeToolInput", default=UNSET)
    permission_decision: Annotated[
        _Word | UnsetType,
        Meta(description="The same as decision, where that is left out, as other agents have it."),
    ] = field(name="permissionDecision", default=UNSET)
    permission_decision_reason: Annotated[
        str | UnsetType, Meta(description="The same as reason, where that is left out.")
    ] = field(name="permissionDecisionReason", default=UNSET)


class TailToolCall(msgspec.Struct, frozen=True, kw_only=True):
    """A call of a tool that should follow at once."""

    name: Annotated[str, Meta(description="The tool to call.")]
    args: Annotated[dict[str, Any], Meta(description="Its arguments.")]


class AfterToolSpecific(WithContext, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The fields that only AfterTool reads."""

    updated_tool_output: Annotated[
        str | UnsetType, Meta(description="What the model reads in place of the tool's result.")
    ] = field(name="updatedToolOutput", default=UNSET)
    tail_tool_call_request: Annotated[
        TailToolCall | UnsetType,
        Meta(description="Another tool to call at once; its result takes the place of this one."),
    ] = field(name="tailToolCallRequest", default=UNSET)


class AfterAgentSpecific(WithContext, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The fields that only AfterAgent reads."""

    clear_context: Annotated[
        bool | UnsetType, Meta(description="True has the agent forget the conversation so far.")
    ] = field(name="clearContext", default=UNSET)


class BeforeModelSpecific(Specific, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The fields that only BeforeModel reads."""

    llm_request: Annotated[
        LLMRequestChange | UnsetType,
        Meta(description="What to change in the request; what is left out stays."),
    ] = UNSET
    llm_response: Annotated[
        LLMResponseChange | UnsetType,
        Meta(description="A response in place of the model's: the model is not called."),
    ] = UNSET


class AfterModelSpecific(Specific, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The fields that only AfterModel reads."""

    llm_response: Annotated[
        LLMResponseChange | UnsetType,
        Meta(description="What to change in the response; what is left out stays."),
    ] = UNSET


class BeforeToolSelectionSpecific(Specific, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The fields that only BeforeToolSelection reads."""

    tool_config: Annotated[
        HookToolConfigChange | UnsetType,
        Meta(description="Which tools the model may call; hooks only ever narrow that."),
    ] = field(name="toolConfig", default=UNSET)


class SessionStartSpecific(WithContext, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The fields that only SessionStart reads."""

    exports: Annotated[
        dict[str, str] | UnsetType,
        Meta(description="Variables for the commands that the session's tools run."),
    ] = UNSET


class PreCompressSpecific(Specific, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The fields that only PreCompress reads."""

    keep_history: Annotated[
        bool | UnsetType, Meta(description="True has the history stay as it is, uncompressed.")
    ] = field(name="keepHistory", default=UNSET)


class _Meanings(msgspec.Struct, frozen=True):
    """What a block and a stop do on an event."""

    specific: type[msgspec.Struct]
    block: str = "This event cannot be blocked: a decision has no effect, and a warning says so."
    stop: str = "This event cannot be stopped: false has no effect, and a warning says so."


_ENDS = "False ends the agent's loop; it outranks every decision."
_MEANINGS: Mapping[HookEventName, _Meanings] = {
    HookEventName.BEFORE_TOOL: _Meanings(
        BeforeToolSpecific,
        "block or deny: the tool does not run, and the model reads the reason as its result. ask: "
        "the user is asked first; where nobody can be asked, it blocks.",
        "False ends the agent's loop before the tool runs; it outranks every decision.",
    ),
    HookEventName.AFTER_TOOL: _Meanings(
        AfterToolSpecific,
        "block or deny: the model reads the reason in place of the result.",
        _ENDS,
    ),
    HookEventName.BEFORE_AGENT: _Meanings(
        WithContext,
        "block or deny: the turn is refused, and the prompt is forgotten.",
        "False ends the turn, and the prompt stays in the history; it outranks every decision.",
    ),
    HookEventName.AFTER_AGENT: _Meanings(
        AfterAgentSpecific,
        "block or deny: the turn goes on, with the reason as a new prompt.",
        "False ends the agent's loop, whatever other hooks reject.",
    ),
    HookEventName.BEFORE_MODEL: _Meanings(
        BeforeModelSpecific,
        "block or deny: the model is not called; llm_response, or the reason, is its answer.",
        "False ends the agent's loop without calling the model; it outranks every decision.",
    ),
    HookEventName.AFTER_MODEL: _Meanings(
        AfterModelSpecific,
        "block or deny: the response is discarded, and the turn ends with the reason.",
        _ENDS,
    ),
    HookEventName.BEFORE_TOOL_SELECTION: _Meanings(
        BeforeToolSelectionSpecific, "block or deny: the model gets no tools for this call.", _ENDS
    ),
    HookEventName.SESSION_START: _Meanings(SessionStartSpecific),
    HookEventName.PRE_COMPRESS: _Meanings(PreCompressSpecific),
}


def _guess_meanings(event: HookEventName) -> _Meanings:
    """Return the meanings of an event whose answers have none of their own."""
    specific = WithContext if "additionalContext" in SPECIFIC_FIELDS[event] else Specific
    if not EVENTS[event].blockable:
        return _Meanings(specific)
    return _Meanings(specific, "block or deny: what the event announces does not happen.", _ENDS)


def make_output_type(event: HookEventName) -> type[msgspec.Struct]:
    """Make the type of an answer to an event."""
    meanings = _MEANINGS.get(event) or _guess_meanings(event)
    words: Any = _Word
    if event is not HookEventName.BEFORE_TOOL:
        words = Literal["allow", "approve", "block", "deny"]
    fields: dict[str, tuple[Any, str]] = {
        "continue": (bool, meanings.stop),
        "stopReason": (str, "Why the agent should stop; the user reads it."),
        "suppressOutput": (bool, "True shows the user no systemMessage; the model still reads it."),
        "systemMessage": (str, "A text for the user, which the model reads as well."),
        "decision": (words, meanings.block),
        "reason": (str, "Why the hook decided so."),
        "hookSpecificOutput": (meanings.specific, "What depends on the event."),
    }
    meaning = f"What a hook may answer to {event.value}; all of it may be left out."
    return make_type(f"{event.value}Output", meaning, fields)
