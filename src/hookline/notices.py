"""What people must see goes to Python's ``logging`` as ``hookline``, which the first of it loads.

A command has nobody to read a log: it hears the warnings itself, and shows them in their place.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Notice(str):
    """A warning that says what it is about, for who shows that in a place of its own.

    ``kind`` is "hook-failed" or "event-failed", "" for any other.
    """

    kind = ""

    def __new__(cls, text: str, kind: str) -> "Notice":
        notice = super().__new__(cls, text)
        notice.kind = kind
        return notice


_listeners: list[Callable[[str], None]] = []


def warn(message: str, *, error: BaseException | None = None) -> None:
    """Say something that people must see; ``error`` is what it comes from."""
    if _listeners:
        _listeners[-1](message if error is None else f"{message}: {error}")
        return
    import logging

    logging.getLogger("hookline").warning(message, exc_info=error)


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
