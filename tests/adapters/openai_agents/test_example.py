"""The example prints what its README says."""

import subprocess
import sys

from tests.harness.documents import REPOSITORY, read_blocks

EXAMPLE = REPOSITORY / "examples" / "openai-agents"


def test_the_example_prints_what_its_readme_says() -> None:
    done = subprocess.run(
        [sys.executable, str(EXAMPLE / "agent.py")], capture_output=True, text=True, timeout=60
    )
    (shown,) = read_blocks((EXAMPLE / "README.md").read_text(encoding="utf-8"))
    _, _, expected = shown.text.partition("agent.py\n")
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == expected.strip()
