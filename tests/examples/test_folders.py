"""What holds for every example: it is complete, it loads without a problem, and it is listed."""

import ast
import os
from pathlib import Path

import pytest

from hookline import Config

EXAMPLES = Path(__file__).parents[2] / "examples"
FOLDERS = sorted(path for path in EXAMPLES.iterdir() if path.is_dir())


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: path.name)
def test_its_settings_load_without_a_problem(folder: Path) -> None:
    settings = Config.load(folder, trusted=True).get_settings()
    assert settings.problems == ()
    assert all(entry.source.value == "project" for entry in settings.entries)
    assert settings.entries


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: path.name)
def test_its_scripts_are_executable_and_run_on_an_old_python(folder: Path) -> None:
    places = [*folder.glob("**/hooks/*"), *folder.glob("**/scripts/*")]
    scripts = [path for path in places if path.suffix in (".py", ".sh")]
    assert scripts
    for script in scripts:
        text = script.read_text(encoding="utf-8")
        assert not text.startswith("#!") or os.access(script, os.X_OK), script
        if script.suffix == ".py":
            ast.parse(text, feature_version=(3, 8))


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: path.name)
def test_it_says_what_it_does_and_the_index_names_it(folder: Path) -> None:
    lines = (folder / "README.md").read_text(encoding="utf-8").splitlines()
    assert 5 <= len(lines) <= 40
    assert f"({folder.name})" in (EXAMPLES / "README.md").read_text(encoding="utf-8")
