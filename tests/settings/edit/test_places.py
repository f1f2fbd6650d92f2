"""Where a switch is written, and what disabling and enabling a hook does to the files."""

import json
from pathlib import Path
from typing import Any

import pytest

from hookline.errors import HooklineError
from hookline.settings.edit import (
    Place,
    disable,
    enable,
    project_place,
    refuse_way_out,
    rewrite_settings,
    user_place,
    with_additions,
)
from hookline.settings.edit import read_settings_text as read_text
from hookline.settings.reader import SettingsFileError
from hookline.wire.hooks import HookSource


def place(*files: Path) -> Place:
    own = tuple(map(str, files))
    return Place(source=HookSource.USER, file=own[0], own_files=own)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({}, {"hooks": {"disabled": ["a"]}}),
        ({"hooks": {"disabled": ["b"]}}, {"hooks": {"disabled": ["b", "a"]}}),
        ({"hooksConfig": {"disabled": ["b"]}}, {"hooksConfig": {"disabled": ["b", "a"]}}),
        (
            {"hooksConfig": {"disabled": []}, "hooks": {"disabled": []}},
            {"hooksConfig": {"disabled": []}, "hooks": {"disabled": ["a"]}},
        ),
        ({"hooksConfig": {"disabled": ["a"]}}, {"hooksConfig": {"disabled": ["a"]}}),
    ],
)
def test_a_name_is_disabled_in_the_list_that_is_there(
    tmp_path: Path, before: Any, after: Any
) -> None:
    file = tmp_path / "settings.json"
    file.write_text(json.dumps(before))
    done = disable(place(file), "a")
    assert json.loads(file.read_text()) == after
    assert (done.changed, done.backup) == (before != after, None)


def test_a_name_is_enabled_in_both_lists_of_every_file_that_has_it(tmp_path: Path) -> None:
    one, two, none = (tmp_path / f"{number}.json" for number in range(3))
    one.write_text('{"hooks": {"disabled": ["a", "b"]}, "hooksConfig": {"disabled": ["a"]}}')
    two.write_text('{"hooks": {"disabled": ["b"]}}')
    assert [done.file for done in enable(place(one, two, none), "a")] == [str(one)]
    assert json.loads(one.read_text()) == {
        "hooks": {"disabled": ["b"]},
        "hooksConfig": {"disabled": []},
    }
    assert not none.exists()
    assert not list(tmp_path.glob("*.bak"))


def test_given_settings_take_the_place_of_the_users_except_claude_codes(tmp_path: Path) -> None:
    claude, ours = f"{tmp_path}/.claude/settings.json", f"{tmp_path}/x.json"
    found = user_place([claude, ours])
    assert (found.file, found.own_files, found.source) == (ours, (ours,), HookSource.USER)
    with pytest.raises(HooklineError, match=r"settings\.json is Claude Code's and stays as it is"):
        user_place([claude])


def test_the_users_settings_are_two_files_of_which_the_first_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    found = user_place(None)
    assert [Path(file).name for file in found.own_files] == ["settings.json", "settings.local.json"]
    assert found.file == found.own_files[0]
    assert found.file.startswith(f"{tmp_path}/")


def test_a_projects_switch_is_in_its_local_settings_and_no_link_leads_out(tmp_path: Path) -> None:
    project, beside = tmp_path / "app", tmp_path / "app2"
    (project / ".hookline").mkdir(parents=True)
    beside.mkdir()
    found = project_place(str(project))
    assert found.file == f"{project}/.hookline/settings.local.json"
    assert (found.own_files, found.source) == ((found.file,), HookSource.PROJECT)
    Path(found.file).symlink_to(beside / "x.json")
    with pytest.raises(SettingsFileError, match=r"leads out of the project, to .*app2/x\.json"):
        project_place(str(project))
    with pytest.raises(SettingsFileError, match="leads out of the project"):
        refuse_way_out(str(project), str(project))


def test_a_folder_that_cannot_be_made_is_an_error_with_the_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    file = f"{tmp_path}/file/settings.json"
    with pytest.raises(SettingsFileError, match=r"cannot be written: .*nothing in it was changed"):
        rewrite_settings(file, lambda _: "{}")


def test_an_addition_stays_on_a_line_only_while_it_fits(tmp_path: Path) -> None:
    file = tmp_path / "s.json"
    file.write_text('{\n  "b": 1\n}\n')
    around = len('  "a": {"k": ""}')
    for length, is_broken in ((95, False), (96, True)):
        text = with_additions(read_text(str(file)), {"a": {"k": "x" * (length - around)}})
        assert ('"a": {\n    "k"' in text) is is_broken


def test_a_list_of_plain_objects_stays_on_a_line_and_deeper_ones_do_not(tmp_path: Path) -> None:
    file = tmp_path / "s.json"
    file.write_text('{\n  "b": 1\n}\n')
    text = with_additions(read_text(str(file)), {"a": [{"k": 1}], "c": [{"k": [1]}], "d": []})
    assert '"a": [{"k": 1}],\n' in text
    assert '"c": [\n    {"k": [1]}\n  ],\n' in text
    assert text.endswith('"d": []\n}\n')
