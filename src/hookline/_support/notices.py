"""Warnings go to Python's ``logging`` as ``hookline``, or to stderr in a program without it.

Nobody reads a command's log, so a command collects the warnings itself and shows them. They contain
texts of hooks and requests, so in a log each is one line without control characters. A warning may
be about a process that has no descriptor or memory left, so it imports nothing and raises nothing.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from hookline._support.escapes import one_line as one_line
from hookline.errors import describe, message_of


class Notice(str):
    """A warning with its kind and its hook, for screens that show these separately.

    ``kind`` is "hook-failed", "worker-hook-failed" or "event-failed", "told-user" for what a hook
    tells the user, "" for any other; ``hook`` is the name of the hook that it is about.
    """

    kind = ""
    hook = ""

    def __new__(cls, text: str, kind: str, hook: str = "") -> "Notice":
        notice = super().__new__(cls, text)
        notice.kind, notice.hook = kind, hook
        return notice


_listeners: list[Callable[[str], None]] = []


def warn(message: str, *, error: BaseException | None = None) -> None:
    """Log a warning; ``error`` is the exception that caused it."""
    with suppress(Exception):
        if _listeners:
            _listeners[-1](message if error is None else f"{message}: {message_of(error)}")
        elif "logging" in sys.modules:
            _log(message, error)
        else:
            # Nobody has set up logging, which would write the message to stderr too.
            line = message if error is None else f"{message}: {describe(error)}"
            sys.stderr.write(one_line(line) + "\n")


def _log(message: str, error: BaseException | None) -> None:
    logging = sys.modules["logging"]
    logger = logging.getLogger("hookline")
    if error is None:
        logger.warning(one_line(message))
    elif logger.isEnabledFor(logging.WARNING):
        why = (type(error), error, error.__traceback__)
        code = _log.__code__
        where = (code.co_filename, code.co_firstlineno)
        record = logger.makeRecord(
            logger.name, logging.WARNING, *where, one_line(message), (), why, code.co_name
        )
        # Handlers show this text instead of formatting the error themselves.
        record.exc_text = describe_traceback(error)
        logger.handle(record)


def describe_traceback(error: BaseException) -> str:
    """Return an error's traceback as Python shows it, but with the error's message on one line."""
    # Whoever has loaded logging has loaded this too.
    import traceback

    lines: list[str] = []
    for part in traceback.format_exception(error):
        is_of_python = part.startswith(('  File "', "Traceback "))
        lines += part.splitlines() if is_of_python else [part.rstrip("\n")]
    return "\n".join(map(one_line, lines))


@contextmanager
def heard_warnings() -> Iterator[list[str]]:
    """Collect this process's warnings instead of logging them; some of them are a Notice."""
    messages: list[str] = []
    _listeners.append(messages.append)
    try:
        yield messages
    finally:
        _listeners.pop()
