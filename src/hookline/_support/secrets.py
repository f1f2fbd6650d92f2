"""Finds secrets of an environment in a text, in whatever form a program wrote them.

Escapes are not enumerated: a text is searched with the escapes of JSON and URLs undone, however
often they were applied. In base64 and hex, the search is for the part that is the same wherever the
secret stands in a longer text. The time is proportional to the length of the text.
"""

import re
from binascii import b2a_base64
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

# A variable with one of these words in its name holds a secret.
SECRET_WORDS = (
    *("TOKEN", "SECRET", "PASSWORD", "PASSWD", "KEY"),
    *("AUTH", "CREDENTIAL", "CREDS", "PRIVATE", "CERT"),
)
_SECRET_NAMES = frozenset({"CONNECTION_STRING", "DATABASE_URL", "DB_URI", "SLACK_WEBHOOK_URL"})
# A shorter value appears in ordinary text by chance.
_SHORTEST_SECRET = 8

# Any number of backslashes and what they escape; a percent sign, escaped any number of times, and
# its digits. The two halves of a surrogate pair are one match.
_ESCAPE = (
    r"\\+(?:u([dD][89abAB][0-9a-fA-F]{2})\\+u([dD][c-fC-F][0-9a-fA-F]{2})|u([0-9a-fA-F]{4})"
    r"|x([0-9a-fA-F]{2})|([bfnrt])|)|%(?:25)*([0-9a-fA-F]{2})"
)
_NAMED = {"b": b"\b", "f": b"\f", "n": b"\n", "r": b"\r", "t": b"\t"}
# A plus in a form is a blank, and a shell turns a line break into a blank.
_BLANKS = bytes.maketrans(b"+\n\r\t", b"    ")
_SPACE = b" \n\r\t"
# Base64 may use the alphabet for URLs, and be broken into lines; hex may have colons in it.
_ONE_ALPHABET = bytes.maketrans(b"-_", b"+/")
_BETWEEN_HEX = b" \n\r\t:"
_PIECE = 4_096
_OF_BASE64 = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")


class _Secret(msgspec.Struct, frozen=True):
    """A value to hide, and what to search for: the value, with and without the escapes in it; the
    part of its base64 that does not depend on the bytes around it, for each of the three offsets;
    and its hex."""

    value: str
    name: str
    plain: frozenset[bytes]
    base64: tuple[bytes, ...]
    hex: bytes


class Secrets:
    """The secret values of the environments that were learned so far.

    A hook may print its variables, and an agent may be given a token to pass on, so the values are
    hidden wherever they appear.
    """

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        # The longest first, as one secret may be part of another.
        self._found: list[_Secret] = []
        self.learn(environment or {})

    def learn(self, environment: Mapping[str, str]) -> None:
        """Hide the secrets among these variables from now on."""
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
            secrets = [secret for secret in self._found if secret.value not in new]
            secrets += [_read_secret(value, name) for value, name in new.items()]
            self._found = sorted(secrets, key=lambda secret: -len(secret.value))

    def hidden(self, value: Any) -> Any:
        """Return a copy of a JSON value with each secret replaced by the name of its variable."""
        if not self._found:
            return value
        if isinstance(value, str):
            # A shortcut: most texts are short names and numbers.
            return value if len(value) < _SHORTEST_SECRET else self._hide(value)
        if isinstance(value, Mapping):
            return {self.hidden(key): self.hidden(item) for key, item in value.items()}
        return [self.hidden(item) for item in value] if isinstance(value, list | tuple) else value

    def _hide(self, text: str) -> str:
        for secret in self._found:
            text = text.replace(secret.value, f"[{secret.name} hidden]")
        read = _Unescaped(text)
        places = [
            (*read.place(start, end), secret.name)
            for secret in self._found
            for start, end in read.find(secret)
        ]
        if not places:
            return text
        pieces, end_of_last = [], 0
        # Of two overlapping secrets the first one's name is shown; at the same place, the longer's.
        for start, end, name in sorted(places, key=lambda place: (place[0], -place[1])):
            if start >= end_of_last:
                pieces += [text[end_of_last:start], f"[{name} hidden]"]
            end_of_last = max(end_of_last, end)
        return "".join([*pieces, text[end_of_last:]])


def _read_secret(value: str, name: str) -> _Secret:
    raw = value.encode("utf-8", "surrogatepass")
    certain = []
    for before in range(3):
        whole = (before + len(raw)) * 8 // 6
        encoded = b2a_base64(b"\0" * before + raw, newline=False)
        certain.append(encoded[(before * 8 + 5) // 6 : whole])
    # A value of blanks alone would be found everywhere.
    texts = (text.translate(_BLANKS) for text in (raw, _Unescaped(value).text))
    plain = frozenset(text for text in texts if text.strip())
    return _Secret(value, name, plain, tuple(certain), raw.hex().encode())


class _Unescaped:
    """A text with its escapes undone, as bytes, that can map each byte back to the text."""

    def __init__(self, text: str) -> None:
        self._given = text
        # For each part: its first byte, its place in the text, and the end of its escape, else 0.
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
            # In pieces, so that finding a place does not decode the whole text.
            for start in range(at, end, _PIECE):
                piece = text[start : min(start + _PIECE, end)]
                add(piece.encode("utf-8", "surrogatepass"), start)

        for match in re.finditer(_ESCAPE, text) if "\\" in text or "%" in text else ():
            add_plain(match.start())
            high, low, unit, byte, letter, percent = match.groups()
            if high:
                # Decoding UTF-16 would import a codec.
                pair = 0x10000 + ((int(high, 16) & 0x3FF) << 10) + (int(low, 16) & 0x3FF)
                content = chr(pair).encode()
            elif unit:
                content = chr(int(unit, 16)).encode("utf-8", "surrogatepass")
            elif byte or percent:
                content = bytes([int(byte or percent, 16)])
            else:
                content = _NAMED.get(letter, b"")
            add(content, match.start(), match.end())
            at = match.end()
        add_plain(len(text))
        self.text = b"".join(pieces)
        self._with_blanks = self.text.translate(_BLANKS)
        self._base64 = self.text.translate(_ONE_ALPHABET, _SPACE)
        self._hex = self.text.lower().translate(None, _BETWEEN_HEX)

    def find(self, secret: _Secret) -> Iterator[tuple[int, int]]:
        """Yield the bytes, from and to, where the secret stands in any of its forms."""
        for wanted in secret.plain:
            for at in _find_all(self._with_blanks, wanted):
                yield at, at + len(wanted)
        for wanted in secret.base64:
            for at in _find_all(self._base64, wanted):
                # The characters next to it hold a few of its bits.
                start, end = at, at + len(wanted)
                start -= start > 0 and self._base64[start - 1] in _OF_BASE64
                end += end < len(self._base64) and self._base64[end] in _OF_BASE64
                yield self._find_bytes(start, end, _SPACE)
        for at in _find_all(self._hex, secret.hex):
            yield self._find_bytes(at, at + len(secret.hex), _BETWEEN_HEX)

    def _find_bytes(self, start: int, end: int, left_out: bytes) -> tuple[int, int]:
        """Return where these bytes stand in the text, given their place without ``left_out``."""
        positions = self._kept.get(left_out)
        if positions is None:
            positions = [at for at, byte in enumerate(self.text) if byte not in left_out]
            self._kept[left_out] = positions
        return positions[start], positions[end - 1] + 1

    def place(self, start: int, end: int) -> tuple[int, int]:
        """Return where in the given text these bytes are written."""
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
