"""Decides whether a matcher picks a tool name or a trigger, in bounded time.

Most matchers are plain words (``write_file|replace``) and need no regular expression at all, which
spares the common start-up the import of the ``regex`` package.
"""

import math
import re
from collections.abc import Callable
from typing import Any, TypeAlias

MATCH_SECONDS = 0.1

Match: TypeAlias = Callable[[str], bool]

# A counted repetition is unrolled when it is compiled: settings that nobody has trusted yet must
# not fill the memory by being read.
_MAX_REPETITIONS = 10_000
_COUNTED = r"\{(\d*),?(\d*)\}"


class MatchTimeout(Exception):
    """A matcher used up its time on a name."""


def compile_matcher(text: str | None, *, search: bool) -> tuple[Match, str | None]:
    """The test a matcher stands for, and what is wrong with it, if anything.

    ``search`` finds the expression anywhere in a tool name; otherwise it must match a trigger
    whole. What does not compile must equal the name.
    """
    text = (text or "").strip()
    if text in ("", "*"):
        return _everything, None
    if all(map(_is_plain, text.split("|"))):
        return _words(text, search=search), None
    return _expression(text, search=search)


def _everything(_name: str) -> bool:
    return True


def _is_plain(word: str) -> bool:
    return word.isascii() and word.replace("_", "0").replace("-", "0").isalnum()


def _words(text: str, *, search: bool) -> Match:
    words = frozenset(text.split("|"))
    if not search:
        return lambda name: name in words or name == text
    if len(words) == 1:
        (word,) = words
        return lambda name: word in name
    return lambda name: any(word in name for word in words)


def _expression(text: str, *, search: bool) -> tuple[Match, str | None]:
    import warnings

    import regex

    try:
        _check_repetitions(text)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            pattern = regex.compile(text)
    except (regex.error, ValueError, OverflowError, RecursionError) as error:
        problem = f"matcher {text!r} is not a regular expression ({error}); it must equal the name"
        return lambda name: name == text, problem
    if search:
        return _bounded(pattern.search, text), None
    matches = _bounded(pattern.fullmatch, text)
    return lambda name: name == text or matches(name), None


def _check_repetitions(text: str) -> None:
    counts = [max(int(count[:9] or 1) for count in pair) for pair in re.findall(_COUNTED, text)]
    if math.prod(max(count, 1) for count in counts) > _MAX_REPETITIONS:
        raise ValueError(f"it repeats more than {_MAX_REPETITIONS} times")


def _bounded(test: Callable[..., Any], text: str) -> Match:
    def matches(name: str) -> bool:
        try:
            return test(name, timeout=MATCH_SECONDS) is not None
        except TimeoutError:
            raise MatchTimeout(text) from None

    return matches
