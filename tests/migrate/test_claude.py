"""Claude Code's settings, field by field."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookline.migrate.claude import Around, migrate_claude
from hookline.migrate.moves import Kind, Migrated, Move
from hookline.pipeline.jsonc import parse
from tests.arbitrary import JSON


def migrated(settings: Any, around: Around | None = None) -> Migrated:
    around = around or Around(project_dir="/nowhere")
    return migrate_claude(parse(json.dumps(settings)), "settings.json", around)


def one(
    handler: Any,
    *,
    event: str = "PreToolUse",
    matcher: str | None = None,
    around: Around | None = None,
) -> Migrated:
    definition = {"hooks": [handler]} | ({} if matcher is None else {"matcher": matcher})
    return migrated({"hooks": {event: [definition]}}, around)


def moved(migrated: Migrated) -> Move:
    (move,) = migrated.moves
    return move


def refused(migrated: Migrated) -> str:
    assert migrated.moves == ()
    (finding,) = migrated.findings
    assert finding.kind is Kind.REFUSED
    return finding.message


def command(**fields: Any) -> dict[str, Any]:
    return {"type": "command", "command": "touch ran", **fields}


@pytest.mark.parametrize(
    ("theirs", "ours", "timeout"),
    [
        ("PreToolUse", "BeforeTool", 600_000),
        ("UserPromptSubmit", "BeforeAgent", 30_000),
        ("Stop", "AfterAgent", 600_000),
        ("SessionStart", "SessionStart", 600_000),
        ("SessionEnd", "SessionEnd", 1500),
        ("PreCompact", "PreCompress", 600_000),
        ("Notification", "Notification", 600_000),
    ],
)
def test_events_have_other_names_and_a_hook_without_a_timeout_keeps_claude_s(
    theirs: str, ours: str, timeout: int
) -> None:
    move = moved(one(command(), event=theirs))
    assert move.event == ours
    assert move.hook == {"type": "command", "command": "touch ran", "timeout": timeout}


@pytest.mark.parametrize("event", ["PostToolUseFailure", "PermissionRequest", "PreTolUse"])
def test_events_that_are_not_native_stay_behind(event: str) -> None:
    assert refused(one(command(), event=event)) == "there is no native event for it"


@pytest.mark.parametrize(
    ("seconds", "milliseconds"), [(5, 5000), (0.5, 500), (600, 600_000), (0.0001, 1)]
)
def test_seconds_become_milliseconds(seconds: float, milliseconds: int) -> None:
    assert moved(one(command(timeout=seconds))).hook["timeout"] == milliseconds


def test_args_description_and_failing_closed_come_along() -> None:
    theirs = command(command="touch", args=["a b"], statusMessage="Scanning", onFailure="block")
    assert moved(one(theirs)).hook == {
        "type": "command",
        "command": "touch",
        "args": ["a b"],
        "timeout": 600_000,
        "description": "Scanning",
        "onFailure": "block",
    }


def test_failing_open_is_called_otherwise_and_is_the_default() -> None:
    assert "onFailure" not in moved(one(command(onFailure="continue"))).hook


def test_failing_closed_meant_nothing_on_stop_and_does_not_begin_to() -> None:
    assert "onFailure" not in moved(one(command(onFailure="block"), event="Stop")).hook


def test_that_settings_ignore_once_is_no_reason_to_stay() -> None:
    assert "once" not in moved(one(command(once=True))).hook


@pytest.mark.parametrize(
    ("handler", "message"),
    [
        ({"type": "http", "url": "https://x"}, "http hooks are not moved"),
        ({"type": "mcp_tool", "server": "a", "tool": "b"}, "mcp_tool hooks are not moved"),
        ({"type": "prompt", "prompt": "ok?"}, "prompt hooks are not moved"),
        ({"type": "agent", "prompt": "ok?"}, "agent hooks are not moved"),
        ({"command": "x"}, "its type is None, so it never ran"),
        ({"type": "rpc"}, "its type is 'rpc', so it never ran"),
        ({"type": "command", "command": " "}, "it has no command"),
        (command(args="-x"), "its args are not a list of strings"),
        (command(args=["$HOME/x"]), "natively a dollar sign in its command or args"),
        (command(shell="powershell"), "its shell is 'powershell'"),
        (command(asyncRewake=True), "it may wake the agent"),
        (command(**{"async": True}), "it is async"),
        (command(**{"if": "Bash(rm *)"}), "it has the condition 'Bash(rm *)'"),
        (command(onFailure="explode"), "its onFailure is 'explode'"),
        (command(onFailure=[]), "its onFailure is []"),
        (command(timeout=0), "its timeout is 0"),
        (command(timeout="5"), "its timeout is '5'"),
        (command(timeout=True), "its timeout is True"),
        (command(timeout=1e300), "its timeout is 1e+300"),
        (command(colour="red"), "it has the unknown fields colour"),
        ("./hook.sh", "it is not an object, so it never ran"),
    ],
)
def test_a_hook_with_what_native_hooks_have_not_is_refused(handler: Any, message: str) -> None:
    assert refused(one(handler)).startswith(message)


def test_a_hook_whose_matcher_cannot_be_written_is_refused() -> None:
    message = "its matcher cannot be written natively: hosts have no tool like TaskOutput"
    assert refused(one(command(), matcher="TaskOutput")) == message


def test_a_refused_hook_leaves_its_neighbours_alone() -> None:
    hooks = [command(), command(**{"async": True})]
    result = migrated({"hooks": {"Stop": [{"hooks": hooks}]}})
    assert moved(result).before.config == command()
    assert [finding.kind for finding in result.findings] == [Kind.REFUSED]


def test_a_hook_after_a_tool_stays_because_it_would_run_after_failed_calls_too() -> None:
    [finding] = one(command(), event="PostToolUse").findings
    assert "also runs after failed calls" in finding.message


def test_variables_come_along_and_are_said() -> None:
    around = Around(project_dir="/nowhere", env={"TEAM": "blue"})
    move = moved(one(command(command="touch $TEAM"), around=around))
    assert move.hook["env"] == {"TEAM": "blue"}
    assert "env TEAM" in move.changes


@pytest.mark.parametrize("name", ["PATH", "BASH_ENV"])
def test_variables_that_decide_what_a_program_is_are_refused(name: str) -> None:
    around = Around(project_dir="/nowhere", env={name: "tools"})
    assert f"env sets {name}" in refused(one(command(), around=around))


def test_a_variable_that_a_shell_splits_is_refused_since_natively_it_is_one_word() -> None:
    around = Around(project_dir="/nowhere", env={"FILES": "a b"})
    assert "several words" in refused(one(command(command="touch $FILES"), around=around))
    assert moved(one(command(command='touch "$FILES"'), around=around)).hook


@pytest.mark.parametrize(
    ("name", "text"), [("TEAM", "touch $TEAM"), ("PATH", "touch x"), ("GIT_DIR", "touch x")]
)
def test_a_hook_that_depends_on_a_variable_that_may_not_come_along_is_refused(
    name: str, text: str
) -> None:
    around = Around(project_dir="/nowhere", private={name: "home.json", "OTHER": "home.json"})
    message = f"it depends on {name}, which home.json sets"
    assert refused(one(command(command=text), around=around)) == message


def test_the_folder_of_a_plugin_is_put_into_args_and_else_into_env(tmp_path: Path) -> None:
    (tmp_path / "guard.sh").write_text("exit 2\n")
    env = {"CLAUDE_PLUGIN_ROOT": str(tmp_path), "CLAUDE_PLUGIN_DATA": "/data"}
    around = Around(project_dir="/nowhere", env=env)
    unquoted = command(command="bash ${CLAUDE_PLUGIN_ROOT}/guard.sh")
    assert moved(one(unquoted, around=around)).hook["env"] == env
    listed = command(command="bash", args=["${CLAUDE_PLUGIN_ROOT}/guard.sh"])
    assert moved(one(listed, around=around)).hook["args"] == [f"{tmp_path}/guard.sh"]
    assert "CLAUDE_PLUGIN_ROOT" in refused(one(command(command="touch $CLAUDE_PLUGIN_ROOT")))


@pytest.mark.parametrize(
    ("hooks", "message", "subject"),
    [
        (3, "it is not an object of events", "hooks"),
        ({"Stop": {}}, "it is not a list of definitions", "Stop"),
        ({"Stop": [{"hooks": {}}]}, "it is not an object with a list of hooks", "Stop"),
        (
            {"Stop": [{"matcher": 3, "hooks": []}]},
            "it is not an object with a list of hooks",
            "Stop",
        ),
        ({"Nope": []}, "there is no native event for it", "Nope"),
    ],
)
def test_what_holds_no_hooks_is_refused_by_its_name(hooks: Any, message: str, subject: str) -> None:
    result = migrated({"hooks": hooks})
    assert refused(result) == message
    assert result.findings[0].subject == subject


def test_a_finding_names_the_hook_by_its_event_its_matcher_and_its_command() -> None:
    (finding,) = one(command(shell="zsh"), matcher="Bash").findings
    assert finding.subject == "PreToolUse Bash touch ran"
    (finding,) = one({"type": "prompt"}, event="Stop").findings
    assert finding.subject == "Stop prompt"
    (finding,) = one([], matcher="Bash").findings
    assert finding.subject == "PreToolUse Bash"


def test_what_changes_is_said() -> None:
    around = Around(project_dir="/nowhere", env={"A": "1", "B": "2"})
    move = moved(one(command(statusMessage="Scanning", timeout=2), around=around))
    said = ("timeout 2 s → 2000 ms", "env A, B", "statusMessage becomes its description")
    assert move.changes == said


def test_a_script_in_the_home_directory_is_read(tmp_path: Path) -> None:
    (tmp_path / "guard.sh").write_text("exit 2\n")
    at_home = command(command="bash $HOME/guard.sh")
    moved(one(at_home, around=Around(project_dir="/nowhere", home=str(tmp_path))))
    refused(one(at_home, around=Around(project_dir="/nowhere")))
    in_project = command(command='bash "$CLAUDE_PROJECT_DIR"/guard.sh')
    moved(one(in_project, around=Around(project_dir=str(tmp_path))))
    refused(one(in_project, around=Around(home=str(tmp_path))))


def test_findings_have_the_place_of_what_they_are_about() -> None:
    text = '{\n "hooks": {"Stop": [{"hooks": [\n  {"type": "prompt"}]}]}}'
    (finding,) = migrate_claude(parse(text), "s.json", Around(project_dir="/nowhere")).findings
    assert (finding.file, finding.line, finding.column) == ("s.json", 3, 3)


EVENTS = st.sampled_from(["PreToolUse", "Stop", "Nope", "PostToolUseFailure"])
HANDLERS = JSON | st.dictionaries(
    st.sampled_from(["type", "command", "args", "timeout", "if", "async", "statusMessage"]),
    JSON | st.just("command"),
)
DEFINITIONS = JSON | st.fixed_dictionaries({"matcher": JSON, "hooks": st.lists(HANDLERS) | JSON})


@given(JSON | st.dictionaries(st.just("hooks"), st.dictionaries(EVENTS, st.lists(DEFINITIONS))))
def test_no_settings_are_too_odd_to_be_read(settings: Any) -> None:
    text = json.dumps(settings).replace("NaN", "0").replace("-Infinity", "0")
    around = Around(project_dir="/nowhere")
    migrate_claude(parse(text.replace("Infinity", "0")), "settings.json", around)
