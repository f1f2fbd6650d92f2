"""A line that is written over as work goes on, for people at a terminal alone."""

import contextlib
import os
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, TextIO

from hookline.cli.screen import head, printable, terminal_width, width_of

if TYPE_CHECKING:
    from hookline.pipeline.runner.loop import Loop
    from hookline.pipeline.runner.runner import RunningHook

# What a terminal puts behind the text for a Ctrl-C: ^C.
_ECHO = 2
_FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_PLAIN_FRAMES = "|/-\\"
_FRAME_SECONDS = 0.1
_NAMED = 3


class Progress:
    """Shows one short text at a time on a terminal; anywhere else nothing at all.

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
        """Put a text in the place of the last one."""
        if self._stream is None:
            return
        encoding = self._stream.encoding or "utf-8"
        text = printable(text).replace("\n", " ").encode(encoding, "replace").decode(encoding)
        # The last column stays free: a line that wraps cannot be written over.
        text = head(text, terminal_width(self._stream) - 1)
        width = width_of(text)
        self._stream.write(f"\r{text}{' ' * (self._width - width)}")
        self._stream.flush()
        self._width = width

    def clear(self) -> None:
        """Leave the line as if nothing had been there."""
        if self._stream is not None and self._width:
            blank = min(self._width + _ECHO, terminal_width(self._stream) - 1)
            self._stream.write(f"\r{' ' * blank}\r")
            self._stream.flush()
            self._width = 0


class Waiting:
    """Says which hooks are still running, and for how long already, from now until ``end``;
    ``running`` changes as hooks come and go."""

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
        if self._stream is None or not self._running:
            return
        try:
            is_ours = os.tcgetpgrp(self._stream.fileno()) == os.getpgrp()
        except OSError:
            is_ours = True
        with contextlib.suppress(OSError):
            # A command in the background leaves the terminal to others.
            if is_ours:
                self._shown += 1
                frame = self._frames[self._shown % len(self._frames)]
                self._line.show(f"{frame} {describe(self._running, now=time.monotonic())}")


def describe(running: "Sequence[RunningHook]", *, now: float) -> str:
    """How long it takes already, then who: the line may be too short for all of them."""

    def said(seconds: float) -> str:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"

    hooks = [hook for hook, _ in running]
    waited = said(now - min(since for _, since in running))
    if len(hooks) == 1:
        return f"{waited} of {said(hooks[0].timeout / 1000)}  {hooks[0].name}"
    more = f" and {len(hooks) - _NAMED} more" if len(hooks) > _NAMED else ""
    return f"{waited}  {', '.join(hook.name for hook in hooks[:_NAMED])}{more}"
