"""Reads the words of a command as bash makes them, without a shell.

Nothing is executed: a word that only a shell can make, of a pattern or a substitution, is known
not to be exact, and read for what it may name.
"""

import functools
from collections.abc import Mapping
from typing import TypeAlias

import msgspec

NAME = "[A-Za-z_][A-Za-z0-9_]*"
VARIABLE = rf"\$(?:({NAME})|\{{({NAME})\}})"

_OF_NAMES = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_")
# What means itself wherever it stands.
_BARE = _OF_NAMES | frozenset("./:@%+,=-")
_OPERATORS = frozenset("<>&|;\n")
_ESCAPES = bytes.maketrans(b"abeEfnrtv", b"\a\b\x1b\x1b\f\n\r\t\v")
# What a shell keeps for itself: words of its grammar, and programs that it has built in.
OF_THE_SHELL = frozenset(
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


def expand(text: str, values: Mapping[str, str]) -> str:
    """``$NAME`` and ``${NAME}`` of ``values`` replaced by their text, once; others stay."""
    pieces, done, at = [], 0, text.find("$")
    while at >= 0:
        name, end = _name_behind(text, at)
        if name is not None and name in values:
            pieces += [text[done:at], values[name]]
            done = end
        at = text.find("$", end)
    return "".join([*pieces, text[done:]])


def _name_behind(text: str, dollar: int) -> tuple[str | None, int]:
    """The variable that a dollar sign begins, and where it ends; None where it begins none."""
    in_braces = text.startswith("{", dollar + 1)
    start = end = dollar + 1 + in_braces
    while end < len(text) and text[end] in _OF_NAMES:
        end += 1
    if start == end or text[start].isdigit() or (in_braces and not text.startswith("}", end)):
        return None, dollar + 1
    return text[start:end], end + in_braces


class Variable(msgspec.Struct, frozen=True):
    """A variable in a word, as it is written; ``other`` is the text of ``${NAME:-other}``."""

    name: str
    written: str
    other: str | None = None

    def fill(self, values: Mapping[str, str]) -> str:
        """Its value, or the other text; where there is neither, what is written."""
        if self.other is not None:
            return values.get(self.name) or expand(self.other, values)
        return values.get(self.name, self.written)


class Word(msgspec.Struct, frozen=True):
    """A word of a command.

    It is exact where a shell makes of it just this text and the values of its variables, each as
    it is. ``assigned`` is the name before the equals sign where it may be an assignment.
    """

    pieces: tuple[str | Variable, ...]
    is_exact: bool
    assigned: str

    def fill(self, values: Mapping[str, str]) -> str:
        """Its text; a variable without a value stays as it is written."""
        return "".join([p if isinstance(p, str) else p.fill(values) for p in self.pieces])

    def is_known(self, values: Mapping[str, str]) -> bool:
        """Whether a shell with these variables makes exactly this text of it."""
        return self.is_exact and all(isinstance(p, str) or p.name in values for p in self.pieces)


# A word, or an operator between words.
Token: TypeAlias = Word | str


@functools.lru_cache(maxsize=256)
def read_tokens(command: str) -> tuple[Token, ...]:
    """The words and operators of a command, those inside substitutions among them.

    A comment and the lines of a here-document are read as if they were commands.
    """
    return _Reader(command).read()


class _Reader:
    """Reads any text from left to right, in time linear to its length."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._last_brace = text.rfind("}")
        self._tokens: list[Token] = []
        self._is_quoted = False
        # What is read of a word so far; None between words.
        self._pieces: list[str | Variable] | None = None
        self._is_exact = True
        self._assigned = ""

    def read(self) -> tuple[Token, ...]:
        while self._at < len(self._text):
            self._step(self._text[self._at], self._text[self._at + 1 : self._at + 2])
        self._is_exact &= not self._is_quoted
        self._end_word()
        return tuple(self._tokens)

    def _step(self, char: str, after: str) -> None:
        if char == "\\":
            self._escaped(after)
        elif char == '"':
            self._is_quoted = not self._is_quoted
            self._add("", 1)
        elif char == "$" and (self._is_quoted or after not in ("'", '"', "(")):
            self._variable()
        elif self._is_quoted:
            self._add(char, 1, exact=char not in "`\0")
        elif char == "'":
            end = self._text.find("'", self._at + 1)
            text = self._text[self._at + 1 : end if end >= 0 else None]
            self._add(text, len(text) + 2, exact=end >= 0 and "\0" not in text)
        elif char == "$" and after == "'":
            self._ansi_quoted()
        elif char == "$" and after == '"':
            self._add("", 1, exact=False)
        elif char in " \t":
            self._end_word()
            self._at += 1
        elif char in "$`()":
            self._operator(char, 2 if char == "$" else 1)
        elif char in _OPERATORS:
            run = self._run_of(_OPERATORS, self._at)
            self._operator(run, len(run))
        elif char == "~" and self._pieces is None and (after in _OPERATORS or after in "/ \t()"):
            self._add(Variable("HOME", "~"), 1)
        else:
            self._bare(self._run_of(_BARE, self._at) or char)

    def _add(self, piece: str | Variable, length: int, *, exact: bool = True) -> None:
        if self._pieces is None:
            self._pieces = []
        self._pieces.append(piece)
        self._is_exact &= exact
        self._at += length

    def _end_word(self) -> None:
        if self._pieces is not None:
            self._tokens.append(Word(tuple(self._pieces), self._is_exact, self._assigned))
        self._pieces, self._is_exact, self._assigned = None, True, ""

    def _operator(self, operator: str, length: int) -> None:
        if operator[0] in "<>" and self._pieces is not None and len(self._pieces) == 1:
            # The number of a stream is no word.
            self._pieces = None if str(self._pieces[0]).isdigit() else self._pieces
        self._end_word()
        self._tokens.append(operator)
        self._at += length

    def _run_of(self, characters: frozenset[str], start: int) -> str:
        end = start
        while end < len(self._text) and self._text[end] in characters:
            end += 1
        return self._text[start:end]

    def _bare(self, run: str) -> None:
        if self._pieces is None and "=" in run:
            name = run.partition("=")[0].removesuffix("+")
            self._assigned = name if name.isidentifier() else ""
        self._add(run, len(run), exact=run[0] in _BARE)

    def _escaped(self, char: str) -> None:
        if char == "\n":
            self._at += 2
        elif self._is_quoted and char not in ("$", "`", '"', "\\"):
            self._add("\\", 1)
        else:
            self._add(char or "\\", 2, exact=char not in ("", "\0"))

    def _variable(self) -> None:
        name, end = _name_behind(self._text, self._at)
        if name is not None:
            self._add(Variable(name, self._text[self._at : end]), end - self._at)
        elif (variable := self._with_other_text()) is not None:
            self._add(variable, len(variable.written), exact=False)
        else:
            self._add("$", 1, exact=False)

    def _with_other_text(self) -> Variable | None:
        """``${NAME:-other}`` and its kind, where the other text may be a variable in braces."""
        if not self._text.startswith("{", self._at + 1):
            return None
        name = self._run_of(_OF_NAMES, self._at + 2)
        start = self._at + 2 + len(name)
        start += self._text.startswith(":", start)
        if not name or not self._text.startswith(("-", "="), start) or start > self._last_brace:
            return None
        end = self._text.find("}", start)
        if self._text.find("${", start, end) >= 0 and end < self._last_brace:
            end = self._text.find("}", end + 1)
        other = self._text[start + 1 : end].strip("'\"")
        return Variable(name, self._text[self._at : end + 1], other)

    def _ansi_quoted(self) -> None:
        start = end = self._at + 2
        while end < len(self._text) and self._text[end] != "'":
            end += 2 if self._text[end] == "\\" else 1
        text = self._text[start:end]
        self._add(_without_escapes(text), end + 1 - self._at, exact=False)


def _without_escapes(text: str) -> str:
    """What a shell makes of the text between ``$'`` and ``'``."""
    import re

    def octets(found: re.Match[bytes]) -> bytes:
        kind, rest = found[1][:1], found[1][1:]
        if kind in b"01234567":
            return bytes([int(found[1], 8) & 0xFF])
        if not rest:
            return kind.translate(_ESCAPES) if kind in b"abeEfnrtv\\'\"?" else found[0]
        if kind == b"c":
            return bytes([rest[0] & 0x1F])
        code = min(int(rest, 16), 0x10FFFF)
        return bytes([code]) if kind == b"x" else chr(code).encode(errors="replace")

    digit = rb"[0-9a-fA-F]"
    escape = rb"\\(x%b{1,2}|u%b{1,4}|U%b{1,8}|[0-7]{1,3}|c.|.)" % (digit, digit, digit)
    replaced = re.sub(escape, octets, text.encode(errors="replace"), flags=re.DOTALL)
    return replaced.decode(errors="surrogateescape")


def words_in(command: str, values: Mapping[str, str]) -> list[str]:
    """Every word of a command, wherever it stands; a variable without a value stays as written."""
    return [token.fill(values) for token in read_tokens(command) if isinstance(token, Word)]


def plain_words(command: str, values: Mapping[str, str]) -> list[str] | None:
    """The words that a shell would make of a command; None if there is more to it than words.

    ``values`` are the variables that each stand for one word, or a part of one, whatever they
    hold. A command that begins with something of the shell's own is more than words.
    """
    words: list[str] = []
    for token in read_tokens(command):
        if isinstance(token, str) or not token.is_known(values) or (token.assigned and not words):
            return None
        words.append(token.fill(values))
    return words if words and words[0] and words[0] not in OF_THE_SHELL else None
