"""How values are written for hooks and read back: one JSON encoder and decoder, one form of time,
and a form for values that JSON has none for.

msgspec is stricter than JSON's grammar: it refuses lone surrogates, which models and scripts do
produce (``"\\ud800"``), and numbers beyond a double. Then a payload would reach no hook, or a
denial would be lost, so the standard library reads what msgspec refuses.

Nor may a hook be skipped because a tool was called with a path, an enum or an object of some
library: ``show`` turns it into plain data. A value that is too large is cut, with a marker and a
report, because something could hide behind the cut.
"""

import math
import os
import time
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from hookline._support.escapes import escape_unseen, spell_json
from hookline.errors import PayloadEncodingError

if TYPE_CHECKING:
    from json import JSONDecoder

_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder()

DecodeError = msgspec.DecodeError

MAX_DEPTH = 200
MAX_REPR = 10_000

_SCALARS = (str, int, bool, type(None))


def encode(value: object) -> bytes:
    """Write a value as JSON; raises PayloadEncodingError if it has no JSON form."""
    try:
        try:
            return _encoder.encode(value)
        except UnicodeEncodeError:
            import json

            text = json.dumps(msgspec.to_builtins(value, str_keys=True))
            # msgspec writes null for the numbers JSON does not have.
            numbers = json.loads(text, parse_constant=lambda _: None)
            return json.dumps(numbers, separators=(",", ":")).encode("ascii")
    except RecursionError:
        raise PayloadEncodingError("it contains itself, or is nested too deeply") from None
    except (TypeError, ValueError, OverflowError, msgspec.MsgspecError) as error:
        raise PayloadEncodingError(str(error)) from None


def encode_seen(value: object) -> bytes:
    """Write a value as JSON in which every character that may control a terminal, or is not seen,
    is an escape; raises PayloadEncodingError."""
    encoded = encode(value)
    if encoded.isascii() and b"\x7f" not in encoded:
        return encoded
    return escape_unseen(encoded.decode(), spell_json).encode()


def decode(text: bytes | str) -> Any:
    """Read one JSON document; raises DecodeError for anything else, NaN and Infinity included."""
    try:
        return _decoder.decode(text)
    except RecursionError:
        raise DecodeError("the JSON is nested too deeply") from None
    except (msgspec.DecodeError, UnicodeError) as error:
        try:
            return lenient_decoder().decode(text if isinstance(text, str) else text.decode())
        except (ValueError, RecursionError):
            raise DecodeError(str(error)) from None


def copy(value: Any) -> Any:
    """Return an independent copy of a JSON value; raises if it is not one."""
    try:
        return _decoder.decode(_encoder.encode(value))
    except Exception:
        return decode(encode(value))


def lenient_decoder(**options: Any) -> "JSONDecoder":
    """Return a decoder for everything that JSON's grammar allows; it can also start within a text.
    It raises ValueError or RecursionError. The options are those of ``json.JSONDecoder``."""
    import json

    def refuse(constant: str) -> object:
        raise ValueError(f"{constant} is not JSON")

    return json.JSONDecoder(parse_constant=refuse, **options)


# The last second and its text, cached: events come in bursts, and formatting a date is slow.
_last_second = ("", "")


def timestamp() -> str:
    """Return the current time as ISO 8601 in UTC, with milliseconds and ``Z``."""
    global _last_second
    digits = str(time.time_ns())
    second, milliseconds = digits[:-9], digits[-9:-6]
    written = _last_second
    if written[0] != second:
        text = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(int(second)))
        written = _last_second = (second, text)
    return f"{written[1]}.{milliseconds}Z"


class Shown(NamedTuple):
    """A value as JSON data. ``cuts`` says what was left out, ``as_text`` lists the types of values
    that are shown as their ``repr`` only."""

    value: Any
    cuts: list[str]
    as_text: list[str]


def is_json(value: Any, depth: int = MAX_DEPTH) -> bool:
    """True if a value is JSON data as it is, nested no deeper than may be shown."""
    kind = type(value)
    # Every event comes through here, and most values are flat objects.
    if kind is dict:
        if depth < 0:
            return False
        for name, item in value.items():
            if type(name) is not str or not (type(item) is str or is_json(item, depth - 1)):
                return False
        return True
    if kind is list:
        return depth >= 0 and all(is_json(item, depth - 1) for item in value)
    return kind in _SCALARS or (kind is float and math.isfinite(value))


def show(value: Any) -> Shown:
    """Turn a value into JSON data; JSON data stays as it is. The value is not changed."""
    if is_json(value):
        return Shown(value, [], [])
    showing = _Showing()
    return Shown(showing.value(value, 0), showing.cuts, showing.as_text)


class _Showing:
    """Turns one value into JSON data, and notes what was cut or shown as text."""

    def __init__(self) -> None:
        self.cuts: list[str] = []
        self.as_text: list[str] = []
        self._open: set[int] = set()

    def value(self, value: Any, depth: int) -> Any:
        kind = type(value)
        if kind in _SCALARS:
            return value
        if kind is float:
            return value if math.isfinite(value) else str(value)
        if kind is dict or kind is list or kind is tuple:
            return self._show_container(value, value, depth)
        try:
            found, plain = _find_plain_form(value)
            if not found or plain is value:  # a form that is the value itself would recurse
                text = repr(value)
                self.as_text.append(kind.__name__)
                if len(text) <= MAX_REPR:
                    return text
                marker = f"… (+{len(text) - MAX_REPR} characters)"
                return text[:MAX_REPR] + self._note_cut(
                    marker, f"a {kind.__name__} is too long to show"
                )
            if isinstance(plain, Mapping | list | tuple | set | frozenset):
                # It is the value, not its plain form, that may contain itself.
                return self._show_container(value, plain, depth)
            return self.value(plain, depth)
        except Exception:
            # A value whose methods raise is shown as its type.
            return self._note_cut(f"<{kind.__name__}>", f"a {kind.__name__} has no text")

    def _show_container(self, value: Any, plain: Any, depth: int) -> Any:
        """Show a mapping or a sequence, unless it contains itself or is nested too deeply."""
        if depth > MAX_DEPTH:
            return self._note_cut(f"… (nested deeper than {MAX_DEPTH})", "it is nested too deeply")
        if id(value) in self._open:
            return self._note_cut("… (contains itself)", "it contains itself")
        self._open.add(id(value))
        try:
            if not isinstance(plain, Mapping):
                return [self.value(item, depth + 1) for item in plain]
            shown: dict[str, Any] = {}
            for key, item in plain.items():
                name = key if type(key) is str else self.value(key, 0)
                if name is None or isinstance(name, bool):
                    name = {None: "null", True: "true", False: "false"}[name]
                name = name if isinstance(name, str) else str(name)
                if name in shown:
                    self.cuts.append(f"two of its keys are both written {name!r}")
                    name = f"{name} ({len(shown)})"
                shown[name] = self.value(item, depth + 1)
            return shown
        finally:
            self._open.discard(id(value))

    def _note_cut(self, marker: str, why: str) -> str:
        self.cuts.append(why)
        return marker


# Pydantic models; dates and times; numpy arrays and scalars, and similar types.
_OWN_FORMS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("model_dump", {"mode": "json", "by_alias": True, "exclude_none": True}),
    ("isoformat", {}),
    ("tolist", {}),
)


def _find_plain_form(value: Any) -> tuple[bool, Any]:
    """Return whether a value has a plainer form without loss, and that form."""
    # Types are told by their methods, so that no library is imported for it.
    if isinstance(value, str):
        return True, str.__str__(value)
    if hasattr(value, "_value_") and hasattr(type(value), "__members__"):  # an enum's member
        return True, value.value
    if isinstance(value, int):
        return True, int(value)
    if isinstance(value, float):
        return True, float(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return True, bytes(value).decode("utf-8", "backslashreplace")
    if isinstance(value, os.PathLike):
        return True, os.fsdecode(value)
    if isinstance(value, Mapping):
        return True, dict(value)
    if isinstance(value, list | tuple):
        return True, list(value)
    if isinstance(value, set | frozenset):
        return True, sorted(value, key=repr)
    if isinstance(value, type):
        return False, None
    for method, arguments in _OWN_FORMS:
        form = getattr(value, method, None)
        if callable(form):
            return True, form(**arguments)
    kind = type(value)
    fields: Iterable[str] | None = None
    if hasattr(kind, "__dataclass_fields__"):
        fields = kind.__dataclass_fields__
    elif hasattr(kind, "__struct_fields__"):  # msgspec's
        fields = kind.__struct_fields__
    elif hasattr(kind, "__attrs_attrs__"):
        fields = [attribute.name for attribute in kind.__attrs_attrs__]
    if fields is not None:
        return True, {name: getattr(value, name) for name in fields if hasattr(value, name)}
    if kind.__module__ in ("decimal", "fractions", "uuid", "datetime", "ipaddress"):
        return True, str(value)
    return False, None
