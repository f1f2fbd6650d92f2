"""Keys and events that nobody reads, and fields whose values were hardly meant."""

from typing import Any

import pytest

from hookline.wire.hooks import HookSource
from tests.check.review import ERROR, HINT, WARNING, brief, check, checked, hook, on, only, review
from tests.harness.scratch import Project


@pytest.mark.parametrize(
    ("event", "remedy"),
    [
        ("BeforTool", "did you mean BeforeTool?"),
        ("before_tool", "did you mean BeforeTool?"),
        ("sessionstart", "did you mean SessionStart?"),
        ("PreToolUse", "write BeforeTool, and timeouts in milliseconds"),
        ("Stop", "write AfterAgent, and timeouts in milliseconds"),
        ("Zzz", "the events are BeforeTool, AfterTool, BeforeAgent, AfterAgent, BeforeModel"),
    ],
)
def test_an_unknown_event_is_an_error_with_the_nearest_name(
    project: Project, event: str, remedy: str
) -> None:
    finding = only(review(project, on(event, hook())), "unknown-event")
    assert finding.severity is ERROR
    assert finding.remedy.startswith(remedy)
    assert (finding.line, finding.column) == (3, 5)


def test_an_event_beside_its_misspelling_is_where_to_put_the_hooks(project: Project) -> None:
    settings: dict[str, Any] = {"hooks": {"BeforTool": [], "BeforeTool": []}}
    finding = only(review(project, settings), "unknown-event")
    assert finding.remedy == "move its hooks into BeforeTool, which is there too"
    assert finding.fixes == ()


@pytest.mark.parametrize(
    ("settings", "rule", "severity", "said"),
    [
        ({"enableHook": True}, "unknown-key", ERROR, "did you mean enableHooks?"),
        ({"colour": 1}, "unknown-key", WARNING, "the keys are $schema, claude, enableHooks"),
        ({"BeforeTool": []}, "misplaced-key", ERROR, 'move it into "hooks"'),
        ({"hooksConfig": {"enable": True}}, "unknown-key", ERROR, "did you mean enabled?"),
        ({"security": {"redaction": {}}}, "unknown-key", WARNING, "of security"),
        (on("BeforeAgent", hook(), matchers="x"), "unknown-key", ERROR, "did you mean matcher?"),
        (on("BeforeAgent", hook(), timeout=1), "misplaced-key", WARNING, 'object of "hooks"'),
        (on("BeforeAgent", hook(matcher="x")), "misplaced-key", ERROR, 'beside its "hooks"'),
        (on("BeforeAgent", hook(on_failure="block")), "unknown-key", ERROR, "mean onFailure?"),
        (on("BeforeAgent", hook(once=True)), "misplaced-key", WARNING, "Claude Code's"),
        ({"hooks": {"BeforeAgent": [hook()]}}, "flat-definition", ERROR, "move it into a list"),
    ],
)
def test_a_key_that_means_nothing_is_told_with_what_does(
    project: Project, settings: Any, rule: str, severity: str, said: str
) -> None:
    finding = only(review(project, settings), rule)
    assert finding.severity is severity
    assert said in finding.text


@pytest.mark.parametrize(
    ("settings", "rule", "said"),
    [
        (
            on("BeforeTool", hook(onfailure="block")),
            "unknown-key",
            "is not a key of a hook, so a failure of the hook lets the agent go on; did you mean",
        ),
        (
            on("BeforeTool", hook(), onFailure="block"),
            "misplaced-key",
            'lets the agent go on; write it into each hook that is in "hooks"',
        ),
        ({"hooks": {"requried": ["x"]}}, "unknown-event", "did you mean required?"),
        ({"stric": True}, "unknown-key", "so a hook that cannot answer lets the agent go on"),
        ({"enabelHoks": True}, "unknown-key", "did you mean enableHooks?"),
        ({"required": ["x"]}, "misplaced-key", 'write it into "hooks"'),
        (on("BeforeTool", hook(**{"if": "x"})), "misplaced-key", "have no condition"),
        (on("BeforeTool", hook(onFailure="Block")), "failure-word", 'write "block"'),
        (on("BeforeTool", hook(onFailure="closed")), "failure-word", 'write "allow" or "block"'),
        (on("BeforeTool", hook(onFailure=True)), "failure-word", "onFailure cannot be true, so"),
    ],
)
def test_a_slip_that_changes_the_policy_is_an_error(
    project: Project, settings: Any, rule: str, said: str
) -> None:
    finding = only(review(project, settings), rule)
    assert finding.severity is ERROR
    assert said in finding.text


@pytest.mark.parametrize(
    ("settings", "what", "meant"),
    [
        ({"theme": "dark", "hook": {}}, "'hook' is not a key of the settings", "hooks"),
        ({"tools": {"core": [], "enableHook": True}}, "a key of tools, so it", "enableHooks"),
        ({"hooksConfig": {"enable": False, "x": 1}}, "'enable' is not a key", "enabled"),
    ],
)
def test_a_slip_in_another_programs_file_is_told_and_mended(
    project: Project, settings: dict[str, Any], what: str, meant: str
) -> None:
    file = project.settings(settings, file=".gemini/settings.json")
    (finding,) = check(checked((file, HookSource.PROJECT), project=project))
    assert (finding.kind, finding.severity, len(finding.fixes)) == ("unknown-key", ERROR, 1)
    assert what in finding.message
    assert finding.remedy == f"did you mean {meant}?"


def test_the_keys_of_other_programs_are_theirs(project: Project) -> None:
    settings = {"theme": "dark", "security": {"auth": {}}, **on("BeforeAgent", hook(timout=1))}
    file = project.settings(settings, file=".gemini/settings.json")
    finding = only(check(checked((file, HookSource.PROJECT), project=project)), "unknown-key")
    assert finding.remedy == "did you mean timeout?"


def test_every_key_of_the_protocol_is_known(project: Project) -> None:
    everything = {
        "$schema": "x",
        "enableHooks": True,
        "hooksConfig": {"enabled": True, "disabled": [], "notifications": True},
        **on(
            "BeforeTool",
            hook(name="n", description="d", timeout=5000, env={"MODE": "x"}, onFailure="block"),
            hook(args=["--strict"], managed=False, warm=False),
            matcher="write_file",
            sequential=True,
        ),
    }
    assert brief(review(project, everything)) == []


def test_what_the_engine_warns_of_and_no_rule_knows_is_an_error(project: Project) -> None:
    text = (
        '{"hooks": {"BeforeTool": 1, "BeforeAgent": [1]},\n "enableHooks": 1,\n "hooksConfig": 2}'
    )
    findings = review(project, text)
    assert brief(findings) == [("settings", ERROR)] * 4
    assert [(f.line, f.column) for f in findings] == [(1, 26), (1, 45), (2, 17), (3, 17)]
    assert "must be a list of definitions, not a number" in findings[0].message


def test_a_key_given_twice_is_told_where_it_counts(project: Project) -> None:
    finding = only(review(project, '{"hooks": {},\n"hooks": {}}'), "settings")
    assert "given twice; only the last counts" in finding.message
    assert (finding.line, finding.column) == (2, 10)


def test_a_file_that_is_no_json_is_an_error_at_its_place(project: Project) -> None:
    finding = only(review(project, '{"hooks": {\n  "a" 1}}'), "syntax")
    assert (finding.severity, finding.line, finding.column) == (ERROR, 2, 7)
    assert finding.message == "the file is not valid JSON: expected ':' after the key"


def test_a_hook_without_a_type_is_skipped_and_says_so(project: Project) -> None:
    finding = only(review(project, on("BeforeAgent", {"command": "true"})), "type")
    assert finding.severity is ERROR
    assert finding.text == 'the hook has no type and is skipped; add "type": "command"'


@pytest.mark.parametrize("kind", ["Command", "comand", "commands"])
def test_a_misspelt_type_is_put_right(project: Project, kind: str) -> None:
    finding = only(review(project, on("BeforeAgent", {"type": kind, "command": "true"})), "type")
    assert finding.remedy == 'write "command"'
    assert finding.fixes


def test_a_type_of_another_program_is_left_to_the_author(project: Project) -> None:
    findings = review(project, on("BeforeAgent", {"type": "mcp_tool", "url": "x"}))
    assert brief(findings) == [("settings", ERROR), ("misplaced-key", WARNING)]
    said = 'has the unknown type \'mcp_tool\'; the type must be "command", "http" or "prompt"'
    assert said in findings[0].message


@pytest.mark.parametrize(
    ("value", "expected", "certain"),
    [
        (5, [("timeout-seconds", WARNING)], True),
        (60, [("timeout-seconds", WARNING)], True),
        (0.5, [("timeout-seconds", WARNING)], True),
        (61, [("timeout-seconds", WARNING)], False),
        (90, [("timeout-seconds", WARNING)], False),
        (99.5, [("timeout-seconds", WARNING)], False),
        (100, [], False),
        (300, [("timeout-seconds", HINT)], False),
        (250, [], False),
        (5000, [], False),
        (600_000, [], False),
        (3_600_000, [], False),
        (3_600_001, [("timeout-long", HINT)], False),
        (36_000_000, [("timeout-long", HINT)], False),
        (0, [("settings", ERROR)], False),
        ("5s", [("settings", ERROR)], False),
        (True, [("settings", ERROR)], False),
    ],
)
def test_a_timeout_that_looks_like_seconds(
    project: Project, value: Any, expected: Any, certain: bool
) -> None:
    findings = review(project, on("BeforeAgent", hook(timeout=value)))
    assert brief(findings) == expected
    assert any(finding.fixes for finding in findings) is certain


def test_a_timeout_of_five_names_what_was_meant(project: Project) -> None:
    finding = only(review(project, on("BeforeAgent", hook(timeout=5))), "timeout-seconds")
    assert finding.text == (
        "timeout 5 is in milliseconds, but looks like seconds; write 5000 for 5 s"
    )
    assert (finding.line, finding.column) == (9, 24)


@pytest.mark.parametrize(
    ("env", "severity", "said"),
    [
        ({"PATH": "$PATH:/opt/bin"}, WARNING, "PATH gets the text $PATH"),
        ({"X": "${HOME}/x"}, WARNING, "X gets the text ${HOME}"),
        ({"X": "~/x"}, WARNING, "X gets the text ~"),
        ({"my-mode": "x"}, HINT, "no shell can read a variable called 'my-mode'"),
        (
            {"HOOKLINE_PROJECT_DIR": "x"},
            WARNING,
            "hookline sets HOOKLINE_PROJECT_DIR for every hook",
        ),
    ],
)
def test_a_variable_that_will_not_hold_what_is_written(
    project: Project, env: dict[str, str], severity: str, said: str
) -> None:
    finding = only(review(project, on("BeforeAgent", hook(env=env))), "env")
    assert finding.severity is severity
    assert said in finding.message


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("$HOME/x", "only variables of directories are replaced"),
        ("${MODE}", "only variables of directories are replaced"),
        ("$HOOKLINE_SESSION_ID", "variables of an event are not replaced"),
        ("|", "there is no shell"),
        (">log.txt", "there is no shell"),
        ("2>&1", "there is no shell"),
        ("~/x", "there is no shell"),
        ("$(date)", "there is no shell"),
        ("src/*.py", "no shell to find files"),
        ("*.py", "no shell to find files"),
    ],
)
def test_args_have_no_shell(project: Project, word: str, said: str) -> None:
    given = hook(args=["--ok", word], env={"MODE": "x"})
    finding = only(review(project, on("BeforeAgent", given)), "args-shell")
    assert said in finding.message
    assert finding.path[-2:] == ("args", 1)


@pytest.mark.parametrize(
    "word", ["--strict", "$HOOKLINE_PROJECT_DIR/x", "${GEMINI_PROJECT_DIR}", "a*b", "x=1", "-"]
)
def test_args_that_mean_what_they_say(project: Project, word: str) -> None:
    assert review(project, on("BeforeAgent", hook(args=[word, "a > b"]))) == []


@pytest.mark.parametrize(
    ("fields", "then"), [({}, "is not run"), ({"onFailure": "block"}, "blocks")]
)
def test_a_prompt_hook_needs_an_agent_that_gives_a_model(
    project: Project, fields: dict[str, Any], then: str
) -> None:
    asking = {"type": "prompt", "prompt": "Fine?", **fields}
    finding = only(review(project, on("BeforeTool", asking)), "prompt")
    assert finding.severity is HINT
    assert finding.message == f"the hook asks a model, and {then} if the agent provides none"


def test_a_command_hook_may_be_async(project: Project) -> None:
    assert review(project, on("AfterTool", {**hook(), "async": True})) == []


def test_everything_is_looked_at_after_what_is_fine(project: Project) -> None:
    odd = {"type": "zzz", "command": "true"}
    late = {"command": "late"}
    hooks = [hook(), odd, late, hook("ls", timeout=5), hook("cat", onFailure="maybe")]
    settings = {"hooks": {"BeforeAgent": [{"hooks": hooks}, hook("flat")], "BeforTool": []}}
    findings = review(project, settings)
    kinds = [finding.kind for finding in findings if finding.kind != "settings"]
    expected = ["type", "timeout-seconds", "failure-word", "flat-definition", "unknown-event"]
    assert kinds == expected


def test_every_variable_and_argument_is_looked_at(project: Project) -> None:
    env = {"MODE": "x", "PATH": "$PATH:/opt", "my-mode": "x"}
    hooks = [hook(env=env), hook("sh", args=["-c", "ls *.py", "ok", "~/x"])]
    findings = review(project, on("BeforeAgent", *hooks))
    assert [finding.path[-2:] for finding in findings] == [
        ("env", "PATH"),
        ("env", "my-mode"),
        ("args", 3),
    ]


def test_a_comment_is_no_key(project: Project) -> None:
    said: dict[str, Any] = {"//": "why", "_comment": 1, "$comment": [], "// more": 2}
    assert review(project, {**on("BeforeAgent", hook(**said), **said), **said}) == []
