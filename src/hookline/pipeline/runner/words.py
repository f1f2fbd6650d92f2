"""Finds the commands that are nothing but words, for which a shell would only cost time."""

import functools
import re
from collections.abc import Mapping
from typing import TypeAlias

# Either a text, or the name of a variable whose value it is.
_Piece: TypeAlias = tuple[str, bool]

NAME = "[A-Za-z_][A-Za-z0-9_]*"
VARIABLE = rf"\$(?:({NAME})|\{{({NAME})\}})"
# What means itself wherever it stands.
_BARE = "[A-Za-z0-9_./:@%+,=-]+"
_PLAIN = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./:@%+,=- \t")
_QUOTED = frozenset("'\"$")

_PROGRAMS_OF_THE_SHELL = frozenset(
    {
        *("!", "{", "}", "[[", "]]", "case", "coproc", "do", "done", "elif", "else", "esac", "fi"),
        *("for", "function", "if", "in", "select", "then", "time", "until", "while"),
        *(".", ":", "[", "alias", "bg", "bind", "break", "builtin", "caller", "cd", "command"),
        *("compgen", "complete", "compopt", "continue", "declare", "dirs", "disown", "echo"),
        *("enable", "eval", "exec", "exit", "export", "false", "fc", "fg", "getopts", "hash"),
        *("help", "history", "jobs", "kill", "let", "local", "logout", "mapfile", "popd"),
        *("printf", "pushd", "pwd", "read", "readarray", "readonly", "return", "set", "shift"),
        *("shopt", "source", "suspend", "test", "times", "trap", "true", "type", "typeset"),
        *("ulimit", "umask", "unalias", "unset", "wait"),
    }
)


def plain_words(command: str, values: Mapping[str, str]) -> list[str] | None:
    """The words that a shell would make of a command; None if there is more to it than words.

    ``values`` are the variables that each stand for one word, or a part of one, whatever they
    hold. A command that begins with something of the shell's own is more than words.
    """
    parsed = _parsed(command)
    if parsed is None:
        return None
    try:
        words = [
            "".join(values[text] if is_name else text for text, is_name in word) for word in parsed
        ]
    except KeyError:
        return None
    return words if words[0] and words[0] not in _PROGRAMS_OF_THE_SHELL else None


@functools.lru_cache(maxsize=256)
def _parsed(command: str) -> tuple[tuple[_Piece, ...], ...] | None:
    text = command.strip(" \t")
    # Without quotes or variables a look at the characters is enough, which spares a command line
    # the making of an expression.
    if not _QUOTED.intersection(text) and not _PLAIN.issuperset(text):
        return None
    words: list[tuple[_Piece, ...]] = []
    at = 0
    while at < len(text):
        found = _word(text, at)
        if found is None:
            return None
        word, at = found
        words.append(word)
        while text.startswith((" ", "\t"), at):
            at += 1
    # NAME=value in front of a command is an assignment.
    if not words or any("=" in piece for piece, _ in words[0]):
        return None
    return tuple(words)


def _word(text: str, at: int) -> tuple[tuple[_Piece, ...], int] | None:
    """The word at a place and where it ends; None if it is none."""
    pieces: list[_Piece] = []
    if _PLAIN.issuperset(text):
        word = text[at:].split(None, 1)[0]
        return ((word, False),), at + len(word)
    while at < len(text) and text[at] not in " \t":
        found = _token().match(text, at)
        if found is None:
            return None
        bare, single, double, name, braced_name = found.groups()
        if double is not None:
            pieces += _inside_quotes(double)
        elif name or braced_name:
            pieces.append((name or braced_name, True))
        else:
            pieces.append((bare or single or "", False))
        at = found.end()
    return tuple(pieces), at


def _inside_quotes(text: str) -> list[_Piece]:
    pieces: list[_Piece] = []
    at = 0
    for found in _variable().finditer(text):
        pieces.append((text[at : found.start()], False))
        pieces.append((found[1] or found[2], True))
        at = found.end()
    return [*pieces, (text[at:], False)]


@functools.cache
def _token() -> re.Pattern[str]:
    inside = rf'(?:[^"$`\\\0]|\$(?:{NAME}|\{{{NAME}\}}))*'
    return re.compile(rf"({_BARE})|'([^'\0]*)'|\"({inside})\"|{VARIABLE}")


@functools.cache
def _variable() -> re.Pattern[str]:
    return re.compile(VARIABLE)
