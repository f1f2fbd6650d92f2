"""The translator of requests and responses in the form that hooks read, for callers without an SDK.

A message that holds more than hooks would be shown is refused: a guard must not let pass what it
could not read.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, cast

from hookline.errors import TranslationError
from hookline.translate.alignment import find_changes
from hookline.translate.values import (
    are_same,
    get_list,
    get_objects,
    get_text,
    put,
    read_change,
    refuse_text,
)
from hookline.wire.model import (
    CandidateChange,
    Change,
    ContentChange,
    HookToolConfig,
    HookToolConfigChange,
    LLMCandidate,
    LLMConfig,
    LLMConfigChange,
    LLMMessage,
    LLMRequest,
    LLMResponse,
    LLMResponseChange,
    LLMUsage,
    MessageChange,
    Role,
    SafetyRatingChange,
    UsageChange,
    read_llm_request,
    read_llm_response,
    read_tool_config,
    well_formed,
)

_ROLES: dict[str, Role] = {
    "user": "user",
    "model": "model",
    "assistant": "model",
    "system": "system",
}
_OWN_FIELDS = ("model", "config", "toolConfig")


class HookFormTranslator:
    """``HookTranslator`` for hooks' own form."""

    def to_hook_llm_request(self, request: object) -> LLMRequest:
        """What hooks are shown of a request; raises TranslationError for one that holds more."""
        request = _check_mapping(request, "a model request")
        messages = get_list(request, "messages")
        if not messages:
            known = (*_OWN_FIELDS, "messages")
            refuse_text(request, known, "a model request has neither contents nor messages")
        shown: LLMRequest = {
            "model": get_text(request, "model"),
            "messages": [_show_message(message, place) for place, message in enumerate(messages)],
            "config": cast(
                LLMConfig, _show_fields(_get_object(request, "config"), LLMConfigChange)
            ),
        }
        if tool_config := self.to_hook_tool_config(request.get("toolConfig")):
            shown["toolConfig"] = tool_config
        return shown

    def from_hook_llm_request(self, hook: object, base: Any = None, *, like: object = None) -> Any:  # noqa: ARG002
        """The request with what the hook names."""
        change = read_change(read_llm_request, "llm_request", hook)
        request: Any = {"model": "", "messages": []} if base is None else base
        shown = self.to_hook_llm_request(request)
        changes: dict[str, Any] = {}
        if change.model is not None and change.model != shown["model"]:
            changes["model"] = change.model
        if change.messages is not None:
            messages = get_list(request, "messages")
            edited = _edit_messages(messages, shown["messages"], change.messages)
            if edited is not messages:
                changes["messages"] = edited
        for name, wanted in (("config", change.config), ("toolConfig", change.tool_config)):
            before = _get_object(request, name)
            if wanted is not None and (named := _find_changed(before, wanted)):
                changes[name] = {**before, **named}
        return put(request, changes)

    def to_hook_llm_response(self, response: object) -> LLMResponse:
        """What hooks are shown of a response."""
        response = _check_mapping(response, "a model response")
        candidates = [_show_candidate(candidate) for candidate in _read_candidates(response)]
        shown: LLMResponse = {"candidates": candidates}
        if candidates and candidates[0]["content"]["parts"]:
            shown = {"text": "".join(candidates[0]["content"]["parts"]), "candidates": candidates}
        if (usage := response.get("usageMetadata")) is not None:
            counts = _show_fields(_check_mapping(usage, "usageMetadata"), UsageChange)
            shown["usageMetadata"] = cast(LLMUsage, counts)
        return shown

    def from_hook_llm_response(self, hook: object, base: Any = None, *, like: object = None) -> Any:  # noqa: ARG002
        """The response with what the hook names; without a base, the hook's own answer."""
        change = read_change(read_llm_response, "llm_response", hook)
        return _edit_response({} if base is None else base, change)

    def to_hook_tool_config(self, tool_config: object) -> HookToolConfig:
        """What hooks are shown of a tool config."""
        own = {} if tool_config is None else _check_mapping(tool_config, "toolConfig")
        return cast(HookToolConfig, _show_fields(own, HookToolConfigChange))

    def from_hook_tool_config(self, hook: object, base: Any = None, *, like: object = None) -> Any:  # noqa: ARG002
        """The tool config with what the hook names."""
        change = read_change(read_tool_config, "toolConfig", hook)
        own = {} if base is None else _check_mapping(base, "toolConfig")
        changes = _find_changed(own, change)
        return {**own, **changes} if changes or base is None else base

    def tool_names(self, request: object) -> list[str] | None:
        """None: the form has no tools."""
        _check_mapping(request, "a model request")
        return None

    def tool_selection(self, request: object) -> tuple[Any | None, Any | None]:
        """The request's own tool config; it has no tools."""
        return _check_mapping(request, "a model request").get("toolConfig"), None

    def empty_response(self, reason: str, like: object = None) -> Any:  # noqa: ARG002
        """A finished response of one candidate whose text is the reason."""
        content = ContentChange(parts=[reason])
        candidate = CandidateChange(content=content, finish_reason="STOP", index=0)
        return _edit_response({}, LLMResponseChange(candidates=[candidate]))

    def call_names(self, response: object) -> list[str]:
        """An empty list: the form has no calls."""
        self.to_hook_llm_response(response)
        return []

    def drop_calls(self, response: Any, names: Collection[str]) -> Any:  # noqa: ARG002
        """The response itself: it has no calls."""
        self.to_hook_llm_response(response)
        return response

    def has_system_turns(self, request: object) -> bool:  # noqa: ARG002
        """True: a system message may stand anywhere."""
        return True


def _check_mapping(value: object, name: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise TranslationError(f"{name} must be an object, not {type(value).__name__}")
    return value


def _get_object(value: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    return _check_mapping(value.get(name) or {}, name)


def _show_fields(value: Mapping[str, Any], kind: type[Change]) -> dict[str, Any]:
    """The fields that a hook may change and that are set."""
    names = kind.__struct_encode_fields__
    return well_formed({n: value[n] for n in names if value.get(n) is not None}, kind)


def _find_changed(value: Mapping[str, Any], change: Change) -> dict[str, Any]:
    """The fields to which a hook gives another value than it was shown."""
    seen = _show_fields(value, type(change))
    return {name: item for name, item in change.named().items() if seen.get(name) != item}


def _show_message(message: object, place: int) -> LLMMessage:
    if not isinstance(message, Mapping):
        raise TranslationError(f"messages cannot hold {type(message).__name__}")
    role, content = message.get("role") or "user", message.get("content")
    known = _ROLES.get(role) if isinstance(role, str) else None
    if known is None:
        words = ", ".join(_ROLES)
        raise TranslationError(f"messages[{place}].role {role!r:.80} is not one of {words}")
    if not isinstance(content, str):
        kind = type(content).__name__
        raise TranslationError(f"messages[{place}].content must be a string, not {kind}")
    hidden = [name for name, held in message.items() if held and name not in ("role", "content")]
    if hidden:
        what = ", ".join(map(str, hidden))
        raise TranslationError(f"messages[{place}] has {what}, which hooks cannot be shown")
    return {"role": known, "content": content}


def _edit_messages(
    messages: Sequence[Any], shown: Sequence[LLMMessage], wanted: Sequence[MessageChange]
) -> Sequence[Any]:
    """The hook's messages in place of those shown; unchanged messages are the same objects."""
    seen = [MessageChange(each["content"], each["role"]) for each in shown]
    changes = find_changes(seen, wanted)
    if not changes:
        return messages
    has_assistant = any(message.get("role") == "assistant" for message in messages)
    edited: list[Any] = []
    done = 0
    for old, after, new, end in changes:
        edited += messages[done:old]
        for each in wanted[new:end]:
            role = "assistant" if has_assistant and each.role == "model" else each.role
            edited.append({"role": role, "content": each.content})
        done = after
    return [*edited, *messages[done:]]


def _read_candidates(response: Mapping[str, Any]) -> list[Any]:
    """The candidates of a response; one made of its text if it has only that."""
    candidates, text = get_objects(response, "candidates"), get_text(response, "text")
    if candidates:
        if text and text != "".join(_read_parts(candidates[0])):
            raise TranslationError("text differs from the text of the first candidate")
        return candidates
    if text:
        return [{"content": {"role": "model", "parts": [text]}}]
    found = "a model response has neither candidates nor text"
    refuse_text(response, ("usageMetadata",), found)
    return []


def _read_parts(candidate: Any) -> list[str]:
    content = _get_object(candidate, "content")
    parts = get_list(content, "parts")
    if not parts:
        refuse_text(content, ("role",), "a content has no parts")
        refuse_text(candidate, ("content", "finishReason", "safetyRatings"), "a candidate is empty")
    for part in parts:
        if not isinstance(part, str):
            raise TranslationError(f"a content part must be a text, not {type(part).__name__}")
    return parts


def _show_candidate(candidate: Mapping[str, Any]) -> LLMCandidate:
    seen: dict[str, Any] = {"content": {"role": "model", "parts": _read_parts(candidate)}}
    named = ("finishReason", "index")
    fields = {name: candidate[name] for name in named if candidate.get(name) is not None}
    seen |= well_formed(fields, CandidateChange)
    if candidate.get("safetyRatings") is not None:
        ratings = get_objects(candidate, "safetyRatings")
        seen["safetyRatings"] = [
            {"category": "", "probability": "", **_show_fields(rating, SafetyRatingChange)}
            for rating in ratings
        ]
    return cast(LLMCandidate, seen)


def _edit_response(response: Any, change: LLMResponseChange) -> Any:
    candidates = _read_candidates(_check_mapping(response, "a model response"))
    edited = candidates
    if change.candidates is not None:
        edited = _edit_candidates(candidates, change.candidates)
    first = "".join(_read_parts(candidates[0])) if candidates else ""
    if edited is candidates and change.text is not None and change.text != first:
        start = CandidateChange(content=ContentChange(parts=[change.text]))
        edited = _edit_candidates(candidates, [start, *[CandidateChange()] * (len(candidates) - 1)])
    changes: dict[str, Any] = {}
    if edited is not candidates:
        text = "".join(_read_parts(edited[0])) if edited else ""
        changes = {"text": text or None, "candidates": edited}
    if change.usage_metadata is not None:
        usage = _get_object(response, "usageMetadata")
        if counts := _find_changed(usage, change.usage_metadata):
            changes["usageMetadata"] = {**usage, **counts}
    return put(response, changes)


def _edit_candidates(candidates: list[Any], wanted: Sequence[CandidateChange]) -> list[Any]:
    """The candidates with what a hook names of each; the same list when that changes nothing."""
    edited = []
    for place, change in enumerate(wanted):
        candidate = candidates[place] if place < len(candidates) else {}
        seen = _show_candidate(candidate)
        changes: dict[str, Any] = {}
        parts = change.content.parts if change.content is not None else None
        if parts is not None and (parts != seen["content"]["parts"] or not candidate):
            kept = candidate.get("content") or {"role": "model"}
            changes["content"] = {**kept, "parts": parts}
        if change.finish_reason is not None and change.finish_reason != seen.get("finishReason"):
            changes["finishReason"] = change.finish_reason
        if change.index is not None and change.index != seen.get("index"):
            changes["index"] = change.index
        if change.safety_ratings is not None:
            old = candidate.get("safetyRatings") or []
            ratings = []
            for number, rating in enumerate(change.safety_ratings):
                before = old[number] if number < len(old) else {}
                ratings.append(put(before, _find_changed(before, rating)))
            if not are_same(ratings, old):
                changes["safetyRatings"] = ratings
        edited.append(put(candidate, changes))
    return candidates if are_same(edited, candidates) else edited
