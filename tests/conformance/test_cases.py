"""Every recorded case, one by one and as a user runs them."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from hookline.testing.conformance import run_case

CASES = sorted((Path(__file__).parent / "cases").glob("*.json"))


def read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def run_as_user(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "hookline.testing.conformance", *map(str, arguments)]
    source = Path(__file__).parents[2] / "src"
    environment = os.environ | {"PYTHONPATH": str(source)}
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=170)


@pytest.mark.requirement("INV-6")
@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_the_engine_answers_as_the_case_expects(path: Path) -> None:
    case = read(path)
    assert json.loads(json.dumps(run_case(case))) == case["expect"]


def test_there_are_171_of_them() -> None:
    assert len(CASES) == 171


@pytest.mark.slow
@pytest.mark.timeout(180)
def test_the_command_line_compares_and_counts_them() -> None:
    done = run_as_user(*CASES)
    assert done.stdout.splitlines()[-1] == "171 passed, 0 failed"
    assert (done.returncode, done.stderr) == (0, "")


def test_the_command_line_prints_one_answer_a_line() -> None:
    chosen: Sequence[Path] = CASES[::15]
    done = run_as_user("--answers", *chosen)
    printed = [json.loads(line) for line in done.stdout.splitlines()]
    expected = [{"name": case["name"], "answer": case["expect"]} for case in map(read, chosen)]
    assert printed == expected
    assert done.returncode == 0
