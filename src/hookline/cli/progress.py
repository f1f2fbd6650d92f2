"""A progress line that is overwritten as work goes on, shown only on a terminal."""

import contextlib
import os
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, TextIO

from hookline.cli.screen import head, printable, terminal_width, width_of

if TYPE_CHECKING:
    from hookline.runner.loop import Loop
    from hookline.runner.runner import RunningHook

# The width of ^C, which a terminal prints after the text on Ctrl-C.
_ECHO = 2
_FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_PLAIN_FRAMES = "|/-\\"
_FRAME_SECONDS = 0.1
_NAMED = 3


class Progress:
    """Shows one short text at a time on a terminal; elsewhere it shows nothing.

    ``with`` clears it however the work ends.
    """

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = stream if stream is not None and stream.isatty() else None
        self._width = 0

    def __enter__(self) -> "Progress":
        return self

    def __exit__(self, *_how: object) -> None:
        self.clear()

    def show(self, text: str) -> None:
        """Replace the last text with this one."""
        if self._stream is None:
            return
        encoding = self._stream.encoding or "utf-8"
        text = printable(text).replace("\n", " ").encode(encoding, "replace").decode(encoding)
        # The last column stays free: a line that wraps cannot be overwritten.
        text = head(text, terminal_width(self._stream) - 1)
        width = width_of(text)
        self._stream.write(f"\r{text}{' ' * (self._width - width)}")
        self._stream.flush()
        self._width = width

    def clear(self) -> None:
        """Erase the line."""
        if self._stream is not None and self._width:
            blank = min(self._width + _ECHO, terminal_width(self._stream) - 1)
            self._stream.write(f"\r{' ' * blank}\r")
            self._stream.flush()
            self._width = 0


class Waiting:
    """Shows which hooks are still running, and for how long, from now until ``end``; the caller
    updates ``running`` as hooks start and end."""

    def __init__(
        self, stream: TextIO | None, loop: "Loop", running: "Sequence[RunningHook]"
    ) -> None:
        self._stream = stream
        self._line = Progress(stream)
        self._loop = loop
        self._running = running
        encoding = getattr(stream, "encoding", None) or ""
        self._frames = _FRAMES if encoding.lower().startswith("utf") else _PLAIN_FRAMES
        self._shown = 0
        self._is_halted = False
        self._draw_frame()

    def halt(self) -> None:
        """Draw nothing from now on; it may be called in the middle of anything."""
        self._is_halted = True

    def end(self) -> None:
        """Stop drawing and erase the line."""
        self.halt()
        # The terminal may be gone, and hooks still have to be stopped.
        with contextlib.suppress(OSError):
            self._line.clear()

    def _draw_frame(self) -> None:
        if self._is_halted:
            return
        self._loop.call_at(self._loop.time() + _FRAME_SECONDS, self._draw_frame)
        if self._stream is None or not self._running:
            return
        try:
            is_ours = os.tcgetpgrp(self._stream.fileno()) == os.getpgrp()
        except OSError:
            is_ours = True
        with contextlib.suppress(OSError):
            # A background command must not write to the terminal.
            if is_ours:
                self._shown += 1
                frame = self._frames[self._shown % len(self._frames)]
                self._line.show(f"{frame} {describe(self._running, now=time.monotonic())}")


def describe(running: "Sequence[RunningHook]", *, now: float) -> str:
    """Return the time so far, then the hooks: the line may be too short for all of their names."""

    def show(seconds: float) -> str:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"

    hooks = [hook for hook, _ in running]
    waited = show(now - min(since for _, since in running))
    if len(hooks) == 1:
        return f"{waited} of {show(hooks[0].timeout / 1000)}  {hooks[0].name}"
    more = f" and {len(hooks) - _NAMED} more" if len(hooks) > _NAMED else ""
    return f"{waited}  {', '.join(hook.name for hook in hooks[:_NAMED])}{more}"
