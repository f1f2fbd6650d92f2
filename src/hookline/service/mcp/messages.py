"""Reads JSON-RPC messages that every parser reads in the same way, and refuses all others.

Parsers differ over a key that occurs twice, ``Method`` beside ``method``, a carriage return between
two tokens. A message that the server reads differently could take a tool call past the hooks, so it
is a fault here.
"""

import json
from collections.abc import Iterator
from typing import Any, Literal, TypeAlias

import msgspec

Json: TypeAlias = dict[str, Any]
# An id as a key: 1 and "1" differ.
Key: TypeAlias = tuple[Literal["text", "number"], str | float]

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
SERVER_GONE = -32000

CALL = "tools/call"
LIST = "tools/list"
INITIALIZE = "initialize"
DISCOVER = "server/discover"
CANCELLED = "notifications/cancelled"
LIST_CHANGED = "notifications/tools/list_changed"
TASK_RESULTS = ("tasks/result", "tasks/get")
# The proxy acts on these, so no spelling of them may be recognized by the server alone.
_GUARDED = frozenset({CALL, LIST, INITIALIZE, DISCOVER, CANCELLED, *TASK_RESULTS})

_FIELDS = frozenset({"jsonrpc", "id", "method", "params", "result", "error"})
_BOM = b"\xef\xbb\xbf"
_BLANKS = " \t\n\r"
_LINE_ENDS = {ord("\r"): " ", ord("\n"): " "}


class Message(msgspec.Struct, frozen=True):
    """A message; ``raw`` is the line to pass on. ``is_doubled`` says that an object somewhere in it
    has a key twice."""

    raw: bytes
    fields: Json
    is_doubled: bool = False

    @property
    def method(self) -> str | None:
        """The method of a request or notification, None for a response."""
        return self.fields.get("method")

    @property
    def id(self) -> Any:
        """The id, or None."""
        return self.fields.get("id")

    @property
    def key(self) -> Key | None:
        """The id as a key; None if it has none that can be one."""
        return key_of(self.id)

    @property
    def is_request(self) -> bool:
        """True if it needs an answer."""
        return "method" in self.fields and "id" in self.fields

    @property
    def is_response(self) -> bool:
        """True if it answers a request."""
        return "method" not in self.fields

    @property
    def params(self) -> Json:
        """The parameters; empty if they are not an object."""
        params = self.fields.get("params")
        return params if isinstance(params, dict) else {}


class Fault(msgspec.Struct, frozen=True):
    """A line, or a part of a batch, that cannot be passed on. ``id`` is that of the request it may
    be or, if it ``is_response``, of the request it may answer."""

    raw: bytes
    problem: str
    code: int = INVALID_REQUEST
    id: Any = None
    is_response: bool = False


def make_message(**fields: Any) -> Message:
    """Make a message of the proxy's own; raises ValueError for what JSON cannot express."""
    fields = {"jsonrpc": "2.0", **fields}
    return Message(encode(fields), fields)


def make_error(id: Any, code: int, problem: str) -> Message:
    """Make the response to a request that failed."""
    return make_message(id=id, error={"code": code, "message": problem})


def read_messages(line: bytes) -> Iterator[Message | Fault]:
    """Yield the messages of a line: one, or those of a batch one by one."""
    # Some clients write a byte order mark before their first line.
    line = line.removeprefix(_BOM)
    try:
        text = line.decode()
    except UnicodeDecodeError as error:
        yield Fault(line, f"it is not UTF-8 at byte {error.start}", PARSE_ERROR)
        return
    if not text.lstrip(_BLANKS).startswith("["):
        yield _read_message(text)
        return
    try:
        parts = _split_batch(text)
    except (ValueError, RecursionError) as error:
        yield Fault(line, f"it is not JSON: {_explain(error)}", PARSE_ERROR)
        return
    if not parts:
        yield Fault(line, "the batch is empty")
    for part in parts:
        yield _read_message(part)


def key_of(id: Any) -> Key | None:
    """Return an id as a key; None if it is not an id."""
    if isinstance(id, str):
        return "text", id
    return ("number", id) if isinstance(id, int | float) and not isinstance(id, bool) else None


def find_variant(fields: Json, names: frozenset[str]) -> str | None:
    """Return a key that some readers take for one of these names, and others do not."""
    others = fields.keys() - names
    folded = {_fold(name) for name in names} if others else set()
    return next((key for key in others if _fold(key) in folded), None)


def encode(fields: Json) -> bytes:
    """Encode a message as one line; raises ValueError for an infinite number or nesting that is too
    deep."""
    try:
        try:
            text = json.dumps(fields, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
            if not text.isascii():
                # Node's readline and Python's splitlines end a line at these, even in strings.
                for end in "\x85\u2028\u2029":
                    text = text.replace(end, f"\\u{ord(end):04x}")
            return text.encode()
        except UnicodeEncodeError:
            # UTF-8 cannot encode half a surrogate pair; an escape can.
            return json.dumps(fields, allow_nan=False, separators=(",", ":")).encode()
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


class _Reading:
    """Decodes one JSON text, and notes whether an object has a key twice."""

    def __init__(self) -> None:
        self.has_doubled = False
        # Whether the outermost object has: it is built last.
        self.is_last_doubled = False
        # NaN and the like, which Python writes and other parsers refuse.
        self.constants: list[str] = []
        self._decoder = json.JSONDecoder(
            object_pairs_hook=self._build, parse_constant=self.constants.append
        )

    def decode(self, text: str) -> Any:
        return self._decoder.decode(text)

    def _build(self, pairs: list[tuple[str, Any]]) -> Json:
        built = dict(pairs)
        self.is_last_doubled = len(built) != len(pairs)
        self.has_doubled = self.has_doubled or self.is_last_doubled
        return built


def _split_batch(text: str) -> list[str]:
    """Return the texts of the elements of an array."""
    scan = json.JSONDecoder().raw_decode
    parts: list[str] = []
    at = _skip_blanks(text, text.index("[") + 1)
    while text[at : at + 1] != "]" or parts:
        _, end = scan(text, at)
        parts.append(text[at:end])
        at = _skip_blanks(text, end)
        if text[at : at + 1] == "]":
            break
        if text[at : at + 1] != ",":
            raise json.JSONDecodeError("Expecting ',' delimiter", text, at)
        at = _skip_blanks(text, at + 1)
    if _skip_blanks(text, at + 1) != len(text):
        raise json.JSONDecodeError("Extra data", text, at + 1)
    return parts


def _skip_blanks(text: str, at: int) -> int:
    while text[at : at + 1] and text[at] in _BLANKS:
        at += 1
    return at


def _read_message(text: str) -> Message | Fault:
    # Some readers end a line at a carriage return, and a body over HTTP may have many lines. JSON
    # has line ends only between tokens, where a blank means the same.
    has_line_end = "\r" in text or "\n" in text
    raw = (text.translate(_LINE_ENDS).rstrip(" ") if has_line_end else text).encode()
    reading = _Reading()
    try:
        fields = reading.decode(text)
    except (ValueError, RecursionError) as error:
        return Fault(raw, f"it is not JSON: {_explain(error)}", PARSE_ERROR)
    if not isinstance(fields, dict):
        return Fault(raw, "it is not an object")
    fault = _find_fault(fields, reading)
    if fault is not None:
        problem, code = fault
        id = fields.get("id") if key_of(fields.get("id")) is not None else None
        return Fault(raw, problem, code, id, "method" not in fields)
    return Message(raw, fields, is_doubled=reading.has_doubled)


def _find_fault(fields: Json, reading: _Reading) -> tuple[str, int] | None:
    """Return what is wrong with a message, and the code of the error."""
    if reading.constants:
        return f"it is not JSON: {reading.constants[0]}", PARSE_ERROR
    if reading.is_last_doubled:
        return "it has a key twice", INVALID_REQUEST
    variant = find_variant(fields, _FIELDS)
    if variant is not None:
        return f"its key {variant!r} is another key in other letters", INVALID_REQUEST
    # Some clients write all fields, with null for those they do not use.
    answers = [name for name in ("result", "error") if fields.get(name) is not None]
    if "method" not in fields:
        if len(answers) == 2 or not fields.keys() & {"result", "error"}:
            return "it is neither a request nor a response", INVALID_REQUEST
        return None
    method = fields["method"]
    if answers:
        return "it is both a request and a response", INVALID_REQUEST
    if not isinstance(method, str):
        return "its method is not a text", INVALID_REQUEST
    if method not in _GUARDED and _fold(method) in _GUARDED:
        return f"there is no method {method!r}", METHOD_NOT_FOUND
    if method in _GUARDED and reading.has_doubled:
        return "an object in it has a key twice", INVALID_REQUEST
    return None


def _fold(name: str) -> str:
    """Return a name as the most lenient readers compare it; those in C end it at a NUL."""
    return name.partition("\0")[0].strip().casefold()


def _explain(error: Exception) -> str:
    return "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
