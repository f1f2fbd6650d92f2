"""Reads a plain command: one that every shell makes the same words of, so none is needed.

The grammar is short on purpose. What a review vouches for and what the runner executes without a
shell rest on it, so a character that could mean more than itself makes a command not plain.
"""

from collections.abc import Mapping

import msgspec

_BLANK = " \t"
_SPECIAL = frozenset(";&|<>(){}*?[]~#!`\n\r\0")
_ESCAPED_IN_QUOTES = frozenset('$`"\\')
_OF_NAMES = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_")


class PlainWord(msgspec.Struct, frozen=True):
    """A word of a plain command: pieces of text, and of names of variables."""

    pieces: tuple[tuple[str, bool], ...]

    def fill(self, values: Mapping[str, str]) -> str:
        """Return its text; every variable must have a value."""
        return "".join(values[text] if is_name else text for text, is_name in self.pieces)

    def names(self) -> list[str]:
        """Return the variables in it."""
        return [text for text, is_name in self.pieces if is_name]

    def begins_with_its_variables(self) -> bool:
        """True if it has at most one variable, in front of its text."""
        return not any(is_name for _, is_name in self.pieces[1:])


class NotPlainError(ValueError):
    """A command is more than plain words; the message says what it has."""


def read_plain(command: str) -> list[PlainWord]:
    """Return the words of a plain command; raises NotPlainError."""
    words: list[PlainWord] = []
    pieces: list[tuple[str, bool]] = []
    text, at, end = "", 0, len(command)
    is_word = is_quoted = False

    def keep_text() -> None:
        nonlocal text
        if text:
            pieces.append((text, False))
        text = ""

    while at < end:
        char = command[at]
        at += 1
        if char == "$":
            name, at = _read_name(command, at)
            keep_text()
            pieces.append((name, True))
            is_word = True
        elif is_quoted:
            if char == '"':
                is_quoted = False
            elif char in "`\0":
                raise NotPlainError(_describe(char))
            elif char == "\\" and command[at : at + 1] in _ESCAPED_IN_QUOTES and at < end:
                text += command[at]
                at += 1
            elif char == "\\" and command.startswith("\n", at):
                raise NotPlainError("a line break")
            else:
                text += char
        elif char == '"':
            is_word = is_quoted = True
        elif char == "'":
            close = command.find("'", at)
            if close < 0:
                raise NotPlainError("a quote that is not closed")
            text, at, is_word = text + command[at:close], close + 1, True
            if "\0" in text:
                raise NotPlainError(_describe("\0"))
        elif char == "\\":
            if at == end or command[at] in "\n\0":
                raise NotPlainError("a line break" if at < end else "a backslash at its end")
            text, at, is_word = text + command[at], at + 1, True
        elif char in _BLANK:
            if is_word:
                keep_text()
                words.append(PlainWord(tuple(pieces)))
                pieces, is_word = [], False
        elif char in _SPECIAL:
            raise NotPlainError(_describe(char))
        else:
            if char == "=" and not words and _is_name(text) and not pieces:
                raise NotPlainError("an assignment in front")
            text, is_word = text + char, True
    if is_quoted:
        raise NotPlainError("a quote that is not closed")
    if is_word:
        keep_text()
        words.append(PlainWord(tuple(pieces)))
    if not words:
        raise NotPlainError("no words")
    return words


def _read_name(command: str, at: int) -> tuple[str, int]:
    """Return the variable whose dollar sign ends at a place, and where it ends itself."""
    in_braces = command.startswith("{", at)
    start = end = at + in_braces
    while end < len(command) and command[end] in _OF_NAMES:
        end += 1
    name = command[start:end]
    if not name or name[0].isdigit() or (in_braces and not command.startswith("}", end)):
        raise NotPlainError("a $ that is no variable's")
    return name, end + in_braces


def _is_name(text: str) -> bool:
    text = text.removesuffix("+")
    return bool(text) and not text[0].isdigit() and _OF_NAMES.issuperset(text)


def _describe(char: str) -> str:
    names = {"\n": "a line break", "\r": "a line break", "\0": "a NUL", "`": "a backquote"}
    return names.get(char) or f"a bare {char}"
