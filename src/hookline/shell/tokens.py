"""Reads a command as bash does, without a shell: its words, and the variables bash would split.

It knows what is quoted, commented out or part of a here-document, and where a nested command
begins and ends. It leaves errors for the shell to report. A word is not exact if only a shell can
make its text, from a pattern or a substitution.
"""

import functools
from collections.abc import Collection, Mapping, Sequence
from typing import TypeAlias

import msgspec

from hookline.shell.table import OPENING

NAME = "[A-Za-z_][A-Za-z0-9_]*"
VARIABLE = rf"\$(?:({NAME})|\{{({NAME})\}})"
# The longest first. Behind each is a file, or the delimiter of a here-document.
REDIRECTIONS = ("<<<", "<<", "<&", "<>", "<", "&>>", "&>", ">>", ">&", ">|", ">")

_OF_NAMES = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_")
# Characters without a special meaning anywhere.
_BARE = _OF_NAMES | frozenset("./:@%+,=-")
_SPECIAL = frozenset("$!?#*@-0123456789")
# Unquoted, a shell expands them; it expands a comma behind an opening brace.
_PATTERN = frozenset("*?[]{}")
_BARE_IN_BRACES = _BARE - {","}
_WORD_END = frozenset(" \t\n;&|<>()")
# Only the end of ``((`` shows whether it is arithmetic; many parentheses must not take forever.
_LONGEST_REMEMBERED = 16_384
_MAX_GUESSES = 50
_MAX_GUESSED_TEXT = 400_000
_ESCAPES = bytes.maketrans(b"abeEfnrtv", b"\a\b\x1b\x1b\f\n\r\t\v")


def expand(text: str, values: Mapping[str, str]) -> str:
    """Replace ``$NAME`` and ``${NAME}`` of ``values`` by their text, once; others stay."""
    pieces, copied_to, at = [], 0, text.find("$")
    while at >= 0:
        name, end = _read_name(text, at)
        if name is not None and name in values:
            pieces += [text[copied_to:at], values[name]]
            copied_to = end
        at = text.find("$", end)
    return "".join([*pieces, text[copied_to:]])


def _read_name(text: str, dollar: int) -> tuple[str | None, int]:
    """The variable behind a dollar sign, and where it ends; None if there is no variable."""
    in_braces = text.startswith("{", dollar + 1)
    start = dollar + 1 + in_braces
    end = _find_run_end(text, start, _OF_NAMES)
    if start == end or text[start].isdigit() or (in_braces and not text.startswith("}", end)):
        return None, dollar + 1
    return text[start:end], end + in_braces


def _find_run_end(text: str, at: int, characters: Collection[str]) -> int:
    while at < len(text) and text[at] in characters:
        at += 1
    return at


class Variable(msgspec.Struct, frozen=True):
    """A variable in a word, as written; ``other`` is the default in ``${NAME:-other}``.

    An unquoted one may become several words.
    """

    name: str
    source: str
    other: "Word | None" = None
    is_quoted: bool = False


class Pattern(msgspec.Struct, frozen=True):
    """An unquoted character that a shell expands."""

    text: str


class Expansion(msgspec.Struct, frozen=True):
    """A part that only a shell can expand, as written.

    Its kind is ``output`` of a command, ``number`` or any other ``value``.
    """

    source: str
    kind: str


Piece: TypeAlias = str | Variable | Pattern | Expansion


class Word(msgspec.Struct, frozen=True):
    """A word of a command.

    It is exact if a shell makes exactly this text of it, with the values of its variables as they
    are. ``assigned`` is the name before the equals sign if it may be an assignment. ``begins`` is
    whether a command can begin with it, and ``place`` its position in the text, if it has one.
    The text of a here-document is a body, not a word of its command.
    """

    pieces: tuple[Piece, ...]
    is_exact: bool
    assigned: str = ""
    source: str = ""
    is_body: bool = False
    begins: bool = False
    place: tuple[int, int] | None = None

    def fill(self, values: Mapping[str, str]) -> str:
        """Its text; a variable with neither a value nor a default stays as written."""
        texts = []
        for piece in self.pieces:
            if isinstance(piece, str):
                texts.append(piece)
            elif isinstance(piece, Pattern):
                texts.append(piece.text)
            elif isinstance(piece, Expansion):
                texts.append(piece.source)
            elif piece.other is None:
                texts.append(values.get(piece.name, piece.source))
            else:
                texts.append(values.get(piece.name) or piece.other.fill(values))
        return "".join(texts)

    def is_known(self, values: Mapping[str, str]) -> bool:
        """Whether a shell with these variables makes exactly the text of ``fill``."""
        names = (piece.name for piece in self.pieces if isinstance(piece, Variable))
        return self.is_exact and all(name in values for name in names)


# A word, an operator, or a word of the shell's grammar.
Token: TypeAlias = Word | str


def read_tokens(command: str) -> Sequence[Token]:
    """Read the words and operators of a command; those inside a word come before it."""
    return _parse(command).tokens


def is_readable(command: str) -> bool:
    """Whether a command was read as a shell reads it: all quotes and brackets are closed, and it is
    not nested too deep."""
    return _parse(command).is_whole


def quote_variables(command: str, names: Collection[str]) -> str:
    """Put double quotes around the bare ``$NAME`` and ``${NAME}`` of ``names`` in a command.

    Left as written on purpose, besides what is quoted already: arithmetic, also in ``${...}``,
    where nothing is split; the right side of ``=~``, where quotes would turn an expression into
    plain text; the delimiter of a here-document, which the shell does not expand. In any other
    pattern (``==`` in ``[[ ]]``, ``case``, ``${x#$NAME}``) the quoted value matches literally.
    """
    pieces, copied_to = [], 0
    for start, end, name in _parse(command).bare:
        if name in names:
            pieces += [command[copied_to:start], '"', command[start:end], '"']
            copied_to = end
    return "".join([*pieces, command[copied_to:]])


def _parse(command: str) -> "_TokenReader":
    # The words of a long command take a hundred times its memory, and long commands are rare.
    return (
        _parse_remembered(command)
        if len(command) <= _LONGEST_REMEMBERED
        else _TokenReader(command).run()
    )


@functools.lru_cache(maxsize=256)
def _parse_remembered(command: str) -> "_TokenReader":
    return _TokenReader(command).run()


class _TokenReader:
    """Walks over one text; a method takes a position and returns where its construct ends."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.end = len(text)
        self.tokens: list[Token] = []
        # The variables that the shell would split: start, end and name.
        self.bare: list[tuple[int, int, str]] = []
        # Whether all quotes and brackets are closed.
        self.is_whole = True
        # The current word so far.
        self._pieces: list[Piece] = []
        self._is_exact = True
        self._in_braces = False
        # Here-documents: the delimiter, whether tabs are stripped, whether the text is literal.
        self._pending: list[tuple[str, bool, bool]] = []
        self._in_substitution = False
        self._not_arithmetic: set[int] = set()
        self._guessed_text = 0

    def run(self) -> "_TokenReader":
        """Read the whole text; one that is nested too deep stays one word."""
        try:
            self.read_commands(0)
        except RecursionError:
            self.tokens, self.bare = [Word((self.text,), is_exact=False)], []
            self.is_whole = False
        return self

    def read_commands(self, at: int, *, closer: str = "") -> int:
        """Read commands up to and including ``closer``: ``)``, or ``;;`` for a case clause."""
        begins = True
        while at < self.end:
            char = self.text[at]
            if char == closer:
                return at + 1
            if closer == ";;":
                if self.text.startswith((";;", ";&"), at):
                    return at + (3 if self.text.startswith(";;&", at) else 2)
                if begins and self._peek_word(at) == "esac":
                    return at
            if char in "<>" and self.text.startswith("(", at + 1):
                start, at = at, self._read_substitution(at + 2)
                text = self.text[start:at]
                pieces = (Expansion(text, "output"),)
                self.tokens.append(Word(pieces, is_exact=False, source=text))
            elif char in "<>" or self.text.startswith("&>", at):
                operator = next(each for each in REDIRECTIONS if self.text.startswith(each, at))
                self.tokens.append(operator)
                at += len(operator)
                # Its target does not begin a command, and the command may begin behind it.
                read = self._read_here_document if operator == "<<" else self._read_target
                at = read(at)
            elif char in "\n;&|)":
                self.tokens.append(char)
                at, begins = self._skip_separator(at), True
            elif (after := self._skip_space(at)) != at:
                at = after
            elif char == "(":
                self.tokens.append("(")
                is_double = begins and self.text.startswith("((", at)
                end = self._read_arithmetic(at + 2) if is_double else None
                if end is None:
                    end = self.read_commands(at + 1, closer=")")
                self.tokens.append(")")
                at, begins = end, True
            else:
                word = self._peek_word(at)
                if begins and word in ("case", "[["):
                    self.tokens.append(word)
                    at = (self._read_case if word == "case" else self._read_test)(at + len(word))
                    begins = False
                else:
                    at = self._read_word(at, begins=begins)
                    is_before = word in OPENING or self._is_descriptor(word, at)
                    begins = word == "{" or (begins and is_before)
        self.is_whole &= not closer
        return self.end

    def _peek_word(self, at: int) -> str:
        end = at
        while end < self.end and self.text[end] not in _WORD_END:
            end += 1
        return self.text[at:end]

    def _skip_separator(self, at: int) -> int:
        return self._read_bodies(at + 1) if self.text[at] == "\n" else at + 1

    def _skip_space(self, at: int) -> int:
        """Skip blanks and comments between two words of a line, or behind the last."""
        while at < self.end:
            if self.text[at] in " \t":
                at += 1
            elif self.text[at] == "#":
                at = self._find_or_end("\n", at)
            elif self.text.startswith("\\\n", at):
                at += 2
            else:
                break
        return at

    def _skip_blank(self, at: int) -> int:
        """The same over several lines, where a newline does not end a command."""
        at = self._skip_space(at)
        while self.text.startswith("\n", at):
            at = self._skip_space(self._skip_separator(at))
        return at

    def _find_or_end(self, what: str, at: int) -> int:
        place = self.text.find(what, at)
        return self.end if place < 0 else place

    def _read_word(self, at: int, *, wrap: bool = True, begins: bool = False) -> int:
        start, around = at, (self._pieces, self._is_exact, self._in_braces)
        self._pieces, self._is_exact, self._in_braces = [], True, False
        after = self.text[at + 1 : at + 2]
        if self.text.startswith("~", at) and (after in "/" or after in _WORD_END):
            self._pieces.append(Variable("HOME", "~"))
            at += 1
        while at < self.end and self.text[at] not in _WORD_END:
            at = self._read_piece(at, wrap=wrap)
        text = self.text[start:at]
        if text and not self._is_descriptor(text, at):
            name, equals, _ = text.partition("=")
            name = name.removesuffix("+")
            is_assigned = equals and name.isascii() and name.isidentifier()
            word = Word(
                tuple(self._pieces),
                self._is_exact,
                name if is_assigned else "",
                text,
                begins=begins,
                place=(start, min(at, self.end)),
            )
            self.tokens.append(word)
        self._pieces, self._is_exact, self._in_braces = around
        return at

    def _read_target(self, at: int) -> int:
        return self._read_word(self._skip_space(at))

    def _is_descriptor(self, text: str, end: int) -> bool:
        """Whether a text is a number in front of a redirection, which is not a word."""
        return text.isdigit() and self.text[end : end + 1] in ("<", ">")

    def _add_text(self, text: str, *, exact: bool) -> None:
        self._pieces.append(text)
        self._is_exact &= exact

    def _add_unmade(self, mark: int, start: int, end: int, kind: str) -> int:
        """Keep what only a shell can expand as one piece."""
        self._pieces[mark:] = [Expansion(self.text[start:end], kind)]
        self._is_exact = False
        return end

    def _read_piece(self, at: int, *, wrap: bool) -> int:
        """Read some characters, or a quoted text, outside of quotes."""
        char, after = self.text[at], self.text[at + 1 : at + 2]
        if char == "\\":
            if after != "\n":
                self._add_text(after or char, exact=after not in ("", "\0"))
            return at + 2
        if char == "'":
            end = self._find_or_end("'", at + 1)
            text = self.text[at + 1 : end]
            self._add_text(text, exact=end < self.end and "\0" not in text)
            self.is_whole &= end < self.end
            return end + 1
        if char == '"':
            return self._read_double_quoted(at + 1)
        if char == "$" and after in ("'", '"'):
            self._is_exact = False
            if after == '"':
                return self._read_double_quoted(at + 2)
            end = at + 2
            while end < self.end and self.text[end] != "'":
                end += 2 if self.text[end] == "\\" else 1
            self._add_text(_replace_escapes(self.text[at + 2 : end]), exact=False)
            self.is_whole &= end < self.end
            return end + 1
        return self._read_expansion(at, wrap=wrap, quoted=False)

    def _read_double_quoted(self, at: int) -> int:
        while at < self.end and self.text[at] != '"':
            at = self._read_quoted_piece(at)
        self._is_exact &= at < self.end
        self.is_whole &= at < self.end
        return at + 1

    def _read_quoted_piece(self, at: int) -> int:
        if self.text[at] != "\\":
            return self._read_expansion(at, wrap=False, quoted=True)
        after = self.text[at + 1 : at + 2]
        if after != "\n":
            self._add_text(
                after if after and after in '$`"\\' else f"\\{after}", exact=after != "\0"
            )
        return at + 2

    def _read_expansion(self, at: int, *, wrap: bool, quoted: bool) -> int:
        """Read an expansion that begins with a dollar sign or a backtick, or plain characters."""
        char, after = self.text[at], self.text[at + 1 : at + 2]
        end, mark = at + 1, len(self._pieces)
        if not quoted and (char in _PATTERN or (char == "," and self._in_braces)):
            self._pieces.append(Pattern(char))
            self._is_exact &= char == ","
            self._in_braces |= char == "{"
            return end
        if char not in "$`":
            bare = _BARE_IN_BRACES if self._in_braces and not quoted else _BARE
            end = max(end, _find_run_end(self.text, at, bare))
            self._add_text(self.text[at:end], exact=char in _BARE or (quoted and char != "\0"))
            return end
        if char == "`":
            # A command, without the backslashes that the shell removes before it reads it.
            escaped = set('$`\\"' if quoted else "$`\\")
            inner, origins = [], []
            while end < self.end and self.text[end] != "`":
                origins.append(end)
                if self.text[end] == "\\" and self.text[end + 1 : end + 2] in escaped:
                    end += 1
                inner.append(self.text[end])
                end += 1
            self._read_nested("".join(inner), [*origins, end], quoted=False)
            self.is_whole &= end < self.end
            return self._add_unmade(mark, at, end + 1, "output")
        name, end = _read_name(self.text, at)
        if name is not None:
            self._pieces.append(Variable(name, self.text[at:end], is_quoted=quoted))
            if wrap:
                self.bare.append((at, end, name))
            return end
        kind = "number"
        if (
            self.text.startswith("((", at + 1)
            and (arithmetic_end := self._read_arithmetic(at + 3)) is not None
        ):
            end = arithmetic_end
        elif after == "(":
            end, kind = self._read_substitution(at + 2), "output"
        elif after == "[":
            end = self._read_matched(at + 2, "[]")
        elif after == "{":
            return self._read_braced(at, wrap=wrap, quoted=quoted)
        elif after in _SPECIAL:
            end, kind = at + 2, "number" if after in ("?", "$", "#", "!") else "value"
        else:
            self._add_text("$", exact=False)
            return end
        return self._add_unmade(mark, at, end, kind)

    def _read_braced(self, start: int, *, wrap: bool, quoted: bool) -> int:
        """Read ``${...}`` with more than a name in it."""
        mark = len(self._pieces)
        # A sign for indirection or length, then a name or a special parameter.
        at = start + 2 + self.text.startswith(("!", "#"), start + 2)
        end = _find_run_end(self.text, at, _OF_NAMES)
        at = end if end > at else at + (self.text[at : at + 1] in _SPECIAL)
        name = self.text[start + 2 : at]
        if self.text.startswith("[", at):
            at, name = self._read_matched(at + 1, "[]"), ""
        if self.text.startswith(":", at) and self.text[at + 1 : at + 2] not in set("-=?+"):
            # An offset into the value is arithmetic.
            wrap = False
        operators = (":-", ":=", ":?", "-", "=", "?")
        operator = next((o for o in operators if self.text.startswith(o, at)), "")
        at += len(operator)
        del self._pieces[mark:]
        while at < self.end and self.text[at] != "}":
            # Even inside double quotes, bash pairs the quotes it finds in the braces.
            if quoted and self.text[at] not in "\"'":
                at = self._read_quoted_piece(at)
            else:
                at = self._read_piece(at, wrap=wrap and not quoted)
        other = Word(tuple(self._pieces[mark:]), is_exact=False)
        self.is_whole &= at < self.end
        self._add_unmade(mark, start, at + 1, "number" if name.startswith("#") else "value")
        if operator and name.isidentifier():
            # Behind a question mark is the shell's error message for a missing value.
            default = None if operator.endswith("?") else other
            text = self.text[start : at + 1]
            self._pieces[mark] = Variable(name, text, default, is_quoted=quoted)
        return at + 1

    def _read_arithmetic(self, at: int) -> int | None:
        """Read arithmetic behind ``((`` up to and including ``))``; None for two parentheses."""
        is_vain = self._guessed_text > _MAX_GUESSED_TEXT or len(self._not_arithmetic) > _MAX_GUESSES
        if is_vain or at in self._not_arithmetic:
            return None
        bare, tokens, is_whole = len(self.bare), len(self.tokens), self.is_whole
        end = self._read_matched(at, "()")
        if self.text.startswith(")", end):
            return end + 1
        del self.bare[bare:], self.tokens[tokens:]
        self.is_whole = is_whole
        self._not_arithmetic.add(at)
        self._guessed_text += end - at
        return None

    def _read_matched(self, at: int, pair: str) -> int:
        depth = 1
        while at < self.end:
            char = self.text[at]
            depth += (char == pair[0]) - (char == pair[1])
            if depth == 0:
                return at + 1
            at = self._read_piece(at, wrap=False)
        self.is_whole = False
        return self.end

    def _read_substitution(self, at: int) -> int:
        outside = self._pending, self._in_substitution
        self._pending, self._in_substitution = [], True
        self.tokens.append("(")
        end = self.read_commands(at, closer=")")
        self.tokens.append(")")
        self._pending, self._in_substitution = outside
        return end

    def _read_nested(self, text: str, origins: Sequence[int], *, quoted: bool) -> None:
        """Read an inner text whose characters are at ``origins`` in this one.

        It holds commands, or if ``quoted``, text as in double quotes with commands inside.
        """
        reader, at = _TokenReader(text), 0
        while quoted and at < reader.end:
            at = reader._read_quoted_piece(at)
        reader.read_commands(at)
        self.is_whole &= reader.is_whole
        inner: list[Token] = []
        for token in reader.tokens:
            if not isinstance(token, str) and token.place is not None:
                start, end = token.place
                token = msgspec.structs.replace(token, place=(origins[start], origins[end]))
            inner.append(token)
        self.tokens += ["(", *inner, ")"]
        self.bare += [(origins[start], origins[end], name) for start, end, name in reader.bare]

    def _read_here_document(self, at: int) -> int:
        tabs_stripped = self.text.startswith("-", at)
        start = at + tabs_stripped
        while self.text.startswith((" ", "\t"), start):
            start += 1
        mark = len(self.bare)
        end = self._read_word(start, wrap=False)
        del self.bare[mark:]
        word = self.tokens[-1]
        delimiter = word.fill({}) if isinstance(word, Word) and end > start else ""
        is_literal = delimiter != self.text[start:end]
        self._pending.append((delimiter, tabs_stripped, is_literal))
        return end

    def _read_bodies(self, at: int) -> int:
        """Read the here-documents announced on the line that ended before ``at``."""
        announced = self._pending[:]
        self._pending.clear()
        for delimiter, tabs_stripped, is_literal in announced:
            start, is_over = at, False
            while at < self.end and not is_over:
                line, after = self._read_body_line(at, is_literal=is_literal)
                tabs = len(line) - len(line.lstrip("\t")) if tabs_stripped else 0
                is_delimited = line.startswith(delimiter, tabs)
                is_over = is_delimited and len(line) == tabs + len(delimiter)
                if is_delimited and self._in_substitution and ")" in line[tabs + len(delimiter) :]:
                    # Bash ends both here, with a warning.
                    for _ in range(tabs + len(delimiter)):
                        while self.text.startswith("\\\n", at):
                            at += 2
                        at += 1
                    break
                at = after
            self.tokens.append(Word((self.text[start:at],), is_exact=False, is_body=True))
            if not is_literal:
                self._read_nested(self.text[start:at], range(start, at + 1), quoted=True)
        return at

    def _read_body_line(self, at: int, *, is_literal: bool) -> tuple[str, int]:
        """Return a line of a here-document as the shell compares it, and where the next begins.

        Unless the document is literal, a line that ends in a backslash goes on in the next one.
        """
        parts: list[str] = []
        while True:
            end = self._find_or_end("\n", at)
            part = self.text[at:end]
            is_joined = not is_literal and (len(part) - len(part.rstrip("\\"))) % 2 == 1
            parts.append(part[:-1] if is_joined else part)
            at = min(end + 1, self.end)
            if not is_joined or at == self.end:
                return "".join(parts), at

    def _read_case(self, at: int) -> int:
        at = self._read_word(self._skip_blank(at))
        clauses = self._skip_blank(at)
        if self._peek_word(clauses) != "in":
            return clauses
        at = clauses + 2
        while (at := self._skip_blank(at)) < self.end:
            if self._peek_word(at) == "esac":
                return at + 4
            # The patterns of one clause, up to and including the closing parenthesis.
            depth = 0 if self.text[at] == "(" else 1
            while at < self.end:
                depth += (self.text[at] == "(") - (self.text[at] == ")")
                if depth == 0:
                    at += 1
                    break
                at = self._read_piece(at, wrap=True)
            self.tokens.append(";")
            at = self.read_commands(at, closer=";;")
        self.is_whole = False
        return self.end

    def _read_test(self, at: int) -> int:
        """Read up to ``]]``, behind ``[[``: there are no redirections and no splitting."""
        while at < self.end:
            after = self._skip_blank(at)
            word_end = self._read_word(after)
            word = self.text[after:word_end]
            if word == "]]":
                return word_end
            if word == "=~":
                at, depth = self._skip_blank(word_end), 0
                while at < self.end and (depth or self.text[at] not in " \t\n)"):
                    depth += (self.text[at] == "(") - (self.text[at] == ")")
                    at = self._read_piece(at, wrap=False)
            else:
                at = max(word_end, after + 1)
        self.is_whole = False
        return self.end


def _replace_escapes(text: str) -> str:
    """Replace escapes as a shell does between ``$'`` and ``'``."""
    import re

    def octets(match: re.Match[bytes]) -> bytes:
        kind, rest = match[1][:1], match[1][1:]
        if kind in b"01234567":
            return bytes([int(match[1], 8) & 0xFF])
        if not rest:
            return kind.translate(_ESCAPES) if kind in b"abeEfnrtv\\'\"?" else match[0]
        if kind == b"c":
            return bytes([rest[0] & 0x1F])
        code = min(int(rest, 16), 0x10FFFF)
        return bytes([code]) if kind == b"x" else chr(code).encode(errors="replace")

    digit = rb"[0-9a-fA-F]"
    escape = rb"\\(x%b{1,2}|u%b{1,4}|U%b{1,8}|[0-7]{1,3}|c.|.)" % (digit, digit, digit)
    replaced = re.sub(escape, octets, text.encode(errors="replace"), flags=re.DOTALL)
    return replaced.decode(errors="surrogateescape")
