"""The model format hooks rely on whatever SDK is in use, and the changes they may make to it.

Each value has two types. The TypedDict is what a hook is shown: complete, without nulls. The
``…Change`` struct is what it may answer: every field optional, null the same as left out, fields
the format does not have ignored. A change of the wrong shape is refused whole, because half of
what a hook asked for may be worse than nothing; the ``…_find_problem`` functions say what is wrong.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Literal, NotRequired, TypeAlias, TypedDict, TypeVar

import msgspec

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
    """The visible texts of a candidate, one a text part."""

    role: Literal["model"]
    parts: list[str]


class LLMSafetyRating(TypedDict):
    """One rating; an empty string is one the model left out."""

    category: str
    probability: str


class LLMCandidate(TypedDict):
    """One of the answers the model offers."""

    content: LLMContent
    finishReason: NotRequired[str]
    index: NotRequired[int]
    safetyRatings: NotRequired[list[LLMSafetyRating]]


class LLMUsage(TypedDict, total=False):
    """What the call cost."""

    promptTokenCount: int
    candidatesTokenCount: int
    totalTokenCount: int


class LLMResponse(TypedDict):
    """What the model answered; ``text`` is the first candidate's, absent when it has none."""

    text: NotRequired[str]
    candidates: list[LLMCandidate]
    usageMetadata: NotRequired[LLMUsage]


class Change(msgspec.Struct, frozen=True, rename="camel"):
    """What a hook says of a value; None is a field it does not name."""

    def named(self) -> dict[str, Any]:
        """The fields the hook names, under their names in the format."""
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


class LLMRequestChange(Change, frozen=True):
    """What a hook says of the request; ``messages``, when named, is the whole conversation."""

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
    """What a hook says of the candidate that stands at the same place."""

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
    """What a hook says of the response; ``candidates``, when named, are all there are to be."""

    text: str | None = None
    candidates: list[CandidateChange] | None = None
    usage_metadata: UsageChange | None = None


C = TypeVar("C", bound=Change)
# The fields in which a hook writes objects of its own.
_NESTED: dict[str, type[msgspec.Struct]] = {
    "messages": MessageChange,
    "config": LLMConfigChange,
    "toolConfig": HookToolConfigChange,
    "candidates": CandidateChange,
    "content": ContentChange,
}


def read_llm_request(value: object) -> LLMRequestChange:
    """What a hook's ``llm_request`` says; raises ValueError, with the problem, when malformed."""
    return _convert(value, LLMRequestChange)


def read_llm_response(value: object) -> LLMResponseChange:
    """What a hook's ``llm_response`` says; raises ValueError, with the problem, when malformed.

    Parts may be written as Gemini has them, ``{"text": …}``.
    """
    change = _convert(_flatten_parts(value), LLMResponseChange)
    if change.text is None and change.candidates is None:
        raise ValueError("is malformed: it has neither `text` nor `candidates`")
    return change


def read_tool_config(value: object) -> HookToolConfigChange:
    """What a hook's ``toolConfig`` says; raises ValueError, with the problem, when malformed."""
    return _convert(value, HookToolConfigChange)


def llm_request_problem(value: object) -> str | None:
    """What keeps a hook's ``llm_request`` from being applied (``is malformed: …``), or None."""
    return _find_problem(read_llm_request, value)


def llm_response_problem(value: object) -> str | None:
    """What keeps a hook's ``llm_response`` from being applied (``is malformed: …``), or None."""
    return _find_problem(read_llm_response, value)


def is_llm_response(value: object) -> bool:
    """Whether a hook's ``llm_response`` is one, so that it can answer in the model's place."""
    return llm_response_problem(value) is None


def find_unread(
    value: Mapping[str, Any], kind: type[msgspec.Struct], path: str = ""
) -> Iterator[str]:
    """The fields of a hook's request or response that the format does not have: nobody reads
    them."""
    known = kind.__struct_encode_fields__
    for name, held in value.items():
        if name not in known:
            yield f"{path}{name}"
        elif name in _NESTED:
            for item in held if isinstance(held, list) else [held]:
                if isinstance(item, Mapping):
                    yield from find_unread(item, _NESTED[name], f"{path}{name}.")


def well_formed(fields: Mapping[str, Any], kind: type[Change]) -> dict[str, Any]:
    """Those of the fields that a hook could send back, so that an echo is never refused."""
    fitting: dict[str, Any] = {}
    for name, value in fields.items():
        try:
            msgspec.convert({name: value}, kind)
        except ValueError:
            continue
        fitting[name] = value
    return fitting


def merge_llm_request(base: Mapping[str, Any], change: object) -> dict[str, Any]:
    """The request after a hook's change: shallow, ``config`` and ``toolConfig`` key by key.

    A malformed change changes nothing. Neither argument is altered.
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
    """The response with texts for parts that hold a text and nothing else."""
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
