"""Expands a word into all the words that a shell may make of it, as far as they can be known.

Variables may have several values, patterns several matches and braces several words. What cannot
be known stays as written, with the reason.
"""

import itertools
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

import msgspec

from hookline.pipeline.trust.kinds import OF_THE_MOMENT
from hookline.shell.tokens import Pattern, Piece, Unmade, Word

_MOST_STEPS = 40_000
MOST_CHOICES = 256
_MOST_BRACES = 32
# Reasons that do not matter where the word is not a file.
HARMLESS = frozenset({"number", "event"})


class TooMuchError(Exception):
    """A command is too long to be followed in a reasonable time."""


class Field(msgspec.Struct, frozen=True):
    """One word as a program gets it; ``unknown`` says why its text cannot be known, ``tail`` is the
    known text behind that. ``written`` is the word in the command; ``code`` is what the program
    gets if it is code, in which variables are not replaced."""

    text: str
    unknown: str = ""
    tail: str = ""
    written: str = ""
    code: str | None = None


class _Part(msgspec.Struct, frozen=True):
    """One possible text of a piece of a word; an active one is split and matched with files."""

    text: str
    unknown: str = ""
    is_active: bool = False


class Words:
    """The known variables and directories, and the words that they make.

    ``find`` returns the files that match a pattern, None if there are too many. ``inert`` are the
    variables that are never split: each is one word, whatever its value.
    """

    def __init__(
        self,
        *,
        values: Mapping[str, str],
        inert: Collection[str],
        of_the_event: Collection[str],
        bases: Iterable[str],
        find: Callable[[str, Sequence[str]], list[str] | None],
    ) -> None:
        self.values = {n: [value] for n, value in values.items() if n not in OF_THE_MOMENT}
        self.unknown = {
            **dict.fromkeys(OF_THE_MOMENT, "value"),
            **dict.fromkeys(of_the_event, "event"),
        }
        self.inert = inert
        self._given = {*values, "PWD", "OLDPWD"}
        self.bases = tuple(dict.fromkeys(bases))
        self._find = find
        self._steps = 0
        # Whether commands may run more than once, or later than their place suggests.
        self.repeats = False

    def assign(self, name: str, value: str) -> None:
        """Add a value that a variable may have."""
        if name in ("PATH", "CDPATH"):
            # Without duplicates, so that a path that grows in a loop stops growing.
            value = ":".join(dict.fromkeys(value.split(":")))
        values = self.values.setdefault(name, [])
        if value not in values:
            values.append(value)
        if len(values) > MOST_CHOICES:
            self.unknown[name] = "loop"
            del values[1:]

    def spend(self, steps: int) -> None:
        self._steps += steps
        if self._steps > _MOST_STEPS:
            raise TooMuchError

    def _list_choices(self, piece: Piece, *, is_alone: bool) -> list[_Part]:
        """All possible texts of a piece; ``is_alone`` if the word has no other."""
        if isinstance(piece, str):
            return [_Part(piece)]
        if isinstance(piece, Pattern):
            return [_Part(piece.text, is_active=True)]
        if isinstance(piece, Unmade):
            return [_Part(piece.written, unknown=piece.kind)]
        name, other = piece.name, piece.other
        known = self.bases if name in ("PWD", "OLDPWD") else self.values.get(name, ())
        is_active = not (piece.is_quoted or name in self.inert or piece.written == "~")
        parts = [_Part(value, is_active=is_active) for value in known]
        if parts and self.repeats and name not in self._given and not is_alone:
            # In a loop it may be read before it is set.
            parts.append(_Part("", is_active=True))
        if name in self.unknown:
            parts.append(_Part(piece.written, unknown=self.unknown[name]))
        if other is not None:
            is_sure = name in self.inert and all(known) and name not in self.unknown
            for text in self.make_texts(other.pieces):
                if not (text.unknown and is_sure and known):
                    parts.append(_Part(text.text, text.unknown, is_active=not piece.is_quoted))
                if not text.unknown and piece.written.startswith((f"${{{name}:=", f"${{{name}=")):
                    self.assign(name, text.text)
        return parts or [_Part(piece.written, unknown="unset")]

    def make_texts(self, pieces: Sequence[Piece], written: str = "") -> list[Field]:
        """The texts that some pieces may make where a shell splits nothing."""
        return [
            Field("".join(p.text for p in parts), *_find_unknown(parts), written)
            for parts in self._combine_choices(pieces)
        ]

    def _combine_choices(self, pieces: Sequence[Piece]) -> list[Sequence[_Part]]:
        choices = [self._list_choices(piece, is_alone=len(pieces) == 1) for piece in pieces]
        size = 1
        for each in choices:
            size *= len(each)
            if size > MOST_CHOICES:
                written = "".join(each[0].text for each in choices)
                return [[_Part(written, unknown="many")]]
        self.spend(size)
        return list(itertools.product(*choices))

    def make_fields(self, word: Word) -> list[list[Field]]:
        """All the lists of words that a shell may make of one word."""
        variants, written = _expand_braces(word.pieces), word.written
        if len(written) > 1 and written[0] == written[-1] == '"' and written.count('"') == 2:
            written = written[1:-1]
        made = [
            self._split_fields(parts, written) if pieces else [Field("")]
            for pieces in variants
            for parts in self._combine_choices(pieces)
        ]
        return made if len(variants) == 1 else [[field for fields in made for field in fields]]

    def _split_fields(self, parts: Sequence[_Part], written: str) -> list[Field]:
        """Split the active parts into words, and match them with files."""
        fields: list[list[_Part]] = []
        is_open = False
        for part in parts:
            # A shell splits at these blanks only.
            blank = part.text.replace("\t", " ").replace("\n", " ") if part.is_active else ""
            chunks = [c for c in blank.split(" ") if c] if part.is_active else [part.text]
            is_open &= not blank.startswith(" ")
            for chunk in chunks:
                if not is_open:
                    fields.append([])
                fields[-1].append(_Part(chunk, part.unknown, part.is_active))
                is_open = chunk is chunks[-1]
            is_open &= not blank.endswith(" ")
        return [made for field in fields for made in self._match_files(field, written)]

    def _match_files(self, parts: Sequence[_Part], written: str) -> list[Field]:
        text = "".join(part.text for part in parts)
        signs = "".join(part.text for part in parts if part.is_active)
        is_pattern = "*" in signs or "?" in signs or ("[" in signs and "]" in text)
        if not is_pattern or any(part.unknown for part in parts):
            return [Field(text, *_find_unknown(parts), written)]
        pattern = "".join(
            f"[{char}]" if char in "*?[" and not part.is_active else char
            for part in parts
            for char in part.text
        )
        if any(sign in pattern for sign in ("[:", "[.", "[=")):
            return [Field(text, "value", written=written)]
        matches = self._find(pattern.replace("[^", "[!"), self.bases)
        if matches is None:
            return [Field(text, "many", written=written)]
        self.spend(len(matches))
        return [*map(Field, matches)] or [Field(text)]


def _find_unknown(parts: Sequence[_Part]) -> tuple[str, str]:
    """The gravest reason why parts are unknown, and the text behind the last unknown part."""
    reasons = [part.unknown for part in parts if part.unknown]
    if not reasons:
        return "", ""
    last = max(at for at, part in enumerate(parts) if part.unknown)
    grave = next((reason for reason in reasons if reason not in HARMLESS), reasons[0])
    return grave, "".join(part.text for part in parts[last + 1 :])


def _expand_braces(pieces: Sequence[Piece]) -> list[Sequence[Piece]]:
    """Expand braces: the pieces of each word that they make."""
    signs = [(at, p.text) for at, p in enumerate(pieces) if isinstance(p, Pattern)]
    if sum(text == "{" for _, text in signs) > _MOST_BRACES:
        raise TooMuchError
    opened = next((at for at, text in signs if text == "{"), None)
    if opened is None:
        return [pieces]
    depth, marks = 0, [opened]
    for at, text in signs:
        depth += at >= opened and {"{": 1, "}": -1}.get(text, 0)
        if at > opened and ((depth == 1 and text == ",") or depth == 0):
            marks.append(at)
        if at > opened and depth == 0:
            break
    if depth or len(marks) == 2:
        # Not a list: it stays as written, or it is a range.
        end = len(pieces) if depth else marks[-1] + 1
        written = Word(tuple(pieces[opened:end]), is_exact=False).fill({})
        if not depth and ".." in written:
            kept: list[Piece] = [Unmade(written, "value")]
        else:
            kept = ["{", *pieces[opened + 1 : end]]
            kept[-1:] = ["}"] if not depth else kept[-1:]
        rest = _expand_braces([*kept[1:], *pieces[end:]])
        return [[*pieces[:opened], kept[0], *each] for each in rest]
    tails = _expand_braces(pieces[marks[-1] + 1 :])
    inner = [
        each
        for start, end in itertools.pairwise(marks)
        for each in _expand_braces(pieces[start + 1 : end])
    ]
    if len(inner) * len(tails) > MOST_CHOICES:
        raise TooMuchError
    return [[*pieces[:opened], *each, *tail] for each in inner for tail in tails]
