"""The benchmarks run and say what they found; how fast anything is, is no matter of the suite."""

import asyncio
import json
import os
import shutil
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from benchmarks.bus import over_nats
from benchmarks.installed import install
from benchmarks.sampling import Group, Measurement, Workload, calling, measure
from tests.harness.documents import REPOSITORY

FIELDS = ["name", "unit", "ours", "baseline", "baseline_name", "ratio", "target"]
FIELDS += ["bound", "more"]
COMPILERS = ("cc", "gcc", "clang")
COMMANDS = [
    "one command hook",
    "10 command hooks in parallel",
    "50 command hooks in parallel",
    "one command hook, 1 MB in",
    "one command hook, 10 MB in",
    "one command hook, 1 MB out",
    "longest stall while 50 command hooks start",
]
ADAPTERS = [
    "a wrapped function, no match",
    "a wrapped async function, no match",
    "a wrapped function, one in-process hook",
    "a wrapped function, one inline hook",
    "hooks.sync.model_call, no match",
    "hooks.sync.model_call, one in-process hook",
    "first chunk of a stream, observed",
]
BUS = [
    "in-process hook over the in-process bus",
    "in-process hook over the in-process bus",
    "round trip over NATS",
    "round trip over NATS, in-process hook",
    "64 at once over NATS",
    "64 at once over NATS, in-process hook",
    "64 at once, hook waits 50 ms, 1 worker",
    "64 at once, hook waits 50 ms, 2 workers",
    "64 at once, hook waits 50 ms, 4 workers",
]
MEASURED = [
    "no-match fire, 0 hooks",
    "no-match fire, 1 hook",
    "no-match fire, 100 hooks",
    "no-match fire, 1,000 hooks",
    "no-match fire, 1,000 hooks on another event",
    "hooks.before_tool, no match",
    "hooks.sync.before_tool, no match",
    "the same beside an unrelated function hook",
    "one async in-process hook, which allows",
    "one async in-process hook, which says nothing",
    "planning 50 matching hooks, nothing cached",
    "aggregating 50 results",
    "encoding 10 KB",
    "decoding 10 KB",
    "trust of a hook with 20 covered files",
    *COMMANDS,
    "./hook.sh, an sh script",
    "a guard, from its copy",
    "a Python hook (json, re)",
    "a Python hook (json, re), warm",
    *ADAPTERS,
    *BUS,
    "hookline mcp, no match",
    "import hookline",
    "from hookline import Config, HookSystem",
    "hookline --version",
    "hookline list",
    "hookline list, 200 hooks",
    "hookline check, 200 hooks",
    "hookline fire, one command hook",
]


def bench(output: Path, *options: str, path: str | None = None) -> tuple[str, list[dict[str, Any]]]:
    argv = [sys.executable, str(REPOSITORY / "benchmarks" / "run.py"), *options]
    done = subprocess.run(
        [*argv, "--samples", "2", "--output", str(output)],
        env={**os.environ, **({} if path is None else {"PATH": path})},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, json.loads(output.read_text())


@pytest.mark.timeout(180)
def test_every_measurement_is_printed_and_written_beside_a_baseline(tmp_path: Path) -> None:
    printed, results = bench(tmp_path / "results.json")
    assert [result["name"] for result in results] == MEASURED
    assert all(name in printed for name in MEASURED)
    for result in results:
        assert list(result) == FIELDS
        assert result["ratio"] == pytest.approx(result["ours"] / result["baseline"], rel=0.01)
        assert result["baseline_name"] in printed
    floor = "C posix_spawn" if any(map(shutil.which, COMPILERS)) else "subprocess.Popen"
    assert sum(result["baseline_name"] == floor for result in results) == 6


def test_without_node_our_own_side_is_measured_and_nothing_fails(tmp_path: Path) -> None:
    printed, results = bench(tmp_path / "results.json", "stages", "--peer", path=str(tmp_path))
    assert printed.startswith("no peer: node and npm are not on the PATH")
    assert {result["baseline_name"] for result in results}.isdisjoint({"peer"})
    assert len(results) == 5


def test_without_a_c_compiler_commands_are_measured_all_the_same(tmp_path: Path) -> None:
    for program in ("bash", "cat"):
        (tmp_path / program).symlink_to(str(shutil.which(program)))
    printed, results = bench(tmp_path / "results.json", "commands", path=str(tmp_path))
    assert "no floor: there is no C compiler on the PATH" in printed
    assert [result["name"] for result in results] == COMMANDS
    assert {r["baseline_name"] for r in results[:6]} == {"subprocess.Popen"}
    assert all(result["target"] is None for result in results)


def test_without_a_nats_server_the_bus_over_it_is_left_out_with_a_word(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    said: list[str] = []
    with ExitStack() as stack, asyncio.Runner() as loop:
        assert over_nats(loop, tmp_path, stack, say=said.append) == []
    (sentence,) = said
    assert sentence.startswith("no bus over NATS is measured: ")


def test_programs_are_started_in_an_environment_of_our_own_requirements(tmp_path: Path) -> None:
    environment = install(tmp_path / "environment")
    version = subprocess.run([environment.hookline, "--version"], env={}, capture_output=True)
    assert (version.returncode, version.stderr) == (0, b"")
    imports = "import msgspec, regex, platformdirs, pytest"
    imported = subprocess.run(
        [environment.python, "-c", imports], env={}, capture_output=True, text=True
    )
    assert imported.stderr.splitlines()[-1] == "ModuleNotFoundError: No module named 'pytest'"


@pytest.mark.parametrize(("bound", "missed"), [(0, True), (3_600_000, False)])
def test_a_line_may_be_bounded_in_its_unit_instead_of_by_a_ratio(
    bound: float, missed: bool
) -> None:
    sides = [Workload(name, calling(str, name)) for name in ("ours", "theirs")]
    line = Measurement(ours=sides[0], baseline=sides[1], unit="ms", bound=bound)
    (result,) = measure(Group(2, [line], batch=1), samples=2)
    assert (result.bound, result.is_missed()) == (bound, missed)


@pytest.mark.parametrize(("more", "missed"), [(-1, True), (3_600_000, False)])
def test_a_line_may_be_bounded_by_its_difference_from_the_baseline(
    more: float, missed: bool
) -> None:
    sides = [Workload(name, calling(str, name)) for name in ("ours", "theirs")]
    line = Measurement(ours=sides[0], baseline=sides[0], unit="ms", more=more)
    (result,) = measure(Group(2, [line], batch=1), samples=2)
    assert (result.more, result.is_missed()) == (more, missed)


def test_samples_of_both_sides_are_taken_in_turn() -> None:
    taken: list[str] = []
    sides = [Workload(name, calling(taken.append, name)) for name in ("ours", "theirs")]
    group = Group(30, [Measurement(ours=sides[0], baseline=sides[1])])
    (result,) = measure(group, samples=10)
    assert (result.name, result.baseline_name) == ("ours", "theirs")
    turns = [name for name, before in zip(taken, ["", *taken], strict=False) if name != before]
    assert len(turns) > 10
