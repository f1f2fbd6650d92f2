"""The command line of the soak: sets up a scratch project, runs, prints its figures."""

import argparse
import asyncio
import logging
import os
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from hookline.contract import Config, HookSystem
from hookline.runner.context import RunLimits
from tests.harness import processes
from tests.harness.leaks import Snapshot, Watch
from tools.soak.firing import GRACE, Soak, judged
from tools.soak.kinds import BACKGROUND_LOG, MAX_STDOUT, Kind, kinds
from tools.soak.memory import SLACK_BYTES
from tools.soak.quotes import fuzz
from tools.soak.storms import Storms, empty, small_tmp

_MEGABYTE = 1024 * 1024
_REPORT_SECONDS = 10.0
# Seconds until processes that hooks left behind must have ended.
_SETTLE = 10.0


def main(argv: Sequence[str] | None = None) -> int:
    """Run the soak; return 1 if anything went wrong."""
    options = _options(argv)
    # Hooks fail by the thousand on purpose, so their warnings are not worth printing.
    logging.getLogger("hookline").addHandler(logging.NullHandler())
    logging.getLogger("hookline").propagate = False
    with _scratch() as (scratch, tmp):
        violations = _soak(scratch, tmp, options)
        if options.quotes:
            quoting = scratch / "quoting"
            quoting.mkdir()
            guards = options.quotes // 10
            violations += fuzz(quoting, answers=options.quotes, guards=guards, seed=options.seed)
    for violation in violations:
        print(f"VIOLATION: {violation}")
    print("the soak failed" if violations else "the soak passed")
    return 1 if violations else 0


def _options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="tools/soak/run.py", description=__doc__)
    parser.add_argument("--events", type=int, default=30_000, help="default: %(default)s")
    parser.add_argument("--seconds", type=float, help="fire for so long instead")
    parser.add_argument("--seed", type=int, default=1, help="draws other events; default: 1")
    parser.add_argument("--at-once", type=int, default=8, help="in flight; default: %(default)s")
    parser.add_argument("--only", action="append", metavar="KIND", help="of these hooks only")
    parser.add_argument(
        "--quotes",
        type=int,
        default=30_000,
        help="answers read of guards that quote a model, one of ten by running the guard;"
        " default: %(default)s",
    )
    return parser.parse_args(argv)


@contextmanager
def _scratch() -> Iterator[tuple[Path, Path]]:
    """Make a directory for this run, and one below it for its and its hooks' temporary files."""
    with tempfile.TemporaryDirectory(prefix="hookline-soak-") as made:
        tmp = Path(made, "tmp")
        is_disk = small_tmp(tmp)
        print(f"temporary files: {'a small disk' if is_disk else 'hidden, not a small disk'}")
        os.environ["TMPDIR"] = str(tmp)
        try:
            yield Path(made), tmp
        finally:
            empty(tmp)


def _soak(scratch: Path, tmp: Path, options: argparse.Namespace) -> list[str]:
    project = scratch / "project"
    project.mkdir()
    chosen = [kind for kind in kinds(project) if options.only is None or kind.name in options.only]
    storms = Storms(tmp, seed=options.seed)
    with asyncio.Runner() as runner:
        runner.get_loop()
        watch = Watch(scratch)
        os.environ[processes.MARK] = watch.mark
        soak, tasks = runner.run(_run(project, chosen, storms, options))
    left = watch.settled_leaks(time.monotonic() + _SETTLE, allowed=frozenset())
    processes.kill(watch.new_processes())
    _print(soak, storms)
    background = _background_deaths(soak, project)
    return [*soak.tally.violations, *tasks, *left, *background, *_growth(soak)]


async def _run(
    project: Path, chosen: Sequence[Kind], storms: Storms, options: argparse.Namespace
) -> tuple[Soak, list[str]]:
    config = Config(
        working_dir=project,
        session_id="soak",
        limits=RunLimits(kill_grace=GRACE, max_stdout=MAX_STDOUT),
    )
    before = asyncio.all_tasks()
    async with HookSystem(config) as system, HookSystem(config) as commands:
        for kind in chosen:
            kind.register(system)
            if kind.is_command:
                kind.register(commands)
        soak = Soak(system, commands, chosen, storms, seed=options.seed, at_once=options.at_once)
        extras = [
            asyncio.create_task(storms.rage(pause=1.0 if options.seconds else 3.0)),
            asyncio.create_task(_tell(soak, storms)),
        ]
        limits = _limits(options)
        await soak.run(**limits)
        for extra in extras:
            extra.cancel()
        await asyncio.wait(extras)
    left = asyncio.all_tasks() - before
    await asyncio.get_running_loop().shutdown_default_executor()
    return soak, [f"task {task.get_name()}: {task.get_coro()}" for task in left]


def _limits(options: argparse.Namespace) -> dict[str, float]:
    if options.seconds:
        return {"events": float("inf"), "seconds": options.seconds}
    return {"events": options.events, "seconds": float("inf")}


async def _tell(soak: Soak, storms: Storms) -> None:
    while True:
        await asyncio.sleep(_REPORT_SECONDS)
        if not storms.is_raging:
            counts = Snapshot.take()
            print(
                f"{soak.tally.events:,} events, {storms.raised.total()} storms,"
                f" {len(counts.descriptors)} descriptors, {threading.active_count()} threads,"
                f" {len(soak.tally.violations)} violations",
                flush=True,
            )


def _print(soak: Soak, storms: Storms) -> None:
    tally = soak.tally
    seconds, bound, tool = tally.longest
    thirds = ", ".join(f"{third / _MEGABYTE:.1f}" for third in soak.memory.thirds())
    print(f"events: {tally.events:,}, of which {tally.cancelled:,} cancelled")
    print(f"guarded: {tally.guarded:,} events had to be blocked, {tally.lost_denials:,} were not")
    print(f"results by `failed`: {judged(tally.results)}")
    print(f"storms: {judged(storms.raised)}; they cost {tally.lost:,} results")
    print(f"longest answer: {seconds:.2f} s of {bound:.2f} s ({tool})")
    print(f"resident memory by thirds, MB: {thirds}")


def _background_deaths(soak: Soak, project: Path) -> list[str]:
    """Check that background processes of hooks that finished were not killed."""
    log = project / BACKGROUND_LOG
    alive = len(log.read_text().splitlines()) if log.exists() else 0
    left = soak.tally.right["leaves another"]
    return [f"of {left} background processes only {alive} lived"] if alive < left else []


def _growth(soak: Soak) -> list[str]:
    grown = soak.memory.growth()
    if grown <= SLACK_BYTES:
        return []
    return [f"the last third has {grown / _MEGABYTE:.1f} MB of memory more than the second"]
