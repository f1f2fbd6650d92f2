"""What people must see goes to Python's ``logging`` as ``hookline``, which the first of it loads.

A command has nobody to read a log: it hears the warnings itself, and shows them in their place.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

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
    """What this process is warned of in the meantime, one text each, instead of logging it."""
    heard: list[str] = []
    _listeners.append(heard.append)
    try:
        yield heard
    finally:
        _listeners.pop()
