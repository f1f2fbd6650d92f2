"""Which settings switch hooks off, and which of them keeps a hook off."""

import json
from pathlib import Path
from typing import Any

import pytest

from hookline.pipeline.registry import HookRegistryEntry
from hookline.settings.edit import Switch, read_switches, switch_of
from hookline.settings.reader import SettingsFile
from hookline.wire.events import HookEventName
from hookline.wire.hooks import CommandHook, HookSource

SYSTEM, USER, PROJECT = HookSource.SYSTEM, HookSource.USER, HookSource.PROJECT


def read(folder: Path, *files: tuple[HookSource, Any], dialect: str = "native") -> list[Any]:
    """The layer, the number of the file and the name of each switch."""
    written = []
    for number, (source, settings) in enumerate(files):
        path = folder / f"{number}.json"
        path.write_text(settings if isinstance(settings, str) else json.dumps(settings))
        written.append(SettingsFile(str(path), source, dialect))
    switches = read_switches([*written, SettingsFile(str(folder / "none.json"), USER, dialect)])
    return [(each.source, int(Path(each.file).stem), each.name) for each in switches]


@pytest.mark.parametrize(
    ("settings", "names"),
    [
        ({"hooks": {"disabled": ["a", "b"]}}, ["a", "b"]),
        ({"hooksConfig": {"disabled": ["a"]}}, ["a"]),
        ({"enableHooks": False}, [None]),
        ({"hooks": {"enabled": False}, "enableHooks": False}, [None]),
        ({"hooks": {"enabled": False}, "enableHooks": True}, [None]),
        ({"enableHooks": True}, []),
        ({"enableHooks": "no"}, []),
        ({"enableHooks": 0}, []),
        ("{", []),
        ({}, []),
    ],
)
def test_a_name_or_all_hooks_are_switched_off(
    tmp_path: Path, settings: Any, names: list[str | None]
) -> None:
    assert [name for _, _, name in read(tmp_path, (USER, settings))] == names


def test_the_first_file_of_a_layer_decides_about_all_hooks(tmp_path: Path) -> None:
    off, on = {"enableHooks": False}, {"enableHooks": True}
    assert read(tmp_path, (PROJECT, on), (PROJECT, off), (USER, off)) == [(USER, 2, None)]
    assert read(tmp_path, (PROJECT, off), (PROJECT, off)) == [(PROJECT, 0, None)]
    names = {"hooks": {"disabled": ["a"]}}
    assert read(tmp_path, (USER, names), (USER, names)) == [(USER, 0, "a"), (USER, 1, "a")]


def test_claude_codes_switches_are_its_own(tmp_path: Path) -> None:
    off, on = {"disableAllHooks": True}, {"disableAllHooks": False}
    managed = {"allowManagedHooksOnly": True}
    files = ((PROJECT, on), (PROJECT, off), (USER, off), (USER, managed), (SYSTEM, managed))
    found = read(tmp_path, *files, dialect="claude")
    assert found == [(USER, 2, None), (SYSTEM, 4, None)]
    assert read(tmp_path, (USER, {"enableHooks": False}), dialect="claude") == []


def test_files_after_one_that_is_missing_or_broken_still_count(tmp_path: Path) -> None:
    off = {"hooks": {"disabled": ["a"]}}
    assert read(tmp_path, (PROJECT, "{"), (USER, off)) == [(USER, 1, "a")]
    files = [
        SettingsFile(str(tmp_path / "none.json"), PROJECT, "native"),
        SettingsFile(str(tmp_path / "1.json"), USER, "native"),
    ]
    assert [switch.name for switch in read_switches(files)] == ["a"]


def test_a_file_of_the_system_may_allow_only_managed_hooks_after_another_decided_about_all(
    tmp_path: Path,
) -> None:
    on = {"disableAllHooks": False}
    files = ((SYSTEM, on), (SYSTEM, {**on, "allowManagedHooksOnly": True}))
    assert read(tmp_path, *files, dialect="claude") == [(SYSTEM, 1, None)]


def entry(source: HookSource, *, managed: bool = False, dialect: str = "native") -> Any:
    hook = CommandHook(name="h", command="x", source=source, managed=managed, dialect=dialect)
    return HookRegistryEntry(event=HookEventName.BEFORE_TOOL, hook=hook, matches=lambda _: True)


def test_the_most_trusted_layer_that_reaches_a_hook_keeps_it_off() -> None:
    project, user, system = (Switch(source, "f", 1, "h") for source in (PROJECT, USER, SYSTEM))
    assert switch_of(entry(PROJECT), [project, user, system]) is system
    assert switch_of(entry(PROJECT), [project, user]) is user
    assert switch_of(entry(PROJECT), [project]) is project
    assert switch_of(entry(USER), [project]) is None
    assert switch_of(entry(USER, managed=True), [user]) is None
    assert switch_of(entry(USER, managed=True), [system]) is system


def test_a_switch_without_a_name_reaches_all_hooks_and_claude_codes_its_own() -> None:
    other, every = Switch(USER, "f", 1, "other"), Switch(USER, "f", 2, None)
    claude = Switch(USER, "f", 3, None, is_foreign=True)
    assert switch_of(entry(USER), [other, every]) is every
    assert switch_of(entry(USER), [claude]) is None
    assert switch_of(entry(USER, dialect="claude"), [claude]) is claude
