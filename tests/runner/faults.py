"""Has one call of the system fail, the first or the tenth, as on a machine without resources."""

import errno
import fcntl
import mmap
import os
import selectors
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from hookline.runner import spawning
from hookline.runner.warm import interpreter

# What takes a descriptor, a process, a thread or memory, and where it is looked up.
_CALLS: list[tuple[Any, str]] = [
    *((os, name) for name in ("pipe", "set_blocking", "pidfd_open", "memfd_create", "posix_spawn")),
    *((os, name) for name in ("open", "pwrite", "listdir")),
    (fcntl, "fcntl"),
    (mmap, "mmap"),
    (spawning, "_fork_exec"),
    (subprocess, "_fork_exec"),
    (selectors.DefaultSelector, "register"),
    (threading.Thread, "start"),
    (interpreter, "socketpair"),
    (interpreter, "send_fds"),
]
_CODES = (errno.EMFILE, errno.EAGAIN, errno.ENOMEM)


class Faults:
    """Counts calls of all threads; ``failed`` is the one that was made to fail."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self._count = 0
        self._failing = 0
        self.failed: str | None = None
        for owner, name in _CALLS:
            original = getattr(owner, name, None)
            if original is not None:
                patch.setattr(owner, name, self._failing_call(name, original))

    @contextmanager
    def at(self, number: int) -> Iterator[None]:
        """Have the call of that number fail."""
        self._count, self._failing, self.failed = 0, number, None
        try:
            yield
        finally:
            self._failing = 0

    def _failing_call(self, name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            self._count += 1
            if self._count != self._failing:
                return original(*args, **kwargs)
            self.failed = name
            if name == "start":
                raise RuntimeError("can't start new thread")
            code = _CODES[self._count % len(_CODES)]
            raise OSError(code, os.strerror(code))

        return call
