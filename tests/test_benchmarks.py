"""The benchmarks run and say what they found; how fast anything is, is no matter of the suite."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks.sampling import Group, Measurement, Workload, calling, measure
from tests.harness.documents import REPOSITORY

FIELDS = ["name", "unit", "ours", "baseline", "baseline_name", "ratio", "target"]
MEASURED = [
    "no-match fire, 0 hooks",
    "no-match fire, 1 hook",
    "no-match fire, 100 hooks",
    "no-match fire, 1,000 hooks",
    "no-match fire, 1,000 hooks on another event",
    "one async in-process hook, which allows",
    "one async in-process hook, which says nothing",
    "planning 50 matching hooks, nothing cached",
    "aggregating 50 results",
    "encoding 10 KB",
    "decoding 10 KB",
    "import hookline",
    "from hookline import Config, HookSystem",
    "hookline --version",
    "hookline list",
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


def test_every_measurement_is_printed_and_written_beside_a_baseline(tmp_path: Path) -> None:
    printed, results = bench(tmp_path / "results.json")
    assert [result["name"] for result in results] == MEASURED
    assert all(name in printed for name in MEASURED)
    for result in results:
        assert list(result) == FIELDS
        assert result["ratio"] == pytest.approx(result["ours"] / result["baseline"], rel=0.01)
        assert result["baseline_name"] in printed


def test_without_node_our_own_side_is_measured_and_nothing_fails(tmp_path: Path) -> None:
    printed, results = bench(tmp_path / "results.json", "stages", "--peer", path=str(tmp_path))
    assert printed.startswith("no peer: node and npm are not on the PATH")
    assert {result["baseline_name"] for result in results}.isdisjoint({"peer"})
    assert len(results) == 4


def test_samples_of_both_sides_are_taken_in_turn() -> None:
    taken: list[str] = []
    sides = [Workload(name, calling(taken.append, name)) for name in ("ours", "theirs")]
    group = Group(30, [Measurement(ours=sides[0], baseline=sides[1])])
    (result,) = measure(group, samples=10)
    assert (result.name, result.baseline_name) == ("ours", "theirs")
    turns = [name for name, before in zip(taken, ["", *taken], strict=False) if name != before]
    assert len(turns) > 10
