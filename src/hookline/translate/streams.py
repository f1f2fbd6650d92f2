"""Streams of the model APIs: merges chunks into a response, splits a response into chunks, and
leaves calls out of a stream as it passes.

Chunks are JSON or the SDK's objects, and the results have the same form.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import Any, Protocol, get_args

from hookline.errors import TranslationError
from hookline.translate.values import get, is_object, put


class Refusing(Protocol):
    """Decides which calls a model may not make, and whether unreadable chunks may pass."""

    @property
    def is_strict(self) -> bool: ...

    def find_refused(self, response: Any) -> list[str]:
        """The names of the tools that a response calls and must not; warns about them."""
        ...

    def drop_refused(self, response: Any, names: Iterable[str]) -> Any:
        """The response without the calls of these tools; if nothing else is left, it says so."""
        ...

    def explain_refused(self, names: Iterable[str]) -> str:
        """The text for the model about the calls that were left out."""
        ...


class CallFilter(Protocol):
    """Leaves calls out of one stream."""

    def feed(self, chunk: Any) -> list[Any]:
        """The chunks that may pass after the stream's next chunk."""
        ...


class StreamForm(Protocol):
    """The stream of one API. ``TranslationError`` is the only exception."""

    def merge(self, chunks: Sequence[Any]) -> Any:
        """The complete response that these chunks make up."""
        ...

    def split(self, response: Any) -> list[Any]:
        """Chunks that make up a response, with nothing added."""
        ...

    def filter_calls(self, gate: Refusing) -> CallFilter:
        """A filter that leaves calls out of one stream."""
        ...


# The name of an API -> the module of its translator and the class of its streams.
_FORMS = {
    "openai-chat": ("openai_chat", "ChatStreams"),
    "openai-responses": ("openai_responses", "ResponsesStreams"),
    "anthropic": ("anthropic", "AnthropicStreams"),
    "genai": ("genai", "GenAIStreams"),
}
# Fields of a fragment that do not continue those of the last one.
_WORDS = frozenset({"role", "id", "type", "index", "name"})
_ANTHROPIC_EVENTS = ("message_", "content_block_")


def find_stream_form(value: object) -> StreamForm | None:
    """The form of the stream that a chunk or complete response belongs to; None if unknown."""
    kind = get(value, "type")
    if isinstance(kind, str) and kind.startswith("response."):
        return _make_form("openai-responses")
    if isinstance(kind, str) and kind.startswith(_ANTHROPIC_EVENTS):
        return _make_form("anthropic")
    if isinstance(get(value, "choices"), list | tuple):
        return _make_form("openai-chat")
    if isinstance(get(value, "output"), list | tuple):
        return _make_form("openai-responses")
    if isinstance(get(value, "content"), list | tuple):
        return _make_form("anthropic")
    if is_object(value, "google", "GenerateContentResponse"):
        return _make_form("genai")
    return _make_form("genai") if _is_gemini_chunk(value) else None


def _is_gemini_chunk(value: object) -> bool:
    """True for JSON of Gemini: hooks' own form has texts for parts, and it is not streamed."""
    candidates = get(value, "candidates")
    if not isinstance(value, Mapping) or not isinstance(candidates, list | tuple):
        return False
    contents = [get(candidate, "content") for candidate in candidates]
    parts = [get(content, "parts") for content in contents if content is not None]
    return all(isinstance(part, Mapping) for held in parts for part in held or ())


@cache
def _make_form(api: str) -> StreamForm:
    module, kind = _FORMS[api]
    form: StreamForm = getattr(import_module(f"hookline.translate.{module}"), kind)()
    return form


def to_json(value: Any) -> dict[str, Any]:
    """A chunk or a response as new JSON, whose top level may be altered."""
    if isinstance(value, Mapping):
        return dict(value)
    if hasattr(value, "model_dump"):
        # A server may send what the SDK's types do not allow; that is no reason for a warning.
        shown: dict[str, Any] = value.model_dump(by_alias=True, exclude_unset=True, warnings=False)
        return shown
    raise TranslationError(f"a model stream cannot hold {type(value).__name__}")


def make_like(value: Any, kind: Any, json: Mapping[str, Any]) -> Any:
    """A copy of the JSON if ``value`` is JSON, else an object of the SDK's class; ``kind()`` loads
    that class, and is called only then."""
    return dict(json) if isinstance(value, Mapping) else kind().model_construct(**json)


@cache
def classes_by_type(union: Any) -> dict[str, Any]:
    """The classes in an SDK's union of events by the value of their field ``type``."""
    kinds = get_args(get_args(union)[0])
    return {get_args(kind.model_fields["type"].annotation)[0]: kind for kind in kinds}


def extend(whole: dict[str, Any], fragment: Mapping[str, Any]) -> None:
    """Add a fragment of a value to the fragments before it: texts and lists continue those before,
    objects are extended in their turn, anything else replaces. ``whole`` is altered, and nothing
    that it was given."""
    for name, value in fragment.items():
        before = whole.get(name)
        if value is None:
            continue
        if isinstance(value, Mapping):
            held = dict(before) if isinstance(before, Mapping) else {}
            extend(held, value)
            whole[name] = held
        elif isinstance(value, list | tuple):
            whole[name] = [*(before or ()), *value]
        elif isinstance(before, str) and isinstance(value, str):
            # Some servers repeat these, or leave them empty, in each fragment.
            whole[name] = value or before if name in _WORDS else before + value
        else:
            whole[name] = value


class ItemFilter:
    """``CallFilter`` of a stream of numbered items (blocks of a message, items of an output), each
    of which begins with an event that holds it. The events of a call that is left out do not pass,
    and the items after it have lower numbers."""

    # The field of an event that holds the number of its item.
    number_field: str

    def __init__(self, gate: Refusing) -> None:
        self._gate = gate
        self.names: list[str] = []  # of calls that were left out
        self.items = 0  # that have passed
        self._dropped: set[int] = set()

    def read_item(self, chunk: Any) -> Any | None:
        """The item that begins with this event; None for other events."""
        raise NotImplementedError

    def make_response(self, item: dict[str, Any]) -> dict[str, Any]:
        """A response of this item alone."""
        raise NotImplementedError

    def pass_event(self, chunk: Any, changes: dict[str, Any]) -> list[Any]:
        """What passes for an event of an item that is not left out; ``changes`` number it anew."""
        return [put(chunk, changes)]

    def feed(self, chunk: Any) -> list[Any]:
        """The chunks that may pass after the stream's next chunk."""
        number, item = get(chunk, self.number_field), self.read_item(chunk)
        if item is not None and isinstance(number, int):
            names = self._gate.find_refused(self.make_response(to_json(item)))
            self.names += names
            self.items += not names
            if names:
                self._dropped.add(number)
        if number in self._dropped:
            return []
        before = sum(other < number for other in self._dropped) if isinstance(number, int) else 0
        return self.pass_event(chunk, {self.number_field: number - before} if before else {})
