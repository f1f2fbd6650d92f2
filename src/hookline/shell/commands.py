"""Splits a text into its simple commands, each with what a shell takes off before it runs it.

Commands inside a word, as in ``$(…)``, come before the command of that word. Words of the grammar
(``then``, ``{``) are commands of their own, so that what follows them begins one.
"""

from collections.abc import Sequence

import msgspec

from hookline.shell.table import RESERVED
from hookline.shell.tokens import REDIRECTIONS, Token, Word, read_tokens

# Behind these operators a command may go on in the next line.
_GOING_ON = ("|", "&&", "||")


class Redirection(msgspec.Struct, frozen=True):
    """An operator and the word behind it; ``body`` is the text of a here-document."""

    operator: str
    target: Word
    body: Word | None = None


class Command(msgspec.Struct, frozen=True, kw_only=True):
    """A simple command: the assignments in front of it, its words and its redirections.

    ``scope`` numbers the parentheses around it, the outermost first; a subshell and a substitution
    are both one. ``before`` and ``after`` are the operators around it, "" at an end of the text and
    next to a word of the grammar. ``function`` is the name that it defines; the body follows.
    """

    words: tuple[Word, ...]
    assignments: tuple[Word, ...] = ()
    redirections: tuple[Redirection, ...] = ()
    scope: tuple[int, ...] = ()
    before: str = ""
    after: str = ""
    function: str = ""

    @property
    def is_grammar(self) -> bool:
        """True if it is no command, but a part of one that holds others."""
        return bool(self.function) or (bool(self.words) and self.words[0].source in RESERVED)


def split_commands(text: str) -> list[Command]:
    """Return the commands of a text in the order in which a shell would expand them."""
    return _Splitter(read_tokens(text)).run()


class _Draft:
    """A command while its tokens are read."""

    def __init__(self, scope: tuple[int, ...], before: str) -> None:
        self.scope, self.before = scope, before
        self.words: list[Word] = []
        self.assignments: list[Word] = []
        self.redirections: list[Redirection] = []
        # The redirection whose target comes next.
        self.operator = ""
        self.after = self.function = ""

    @property
    def is_empty(self) -> bool:
        return not (self.words or self.assignments or self.redirections)

    def finish(self) -> Command:
        return Command(
            words=tuple(self.words),
            assignments=tuple(self.assignments),
            redirections=tuple(self.redirections),
            scope=self.scope,
            before=self.before,
            after=self.after,
            function=self.function,
        )


class _Splitter:
    def __init__(self, tokens: Sequence[Token]) -> None:
        self._tokens = tokens
        self._done: list[_Draft] = []
        self._now = _Draft((), "")
        self._around: list[_Draft] = []
        self._scopes = 0
        # By scope: the redirections whose here-documents are still to come.
        self._waiting: dict[tuple[int, ...], list[tuple[list[Redirection], int]]] = {}

    def run(self) -> list[Command]:
        for at, token in enumerate(self._tokens):
            if isinstance(token, Word):
                self._add_word(token)
            elif token in REDIRECTIONS:
                self._now.operator = token
            elif token in ("[[", "case"):
                self._end("")
                self._now.words.append(Word((token,), is_exact=True, source=token))
            elif token == "(":
                self._open(at)
            elif token == ")":
                self._close(at)
            elif self._now.is_empty and self._now.before == token in ("&", "|"):
                # ``&&`` and ``||`` are two tokens.
                self._now.before = self._done[-1].after = token * 2
            elif not (token == "\n" and self._now.is_empty and self._now.before in _GOING_ON):
                self._end(token)
        self._done += [self._now, *self._around]
        return [draft.finish() for draft in self._done if not draft.is_empty]

    def _add_word(self, word: Word) -> None:
        if word.is_body:
            if waiting := self._waiting.get(self._now.scope):
                redirections, at = waiting.pop(0)
                redirections[at] = Redirection("<<", redirections[at].target, word)
            return
        if self._now.operator:
            if self._now.operator == "<<":
                waiting = self._waiting.setdefault(self._now.scope, [])
                waiting.append((self._now.redirections, len(self._now.redirections)))
            self._now.redirections.append(Redirection(self._now.operator, word))
            self._now.operator = ""
            return
        if word.begins and self._now.words:
            # A redirection behind a word of the grammar belongs to the command that begins here.
            redirections, self._now.redirections = self._now.redirections, []
            self._end("")
            self._now.redirections = redirections
        is_assignment = word.assigned and not self._now.words
        (self._now.assignments if is_assignment else self._now.words).append(word)

    def _open(self, at: int) -> None:
        before = self._tokens[at - 1] if at else ""
        if isinstance(before, Word) and before.assigned and before.source.endswith("="):
            # The elements of an array follow.
            words = self._now.words or self._now.assignments
            words[-1] = msgspec.structs.replace(before, is_exact=False)
        self._around.append(self._now)
        self._scopes += 1
        self._now = _Draft((*self._now.scope, self._scopes), "(")

    def _close(self, at: int) -> None:
        self._end(")")
        if not self._around:
            return
        self._now = self._around.pop()
        name = self._now.words[-1].source if self._now.words else ""
        after = self._tokens[at + 1] if at + 1 < len(self._tokens) else ""
        # Inside a word, as in ``$()``, the word comes next.
        is_inside = isinstance(after, Word) and not after.begins
        if self._tokens[at - 1] == "(" and name and name not in RESERVED and not is_inside:
            self._now.function = name
            self._end("")

    def _end(self, operator: str) -> None:
        self._now.after = operator
        self._done.append(self._now)
        self._now = _Draft(self._now.scope, operator)
