"""What a migration adds to our settings, and which files it finds."""

import json
from pathlib import Path
from typing import Any

import pytest

from hookline.migrate.plan import (
    Move,
    Places,
    additions,
    find_places,
    find_sources,
    make_plan,
)
from hookline.settings.reader import SettingsFileError


def move(command: str, *, event: str = "BeforeTool", group: int = 0, **fields: Any) -> Move:
    hook = {"type": "command", "command": command, **fields.pop("hook", {})}
    place: dict[str, Any] = {"file": "f", "line": 1, "column": 1, "group": ("f", group)}
    return Move(event=event, hook=hook, **place, **fields)


def test_hooks_that_shared_a_definition_share_one_again() -> None:
    moves = [move("a", matcher="x"), move("b", group=1), move("c", matcher="x", sequential=True)]
    added, new = additions({}, moves, [])
    first, second = added["hooks"]["BeforeTool"]
    assert ([hook["command"] for hook in first["hooks"]], first["matcher"]) == (["a", "c"], "x")
    assert (second, new) == ({"hooks": [moves[1].hook]}, moves)


@pytest.mark.parametrize(
    ("there", "is_new"),
    [
        ({"command": "a"}, False),
        ({"command": "a", "timeout": 5, "name": "other"}, False),
        ({"command": "b"}, True),
        ({"command": "a", "args": []}, True),
        ({"command": "a", "onFailure": "block"}, True),
        ({"command": "a", "env": {"X": "1"}}, True),
        ("a", True),
    ],
)
def test_a_hook_that_is_there_already_is_not_added(there: object, is_new: bool) -> None:
    value = {"hooks": {"BeforeTool": [{"hooks": [there]}], "enabled": True}}
    added, new = additions(value, [move("a")], [])
    assert (bool(added), len(new)) == (is_new, int(is_new))
    elsewhere = {"hooks": {"AfterTool": [{"hooks": [there]}]}}
    assert len(additions(elsewhere, [move("a")], [])[1]) == 1


def test_of_two_moves_that_are_the_same_hook_one_is_added() -> None:
    first = move("a", hook={"env": {"A": "1", "B": "2"}})
    second = move("a", group=1, hook={"env": {"B": "2", "A": "1"}})
    added, new = additions({}, [first, second], [])
    assert (len(new), len(added["hooks"]["BeforeTool"])) == (1, 1)


def test_names_that_are_disabled_are_added_once() -> None:
    assert additions({"hooks": {"disabled": ["a"]}}, [], ["a", "b"])[0] == {
        "hooks": {"disabled": ["b"]}
    }
    assert additions({"hooks": {"disabled": ["a"]}}, [], ["a"]) == ({}, [])
    assert additions({"hooks": {"disabled": "a"}}, [], ["a"])[0] == {"hooks": {"disabled": ["a"]}}


def write(file: Path, value: object) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(value))


def test_a_file_that_is_both_the_users_and_the_projects_counts_once_as_the_users(
    tmp_path: Path,
) -> None:
    write(tmp_path / ".gemini" / "settings.json", {})
    places = Places(str(tmp_path), str(tmp_path), str(tmp_path / "ours"))
    (source,) = find_sources(places)
    assert (source.layer, source.target) == ("user", str(tmp_path / "ours/settings.json"))
    nobody = Places(str(tmp_path), None, None)
    (source,) = find_sources(nobody)
    assert (source.layer, source.target) == ("project", f"{tmp_path}/.hookline/settings.json")


def test_the_home_is_no_project_though_it_has_settings_of_gemini_clis(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    write(tmp_path / ".gemini" / "settings.json", {})
    (tmp_path / "work" / "src").mkdir(parents=True)
    assert find_places(str(tmp_path / "work")).project_dir == str(tmp_path / "work")
    write(tmp_path / "work" / ".gemini" / "settings.json", {})
    places = find_places(str(tmp_path / "work" / "src"))
    assert (places.project_dir, places.home) == (str(tmp_path / "work"), str(tmp_path))


def test_settings_that_cannot_be_added_to_are_told_before_anything_is_written(
    tmp_path: Path,
) -> None:
    hook = {"type": "command", "command": "touch x"}
    write(tmp_path / ".gemini" / "settings.json", {"hooks": {"AfterAgent": [{"hooks": [hook]}]}})
    write(tmp_path / ".hookline" / "settings.json", {"hooks": 1})
    places = Places(str(tmp_path), None, None)
    with pytest.raises(SettingsFileError, match="hooks must be an object"):
        make_plan(find_sources(places), places)
