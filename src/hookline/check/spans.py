"""Where the keys of a settings text stand and where its values end, which an edit has to know."""

import functools
import re
from typing import NamedTuple

from hookline.pipeline.jsonc import SKIP, Path

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[^\s,:{}\[\]"/]+')


class Span(NamedTuple):
    """From where to where a value stands; ``key`` is where its key begins, or the value."""

    key: int
    key_end: int
    start: int
    end: int


@functools.lru_cache(maxsize=8)
def spans_of(text: str) -> dict[Path, Span]:
    """The span of every value of a text that was parsed before; not to be changed."""
    scanner = _Scanner(text)
    scanner.value((), None)
    return scanner.spans


class _Scanner:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.spans: dict[Path, Span] = {}

    def value(self, path: Path, key: tuple[int, int] | None) -> None:
        start = self._skip()
        if self.text[start] == "{":
            self._members(path)
        elif self.text[start] == "[":
            self._items(path)
        else:
            self._token()
        self.spans[path] = Span(*(key or (start, start)), start, self.at)

    def _members(self, path: Path) -> None:
        self.at += 1
        while self.text[self._skip()] != "}":
            start = self.at
            name = self._token()
            end = self.at
            self._skip()
            self.at += 1
            self.value((*path, _unquoted(name)), (start, end))
            self._comma()
        self.at += 1

    def _items(self, path: Path) -> None:
        self.at += 1
        index = 0
        while self.text[self._skip()] != "]":
            self.value((*path, index), None)
            self._comma()
            index += 1
        self.at += 1

    def _comma(self) -> None:
        if self.text[self._skip()] == ",":
            self.at += 1

    def _skip(self) -> int:
        found = SKIP.match(self.text, self.at)
        assert found is not None
        self.at = found.end()
        return self.at

    def _token(self) -> str:
        found = _TOKEN.match(self.text, self.at)
        assert found is not None
        self.at = found.end()
        return found[0]


def _unquoted(name: str) -> str:
    if "\\" not in name:
        return name[1:-1]
    from hookline.wire import codec

    return str(codec.decode(name))
