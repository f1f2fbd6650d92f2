"""Claude Code's settings and plugins, in their own dialect, and what this host makes of them."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from hookline.check import Finding, Severity
from hookline.wire.hooks import HookSource
from tests.check.review import (
    ERROR,
    HINT,
    WARNING,
    brief,
    check,
    checked,
    hook,
    on,
    only,
    review,
    review_claude,
)
from tests.harness.scratch import Project

PROMPT = {"type": "prompt", "prompt": "Is it safe?"}


def http(url: str = "https://hooks.example.org/x", **fields: Any) -> dict[str, Any]:
    return {"type": "http", "url": url, **fields}


def apart_from_httpx(findings: list[Finding]) -> list[Finding]:
    """The findings but that its package is not installed."""
    return [finding for finding in findings if finding.kind != "http"]


def rules(findings: list[Finding]) -> set[str]:
    return {finding.kind for finding in findings}


@pytest.mark.parametrize("event", ["SessionStart", "UserPromptSubmit", "PreToolUse"])
def test_a_guard_whose_text_is_context_is_told_that_it_is_read_strictly(
    project: Project, event: str
) -> None:
    findings = review_claude(project, on(event, hook("true", onFailure="block")))
    assert rules(findings) == (set() if event == "PreToolUse" else {"guard-text"})
    assert review_claude(project, on(event, hook("true", onFailure="continue"))) == []


def test_every_key_that_claude_code_knows_is_known(project: Project) -> None:
    project.script("guard.sh", "#!/bin/sh\nexit 0\n")
    guard = hook(
        '"$CLAUDE_PROJECT_DIR"/guard.sh',
        **{"if": "Bash(git push:*)"},
        timeout=30,
        statusMessage="looking",
        shell="bash",
        onFailure="block",
    )
    settings = {
        "$schema": "x",
        "model": "opus",
        "permissions": {"allow": ["Bash(ls:*)"]},
        "env": {"MODE": "strict"},
        **on("PreToolUse", guard, hook("true", **{"args": ["-x"], "async": True}), matcher="Bash"),
    }
    assert brief(review_claude(project, settings)) == []


@pytest.mark.parametrize(
    ("fields", "rule", "severity", "said"),
    [
        (hook(tiemout=5), "unknown-key", WARNING, "did you mean timeout?"),
        (hook(frobnicate=1), "unknown-key", HINT, "the keys are args, async, asyncRewake"),
        (hook(url="x"), "misplaced-key", WARNING, "url is for http hooks and has no effect"),
        (hook(matcher="x"), "misplaced-key", ERROR, 'beside its "hooks"'),
        (hook(timeout=5000), "timeout-milliseconds", WARNING, "looks like milliseconds; write 5 "),
        (hook(timeout=1000), "timeout-milliseconds", WARNING, "write 1 for 1 s"),
        (hook("true ${user_config.key}"), "not-supported", WARNING, "hookline has no value for"),
        (hook(once=True), "not-supported", HINT, "the hook runs every time"),
        (hook(shell="powershell"), "not-supported", WARNING, "so the hook is skipped"),
        ({"type": "agent", "prompt": "x"}, "type", WARNING, "agent hooks are not supported"),
        ({"type": "mcp_tool", "server": "s", "tool": "t"}, "type", WARNING, "are not supported"),
        ({"command": "true"}, "type", ERROR, 'add "type": "command"'),
        ({"type": "comand", "command": "true"}, "type", ERROR, 'write "command"'),
        (
            PROMPT,
            "prompt",
            HINT,
            "is not run if the agent provides none; provide one with Hooks(jud",
        ),
        (PROMPT | {"onFailure": "block"}, "prompt", HINT, "blocks if the agent provides none"),
        (hook(onFailure="allow"), "failure-word", ERROR, 'write "continue" or "block"'),
        (hook(onfailure="block"), "unknown-key", ERROR, "did you mean onFailure?"),
        (hook(If="Bash(rm:*)"), "unknown-key", ERROR, "did you mean if?"),
        (
            hook("true", **{"onFailure": "block", "async": True}),
            *("settings", ERROR, "nobody would wait for its answer"),
        ),
    ],
)
def test_a_field_of_a_hook(
    project: Project, fields: Any, rule: str, severity: str, said: str
) -> None:
    finding = only(review_claude(project, on("PreToolUse", fields)), rule)
    assert finding.severity is severity
    assert said in finding.text


@pytest.mark.parametrize(
    ("event", "severity", "said"),
    [
        ("PermissionRequest", None, ""),
        ("SubagentStop", HINT, 'call hooks.fire_claude_event("SubagentStop", …)'),
        ("TaskCompleted", WARNING, "unless the agent fires it by name"),
        ("WorktreeCreate", WARNING, "unless the agent fires it by name"),
    ],
)
def test_events_that_this_host_does_not_fire(
    project: Project, event: str, severity: Severity | None, said: str
) -> None:
    findings = review_claude(project, on(event, hook()))
    if severity is None:
        assert findings == []
        return
    finding = only(findings, "event-not-fired")
    assert (finding.severity, finding.line) == (severity, 3)
    assert said in finding.text


@pytest.mark.parametrize(
    ("event", "severity", "said"),
    [
        ("PreToolUs", ERROR, "did you mean PreToolUse?"),
        ("BeforeTool", ERROR, "write PreToolUse, and timeouts in seconds"),
        ("AfterTool", ERROR, "write PostToolUse"),
        ("Zzz", WARNING, "the events are PreToolUse, PostToolUse"),
    ],
)
def test_an_event_that_is_not_claude_codes(
    project: Project, event: str, severity: Severity, said: str
) -> None:
    finding = only(review_claude(project, on(event, hook())), "unknown-event")
    assert finding.severity is severity
    assert said in finding.text


@pytest.mark.parametrize(
    ("matcher", "rule", "severity", "said"),
    [
        ("bash", "matcher-tool", WARNING, "case counts?); did you mean Bash?"),
        ("Wirte", "matcher-tool", WARNING, "did you mean Write?"),
        ("Bash|Wirte", "matcher-tool", WARNING, "no known tool is called 'Wirte'"),
        ("NotebookRead", "matcher-tool", WARNING, '"tools": {"my_tool": "NotebookRead"}'),
        ("Bash(git push:*)", "matcher-rule", ERROR, '"if": "Bash(git push:*)" in the hook'),
        ('tool == "Bash"', "matcher-rule", ERROR, "write Bash, and look at tool_input"),
        (
            'tool == "Edit" && tool_input.file_path matches "x"',
            "matcher-rule",
            ERROR,
            '"if": "Edit(git push:*)" in the hook',
        ),
        ("mcp__memory", "matcher-tool", WARNING, "write mcp__memory__.*"),
        ("frobnicate", "matcher-tool", HINT, 'declare it: "tools": ["frobnicate"]'),
        ("*.py", "matcher-file", ERROR, '"if": "Edit(*.py)"'),
        (r".*\.py$", "matcher-file", WARNING, "sees only the tool's name"),
        ("(Bash", "matcher-regex", ERROR, "until then it matches all"),
        ("(a+)+$", "matcher-explodes", WARNING, "can take forever"),
        ("Wirte", "matcher-tool", WARNING, "(a typing error?)"),
        ("^Wirte$", "matcher-tool", WARNING, "did you mean Write?"),
        ("frob, Wirte", "matcher-tool", WARNING, "did you mean Write?"),
        ("^NotebookRea.$", "matcher-tool", WARNING, "declares none as NotebookRead"),
    ],
)
def test_a_matcher_for_tools(
    project: Project, matcher: str, rule: str, severity: str, said: str
) -> None:
    finding = only(review_claude(project, on("PreToolUse", hook(), matcher=matcher)), rule)
    assert finding.severity is severity
    assert said in finding.text


@pytest.mark.parametrize(
    "matcher",
    [
        *("", "*", ".*", "Bash", "Edit|MultiEdit|Write|NotebookEdit", "Edit, Write", "Task"),
        *("run_shell_command", "mcp__memory__.*", "mcp__.*", "Write|Edit|mcp__.*slack_(a|b)"),
        *(
            "^Bash$",
            "Notebook.*|Read",
            "mcp__github__create_issue",
            "Agent",
            "write_*",
            "MultiEdit",
        ),
    ],
)
def test_matchers_that_are_fine(project: Project, matcher: str) -> None:
    assert review_claude(project, on("PostToolUse", hook(), matcher=matcher)) == []


@pytest.mark.parametrize(
    ("event", "matcher", "severity", "said"),
    [
        ("SessionStart", "startup|compact", None, ""),
        ("SessionStart", "startup|compress", WARNING, "'compress' never happens"),
        ("SessionStart", "fork", WARNING, "never happens on SessionStart in this host"),
        ("SessionStart", "startupp", ERROR, "did you mean startup?"),
        ("SessionEnd", "exit", ERROR, "so these hooks never run"),
        ("PreCompact", "auto", None, ""),
        ("SessionStart", "zzz", ERROR, "the triggers are startup, resume, clear, compact"),
        ("SessionEnd", "resume", WARNING, "never happens on SessionEnd in this host"),
        ("SessionStart", "Bash(ls)", ERROR, "so these hooks never run"),
    ],
)
def test_a_trigger_is_one_of_claude_codes(
    project: Project, event: str, matcher: str, severity: Severity | None, said: str
) -> None:
    findings = review_claude(project, on(event, hook(), matcher=matcher))
    if severity is None:
        assert findings == []
        return
    finding = only(findings, "matcher-trigger")
    assert finding.severity is severity
    assert said in finding.text


@pytest.mark.parametrize(
    ("event", "trigger"),
    [
        ("PostCompact", "manual"),
        ("Setup", "maintenance"),
        ("ConfigChange", "skills"),
        ("InstructionsLoaded", "include"),
        ("DirectoryAdded", "slash_command"),
    ],
)
def test_the_triggers_of_events_that_only_claude_code_has_are_known(
    project: Project, event: str, trigger: str
) -> None:
    only(review_claude(project, on(event, hook(), matcher=trigger)), "event-not-fired")
    findings = review_claude(project, on(event, hook(), matcher="zzzz"))
    assert rules(findings) == {"event-not-fired", "matcher-trigger"}


@pytest.mark.parametrize(
    ("matcher", "is_certain"),
    [("startupp", True), ("clear|startupp", True), ("startupp|resumee", False)],
)
def test_only_one_misspelt_trigger_is_replaced(
    project: Project, matcher: str, is_certain: bool
) -> None:
    findings = review_claude(project, on("SessionStart", hook(), matcher=matcher))
    assert bool(only(findings, "matcher-trigger").fixes) is is_certain


def test_a_file_name_for_a_trigger_is_no_expression(project: Project) -> None:
    only(review_claude(project, on("SessionStart", hook(), matcher="*.py")), "matcher-regex")


def test_a_matcher_on_an_event_that_has_nothing_to_match(project: Project) -> None:
    finding = only(review_claude(project, on("Stop", hook(), matcher="Bash")), "matcher-ignored")
    assert finding.message == "Stop has nothing to match, so its hooks run every time"


def test_a_tool_that_settings_declare_satisfies_a_matcher(project: Project) -> None:
    native = project.settings({"claude": True, "hooks": {"tools": {"cells": "NotebookRead"}}})
    project.settings(on("PreToolUse", hook(), matcher="NotebookRead"), file=".claude/settings.json")
    assert check(checked((native, HookSource.USER), project=project)) == []


@pytest.mark.parametrize(
    ("event", "matcher", "condition", "severity", "said"),
    [
        ("PreToolUse", "Bash", "Bash(git push:*)", None, ""),
        ("PreToolUse", "Edit|Write", "Edit(src/**)", None, ""),
        ("PreToolUse", "*", "mcp__github__push", None, ""),
        ("Stop", "", "Bash(git push:*)", ERROR, "never runs: if works only on tool events"),
        ("PreToolUse", "Bash", "Bash(git push", WARNING, "so the hook runs on every call"),
        ("PreToolUse", "Write", "Bash(git push:*)", WARNING, "so the hook never runs"),
    ],
)
def test_the_if_of_a_hook(
    project: Project,
    event: str,
    matcher: str,
    condition: str,
    severity: Severity | None,
    said: str,
) -> None:
    findings = review_claude(project, on(event, hook(**{"if": condition}), matcher=matcher))
    if severity is None:
        assert findings == []
        return
    finding = only(findings, "condition")
    assert finding.severity is severity
    assert said in finding.text


@pytest.mark.parametrize("is_claude", [True, False])
@pytest.mark.parametrize(
    ("fields", "rule", "severity", "said"),
    [
        (http(), None, None, ""),
        (http("http://hooks.example.org/x"), "http-url", ERROR, "reaches only this machine"),
        (http("http://127.0.0.1:8000/x"), "http-url", ERROR, "list 127.0.0.1 in security"),
        (http("http://a.localhost/x"), "http-url", ERROR, "list a.localhost in security"),
        (http("http://localhost/x"), "http-url", ERROR, "list localhost in security"),
        (http("https://10.0.0.1/x"), "http-url", ERROR, "10.0.0.1, which is not a public"),
        (http("http://10.0.0.1/x"), "http-url", ERROR, "reaches only this machine"),
        (http("https://93.184.215.14/x"), None, None, ""),
        (http("https://a:b@example.org/"), "http-url", ERROR, "a name or a password in it"),
        (http(headers={"X": "$TOKEN"}), "http-header", WARNING, "lacks TOKEN, which allowedEnv"),
        (http(headers={"X": "${KEY}"}), "http-header", WARNING, "lacks KEY, which allowedEnvVars"),
        (http(headers={"X": "${TOKEN}"}, allowedEnvVars=["TOKEN"]), None, None, ""),
        (http(headers={"X Y": "1"}), "http-header", ERROR, "letters, digits and hyphens"),
        (http(headers={"HOST": "x"}), "http-header", HINT, "sets the header HOST itself"),
        (http(command="true"), "misplaced-key", WARNING, "is for command hooks"),
    ],
)
def test_a_hook_that_is_a_server(
    project: Project,
    is_claude: bool,
    fields: Any,
    rule: str | None,
    severity: Severity | None,
    said: str,
) -> None:
    if is_claude:
        findings = review_claude(project, on("PreToolUse", fields))
    else:
        findings = review(project, on("BeforeTool", fields))
    findings = apart_from_httpx(findings)
    if rule is None:
        assert findings == []
        return
    finding = only(findings, rule)
    assert finding.severity is severity
    assert said in finding.text


def test_http_hooks_are_sent_by_a_package_of_its_own(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "httpx", None)
    findings = review_claude(project, on("PreToolUse", http(), http("https://b.example.org/")))
    finding = only(findings, "http")
    assert "pip install 'hookline[http]'" in finding.text
    assert finding.path[-2:] == (0, "type")


@pytest.mark.parametrize(("hosts", "is_found"), [(["10.0.0.1"], False), (["10.0.0.2"], True)])
def test_a_private_host_that_the_user_allows_is_fine(
    project: Project, tmp_path: Path, hosts: list[str], is_found: bool
) -> None:
    file = project.settings(on("BeforeTool", http("https://10.0.0.1/x")))
    users = tmp_path / "user.json"
    users.write_text(json.dumps({"security": {"privateHookHosts": hosts}}))
    read = checked((file, HookSource.PROJECT), (users, HookSource.USER), project=project)
    findings = apart_from_httpx(check(read))
    assert [finding.kind for finding in findings] == ["http-url"] * is_found


def test_a_users_own_hook_may_reach_a_private_host(project: Project, tmp_path: Path) -> None:
    users = tmp_path / "user.json"
    users.write_text(json.dumps(on("BeforeTool", http("https://10.0.0.1/x"))))
    read = checked((users, HookSource.USER), project=project)
    assert apart_from_httpx(check(read)) == []


def test_urls_that_claude_codes_settings_do_not_allow(project: Project) -> None:
    settings = {"allowedHttpHookUrls": ["https://other.org/*"], **on("PreToolUse", http())}
    finding = only(apart_from_httpx(review_claude(project, settings)), "http-url")
    assert "matches no URL in allowedHttpHookUrls; add it there" in finding.text


def test_hooks_that_claude_codes_settings_switch_off(project: Project) -> None:
    settings = {"disableAllHooks": True, "allowManagedHooksOnly": True, **on("Stop", hook())}
    findings = review_claude(project, settings)
    assert brief(findings) == [("disabled", HINT), ("overreach", WARNING)]
    assert "this disables Claude Code's hooks: 1 hook does not run" in findings[0].message


def test_native_rules_keep_out_of_claude_codes_files(project: Project) -> None:
    project.script("guard.py", "import json\nprint(json.dumps({}))\n")
    settings = {
        "enableHooks": False,
        "hooks": {
            "PreToolUse": [
                {"matcher": "Edit, Write", "hooks": [hook("python3 guard.py", timeout=10)]}
            ]
        },
    }
    # A timeout of ten, a comma and a script that could be kept warm are worth a word natively.
    assert rules(review_claude(project, settings)) == set()
    native = review(project, on("BeforeTool", hook("python3 guard.py", timeout=10), matcher="a, b"))
    assert rules(native) >= {"timeout-seconds", "matcher-separator", "warm"}


def test_claude_codes_files_that_nobody_asked_for_are_told_once_each(project: Project) -> None:
    native = project.settings(on("BeforeAgent", hook()))
    project.settings(on("Stop", hook()), file=".claude/settings.json")
    project.settings({"model": "opus"}, file=".claude/settings.local.json")
    read = checked((native, HookSource.PROJECT), project=project)
    finding = only(check(read), "not-read")
    assert finding.severity is HINT
    assert finding.file.endswith(".claude/settings.json")
    assert 'pass --claude, or write "claude": true into your settings' in finding.text
    assert len(read.hooks) == 1


def test_a_required_hook_that_nobody_waits_for_is_an_error(project: Project) -> None:
    native = project.settings({"claude": True, "hooks": {"required": ["guard"]}})
    guard = hook("true", **{"name": "guard", "async": True})
    project.settings(on("Stop", guard), file=".claude/settings.json")
    findings = check(checked((native, HookSource.PROJECT), project=project))
    assert "async is not for a hook that is required" in only(findings, "settings").message


@pytest.mark.parametrize("said", [True, False])
def test_settings_say_whether_claude_codes_files_are_checked(project: Project, said: bool) -> None:
    native = project.settings({"claude": said})
    project.settings(on("Stop", hook(tiemout=5)), file=".claude/settings.json")
    findings = check(checked((native, HookSource.USER), project=project))
    assert rules(findings) == ({"unknown-key"} if said else set())


@pytest.mark.parametrize("form", ["file", "flat file", "object", "list", "path"])
def test_a_plugin_is_checked_wherever_its_hooks_are(project: Project, form: str) -> None:
    guard = hook("python3 ${CLAUDE_PLUGIN_ROOT}/gone.py", tiemout=5)
    hooks = {"PreToolUse": [{"matcher": "Bash", "hooks": [guard]}]}
    manifest: dict[str, Any] = {"name": "guards"}
    if form in ("file", "flat file"):
        content = {"description": "d", **({"hooks": hooks} if form == "file" else hooks)}
        project.write("guards/hooks/hooks.json", json.dumps(content))
    elif form == "path":
        manifest["hooks"] = ["./extra/hooks.json"]
        project.write("guards/extra/hooks.json", json.dumps({"hooks": hooks}))
    else:
        manifest["hooks"] = hooks if form == "object" else [hooks]
    project.write("guards/.claude-plugin/plugin.json", json.dumps(manifest))
    read = checked(project=project, plugins=[project.path / "guards"])
    assert rules(check(read)) == {"unknown-key", "script-missing"}
    missing = next(finding for finding in check(read) if finding.kind == "script-missing")
    assert str(project.path / "guards" / "gone.py") in missing.message
    assert len(read.hooks) == 1


def test_a_script_of_a_plugin_that_cannot_be_executed(project: Project) -> None:
    project.write("guards/run.sh", "#!/bin/sh\nexit 0\n")
    hooks = {"Stop": [{"hooks": [hook("${CLAUDE_PLUGIN_ROOT}/run.sh")]}]}
    project.write("guards/hooks/hooks.json", json.dumps({"hooks": hooks}))
    findings = check(checked(project=project, plugins=[project.path / "guards"]))
    assert only(findings, "script-not-executable").fixes


def test_a_folder_that_is_no_plugin(project: Project) -> None:
    (project.path / "empty").mkdir()
    finding = only(check(checked(project=project, plugins=[project.path / "empty"])), "plugin")
    assert finding.severity is ERROR
    assert "neither .claude-plugin/plugin.json nor hooks/hooks.json" in finding.text


def test_the_same_hook_in_two_dialects_is_two_hooks(project: Project) -> None:
    native = project.settings({"claude": True, **on("SessionStart", hook())})
    project.settings(on("SessionStart", hook(), hook()), file=".claude/settings.json")
    finding = only(check(checked((native, HookSource.PROJECT), project=project)), "duplicate")
    assert finding.file.endswith(".claude/settings.json")
    assert "is on line 6 too, and runs once" in finding.message


def test_a_timeout_of_less_than_a_thousand_seconds_is_meant(project: Project) -> None:
    assert review_claude(project, on("Stop", hook(timeout=999))) == []


def test_an_empty_if_is_no_condition(project: Project) -> None:
    fields = on("PreToolUse", hook(**{"if": ""}), matcher="Bash")
    assert review_claude(project, fields) == []


def test_an_event_that_is_not_fired_is_told_after_one_that_is(project: Project) -> None:
    hooks = on("PreToolUse", hook())["hooks"] | on("WorktreeCreate", hook("ls"))["hooks"]
    only(review_claude(project, {"hooks": hooks}), "event-not-fired")


@pytest.mark.parametrize(
    "unsaid", ["{", {"model": "opus"}, {"hooks": {"Stop": []}}, {"hooks": 1}], ids=str
)
def test_a_file_without_hooks_does_not_hide_another_that_is_not_read(
    project: Project, unsaid: object
) -> None:
    project.settings(unsaid, file=".claude/settings.local.json")
    project.settings(on("Stop", hook()), file=".claude/settings.json")
    finding = only(check(checked(project=project)), "not-read")
    assert finding.file.endswith(".claude/settings.json")


def test_an_event_without_hooks_need_not_be_fired(project: Project) -> None:
    assert review_claude(project, {"hooks": {"WorktreeCreate": []}}) == []


def test_hooks_are_looked_at_after_others_that_are_fine_or_wrong(project: Project) -> None:
    hooks = {
        "Zzz": [{"hooks": [{"type": "agent", "prompt": "x"}]}],
        "PreToolUse": [{"hooks": [hook(), {"type": "agent", "prompt": "x"}]}],
    }
    found = [f for f in review_claude(project, {"hooks": hooks}) if f.kind == "type"]
    assert [finding.path[:2] for finding in found] == [("hooks", "PreToolUse")]
    conditions = [hook("a", **{"if": text}) for text in ("Bash(ls", "Bash(ls)", "Write(x)")]
    stop = on("Stop", hook(), hook("b", **{"if": "Bash(ls)"}))["hooks"]
    both = {"hooks": stop | on("PreToolUse", *conditions, matcher="Bash")["hooks"]}
    severities = [f.severity for f in review_claude(project, both) if f.kind == "condition"]
    assert severities == [ERROR, WARNING, WARNING]


def test_hooks_with_other_conditions_are_other_hooks(project: Project) -> None:
    hooks = [hook("true", **{"if": f"Bash({word}:*)"}) for word in ("git", "rm")]
    assert review_claude(project, on("PreToolUse", *hooks, matcher="Bash")) == []
    twice = review_claude(project, on("PreToolUse", hooks[0], hooks[0], matcher="Bash"))
    assert rules(twice) == {"duplicate"}


def test_a_project_alone_cannot_allow_managed_hooks_only(project: Project) -> None:
    finding = only(review_claude(project, {"allowManagedHooksOnly": True}), "overreach")
    assert "only the managed settings can disable all other hooks" in finding.message
    assert (finding.line, finding.column) == (2, 3)


def test_the_number_of_hooks_that_are_off_is_told(project: Project) -> None:
    settings = {"disableAllHooks": True, **on("Stop", hook(), hook("false"))}
    finding = only(review_claude(project, settings), "disabled")
    assert finding.message == "this disables Claude Code's hooks: 2 hooks do not run"
    finding = only(review_claude(project, {"disableAllHooks": True}), "disabled")
    assert finding.message == "this disables Claude Code's hooks"


def test_the_keys_of_claude_codes_own_hooks_are_known(project: Project) -> None:
    texts = dict.fromkeys(("rewakeMessage", "rewakeSummary", "statusMessage"), "x")
    assert review_claude(project, on("Stop", {**hook(asyncRewake=False), **texts})) == []


@pytest.mark.parametrize(
    ("file", "kind"),
    [
        (".claude/skills/deploy/SKILL.md", "skill"),
        (".claude/agents/team/reviewer.md", "sub-agent"),
        (".claude/commands/ship.md", "command"),
    ],
)
def test_hooks_in_front_matter_are_reported_as_not_run(
    project: Project, file: str, kind: str
) -> None:
    text = "---\nname: x\nhooks:\n  PreToolUse: []\n---\nhooks: none here\n"
    path = project.write(file, text)
    project.write(".claude/skills/plain/SKILL.md", "---\nname: y\n---\nhooks:\n")
    finding = only(review_claude(project, on("Stop", hook())), "not-supported")
    assert (finding.severity, finding.file, finding.line) == (WARNING, str(path), 3)
    assert finding.message.startswith(f"hooks: hooks of a {kind} run inside Claude Code only")


def test_so_are_those_of_a_plugin_and_its_modules(project: Project) -> None:
    plug = project.path / "plug"
    project.write("plug/.claude-plugin/plugin.json", '{"name": "p"}')
    project.write("plug/hooks/hooks.json", '{"modules": ["./a.ts"]}')
    project.write("plug/agents/a.md", "---\nhooks: {}\n---\n")
    findings = check(checked(project=project, plugins=[plug]))
    assert brief(findings) == [("not-supported", WARNING)] * 2
    assert {finding.file for finding in findings} == {
        str(plug / "hooks/hooks.json"),
        str(plug / "agents/a.md"),
    }
