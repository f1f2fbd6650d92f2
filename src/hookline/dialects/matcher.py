"""Decides whether a matcher picks a tool name or a trigger, in bounded time.

Most matchers are plain words (``write_file|replace``) and need no regular expression, so that most
programs start without importing the ``regex`` package.
"""

import math
import re
from collections.abc import Callable
from typing import Any, TypeAlias

from hookline._support.problem import Problem

MATCH_SECONDS = 0.1

Match: TypeAlias = Callable[[str], bool]

# Compiling unrolls counted repetitions: reading settings that are not trusted yet must not fill
# the memory.
_MAX_REPETITIONS = 10_000
_COUNTED = r"\{(\d*),?(\d*)\}"


class MatchTimeout(Exception):
    """A matcher took too long on a name."""


def compile_matcher(text: str | None, *, search: bool) -> tuple[Match, Problem | None]:
    """The test for a matcher, and the problem with it, if any.

    ``search`` finds the expression anywhere in a tool name; otherwise it must match a whole
    trigger. A matcher that does not compile must equal the name.
    """
    text = (text or "").strip()
    if text in ("", "*"):
        return lambda _name: True, None
    words = text.split("|")
    if all(w.isascii() and w.replace("_", "0").replace("-", "0").isalnum() for w in words):
        if not search:
            return lambda name: name in words or name == text, None
        return lambda name: any(word in name for word in words), None
    try:
        test = compile_expression(text, whole=not search)
    except ValueError as error:
        message, consequence = (
            f"{text!r} is not a regular expression ({error})",
            "it must equal the name",
        )
        problem = Problem(kind="bad-matcher", message=message, consequence=consequence)
        return lambda name: name == text, problem
    return test if search else lambda name: name == text or test(name), None


def compile_expression(text: str, *, whole: bool = False, ascii_only: bool = False) -> Match:
    """The test for a regular expression, which is searched in a name, or must match the ``whole``
    name. With ``ascii_only`` only ASCII digits and letters count as such. Raises ValueError for a
    text that is not an expression; the test raises MatchTimeout."""
    import warnings

    import regex

    try:
        counts = [max(int(count[:9] or 1) for count in pair) for pair in re.findall(_COUNTED, text)]
        if math.prod(max(count, 1) for count in counts) > _MAX_REPETITIONS:
            raise ValueError(f"it repeats more than {_MAX_REPETITIONS} times")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            pattern = regex.compile(text, flags=regex.ASCII if ascii_only else 0)
    except (regex.error, OverflowError, RecursionError) as error:
        raise ValueError(str(error)) from None
    test: Callable[..., Any] = pattern.fullmatch if whole else pattern.search

    def matches(name: str) -> bool:
        try:
            return test(name, timeout=MATCH_SECONDS) is not None
        except TimeoutError:
            raise MatchTimeout(text) from None

    return matches
