"""The translator of requests and responses in the form that hooks read, for callers without an SDK.

A message that holds more than hooks would be shown is refused: a guard must not let pass what it
could not read.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, ClassVar, cast

from hookline.errors import TranslationError
from hookline.translate.alignment import find_changes
from hookline.translate.messages import MODES, MessageTranslator
from hookline.translate.values import (
    are_same,
    get_list,
    get_objects,
    get_text,
    put,
    refuse_text,
)
from hookline.wire.model import (
    Change,
    HookToolConfig,
    HookToolConfigChange,
    LLMConfigChange,
    LLMMessage,
    LLMSafetyRating,
    MessageChange,
    Role,
    SafetyRatingChange,
    UsageChange,
    well_formed,
)

_ROLES: dict[str, Role] = {
    "user": "user",
    "model": "model",
    "assistant": "model",
    "system": "system",
}


class HookFormTranslator(MessageTranslator[Any]):
    """``HookTranslator`` for hooks' own form, which has neither tools nor calls."""

    name = "hooks"
    api = "hooks' own form"
    settings: ClassVar[dict[str, tuple[str, ...]]] = {
        name: (name,) for name in LLMConfigChange.__struct_encode_fields__
    }
    usage: ClassVar[dict[str, str]] = {name: name for name in UsageChange.__struct_encode_fields__}
    modes = MODES
    has_hook_words = True
    system_turns = True
    finish_field = "finishReason"
    response_fields = ("candidates", "text", "usageMetadata")

    # -- requests

    def check_request(self, request: object) -> None:
        _check_mapping(request, "a model request")

    def refuse_unread(self, request: Any) -> None:
        known = ("model", "messages", "config", "toolConfig")
        refuse_text(request, known, "a model request has neither contents nor messages")

    def new_request(self, like: object) -> Any:  # noqa: ARG002 - the form is JSON
        return {"model": "", "messages": []}

    def show_messages(self, request: Any, messages: Sequence[Any]) -> list[LLMMessage]:  # noqa: ARG002
        """The messages as they are, those without text included."""
        return [_show_message(message, place) for place, message in enumerate(messages)]

    def edit_messages(
        self,
        request: Any,
        shown: Sequence[LLMMessage],
        wanted: Sequence[MessageChange],
        *,
        system_turns: bool,  # noqa: ARG002 - they always are
    ) -> Any:
        """The request with the hook's messages in place of those shown; unchanged messages are the
        same objects."""
        messages = self.messages(request)
        changes = find_changes([MessageChange(m["content"], m["role"]) for m in shown], wanted)
        if not changes:
            return request
        # The word for the model is the request's own.
        is_assistant = any(message.get("role") == "assistant" for message in messages)
        words = {"user": "user", "model": "assistant" if is_assistant else "model"}
        edited: list[Any] = []
        done = 0
        for old, after, new, end in changes:
            edited += messages[done:old]
            edited += [
                {"role": words.get(each.role, each.role), "content": each.content}
                for each in wanted[new:end]
            ]
            done = after
        return put(request, {"messages": [*edited, *messages[done:]]})

    def settings_of(self, request: Any) -> Any:
        return _get_object(request, "config")

    def with_settings(self, request: Any, changes: Mapping[str, Any]) -> Any:
        return put(request, {"config": {**self.settings_of(request), **changes}})

    # -- tools

    def tools_of(self, request: Any) -> Sequence[Any]:  # noqa: ARG002
        return []

    def declared_names(self, request: Any) -> Collection[str] | None:  # noqa: ARG002
        return None

    def tool_selection(self, request: object) -> tuple[Any | None, Any | None]:
        """The request's own tool config; it has no tools."""
        return _check_mapping(request, "a model request").get("toolConfig"), None

    def show_tool_choice(self, choice: Any) -> HookToolConfig:
        own = _check_mapping(choice, "toolConfig")
        return cast(HookToolConfig, _show_fields(own, HookToolConfigChange))

    def from_hook_tool_config(self, hook: object, base: Any = None, *, like: object = None) -> Any:
        """The tool config with what the hook names."""
        return super().from_hook_tool_config(hook, {} if base is None else base, like=like)

    def tool_choice(self, mode: str, names: Collection[str] | None, own: Any) -> Any:
        named = {} if names is None else {"allowedFunctionNames": [*names]}
        return {**(own or {}), **({"mode": mode} if mode else {}), **named}

    def with_tools(self, request: Any, mode: str, allowed: Collection[str] | None) -> Any:
        own = self.tool_selection(request)[0]
        return put(request, {"toolConfig": self.tool_choice(mode, allowed, own)})

    # -- responses

    def check_response(self, response: object) -> None:
        usage = _check_mapping(response, "a model response").get("usageMetadata")
        if usage is not None:
            _check_mapping(usage, "usageMetadata")

    def new_response(self, like: object) -> Any:  # noqa: ARG002 - the form is JSON
        return {}

    def choices(self, response: Any) -> list[Any]:
        """The candidates of a response; one made of its text if it has only that."""
        candidates, text = get_objects(response, "candidates"), get_text(response, "text")
        if candidates:
            if text and text != "".join(self.texts(candidates[0])):
                raise TranslationError("text differs from the text of the first candidate")
            return candidates
        if text:
            return [{"content": {"role": "model", "parts": [text]}}]
        found = "a model response has neither candidates nor text"
        refuse_text(response, self.response_fields, found)
        return []

    def with_choices(self, response: Any, choices: list[Any]) -> Any:
        text = "".join(self.texts(choices[0])) if choices else ""
        return put(response, {"text": text or None, "candidates": choices})

    def new_choice(self, response: Any, index: int) -> Any:  # noqa: ARG002 - all are alike
        return {"content": {"role": "model", "parts": []}}

    def with_index(self, choice: Any, index: int) -> Any:
        return put(choice, {"index": index})

    def texts(self, choice: Any) -> list[str]:
        content = _get_object(choice, "content")
        parts = get_list(content, "parts")
        if not parts:
            refuse_text(content, ("role",), "a content has no parts")
            known = ("content", "finishReason", "safetyRatings")
            refuse_text(choice, known, "a candidate is empty")
        for part in parts:
            if not isinstance(part, str):
                raise TranslationError(f"a content part must be a text, not {type(part).__name__}")
        return parts

    def with_texts(self, choice: Any, texts: list[str]) -> Any:
        own = choice.get("content") or {"role": "model"}
        return put(choice, {"content": {**own, "parts": texts}})

    def ratings(self, choice: Any) -> list[LLMSafetyRating] | None:
        if choice.get("safetyRatings") is None:
            return None
        ratings = get_objects(choice, "safetyRatings")
        empty = {"category": "", "probability": ""}
        shown = [{**empty, **_show_fields(each, SafetyRatingChange)} for each in ratings]
        return cast(list[LLMSafetyRating], shown)

    def with_ratings(self, choice: Any, wanted: Sequence[SafetyRatingChange]) -> Any:
        ratings = get_objects(choice, "safetyRatings")
        edited = []
        for place, change in enumerate(wanted):
            rating = ratings[place] if place < len(ratings) else {}
            shown = _show_fields(rating, SafetyRatingChange)
            words = change.named().items()
            edited.append(
                put(rating, {name: word for name, word in words if shown.get(name) != word})
            )
        return choice if are_same(edited, ratings) else put(choice, {"safetyRatings": edited})

    def calls(self, choice: Any) -> list[str]:
        self.texts(choice)  # raises for a choice of another shape
        return []

    def usage_of(self, response: Any) -> Any:
        return response.get("usageMetadata")

    def with_usage(self, response: Any, changes: Mapping[str, Any]) -> Any:
        return put(response, {"usageMetadata": {**(self.usage_of(response) or {}), **changes}})


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
