"""A network that can be broken: it forwards bytes, delays them, loses them or hangs up.

What loses bytes hangs up afterwards, as TCP never goes on with a gap.
"""

import asyncio
import contextlib


class Proxy:
    """Listens on a free port and forwards to another, both on this machine."""

    def __init__(self) -> None:
        self.port = 0
        self._target = 0
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._writers: set[asyncio.StreamWriter] = set()
        self._passing = asyncio.Event()
        self._passing.set()
        self._is_losing = self._is_cut = False

    async def open(self, target: int) -> None:
        """Start to forward to a port."""
        self._target = target
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]

    async def close(self) -> None:
        """Hang up and stop listening."""
        self._is_cut = True
        if self._server is not None:
            self._server.close()
        await self._hang_up()

    async def stall(self, seconds: float) -> None:
        """Delay everything, and forward it later."""
        self._passing.clear()
        await asyncio.sleep(seconds)
        self._passing.set()

    async def lose(self, seconds: float) -> None:
        """Lose everything, then hang up."""
        self._is_losing = True
        await asyncio.sleep(seconds)
        await self._hang_up()
        self._is_losing = False

    async def cut(self, seconds: float) -> None:
        """Hang up, and refuse new connections for a while."""
        self._is_cut = True
        await self._hang_up()
        await asyncio.sleep(seconds)
        self._is_cut = False

    async def _hang_up(self) -> None:
        for writer in self._writers:
            writer.transport.abort()
        tasks = set(self._tasks)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._is_cut:
            writer.transport.abort()
            return
        task = asyncio.get_running_loop().create_task(self._connect(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        ends = {writer}
        self._writers.add(writer)
        try:
            answers, onward = await asyncio.open_connection("127.0.0.1", self._target)
            ends.add(onward)
            self._writers.add(onward)
            async with asyncio.TaskGroup() as group:
                group.create_task(self._pass_on(reader, onward))
                group.create_task(self._pass_on(answers, writer))
        except* OSError:
            pass
        finally:
            self._writers -= ends
            for end in ends:
                end.transport.abort()

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while chunk := await reader.read(65_536):
            await self._passing.wait()
            if not self._is_losing:
                writer.write(chunk)
                await writer.drain()
        # A connection ends in both directions at once.
        with contextlib.suppress(OSError):
            writer.transport.abort()
