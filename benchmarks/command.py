"""The command of ``make bench``: measures a table of groups, prints and writes the results."""

import argparse
import asyncio
import json
import os
import platform
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import cached_property
from pathlib import Path

import msgspec

from benchmarks.adapters import measure_frameworks, plain
from benchmarks.bus import in_process, over_nats
from benchmarks.command_hooks import commands, stalls
from benchmarks.firing import firing
from benchmarks.floor import Floor, find_floor
from benchmarks.hooks import Scripts
from benchmarks.installed import Environment, install
from benchmarks.oneshot import oneshot, oneshot_beside
from benchmarks.peer import Peer, beside_peer, find_peer
from benchmarks.proxy import proxied
from benchmarks.sampling import Group, Loop, Result, measure
from benchmarks.scripts import directly, python, reviewed
from benchmarks.stages import stages
from benchmarks.starting import starting, starting_beside

_RESULTS = Path(__file__).parent / "results.json"


class Means:
    """What groups are built with; ``peer`` is None unless asked for and installed."""

    def __init__(
        self, loop: Loop, scratch: Path, scripts: Scripts, peer: Peer | None, stack: ExitStack
    ) -> None:
        self.loop = loop
        self.scratch = scratch
        self.scripts = scripts
        self.peer = peer
        self.stack = stack

    @cached_property
    def environment(self) -> Environment:
        return install(self.scripts.environment)

    @cached_property
    def floor(self) -> Floor:
        return find_floor(self.scratch, self.stack, say=print)


# A name on the command line -> the function that makes its groups.
GROUPS: dict[str, Callable[[Means], list[Group]]] = {
    "firing": lambda means: [firing(means.loop)],
    "stages": lambda means: [stages(means.scratch)],
    "commands": lambda means: [
        *commands(means.loop, means.scripts, means.floor, means.stack),
        stalls(means.loop, means.scripts, means.stack),
    ],
    "scripts": lambda means: [
        directly(means.loop, means.scripts, means.stack),
        reviewed(means.loop, means.scripts, means.scratch, means.stack),
        python(means.loop, means.scripts, means.environment, means.stack),
    ],
    "adapters": lambda means: [plain(means.loop)],
    "bus": lambda means: [
        in_process(means.loop),
        *over_nats(means.loop, means.scratch, means.stack, say=print),
    ],
    "mcp": lambda means: [proxied(means.environment, means.scratch, means.stack)],
    "starting": lambda means: [
        starting(means.environment, means.scratch),
        oneshot(means.environment, means.scripts),
        *(_beside(means.peer, means) if means.peer else []),
    ],
}


def _beside(peer: Peer, means: Means) -> list[Group]:
    return [
        starting_beside(peer, means.environment, means.scratch),
        oneshot_beside(peer, means.environment, means.scripts),
    ]


def main(argv: Sequence[str] | None = None) -> int:
    """Measure the groups asked for, all by default."""
    options = _options(argv)
    with ExitStack() as stack:
        loop = stack.enter_context(asyncio.Runner())
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="hookline-bench-")))
        scripts = Scripts(scratch / "hooks")
        scripts.write()
        peer = find_peer(scripts, say=print) if options.peer else None
        stack.enter_context(_little_inherited())
        if peer is not None:
            stack.enter_context(peer)
        _print_heading(peer)
        means = Means(loop, scratch, scripts, peer, stack)
        results: list[Result] = []
        for name in options.groups or GROUPS:
            for group in GROUPS[name](means):
                compared = beside_peer(group, peer) if peer is not None else group
                measured = measure(compared, samples=options.samples)
                _print(measured)
                results += measured
            if name == "adapters" and options.frameworks is not None:
                measured = measure_frameworks(options.frameworks, samples=options.samples)
                _print(measured)
                results += measured
    options.output.write_text(json.dumps(msgspec.to_builtins(results), indent=2) + "\n")
    print(f"\nwritten to {options.output}")
    return 0


@contextmanager
def _little_inherited() -> Iterator[None]:
    """Clear the environment, which hooks inherit, of the user's variables."""
    everything = dict(os.environ)
    for name in everything.keys() - {"PATH", "LANG"}:
        del os.environ[name]
    try:
        yield
    finally:
        os.environ.update(everything)


def _options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="benchmarks/run.py", description=__doc__)
    parser.add_argument("groups", nargs="*", choices=[*GROUPS, []], metavar="GROUP")
    parser.add_argument("--peer", action="store_true", help="measure the npm peer too; needs Node")
    parser.add_argument(
        "--frameworks",
        type=Path,
        metavar="PYTHON",
        help="measure the adapters too, with an interpreter that has the frameworks",
    )
    parser.add_argument("--samples", type=int, help="samples of each workload, for a quick look")
    parser.add_argument("--output", type=Path, default=_RESULTS, help="default: %(default)s")
    return parser.parse_args(argv)


def _print_heading(peer: Peer | None) -> None:
    cores = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count()
    node = f", {peer.version}" if peer is not None else ""
    print(f"{platform.python_implementation()} {platform.python_version()}{node}, {cores} cores\n")
    print(f"{'':46}{'ours':>9}{'baseline':>10}{'':4}{'ratio':>7}{'target':>8}")


def _print(results: Sequence[Result]) -> None:
    for result in results:
        missed = "  missed" if result.is_missed() else ""
        print(
            f"{result.name:46}{_number(result.ours):>9}{_number(result.baseline):>10}"
            f" {result.unit:3}{_number(result.ratio):>7}{_target(result):>8}"
            f"  {result.baseline_name}{_difference(result)}{missed}",
            flush=True,
        )


def _target(result: Result) -> str:
    if result.bound is not None:
        return f"≤ {result.bound:g} {result.unit}"
    if result.more is not None:
        return f"≤ +{result.more:g}"
    return "" if result.target is None else f"≤ {result.target:g}"


def _difference(result: Result) -> str:
    """The difference by which a line is judged, if its target is one."""
    more = result.ours - result.baseline
    sign = "-" if more < 0 else "+"
    return "" if result.more is None else f"  {sign}{_number(abs(more))} {result.unit}"


def _number(value: float) -> str:
    """A number with three significant digits."""
    for below, decimals in ((0.1, 4), (1, 3), (10, 2), (100, 1)):
        if value < below:
            return f"{value:.{decimals}f}"
    return f"{value:.0f}"
