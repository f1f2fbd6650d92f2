"""``hookline serve``: runs a directory's hooks for agents on a message bus, until a signal."""

import asyncio
import logging
import os
import signal
from functools import partial
from typing import TYPE_CHECKING, Any

from hookline._support.notices import warn
from hookline.cli.events import ENDING_SIGNALS, load_nats, open_bus
from hookline.cli.failures import CommandError
from hookline.cli.logs import make_handler
from hookline.cli.options import (
    SOURCES,
    TRUST,
    Option,
    Options,
    find_sources,
    flag,
    read_event_name,
)
from hookline.cli.screen import Screen, count, duration
from hookline.engine.project import Project

if TYPE_CHECKING:
    from hookline.bus.nats import NatsMessageBus

EXAMPLES = (
    "hookline serve --bus nats://localhost:4222",
    "hookline serve --bus nats://nats.example.org?credentials=worker.creds --concurrency 16",
    "hookline serve --bus nats://localhost:4222 --events BeforeTool,AfterTool",
    "hookline serve --bus nats://localhost:4222 --stats",
)

_HEALTH_SECONDS = 60.0
# Callers that lost the server too wait two seconds for workers to come back.
_LONGEST_RECONNECT_WAIT = 1.0

OPTIONS = (
    Option(
        "--bus",
        "URL|@FILE",
        "nats://HOST:PORT, several separated by commas; after a ? come credentials, nkey, tls_ca, "
        "tls_cert and tls_key, which name files, and prefix, which begins all subjects",
        required=True,
    ),
    flag("--stats", "show the state of the workers, and serve nothing"),
    Option(
        "--queue",
        "NAME",
        "workers of one queue share its requests (default: hookline)",
        default="hookline",
    ),
    Option("--events", "NAME,…", "serve only these events (default: all)", again=True),
    Option(
        "--concurrency", "N", "how many requests to handle at once (default: 4 a core)", type=int
    ),
    Option(
        "--health",
        "SECONDS",
        "how often to log the worker's state (default: 60)",
        default=_HEALTH_SECONDS,
        type=float,
    ),
    flag(
        "--allow-empty",
        "start even if there is no hook to serve, which allows everything; untrusted hooks and "
        "broken settings still keep it from starting",
    ),
    *TRUST,
    *SOURCES,
)


def run(options: Options, screen: Screen) -> int:
    """Serve until a signal arrives, then finish what is running; ``--stats`` shows the workers."""
    if options.concurrency is not None and options.concurrency < 1:
        raise CommandError(
            f"--concurrency: {options.concurrency} is not a number of requests; write 1 or more"
        )
    if not options.health > 0:
        raise CommandError(f"--health: {options.health:g} is not a time to wait; write more than 0")
    nats = load_nats()
    names = [name for text in options.events or () for name in text.split(",") if name.strip()]
    if options.events and not names:
        raise CommandError("--events: name at least one, or leave it out to serve all")
    serving = nats.ServingOptions(
        queue=options.queue,
        events=tuple(read_event_name("--events: ", n.strip()).value for n in names) or None,
        concurrency=options.concurrency or 4 * (os.cpu_count() or 1),
    )
    wait = _LONGEST_RECONNECT_WAIT
    bus = open_bus(options.bus, name="hookline serve", serving=serving, max_reconnect_wait=wait)
    if options.stats:
        return _show_statistics(options, screen, bus)
    from hookline.service.worker import Worker

    handler = make_handler("%(asctime)s %(message)s")
    logger = logging.getLogger("hookline")
    logger.setLevel(logging.INFO)
    logger.propagate = False
    # Log what asyncio and nats-py log in the same way.
    for each in (logger, logging.getLogger()):
        each.addHandler(handler)
    project = Project.load(options.cwd, **find_sources(options), trusted=options.trust)
    worker = Worker(
        bus,
        project,
        say=partial(logger.info, "%s"),
        health_seconds=options.health,
        allow_empty=options.allow_empty,
    )

    async def serve() -> None:
        loop = asyncio.get_running_loop()
        for number in ENDING_SIGNALS:
            # A signal that the parent process ignores stays ignored.
            if signal.getsignal(number) is not signal.SIG_IGN:
                loop.add_signal_handler(number, worker.end)
        await worker.run()

    asyncio.run(serve())
    if options.json:
        screen.document(worker.status())
    return 0


def _show_statistics(options: Options, screen: Screen, bus: "NatsMessageBus") -> int:
    """Ask each worker for its status, and show it."""
    import msgspec

    from hookline.service.worker import WorkerStatus

    async def ask() -> list[Any]:
        async with bus:
            return list(await bus.ask_workers())

    workers: list[WorkerStatus] = []
    for status in asyncio.run(ask()):
        try:
            workers.append(msgspec.convert(status, WorkerStatus))
        except msgspec.ValidationError as error:
            # A worker of another version must not hide the others.
            warn(f"cannot read a worker's status, perhaps because its version differs: {error}")
    if options.json:
        screen.document({"workers": workers})
    if not workers:
        raise CommandError("no worker answers on this bus; start one with hookline serve")
    if options.json:
        return 0
    for status in sorted(workers, key=lambda status: status.worker):
        screen.line((status.worker, "name"), f"  {count(status.hooks, 'hook')}")
        state = f"{status.state}, {count(status.reconnects, 'reconnection')}"
        now = f"{status.running} running, {status.waiting} waiting"
        totals = f"{status.received} received, {status.answered} answered"
        latency = (f"{name} {duration(value)}" for name, value in status.latency_ms.items())
        refused = (f"{code} {number}" for code, number in sorted(status.refused.items()))
        failed = (f"{code} {number}" for code, number in sorted(status.failed.items()))
        hooks = f"in {count(status.hook_failures, 'request')}" if status.hook_failures else ""
        facts = (
            ("policy:", "faint", status.policy),
            ("settings refused:", "care", status.refused_settings),
            ("state:", "faint", state),
            ("now:", "faint", now),
            ("in all:", "faint", f"{totals}, {status.handed_back} handed back"),
            ("latency:", "faint", ", ".join(latency)),
            ("refused:", "care", ", ".join(refused)),
            ("failed:", "care", ", ".join(failed)),
            ("hooks failed:", "care", hooks),
        )
        rows = [((title, role), text) for title, role, text in facts if text]
        screen.table(rows, ("keep",), indent=2)
    return 0
