"""The example of a question that another process answers, run as its own processes."""

import subprocess
import sys
from pathlib import Path

EXAMPLE = Path(__file__).parents[2] / "examples" / "ask_later.py"


def run(directory: Path, word: str) -> str:
    done = subprocess.run(
        [sys.executable, str(EXAMPLE), word],
        cwd=directory,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert done.stderr == ""
    return done.stdout.strip()


def test_a_call_without_a_question_runs_at_once(tmp_path: Path) -> None:
    assert run(tmp_path, "status") == "done: git status"


def test_a_yes_of_another_process_runs_the_call_and_no_hook_again(tmp_path: Path) -> None:
    assert run(tmp_path, "push") == "waiting: push number 1 leaves this machine"
    assert run(tmp_path, "yes") == "done: git push"
    assert (tmp_path / "pushes.txt").read_text() == "1"
    assert not (tmp_path / "pending.json").exists()


def test_a_no_of_another_process_is_what_the_model_reads(tmp_path: Path) -> None:
    run(tmp_path, "push")
    expected = "The user did not allow this call of git: push number 1 leaves this machine"
    assert run(tmp_path, "no") == expected
    assert (tmp_path / "pushes.txt").read_text() == "1"
