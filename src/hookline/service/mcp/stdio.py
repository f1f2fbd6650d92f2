"""An MCP server that runs as a child: it and all that it starts end with the proxy, even if the
proxy is killed."""

import asyncio
import contextlib
import os
import signal
from collections.abc import Sequence

from hookline._support.notices import warn
from hookline.errors import HooklineError
from hookline.runner.guard import Guardian
from hookline.runner.invocation import explain_spawn_failure
from hookline.runner.session import Sessions
from hookline.runner.spawning import launch, watch_exit
from hookline.service.mcp.lines import Lines, MessageReader, MessageTooLong, Outlet
from hookline.service.mcp.messages import Fault, Message
from hookline.service.mcp.server import ServerGone

# Seconds that a server has to end after its input ended, and after SIGTERM; and that processes it
# left behind have for their last output.
END_GRACE = 2.0
TERM_GRACE = 1.5
_DRAIN = 0.1
_PAUSE = 0.02


class ServerNotStarted(HooklineError):
    """The server could not start; the message says why and what to do."""


class StdioServer:
    """A server as a process of its own session, with this process's environment, working directory
    and standard error."""

    # Its session ends with it.
    lost_sessions = 0

    def __init__(self, command: Sequence[str]) -> None:
        """Start the server, in a running event loop; raises ServerNotStarted."""
        cwd, env = os.getcwd(), dict(os.environ)
        ends: list[int] = []
        try:
            ends += os.pipe()
            ends += os.pipe()
            stdin, ours_in, ours_out, stdout = ends
            # It shares our standard error, if that is open.
            ends.append(os.dup(2) if _is_open(2) else os.open(os.devnull, os.O_WRONLY))
            streams = (stdin, stdout, ends[-1])
            self._pid = launch(command, command[0], cwd=cwd, env=env, streams=streams)
            ends = [stdin, stdout, ends[-1]]
        except Exception as error:
            why = explain_spawn_failure(error, command, cwd, env)
            raise ServerNotStarted(f"cannot start {command[0]!r}: {why}") from error
        finally:
            for end in ends:
                os.close(end)
        loop = asyncio.get_running_loop()
        self._guard = Guardian(lambda why: warn(why.replace("hooks", "the MCP server", 1)))
        self._guard.watch(self._pid)
        self._lines = Lines(ours_out)
        self._messages = MessageReader(self._lines)
        self._outlet = Outlet(ours_in)
        self._code: int | None = None
        # The status from waitpid; None if other code collected it first.
        self._ended: asyncio.Future[int | None] = loop.create_future()
        self._watch = watch_exit(self._pid, loop, self._on_exit)

    async def send(self, message: Message) -> None:
        """Send a message; raises ServerGone."""
        self._outlet.write(message.raw)
        await self._outlet.drain()
        if self._outlet.lost is not None:
            raise ServerGone("the MCP server takes no more messages")

    async def receive(self) -> Message | Fault | None:
        """Return the next message; raises ServerGone after a line that is too long."""
        try:
            return await self._messages.next()
        except MessageTooLong as error:
            raise ServerGone(f"the MCP server sent {error}") from None

    async def close(self) -> int:
        """Close its input, then end the server, then all that it started."""
        if self._code is not None:
            return self._code
        loop = asyncio.get_running_loop()
        deadline = loop.time() + END_GRACE
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._outlet.drain(below=0), END_GRACE)
        self._outlet.close()
        await asyncio.wait([self._ended], timeout=max(deadline - loop.time(), _PAUSE))
        sessions = Sessions([self._pid])
        for pause in sessions.freeze():
            await asyncio.sleep(pause)
        # A stopped process handles SIGTERM only when it continues.
        sessions.signal(signal.SIGTERM)
        sessions.signal(signal.SIGCONT)
        deadline = loop.time() + TERM_GRACE
        while sessions.remain() and loop.time() < deadline:  # noqa: ASYNC110  # there is no event to wait for
            await asyncio.sleep(_PAUSE)
        for pause in sessions.kill():
            await asyncio.sleep(pause)
        await asyncio.wait([self._ended], timeout=TERM_GRACE)
        self._watch.close()
        self._guard.release(self._pid)
        self._guard.close()
        # Its last output may still be in the pipe.
        self._lines.finish()
        status = self._ended.result() if self._ended.done() else signal.SIGKILL
        code = 1 if status is None else os.waitstatus_to_exitcode(status)
        self._code = code if code >= 0 else 128 - code
        return self._code

    def _on_exit(self, status: int | None) -> None:
        self._ended.set_result(status)
        asyncio.get_running_loop().call_later(_DRAIN, self._lines.abandon)


def _is_open(fd: int) -> bool:
    try:
        os.fstat(fd)
    except OSError:
        return False
    return True
