"""The table of groups, and what ``make bench`` does with it: measure, print, write."""

import argparse
import asyncio
import json
import os
import platform
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import msgspec

from benchmarks.firing import firing
from benchmarks.peer import Peer, beside_peer, find_peer
from benchmarks.sampling import Group, Loop, Result, measure
from benchmarks.stages import stages
from benchmarks.starting import starting, starting_beside

_RESULTS = Path(__file__).parent / "results.json"


class Means(NamedTuple):
    """What groups are built with; ``peer`` only where it was asked for and is there."""

    loop: Loop
    scratch: Path
    peer: Peer | None


# What can be asked for by name -> the groups it stands for.
GROUPS: dict[str, Callable[[Means], list[Group]]] = {
    "firing": lambda means: [firing(means.loop)],
    "stages": lambda _means: [stages()],
    "starting": lambda means: [
        starting(means.scratch),
        *([starting_beside(means.peer, means.scratch)] if means.peer else []),
    ],
}


def main(argv: Sequence[str] | None = None) -> int:
    """Measure the groups asked for, all by default."""
    options = _options(argv)
    with ExitStack() as stack:
        loop = stack.enter_context(asyncio.Runner())
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="hookline-bench-")))
        peer = find_peer(scratch, say=print) if options.peer else None
        if peer is not None:
            stack.enter_context(peer)
        _print_heading(peer)
        results: list[Result] = []
        for name in options.groups or GROUPS:
            for group in GROUPS[name](Means(loop, scratch, peer)):
                compared = beside_peer(group, peer) if peer is not None else group
                measured = measure(compared, samples=options.samples)
                _print(measured)
                results += measured
    options.output.write_text(json.dumps(msgspec.to_builtins(results), indent=2) + "\n")
    print(f"\nwritten to {options.output}")
    return 0


def _options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="benchmarks/run.py", description=__doc__)
    parser.add_argument("groups", nargs="*", choices=[*GROUPS, []], metavar="GROUP")
    parser.add_argument("--peer", action="store_true", help="measure the npm peer too; needs Node")
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
        target = "" if result.target is None else f"≤ {result.target:g}"
        missed = "  missed" if result.target is not None and result.ratio > result.target else ""
        print(
            f"{result.name:46}{_number(result.ours):>9}{_number(result.baseline):>10}"
            f" {result.unit:3}{_number(result.ratio):>7}{target:>8}"
            f"  {result.baseline_name}{missed}",
            flush=True,
        )


def _number(value: float) -> str:
    """Three digits that count."""
    for below, decimals in ((0.1, 4), (1, 3), (10, 2), (100, 1)):
        if value < below:
            return f"{value:.{decimals}f}"
    return f"{value:.0f}"
