"""``tools/walk.py``: how far a reader walks who follows one event through the code."""

import subprocess
import sys
from pathlib import Path

WALK = (sys.executable, str(Path(__file__).parents[1] / "tools" / "walk.py"))


def test_the_command_line_takes_an_event_through_few_files() -> None:
    done = subprocess.run(WALK, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    files = [line.split()[-1] for line in done.stdout.splitlines()[:-1]]
    assert files[0] == "hookline/cli/__init__.py"
    assert len([file for file in files if file.startswith("hookline/cli/")]) <= 9
    assert done.stdout.splitlines()[-1].startswith(f"{len(files)} files, ")


def test_more_files_than_allowed_are_a_failure() -> None:
    done = subprocess.run([*WALK, "--limit", "1"], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr == "walk: files beyond --limit 1; fold what only forwards\n"
