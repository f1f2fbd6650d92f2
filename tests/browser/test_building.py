"""``make docs`` fails on what a reader would stumble over; it needs the environment of the site."""

import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# Read only, so the scratch tree may have them as they are.
SHARED = (
    *("ARCHITECTURE.md", "Makefile", "README.md", "constraints-docs.txt", "examples"),
    *("pyproject.toml", "src"),
)

pytestmark = pytest.mark.timeout(120)


def build(scratch: Path, added: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """Build the site of a tree in which these texts are added to pages, or are new ones."""
    for name in ("docs", "tools/site"):
        shutil.copytree(ROOT / name, scratch / name)
    shutil.copy(ROOT / "mkdocs.yml", scratch)
    for name in SHARED:
        (scratch / name).symlink_to(ROOT / name)
    for page, text in added.items():
        with (scratch / "docs" / page).open("a") as file:
            file.write(text)
    environment = ROOT / ".venv-docs"
    # Not to be made again: what the environment depends on is not what is tried here.
    made = ["-o", str(environment / ".dev"), f"DOCS={environment}"]
    return subprocess.run(["make", "-C", scratch, "docs", *made], capture_output=True, text=True)


def test_each_thing_that_is_broken_fails_the_build(tmp_path: Path) -> None:
    links = "\n[a](gone.md), [b](cli.md#gone), [c](#nowhere), [d](../gone.py)\n"
    built = build(tmp_path, {"warm.md": links, "orphan.md": "# Nobody leads here\n"})
    assert built.returncode != 0
    assert "warm.md links to ../gone.py, which is not in the repository" in built.stderr
    assert "'gone.md'" in built.stderr
    assert "'cli.md' does not contain an anchor '#gone'" in built.stderr
    assert "'#nowhere'" in built.stderr
    assert "orphan.md" in built.stderr
    # The file outside docs is named by the hook and by MkDocs.
    assert "with 6 warnings in strict mode" in built.stdout + built.stderr


def test_what_is_whole_is_built_without_a_warning(tmp_path: Path) -> None:
    links = "\n[x](cli.md#trace), [y](../examples), [z](../README.md)\n"
    built = build(tmp_path, {"warm.md": links})
    assert built.returncode == 0, built.stderr
    assert "WARNING" not in built.stderr
    page = (tmp_path / "build/site/warm.html").read_text(encoding="utf-8")
    assert 'href="https://github.com/hookline/hookline/tree/main/examples"' in page
