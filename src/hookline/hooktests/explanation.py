"""Explains why a test failed, in lines with roles that a terminal, a log and pytest show."""

from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeAlias

from hookline._support.escapes import count
from hookline._support.notices import Notice
from hookline.hooktests.cases import Outcome
from hookline.hooktests.comparison import Failure, failure_lines
from hookline.wire.results import HookExecutionResult

# A piece of a line: plain text, or text and its role on a screen.
Span: TypeAlias = str | tuple[str, str]

_ROLES = {"-": "good", "+": "bad", " ": "faint"}
# Longer output of a hook would push the difference off the screen.
_MOST_CHARACTERS = 400
_MOST_LINES = 40


class ExplainedLine(NamedTuple):
    """A line of an explanation; lines of a difference are quoted."""

    spans: tuple[Span, ...]
    is_quoted: bool = False

    @property
    def text(self) -> str:
        """The line without its roles."""
        return "".join(span if isinstance(span, str) else span[0] for span in self.spans)


def explain_outcome(
    outcome: Outcome,
    *,
    say_time: Callable[[float], str],
    is_explained: bool = False,
    elsewhere: str = "",
) -> Iterator[ExplainedLine]:
    """Yield what is not as a test expects, what its hooks printed, and the warnings; nothing for a
    test that did not fail. ``is_explained`` if the reader knows the signs of a difference. A long
    difference is cut if ``elsewhere`` says where to read all of it."""
    for failure in outcome.failures:
        if isinstance(failure.message, str):
            where = f"{failure.at}: " if isinstance(failure.at, str) else ""
            yield ExplainedLine(((where, "name"), failure.message))
        if not isinstance(failure.at, str):
            continue
        if is_difference(failure):
            key = "" if is_explained else "  (- expected, + found)"
            is_explained = True
            yield ExplainedLine(((failure.at, "name"), (key, "faint")))
        lines = list(failure_lines(failure))
        excerpt = lines[:_MOST_LINES] if elsewhere else lines
        for mark, line in excerpt:
            yield ExplainedLine(((f"{mark} {line}", _ROLES[mark]),), is_quoted=True)
        if left := len(lines) - len(excerpt):
            yield ExplainedLine(
                ((f"{count(left, 'more line')}; {elsewhere}", "faint"),), is_quoted=True
            )
    if outcome.failures:
        for result in outcome.results:
            end = _describe_result(result, say_time)
            yield ExplainedLine(((f"{result.hook.name}: ", "name"), end))
        for warning in outcome.warnings:
            # Notices that hooks or the event failed are among the failures already, or expected.
            if not (isinstance(warning, Notice) and warning.kind):
                yield ExplainedLine((("warning: ", "care"), warning))


def is_difference(failure: Failure) -> bool:
    """True if the failure is two values that differ, shown with the signs of a difference."""
    return isinstance(failure.at, str) and not isinstance(failure.message, str)


def _describe_result(result: HookExecutionResult, say_time: Callable[[float], str]) -> str:
    """Describe how a hook ended, how long it took, and what it printed."""
    end = result.signal or result.failed
    if result.exit_code is not None:
        end = f"exit {result.exit_code}"
    stream = "stderr" if result.stderr.strip() else "stdout"
    text = getattr(result, stream).strip()
    if len(text) > _MOST_CHARACTERS:
        text = f"{text[:_MOST_CHARACTERS]}…"
    output = f", {stream}: {text}" if text else ", printed nothing"
    return f"{end}, {say_time(result.duration)}{output}"
