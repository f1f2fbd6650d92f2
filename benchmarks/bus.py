"""Measures hooks over a bus: in the process against direct calls, over NATS against bare messages.

Both ends of a message are processes, as they are in use; who answers does it for both sides.
"""

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import IO, Any, cast

from benchmarks import fixtures
from benchmarks.bus_answering import BARE, HOOKED, OURS
from benchmarks.sampling import Group, Loop, Measurement, Run, Workload, awaiting
from hookline import Config, HookSystem
from hookline.bus import InProcessMessageBus, request_hook_execution
from hookline.bus.messages import MessageBus, make_request
from hookline.wire import codec

AT_ONCE = 64
_EVENT = "BeforeTool"
_INPUT: dict[str, Any] = {"tool_name": fixtures.TOOL_NAME, "tool_input": fixtures.TOOL_INPUT}
# A hook that waits, as for another service: work on the processor would not scale with workers.
_WAITS = "sleep 0.05"
_CONCURRENCY = 4
_SOURCE = Path(__file__).parents[1] / "src"


def in_process(loop: Loop) -> Group:
    """The bus of one process, compared with calling its handler."""
    bus = InProcessMessageBus()
    system = HookSystem(Config(), message_bus=bus)
    system.register_hook(_EVENT, _allow)
    system.initialize_blocking()
    handler = system.get_event_handler()
    call = awaiting(loop, handler.fire_before_tool_event, *_INPUT.values())
    over = Workload("in-process hook over the in-process bus", _asking(loop, bus))
    direct = Workload("fire_before_tool_event", call)
    by_name = Workload("fire, the same input checked", awaiting(loop, handler.fire, _EVENT, _INPUT))
    return Group(
        200,
        [
            Measurement(ours=over, baseline=direct, target=3.0),
            Measurement(ours=over, baseline=by_name),
        ],
    )


def over_nats(
    loop: Loop, scratch: Path, stack: ExitStack, *, say: Callable[[str], None]
) -> list[Group]:
    """A round trip, and the throughput of several workers; no groups without NATS."""
    try:
        from tests.natsserver import NatsServer, server_binary

        server_binary()
    except (ImportError, FileNotFoundError) as error:
        say(f"no bus over NATS is measured: {error}")
        return []
    server = NatsServer(scratch / "nats")
    stack.callback(server.stop)
    return [
        _messages(loop, server.url, stack),
        _workers(loop, server.url, scratch / "serving", stack),
    ]


def _messages(loop: Loop, url: str, stack: ExitStack) -> Group:
    program = Path(__file__).with_name("bus_answering.py")
    start([sys.executable, str(program), url], stack, cwd=_SOURCE.parent)
    ours, hooked = (_connected(loop, url, prefix, stack) for prefix in (OURS, HOOKED))
    request = _bare_request(loop, url, stack)
    bare = Workload("bare nats-py, the same bytes", awaiting(loop, request))
    many = Workload(f"bare nats-py, {AT_ONCE} at once", _at_once(loop, request))

    name = f"{AT_ONCE} at once over NATS"
    return Group(
        200,
        [
            Measurement(
                ours=Workload("round trip over NATS", _asking(loop, ours)),
                baseline=bare,
                target=1.3,
            ),
            Measurement(
                ours=Workload("round trip over NATS, in-process hook", _asking(loop, hooked)),
                baseline=bare,
            ),
            Measurement(
                ours=Workload(name, _at_once(loop, partial(_ask, ours))),
                baseline=many,
                unit="ms",
                target=1.5,
            ),
            Measurement(
                ours=Workload(f"{name}, in-process hook", _at_once(loop, partial(_ask, hooked))),
                baseline=many,
                unit="ms",
            ),
        ],
    )


def _workers(loop: Loop, url: str, project: Path, stack: ExitStack) -> Group:
    """Requests whose hook waits, to one worker, two and four, against the wait alone."""
    settings = project / ".hookline" / "settings.json"
    settings.parent.mkdir(parents=True)
    hook = {"type": "command", "name": "waits", "command": _WAITS}
    settings.write_text(json.dumps({"hooks": {_EVENT: [{"hooks": [hook]}]}}))
    counts = (1, 2, 4)
    for count in counts:
        bus = f"{url}?prefix=bench-{count}"
        start_workers(bus, count, stack, cwd=project, concurrency=_CONCURRENCY)
    busses = {count: _connected(loop, url, f"bench-{count}", stack) for count in counts}
    one, two, four = (
        Workload(
            f"{AT_ONCE} at once, hook waits 50 ms, {_workers_named(count)}",
            _at_once(loop, partial(_ask, bus)),
        )
        for count, bus in busses.items()
    )
    ideal = Workload("the waits alone", _only_waiting(loop))
    return Group(
        8,
        [
            Measurement(ours=one, baseline=ideal, unit="ms"),
            Measurement(ours=two, baseline=one, unit="ms"),
            Measurement(ours=four, baseline=one, unit="ms"),
        ],
        batch=1,
    )


def _workers_named(count: int) -> str:
    return "1 worker" if count == 1 else f"{count} workers"


async def _allow(_input: dict[str, Any]) -> dict[str, Any]:
    return {"decision": "allow"}


async def _ask(bus: MessageBus) -> None:
    response = await request_hook_execution(bus, _EVENT, _INPUT)
    # A request that fails is fast.
    assert response["success"], response


def _asking(loop: Loop, bus: MessageBus) -> Run:
    return awaiting(loop, _ask, bus)


def _at_once(loop: Loop, call: Callable[[], Awaitable[Any]]) -> Run:
    async def batch() -> None:
        await asyncio.gather(*(call() for _ in range(AT_ONCE)))

    return awaiting(loop, batch)


def _only_waiting(loop: Loop) -> Run:
    return awaiting(loop, asyncio.sleep, AT_ONCE / _CONCURRENCY * float(_WAITS.split()[1]))


def _connected(loop: Loop, url: str, prefix: str, stack: ExitStack) -> MessageBus:
    from hookline.bus.nats import NatsMessageBus

    bus = NatsMessageBus(url, prefix=prefix)
    loop.run(bus.connect())
    stack.callback(lambda: loop.run(bus.close()))
    return bus


def _bare_request(loop: Loop, url: str, stack: ExitStack) -> Callable[[], Awaitable[Any]]:
    import nats

    client = loop.run(nats.connect(url))
    stack.callback(lambda: loop.run(client.close()))
    body = codec.encode(make_request(_EVENT, _INPUT, fixtures.SESSION_ID))
    return lambda: client.request(BARE, body, timeout=30)


def start(argv: Sequence[str], stack: ExitStack, *, cwd: Path) -> "subprocess.Popen[str]":
    """Start a process, wait for its ``ready``; it ends when its stdin does."""
    process = subprocess.Popen(
        argv,
        cwd=cwd,
        env=_environment(cwd),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    stack.callback(process.communicate)
    if not cast(IO[str], process.stdout).readline():
        raise RuntimeError("the process that answers on the bus ended; its error is above")
    return process


def start_workers(
    bus: str, count: int, stack: ExitStack, *, cwd: Path, concurrency: int
) -> "list[subprocess.Popen[bytes]]":
    """Start workers with the hooks of a directory, and wait until all serve."""
    argv = [sys.executable, "-m", "hookline", "serve", "--trust", "--bus", bus]
    argv += ["--concurrency", str(concurrency)]
    started = [_start_logging(argv, stack, cwd=cwd) for _ in range(count)]
    for process, log in started:
        while "serving " not in log.read_text():
            if process.poll() is not None:
                raise RuntimeError(f"a worker ended: {log.read_text()}")
            time.sleep(0.01)
    return [process for process, _ in started]


def _start_logging(
    argv: Sequence[str], stack: ExitStack, *, cwd: Path
) -> "tuple[subprocess.Popen[bytes], Path]":
    log = cwd / f"worker-{time.monotonic_ns()}.log"
    with log.open("w") as stream:
        process = subprocess.Popen(
            argv,
            cwd=cwd,
            env=_environment(cwd),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=stream,
        )
    stack.callback(process.wait)
    stack.callback(process.terminate)
    return process, log


def _environment(home: Path) -> dict[str, str]:
    return {**os.environ, "HOME": str(home), "PYTHONPATH": f"{_SOURCE}:{_SOURCE.parent}"}
