"""What goes wrong: hooks that fail, hookline that fails, and Claude Code that calls nobody."""

import asyncio
import json
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from claude_agent_sdk import ClaudeAgentOptions

from hookline import Hooks, allow, deny, replace_result
from hookline._support.notices import heard_warnings
from hookline.adapters.claude_agent import hooked
from hookline.errors import HooklineError
from tests.adapters.claude_agent.messages import call
from tests.adapters.claude_agent.playing import play
from tests.kit.adapters import Reply

BASH = {"allow": ["Bash"]}
TOUCH: list[str | Reply] = [call("Bash", command="touch a"), "Done."]


def break_planning(**options: Any) -> Hooks:
    """Hooks whose trust cannot be told, so that no event can be planned."""

    def fail() -> bool:
        raise LookupError("the trust store is gone")

    command = {"type": "command", "command": "exit 0"}
    return Hooks(hooks={"BeforeTool": [{"hooks": [command]}]}, trusted=fail, **options)


async def test_a_failure_of_hookline_itself_lets_the_call_pass_and_is_warned_of(
    tmp_path: Path,
) -> None:
    with heard_warnings() as warnings:
        await play(tmp_path, break_planning(), TOUCH, rules=BASH)
    assert (tmp_path / "a").exists()
    assert any("the trust store is gone" in w for w in warnings)


@pytest.mark.parametrize(
    ("options", "hooking"), [({}, {"on_failure": "block"}), ({"strict": True}, {})]
)
async def test_a_failure_of_hookline_itself_blocks_where_it_is_asked_to(
    tmp_path: Path, options: dict[str, Any], hooking: dict[str, Any]
) -> None:
    with heard_warnings():
        await play(tmp_path, break_planning(**options), TOUCH, rules=BASH, hooking=hooking)
    assert not (tmp_path / "a").exists()


async def test_a_hook_that_fails_decides_itself_whether_it_blocks(tmp_path: Path) -> None:
    hooks = Hooks()

    def fail(_event: Any) -> Any:
        raise OSError("no disk")

    hooks.on("BeforeTool", matcher="run", on_failure="block", name="scan")(fail)
    hooks.on("BeforeTool", matcher="glob", on_failure="allow")(fail)
    with heard_warnings() as warnings:
        calls = [TOUCH[0], call("Glob", pattern="*.txt"), "Done."]
        played = await play(tmp_path, hooks, calls, rules={"allow": ["Bash", "Glob"]})
    assert not (tmp_path / "a").exists()
    assert sum("no disk" in w for w in warnings) >= 2
    assert "scan failed" in played.tool_results[0]
    assert played.tool_results[1] == "No files found"


async def test_a_hooks_own_timeout_comes_before_claude_codes(tmp_path: Path) -> None:
    """Claude Code waits for a minute, lets a result pass then, and says nothing to hooks."""
    command = f"{sys.executable} -c 'import time; time.sleep(60)'"
    hook = {"type": "command", "command": command, "timeout": 300, "onFailure": "block"}
    hooks = Hooks(hooks={"BeforeTool": [{"hooks": [{**hook, "name": "scan"}]}]})
    started = time.monotonic()
    with heard_warnings():
        played = await play(tmp_path, hooks, TOUCH, rules=BASH)
    assert "scan failed" in played.tool_results[0]
    assert time.monotonic() - started < 30
    matchers = [matcher for each in (hooked(None, hooks).hooks or {}).values() for matcher in each]
    assert all((matcher.timeout or 0) >= 3600 for matcher in matchers)


async def test_hooks_that_match_nothing_change_nothing() -> None:
    hooks = Hooks()
    hooks.on("BeforeTool", matcher="mail")(lambda _event: deny("no"))
    hooks.on("BeforeTool", matcher="run")(lambda _event: allow())
    for event in ("PreToolUse", "PostToolUse"):
        assert await callback_of(hooks, event)(given(event), "1", {"signal": None}) == {}


async def test_a_cancelled_callback_ends_its_hooks(tmp_path: Path) -> None:
    started, ended = tmp_path / "started", asyncio.Event()
    hooks = Hooks()

    @hooks.on("BeforeTool")
    async def wait(_event: Any) -> None:
        started.touch()
        try:
            await asyncio.sleep(60)
        finally:
            ended.set()

    async def call_it() -> None:
        await callback_of(hooks, "PreToolUse")(given("PreToolUse"), "1", {"signal": None})

    task = asyncio.create_task(call_it())
    while not started.exists():
        await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended.is_set()


@pytest.mark.parametrize(
    "event",
    [
        *("PreToolUse", "PostToolUse", "PostToolUseFailure", "PostToolBatch", "Stop"),
        *("PermissionRequest", "UserPromptSubmit", "SessionStart", "SessionEnd", "PreCompact"),
        "Notification",
    ],
)
@pytest.mark.parametrize("broken", [None, {}, {"session_id": "s"}, [1], "x"])
async def test_no_callback_raises_whatever_it_is_given(event: str, broken: Any) -> None:
    hooks = Hooks()
    hooks.on("BeforeTool")(lambda _event: None)
    with heard_warnings() as warnings:
        output = await callback_of(hooks, event)(broken, None, {"signal": None})
    assert output == {}
    assert warnings or broken == {"session_id": "s"}


@pytest.mark.parametrize("broken", [None, {"session_id": "s"}])
async def test_what_cannot_be_read_blocks_where_it_is_asked_to(broken: Any) -> None:
    def ask(event: str) -> Any:
        found = hooked(None, Hooks(), on_failure="block").hooks or {}
        matcher: Any = dict(found)[event]  # type: ignore[index]
        return matcher[0].hooks[0](broken, None, {"signal": None})

    with heard_warnings():
        assert (await ask("PreToolUse"))["hookSpecificOutput"]["permissionDecision"] == "deny"
        assert (await ask("UserPromptSubmit"))["decision"] == "block"
        assert (await ask("PostToolUse"))["continue_"] is False
        assert await ask("SessionEnd") == {}


@pytest.mark.parametrize(("old", "new"), [("secret", "[removed]"), ("a\nsecret\nb", "a\nb")])
async def test_a_replacement_that_claude_code_did_not_take_is_noticed(old: str, new: str) -> None:
    for strict in (False, True):
        hooks = Hooks(strict=strict)
        hooks.on("AfterTool")(lambda _event: replace_result(new))
        options = hooked(None, hooks)
        after: Any = dict(options.hooks or {})

        async def fire(event: str, after: Any = after, **fields: Any) -> Any:
            callback = after[event][0].hooks[0]
            return await callback({**given(event), **fields}, "1", {"signal": None})

        for shown in (new, old):
            output = await fire("PostToolUse", tool_response={"stdout": old, "stderr": ""})
            assert output["hookSpecificOutput"]["updatedToolOutput"]["stdout"] == new
            batch = [{"tool_name": "Bash", "tool_use_id": "1", "tool_response": shown}]
            with heard_warnings() as warnings:
                output = await fire("PostToolBatch", tool_calls=batch)
            told = any("did not use the result that hooks put in place" in w for w in warnings)
            assert told is (shown == old)
            assert output.get("continue_", True) is not (strict and told)


@pytest.mark.parametrize(("tool", "ends"), [("ReadMcpResourceTool", True), ("Write", False)])
async def test_a_strict_turn_ends_over_a_result_of_any_kind_that_nobody_can_replace(
    tool: str, ends: bool
) -> None:
    hooks = Hooks(strict=True)
    hooks.on("AfterTool")(lambda _event: replace_result("[removed]"))
    callbacks: Any = hooked(None, hooks).hooks
    with heard_warnings() as warnings:
        for event in ("PostToolUse", "PostToolBatch"):
            said = {**given(event), "tool_name": tool, "tool_response": {"contents": "secret"}}
            output = await callbacks[event][0].hooks[0](said, "1", {"signal": None})
    assert output.get("continue_", True) is not ends
    assert any("which Claude Code cannot replace" in w for w in warnings)


BARE = {"CLAUDE_CODE_SIMPLE": "true"}


@pytest.mark.parametrize(
    "given_options",
    [
        {"extra_args": {"bare": None}},
        {"env": BARE},
        {"settings": json.dumps({"env": BARE})},
        {"settings": "settings.json", "setting_sources": []},
        {"env": {"CLAUDE_CONFIG_DIR": "."}},
        {"env": {"CLAUDE_CONFIG_DIR": "."}, "setting_sources": ["user"]},
    ],
)
def test_the_mode_in_which_claude_code_calls_no_hooks_is_told(
    given_options: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "settings.json").write_text(json.dumps({"env": BARE}))
    monkeypatch.chdir(tmp_path)
    options = ClaudeAgentOptions(**given_options)
    with heard_warnings() as warnings:
        hooked(options, Hooks())
    assert any("calls no hooks in bare mode" in w for w in warnings)
    with pytest.raises(HooklineError, match="remove it so that hooks run"):
        hooked(options, Hooks(strict=True))
    with pytest.raises(HooklineError, match="bare mode"):
        hooked(options, Hooks(), on_failure="block")


@pytest.mark.parametrize("text", ["", "[]", '{"env": []}', '{"env": {"CLAUDE_CODE_SIMPLE": "0"}}'])
def test_settings_that_ask_for_nothing_are_left_alone(text: str, tmp_path: Path) -> None:
    (tmp_path / "settings.json").write_text(text)
    env = {"CLAUDE_CONFIG_DIR": str(tmp_path)}
    for options in (
        ClaudeAgentOptions(env=env),
        ClaudeAgentOptions(env=env, settings=str(tmp_path / "none.json")),
        ClaudeAgentOptions(settings=text or "{"),
    ):
        assert hooked(options, Hooks(strict=True)).hooks


def callback_of(hooks: Hooks, event: str) -> Any:
    found: Any = dict(hooked(None, hooks).hooks or {})
    return found[event][0].hooks[0]


def given(event: str) -> dict[str, Any]:
    return {
        "hook_event_name": event,
        "session_id": "s",
        "transcript_path": "",
        "cwd": "/",
        "tool_name": "Bash",
        "tool_input": {"command": "ls"},
        "tool_use_id": "1",
        "permission_mode": "default",
    }
