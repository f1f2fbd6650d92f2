"""Finds the secrets of an environment in a text, in whatever form a program wrote them there.

Escapes are not enumerated: a text is read with its escapes undone, those of JSON and of URLs, and
how often they were applied does not matter. Base64 and hex are searched for as what is certain of
them wherever the secret stands in a longer text. All of it takes time in proportion to the text.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

# In the name of a variable, whatever else is.
SECRET_WORDS = (
    *("TOKEN", "SECRET", "PASSWORD", "PASSWD", "KEY"),
    *("AUTH", "CREDENTIAL", "CREDS", "PRIVATE", "CERT"),
)
_SECRET_NAMES = frozenset({"CONNECTION_STRING", "DATABASE_URL", "DB_URI", "SLACK_WEBHOOK_URL"})
# A shorter value is found in ordinary text by chance, and is no secret worth the name.
_SHORTEST_SECRET = 8

# Backslashes, as many as there are, with what they stand for; a percent sign, as often as it was
# escaped itself, with its digits. Two halves of a character belong together.
_ESCAPE = (
    r"\\+(?:u([dD][89abAB][0-9a-fA-F]{2})\\+u([dD][c-fC-F][0-9a-fA-F]{2})|u([0-9a-fA-F]{4})"
    r"|x([0-9a-fA-F]{2})|([bfnrt])|)|%(?:25)*([0-9a-fA-F]{2})"
)
_NAMED = {"b": b"\b", "f": b"\f", "n": b"\n", "r": b"\r", "t": b"\t"}
# A form's plus is a blank, and a shell makes a blank of the end of a line.
_BLANKS = bytes.maketrans(b"+\n\r\t", b"    ")
_SPACE = b" \n\r\t"
# Base64 for URLs and for all else, and the lines it comes in; hex may have colons in it.
_ONE_ALPHABET = bytes.maketrans(b"-_", b"+/")
_BETWEEN_HEX = b" \n\r\t:"
_PIECE = 4_096
_OF_BASE64 = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")


class _Secret(msgspec.Struct, frozen=True):
    """A value to hide, and what to search for: itself, also without what looks like an escape in
    it, and what does not depend on the bytes around it in base64, for each place it may have in a
    group of three, and in hex."""

    value: str
    name: str
    plain: frozenset[bytes]
    base64: tuple[bytes, ...]
    hex: bytes


class Secrets:
    """The values to hide, of the environments that were learned so far.

    A hook may print its variables, and an agent may be given a token to pass on: it is the values
    that must not be kept, wherever they turn up.
    """

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        # The longest first, as one may be part of another.
        self._found: list[_Secret] = []
        self.learn(environment or {})

    def learn(self, environment: Mapping[str, str]) -> None:
        """Hide what is secret among these variables from now on."""
        new: dict[str, str] = {}
        for name, value in environment.items():
            _, separator, rest = value.partition("://")
            user, at, _ = rest.partition("@")
            has_password = bool(separator and at) and ":" in user and "/" not in user
            upper = name.upper()
            is_named = upper in _SECRET_NAMES or any(word in upper for word in SECRET_WORDS)
            if is_named or has_password:
                new[value] = name
            if has_password:
                new.setdefault(user.partition(":")[2], name)
        known = {(secret.value, secret.name) for secret in self._found}
        new = {v: n for v, n in new.items() if len(v) >= _SHORTEST_SECRET and (v, n) not in known}
        if new:
            kept = [secret for secret in self._found if secret.value not in new]
            kept += [_read_secret(value, name) for value, name in new.items()]
            self._found = sorted(kept, key=lambda secret: -len(secret.value))

    def hidden(self, value: Any) -> Any:
        """A copy of a JSON value in which the names of the variables stand for their values."""
        if not self._found:
            return value
        if isinstance(value, str):
            # Most texts are names and numbers.
            return value if len(value) < _SHORTEST_SECRET else self._hide(value)
        if isinstance(value, Mapping):
            return {self.hidden(key): self.hidden(item) for key, item in value.items()}
        return [self.hidden(item) for item in value] if isinstance(value, list | tuple) else value

    def _hide(self, text: str) -> str:
        for secret in self._found:
            if secret.value in text:
                text = text.replace(secret.value, f"[{secret.name} hidden]")
        read = _Unescaped(text)
        places = [
            (*read.place(start, end), secret.name)
            for secret in self._found
            for start, end in read.find(secret)
        ]
        if not places:
            return text
        pieces, done = [], 0
        # Where two of them overlap, the first, and of two at one place the longer, has the name.
        for start, end, name in sorted(places, key=lambda place: (place[0], -place[1])):
            if start >= done:
                pieces += [text[done:start], f"[{name} hidden]"]
            done = max(done, end)
        return "".join([*pieces, text[done:]])


def _read_secret(value: str, name: str) -> _Secret:
    from binascii import b2a_base64

    raw = value.encode("utf-8", "surrogatepass")
    certain = []
    for before in range(3):
        whole = (before + len(raw)) * 8 // 6
        encoded = b2a_base64(b"\0" * before + raw, newline=False)
        certain.append(encoded[(before * 8 + 5) // 6 : whole])
    # What is nothing but blanks would be found everywhere.
    texts = (text.translate(_BLANKS) for text in (raw, _Unescaped(value).text))
    plain = frozenset(text for text in texts if text.strip())
    return _Secret(value, name, plain, tuple(certain), raw.hex().encode())


class _Unescaped:
    """A text without its escapes, as bytes, that knows where each of them came from."""

    def __init__(self, text: str) -> None:
        self._given = text
        # From which byte on, the place in the text, and where an escape ends there; else 0.
        self._parts: list[tuple[int, int, int]] = []
        self._kept: dict[bytes, list[int]] = {}
        pieces: list[bytes] = []
        size = at = 0

        def add(piece: bytes, start: int, escape_end: int = 0) -> None:
            nonlocal size
            self._parts.append((size, start, escape_end))
            pieces.append(piece)
            size += len(piece)

        def add_plain(end: int) -> None:
            # In pieces, so that a place in one is found without reading all of the text.
            for start in range(at, end, _PIECE):
                piece = text[start : min(start + _PIECE, end)]
                add(piece.encode("utf-8", "surrogatepass"), start)

        for found in re.finditer(_ESCAPE, text) if "\\" in text or "%" in text else ():
            add_plain(found.start())
            high, low, unit, byte, named, percent = found.groups()
            if high:
                pair = bytes.fromhex(high + low).decode("utf-16-be")
                meant = pair.encode()
            elif unit:
                meant = chr(int(unit, 16)).encode("utf-8", "surrogatepass")
            elif byte or percent:
                meant = bytes([int(byte or percent, 16)])
            else:
                meant = _NAMED.get(named, b"")
            add(meant, found.start(), found.end())
            at = found.end()
        add_plain(len(text))
        self.text = b"".join(pieces)
        self._with_blanks = self.text.translate(_BLANKS)
        self._base64 = self.text.translate(_ONE_ALPHABET, _SPACE)
        self._hex = self.text.lower().translate(None, _BETWEEN_HEX)

    def find(self, secret: _Secret) -> Iterator[tuple[int, int]]:
        """From which byte to which one the secret stands, in each of its forms."""
        for wanted in secret.plain:
            for at in _find_all(self._with_blanks, wanted):
                yield at, at + len(wanted)
        for wanted in secret.base64:
            for at in _find_all(self._base64, wanted):
                # The characters around it have a few bits of it.
                start, end = at, at + len(wanted)
                start -= start > 0 and self._base64[start - 1] in _OF_BASE64
                end += end < len(self._base64) and self._base64[end] in _OF_BASE64
                yield self._find_bytes(start, end, _SPACE)
        for at in _find_all(self._hex, secret.hex):
            yield self._find_bytes(at, at + len(secret.hex), _BETWEEN_HEX)

    def _find_bytes(self, start: int, end: int, left_out: bytes) -> tuple[int, int]:
        """Where a part of the bytes without those left out stands among all of them."""
        kept = self._kept.get(left_out)
        if kept is None:
            kept = [at for at, byte in enumerate(self.text) if byte not in left_out]
            self._kept[left_out] = kept
        return kept[start], kept[end - 1] + 1

    def place(self, start: int, end: int) -> tuple[int, int]:
        """From where to where in the text these bytes are written."""
        size, at, escape_end = self._find_part(start)
        first = at if escape_end else at + self._count_characters(size, start)
        size, at, escape_end = self._find_part(end - 1)
        return first, escape_end or at + self._count_characters(size, end)

    def _find_part(self, byte: int) -> tuple[int, int, int]:
        return self._parts[bisect_right(self._parts, (byte, len(self._given), 0)) - 1]

    def _count_characters(self, start: int, end: int) -> int:
        return len(self.text[start:end].decode("utf-8", "surrogatepass"))


def _find_all(text: bytes, wanted: bytes) -> Iterator[int]:
    at = text.find(wanted)
    while at >= 0:
        yield at
        at = text.find(wanted, at + len(wanted))
