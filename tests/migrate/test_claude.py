"""Claude Code's settings, field by field."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookline.migrate.claude import migrate_claude
from hookline.migrate.moves import Kind, Migrated, Move
from hookline.pipeline.jsonc import parse
from tests.arbitrary import JSON


def migrated(settings: Any) -> Migrated:
    return migrate_claude(parse(json.dumps(settings)), "settings.json")


def one(handler: Any, *, event: str = "PreToolUse", matcher: str | None = None) -> Migrated:
    definition = {"hooks": [handler]} | ({} if matcher is None else {"matcher": matcher})
    return migrated({"hooks": {event: [definition]}})


def moved(migrated: Migrated) -> Move:
    (move,) = migrated.moves
    return move


def command(**fields: Any) -> dict[str, Any]:
    return {"type": "command", "command": "./hook.sh", **fields}


def said(migrated: Migrated, kind: Kind) -> list[str]:
    return [finding.message for finding in migrated.findings if finding.kind is kind]


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("PreToolUse", "BeforeTool"),
        ("PostToolUse", "AfterTool"),
        ("UserPromptSubmit", "BeforeAgent"),
        ("Stop", "AfterAgent"),
        ("SessionStart", "SessionStart"),
        ("SessionEnd", "SessionEnd"),
        ("PreCompact", "PreCompress"),
        ("Notification", "Notification"),
    ],
)
def test_events_have_other_names(theirs: str, ours: str) -> None:
    move = moved(one(command(), event=theirs))
    assert (move.event, move.hook) == (ours, {"type": "command", "command": "./hook.sh"})


@pytest.mark.parametrize(
    ("event", "message"),
    [
        ("PostToolUseFailure", "AfterTool comes after every call, failed or not"),
        ("PermissionRequest", "no event comes before a confirmation is asked"),
        ("SubagentStop", "there is no such event here"),
        ("FileChanged", "there is no such event here"),
        ("PreTolUse", "Claude Code has no such event either, and runs nothing of it"),
    ],
)
def test_events_that_we_lack_stay_behind_with_the_reason(event: str, message: str) -> None:
    result = one(command(), event=event)
    assert result.moves == ()
    assert said(result, Kind.LOST) == [message]


@pytest.mark.parametrize(
    ("seconds", "milliseconds"), [(5, 5000), (0.5, 500), (600, 600_000), (0.0001, 1)]
)
def test_seconds_become_milliseconds(seconds: float, milliseconds: int) -> None:
    assert moved(one(command(timeout=seconds))).hook["timeout"] == milliseconds


@pytest.mark.parametrize("timeout", [0, -1, "5", True, 1e308])
def test_a_timeout_that_is_none_is_left_out_and_said(timeout: Any) -> None:
    result = one(command(timeout=timeout))
    assert "timeout" not in moved(result).hook
    assert "left out" in said(result, Kind.NOTE)[0]


def test_args_description_and_failing_closed_come_along() -> None:
    theirs = command(args=["--strict"], statusMessage="Scanning", onFailure="block")
    assert moved(one(theirs)).hook == {
        "type": "command",
        "command": "./hook.sh",
        "args": ["--strict"],
        "description": "Scanning",
        "onFailure": "block",
    }


def test_failing_closed_meant_nothing_on_stop_and_does_not_begin_to() -> None:
    assert "onFailure" not in moved(one(command(onFailure="block"), event="Stop")).hook


def test_an_async_hook_goes_on_in_the_background_under_its_own_name() -> None:
    hook = moved(one(command(**{"async": True}))).hook
    assert hook["name"] == "./hook.sh"
    assert hook["command"].endswith("{ ./hook.sh\n} >/dev/null 2>&1 &")


@pytest.mark.parametrize(
    ("handler", "message"),
    [
        ({"type": "http", "url": "https://x"}, "there are no http hooks here"),
        ({"type": "mcp_tool", "server": "a", "tool": "b"}, "hooks cannot call MCP tools here"),
        ({"type": "prompt", "prompt": "ok?"}, "hooks cannot put a prompt to a model here"),
        ({"type": "agent", "prompt": "ok?"}, "hooks cannot start an agent here"),
        ({"command": "x"}, "it has no type, so it never ran"),
        ({"type": "rpc"}, "its type is 'rpc', so it never ran"),
        ({"type": "command", "command": " "}, "it has no command, so it never ran"),
        (command(args="-x"), "its args are not a list of strings, so it never ran"),
        (command(shell="powershell"), "commands run under bash, not powershell"),
        (command(asyncRewake=True), "a hook that goes on in the background cannot wake"),
        (command(args=[], **{"async": True}), "only a shell command can go on in the background"),
        (command(**{"if": "Bash(rm *)"}), "hooks have no condition like 'Bash(rm *)'"),
        ("./hook.sh", "it is not an object, so it never ran"),
    ],
)
def test_hooks_that_cannot_come_are_listed_with_the_reason(handler: Any, message: str) -> None:
    result = one(handler)
    assert result.moves == ()
    (lost,) = said(result, Kind.LOST)
    assert lost.startswith(message)


def test_fields_without_meaning_are_named() -> None:
    result = one(command(once=True, colour="red"))
    assert said(result, Kind.NOTE) == [
        "once has no counterpart: it runs every time",
        "colour means nothing here and was left out",
    ]


def test_hooks_that_are_switched_off_there_come_switched_off() -> None:
    settings = {"disableAllHooks": True, "hooks": {"Stop": [{"hooks": [command()]}]}}
    assert migrated(settings).disabled == ("./hook.sh",)


def test_switches_that_we_lack_are_listed() -> None:
    result = migrated({"allowManagedHooksOnly": True, "allowedHttpHookUrls": [], "model": "x"})
    assert [finding.subject for finding in result.findings] == [
        "allowManagedHooksOnly",
        "allowedHttpHookUrls",
    ]


def test_findings_have_the_place_of_what_they_are_about() -> None:
    text = '{\n "hooks": {"Stop": [{"hooks": [\n  {"type": "prompt"}]}]}}'
    (finding,) = migrate_claude(parse(text), "s.json").findings
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
    migrate_claude(parse(text.replace("Infinity", "0")), "settings.json")
