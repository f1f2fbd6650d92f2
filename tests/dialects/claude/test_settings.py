"""Which files of Claude Code's are read, for whom, and what they say about hooks."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hookline.contract import Config
from hookline.dialects.claude.tools import TOOLS
from hookline.dialects.tools import ToolAlias
from hookline.hooks import Hooks
from hookline.settings.reader import find_project_dir
from hookline.wire.events import HookEventName
from hookline.wire.hooks import CommandHook, HttpHook
from tests.dialects.claude.claude import (
    LOCAL_FILE,
    PROJECT_FILE,
    hooks,
    http,
    kinds,
    load,
    managed_file,
    names,
    own_user_file,
    plugin,
    system_file,
    user_file,
    write,
)
from tests.eleven import rules_of
from tests.harness.scratch import Project


@pytest.fixture
def everywhere(project: Project) -> Path:
    """A project with a hook in every file of Claude Code's, and one of its own."""
    project.settings(hooks("local"), file=LOCAL_FILE)
    project.settings(hooks("shared"), file=PROJECT_FILE)
    write(user_file(), hooks("mine"))
    write(managed_file(), hooks("managed"))
    return project.path


ALL = ["project local", "project shared", "user mine", "system managed"]
OF_PROJECT = ALL[:2]


def unread(project: Path, **options: Any) -> list[str]:
    return Config.load(project, **options).project.find_unread()


def test_nothing_of_it_is_read_until_somebody_asks(everywhere: Path) -> None:
    settings = load(everywhere)
    assert names(settings) == []
    files = [everywhere / LOCAL_FILE, everywhere / PROJECT_FILE, user_file(), managed_file()]
    assert unread(everywhere) == [*map(str, files)]


def test_code_asks_for_all_and_each_hook_has_its_layer_dialect_and_name(everywhere: Path) -> None:
    settings = load(everywhere, claude=True)
    assert names(settings) == ALL
    assert {entry.hook.dialect for entry in settings.entries} == {"claude"}
    assert [entry.event for entry in settings.entries] == [HookEventName.BEFORE_TOOL] * 4
    assert [entry.hook.managed for entry in settings.entries] == [False, False, False, True]
    assert settings.entries[0].hook.timeout == 600_000
    assert (unread(everywhere, claude=True), settings.problems) == ([], ())
    assert names(Hooks.load(everywhere, claude=True, trusted=True).config.get_settings()) == ALL


@pytest.mark.parametrize("file", [own_user_file, system_file])
def test_the_users_or_the_systems_settings_ask_for_all(everywhere: Path, file: Any) -> None:
    write(file(), {"claude": True})
    assert names(load(everywhere)) == ALL


def test_a_project_asks_for_its_own_alone(everywhere: Path) -> None:
    write(everywhere / ".hookline/settings.json", {"claude": True})
    settings = load(everywhere)
    assert names(settings) == OF_PROJECT
    assert unread(everywhere) == [str(user_file()), str(managed_file())]


@pytest.mark.parametrize("file", [own_user_file, system_file])
def test_a_project_asks_in_vain_where_the_user_or_the_system_wants_none(
    everywhere: Path, file: Any
) -> None:
    write(everywhere / ".hookline/settings.json", {"claude": True})
    write(file(), {"claude": False})
    settings = load(everywhere)
    assert (names(settings), unread(everywhere)) == ([], [])


def test_the_managed_hooks_stay_where_the_system_wants_them_and_the_user_none(
    everywhere: Path,
) -> None:
    write(system_file(), {"claude": True})
    write(own_user_file(), {"claude": False})
    assert names(load(everywhere)) == ["system managed"]


def test_code_that_wants_none_wins_over_files(everywhere: Path) -> None:
    write(own_user_file(), {"claude": True})
    write(everywhere / ".hookline/settings.json", {"claude": True})
    assert names(load(everywhere, claude=False)) == []


def test_native_hooks_come_first_within_a_layer(everywhere: Path) -> None:
    native = {"hooks": {"BeforeTool": [{"hooks": [{"type": "command", "command": "native"}]}]}}
    write(everywhere / ".gemini/settings.json", native)
    write(own_user_file(), native)
    write(system_file(), native)
    assert names(load(everywhere, claude=True)) == [
        *("project native", "project local", "project shared"),
        *("user native", "user mine", "system native", "system managed"),
    ]


def test_a_file_reached_twice_counts_once_for_the_more_trusted_layer(everywhere: Path) -> None:
    (everywhere / PROJECT_FILE).unlink()
    (everywhere / PROJECT_FILE).symlink_to(user_file())
    assert names(load(everywhere, claude=True)) == [ALL[0], *ALL[2:]]
    home = user_file().parent.parent
    assert names(load(home, claude=True)) == ALL[2:]


def test_files_that_are_given_stand_in_place_of_the_projects_and_the_users(
    everywhere: Path,
) -> None:
    given = [everywhere / PROJECT_FILE]
    settings = load(everywhere, settings_files=given, trusted=None)
    assert names(settings) == ["user shared"]
    assert unread(everywhere, settings_files=given) == [str(managed_file())]
    assert settings.entries[0].hook.dialect == "claude"
    both = load(everywhere, settings_files=given, trusted=None, claude=True)
    assert names(both) == ["user shared", "system managed"]


def test_a_project_of_claude_codes_is_found_where_there_is_no_other(tmp_path: Path) -> None:
    home = str(user_file().parent.parent)
    below = tmp_path / "outer/inner/a"
    below.mkdir(parents=True)
    (tmp_path / "outer/inner/.claude").mkdir()
    assert find_project_dir(str(below), home) == str(below)
    assert find_project_dir(str(below), home, foreign=True) == str(tmp_path / "outer/inner")
    (tmp_path / "outer/.gemini").mkdir()
    assert find_project_dir(str(below), home, foreign=True) == str(tmp_path / "outer")
    (user_file().parent).mkdir()
    at_home = user_file().parent.parent / "code"
    at_home.mkdir()
    assert find_project_dir(str(at_home), home, foreign=True) == str(at_home)


@pytest.mark.parametrize(
    ("file", "wanted"), [(own_user_file, True), (system_file, True), (own_user_file, False)]
)
def test_a_project_of_claude_codes_is_found_from_below_whoever_asks_for_it(
    everywhere: Path, file: Any, wanted: bool
) -> None:
    below = everywhere / "a"
    below.mkdir()
    assert Config.load(below).get_project_dir() == str(below)
    write(file(), {"claude": wanted})
    assert ("project shared" in names(load(below))) is wanted
    assert Config.load(below, claude=False).get_project_dir() == str(below)


def test_what_its_files_say_besides_passes_without_a_word(project: Project) -> None:
    more: dict[str, Any] = {
        "permissions": {"allow": 7},
        "model": [],
        "strict": "x",
        "security": 3,
        "plugins": {},
    }
    text = '{"permissions": {"a": 1, "a": 2}, "enabledPlugins": {}}'
    project.settings(hooks("a", **more), file=PROJECT_FILE)
    project.settings(text, file=LOCAL_FILE)
    settings = load(project.path, claude=True)
    assert (names(settings), settings.problems) == (["project a"], ())


def test_a_key_of_hooks_given_twice_is_a_problem_and_any_other_is_not(project: Project) -> None:
    text = '{"env": {}, "env": {}, "model": "a", "model": "b", "hooks": {"Stop": [], "Stop": []}}'
    project.settings(text, file=PROJECT_FILE)
    problems = load(project.path, claude=True).problems
    assert [(each.kind, each.path) for each in problems] == [
        ("duplicate-key", ("env",)),
        ("duplicate-key", ("hooks", "Stop")),
    ]


def test_a_command_for_powershell_is_skipped_and_its_neighbours_load(project: Project) -> None:
    windows = {"type": "command", "command": "Get-Date", "shell": "powershell"}
    project.settings(hooks(windows, "beside"), file=PROJECT_FILE)
    settings = load(project.path, claude=True)
    assert names(settings) == ["project beside"]
    (problem,) = settings.problems
    assert (problem.kind, problem.consequence) == ("skipped", "the hook was skipped")
    assert problem.path == ("hooks", "PreToolUse", 0, "hooks", 0, "shell")


def test_an_unknown_event_is_a_problem_and_takes_nothing_else_down(project: Project) -> None:
    data = hooks("a")
    data["hooks"]["PreToolUs"] = []
    project.settings(data, file=PROJECT_FILE)
    settings = load(project.path, claude=True)
    assert (names(settings), kinds(settings)) == (["project a"], ["unknown-event"])
    assert "PreToolUse" in settings.problems[0].remedy


def test_a_broken_file_keeps_its_last_good_version(project: Project) -> None:
    file = project.settings(hooks("a"), file=PROJECT_FILE)
    config = Config.load(project.path, trusted=True, claude=True)
    assert names(config.get_settings()) == ["project a"]
    file.write_text("{")
    settings = config.project.read_settings()
    assert (names(settings), kinds(settings)) == (["project a"], ["not-json"])


def env_of(path: Path, **options: Any) -> dict[str, dict[str, str]]:
    entries = load(path, claude=True, **options).entries
    return {e.name: dict(e.hook.env) for e in entries if isinstance(e.hook, CommandHook)}


def test_variables_of_a_project_reach_its_own_hooks_and_others_reach_all(
    everywhere: Path, tmp_path: Path
) -> None:
    write(everywhere / PROJECT_FILE, hooks("shared", env={"A": "shared", "P": "1"}))
    own = {"type": "command", "command": "local", "env": {"P": "own", "M": "own"}}
    write(everywhere / LOCAL_FILE, hooks(own, env={"A": "local", "M": "local"}))
    mine = {"type": "command", "command": "mine", "env": {"M": "own"}}
    write(user_file(), hooks(mine, env={"A": "user", "U": "1", "M": "user", "OTEL_X": "1"}))
    write(managed_file(), hooks("managed", env={"M": "managed"}))
    folder = plugin(tmp_path / "plugin", hooks("plugged"))
    of_others = {"A": "user", "U": "1", "M": "managed"}
    config = Config.load(everywhere, trusted=True, claude=True, plugins=[folder])
    found = {e.name: getattr(e.hook, "env", {}) for e in config.get_settings().entries}
    assert found == {
        "local": {"A": "local", "P": "own"},
        "shared": {"A": "local", "P": "1"},
        **dict.fromkeys(("mine", "managed", "plugged"), of_others),
    }
    assert rules_of(config).shared_env == of_others


def test_a_variable_that_no_process_can_have_is_a_problem(project: Project) -> None:
    bad = {"A=B": "x", "": "x", "N": 1, "Z": "\0", "GOOD": "yes"}
    project.settings(hooks("a", env=bad), file=PROJECT_FILE)
    settings = load(project.path, claude=True)
    assert settings.entries[0].hook.env == {"GOOD": "yes"}  # type: ignore[attr-defined]
    assert kinds(settings) == ["bad-field"] * 4


NATIVE = {"hooks": {"BeforeTool": [{"hooks": [{"type": "command", "command": "native"}]}]}}


@pytest.mark.parametrize(
    ("file", "off"),
    [
        (PROJECT_FILE, {"local", "shared"}),
        (LOCAL_FILE, {"local", "shared"}),
        ("user", {"local", "shared", "mine"}),
        ("managed", {"local", "shared", "mine", "managed"}),
    ],
)
def test_disabling_all_hooks_reaches_its_own_layer_and_those_trusted_less(
    everywhere: Path, file: str, off: set[str]
) -> None:
    places = {"user": user_file(), "managed": managed_file()}
    path = places.get(file) or everywhere / file
    name = {PROJECT_FILE: "shared", LOCAL_FILE: "local", "user": "mine"}.get(file, file)
    write(path, hooks(name, disableAllHooks=True))
    write(everywhere / ".hookline/settings.json", NATIVE)
    entries = load(everywhere, claude=True).entries
    assert {entry.name for entry in entries if not entry.enabled} == off


def test_the_local_file_decides_before_the_shared_one(everywhere: Path) -> None:
    write(everywhere / PROJECT_FILE, hooks("shared", disableAllHooks=True))
    write(everywhere / LOCAL_FILE, hooks("local", disableAllHooks=False))
    assert all(entry.enabled for entry in load(everywhere, claude=True).entries)


def test_only_the_managed_file_leaves_none_but_managed_hooks(everywhere: Path) -> None:
    write(user_file(), hooks("mine", allowManagedHooksOnly=True))
    assert all(entry.enabled for entry in load(everywhere, claude=True).entries)
    write(managed_file(), hooks("managed", allowManagedHooksOnly=True))
    write(everywhere / ".hookline/settings.json", NATIVE)
    entries = load(everywhere, claude=True).entries
    assert [entry.name for entry in entries if entry.enabled] == ["native", "managed"]


def find_http(path: Path, name: str) -> HttpHook:
    (hook,) = (e.hook for e in load(path, claude=True).entries if e.name == name)
    assert isinstance(hook, HttpHook)
    return hook


def test_lists_of_urls_and_variables_are_intersected_and_an_empty_one_allows_none(
    project: Project,
) -> None:
    hook = http("https://a.example/x", name="h", allowedEnvVars=["A", "B", "C"])
    project.settings(hooks(hook), file=PROJECT_FILE)
    assert find_http(project.path, "h").allowed_urls == ()
    of_user = ("https://a.example/*", "https://b.example/*")
    write(user_file(), {"allowedHttpHookUrls": of_user, "httpHookAllowedEnvVars": ["B", "C", "D"]})
    found = find_http(project.path, "h")
    assert (found.allowed_urls, found.allowed_env) == ((of_user,), ("B", "C"))
    # Which of them fit is for whoever sends it to say.
    write(managed_file(), {"allowedHttpHookUrls": ["https://*"], "httpHookAllowedEnvVars": ["C"]})
    found = find_http(project.path, "h")
    assert (found.allowed_urls, found.allowed_env) == ((of_user, ("https://*",)), ("C",))
    write(managed_file(), {"allowedHttpHookUrls": [], "httpHookAllowedEnvVars": []})
    found = find_http(project.path, "h")
    assert (found.allowed_urls, found.allowed_env) == ((of_user, ()), ())


def test_a_list_that_cannot_be_read_allows_none(project: Project) -> None:
    project.settings(hooks(http(name="h"), allowedHttpHookUrls="*"), file=PROJECT_FILE)
    assert find_http(project.path, "h").allowed_urls == ((),)


def test_a_project_cannot_take_a_url_from_a_guard_of_the_users(project: Project) -> None:
    write(user_file(), hooks(http(name="guard")))
    project.settings({"allowedHttpHookUrls": []}, file=PROJECT_FILE)
    assert find_http(project.path, "guard").allowed_urls == ()


def test_hosts_of_a_private_network_are_for_the_user_and_the_system_to_name(
    project: Project,
) -> None:
    project.settings({"security": {"privateHookHosts": ["evil"]}})
    write(own_user_file(), {"security": {"privateHookHosts": ["a", "b"]}})
    write(system_file(), {"security": {"privateHookHosts": ["b", "c"]}})
    config = Config.load(project.path, trusted=True)
    assert rules_of(config).private_hosts == ("a", "b", "c")
    assert kinds(config.get_settings()) == ["overreach"]


def test_a_required_hook_that_is_async_is_waited_for(project: Project) -> None:
    listed: list[str | dict[str, Any]] = [
        {"type": "command", "command": name, "async": True} for name in ("needed", "other")
    ]
    write(user_file(), hooks(*listed))
    settings = load(project.path, claude=True, required=["needed"])
    found = {e.name: e.hook.background for e in settings.entries}  # type: ignore[attr-defined]
    assert found == {"needed": False, "other": True}
    (problem,) = settings.problems
    assert problem.kind == "bad-field"
    assert problem.place.startswith(f"{user_file()}:1")
    assert "needed: async is not for a hook that is required" in problem.text


def matched(config: Config, tool: str) -> list[str]:
    return [entry.name for entry in config.get_settings().entries if entry.matches(tool)]


def guard(name: str = "guard", matcher: str = "Bash") -> dict[str, Any]:
    hook = {"type": "command", "command": name}
    return {"hooks": {"PreToolUse": [{"matcher": matcher, "hooks": [hook]}]}}


def test_code_declares_tools_for_matchers_and_events(project: Project) -> None:
    write(user_file(), guard())
    alias = ToolAlias("Bash", {"command": ("cmd",)})
    config = Config.load(project.path, claude=True, tools={"my_shell": alias})
    assert matched(config, "my_shell") == matched(config, "run_shell_command") == ["guard"]
    assert matched(config, "other") == []
    tools = rules_of(config).tools
    assert tools is not None
    assert (tools["my_shell"], tools["read_file"]) == (alias, TOOLS["read_file"])


def test_settings_declare_tools_by_name_or_whole(project: Project) -> None:
    write(user_file(), guard())
    whole = {"name": "Bash", "fields": {"command": ["cmd"]}, "paths": ["cwd"], "also": ["Sh"]}
    declared = {"a": "Bash", "b": whole, "bad": 7, "worse": {"fields": {}}, "c": {"name": "Read"}}
    write(own_user_file(), {"hooks": {"tools": declared}})
    config = Config.load(project.path, claude=True)
    tools = rules_of(config).tools or {}
    shell = TOOLS["run_shell_command"]
    assert tools["a"] == ToolAlias("Bash", response=shell.response)
    assert tools["b"] == ToolAlias(
        "Bash", {"command": ("cmd",)}, ("cwd",), ("Sh",), response=shell.response
    )
    assert tools["c"].fields == TOOLS["read_file"].fields
    assert kinds(config.get_settings()) == ["bad-field", "bad-field"]
    assert matched(config, "a") == matched(config, "b") == ["guard"]


def test_plain_names_of_tools_pass_without_a_word(project: Project) -> None:
    write(user_file(), guard())
    write(own_user_file(), {"hooks": {"tools": ["crm_lookup"]}})
    assert load(project.path, claude=True).problems == ()


def test_tools_may_be_declared_at_the_top_and_switch_hooks_there_as_before(
    project: Project,
) -> None:
    write(user_file(), guard())
    write(own_user_file(), {"tools": {"a": "Bash", "enableHooks": True}, "hooks": {"tools": ["b"]}})
    config = Config.load(project.path, claude=True)
    assert config.get_settings().problems == ()
    assert (matched(config, "a"), matched(config, "b")) == (["guard"], [])
    write(own_user_file(), {"tools": {"a": "Read"}, "hooks": {"tools": {"a": "Bash"}}})
    assert matched(Config.load(project.path, claude=True), "a") == []
    write(own_user_file(), {"tools": {"enableHooks": False}})
    assert not load(project.path, claude=True).enabled


def test_what_llxprt_keeps_under_tools_declares_nothing(project: Project) -> None:
    write(user_file(), guard())
    theirs = {"tools": {"sandbox": "Bash", "core": ["x"], "enableHooks": True}}
    project.settings(theirs, file=".llxprt/settings.json")
    config = Config.load(project.path, claude=True, trusted=True)
    assert config.get_settings().problems == ()
    assert matched(config, "sandbox") == []


def test_a_project_declares_only_what_nobody_else_knows(project: Project) -> None:
    write(user_file(), guard())
    others = {"run_shell_command": "Read", "Bash": "Read", "mcp__a__b": "Read"}
    project.settings(
        {"hooks": {"tools": {"mine": "Read", "coded": "Read", "new": "Bash", **others}}}
    )
    write(own_user_file(), {"hooks": {"tools": {"mine": "Bash"}}})
    coded = {"coded": ToolAlias("Bash")}
    config = Config.load(project.path, claude=True, trusted=True, tools=coded)
    for tool in ("mine", "coded", "new", "run_shell_command", "Bash"):
        assert matched(config, tool) == ["guard"], tool
    tools = rules_of(config).tools or {}
    assert not {"Bash", "mcp__a__b"} & set(tools)
    problems = [p for p in config.get_settings().problems if p.kind == "overreach"]
    refused = [problem.path[-1] for problem in problems]
    assert sorted(map(str, refused)) == ["Bash", "coded", "mcp__a__b", "mine", "run_shell_command"]


def test_the_systems_word_on_a_tool_stands_and_a_reload_keeps_the_matchers_dictionary(
    project: Project,
) -> None:
    write(user_file(), guard())
    write(own_user_file(), {"hooks": {"tools": {"x": "Read", "y": "Bash"}}})
    write(system_file(), {"hooks": {"tools": {"x": "Bash"}}})
    config = Config.load(project.path, claude=True)
    before, entries = config.get_settings(), config.get_settings().entries
    assert [entry.matches("x") for entry in entries] == [True]
    tools = rules_of(config).tools
    write(own_user_file(), {})
    config.project.read_settings()
    assert rules_of(config).tools is tools
    assert [entry.matches("y") for entry in entries] == [False]
    config.project.keep_settings(before)
    assert [entry.matches("y") for entry in entries] == [True]


def test_without_a_hook_of_its_dialect_there_are_no_tools(project: Project) -> None:
    project.settings({**NATIVE, "claude": True})
    config = Config.load(project.path, trusted=True, tools={"x": ToolAlias("Bash")})
    context = rules_of(config)
    assert (context.tools, context.shared_env) == (None, {})


_LOADED = """
import sys
from hookline.contract import Config
Config.load(sys.argv[1], trusted=True, claude=sys.argv[2] == "claude").get_settings()
print(*sorted(name for name in sys.modules if "claude" in name or name.endswith("dialects.tools")))
"""


def test_nothing_of_it_is_loaded_where_there_is_nothing_of_it_to_read(everywhere: Path) -> None:
    write(everywhere / ".hookline/settings.json", {**NATIVE, "plugins": []})

    def loaded(*arguments: str) -> list[str]:
        command = [sys.executable, "-c", _LOADED, *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()

    assert loaded(str(everywhere), "") == []
    assert "hookline.dialects.claude.settings" in loaded(str(everywhere), "claude")


def test_a_managed_hook_stays_on_whatever_the_user_disables(everywhere: Path) -> None:
    write(own_user_file(), {"hooks": {"disabled": ["managed", "mine"]}})
    entries = load(everywhere, claude=True).entries
    assert [entry.name for entry in entries if not entry.enabled] == ["mine"]


@pytest.mark.parametrize("same", ["same", http(), {"type": "prompt", "prompt": "Is it safe?"}])
def test_the_same_hook_in_two_settings_files_is_one_and_in_plugins_each_is_its_own(
    project: Project, tmp_path: Path, same: str | dict[str, Any]
) -> None:
    project.settings(hooks(same), file=PROJECT_FILE)
    project.settings(hooks(same), file=LOCAL_FILE)
    folders = [plugin(tmp_path / name, hooks(same)) for name in ("one", "two")]
    entries = load(project.path, claude=True, plugins=folders).entries
    assert len(entries) == 4
    assert len({entry.hook.identity() for entry in entries}) == 3
