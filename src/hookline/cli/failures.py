"""The one place where an exception becomes an exit status and a sentence on stderr."""

import os
import signal
import sys
from collections.abc import Iterable
from typing import TextIO

from hookline.errors import HooklineError

FAILED = 1


class CommandError(HooklineError):
    """The command cannot do what was asked; the message says what to do instead."""


class Interrupted(KeyboardInterrupt):
    """A signal ended the command; what it ran has been stopped."""

    def __init__(self, number: int) -> None:
        self.number = number
        super().__init__(signal.Signals(number).name)


def unknown_verb(verb: str, known: Iterable[str]) -> CommandError:
    """The error for a word that is no verb, with the nearest that are."""
    if verb.startswith("-"):
        return CommandError(f"put options behind the verb: hookline VERB {verb}")
    from hookline.nearest import did_you_mean, nearest

    hint = did_you_mean(nearest(verb, known)) or "`hookline --help` lists the verbs"
    return CommandError(f"{verb!r} is not a verb; {hint}")


def report(error: BaseException, *, done: int | None = None) -> int:
    """Say what went wrong, in one sentence, and give the status to exit with.

    ``done`` is the status of a command that had come to its end when its output could not be put
    out. What was printed before goes out in any case.
    """
    if done is not None and isinstance(error, OSError):
        return unwritten(error, done)
    lost = _put_out()
    if lost is None:
        return _told(error)
    # It may be the very error that is to be reported.
    status = FAILED if isinstance(error, OSError) else _told(error)
    return unwritten(lost, status)


def unwritten(error: OSError, status: int) -> int:
    """The status of a command whose output was lost: a block stays a block, success is none."""
    discard(sys.stdout)
    if isinstance(error, BrokenPipeError):
        return status
    _say(f"hookline: standard output cannot be written: {error.strerror or error}")
    return status or FAILED


def _put_out() -> OSError | None:
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError as error:
        return error
    return None


def _told(error: BaseException) -> int:
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else 0
    if isinstance(error, KeyboardInterrupt):
        number = error.number if isinstance(error, Interrupted) else signal.SIGINT
        return 128 + number
    if isinstance(error, BrokenPipeError):
        discard(sys.stdout)
        return FAILED
    _say(f"hookline: {_sentence(error)}")
    return FAILED


def discard(stream: TextIO | None) -> None:
    """Send the rest of a stream nowhere, so that the interpreter's own last flush cannot fail."""
    if stream is None:
        return
    try:
        descriptor = stream.fileno()
    except (OSError, ValueError):
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, descriptor)
    os.close(nowhere)


def _sentence(error: BaseException) -> str:
    if isinstance(error, HooklineError):
        return str(error)
    if isinstance(error, OSError) and error.strerror:
        where = f"{error.filename}: " if error.filename else "cannot go on: "
        return where + error.strerror
    import traceback

    frames = traceback.extract_tb(error.__traceback__)
    place = f" ({os.path.basename(frames[-1].filename)}:{frames[-1].lineno})" if frames else ""
    return f"an error of its own, please report it: {type(error).__name__}: {error}{place}"


def _say(text: str) -> None:
    if sys.stderr is None:
        return
    from hookline.cli.text import printable

    try:
        print(printable(text), file=sys.stderr, flush=True)
    except OSError:
        discard(sys.stderr)
