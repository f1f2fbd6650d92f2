"""Finds the names that a matcher may take for ever on, made from its own structure.

A repetition of what is nothing but a repetition can be read in exponentially many ways; some hosts
try them all. Where alternatives overlap it depends, so such names are tried, in bounded time.
"""

import re
from itertools import islice
from typing import NamedTuple

from hookline.pipeline.matcher import MatchTimeout, compile_matcher

_MAX_ATTEMPTS = 24
_REPEATED = 48
# What no expression for names expects behind a name; and how one ends, without which some
# implementations do not even try.
_TAILS = ("!", "\x01")
_END = re.compile(r"[A-Za-z0-9_]+(?=\$?$)")

_CLASSES = {"w": "a", "d": "0", "s": " ", "W": "-", "D": "a", "S": "a"}
_QUANTIFIER = re.compile(r"(?:[*+?]|\{(?P<least>\d*)(?P<comma>,?)(?P<most>\d*)\})(?P<mode>[?+]?)")
_GROUP = re.compile(r"\?(?:P?<[A-Za-z_]\w*>|[:|]|[a-zA-Z]+:)")
_NOT_TAKEN = re.compile(r"\?(?:<?[=!]|#)")
_ATOMIC = re.compile(r"\?>")


class _Part(NamedTuple):
    """Something in an expression: a sample of what it matches, whether it may be left out or
    goes on without an end, and whether it is nothing but repetition."""

    sample: str
    optional: bool = False
    endless: bool = False
    only_repeats: bool = False


def exploding_name(text: str, *, search: bool) -> str | None:
    """A name that may use up a matcher's time, None where none was found."""
    reader = _Reader(text)
    try:
        reader.alternatives("")
    except RecursionError:
        return None
    for prefix, unit in reader.nested:
        return prefix + unit * (_REPEATED // len(unit)) + _TAILS[0]
    matches, _ = compile_matcher(text, search=search)
    end = _END.search(text)
    tails = (*_TAILS, f"!{end[0]}") if end else _TAILS
    names = (
        prefix + unit * (_REPEATED // len(unit) + 1) + tail
        for prefix, units in reader.repeated
        for unit in filter(None, units)
        for tail in tails
    )
    for name in islice(names, _MAX_ATTEMPTS):
        try:
            matches(name)
        except MatchTimeout:
            return name
    return None


class _Reader:
    """Goes through an expression; ``nested`` are repetitions of repetitions and ``repeated`` all
    other groups that repeat without an end, each with what leads up to it."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.nested: list[tuple[str, str]] = []
        self.repeated: list[tuple[str, list[str]]] = []

    def alternatives(self, prefix: str) -> list[_Part]:
        """The alternatives up to the end of the group."""
        parts = [self._sequence(prefix)]
        while self._peek() == "|":
            self.at += 1
            parts.append(self._sequence(prefix))
        return parts

    def _sequence(self, prefix: str) -> _Part:
        parts: list[_Part] = []
        while (character := self._peek()) and character not in "|)":
            leading = prefix + "".join(part.sample for part in parts if not part.optional)
            parts.append(self._repetition(leading))
        endless = [p.sample for p in parts if (p.endless or p.only_repeats) and p.sample]
        needed = [part.sample for part in parts if not part.optional and part.sample]
        return _Part(
            "".join(needed) or next(iter(endless), ""),
            optional=not needed,
            only_repeats=bool(endless) and set(needed) <= {endless[0]},
        )

    def _repetition(self, prefix: str) -> _Part:
        """An atom and how often it comes."""
        units, is_group = self._atom(prefix)
        found = _QUANTIFIER.match(self.text, self.at)
        sample = units[0].sample
        if found is None:
            inner = units[0] if is_group and len(units) == 1 else _Part(sample)
            optional = any(unit.optional for unit in units) if is_group else not sample
            return inner._replace(optional=optional)
        self.at = found.end()
        sign, possessive = found[0][0], found["mode"] == "+"
        endless = sign in "*+" or (found["comma"] == "," and not found["most"])
        optional = sign in "*?" or (sign == "{" and found["least"] in ("", "0"))
        if is_group and endless and not possessive:
            self.nested += [(prefix, u.sample) for u in units if u.only_repeats and u.sample]
            if len(units) > 1:
                samples = [unit.sample for unit in units]
                self.repeated.append((prefix, [*samples, "".join(samples)]))
        return _Part(sample, optional=optional, endless=endless and not possessive)

    def _atom(self, prefix: str) -> tuple[list[_Part], bool]:
        """What stands here, and whether it is a group."""
        character = self._take()
        if character == "(":
            looking = _NOT_TAKEN.match(self.text, self.at)
            atomic = _ATOMIC.match(self.text, self.at)
            opening = _GROUP.match(self.text, self.at) or looking or atomic
            self.at = opening.end() if opening else self.at
            parts = self.alternatives(prefix)
            self._take()
            if looking:
                return [_Part("", optional=True)], False
            return ([_Part(parts[0].sample)], False) if atomic else (parts, True)
        if character == "[":
            negated = self._peek() == "^"
            start = self.at + negated
            # A bracket that comes first is one of the set.
            end = self.text.find("]", start + 1)
            end = len(self.text) if end < 0 else end
            members, self.at = self.text[start:end], end + 1
            sample = members[:1]
            if negated:
                sample = next((c for c in "a0_-x" if c not in members), "\x02")
            elif sample == "\\":
                sample = _CLASSES.get(members[1:2], members[1:2])
        elif character == "\\":
            escaped = self._take()
            sample = "" if escaped in "bBAZzGK" else _CLASSES.get(escaped, escaped)
        else:
            sample = {"^": "", "$": "", ".": "a"}.get(character, character)
        return [_Part(sample)], False

    def _peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def _take(self) -> str:
        taken = self._peek()
        self.at += 1
        return taken
