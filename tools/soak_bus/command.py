"""The command line of the soak of the bus: sets up a scene, breaks it, prints its figures."""

import argparse
import asyncio
import logging
import os
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from hookline.bus.nats import NatsMessageBus
from hookline.bus.nats.connection import NatsConnection
from hookline.bus.nats.options import make_connection_options
from tests.harness import processes
from tests.harness.leaks import Watch
from tools.soak.firing import judged
from tools.soak_bus.asking import Asking
from tools.soak_bus.faults import Faults
from tools.soak_bus.guarding import LIARS, Guarding, lie
from tools.soak_bus.judging import Overheard, count_lost, violations
from tools.soak_bus.scene import PREFIX, Scene

_REPORT_SECONDS = 10.0
# Seconds until the hooks of killed workers must have ended.
_SETTLE = 10.0
_SHOWN = 20


class Soaked(NamedTuple):
    """The results of a run."""

    asking: Asking
    faults: Faults
    overheard: Overheard
    problems: list[str]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the soak; return 1 if anything went wrong."""
    options = _options(argv)
    # Connections are lost on purpose, so warnings about them are not worth printing.
    for name in ("hookline", "nats"):
        logging.getLogger(name).addHandler(logging.NullHandler())
        logging.getLogger(name).propagate = False
    with tempfile.TemporaryDirectory(prefix="hookline-soak-bus-") as made:
        os.environ["HOME"] = str(Path(made, "home"))
        found = _soak(Path(made), options)
    for violation in found[:_SHOWN]:
        print(f"VIOLATION: {violation}")
    print(f"the soak failed: {len(found)} violations" if found else "the soak passed")
    return 1 if found else 0


def _options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="tools/soak_bus/run.py", description=__doc__)
    parser.add_argument("--requests", type=int, default=10_000, help="default: %(default)s")
    parser.add_argument(
        "--rounds", type=int, default=3, help="of faults, at least; default: %(default)s"
    )
    parser.add_argument("--at-once", type=int, default=200, help="in flight; default: %(default)s")
    parser.add_argument(
        "--timeout", type=float, default=15.0, help="seconds of each; default: %(default)g"
    )
    parser.add_argument(
        "--pause", type=float, default=3.0, help="seconds between faults; default: %(default)g"
    )
    parser.add_argument(
        "--settle", type=float, default=2.0, help="seconds after each; default: %(default)g"
    )
    parser.add_argument("--seed", type=int, default=1, help="draws other faults; default: 1")
    return parser.parse_args(argv)


def _soak(scratch: Path, options: argparse.Namespace) -> list[str]:
    scene_directory = scratch / "scene"
    scene_directory.mkdir()
    with asyncio.Runner() as runner:
        runner.get_loop()
        watch = Watch(scratch)
        os.environ[processes.MARK] = watch.mark
        scene = runner.run(_make_scene(scene_directory))
        soaked = runner.run(_run(scene, options))
    left = watch.settled_leaks(time.monotonic() + _SETTLE, allowed=frozenset())
    processes.kill(watch.new_processes())
    executed = scene.executed()
    _print(soaked, executed)
    fates, verdicts = soaked.asking.fates, soaked.asking.verdicts
    judgement = violations(
        fates, executed, soaked.overheard, timeout=options.timeout, verdicts=verdicts
    )
    ended = len(fates) + len(verdicts)
    if ended != soaked.asking.sent:
        left.append(f"{soaked.asking.sent} requests have {ended} fates")
    due, _ = count_lost(verdicts)
    if 2 * due < options.requests:
        left.append(f"only {due} events had to be blocked, which is less than half of them")
    return [*soaked.problems, *judgement, *left]


async def _make_scene(directory: Path) -> Scene:
    return Scene(directory)


async def _run(scene: Scene, options: argparse.Namespace) -> Soaked:
    before = asyncio.all_tasks()
    overheard = Overheard()
    async with (
        scene,
        NatsMessageBus.from_url(scene.agents_url(PREFIX)) as bus,
        NatsMessageBus.from_url(scene.agents_url(LIARS)) as liars,
        Guarding(bus, liars, seed=options.seed, timeout=options.timeout) as guarding,
    ):
        listening = await _listen(scene, overheard)
        await lie(listening, options.seed)
        faults = Faults(scene, seed=options.seed, pause=options.pause, settle=options.settle)
        asking = Asking(
            bus,
            faults,
            guarding,
            seed=options.seed,
            requests=options.requests,
            rounds=options.rounds,
            at_once=options.at_once,
            timeout=options.timeout,
        )
        await _ask_through(asking, faults)
        problems = await scene.end_workers()
        await listening.close()
    left = asyncio.all_tasks() - before
    await asyncio.get_running_loop().shutdown_default_executor()
    problems += [f"task {task.get_name()}: {task.get_coro()}" for task in left]
    return Soaked(asking, faults, overheard, problems)


async def _ask_through(asking: Asking, faults: Faults) -> None:
    """Send requests while things break, until the last is answered and the last fault is over."""
    telling = asyncio.create_task(_tell(asking, faults))
    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(faults.rage())
            await asking.run()
            faults.end()
    finally:
        telling.cancel()
        await asyncio.wait([telling])


async def _listen(scene: Scene, overheard: Overheard) -> NatsConnection:
    """Listen to all answers at the server, past the networks that break."""
    connection = NatsConnection(make_connection_options(scene.server.url), lambda _state: None)
    await connection.open()
    await connection.subscribe(f"{PREFIX}.inbox.>", overheard.hear)
    return connection


async def _tell(asking: Asking, faults: Faults) -> None:
    while True:
        await asyncio.sleep(_REPORT_SECONDS)
        due, lost = count_lost(asking.verdicts)
        print(
            f"{len(asking.fates):,} requests, {asking.codes.total():,} failed,"
            f" {due:,} events to block, {lost:,} not blocked, {faults.raised.total()} faults",
            flush=True,
        )


def _print(soaked: Soaked, executed: Sequence[str]) -> None:
    asking, fates = soaked.asking, soaked.asking.fates
    answered = {fate.id for fate in fates if fate.code is None}
    half, most, all_but_few = (1000 * s for s in asking.latencies(0.5, 0.95, 0.99))
    asked = f"asked: {len(fates):,}, answered: {len(answered):,}"
    print(f"sent: {asking.sent:,}, {asked}, failed: {asking.codes.total():,}")
    print(f"failures: {judged(asking.codes) or 'none'}")
    print(
        f"hooks run: {len(executed):,}, for {len(set(executed)):,} requests,"
        f" of which {len({fate.id for fate in fates} & set(executed) - answered):,} failed"
    )
    print(f"faults: {judged(soaked.faults.raised) or 'none'}")
    print(f"handed back by full workers: {soaked.overheard.handed_back:,}")
    print(f"answered within: {half:.0f} ms (half), {most:.0f} ms (95%), {all_but_few:.0f} ms (99%)")
    longest = max((fate.seconds for fate in fates), default=0.0)
    print(f"longest wait: {longest:.2f} s; {asking.sent / asking.seconds:.0f} requests a second")
    kinds = Counter(verdict.kind for verdict in asking.verdicts if verdict.must_block)
    due, lost = count_lost(asking.verdicts)
    print(f"events to block: {judged(kinds)}")
    print(f"no denial lost of {due:,}" if not lost else f"{lost:,} denials lost of {due:,}")
