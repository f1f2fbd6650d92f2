"""``tools/walk.py``: how many files a reader passes who follows one event through the code."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[1]
WALK = (sys.executable, str(REPOSITORY / "tools" / "walk.py"))
# Walk -> the heading of its section in CONTRIBUTING.
SECTIONS = {
    "fire": "### A BeforeTool event from `hookline fire` to the screen",
    "run-tool": "### A tool call through `hooks.run_tool`",
    "claude": "### A hook that was written for Claude Code",
    "nats": "### A request over NATS to a worker, and back",
}


def read_section(heading: str) -> list[str]:
    """The files that a section of CONTRIBUTING names, in its order."""
    guide = (REPOSITORY / "CONTRIBUTING.md").read_text(encoding="utf-8")
    section = re.split(r"^##+ ", guide.partition(f"{heading}\n")[2], maxsplit=1, flags=re.M)[0]
    return re.findall(r"`([a-z_/]+\.py)`", section)


@pytest.mark.parametrize("walk", SECTIONS)
def test_contributing_names_the_files_of_a_walk_in_their_order(walk: str) -> None:
    done = subprocess.run([*WALK, walk], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    files = [line.split()[-1] for line in done.stdout.splitlines()[:-1]]
    assert read_section(SECTIONS[walk]) == files
    assert done.stdout.splitlines()[-1].startswith(f"{len(files)} files, ")


def test_more_files_than_allowed_are_a_failure() -> None:
    done = subprocess.run([*WALK, "--limit", "1"], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr == "walk: fire passes more than 1 files; fold a file that only forwards\n"
