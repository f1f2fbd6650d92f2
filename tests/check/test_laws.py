"""For any settings: nothing is raised, nothing that the engine says is lost, fixes are safe."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookline.check import check
from hookline.check.fixes import carry_out, changes
from hookline.wire.hooks import HookSource
from tests.arbitrary import JSON, TEXT
from tests.check.review import checked
from tests.harness.scratch import Project

fields = {
    "type": st.sampled_from(["command", "Command", "http", 1]),
    "command": st.sampled_from(["true", "./gone.sh", "a | b", "'", "$(x)", "~/x", ""]) | TEXT,
    "timeout": st.sampled_from([5, 300, 5000, -1, "5", True]),
    "args": st.sampled_from([[], ["*"], [1], "x", ["$HOME"]]),
    "env": st.sampled_from([{}, {"a-b": "c"}, {"A": "$B"}, {"A": 1}, []]),
    "warm": st.sampled_from([True, False, "x"]),
    "tiemout": st.just(1),
}
matchers = st.sampled_from(["write_*", "(a+)+$", "[", "a, b", "startupp", "*", 1, None, ""]) | TEXT
hooks = st.fixed_dictionaries({}, optional=fields) | JSON
definitions = st.fixed_dictionaries(
    {}, optional={"matcher": matchers, "hooks": st.lists(hooks, max_size=2) | JSON}
)
events = st.sampled_from(["BeforeTool", "BeforTool", "SessionStart", "PreToolUse", "disabled"])
settings = st.fixed_dictionaries(
    {},
    optional={
        "hooks": st.dictionaries(
            events | TEXT, st.lists(definitions, max_size=2) | JSON, max_size=3
        ),
        "enableHooks": JSON,
        "hooksConfig": JSON,
        "security": JSON,
        "enableHook": JSON,
    },
)


claude_fields = {
    **{name: fields[name] for name in ("command", "args", "env", "tiemout")},
    "type": st.sampled_from(["command", "http", "prompt", "agent", "mcp_tool", "comand", 1]),
    "if": st.sampled_from(["Bash(git:*)", "Bash(", "Edit({a})", "", 1]) | TEXT,
    "timeout": st.sampled_from([5, 5000, 0, "5"]),
    "url": st.sampled_from(["https://a.org/", "http://a.org", "https://[", "http://127.1/"]) | TEXT,
    "headers": st.sampled_from([{}, {"X": "$Y"}, {"a b": "c"}, {"X": 1}, []]),
    "prompt": TEXT,
    "async": st.booleans(),
    "onFailure": st.sampled_from(["block", "continue", "allow"]),
}
claude_matchers = st.sampled_from(
    ["Bash", "bash, Wirte", "mcp__x", "(a+)+$", "[", "compact", 1, ""]
)
claude_hooks = st.fixed_dictionaries({}, optional=claude_fields) | JSON
claude_definitions = st.fixed_dictionaries(
    {},
    optional={
        "matcher": claude_matchers | TEXT,
        "hooks": st.lists(claude_hooks, max_size=2) | JSON,
    },
)
claude_events = st.sampled_from(["PreToolUse", "PreToolUs", "Stop", "BeforeTool", "SubagentStop"])
claude_settings = st.fixed_dictionaries(
    {},
    optional={
        "hooks": st.dictionaries(
            claude_events | TEXT, st.lists(claude_definitions, max_size=2) | JSON, max_size=3
        ),
        "disableAllHooks": JSON,
        "allowedHttpHookUrls": JSON,
        "env": JSON,
    },
)


@given(value=settings | JSON, source=st.sampled_from(HookSource))
def test_whatever_is_written_the_checking_says_what_the_engine_says(
    tmp_path_factory: pytest.TempPathFactory, value: object, source: HookSource
) -> None:
    project = Project(tmp_path_factory.mktemp("law") / "project")
    file = project.settings(json.dumps(value))
    reviewed = checked((file, source), project=project)
    findings = check(reviewed)
    said = {finding.path for finding in findings}
    assert {problem.path for problem in reviewed.problems} <= said
    assert all(finding.line >= 1 and finding.column >= 1 for finding in findings)


@given(value=claude_settings | JSON, in_plugin=st.booleans())
def test_the_same_holds_for_claude_codes_files(
    tmp_path_factory: pytest.TempPathFactory, value: object, in_plugin: bool
) -> None:
    project = Project(tmp_path_factory.mktemp("law") / "project")
    file = "plug/hooks/hooks.json" if in_plugin else ".claude/settings.json"
    project.settings(json.dumps(value), file=file)
    plugins = [project.path / "plug"] if in_plugin else []
    for _ in range(4):
        reviewed = checked(project=project, claude=True, plugins=plugins)
        findings = check(reviewed)
        assert {problem.path for problem in reviewed.problems} <= {each.path for each in findings}
        assert all(finding.line >= 1 and finding.column >= 1 for finding in findings)
        for change in changes(findings, reviewed):
            carry_out(change)
    assert changes(findings, reviewed) == []


@given(value=settings)
def test_fixing_ends_and_leaves_settings_that_can_be_read(
    tmp_path_factory: pytest.TempPathFactory, value: object
) -> None:
    project = Project(tmp_path_factory.mktemp("law") / "project")
    file = project.settings(json.dumps(value))
    broken = checked((file, HookSource.PROJECT), project=project).broken
    for _ in range(4):
        reviewed = checked((file, HookSource.PROJECT), project=project)
        for change in changes(check(reviewed), reviewed):
            carry_out(change)
    reviewed = checked((file, HookSource.PROJECT), project=project)
    assert changes(check(reviewed), reviewed) == []
    assert reviewed.broken == broken
