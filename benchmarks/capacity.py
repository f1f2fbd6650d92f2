"""Processor time and memory that one request and one agent cost each part: what docs/scale.md
counts with. Run it as a script; it reads ``/proc``, so on Linux only.
"""

import asyncio
import json
import os
import socket
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

_REQUESTS = 6_000
_COMMANDS = 2_000
_CONNECTIONS = 5_000
_PLACES = 8
_TOO_MANY = 8 * _PLACES
_EVENT = "BeforeTool"
_INPUT = {"tool_name": "read_file", "tool_input": {"path": "src/main.py", "limit": 200}}
_TICK = os.sysconf("SC_CLK_TCK")


class Cost(NamedTuple):
    """Microseconds of processor time for each request, by part, and requests a second."""

    agent: float
    server: float
    worker: float
    rate: float

    def __str__(self) -> str:
        return (
            f"agent {self.agent:.0f} µs, server {self.server:.0f} µs, worker {self.worker:.0f} µs;"
            f" {self.rate:.0f} requests a second"
        )


def main() -> None:
    """Measure and print."""
    from benchmarks.bus import start, start_workers
    from benchmarks.bus_answering import HOOKED
    from tests.natsserver import nats_server

    with tempfile.TemporaryDirectory() as made, ExitStack() as stack:
        scratch = Path(made)
        server = stack.enter_context(nats_server(scratch / "nats"))
        pid = _pid_of(server)
        answering = Path(__file__).with_name("bus_answering.py")
        process = start([sys.executable, str(answering), server.url], stack, cwd=scratch)
        measured = _Measured(server.url, pid)
        measured.tell("an in-process hook", HOOKED, process.pid, _REQUESTS, at_once=_TOO_MANY)
        project = _project(scratch / "serving")
        bus = f"{server.url}?prefix=command"
        (worker,) = start_workers(bus, 1, stack, cwd=project, concurrency=_PLACES)
        for name, at_once in (("", _PLACES - 2), (", the worker full", _TOO_MANY)):
            hook = f"a command hook (sh){name}"
            measured.tell(hook, "command", worker.pid, _COMMANDS, at_once=at_once)
        _tell_connections(server.port, pid)
        print(f"messages, there and back: {_message_bytes()} bytes of JSON")


def _project(project: Path) -> Path:
    settings = project / ".hookline" / "settings.json"
    settings.parent.mkdir(parents=True)
    script = project / "hook.sh"
    script.write_text("#!/bin/sh\nread -r event\necho {}\n")
    script.chmod(0o755)
    hook = {"type": "command", "command": "./hook.sh"}
    settings.write_text(json.dumps({"hooks": {_EVENT: [{"hooks": [hook]}]}}))
    return project


class _Measured(NamedTuple):
    url: str
    server: int

    def tell(self, what: str, prefix: str, worker: int, requests: int, *, at_once: int) -> None:
        cost = asyncio.run(self._cost(prefix, worker, requests, at_once))
        print(f"{what}: {cost}", flush=True)

    async def _cost(self, prefix: str, worker: int, requests: int, at_once: int) -> Cost:
        from hookline.bus.nats import NatsMessageBus

        parts = (os.getpid(), self.server, worker)
        async with NatsMessageBus(self.url, prefix=prefix) as bus:
            await _ask_all(bus, at_once, at_once)
            before, started = [_cpu(part) for part in parts], time.perf_counter()
            await _ask_all(bus, requests, at_once)
            seconds = time.perf_counter() - started
            after = [_cpu(part) for part in parts]
        agent, server, work = (
            (now - was) * 1e6 / requests for now, was in zip(after, before, strict=True)
        )
        return Cost(agent, server, work, requests / seconds)


async def _ask_all(bus: Any, requests: int, at_once: int) -> None:
    from hookline.bus import request_hook_execution

    left = iter(range(requests))

    async def work() -> None:
        for _ in left:
            response = await request_hook_execution(bus, _EVENT, _INPUT)
            assert response["success"], response

    await asyncio.gather(*(work() for _ in range(at_once)))


def _pid_of(server: Any) -> int:
    return int(server._process.pid)


def _cpu(pid: int) -> float:
    """Seconds of processor time of a process and the children it has waited for."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    return sum(map(int, fields[11:15])) / _TICK


def _resident(pid: int) -> int:
    pages = Path(f"/proc/{pid}/statm").read_text().split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


@contextmanager
def _connected(port: int, count: int) -> Iterator[None]:
    """Connect idle agents: each has a connection with one subscription."""
    with ExitStack() as stack:
        for number in range(count):
            agent = stack.enter_context(socket.create_connection(("127.0.0.1", port)))
            inbox = f"hookline.inbox.{number:032}.*"
            agent.sendall(f"CONNECT {{}}\r\nSUB {inbox} 1\r\nPING\r\n".encode())
            while b"PONG" not in agent.recv(4096):
                pass
        yield


def _tell_connections(port: int, pid: int) -> None:
    memory, cpu = _resident(pid), _cpu(pid)
    with _connected(port, _CONNECTIONS):
        held = (_resident(pid) - memory) / _CONNECTIONS / 1024
        took = (_cpu(pid) - cpu) * 1e6 / _CONNECTIONS
    print(f"a connection to the server: {held:.1f} KiB while it is there, {took:.0f} µs to make")


def _message_bytes() -> int:
    from benchmarks.bus_answering import RESPONSE
    from hookline.bus.messages import make_request
    from hookline.wire import codec

    request = make_request(_EVENT, _INPUT, RESPONSE["correlationId"])
    return len(codec.encode(request)) + len(codec.encode(RESPONSE))


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))
    main()
