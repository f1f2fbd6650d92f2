"""Which sources of hooks are read: who may ask for Claude Code's files, and whose plugins count."""

import json
from pathlib import Path
from typing import Any

import pytest

from hookline.dialects.tools import ToolAlias
from hookline.settings.layers import SettingsFile
from hookline.settings.sources import Sources
from hookline.wire.hooks import LAYER_ORDER, HookSource
from tests.dialects.claude.claude import hooks, plugin

SYSTEM, USER, PROJECT = HookSource.SYSTEM, HookSource.USER, HookSource.PROJECT
ALL = {SYSTEM, USER, PROJECT}


def make_file(folder: Path, source: HookSource, value: object, dialect: str = "native") -> Any:
    file = folder / f"{dialect}-{source}.json"
    file.write_text(json.dumps(value))
    return SettingsFile(str(file), source, dialect)


@pytest.mark.parametrize(
    ("said", "claude", "read"),
    [
        ({}, None, set()),
        ({PROJECT: True}, True, {PROJECT}),
        ({PROJECT: False}, None, set()),
        ({USER: True}, True, ALL),
        ({USER: True, PROJECT: False}, True, ALL),
        ({SYSTEM: True}, True, ALL),
        ({USER: False, PROJECT: True}, False, set()),
        ({SYSTEM: False, USER: True, PROJECT: True}, False, set()),
        ({SYSTEM: True, USER: False, PROJECT: True}, False, {SYSTEM}),
    ],
)
def test_who_may_ask_for_claude_codes_files_and_for_whose(
    tmp_path: Path, said: dict[HookSource, bool], claude: bool | None, read: set[HookSource]
) -> None:
    own = [make_file(tmp_path, source, {"claude": word}) for source, word in said.items()]
    theirs = [make_file(tmp_path, source, {}, "claude") for source in ALL]
    sources = Sources(own, project_dir=str(tmp_path), foreign_files=theirs)
    assert sources.read().foreign is claude
    assert {file.source for file in sources.files if file.dialect == "claude"} == read
    assert sources.wants_foreign() is bool(claude)


@pytest.mark.parametrize("asked", [True, False])
def test_code_decides_about_claude_codes_files_whatever_settings_say(
    tmp_path: Path, asked: bool
) -> None:
    own = [make_file(tmp_path, USER, {"claude": not asked})]
    theirs = [make_file(tmp_path, source, {}, "claude") for source in ALL]
    options: dict[str, Any] = {"project_dir": str(tmp_path), "foreign_files": theirs}
    sources = Sources(own, foreign=asked, **options)
    assert sources.read().foreign is asked
    assert len(sources.files) == 1 + (3 if asked else 0)


def test_what_a_broken_plugin_said_to_another_layer_does_not_count(tmp_path: Path) -> None:
    folder = plugin(tmp_path / "plug", hooks("a"))
    named = {"plugins": [str(folder)]}
    files = [make_file(tmp_path, PROJECT, named), make_file(tmp_path, USER, named)]
    sources = Sources(files, project_dir=str(tmp_path))
    assert [layer.source for layer in sources.read().layers if layer.entries] == [USER]
    Path(files[1].path).write_text("{}")
    (folder / "hooks" / "hooks.json").write_text("{")
    layers = sources.read().layers
    assert [layer.source for layer in layers if layer.problems] == [PROJECT]
    assert [layer for layer in layers if layer.entries] == []


def test_plugins_stand_in_the_order_of_the_layers_that_name_them(tmp_path: Path) -> None:
    named = [str(plugin(tmp_path / name, hooks(name))) for name in ("a", "b")]
    files = [
        make_file(tmp_path, PROJECT, {"plugins": named}),
        make_file(tmp_path, USER, {"plugins": named[:1]}),
    ]
    layers = Sources(files, project_dir=str(tmp_path)).read().layers
    sources = [layer.source for layer in layers]
    assert sources == sorted(sources, key=LAYER_ORDER.__getitem__)
    found = [(layer.source, entry.name) for layer in layers for entry in layer.entries]
    assert sorted(found, key=lambda each: each[1]) == [(USER, "a"), (PROJECT, "b")]


def test_plugins_that_are_no_longer_named_are_no_longer_known(tmp_path: Path) -> None:
    folder = plugin(tmp_path / "plug", hooks("a"))
    file = make_file(tmp_path, PROJECT, {"plugins": ["plug"]})
    sources = Sources([file], project_dir=str(tmp_path))
    sources.read()
    assert str(folder / "hooks" / "hooks.json") in sources.plugin_files
    assert [source for source, _ in sources.plugins] == [PROJECT]
    Path(file.path).write_text("{}")
    sources.read()
    assert (sources.plugin_files, sources.plugins) == ((), ())


def test_matchers_see_the_tools_that_are_shared_last_and_no_others(tmp_path: Path) -> None:
    sources = Sources(project_dir=str(tmp_path))
    seen = sources.tools
    sources.share_tools({"a": ToolAlias("Bash"), "b": ToolAlias("Read")})
    sources.share_tools({"b": ToolAlias("Edit"), "c": ToolAlias("Grep")})
    assert {name: alias.name for name, alias in seen.items()} == {"b": "Edit", "c": "Grep"}
