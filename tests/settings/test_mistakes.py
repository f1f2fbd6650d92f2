"""A key that was meant to decide policy, and that nothing reads, is told when settings load."""

import subprocess
import sys
from typing import Any

import pytest
from msgspec import Struct

from hookline import Config, HookSystem, InvalidHookError
from hookline._support.problem import Problem
from hookline.dialects.claude.settings import ClaudeSettings
from hookline.settings.mistakes import find_slip
from hookline.settings.reader import read_layer
from hookline.settings.types import (
    Definition,
    HooksConfig,
    HooksSection,
    Security,
    Settings,
    ToolsSection,
    find_sections,
)
from hookline.wire.hooks import KINDS, CommandHook, HookConfig, HookSource, Redaction, keys_of
from tests.cli.command import hookline
from tests.harness.scratch import Project

HOOK = {"type": "command", "command": "true"}


def on(event: str = "BeforeTool", hook: Any = None, **definition: Any) -> dict[str, Any]:
    return {event: [{**definition, "hooks": [{**HOOK, **(hook or {})}]}]}


def problems(value: dict[str, Any], dialect: str = "native") -> list[Problem]:
    return list(read_layer(value, HookSource.USER, "settings", dialect=dialect).problems)


@pytest.mark.parametrize(
    ("value", "path", "said"),
    [
        *(
            (
                {"hooks": on(hook={key: "block"})},
                ("hooks", "BeforeTool", 0, "hooks", 0, key),
                "a failure of the hook lets the agent go on; did you mean onFailure?",
            )
            for key in ("onfailure", "on_failure", "OnFailure", "onFailuer", "onFail")
        ),
        *(
            (
                {"hooks": {"BeforeTool": [{key: "write_file", "hooks": [HOOK]}]}},
                ("hooks", "BeforeTool", 0, key),
                "the hooks run for every name; did you mean matcher?",
            )
            for key in ("matchers", "Matcher", "match", "macther")
        ),
        ({"hooks": on(sequencial=True)}, ("sequencial",), "did you mean sequential?"),
        ({"hooks": on(hook={"mangaed": True})}, ("mangaed",), "did you mean managed?"),
        ({"hooks": on(hook={"allowedEnvVar": []})}, ("allowedEnvVar",), "mean allowedEnvVars?"),
        ({"hooks": on(hook={"alowdEnvVars": []})}, ("alowdEnvVars",), "mean allowedEnvVars?"),
        ({"hooks": on(hook={"matcher": "x"})}, ("matcher",), 'a definition, beside its "hooks"'),
        ({"hooks": on(onFailure="block")}, ("onFailure",), 'into each hook that is in "hooks"'),
        ({"hooks": on(on_failure="block")}, ("on_failure",), "it is spelt onFailure: write it"),
        ({"hooks": on(hook={"if": "Bash(rm:*)"})}, ("if",), "native hooks have no condition"),
        ({"hooks": on(hook={"enabled": False})}, ("enabled",), '"hooks": {"disabled": […]}'),
        ({"hooks": on(hook={"required": True})}, ("required",), '"hooks": {"required": […]}'),
        ({"hooks": {"requried": ["x"]}}, ("requried",), "without these hooks; did you mean"),
        ({"hooks": {"disabledd": ["x"]}}, ("disabledd",), "did you mean disabled?"),
        ({"hooks": {"strict": True}}, ("strict",), "at the top of the settings"),
        ({"hook": on()}, ("hook",), "no hook in it runs; did you mean hooks?"),
        ({"stric": True}, ("stric",), "did you mean strict?"),
        ({"Claude": True}, ("Claude",), "did you mean claude?"),
        ({"plugin": ["x"]}, ("plugin",), "did you mean plugins?"),
        ({"enableHook": False}, ("enableHook",), "did you mean enableHooks?"),
        ({"required": ["x"]}, ("required",), 'write it into "hooks"'),
        ({"onFailure": "block"}, ("onFailure",), "write it into each hook"),
        ({"tools": {"enablehooks": False}}, ("tools", "enablehooks"), "did you mean enableHooks?"),
        ({"hookline": {"strict": True}}, ("hookline", "strict"), "at the top of the settings"),
        ({"hooksConfig": {"disable": []}}, ("hooksConfig", "disable"), "did you mean disabled?"),
        (
            {"security": {"environmentVariablesRedaction": {}}},
            ("security", "environmentVariablesRedaction"),
            "is not redacted; did you mean environmentVariableRedaction?",
        ),
        (
            {"security": {"environmentVariableRedaction": {"block": ["X"]}}},
            ("block",),
            "these variables are not redacted; did you mean blocked?",
        ),
    ],
)
def test_a_slip_is_a_problem_at_its_place(
    value: dict[str, Any], path: tuple[str | int, ...], said: str
) -> None:
    (problem,) = problems(value)
    assert problem.path[-len(path) :] == path
    assert said in problem.text


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({"hooks": on("PreToolUse", {"onfailure": "block"})}, "did you mean onFailure?"),
        ({"hooks": on("PreToolUse", {"If": "Bash(rm:*)"})}, "did you mean if?"),
        ({"hooks": on("PreToolUse", matchers="Bash")}, "did you mean matcher?"),
        ({"hooks": on("PreToolUse", {"matcher": "Bash"})}, 'beside its "hooks"'),
        ({"disableAllHook": True}, "the hooks run; did you mean disableAllHooks?"),
        ({"allowManagedHookOnly": True}, "did you mean allowManagedHooksOnly?"),
    ],
)
def test_a_slip_in_claude_codes_settings_is_one_too(value: dict[str, Any], said: str) -> None:
    (problem,) = problems(value, "claude")
    assert said in problem.text


@pytest.mark.parametrize(
    ("key", "kind", "consequence"),
    [
        ("sequentail", Definition, "no hook sees what the one before it changed"),
        ("If", HookConfig, "the hook runs on every call that it matches"),
        ("Managed", CommandHook, "others can disable the hook"),
        ("allowed_env_vars", HookConfig, "no header gets a variable"),
        ("Strict", Settings, "a hook that cannot answer lets the agent go on"),
        ("Disabled", HooksSection, "it disables no hook"),
        ("Enabled", HooksConfig, "it switches nothing"),
        ("enable_hooks", ToolsSection, "it switches nothing"),
        ("hooks_config", Settings, "it switches nothing"),
        ("Claude", Settings, "it switches nothing"),
        ("Plugins", Settings, "no hook of a plugin runs"),
        ("Security", Settings, "the environment of hooks is not redacted"),
        ("private_hook_hosts", Security, "a project's hooks reach no private host"),
        ("Allowed", Redaction, "these variables are redacted"),
        ("allow_managed_hooks_only", ClaudeSettings, "hooks of others run too"),
        ("allowed_http_hook_urls", ClaudeSettings, "http hooks may call any URL"),
        ("http_hook_allowed_env_vars", ClaudeSettings, "headers may name any variable"),
    ],
)
def test_a_slip_says_what_happens_without_the_key(
    key: str, kind: type[Struct], consequence: str
) -> None:
    slip = find_slip(key, kind, is_foreign=key == "If")
    assert slip is not None
    assert (slip.consequence, slip.is_here) == (consequence, True)


@pytest.mark.parametrize(
    ("key", "kind", "spoken"),
    [
        ("Claude", Settings, "the settings"),
        ("disableAllHook", ClaudeSettings, "Claude Code's settings"),
        ("block", Redaction, "security.environmentVariableRedaction"),
        ("matchers", Definition, "a definition"),
        ("onfailure", CommandHook, "a hook"),
        ("Disabled", HooksConfig, "hooksConfig"),
        ("private_hook_hosts", Security, "security"),
    ],
)
def test_a_slip_names_the_object_that_it_is_in(key: str, kind: type[Struct], spoken: str) -> None:
    slip = find_slip(key, kind)
    assert slip is not None
    assert slip.message == f"is not a key of {spoken}"


@pytest.mark.parametrize(
    ("value", "dialect"),
    [
        ({"hooks": on(hook={"timout": 5, "notes": "x", "//": "y", "category": "z"})}, "native"),
        ({"theme": "dark", "ui": {}, "model": {}, "mcpServers": {}, "tools": {}}, "native"),
        ({"security": {"auth": {}, "folderTrust": {}, "blockGitExtensions": True}}, "native"),
        ({"permissions": {}, "model": "x", "enabledPlugins": {}, "statusLine": {}}, "claude"),
        ({"hooks": on("PreToolUse", {"if": "Bash(rm:*)", "statusMessage": "x"})}, "claude"),
    ],
)
def test_other_keys_that_nothing_reads_pass(value: dict[str, Any], dialect: str) -> None:
    assert problems(value, dialect) == []


@pytest.mark.parametrize("value", [{"hook": on()}, {"hooks": on(hook_=[HOOK])}])
def test_hooks_under_a_misspelt_key_are_hooks_that_are_missing(value: dict[str, Any]) -> None:
    (problem,) = problems(value)
    assert problem.skipped
    assert "no hook in it runs; did you mean hooks?" in problem.text


def test_an_object_of_a_thousand_keys_keeps_nobody_busy() -> None:
    keys = {f"onFailur{number}": 1 for number in range(1000)}
    assert len(problems({"hooks": on(hook=keys)})) < 60


def test_no_declared_key_is_a_slip() -> None:
    kinds: list[type[Struct]] = [
        Settings,
        HooksSection,
        Definition,
        ToolsSection,
        *KINDS.values(),
    ]
    kinds += [kind for _, kind in find_sections()]
    for kind in kinds:
        assert not [key for key in keys_of(kind) if find_slip(key, kind)], kind
    claudes: list[type[Struct]] = [Definition, ClaudeSettings, *KINDS.values()]
    for kind in claudes:
        keys = keys_of(kind, is_foreign=True)
        assert not [key for key in keys if find_slip(key, kind, is_foreign=True)], kind


_PROBE = """
import sys
from hookline import Config
hook = {"type": "command", "command": "true", "onFailure": "block", "timeout": 5000, "name": "x"}
settings = {"BeforeTool": [{"matcher": "x", "sequential": True, "hooks": [hook]}], "required": []}
assert not Config(hooks=settings).get_settings().problems
assert not {"hookline.settings.mistakes", "difflib"} & set(sys.modules)
"""


def test_settings_without_a_slip_do_not_pay_for_it() -> None:
    subprocess.run([sys.executable, "-c", _PROBE], check=True)


def test_hooks_given_in_code_are_looked_at_too() -> None:
    config = Config(hooks=on(hook={"onfailure": "block"}))
    (problem,) = config.get_settings().problems
    assert (problem.kind, problem.file) == ("misread-key", "Config(hooks=…)")


@pytest.mark.parametrize(
    "hook", [HOOK, {"type": "runtime", "name": "guard", "function": lambda _: None}]
)
@pytest.mark.parametrize(
    ("key", "said"),
    [
        ("onfailure", "onfailure: is not a key of a hook; did you mean onFailure?"),
        ("matcher", "matcher: is not a key of a hook; pass matcher=… beside the hook"),
    ],
)
def test_a_slip_in_a_hook_that_is_registered_is_refused_with_its_remedy(
    hook: dict[str, Any], key: str, said: str
) -> None:
    system = HookSystem(Config())
    system.register_hook("BeforeTool", hook)
    with pytest.raises(InvalidHookError) as refused:
        system.register_hook("BeforeTool", {**hook, key: "block"})
    assert str(refused.value) == said


def test_whoever_fires_an_event_sees_the_slip_at_its_place(project: Project) -> None:
    project.settings({"hooks": on(hook={"onfailure": "block"})})
    fire = ["fire", "BeforeTool", "--tool", "x", "--tool-input", "{}", "--trust"]
    done = hookline(*fire, cwd=project.path)
    assert done.status == 0
    assert done.err.startswith("warning: .hookline/settings.json:9:26: ")
    assert "a failure of the hook lets the agent go on; did you mean onFailure?" in done.err


def test_a_strict_event_does_not_go_on_without_hooks_under_a_misspelt_key() -> None:
    layer = read_layer({"hook": on(), "strict": True}, HookSource.USER, "settings")
    assert (layer.strict, [problem.skipped for problem in layer.problems]) == (True, [True])
