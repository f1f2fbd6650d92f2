"""Where settings are looked for, and which file counts for which layer."""

import json
import os
from pathlib import Path
from typing import Any

import platformdirs
import pytest

from hookline._support.places import home_dir, system_settings_file
from hookline.contract import Config
from hookline.pipeline.registry import HookRegistryEntry
from hookline.settings.reader import find_project_dir, find_settings_files
from hookline.wire.hooks import HookSource
from tests.eleven import command

FOLDERS = (".hookline", ".llxprt", ".gemini")


def home() -> Path:
    return Path(os.environ["HOME"])


def user_dir() -> Path:
    return Path(platformdirs.user_config_dir("hookline", appauthor=False))


def system_file() -> Path:
    return Path(system_settings_file())


def project_of(working_dir: Path, home: Path) -> Path:
    return Path(find_project_dir(str(working_dir), str(home)))


def write(path: Path, name: str) -> Path:
    """A settings file with one hook of that name."""
    path.parent.mkdir(parents=True, exist_ok=True)
    hooks = {"BeforeTool": [{"hooks": [command("true", name=name)]}]}
    path.write_text(json.dumps({"hooks": hooks}))
    return path


def loaded(working_dir: Path, **options: Any) -> tuple[HookRegistryEntry, ...]:
    return Config.load(working_dir, trusted=True, **options).get_settings().entries


def found(working_dir: Path) -> list[tuple[str, str]]:
    return [(entry.name, entry.source.value) for entry in loaded(working_dir)]


def test_files_come_in_layer_order_and_each_has_its_source(tmp_path: Path) -> None:
    work = tmp_path / "work"
    write(system_file(), "system")
    write(home() / ".gemini/settings.json", "user gemini")
    write(home() / ".llxprt/settings.json", "user llxprt")
    write(home() / ".config/llxprt-code/settings.json", "user llxprt-code")
    write(user_dir() / "settings.json", "user")
    write(user_dir() / "settings.local.json", "user local")
    write(work / ".gemini/settings.json", "gemini")
    write(work / ".llxprt/settings.json", "llxprt")
    write(work / ".hookline/settings.json", "own")
    write(work / ".hookline/settings.local.json", "local")
    assert found(work) == [
        *((name, "project") for name in ("local", "own", "llxprt", "gemini")),
        *(
            (name, "user")
            for name in ("user local", "user", "user llxprt", "user llxprt-code", "user gemini")
        ),
        ("system", "system"),
    ]


def test_extensions_come_last_and_inactive_ones_not_at_all(tmp_path: Path) -> None:
    write(system_file(), "system")
    hooks = {"BeforeTool": [{"hooks": [command("true", name="extension")]}]}
    extensions = [{"name": "x", "hooks": hooks}, {"name": "y", "isActive": False, "hooks": hooks}]
    entries = loaded(tmp_path, extensions=extensions)
    assert [(e.name, e.source) for e in entries] == [
        ("system", HookSource.SYSTEM),
        ("extension", HookSource.EXTENSIONS),
    ]


@pytest.mark.parametrize("folder", FOLDERS)
def test_the_project_is_the_nearest_ancestor_with_a_settings_folder(
    tmp_path: Path, folder: str
) -> None:
    outer, inner = tmp_path / "outer", tmp_path / "outer/inner"
    below = inner / "a/b"
    below.mkdir(parents=True)
    (outer / ".hookline").mkdir()
    (inner / folder).mkdir()
    assert project_of(below, home()) == inner
    assert project_of(inner, home()) == inner
    assert project_of(outer, home()) == outer


def test_without_a_settings_folder_the_project_is_the_working_directory(tmp_path: Path) -> None:
    below = tmp_path / "a/b"
    below.mkdir(parents=True)
    assert project_of(below, home()) == below


def test_a_file_of_that_name_is_no_settings_folder(tmp_path: Path) -> None:
    below = tmp_path / "a/b"
    below.mkdir(parents=True)
    (tmp_path / "a/.gemini").write_text("")
    assert project_of(below, home()) == below


@pytest.mark.parametrize("folder", FOLDERS)
def test_the_folders_of_the_home_directory_make_it_no_project(folder: str) -> None:
    below = home() / "code/x"
    below.mkdir(parents=True)
    (home() / folder).mkdir(exist_ok=True)
    assert project_of(below, home()) == below
    (home() / "code/.llxprt").mkdir()
    assert project_of(below, home()) == home() / "code"


def test_the_home_directory_is_known_by_any_of_its_names(tmp_path: Path) -> None:
    (home() / ".gemini").mkdir()
    below = home() / "x"
    below.mkdir()
    alias = tmp_path / "alias"
    alias.symlink_to(home())
    assert project_of(below, alias) == below
    assert project_of(alias / "x", home()) == alias / "x"


def test_where_home_is_the_project_its_files_are_the_users() -> None:
    write(home() / ".gemini/settings.json", "gemini")
    write(home() / ".llxprt/settings.json", "llxprt")
    assert found(home()) == [("llxprt", "user"), ("gemini", "user")]


def test_a_file_reached_by_a_symlink_counts_once_for_the_more_trusted_layer(
    tmp_path: Path,
) -> None:
    work = tmp_path / "work"
    real = write(home() / ".gemini/settings.json", "shared")
    (work / ".hookline").mkdir(parents=True)
    (work / ".hookline/settings.json").symlink_to(real)
    assert found(work) == [("shared", "user")]


def test_a_file_reached_twice_in_one_layer_counts_at_its_first_place(tmp_path: Path) -> None:
    work = tmp_path / "work"
    real = write(work / ".gemini/settings.json", "shared")
    write(work / ".llxprt/settings.json", "between")
    (work / ".hookline").mkdir()
    (work / ".hookline/settings.json").symlink_to(real)
    assert found(work) == [("shared", "project"), ("between", "project")]


def test_the_settings_of_the_project_are_found_from_a_directory_below(tmp_path: Path) -> None:
    below = tmp_path / "work/deep/er"
    below.mkdir(parents=True)
    file = write(tmp_path / "work/.hookline/settings.json", "own")
    config = Config.load(below, trusted=True)
    assert config.get_project_dir() == str(tmp_path / "work")
    assert config.get_working_dir() == str(below)
    (entry,) = config.get_settings().entries
    assert (entry.file, entry.line) == (str(file), 1)


def test_a_user_without_a_home_has_the_other_layers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HOME")
    monkeypatch.setattr("pwd.getpwuid", _unknown_user)
    assert home_dir() is None
    files = find_settings_files(str(tmp_path), None)
    assert {file.source for file in files} == {
        HookSource.PROJECT,
        HookSource.USER,
        HookSource.SYSTEM,
    }


def _unknown_user(_uid: int) -> None:
    raise KeyError
