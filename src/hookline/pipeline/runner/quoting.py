"""Finds the variables in a shell command that the shell would split, and puts quotes around them.

Only the places matter, so this is a scanner of contexts and not a parser: it knows what is quoted,
commented out or part of a here-document, and where a nested command begins and ends. What it does
not understand it leaves alone, for the shell to complain about.

Left as written on purpose, besides what is quoted already: arithmetic and what ``${...}`` has of
it, where nothing is split; the right side of ``=~``, where quotes would turn an expression into
plain text; the delimiter of a here-document, which the shell does not expand. In any other pattern
(``==`` in ``[[ ]]``, ``case``, ``${x#$NAME}``) the quoted value stands for itself.
"""

import functools
import re
from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

from hookline.pipeline.words import NAME

_IDENTIFIER = re.compile(NAME)
# What may stand before the operator in ${...}: a mark for indirection or length, and a name.
_PARAMETER = re.compile(rf"[!#]?(?:{NAME}|[0-9]+|[$!?#*@-])?")
_SPECIAL = frozenset("$!?#*@-0123456789")
_WORD_END = frozenset(" \t\n;&|<>()")
# Behind one of these a command begins, so that `case`, `[[` and `((` have their meaning.
_OPENING_WORDS = frozenset(
    {"if", "then", "else", "elif", "while", "until", "do", "for", "{", "!", "time", "coproc"}
)
# Whether ``((`` is arithmetic shows at its end; a text of parentheses must not take forever.
_MAX_GUESSES = 50


def quote_variables(command: str, names: Collection[str]) -> str:
    """Put double quotes around the bare ``$NAME`` and ``${NAME}`` of ``names`` in a command."""
    if "$" not in command:
        return command
    return _quoted(command, frozenset(names))


@functools.lru_cache(maxsize=256)
def _quoted(command: str, names: frozenset[str]) -> str:
    scanner = _Scanner(command, names)
    try:
        scanner.commands(0)
    except RecursionError:
        return command
    pieces, done = [], 0
    for start, end in scanner.bare:
        pieces += [command[done:start], '"', command[start:end], '"']
        done = end
    return "".join([*pieces, command[done:]])


class _HereDocument(NamedTuple):
    delimiter: str
    tabs_stripped: bool
    literal: bool


class _Scanner:
    """Walks over one text; every method takes a position and answers where its construct ends."""

    def __init__(self, text: str, names: frozenset[str]) -> None:
        self.text = text
        self.end = len(text)
        self.names = names
        self.bare: list[tuple[int, int]] = []
        self._pending: list[_HereDocument] = []
        self._in_substitution = False
        self._not_arithmetic: set[int] = set()

    def commands(self, at: int, *, closer: str = "") -> int:
        """A list of commands, up to and with ``closer``: ``)``, or ``;;`` for a case clause."""
        begins = True
        while at < self.end:
            char = self.text[at]
            if char == closer:
                return at + 1
            if closer == ";;" and (end := self._clause_end(at, begins=begins)) is not None:
                return end
            if char in "\n;&|)":
                at, begins = self._separator(at), True
            elif (after := self._space(at)) != at:
                at = after
            elif char in "<>":
                at = self._redirection(at)
            elif char == "(":
                at, begins = self._parenthesis(at, begins=begins), True
            else:
                at, begins = self._word_or_compound(at, begins=begins)
        return self.end

    def _clause_end(self, at: int, *, begins: bool) -> int | None:
        """Where the clause of a ``case`` ends if it ends here; ``esac`` is left to be read."""
        if self.text.startswith((";;", ";&"), at):
            return at + (3 if self.text.startswith(";;&", at) else 2)
        return at if begins and self._reserved(at) == "esac" else None

    def _reserved(self, at: int) -> str:
        end = at
        while end < self.end and self.text[end] not in _WORD_END:
            end += 1
        return self.text[at:end]

    def _separator(self, at: int) -> int:
        return self._bodies(at + 1) if self.text[at] == "\n" else at + 1

    def _space(self, at: int) -> int:
        """What stands between two words of a line, or behind the last: blanks and comments."""
        while at < self.end:
            if self.text[at] in " \t":
                at += 1
            elif self.text[at] == "#":
                at = self._find("\n", at)
            elif self.text.startswith("\\\n", at):
                at += 2
            else:
                break
        return at

    def _blank(self, at: int) -> int:
        """The same over several lines, where a newline ends no command."""
        at = self._space(at)
        while self.text.startswith("\n", at):
            at = self._space(self._separator(at))
        return at

    def _find(self, what: str, at: int) -> int:
        found = self.text.find(what, at)
        return self.end if found < 0 else found

    def _parenthesis(self, at: int, *, begins: bool) -> int:
        if begins and self.text.startswith("((", at):
            end = self._arithmetic(at + 2)
            if end is not None:
                return end
        return self.commands(at + 1, closer=")")

    def _word_or_compound(self, at: int, *, begins: bool) -> tuple[int, bool]:
        """One word, or what it opens, and whether a command begins behind it."""
        word = self._reserved(at)
        if begins and word == "case":
            return self._case(at + 4), False
        if begins and word == "[[":
            return self._test(at + 2), False
        return self._word(at), word == "{" or (begins and word in _OPENING_WORDS)

    def _word(self, at: int, *, wrap: bool = True) -> int:
        while at < self.end and self.text[at] not in _WORD_END:
            at = self._piece(at, wrap=wrap)
        return at

    def _piece(self, at: int, *, wrap: bool) -> int:
        """One character or quoted thing where quotes have their meaning."""
        char = self.text[at]
        if char == "\\":
            return at + 2
        if char == "'":
            return self._find("'", at + 1) + 1
        if char == '"':
            return self._double_quoted(at + 1)
        if self.text.startswith("$'", at):
            return self._ansi_quoted(at + 2)
        if self.text.startswith('$"', at):
            return self._double_quoted(at + 2)
        return self._expansion(at, wrap=wrap, quoted=False)

    def _ansi_quoted(self, at: int) -> int:
        while at < self.end and self.text[at] != "'":
            at += 2 if self.text[at] == "\\" else 1
        return at + 1

    def _double_quoted(self, at: int) -> int:
        while at < self.end and self.text[at] != '"':
            at = self._quoted_piece(at)
        return at + 1

    def _quoted_piece(self, at: int) -> int:
        if self.text[at] == "\\":
            return at + 2
        return self._expansion(at, wrap=False, quoted=True)

    def _expansion(self, at: int, *, wrap: bool, quoted: bool) -> int:
        """What begins with a dollar sign or a backtick; any other character is one by itself."""
        if self.text[at] == "`":
            return self._backticks(at + 1, quoted=quoted)
        if self.text[at] != "$":
            return at + 1
        if self.text.startswith("((", at + 1):
            end = self._arithmetic(at + 3)
            if end is not None:
                return end
        following = self.text[at + 1 : at + 2]
        if following == "(":
            return self._substitution(at + 2)
        if following == "[":
            return self._matched(at + 2, "[]")
        if following == "{":
            return self._braced(at, wrap=wrap, quoted=quoted)
        return self._named(at, wrap=wrap)

    def _named(self, at: int, *, wrap: bool) -> int:
        if name := _IDENTIFIER.match(self.text, at + 1):
            if wrap and name[0] in self.names:
                self.bare.append((at, name.end()))
            return name.end()
        return at + (2 if self.text[at + 1 : at + 2] in _SPECIAL else 1)

    def _braced(self, at: int, *, wrap: bool, quoted: bool) -> int:
        name = _IDENTIFIER.match(self.text, at + 2)
        if name and self.text.startswith("}", name.end()):
            if wrap and name[0] in self.names:
                self.bare.append((at, name.end() + 1))
            return name.end() + 1
        parameter = _PARAMETER.match(self.text, at + 2)
        at = parameter.end() if parameter else at + 2
        if self.text.startswith("[", at):
            at = self._matched(at + 1, "[]")
        if self._is_substring(at):
            wrap = False
        while at < self.end and self.text[at] != "}":
            # Even inside double quotes, bash pairs the quotes it finds in the braces.
            at = self._piece(at, wrap=wrap) if not quoted else self._braced_piece(at)
        return at + 1

    def _is_substring(self, at: int) -> bool:
        return self.text.startswith(":", at) and self.text[at + 1 : at + 2] not in set("-=?+")

    def _braced_piece(self, at: int) -> int:
        return self._piece(at, wrap=False) if self.text[at] in "\"'" else self._quoted_piece(at)

    def _arithmetic(self, at: int) -> int | None:
        """The end behind ``))`` of what begins behind ``((``; None if it is two parentheses."""
        if at in self._not_arithmetic or len(self._not_arithmetic) > _MAX_GUESSES:
            return None
        mark = len(self.bare)
        end = self._matched(at, "()")
        if self.text.startswith(")", end):
            return end + 1
        del self.bare[mark:]
        self._not_arithmetic.add(at)
        return None

    def _matched(self, at: int, pair: str) -> int:
        depth = 1
        while at < self.end:
            char = self.text[at]
            depth += (char == pair[0]) - (char == pair[1])
            if depth == 0:
                return at + 1
            at = self._piece(at, wrap=False)
        return self.end

    def _substitution(self, at: int) -> int:
        outside = self._pending, self._in_substitution
        self._pending, self._in_substitution = [], True
        end = self.commands(at, closer=")")
        self._pending, self._in_substitution = outside
        return end

    def _backticks(self, at: int, *, quoted: bool) -> int:
        """A command in backticks, less the backslashes that the shell removes before reading it."""
        escaped = '$`\\"' if quoted else "$`\\"
        inner, origins = [], []
        while at < self.end and self.text[at] != "`":
            origins.append(at)
            if self.text[at] == "\\" and self.text[at + 1 : at + 2] in set(escaped):
                at += 1
            inner.append(self.text[at])
            at += 1
        self._nested("".join(inner), [*origins, at], _Scanner.commands)
        return at + 1

    def _nested(
        self, text: str, origins: Sequence[int], scan: "Callable[[_Scanner, int], int]"
    ) -> None:
        """Scan a text of its own whose characters stand at ``origins`` in this one."""
        scanner = _Scanner(text, self.names)
        scan(scanner, 0)
        self.bare += [(origins[start], origins[end]) for start, end in scanner.bare]

    def _redirection(self, at: int) -> int:
        if self.text.startswith("<<<", at):
            return at + 3
        if self.text.startswith("<<", at):
            return self._here_document(at + 2)
        if self.text.startswith("(", at + 1):
            return self._substitution(at + 2)
        return at + 1

    def _here_document(self, at: int) -> int:
        tabs_stripped = self.text.startswith("-", at)
        start = at + tabs_stripped
        while self.text.startswith((" ", "\t"), start):
            start += 1
        mark = len(self.bare)
        end = self._word(start, wrap=False)
        del self.bare[mark:]
        word = self.text[start:end]
        delimiter = re.sub(r"\\(.)|['\"]", r"\1", word, flags=re.DOTALL)
        self._pending.append(_HereDocument(delimiter, tabs_stripped, delimiter != word))
        return end

    def _bodies(self, at: int) -> int:
        """The here-documents announced on the line that ended before ``at``."""
        announced = self._pending[:]
        self._pending.clear()
        for document in announced:
            start, at = at, self._body_end(at, document)
            if not document.literal:
                self._nested(self.text[start:at], range(start, at + 1), _Scanner._body)
        return at

    def _body_end(self, at: int, document: _HereDocument) -> int:
        continued = False
        while at < self.end:
            line = self.text[at : self._find("\n", at)]
            tabs = len(line) - len(line.lstrip("\t")) if document.tabs_stripped else 0
            rest = line[tabs:].removeprefix(document.delimiter)
            delimited = not continued and line.startswith(document.delimiter, tabs)
            if delimited and self._in_substitution and ")" in rest:
                # Bash takes this for the end of both, though it warns.
                return at + len(line) - len(rest)
            at += len(line) + 1
            if delimited and not rest:
                break
            backslashes = len(line) - len(line.rstrip("\\"))
            continued = not document.literal and backslashes % 2 == 1
        return min(at, self.end)

    def _body(self, at: int) -> int:
        """Text as in double quotes, but for the quotes: only commands inside it are commands."""
        while at < self.end:
            at = self._quoted_piece(at)
        return at

    def _case(self, at: int) -> int:
        at = self._word(self._blank(at))
        clauses = self._blank(at)
        if self._reserved(clauses) != "in":
            return clauses
        at = clauses + 2
        while (at := self._blank(at)) < self.end:
            if self._reserved(at) == "esac":
                return at + 4
            at = self.commands(self._pattern(at), closer=";;")
        return self.end

    def _pattern(self, at: int) -> int:
        """The patterns of one clause, up to and with the parenthesis that ends them."""
        depth = 0 if self.text[at] == "(" else 1
        while at < self.end:
            depth += (self.text[at] == "(") - (self.text[at] == ")")
            if depth == 0:
                return at + 1
            at = self._piece(at, wrap=True)
        return self.end

    def _test(self, at: int) -> int:
        """What is between ``[[`` and ``]]``: no redirections, and no splitting either."""
        while at < self.end:
            after = self._blank(at)
            word_end = self._word(after)
            word = self.text[after:word_end]
            if word == "]]":
                return word_end
            if word == "=~":
                at = self._expression(self._blank(word_end))
            else:
                at = max(word_end, after + 1)
        return self.end

    def _expression(self, at: int) -> int:
        depth = 0
        while at < self.end:
            char = self.text[at]
            if depth == 0 and char in " \t\n)":
                break
            depth += (char == "(") - (char == ")")
            at = self._piece(at, wrap=False)
        return at
