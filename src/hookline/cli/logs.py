"""The log of a verb that serves, on standard error."""

import logging
import os
import sys

from hookline._support.escapes import one_line
from hookline._support.secrets import Secrets


class _Formatter(logging.Formatter):
    """A record is one line, whatever a hook, a request or a server put into it, and has no secret
    of this process's environment in it."""

    def format(self, record: logging.LogRecord) -> str:
        """The line of a record."""
        return one_line(Secrets(os.environ).hidden(super().format(record)))


def make_handler(line: str) -> logging.Handler:
    """What writes records to standard error; ``line`` is the form of each, as logging has it."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Formatter(line))
    return handler
