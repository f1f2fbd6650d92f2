"""What a migration adds to our settings, and which files and variables it finds."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from hookline.migrate.moves import Before, Move
from hookline.migrate.planning import (
    Places,
    additions,
    find_places,
    find_plugin_sources,
    find_sources,
    given_source,
    make_plan,
)
from hookline.pipeline.settings import SettingsFileError


def move(command: str, *, event: str = "BeforeTool", group: int = 0, **fields: Any) -> Move:
    hook = {"type": "command", "command": command, **fields.pop("hook", {})}
    before = Before(event=event, matcher=None, config=hook)
    place: dict[str, Any] = {"file": "f", "line": 1, "column": 1, "group": ("f", group)}
    return Move(before=before, event=event, hook=hook, **place, **fields)


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


def test_a_file_that_is_both_the_users_and_the_projects_counts_once_as_the_users(
    tmp_path: Path,
) -> None:
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude/settings.json").write_text("{}")
    places = Places(str(tmp_path), str(tmp_path), str(tmp_path / "ours"))
    (source,) = find_sources(places, ("claude",))
    assert (source.layer, source.target) == ("user", str(tmp_path / "ours/settings.json"))
    nobody = Places(str(tmp_path), None, None)
    (source,) = find_sources(nobody, ("claude", "gemini"))
    assert (source.layer, source.target) == ("project", f"{tmp_path}/.hookline/settings.json")


def test_the_home_is_no_project_though_it_has_settings_of_claude_codes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    write(tmp_path / ".claude" / "settings.json", {})
    (tmp_path / "work" / "src").mkdir(parents=True)
    assert find_places(str(tmp_path / "work")).project_dir == str(tmp_path / "work")
    write(tmp_path / "work" / ".claude" / "settings.local.json", {})
    places = find_places(str(tmp_path / "work" / "src"))
    assert (places.project_dir, places.home) == (str(tmp_path / "work"), str(tmp_path))


def test_settings_that_cannot_be_added_to_are_told_before_anything_is_written(
    tmp_path: Path,
) -> None:
    write(tmp_path / ".claude" / "settings.json", {"hooks": STOP})
    write(tmp_path / ".hookline" / "settings.json", {"hooks": 1})
    places = Places(str(tmp_path), None, None)
    with pytest.raises(SettingsFileError, match="hooks must be an object"):
        make_plan(find_sources(places, ("claude",)), places)


@pytest.mark.parametrize("name", ["", 5, None])
def test_a_plugin_without_a_name_is_called_as_its_folder(tmp_path: Path, name: object) -> None:
    folder = tmp_path / "my plugin"
    write(folder / ".claude-plugin" / "plugin.json", {"name": name, "hooks": STOP})
    places = Places(str(tmp_path), None, str(tmp_path / "ours"))
    plan = make_plan(find_plugin_sources(str(folder), places, "project"), places)
    assert plan.folders == (str(tmp_path / "ours" / "plugins" / "my-plugin"),)


def test_variables_become_texts_and_those_that_no_process_can_have_are_left_out(
    tmp_path: Path,
) -> None:
    env = {"YES": True, "N": 5, "F": 0.5, "T": "x", "": "x", "A=B": "x", "Z": "a\0", "L": [1]}
    hooks = {"Stop": [{"hooks": [{"type": "command", "command": "touch x"}]}]}
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude/settings.json").write_text(json.dumps({"env": env, "hooks": hooks}))
    places = Places(str(tmp_path), None, None)
    (moved,) = make_plan(find_sources(places, ("claude",)), places).moves
    assert moved.hook["env"] == {"YES": "true", "N": "5", "F": "0.5", "T": "x"}


def write(file: Path, value: object) -> str:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(value))
    return str(file)


STOP = {"Stop": [{"hooks": [{"type": "command", "command": "touch x"}]}]}


def test_a_plugin_may_have_hooks_in_several_files_and_in_its_manifest(tmp_path: Path) -> None:
    folder = tmp_path / "plugin"
    own = write(folder / "a.json", {"hooks": {}})
    listed = {"hooks": ["./a.json", {"hooks": STOP}, STOP]}
    manifest = write(folder / ".claude-plugin" / "plugin.json", listed)
    places = Places(str(tmp_path), None, str(tmp_path / "ours"))
    found = find_plugin_sources(str(folder), places, "project")
    assert [(os.path.normpath(source.file), source.base) for source in found] == [
        (own, ("hooks",)),
        (manifest, ("hooks", 1, "hooks")),
        (manifest, ("hooks", 2)),
    ]
    assert {source.target for source in found} == {f"{tmp_path}/.hookline/settings.json"}
    assert {source.plugin for source in found} == {str(folder)}


@pytest.mark.parametrize(("hooks", "base"), [({"hooks": STOP}, ("hooks", "hooks")), (STOP, None)])
def test_hooks_of_a_users_plugin_go_into_the_users_settings(
    tmp_path: Path, hooks: object, base: tuple[str, ...] | None
) -> None:
    write(tmp_path / "plugin" / ".claude-plugin" / "plugin.json", {"hooks": hooks})
    places = Places(str(tmp_path), None, str(tmp_path / "ours"))
    (source,) = find_plugin_sources(str(tmp_path / "plugin"), places, "user")
    assert source.base == (base or ("hooks",))
    assert source.target == str(tmp_path / "ours" / "settings.json")


@pytest.mark.parametrize(
    ("there", "data"),
    [
        (["my-plug"], "home/.claude/plugins/data/my-plug"),
        (["my-plug-a", "other"], "home/.claude/plugins/data/my-plug-a"),
        (["my-plugin"], "ours/plugins/my-plug"),
        (["my-plug-a", "my-plug-b"], "ours/plugins/my-plug"),
    ],
)
def test_a_plugin_keeps_its_data_folder_if_there_is_only_one(
    tmp_path: Path, there: list[str], data: str
) -> None:
    for name in there:
        (tmp_path / "home/.claude/plugins/data" / name).mkdir(parents=True)
    folder = tmp_path / "plugin"
    write(folder / ".claude-plugin" / "plugin.json", {"name": "my plug", "hooks": STOP})
    places = Places(str(tmp_path), str(tmp_path / "home"), str(tmp_path / "ours"))
    plan = make_plan(find_plugin_sources(str(folder), places, "project"), places)
    assert plan.folders == (str(tmp_path / data),)


def test_a_plugin_does_not_get_the_variables_of_the_project(tmp_path: Path) -> None:
    write(tmp_path / ".claude" / "settings.json", {"env": {"TEAM": "blue"}})
    folder = tmp_path / "plugin"
    write(folder / ".claude-plugin" / "plugin.json", {"hooks": STOP})
    places = Places(str(tmp_path), None, str(tmp_path / "ours"))
    (moved,) = make_plan(find_plugin_sources(str(folder), places, "project"), places).moves
    assert set(moved.hook["env"]) == {"CLAUDE_PLUGIN_ROOT", "CLAUDE_PLUGIN_DATA"}


def test_a_file_that_was_named_brings_its_own_variables(tmp_path: Path) -> None:
    file = write(tmp_path / "named.json", {"env": {"TEAM": "blue"}, "hooks": STOP})
    places = Places(str(tmp_path), None, None)
    (moved,) = make_plan([given_source(file, "claude", places)], places).moves
    assert moved.hook["env"] == {"TEAM": "blue"}


def test_what_disables_claude_codes_hooks_leaves_gemini_clis_alone(tmp_path: Path) -> None:
    write(tmp_path / ".claude" / "settings.json", {"disableAllHooks": True, "hooks": STOP})
    hook = {"type": "command", "command": "touch y"}
    write(tmp_path / ".gemini" / "settings.json", {"hooks": {"AfterAgent": [{"hooks": [hook]}]}})
    places = Places(str(tmp_path), None, None)
    plan = make_plan(find_sources(places, ("claude", "gemini")), places)
    assert [move.hook["command"] for move in plan.moves] == ["touch y"]
    alone = make_plan(find_sources(places, ("gemini",)), places)
    assert "disableAllHooks" not in {finding.subject for finding in alone.findings}
