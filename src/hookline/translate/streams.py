"""Streams of the model APIs: chunks merged into the response that they make up, a response told in
chunks, and calls left out while a stream passes.

All of it works on chunks as JSON and as the SDK's objects, and answers in the form that it got.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import Any, Protocol, get_args

from hookline.errors import TranslationError
from hookline.translate.values import get


class Refusing(Protocol):
    """Who says which calls a model may not make, and whether what nobody can read may pass."""

    @property
    def is_strict(self) -> bool: ...

    def find_refused(self, response: Any) -> list[str]:
        """The names of the tools that a response calls and must not; people are told of them."""
        ...

    def drop_refused(self, response: Any, names: Iterable[str]) -> Any:
        """The response without the calls of these tools; it says so where nothing else is left."""
        ...

    def explain_refused(self, names: Iterable[str]) -> str:
        """What a model reads of the calls that were left out."""
        ...


class CallFilter(Protocol):
    """Leaves calls out of one stream."""

    def feed(self, chunk: Any) -> list[Any]:
        """What may pass of the stream with its next chunk."""
        ...


class StreamForm(Protocol):
    """The stream of one API. ``TranslationError`` is the only exception."""

    def merge(self, chunks: Sequence[Any]) -> Any:
        """The complete response that these chunks make up."""
        ...

    def split(self, response: Any) -> list[Any]:
        """Chunks that make up a response, and hold nothing that it does not hold."""
        ...

    def filter_calls(self, gate: Refusing) -> CallFilter:
        """What leaves calls out of a stream."""
        ...


# The name of an API -> the module of its streams and the class.
_FORMS = {
    "openai-chat": ("openai_streams", "ChatStreams"),
    "openai-responses": ("openai_streams", "ResponsesStreams"),
    "anthropic": ("anthropic_stream", "AnthropicStreams"),
}
_ANTHROPIC_EVENTS = ("message_", "content_block_")


def find_stream_form(value: object) -> StreamForm | None:
    """How streams are read whose chunk or whose complete response a value is; None where nobody
    knows."""
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
    """A chunk or a response as JSON of its own, which may be altered at its top."""
    if isinstance(value, Mapping):
        return dict(value)
    if hasattr(value, "model_dump"):
        # A server may send what the SDK's types do not foresee, and nobody is to be warned of it.
        shown: dict[str, Any] = value.model_dump(by_alias=True, exclude_unset=True, warnings=False)
        return shown
    raise TranslationError(f"a stream of a model cannot hold {type(value).__name__}")


def make_like(value: Any, kind: Any, json: Mapping[str, Any]) -> Any:
    """JSON as it is where ``value`` is JSON, else an object of the SDK's class ``kind()``, which is
    not asked for before."""
    return dict(json) if isinstance(value, Mapping) else kind().model_construct(**json)


@cache
def classes_by_type(union: Any) -> dict[str, Any]:
    """The classes of an SDK's union of events, each by the word in its field ``type``."""
    kinds = get_args(get_args(union)[0])
    return {get_args(kind.model_fields["type"].annotation)[0]: kind for kind in kinds}
