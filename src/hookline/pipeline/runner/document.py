"""An event's input on its way to hooks: encoded once for each dialect, copied for functions."""

from typing import Any

from hookline.pipeline.chaining import chain_input
from hookline.pipeline.dialects import dialect_of
from hookline.wire import codec
from hookline.wire.events import HookEventName


class InputDocument:
    """The JSON object hooks read; immutable, so that hooks in parallel can share it."""

    def __init__(self, event: HookEventName, payload: dict[str, Any]) -> None:
        self.event = event
        self.payload = payload
        self._encoded: dict[str, bytes] = {}

    def encoded(self, dialect: str = "native") -> bytes:
        """What a hook of that dialect reads on stdin; raises PayloadEncodingError."""
        known = self._encoded.get(dialect)
        if known is None:
            known = dialect_of(dialect).write_input(self.event, self.payload)
            self._encoded[dialect] = known
        return known

    def copy(self, dialect: str = "native") -> dict[str, Any]:
        """What a function reads: its own copy, of exactly what a script would have read."""
        copy: dict[str, Any] = codec.decode(self.encoded(dialect))
        return copy

    def followed_by(self, output: dict[str, Any] | None) -> "InputDocument":
        """What the next hook of a sequence reads after an answer."""
        if not output:
            return self
        payload = chain_input(self.event, self.payload, output)
        return self if payload is self.payload else InputDocument(self.event, payload)
