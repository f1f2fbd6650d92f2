"""Streams of the model APIs: merges chunks into a response, splits a response into chunks, and
leaves calls out of a stream as it passes.

Chunks are JSON or the SDK's objects, and the results have the same form.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import Any, Protocol, get_args

from hookline.errors import TranslationError
from hookline.translate.values import get


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


# The name of an API -> the module of its streams and the class.
_FORMS = {
    "openai-chat": ("openai_streams", "ChatStreams"),
    "openai-responses": ("openai_streams", "ResponsesStreams"),
    "anthropic": ("anthropic_stream", "AnthropicStreams"),
}
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
    return None


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
