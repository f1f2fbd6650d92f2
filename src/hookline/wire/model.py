"""The form of model requests and responses that hooks read with any SDK, and how they change it.

Each value has two types. The TypedDict is what a hook reads: complete, without nulls. The
``…Change`` struct is what it may answer: every field is optional, null counts as left out, and
unknown fields are ignored. A malformed change is refused as a whole, because half a change may be
worse than none; the ``…_problem`` functions say what is wrong.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Literal, NotRequired, TypeAlias, TypedDict, TypeVar

import msgspec

from hookline.wire.outputs import read_mode

Role: TypeAlias = Literal["user", "model", "system"]


class LLMMessage(TypedDict):
    """One message of the conversation, its text alone."""

    role: Role
    content: str


class LLMConfig(TypedDict, total=False):
    """The generation settings that are set."""

    temperature: float
    maxOutputTokens: int
    topP: float
    topK: float
    stopSequences: list[str]
    candidateCount: int
    presencePenalty: float
    frequencyPenalty: float


class HookToolConfig(TypedDict, total=False):
    """Whether the model may call functions, and which."""

    mode: str
    allowedFunctionNames: list[str]


class LLMRequest(TypedDict):
    """What is about to be sent to the model."""

    model: str
    messages: list[LLMMessage]
    config: LLMConfig
    toolConfig: NotRequired[HookToolConfig]


class LLMContent(TypedDict):
    """The visible texts of a candidate, one for each text part."""

    role: Literal["model"]
    parts: list[str]


class LLMSafetyRating(TypedDict):
    """One rating; an empty string is a value that the model left out."""

    category: str
    probability: str


class LLMCandidate(TypedDict):
    """One of the model's answers."""

    content: LLMContent
    finishReason: NotRequired[str]
    index: NotRequired[int]
    safetyRatings: NotRequired[list[LLMSafetyRating]]


class LLMUsage(TypedDict, total=False):
    """The token counts of the call."""

    promptTokenCount: int
    candidatesTokenCount: int
    totalTokenCount: int


class LLMResponse(TypedDict):
    """The model's response; ``text`` is the first candidate's text, left out if it has none."""

    text: NotRequired[str]
    candidates: list[LLMCandidate]
    usageMetadata: NotRequired[LLMUsage]


class Change(msgspec.Struct, frozen=True, rename="camel"):
    """A hook's change to a value; None is a field that the hook does not name."""

    def named(self) -> dict[str, Any]:
        """Return the fields that the hook names, under the format's names."""
        pairs = zip(self.__struct_encode_fields__, self.__struct_fields__, strict=True)
        said = {name: getattr(self, attribute) for name, attribute in pairs}
        return {name: value for name, value in said.items() if value is not None}


class MessageChange(msgspec.Struct, frozen=True):
    """A message as the hook wants it."""

    content: str
    role: Role = "user"


class LLMConfigChange(Change, frozen=True):
    """The generation settings a hook names."""

    temperature: int | float | None = None
    max_output_tokens: int | None = None
    top_p: int | float | None = None
    top_k: int | float | None = None
    stop_sequences: list[str] | None = None
    candidate_count: int | None = None
    presence_penalty: int | float | None = None
    frequency_penalty: int | float | None = None


class HookToolConfigChange(Change, frozen=True):
    """The function calling settings a hook names."""

    mode: str | None = None
    allowed_function_names: list[str] | None = None

    def __post_init__(self) -> None:
        msgspec.structs.force_setattr(self, "mode", read_mode(self.mode))


class LLMRequestChange(Change, frozen=True):
    """A hook's change to the request; ``messages``, if named, is the whole conversation."""

    model: str | None = None
    messages: list[MessageChange] | None = None
    config: LLMConfigChange | None = None
    tool_config: HookToolConfigChange | None = None


class ContentChange(Change, frozen=True):
    """The texts a hook wants in place of a candidate's."""

    role: str | None = None
    parts: list[str] | None = None


class SafetyRatingChange(Change, frozen=True):
    """A rating as the hook wants it."""

    category: str | None = None
    probability: str | None = None


class CandidateChange(Change, frozen=True):
    """A hook's change to the candidate at the same place."""

    content: ContentChange | None = None
    finish_reason: str | None = None
    index: int | None = None
    safety_ratings: list[SafetyRatingChange] | None = None


class UsageChange(Change, frozen=True):
    """The token counts a hook names."""

    prompt_token_count: int | None = None
    candidates_token_count: int | None = None
    total_token_count: int | None = None


class LLMResponseChange(Change, frozen=True):
    """A hook's change to the response; ``candidates``, if named, replace all candidates."""

    text: str | None = None
    candidates: list[CandidateChange] | None = None
    usage_metadata: UsageChange | None = None


C = TypeVar("C", bound=Change)
# The fields whose values are objects, or lists of them.
_NESTED: dict[str, type[msgspec.Struct]] = {
    "messages": MessageChange,
    "config": LLMConfigChange,
    "toolConfig": HookToolConfigChange,
    "candidates": CandidateChange,
    "content": ContentChange,
}


def read_llm_request(value: object) -> LLMRequestChange:
    """Read a hook's ``llm_request``; raises ValueError, with the problem, if malformed."""
    return _convert(value, LLMRequestChange)


def read_llm_response(value: object) -> LLMResponseChange:
    """Read a hook's ``llm_response``; raises ValueError, with the problem, if malformed.

    Parts may be written as Gemini has them, ``{"text": …}``.
    """
    change = _convert(_flatten_parts(value), LLMResponseChange)
    if change.text is None and change.candidates is None:
        raise ValueError("is malformed: it has neither `text` nor `candidates`")
    return change


def read_tool_config(value: object) -> HookToolConfigChange:
    """Read a hook's ``toolConfig``; raises ValueError, with the problem, if malformed."""
    return _convert(value, HookToolConfigChange)


def llm_request_problem(value: object) -> str | None:
    """Return why a hook's ``llm_request`` cannot be applied (``is malformed: …``), or None."""
    return _find_problem(read_llm_request, value)


def llm_response_problem(value: object) -> str | None:
    """Return why a hook's ``llm_response`` cannot be applied (``is malformed: …``), or None."""
    return _find_problem(read_llm_response, value)


def is_llm_response(value: object) -> bool:
    """True if a hook's ``llm_response`` is well-formed, so that it can replace the model's."""
    return llm_response_problem(value) is None


def find_unread(
    value: Mapping[str, Any], kind: type[msgspec.Struct], path: str = ""
) -> Iterator[str]:
    """Yield the fields of a hook's request or response that the format does not have, and that
    are ignored."""
    known = kind.__struct_encode_fields__
    for name, held in value.items():
        if name not in known:
            yield f"{path}{name}"
        elif name in _NESTED:
            for item in held if isinstance(held, list) else [held]:
                if isinstance(item, Mapping):
                    yield from find_unread(item, _NESTED[name], f"{path}{name}.")


def well_formed(fields: Mapping[str, Any], kind: type[Change]) -> dict[str, Any]:
    """Return the fields that a hook could send back unchanged, so that an echo is never
    refused."""
    fitting: dict[str, Any] = {}
    for name, value in fields.items():
        try:
            msgspec.convert({name: value}, kind)
        except ValueError:
            continue
        fitting[name] = value
    return fitting


def merge_llm_request(base: Mapping[str, Any], change: object) -> dict[str, Any]:
    """Apply a hook's change to a request: field by field, ``config`` and ``toolConfig`` key by key.

    A malformed change has no effect. Neither argument is altered.
    """
    merged = dict(base)
    if not isinstance(change, Mapping) or llm_request_problem(change) is not None:
        return merged
    for name, value in _drop_nulls(change).items():
        if name in ("config", "toolConfig"):
            before = merged.get(name)
            kept = before if isinstance(before, Mapping) else {}
            merged[name] = {**kept, **_drop_nulls(value)}
        else:
            merged[name] = value
    return merged


def _drop_nulls(value: Mapping[str, Any]) -> dict[str, Any]:
    return {name: item for name, item in value.items() if item is not None}


def _flatten_parts(response: Any) -> Any:
    """Replace parts that hold only a text by that text."""
    candidates = response.get("candidates") if isinstance(response, Mapping) else None
    if not isinstance(candidates, list):
        return response
    plain = []
    for candidate in candidates:
        content = candidate.get("content") if isinstance(candidate, Mapping) else None
        if isinstance(content, Mapping) and isinstance(content.get("parts"), list):
            texts = [part["text"] if _is_text_part(part) else part for part in content["parts"]]
            candidate = {**candidate, "content": {**content, "parts": texts}}
        plain.append(candidate)
    return {**response, "candidates": plain}


def _is_text_part(part: object) -> bool:
    return isinstance(part, Mapping) and {*_drop_nulls(part)} == {"text"}


def _convert(value: object, kind: type[C]) -> C:
    # A key with a lone surrogate raises UnicodeEncodeError, a ValueError like ValidationError.
    try:
        return msgspec.convert(value, kind)
    except ValueError as error:
        raise ValueError(f"is malformed: {error}") from None


def _find_problem(read: Any, value: object) -> str | None:
    try:
        read(value)
    except ValueError as error:
        return str(error)
    return None
