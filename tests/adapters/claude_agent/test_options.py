"""The options that ``hooked`` gives."""

import dataclasses
import json
from pathlib import Path
from typing import Any

from claude_agent_sdk import ClaudeAgentOptions, HookMatcher

from hookline import Config, Hooks, HookSession, ask
from hookline.adapters.claude_agent import HookedOptions, hooked
from tests.adapters.claude_agent.playing import note


async def start(options: ClaudeAgentOptions, id: str = "s") -> Any:
    """Begin a turn, as Claude Code would."""
    matcher = (options.hooks or {})["UserPromptSubmit"][-1]
    given: Any = {
        "hook_event_name": "UserPromptSubmit",
        "session_id": id,
        "transcript_path": "/t",
        "cwd": "/",
        "prompt": "Go on.",
    }
    return await matcher.hooks[0](given, None, {"signal": None})


async def own(_given: Any, _id: str | None, _context: Any) -> Any:
    return {}


def test_the_options_are_a_copy_with_callbacks_beside_those_that_were_there() -> None:
    mine = HookMatcher(matcher="Bash", hooks=[own])
    options = ClaudeAgentOptions(model="m", hooks={"PreToolUse": [mine]}, cwd="/tmp")
    guarded = hooked(options, Hooks())
    assert (guarded.model, guarded.cwd) == ("m", "/tmp")
    assert options.hooks == {"PreToolUse": [mine]}
    assert guarded.hooks is not None
    first, second = guarded.hooks["PreToolUse"]
    assert first is mine
    assert second.matcher is None
    assert len(guarded.hooks["Stop"]) == 1


def events_of(hooks: Hooks) -> list[tuple[str, str]]:
    noted: list[tuple[str, str]] = []
    for event in ("SessionStart", "SessionEnd"):
        hooks.on(event)(lambda e: noted.append((e["hook_event_name"], e["session_id"])))
    return noted


async def test_closing_ends_every_session_once_also_by_a_copy() -> None:
    hooks = Hooks()
    noted = events_of(hooks)
    guarded = hooked(ClaudeAgentOptions(), hooks)
    await start(guarded, "a")
    await start(guarded, "b")
    copy = dataclasses.replace(guarded, model="m")
    assert isinstance(copy, HookedOptions)
    copy.close()
    guarded.close()
    started = [("SessionStart", "a"), ("SessionStart", "b")]
    assert noted == [*started, ("SessionEnd", "a"), ("SessionEnd", "b")]
    with guarded:
        await start(guarded, "a")
    async with guarded:
        await start(guarded, "a")
    assert noted[4:] == [("SessionStart", "a"), ("SessionEnd", "a")] * 2


async def test_a_copy_asks_and_resumes_as_its_own_options_say() -> None:
    hooks = Hooks()
    hooks.on("BeforeTool")(lambda _event: ask("really?"))
    told = note(hooks, "Notification", "SessionStart")

    async def can_use_tool(*_given: Any) -> Any:
        raise AssertionError("Claude Code calls it")

    first = hooked(ClaudeAgentOptions(), hooks)
    copy = dataclasses.replace(first, can_use_tool=can_use_tool, resume="b")
    await start(first, "a")
    await start(copy, "b")
    given: Any = {"session_id": "a", "tool_name": "Bash", "tool_input": {}, "tool_use_id": "1"}
    reasons = []
    for options in (copy, first):
        matcher = (options.hooks or {})["PreToolUse"][0]
        output: Any = await matcher.hooks[0](given, "1", {"signal": None})
        reasons.append(output["hookSpecificOutput"]["permissionDecisionReason"])
    assert reasons == ["really?", "really? (nobody can be asked to confirm it)"]
    assert [e.get("source") for e in told] == ["startup", "resume", None]


def test_a_matcher_that_is_none_of_the_sdks_is_left_to_it() -> None:
    """The SDK takes one, and calls nobody for it."""
    odd: Any = {"Stop": [{"hooks": [own]}]}
    guarded = hooked(ClaudeAgentOptions(hooks=odd), Hooks())
    assert (guarded.hooks or {})["Stop"][0] is odd["Stop"][0]
    guarded.close()


async def test_a_session_that_is_given_serves_all() -> None:
    hooks = Hooks()
    noted = events_of(hooks)
    session: HookSession = hooks.session("mine")
    guarded = hooked(ClaudeAgentOptions(), session)
    await start(guarded, "a")
    await start(guarded, "b")
    assert noted == [("SessionStart", "mine")]


async def test_a_config_and_a_path_are_taken_for_hooks(tmp_path: Path) -> None:
    refusing = {"BeforeAgent": [{"hooks": [{"type": "command", "command": "echo no >&2; exit 2"}]}]}
    settings = tmp_path / "settings.json"
    settings.write_text(json.dumps({"hooks": refusing}))
    configs = (Config(hooks=refusing), Config.load(tmp_path, settings_files=[settings]))
    for config in configs:
        output = await start(hooked(None, config))
        assert (output["decision"], output["reason"]) == ("block", "no")


async def test_without_hooks_those_of_the_agents_directory_are_loaded(
    tmp_path: Path, caplog: Any
) -> None:
    (tmp_path / ".hookline").mkdir()
    command = {"type": "command", "command": "exit 2"}
    settings = {"hooks": {"BeforeAgent": [{"hooks": [command]}]}}
    (tmp_path / ".hookline" / "settings.json").write_text(json.dumps(settings))
    for options, hooks in ((ClaudeAgentOptions(cwd=tmp_path), None), (None, tmp_path)):
        assert await start(hooked(options, hooks)) == {}
        assert "1 project hook is not trusted" in caplog.text
        caplog.clear()
