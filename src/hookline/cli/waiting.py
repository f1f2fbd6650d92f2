"""A line for people who wait: which hooks are still running, and for how long already."""

import contextlib
import os
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, TextIO

from hookline.cli.progress import Progress
from hookline.pipeline.runner.loop import Loop

if TYPE_CHECKING:
    from hookline.pipeline.runner.runner import RunningHook

_FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_PLAIN_FRAMES = "|/-\\"
_FRAME_SECONDS = 0.1
_NAMED = 3


class Waiting:
    """Is on the terminal from now until ``end``; ``running`` changes as hooks come and go."""

    def __init__(self, stream: TextIO | None, loop: Loop, running: "Sequence[RunningHook]") -> None:
        self._stream = stream
        self._line = Progress(stream)
        self._loop = loop
        self._running = running
        self._shown = 0
        self._is_halted = False
        self._tick()

    def halt(self) -> None:
        """Draw nothing from now on; it may be called in the middle of anything."""
        self._is_halted = True

    def end(self) -> None:
        """Leave the terminal as if nothing had been there."""
        self.halt()
        # A terminal that has gone needs no clearing, and hooks still have to be stopped.
        with contextlib.suppress(OSError):
            self._line.clear()

    def _tick(self) -> None:
        if self._is_halted:
            return
        self._loop.call_at(self._loop.time() + _FRAME_SECONDS, self._tick)
        with contextlib.suppress(OSError):
            if self._running and _is_in_foreground(self._stream):
                self._line.show(f"{self._frame()} {told(self._running, now=time.monotonic())}")

    def _frame(self) -> str:
        encoding = getattr(self._stream, "encoding", None) or ""
        frames = _FRAMES if encoding.lower().startswith("utf") else _PLAIN_FRAMES
        self._shown += 1
        return frames[self._shown % len(frames)]


def told(running: "Sequence[RunningHook]", *, now: float) -> str:
    """How long it takes already, then who: the line may be too short for all of them."""
    hooks = [hook for hook, _ in running]
    waited = _seconds(now - min(since for _, since in running))
    if len(hooks) == 1:
        return f"{waited} of {_seconds(hooks[0].timeout / 1000)}  {hooks[0].name}"
    more = f" and {len(hooks) - _NAMED} more" if len(hooks) > _NAMED else ""
    return f"{waited}  {', '.join(hook.name for hook in hooks[:_NAMED])}{more}"


def _seconds(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"


def _is_in_foreground(stream: TextIO | None) -> bool:
    """Whether the terminal is this command's: one in the background leaves it to others."""
    try:
        return stream is not None and os.tcgetpgrp(stream.fileno()) == os.getpgrp()
    except OSError:
        return True
