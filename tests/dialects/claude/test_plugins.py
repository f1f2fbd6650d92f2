"""Folders of Claude Code's plugins: who names them, and what they bring."""

import os
from pathlib import Path
from typing import Any

import pytest

from hookline._support.places import user_state_dir
from hookline.contract import Config
from hookline.hooks import Hooks
from hookline.wire.hooks import CommandHook, HookSource
from tests.dialects.claude.claude import (
    hooks,
    http,
    kinds,
    load,
    names,
    own_user_file,
    plugin,
    system_file,
    user_file,
    write,
)
from tests.harness.scratch import Project


def test_code_names_plugins_and_their_hooks_are_the_users(tmp_path: Path) -> None:
    folder = plugin(tmp_path / "guard", hooks("${CLAUDE_PLUGIN_ROOT}/run.sh"))
    for config in (
        Config.load(tmp_path, plugins=[folder]),
        Config(working_dir=tmp_path, plugins=[str(folder)]),
        Hooks.load(tmp_path, plugins=[folder]).config,
    ):
        (entry,) = config.get_settings().entries
        hook = entry.hook
        assert isinstance(hook, CommandHook)
        assert (hook.source, hook.dialect, entry.trusted) == (HookSource.USER, "claude", True)
        assert hook.plugin_root == str(folder)
        data = os.path.join(user_state_dir() or "", "plugins", "guard")
        assert hook.plugin_data == data
        assert not os.path.exists(data)
        assert (entry.file, entry.line) == (str(folder / "hooks/hooks.json"), 1)
        assert config.project.why_untrusted(hook) is None


BARE = hooks("bare")["hooks"]


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("./config/extra.json", ["default", "extra"]),
        ("config/extra.json", ["default", "extra"]),
        ("${CLAUDE_PLUGIN_ROOT}/config/extra.json", ["default", "extra"]),
        (["./config/extra.json", "./config/bare.json"], ["default", "extra", "bare"]),
        (["./config/extra.json", hooks("inline")], ["default", "extra", "inline"]),
        (hooks("inline", description="d"), ["default", "inline"]),
        ({**hooks("inline")["hooks"], "description": "d"}, ["default", "inline"]),
        ("./hooks/hooks.json", ["default"]),
        (None, ["default"]),
    ],
)
def test_a_manifest_names_hooks_beside_the_default_ones_in_every_form(
    tmp_path: Path, said: object, expected: list[str]
) -> None:
    manifest = {"name": "x", **({} if said is None else {"hooks": said})}
    folder = plugin(tmp_path / "x", hooks("default", description="all"), manifest=manifest)
    write(folder / "config/extra.json", hooks("extra"))
    write(folder / "config/bare.json", {**BARE, "description": "d"})
    settings = load(tmp_path, plugins=[folder])
    assert [entry.name for entry in settings.entries] == expected
    assert settings.problems == ()
    assert all(entry.line == 1 for entry in settings.entries)


def test_a_broken_default_file_leaves_the_hooks_that_the_manifest_names(tmp_path: Path) -> None:
    folder = plugin(tmp_path / "x", "{", manifest={"hooks": hooks("inline")})
    settings = load(tmp_path, plugins=[folder])
    assert (names(settings), kinds(settings)) == (["user inline"], ["bad-plugin"])


@pytest.mark.parametrize("data", [{"modules": ["./a.ts"]}, {"modules": ["./a.ts"], **hooks("h")}])
def test_modules_of_a_plugin_are_reported_as_not_run(tmp_path: Path, data: dict[str, Any]) -> None:
    folder = plugin(tmp_path / "x", data)
    settings = load(tmp_path, plugins=[folder])
    assert names(settings) == (["user h"] if "hooks" in data else [])
    (problem,) = settings.problems
    assert (problem.kind, problem.path, problem.skipped) == ("not-run", ("modules",), False)
    assert (problem.file, problem.line) == (str(folder / "hooks/hooks.json"), 1)
    assert "run inside Claude Code only; they are not run; write a command hook" in problem.text


def install(name: str, folder: Path | str, *, one: bool = False, **more: Any) -> None:
    """Note a plugin as Claude Code does when it installs one."""
    entry = {"installPath": str(folder), **more}
    written = {"version": 2, "plugins": {name: entry if one else [entry]}}
    write(user_file().parent / "plugins/installed_plugins.json", written)


@pytest.mark.parametrize("one", [True, False])
def test_installed_plugins_that_the_user_switched_on_are_found(
    project: Project, tmp_path: Path, one: bool
) -> None:
    folder = plugin(tmp_path / "cache/guard/1.0", hooks("guard"))
    install("guard@market", folder, one=one)
    write(user_file(), {"enabledPlugins": {"guard@market": True, "other@market": False}})
    assert names(load(project.path)) == []
    settings = load(project.path, claude=True)
    assert (names(settings), settings.problems) == (["user guard"], ())
    assert settings.entries[0].hook.plugin_root == str(folder)
    write(user_file(), {"enabledPlugins": {"guard@market": False}})
    assert names(load(project.path, claude=True)) == []


def test_a_project_switches_on_no_installed_plugin(project: Project, tmp_path: Path) -> None:
    install("guard@market", plugin(tmp_path / "guard", hooks("guard")))
    project.settings({"enabledPlugins": {"guard@market": True}}, file=".claude/settings.json")
    assert names(load(project.path, claude=True)) == []


def test_of_two_installations_the_users_own_counts(project: Project, tmp_path: Path) -> None:
    mine, theirs = (plugin(tmp_path / name, hooks(name)) for name in ("mine", "theirs"))
    entries = [
        {"scope": "project", "installPath": str(theirs)},
        {"scope": "user", "installPath": str(mine)},
    ]
    registry = user_file().parent / "plugins/installed_plugins.json"
    write(registry, {"plugins": {"g@m": entries}})
    write(user_file(), {"enabledPlugins": {"g@m": True}})
    assert names(load(project.path, claude=True)) == ["user mine"]


@pytest.mark.parametrize(
    ("registry", "kind"),
    [
        (None, "not-run"),
        ({"plugins": {}}, "not-run"),
        ({"plugins": []}, "not-run"),
        ({"plugins": {"g@m": [{"scope": "user"}, 7]}}, "not-run"),
        ({"plugins": {"g@m": [{"installPath": "/nowhere"}]}}, "bad-plugin"),
        ("{", "not-json"),
    ],
)
def test_a_plugin_that_is_on_and_not_there_is_a_problem_at_its_place(
    project: Project, registry: object, kind: str
) -> None:
    if registry is not None:
        write(user_file().parent / "plugins/installed_plugins.json", registry)
    write(user_file(), '{"enabledPlugins": {\n"g@m": true}}')
    (problem,) = load(project.path, claude=True).problems
    assert problem.kind == kind
    if kind != "not-json":
        assert (problem.file, problem.line) == (str(user_file()), 2)


def test_an_installed_plugin_without_hooks_says_nothing(project: Project, tmp_path: Path) -> None:
    install("g@m", plugin(tmp_path / "g", files={"skills/x/SKILL.md": "---\nname: x\n---\n"}))
    write(user_file(), {"enabledPlugins": {"g@m": True}})
    settings = load(project.path, claude=True)
    assert (names(settings), settings.problems) == ([], ())


def test_a_plugin_may_have_no_hooks_at_all(tmp_path: Path) -> None:
    folder = plugin(tmp_path / "x", manifest={"name": "x"})
    settings = load(tmp_path, plugins=[folder])
    assert (names(settings), settings.problems, settings.tools) == ([], (), None)


@pytest.mark.parametrize(
    ("file", "base", "source"),
    [
        (own_user_file, None, "user"),
        (system_file, None, "system"),
        (lambda: None, "project", "project"),
    ],
)
def test_settings_name_plugins_of_their_own_layer_from_where_they_are(
    project: Project, file: Any, base: str | None, source: str
) -> None:
    path = file() or project.path / ".hookline/settings.json"
    folder = plugin((project.path if base else path.parent) / "plugins/mine", hooks("p"))
    write(path, {"plugins": ["plugins/mine"]})
    settings = load(project.path)
    assert names(settings) == [f"{source} p"]
    assert settings.entries[0].hook.plugin_root == str(folder)


def test_a_home_is_expanded(project: Project) -> None:
    plugin(Path(os.environ["HOME"], "plugged"), hooks("p"))
    write(own_user_file(), {"plugins": ["~/plugged"]})
    assert names(load(project.path)) == ["user p"]


def test_a_folder_that_several_name_is_read_for_who_is_trusted_most(project: Project) -> None:
    folder = plugin(project.path / "p", hooks("p"))
    project.settings({"plugins": ["p", "./p"]})
    assert names(load(project.path)) == ["project p"]
    assert names(load(project.path, plugins=[folder])) == ["user p"]
    write(system_file(), {"plugins": [str(folder)]})
    assert names(load(project.path, plugins=[folder])) == ["system p"]


@pytest.mark.parametrize(
    ("manifest", "message"),
    [
        ({"hooks": "../outside.json"}, "leads out of its folder"),
        ({"hooks": "/etc/passwd"}, "leads out of its folder"),
        ({"hooks": "link.json"}, "leads out of its folder"),
        ({"hooks": "missing.json"}, "there is no file missing.json in it"),
        ({"hooks": 7}, '"hooks" must be a path, an object of hooks, or a list of these'),
        ({"hooks": "broken.json"}, "not valid JSON"),
        ({"hooks": "list.json"}, "must hold an object"),
    ],
)
def test_a_bad_plugin_is_a_problem_with_a_place_and_takes_nothing_else_down(
    project: Project, tmp_path: Path, manifest: dict[str, Any], message: str
) -> None:
    outside = write(tmp_path / "outside.json", hooks("outside"))
    folder = plugin(tmp_path / "bad", manifest=manifest)
    (folder / "link.json").symlink_to(outside)
    write(folder / "broken.json", "{")
    write(folder / "list.json", "[]")
    good = plugin(tmp_path / "good", hooks("good"))
    project.settings({"plugins": [str(folder), str(good)]})
    settings = load(project.path)
    assert names(settings) == ["project good"]
    (problem,) = settings.problems
    assert (problem.kind, problem.broken, problem.line) == ("bad-plugin", True, 1)
    assert problem.file.startswith(str(folder))
    assert message in problem.message
    assert problem.remedy


def test_a_bad_part_leaves_the_other_parts(tmp_path: Path) -> None:
    folder = plugin(tmp_path / "x", manifest={"hooks": ["missing.json", hooks("inline")]})
    settings = load(tmp_path, plugins=[folder])
    assert (names(settings), kinds(settings)) == (["user inline"], ["bad-plugin"])


@pytest.mark.parametrize("kind", ["missing", "file", "empty", "manifest leads out"])
def test_what_is_no_plugin_is_told_where_it_is_named(project: Project, kind: str) -> None:
    folder = project.path / "p"
    if kind == "file":
        folder.write_text("")
    elif kind != "missing":
        folder.mkdir()
    if kind == "manifest leads out":
        other = plugin(project.path / "other", manifest={"hooks": hooks("a")})
        (folder / ".claude-plugin").symlink_to(other / ".claude-plugin")
    file = project.settings('{\n"plugins": [\n"p"]}')
    (problem,) = load(project.path).problems
    assert (problem.file, problem.line, problem.kind) == (str(file), 3, "bad-plugin")
    assert problem.remedy
    (problem,) = load(project.path, plugins=[folder], settings_files=[]).problems
    assert problem.file == str(folder)


@pytest.mark.parametrize("odd", ["a\0b", "\ud800", "x" * 5000])
def test_a_path_that_no_file_can_have_is_a_problem(project: Project, odd: str) -> None:
    folder = plugin(project.path / "p", manifest={"hooks": odd})
    project.settings({"plugins": [odd, str(folder)]})
    settings = load(project.path)
    assert (names(settings), kinds(settings)) == ([], ["bad-plugin", "bad-plugin"])


def test_one_folder_may_be_given_without_a_list(tmp_path: Path) -> None:
    folder = plugin(tmp_path / "p", hooks("a"))
    assert names(load(tmp_path, plugins=str(folder))) == ["user a"]


def test_plugins_must_be_a_list_of_names(project: Project) -> None:
    plugin(project.path / "p", hooks("p"))
    project.settings({"plugins": [7, "p"]})
    settings = load(project.path)
    assert (names(settings), kinds(settings)) == (["project p"], ["bad-field"])
    project.settings({"plugins": "p"})
    assert kinds(load(project.path)) == ["bad-field"]


@pytest.mark.parametrize("name", ["../../../etc", "..", "a/b", 7, "", "x" * 500])
def test_a_plugins_name_does_not_lead_out_of_our_state(tmp_path: Path, name: object) -> None:
    plugged = plugin(tmp_path / "p", hooks("a"), manifest={"name": name})
    hook = load(tmp_path, plugins=[plugged]).entries[0].hook
    assert isinstance(hook, CommandHook)
    folder, last = os.path.split(hook.plugin_data or "")
    assert folder == os.path.join(user_state_dir() or "", "plugins")
    assert 0 < len(last) <= 100


def test_a_plugin_that_breaks_keeps_what_it_last_said(tmp_path: Path) -> None:
    folder = plugin(tmp_path / "p", hooks("a"))
    config = Config.load(tmp_path, plugins=[folder])
    assert names(config.get_settings()) == ["user a"]
    file = folder / "hooks/hooks.json"
    assert str(file) in config.project.list_files()
    file.write_text("{")
    settings = config.project.read_settings()
    assert (names(settings), kinds(settings)) == (["user a"], ["bad-plugin"])
    write(file, hooks("b"))
    settings = config.project.read_settings()
    assert (names(settings), kinds(settings)) == (["user b"], [])


def test_a_plugin_brings_every_kind_of_hook(tmp_path: Path) -> None:
    asked = {"type": "prompt", "prompt": "Is this safe?"}
    folder = plugin(tmp_path / "p", hooks(http(), asked, {"type": "command", "command": "c"}))
    entries = load(tmp_path, plugins=[folder]).entries
    assert [entry.hook.type for entry in entries] == ["http", "prompt", "command"]


def test_a_plugin_reached_by_a_link_is_the_folder_it_leads_to(tmp_path: Path) -> None:
    folder = plugin(tmp_path / "real", hooks("a"))
    (tmp_path / "link").symlink_to(folder)
    hook = load(tmp_path, plugins=[tmp_path / "link"]).entries[0].hook
    assert hook.plugin_root == str(folder)
