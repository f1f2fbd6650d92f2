"""``tools/walk.py``: how far a reader walks who follows one event through the code."""

import re
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).parents[1]
WALK = (sys.executable, str(REPOSITORY / "tools" / "walk.py"))


def test_contributing_names_the_files_that_an_event_passes_in_their_order() -> None:
    done = subprocess.run([*WALK, "--limit", "35"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    files = [line.split()[-1] for line in done.stdout.splitlines()[:-1]]
    guide = (REPOSITORY / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = re.findall(r"^\d+\. `([^`]+\.py)`: ", guide.partition("## Follow one event")[2], re.M)
    assert [f"hookline/{name}" for name in named[: len(files)]] == files
    assert done.stdout.splitlines()[-1].startswith(f"{len(files)} files, ")


def test_more_files_than_allowed_are_a_failure() -> None:
    done = subprocess.run([*WALK, "--limit", "1"], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr == "walk: files beyond --limit 1; fold what only forwards\n"
