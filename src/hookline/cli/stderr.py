"""Shortens a hook's stderr for the screen: a stack trace to the exception and the place in the
hook's own file, other text to a few lines. ``--json`` has all of it."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from hookline._support.escapes import count

# Lines of one hook that succeeded, and of all such hooks of an event: more would push the decision
# off the screen.
_MOST_LINES = 20
_MOST_OF_ALL = 60
_LEAST_LINES = 3
# Lines of a hook that failed, and of an exception with a message of several lines.
_LAST_LINES = 5
_EXCEPTION_LINES = 3
_LONGEST_LINE = 500

_ENDED = re.compile(
    r"(.*?\b(?:exited with code -?\d+|was killed by (?:signal )?\w+)): (.*)", re.DOTALL
)
_HEADING = "Traceback (most recent call last):"
_FRAME = re.compile(r'\s*File ".+", line \d+(, in .+)?')
_EXCEPTION = re.compile(r"[^\W\d][\w.]*(:.*)?")
# The prefix of each line of an exception in an exception group.
_OF_GROUP = re.compile(r"^ +[|+]-? ?")
_NODE_ERROR = re.compile(r"(Uncaught )?[^\W\d][\w.$]*(:.*| \[.*)?")
_NODE_FRAME = re.compile(r"\s+at .*(:\d+:\d+\)?|\(<anonymous>\)|\(index \d+\)|\(native\))")
_NODE_PLACE = re.compile(r"(file://)?/.*:\d+")
# Frames of the interpreter, of a library, or of our code that starts a warm hook.
_NOT_OWN = re.compile(
    r'"<frozen |/lib/python\d|/site-packages/|/dist-packages/|/hookline/runner/'
    r"|\bnode:|/node_modules/|\((<anonymous>|native|index \d+)\)"
)


class Excerpt(NamedTuple):
    """Some lines of a text, how many lines were left out, and whether the lines are from a stack
    trace."""

    lines: list[str]
    left_out: int
    is_trace: bool = False


def take_first(text: str, *, among: int) -> Excerpt:
    """Return the first lines of a hook that succeeded; ``among`` hooks share the screen."""
    most = min(_MOST_LINES, max(_LEAST_LINES, _MOST_OF_ALL // among))
    lines = text.split("\n")
    return Excerpt([*map(_shorten, lines[:most])], max(len(lines) - most, 0))


def take_what_matters(text: str) -> Excerpt:
    """Return why a hook failed: the exception with the hook's own last frame, or the last lines."""
    lines = text.split("\n")
    trace = _find_python_trace(lines) or _find_node_trace(lines)
    excerpt = trace or lines[-_LAST_LINES:]
    return Excerpt([*map(_shorten, excerpt)], len(lines) - len(excerpt), bool(trace))


def cut_failure(error: str, *, rest: str = "--json has them all") -> str:
    """Return the failure with its stderr shortened to what matters; ``rest`` says where to find all
    of it."""
    match = _ENDED.fullmatch(error)
    if match is None:
        return error
    lines, left_out, is_trace = take_what_matters(match[2])
    between = ": " if is_trace or not left_out else "; its stderr ends with\n"
    text = match[1] + between + "\n".join(lines)
    return f"{text}\n{describe_left_out(left_out, rest=rest)}" if left_out else text


def describe_left_out(number: int, *, rest: str = "--json has them all") -> str:
    """Say how many lines are not shown, and where to find them."""
    return f"{count(number, 'more line')}; {rest}"


def shorten_reason(text: str) -> str:
    """Return the first few lines of a reason, to be shown beside its hook."""
    lines = text.split("\n")
    excerpt = "\n".join(map(_shorten, lines[:_LAST_LINES]))
    over = len(lines) - _LAST_LINES
    return f"{excerpt}\n{describe_left_out(over)}" if over > 0 else excerpt


def _shorten(line: str) -> str:
    over = len(line) - _LONGEST_LINE
    return f"{line[:_LONGEST_LINE]}… (+{over} characters)" if over > 0 else line


def _find_python_trace(lines: Sequence[str]) -> list[str]:
    """Return the exception and the hook's own last frame; of several traces the last one ended the
    hook. The trace of a syntax error has frames but no heading."""
    lines = [_OF_GROUP.sub("", line) for line in lines]
    start = max((at for at, line in enumerate(lines) if line.endswith(_HEADING)), default=0)
    frames = [at for at in range(start, len(lines)) if _FRAME.fullmatch(lines[at])]
    if not frames:
        return []
    after = range(frames[-1] + 1, len(lines))
    raised = next((at for at in after if lines[at] and not lines[at][0].isspace()), None)
    if raised is None or not _EXCEPTION.fullmatch(lines[raised]):
        return []
    own = next((at for at in reversed(frames) if not _NOT_OWN.search(lines[at])), frames[-1])
    # The source line follows, unless the file was not found.
    source = lines[own + 1] if own + 1 < raised and own + 1 not in frames else ""
    message = [line for line in lines[raised : raised + _EXCEPTION_LINES] if line.strip("- ")]
    frame = [lines[own].strip(), *([f"  {source.strip()}"] if source.strip() else [])]
    return [message[0], *frame, *message[1:]]


def _find_node_trace(lines: Sequence[str]) -> list[str]:
    frames = [at for at, line in enumerate(lines) if _NODE_FRAME.fullmatch(line)]
    if not frames or frames[0] == 0:
        return []
    # A message of several lines begins after the empty line that ends the source.
    start = frames[0] - 1
    while start > 0 and lines[start - 1].strip():
        start -= 1
    if not _NODE_ERROR.fullmatch(lines[start]):
        return []
    own = next((at for at in frames if not _NOT_OWN.search(lines[at])), None)
    if own is not None:
        where = [lines[own].strip()]
    else:
        # A syntax error has no frame in the script: the first line names the place.
        is_place = _NODE_PLACE.fullmatch(lines[0]) and not _NOT_OWN.search(lines[0])
        where = [lines[0], f"  {lines[1].strip()}"] if is_place else []
    message = lines[start : min(start + _EXCEPTION_LINES, frames[0])]
    return [message[0], *where, *message[1:]]
