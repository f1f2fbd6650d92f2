"""An event's input on its way to hooks: encoded once for each dialect, copied for functions."""

from typing import Any

import msgspec

from hookline.pipeline.dialects import dialect_of
from hookline.wire import codec
from hookline.wire.events import HookEventName

_NATIVE = dialect_of("native")


class InputDocument(msgspec.Struct, frozen=True, eq=False):
    """The JSON object hooks read; immutable, so that hooks in parallel can share it."""

    event: HookEventName
    payload: dict[str, Any]
    _encoded: dict[str, bytes] = {}

    @classmethod
    def checked(cls, event: HookEventName, payload: dict[str, Any]) -> "InputDocument":
        """A document that is known to have a JSON form; raises PayloadEncodingError."""
        return cls(event, payload, {"native": _NATIVE.write_input(event, payload)})

    def encoded(self, dialect: str = "native") -> bytes:
        """What a hook of that dialect reads on stdin; raises PayloadEncodingError."""
        known = self._encoded.get(dialect)
        if known is None:
            known = dialect_of(dialect).write_input(self.event, self.payload)
            self._encoded[dialect] = known
        return known

    def copy(self, dialect: str = "native") -> dict[str, Any]:
        """What a function reads: its own copy, of exactly what a script would have read."""
        copy: dict[str, Any] = codec.decode(self._encoded.get(dialect) or self.encoded(dialect))
        return copy

    def followed_by(self, output: dict[str, Any] | None) -> "InputDocument":
        """What the next hook of a sequence reads after an answer."""
        if not output:
            return self
        from hookline.pipeline.chaining import chain_input

        payload = chain_input(self.event, self.payload, output)
        return self if payload is self.payload else InputDocument(self.event, payload)
