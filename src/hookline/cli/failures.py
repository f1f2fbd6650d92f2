"""What a command exits with, and the one sentence on stderr that says why it failed."""

import os
import signal
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

from hookline.cli.screen import Screen, break_command, discard, shorten_path, terminal_width
from hookline.errors import HooklineError

if TYPE_CHECKING:
    from hookline._support.problem import Problem
    from hookline.settings.reader import EffectiveSettings

# Exit statuses: the command failed; hooks block or stop; a hook asks for confirmation. 0 is go on.
FAILED = 1
BLOCKED = 2
ASKS = 3

CHECK_HINT = "`hookline check` says what to fix"


class CommandError(HooklineError):
    """The command cannot do what was asked; the message says what to do instead."""


class Interrupted(KeyboardInterrupt):
    """A signal ended the command; what it ran has been stopped."""

    def __init__(self, number: int) -> None:
        self.number = number
        super().__init__(signal.Signals(number).name)


def unknown_verb(verb: str, verbs: Iterable[str]) -> CommandError:
    """The error for an unknown verb, with the nearest ones."""
    if verb.startswith("-"):
        return CommandError(f"options come after the verb: hookline VERB {verb}")
    from hookline._support.nearest import did_you_mean, nearest

    hint = did_you_mean(nearest(verb, verbs)) or "`hookline --help` lists the verbs"
    return CommandError(f"{verb!r} is not a verb; {hint}")


def unknown_hook(name: str, settings: "EffectiveSettings", screen: Screen) -> CommandError:
    """The error for an unknown hook, with the nearest names. A problem in the settings may be the
    cause, so problems are shown first."""
    is_broken = tell_problems(screen, settings.problems)
    names = list(dict.fromkeys(entry.name for entry in settings.entries))
    if not names:
        hint = CHECK_HINT if is_broken else "`hookline init` makes a first one"
        return CommandError(f"no hook is named {name!r}, as no hooks are configured; {hint}")
    from hookline._support.nearest import did_you_mean, nearest

    hint = did_you_mean(nearest(name, names)) or "`hookline list` shows the names"
    return CommandError(f"no hook is named {name!r}; {hint}")


def tell_problems(screen: Screen, problems: "Iterable[Problem]") -> bool:
    """Warn of problems in the settings, except of missing trust, which verbs report themselves.
    Return True if there are any, so that hooks may be missing."""
    reported = [problem for problem in problems if problem.kind != "untrusted"]
    for problem in reported:
        screen.warning(shorten_path(str(problem)))
    return bool(reported)


def report(error: BaseException, *, status_so_far: int | None = None) -> int:
    """Say in one sentence what went wrong, and return the exit status.

    ``status_so_far`` is that of a command that had finished when its output could not be written.
    What was printed before is flushed in any case.
    """
    if status_so_far is not None and isinstance(error, OSError):
        return report_unwritten(error, status_so_far)
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError as lost:
        # It may be the very error that is to be reported.
        status = FAILED if isinstance(error, OSError) else _report(error)
        return report_unwritten(lost, status)
    return _report(error)


def report_unwritten(error: OSError, status: int) -> int:
    """Return the status of a command whose output was lost: a block stays a block, a success
    becomes a failure."""
    discard(sys.stdout)
    if isinstance(error, BrokenPipeError):
        return status
    _say(f"standard output cannot be written: {error.strerror or error}")
    return status or FAILED


def _report(error: BaseException) -> int:
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else 0
    if isinstance(error, KeyboardInterrupt):
        return 128 + (error.number if isinstance(error, Interrupted) else signal.SIGINT)
    if isinstance(error, BrokenPipeError):
        discard(sys.stdout)
    elif isinstance(error, HooklineError):
        _say(str(error))
    elif isinstance(error, OSError) and error.strerror:
        where = f"{error.filename}: " if error.filename else "cannot go on: "
        _say(where + error.strerror)
    else:
        import traceback

        frames = traceback.extract_tb(error.__traceback__)
        place = f" ({os.path.basename(frames[-1].filename)}:{frames[-1].lineno})" if frames else ""
        _say(f"internal error, please report it: {type(error).__name__}: {error}{place}")
    return FAILED


def _say(text: str) -> None:
    screen = Screen(None, sys.stderr)
    message, separator, command = text.partition("; try: ")
    if separator and sys.stderr is not None and sys.stderr.isatty():
        # To be copied, so that it must not be wrapped between words.
        lines = break_command(command, width=terminal_width(sys.stderr) - 2)
        screen.note(f"hookline: {message}; try:")
        for line in lines:
            screen.note(f"  {line}")
    else:
        screen.note(f"hookline: {text}")
