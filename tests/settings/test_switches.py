"""Which settings switch hooks off, and which of them keeps a hook off."""

import json
from pathlib import Path
from typing import Any

import pytest

from hookline.settings.layers import Switch, Switches, find_switch
from hookline.settings.reader import SettingsFile, SettingsReader
from hookline.wire.hooks import CommandHook, HookSource

SYSTEM, USER, PROJECT = HookSource.SYSTEM, HookSource.USER, HookSource.PROJECT


def read(folder: Path, *files: tuple[HookSource, Any], dialect: str = "native") -> list[Any]:
    """The layer, the number of the file and the name of each switch."""
    sources = []
    for number, (source, settings) in enumerate(files):
        path = folder / f"{number}.json"
        path.write_text(settings if isinstance(settings, str) else json.dumps(settings))
        sources.append(SettingsFile(str(path), source, dialect))
    sources.append(SettingsFile(str(folder / "none.json"), USER, dialect))
    switches = Switches(SettingsReader(sources).read()).off
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


def test_files_after_one_that_is_broken_still_count(tmp_path: Path) -> None:
    off = {"hooks": {"disabled": ["a"]}}
    assert read(tmp_path, (PROJECT, "{"), (USER, off)) == [(USER, 1, "a")]


def test_a_file_of_the_system_may_allow_only_managed_hooks_after_another_decided_about_all(
    tmp_path: Path,
) -> None:
    on = {"disableAllHooks": False}
    files = ((SYSTEM, on), (SYSTEM, {**on, "allowManagedHooksOnly": True}))
    assert read(tmp_path, *files, dialect="claude") == [(SYSTEM, 1, None)]


def hook(source: HookSource, *, managed: bool = False, dialect: str = "native") -> CommandHook:
    return CommandHook(name="h", command="x", source=source, managed=managed, dialect=dialect)


def switch(source: HookSource, name: str | None = None, **kind: bool) -> Switch:
    return Switch(source=source, file="f", line=1, name=name, **kind)


def test_the_most_trusted_layer_that_reaches_a_hook_keeps_it_off() -> None:
    project, user, system = (switch(source, "h") for source in (PROJECT, USER, SYSTEM))
    assert find_switch(hook(PROJECT), [project, user, system]) is system
    assert find_switch(hook(PROJECT), [project, user]) is user
    assert find_switch(hook(PROJECT), [project]) is project
    assert find_switch(hook(USER), [project]) is None
    assert find_switch(hook(USER, managed=True), [user]) is None
    assert find_switch(hook(USER, managed=True), [system]) is system


def test_a_switch_without_a_name_reaches_all_hooks_and_claude_codes_its_own() -> None:
    other, every = switch(USER, "other"), switch(USER)
    claude = switch(USER, is_foreign=True)
    assert find_switch(hook(USER), [other, every]) is every
    assert find_switch(hook(USER), [claude]) is None
    assert find_switch(hook(USER, dialect="claude"), [claude]) is claude


def test_a_switch_that_spares_the_system_reaches_all_other_hooks_of_its_dialect() -> None:
    managed_only = switch(SYSTEM, is_foreign=True, spares_system=True)
    assert find_switch(hook(USER, dialect="claude"), [managed_only]) is managed_only
    assert find_switch(hook(SYSTEM, dialect="claude"), [managed_only]) is None
    assert find_switch(hook(USER), [managed_only]) is None
