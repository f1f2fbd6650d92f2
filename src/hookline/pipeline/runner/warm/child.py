"""A process that was forked for a call, whose end is told to us by others: it is not our child."""

from collections.abc import Callable
from socket import send_fds, socket
from typing import ClassVar

from hookline.pipeline.runner.loop import Loop
from hookline.pipeline.runner.pipes import open_pipes
from hookline.pipeline.runner.spawning import ExitWatch, Report

STATUS_BYTES = 4


class WarmChild:
    """The process, our ends of its pipes, and the channel on which its status comes."""

    __slots__ = ("_channel", "_on_over", "pid", "stderr", "stdin", "stdout")

    unseen: ClassVar[str] = (
        "the interpreter that it was forked from was killed; the next call starts a new one"
    )

    def __init__(
        self,
        pid: int,
        channel: socket,
        streams: tuple[int, int, int],
        *,
        on_over: Callable[[], None],
    ) -> None:
        self.pid = pid
        self.stdin, self.stdout, self.stderr = streams
        self._channel = channel
        self._on_over = on_over

    def watch(self, loop: Loop, report: Report) -> ExitWatch:
        """Have its end reported; whoever forked it reaps it."""
        return ChannelWatch(self._channel, loop, report, on_over=self._on_over)

    def abandon(self) -> None:
        """Nobody will watch it."""
        self._channel.close()
        self._on_over()


class ChannelWatch:
    """Waits for a status on a channel; one that closes without was cut off by a kill."""

    def __init__(
        self, channel: socket, loop: Loop, report: Report, *, on_over: Callable[[], None]
    ) -> None:
        self._channel = channel
        self._loop = loop
        self._report = report
        self._on_over = on_over
        self._is_open = True
        loop.add_reader(channel.fileno(), self.poll)

    def poll(self) -> None:
        if not self._is_open:
            return
        try:
            said = self._channel.recv(STATUS_BYTES)
        except BlockingIOError:
            return
        except OSError:
            said = b""
        self.close()
        self._report(int.from_bytes(said, "big") if len(said) == STATUS_BYTES else None)

    def close(self) -> None:
        if self._is_open:
            self._is_open = False
            self._loop.remove_reader(self._channel.fileno())
            self._channel.close()
            self._on_over()


class Spare:
    """A fork that waits for its request."""

    __slots__ = ("channel", "pid")

    def __init__(self, pid: int, channel: socket) -> None:
        self.pid = pid
        self.channel = channel

    def begin(self, request: bytes, *, on_over: Callable[[], None]) -> WarmChild:
        """Have it run; raises OSError if it cannot be told to, and then it never runs."""
        message = len(request).to_bytes(4, "big") + request
        with open_pipes() as (theirs, ours):
            if send_fds(self.channel, [message], theirs) != len(message):
                raise BlockingIOError("the environment is longer than a warm hook can be given")
            return WarmChild(self.pid, self.channel, ours, on_over=on_over)
