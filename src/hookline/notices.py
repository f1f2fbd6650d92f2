"""What people must see goes to Python's ``logging`` as ``hookline``, which the first of it loads.

A command has nobody to read a log: it hears the warnings itself, and shows them in their place.
Texts of hooks and requests stand in them, so in a log each is one line, and steers no terminal.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Notice(str):
    """A warning that says what it is about, for who shows that in a place of its own.

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
    """Say something that people must see; ``error`` is what it comes from."""
    if _listeners:
        _listeners[-1](message if error is None else f"{message}: {error}")
        return
    import logging

    logger = logging.getLogger("hookline")
    if error is None:
        logger.warning(one_line(message))
    elif logger.isEnabledFor(logging.WARNING):
        why = (type(error), error, error.__traceback__)
        code = warn.__code__
        where = (code.co_filename, code.co_firstlineno)
        record = logger.makeRecord(
            logger.name, logging.WARNING, *where, one_line(message), (), why, code.co_name
        )
        # A handler shows this instead of what it would make of the error.
        record.exc_text = describe_traceback(error)
        logger.handle(record)


def one_line(text: str) -> str:
    """The text with everything written out that may end a line or steer a terminal."""
    if text.isprintable():
        return text
    return "".join(
        character
        if character.isprintable() or character == "\u200d"
        else character.encode("unicode_escape").decode("ascii")
        for character in text
    )


def describe_traceback(error: BaseException) -> str:
    """Where an error comes from, as Python shows it, but with what the error says in one line."""
    import traceback

    lines: list[str] = []
    for part in traceback.format_exception(error):
        is_of_python = part.startswith(('  File "', "Traceback "))
        lines += part.splitlines() if is_of_python else [part.rstrip("\n")]
    return "\n".join(map(one_line, lines))


@contextmanager
def heard_warnings() -> Iterator[list[str]]:
    """What this process is warned of in the meantime, one text each, instead of logging it; some
    of them are a Notice."""
    heard: list[str] = []
    _listeners.append(heard.append)
    try:
        yield heard
    finally:
        _listeners.pop()
