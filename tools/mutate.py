"""Makes small bugs in the package, one at a time, and tells which of them no test notices.

``tools/mutate.py --sample 30 --seed 1`` draws lines of ``src/hookline``, inverts a condition, drops
a call, moves a bound by one or takes a wrong key there, and runs the module's tests, then others
that enter the function. ``--record`` notes once which test enters which function (some minutes);
without it the tests are chosen by their names and imports. Bugs are made in copies of the tree.
"""

import argparse
import contextlib
import signal
import sys
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue

CHECKOUT = Path(__file__).parents[1]
sys.path.insert(0, str(CHECKOUT))

from tools.mutation import bugs, reach, trees  # noqa: E402


@dataclass(frozen=True)
class Verdict:
    killed: bool
    words: str


@dataclass
class Doubts:
    """Why tests that could notice a bug did not get to say so."""

    failing: list[str] = field(default_factory=list)  # without the bug too
    is_time_up: bool = False

    def __str__(self) -> str:
        words = ["; the time was up"] if self.is_time_up else []
        words += [f"; these fail without the bug too: {' '.join(self.failing)}"] * bool(
            self.failing
        )
        return "".join(words)


class Judge:
    """Says of each bug whether a test notices it."""

    def __init__(
        self,
        checkout: Path,
        sources: Mapping[str, bytes],
        copies: Sequence[trees.Tree],
        *,
        budget: float,
    ) -> None:
        self._sources = sources
        self._budget = budget
        self._record = reach.Record.read(checkout)
        self._free: SimpleQueue[trees.Tree] = SimpleQueue()
        for tree in copies:
            self._free.put(tree)
        self._without_bug: dict[str, bool] = {}

    def try_bug(self, bug: bugs.Bug) -> Verdict:
        tree = self._free.get()
        try:
            # Of the copy, as somebody may be writing tests in the checkout meanwhile.
            choice = reach.choose(bug, tree.root, self._record, budget=self._budget)
            if not choice.own and not choice.wider:
                return Verdict(False, "no test enters it")
            asked, doubts = 0, Doubts()
            for tests in (choice.own, choice.wider):
                for environment in tree.environments:
                    those = [t for t in tests if trees.environment_of(t) == environment]
                    asked += len(those)
                    found = self._ask(tree, bug, environment, those, choice.seconds, doubts)
                    if found is not None:
                        return Verdict(True, found)
            return Verdict(False, f"{asked} tests or files of tests{doubts}")
        finally:
            self._free.put(tree)

    def _ask(
        self,
        tree: trees.Tree,
        bug: bugs.Bug,
        environment: str,
        tests: list[str],
        expected: float | None,
        doubts: Doubts,
    ) -> str | None:
        """Run the tests until one fails because of the bug, and return its name; None if none
        does."""
        source = self._sources[bug.module]
        left = tests
        while left:
            tree.write(bug.module, bug.apply(source))
            limit = 60 + 4 * (self._budget if expected is None else expected)
            deselected = [f"--deselect={test}" for test in doubts.failing]
            run = tree.run(environment, [*_OPTIONS, *deselected, *left], seconds=limit)
            tree.write(bug.module, source)
            if run.passed:
                return None
            if not run.finished:
                doubts.is_time_up = expected is None
                return None if expected is None else "timeout"
            assert run.failed is not None
            # Without a test to name, all of them are asked again: perhaps nothing could be run.
            suspects = [run.failed] if "::" in run.failed else left
            if self._pass_without_bug(tree, environment, suspects):
                return run.failed
            doubts.failing += suspects
            left = [test for test in left if test not in suspects]
        return None

    def _pass_without_bug(self, tree: trees.Tree, environment: str, tests: list[str]) -> bool:
        key = " ".join(tests)
        if key not in self._without_bug:
            run = tree.run(environment, [*_OPTIONS, *tests], seconds=300)
            self._without_bug[key] = run.passed
        return self._without_bug[key]


_OPTIONS = ("--timeout=60", "--hypothesis-seed=0")


def main(arguments: Sequence[str] | None = None, *, checkout: Path = CHECKOUT) -> int:
    options = _read_options(arguments)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    package = checkout / trees.PACKAGE
    if options.record:
        modules = bugs.modules(package, options.only) if options.only else None
        with trees.copies(checkout, options.jobs) as copies:
            reach.record_all(checkout, copies, reach.Record.read(checkout), modules)
        return 0
    sources = {name: (package / name).read_bytes() for name in bugs.modules(package, options.only)}
    drawn = _draw(options, sources)
    if not drawn:
        sys.exit("mutate: there is nothing to change there; see --only and --at")
    if options.list:
        for bug in drawn:
            print(f"{bug.name}\n{bug.diff(sources[bug.module])}")
        return 0
    with trees.copies(checkout, min(options.jobs, len(drawn))) as copies:
        judge = Judge(checkout, sources, copies, budget=options.budget)
        killed = _try_all(judge, drawn, sources, copies)
    print(f"killed {killed} of {len(drawn)}")
    return 0


def _try_all(
    judge: Judge,
    drawn: Sequence[bugs.Bug],
    sources: Mapping[str, bytes],
    copies: Sequence[trees.Tree],
) -> int:
    """Try the bugs, as many at a time as there are copies; the number that a test notices."""
    printing = threading.Lock()

    def judge_one(bug: bugs.Bug) -> bool:
        verdict = judge.try_bug(bug)
        with printing:
            word = "killed  " if verdict.killed else "SURVIVED"
            print(f"{word} {bug.name}  {verdict.words}")
            if not verdict.killed:
                print(bug.diff(sources[bug.module]))
            sys.stdout.flush()
        return verdict.killed

    pool = ThreadPoolExecutor(len(copies))
    try:
        return sum(pool.map(judge_one, drawn))
    except BaseException:
        for tree in copies:
            tree.close()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _draw(options: argparse.Namespace, sources: dict[str, bytes]) -> list[bugs.Bug]:
    if options.at:
        file, line, *column = options.at.removeprefix(f"{trees.PACKAGE}/").split(":")
        found = bugs.find(sources[file], file)
        here = [bug for bug in found if bug.line == int(line)]
        chosen = [bug for bug in here if not column or bug.column == int(column[0])]
        return [bug for bug in chosen if bugs.is_bug(bug, sources[file])]
    return bugs.sample(sources, options.sample, options.seed)


def _read_options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("--sample", type=int, default=15, metavar="N", help="how many bugs to make (15)")
    add("--seed", type=int, default=0, metavar="S", help="the same seed draws the same bugs (0)")
    add("--only", default="", metavar="PATH", help="only below this path of src/hookline")
    add("--at", metavar="FILE:LINE[:COLUMN]", help="every bug of one place, instead of a sample")
    add("--list", action="store_true", help="print the bugs, and run nothing")
    add("--jobs", type=int, default=2, metavar="N", help="how many bugs at a time (2)")
    add(
        "--budget",
        type=float,
        default=60,
        metavar="SECONDS",
        help="of tests for one bug, in the module's own and again in the wider set (60)",
    )
    add("--record", action="store_true", help="note which test enters which function")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        sys.exit(main())
    sys.exit(130)
