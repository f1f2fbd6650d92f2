"""The translator of Pydantic AI, whose messages are lists of parts of several roles.

Hooks are shown one message for each part that has a text, so that an edit of one part leaves its
neighbours the objects that they are.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, ClassVar

import msgspec
from pydantic_ai.messages import (
    CompactionPart,
    ModelRequest,
    ModelResponse,
    SpeechPart,
    StructuredContent,
    SystemPromptPart,
    TextContent,
    TextPart,
    ToolCallPart,
    UserContent,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.settings import ToolOrOutput
from pydantic_ai.tools import ToolDefinition

from hookline._support.notices import warn
from hookline.errors import TranslationError
from hookline.translate.messages import MessageTranslator
from hookline.translate.values import are_same
from hookline.wire.model import HookToolConfig, Role

_TEXTS = (SystemPromptPart, UserPromptPart, TextPart)
# These may have no text, and are then hidden like a file.
_PERHAPS_TEXTS = (SpeechPart, CompactionPart)
# Parts that hooks are not shown: calls and their results, thoughts, files, and internal records of
# the framework.
_HIDDEN_KINDS = frozenset({
    *("tool-return", "retry-prompt", "retry-feedback", "tool-availability-delta"),
    *("capability-load-delta", "model-settings-delta", "instruction-delta", "instruction-baseline"),
    *("tool-call", "builtin-tool-call", "builtin-tool-return", "thinking", "file"),
})  # fmt: skip
# Details of a provider about a response that repeat its text.
_REPEATS = frozenset({
    *("logprobs", "avg_logprobs", "citations", "annotations", "refusal", "moderation", "trace"),
    *("grounding_metadata", "content_filter_result", "content_filters"),
})  # fmt: skip
_MODES = {"auto": "AUTO", "required": "ANY", "none": "NONE"}
_CHOICES = {mode: choice for choice, mode in _MODES.items()}


class PydanticAICall(msgspec.Struct, frozen=True, kw_only=True):
    """The arguments of a model's ``request`` method in Pydantic AI (messages, settings, parameters)
    and the model's name."""

    api: ClassVar[str] = "pydantic-ai"

    messages: Sequence[Any]
    settings: Mapping[str, Any] | None = None
    parameters: ModelRequestParameters | None = None
    model: str = ""


@dataclass(frozen=True, eq=False, slots=True)
class _Piece:
    """A part and the message that holds it; ``message`` is None for a part that a hook added, and
    ``part`` for a message that has none."""

    message: ModelRequest | ModelResponse | None
    part: Any


class _PieceForm:
    """``MessageForm`` of the parts of messages."""

    def role(self, message: _Piece) -> Role:
        if isinstance(message.part, SystemPromptPart):
            return "system"
        return "model" if _is_of_response(message) else "user"

    def text(self, message: _Piece) -> str:
        part = message.part
        if isinstance(part, UserPromptPart):
            return "".join(_read_texts(part.content))
        text: str = part.content if _has_text(part) else ""
        return text

    def with_text(self, message: _Piece, role: Role, text: str) -> _Piece:
        if role == self.role(message):
            return _Piece(message.message, _with_text(message.part, text, role))
        owner = message.message if (role == "model") == _is_of_response(message) else None
        return _Piece(owner, self.new(role, text).part)

    def without_text(self, message: _Piece) -> _Piece | None:
        part, owner = message.part, message.message
        if isinstance(part, UserPromptPart) and not isinstance(part.content, str):
            left = [item for item in part.content if not isinstance(item, str | TextContent)]
            if left:
                return _Piece(owner, replace(part, content=left))
        # The instructions of a request stay even without parts.
        return (
            _Piece(owner, None) if isinstance(owner, ModelRequest) and owner.instructions else None
        )

    def new(self, role: Role, text: str) -> _Piece:
        kinds = {"system": SystemPromptPart, "user": UserPromptPart, "model": TextPart}
        return _Piece(None, kinds[role](content=text))


_FORM = _PieceForm()


class PydanticAITranslator(MessageTranslator[_Piece]):
    """``HookTranslator`` for lists of ``ModelMessage``, for ``PydanticAICall``, which holds
    settings and tools as well, and for ``ModelResponse``."""

    form = _FORM
    name = "pydantic-ai"
    api = "Pydantic AI"
    requests = "a request of Pydantic AI is a list of ModelRequest and ModelResponse"
    responses = "a response of Pydantic AI is a ModelResponse"
    settings: ClassVar[dict[str, tuple[str, ...]]] = {
        "temperature": ("temperature",),
        "maxOutputTokens": ("max_tokens",),
        "topP": ("top_p",),
        "topK": ("top_k",),
        "stopSequences": ("stop_sequences",),
        "presencePenalty": ("presence_penalty",),
        "frequencyPenalty": ("frequency_penalty",),
    }
    usage: ClassVar[dict[str, str]] = {
        "promptTokenCount": "input_tokens",
        "candidatesTokenCount": "output_tokens",
    }
    system_turns = True
    one_choice = True
    finish_field = "finish_reason"
    finish_words = ("stop", "length", "content_filter", "tool_call", "error")
    request_fields = ("settings", "parameters")

    def reads_request(self, request: object) -> bool:
        messages = request.messages if isinstance(request, PydanticAICall) else request
        return isinstance(messages, list | tuple) and all(
            isinstance(message, ModelRequest | ModelResponse) for message in messages
        )

    def new_request(self, like: object) -> Any:
        return PydanticAICall(messages=[]) if isinstance(like, PydanticAICall) else []

    def messages(self, request: Any) -> Sequence[_Piece]:
        messages = request.messages if isinstance(request, PydanticAICall) else request
        pieces: list[_Piece] = []
        for message in messages:
            pieces += [_Piece(message, _check_part(part)) for part in message.parts or (None,)]
        return pieces

    def with_messages(self, request: Any, messages: list[_Piece]) -> Any:
        joined = _join(messages)
        if isinstance(request, PydanticAICall):
            return msgspec.structs.replace(request, messages=joined)
        return joined

    def model_of(self, request: Any) -> str:
        return request.model if isinstance(request, PydanticAICall) else ""

    def with_model(self, request: Any, model: str) -> Any:
        warn(f"a hook's model {model!r} was left out: an agent of Pydantic AI chooses its model")
        return request

    def settings_of(self, request: Any) -> Any:
        return request.settings if isinstance(request, PydanticAICall) else None

    def with_settings(self, request: Any, changes: Mapping[str, Any]) -> Any:
        if not isinstance(request, PydanticAICall):
            warn(f"a hook's {', '.join(changes)} was left out: a list of messages has no settings")
            return request
        kept = {**(request.settings or {}), **changes}
        settings = {name: value for name, value in kept.items() if value is not None}
        return msgspec.structs.replace(request, settings=settings)

    def tools_of(self, request: Any) -> Sequence[Any]:
        """The function tools and the provider's own; not the output tools, which are how a
        structured answer comes back."""
        parameters = request.parameters if isinstance(request, PydanticAICall) else None
        if parameters is None:
            return []
        return [*parameters.function_tools, *parameters.native_tools]

    def tool_name(self, tool: Any) -> str:
        name: str = tool.name if isinstance(tool, ToolDefinition) else tool.unique_id
        return name

    def tool_selection(self, request: object) -> tuple[Any | None, Any | None]:
        self.check_request(request)
        if not isinstance(request, PydanticAICall):
            return None, None
        return (request.settings or {}).get("tool_choice"), self.tools_of(request) or None

    def show_tool_choice(self, choice: Any) -> HookToolConfig:
        if isinstance(choice, str) and choice in _MODES:
            return {"mode": _MODES[choice]}
        if isinstance(choice, list) and all(isinstance(name, str) for name in choice):
            return {"mode": "ANY", "allowedFunctionNames": list(choice)}
        if isinstance(choice, ToolOrOutput):
            return {"mode": "AUTO", "allowedFunctionNames": list(choice.function_tools)}
        raise TranslationError(f"tool_choice {choice!r:.80} has an unknown shape")

    def tool_choice(self, mode: str, names: Collection[str] | None, own: Any) -> Any:  # noqa: ARG002
        if mode == "NONE" or names is None:
            return _CHOICES[mode]
        if mode == "AUTO":
            return ToolOrOutput(function_tools=[*names])
        return [*names] if names else "auto"

    def with_tools(self, request: Any, mode: str, allowed: Collection[str] | None) -> Any:
        """Remove the declarations that are not allowed, since not every model of the framework has
        a tool choice. The output tools stay."""
        if not self.tools_of(request):
            return request
        parameters: ModelRequestParameters = request.parameters
        names: list[str] | None = None
        if mode == "NONE" or allowed is not None:
            functions = self.keep_tools(parameters.function_tools, mode, allowed)
            names = [each.name for each in functions]
            parameters = replace(
                parameters,
                function_tools=[*functions],
                native_tools=[*self.keep_tools(parameters.native_tools, mode, allowed)],
            )
        if names is None and mode == "ANY" and not parameters.function_tools:
            mode = "AUTO"
        changed = msgspec.structs.replace(request, parameters=parameters)
        return self.with_settings(changed, {"tool_choice": self.tool_choice(mode, names, None)})

    def reads_response(self, response: object) -> bool:
        return isinstance(response, ModelResponse)

    def choices(self, response: Any) -> list[Any]:
        for part in response.parts:
            _check_part(part)
        return [response]

    def texts(self, choice: Any) -> list[str]:
        return [part.content for part in choice.parts if _has_text(part)]

    def with_texts(self, choice: Any, texts: list[str]) -> Any:
        places = [n for n, part in enumerate(choice.parts) if _has_text(part)]
        parts: list[Any] = list(choice.parts)
        if len(places) == len(texts):
            for place, text in zip(places, texts, strict=True):
                if parts[place].content != text:
                    parts[place] = _with_text(parts[place], text, "model")
        else:
            first = places[0] if places else len(parts)
            new = [TextPart(content=text) for text in texts]
            after = [part for n, part in enumerate(parts) if n > first and n not in places]
            between = [] if places else parts[first:]
            parts = [*parts[:first], *new, *between, *after]
        return _without_repeats(choice, parts)

    def calls(self, choice: Any) -> list[str]:
        return [part.tool_name for part in choice.parts if isinstance(part, ToolCallPart)]

    def without_calls(self, choice: Any, names: Collection[str]) -> Any:
        kept = [
            part
            for part in choice.parts
            if not isinstance(part, ToolCallPart) or part.tool_name not in names
        ]
        choice = replace(choice, parts=kept)
        return choice if self.calls(choice) else replace(choice, finish_reason="stop")

    def new_response(self, like: object) -> Any:
        model = like.model if isinstance(like, PydanticAICall) else None
        return ModelResponse(parts=[], model_name=model or None, finish_reason="stop")


def _check_part(part: Any) -> Any:
    """Return the part; raise TranslationError if its kind is unknown."""
    if part is None or isinstance(part, (*_TEXTS, *_PERHAPS_TEXTS)):
        return part
    kind = getattr(part, "part_kind", None)
    if kind not in _HIDDEN_KINDS:
        raise TranslationError(f"a message cannot hold {type(part).__name__} ({kind!r:.80})")
    return part


def _has_text(part: Any) -> bool:
    return isinstance(part, _TEXTS) or (isinstance(part, _PERHAPS_TEXTS) and bool(part.content))


def _is_of_response(piece: _Piece) -> bool:
    if piece.message is None:
        return isinstance(piece.part, TextPart)
    return isinstance(piece.message, ModelResponse)


def _read_texts(content: str | Sequence[UserContent]) -> list[str]:
    if isinstance(content, str):
        return [content]
    texts = (item for item in content if isinstance(item, str | TextContent))
    return [item if isinstance(item, str) else item.content for item in texts]


def _with_text(part: Any, text: str, role: Role) -> Any:
    """The part with another text, and without what repeats the old one."""
    if isinstance(part, UserPromptPart):
        return replace(part, content=_put_text(part.content, text))
    if isinstance(part, TextPart):
        # With its id a provider would use its own copy of the old text.
        return replace(part, content=text, id=None, provider_details=None, citations=None)
    if isinstance(part, SystemPromptPart):
        return replace(part, content=text)
    if isinstance(part, CompactionPart):
        return replace(part, content=text, id=None, provider_details=None)
    # Speech would repeat the old text.
    return TextPart(content=text) if role == "model" else UserPromptPart(content=text)


def _put_text(content: str | Sequence[UserContent], text: str) -> str | list[UserContent]:
    """The content with one text at the place of its first; all else in place."""
    if isinstance(content, str):
        return text
    kept: list[UserContent] = []
    is_put = False
    for item in content:
        if not isinstance(item, str | TextContent):
            kept.append(item)
        elif not is_put:
            is_put = True
            # A structured value would repeat the old text.
            is_marked = not isinstance(item, str | StructuredContent)
            metadata = None if isinstance(item, str) else item.metadata
            kept.append(TextContent(text, metadata=metadata) if is_marked else text)
    return kept


def _without_repeats(response: ModelResponse, parts: list[Any]) -> ModelResponse:
    """The response with other parts, and without what repeats or points to the old text."""
    details = response.provider_details
    if details is not None and not _REPEATS.isdisjoint(details):
        details = {name: value for name, value in details.items() if name not in _REPEATS}
    return replace(
        response,
        parts=parts,
        provider_details=details,
        provider_response_id=None,
        history_digest=None,
    )


def _join(pieces: Sequence[_Piece]) -> list[ModelRequest | ModelResponse]:
    """The messages that hold these parts: the same objects if their parts are unchanged, and new
    ones for parts that stand between two messages."""
    owned: list[tuple[ModelRequest | ModelResponse | None, Any]] = []
    for place, piece in enumerate(pieces):
        owner = piece.message
        if owner is None:
            before = next((p.message for p in reversed(pieces[:place]) if p.message), None)
            after = next((p.message for p in pieces[place:] if p.message), None)
            fits = isinstance(before, ModelResponse) == isinstance(piece.part, TextPart)
            owner = before if before is after and fits else None
        owned.append((owner, piece.part))
    joined: list[ModelRequest | ModelResponse] = []
    done = 0
    for _, group in groupby(owned, key=lambda pair: id(pair[0]) if pair[0] else id(pair)):
        held = list(group)
        done += len(held)
        owner, parts = held[0][0], [part for _, part in held if part is not None]
        if owner is None:
            kind = ModelResponse if isinstance(parts[0], TextPart) else ModelRequest
            joined.append(kind(parts=parts))
        elif are_same(parts, owner.parts):
            joined.append(owner)
        elif isinstance(owner, ModelResponse):
            joined.append(_without_repeats(owner, parts))
        elif any(message is owner for message, _ in owned[done:]):
            # A response stands between its parts: the last half keeps the instructions.
            joined.append(replace(owner, parts=parts, instructions=None))
        else:
            joined.append(replace(owner, parts=parts))
    return joined
