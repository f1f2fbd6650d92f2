"""Hooks narrow what Claude Code's own rules allow, and never widen it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from claude_agent_sdk import (
    ClaudeAgentOptions,
    PermissionResultAllow,
    PermissionResultDeny,
)

from hookline import Hooks, allow, ask, combine, message, rewrite
from hookline.adapters.claude_agent import hooked
from tests.adapters.claude_agent.messages import call
from tests.adapters.claude_agent.playing import note, play
from tests.kit.adapters import Reply

ALLOWING: dict[str, Any] = {
    "allow": allow(),
    "approve": {"decision": "approve"},
    "permissionDecision": {"hookSpecificOutput": {"permissionDecision": "allow"}},
    "rewrite": rewrite(command="touch b"),
    "allow and rewrite": combine(allow(), rewrite(command="touch b")),
    "ask": ask("really?"),
}


class User:
    """Who is asked by ``can_use_tool``."""

    def __init__(self, *, says_yes: bool) -> None:
        self.says_yes = says_yes
        self.asked: list[tuple[str, dict[str, Any], str | None]] = []

    async def can_use_tool(self, name: str, given: dict[str, Any], context: Any) -> Any:
        self.asked.append((name, given, context.decision_reason))
        no = PermissionResultDeny(message="the user said no")
        return PermissionResultAllow() if self.says_yes else no


def answer_in_turn(hooks: Hooks, answers: Sequence[Any]) -> list[Reply]:
    """Have hooks answer each of as many calls in one of these ways."""
    hooks.on("BeforeTool")(
        lambda e: answers[int(e["tool_input"]["command"].removeprefix("touch "))]
    )
    return [call("Bash", command=f"touch {number}") for number in range(len(answers))]


@pytest.mark.parametrize(
    ("rules", "mode"),
    [
        ({"deny": ["Bash"]}, "default"),
        ({"allow": ["Bash"], "deny": ["Bash(touch *)"]}, "acceptEdits"),
        ({}, "dontAsk"),
        ({}, "plan"),
    ],
    ids=["denied", "denied in part", "dontAsk", "plan"],
)
async def test_what_claude_code_denies_stays_denied(
    tmp_path: Path, rules: dict[str, Any], mode: str
) -> None:
    hooks, user = Hooks(), User(says_yes=True)
    calls = answer_in_turn(hooks, [*ALLOWING.values()])
    played = await play(
        tmp_path,
        hooks,
        [*calls, "Done."],
        rules=rules,
        options={"permission_mode": mode, "can_use_tool": user.can_use_tool},
    )
    assert played.results == ["Done."]
    assert len(played.tool_results) == len(calls)
    assert not [*tmp_path.glob("[!.]*")]
    assert not user.asked


@pytest.mark.parametrize("rules", [{}, {"ask": ["Bash"]}], ids=["no rule", "an ask rule"])
async def test_what_claude_code_asks_about_is_still_asked(
    tmp_path: Path, rules: dict[str, Any]
) -> None:
    hooks, user = Hooks(), User(says_yes=False)
    calls = answer_in_turn(hooks, [*ALLOWING.values()])
    options = {"can_use_tool": user.can_use_tool}
    await play(tmp_path, hooks, [*calls, "Done."], rules=rules, options=options)
    assert [name for name, _, _ in user.asked] == ["Bash"] * len(calls)
    assert not [*tmp_path.glob("[!.]*")]


async def test_rules_judge_what_hooks_made_of_a_call(tmp_path: Path) -> None:
    hooks = Hooks()
    hooks.on("BeforeTool")(lambda _event: rewrite(command="touch b"))
    played = await play(
        tmp_path,
        hooks,
        [call("Bash", command="touch a"), "Done."],
        rules={"allow": ["Bash"], "deny": ["Bash(touch b)"]},
    )
    assert not (tmp_path / "b").exists()
    assert "denied" in played.tool_results[0]


async def test_a_hooks_question_is_put_about_the_call_that_it_rewrote(tmp_path: Path) -> None:
    hooks, user = Hooks(), User(says_yes=True)

    @hooks.on("BeforeTool")
    def before(event: Any) -> Any:
        # The second call is put to a user who says no.
        user.says_yes = "one" in event["tool_input"]["command"]
        command = event["tool_input"]["command"] + "-safe"
        return combine(ask("really?"), rewrite(command=command), message("mind the cat"))

    calls = [call("Bash", command=f"touch {name}") for name in ("one", "two")]
    options = {"can_use_tool": user.can_use_tool}
    await play(tmp_path, hooks, [*calls, "Done."], rules={"allow": ["Bash"]}, options=options)
    reason = "really?\n\n[System] mind the cat"
    assert user.asked == [
        ("Bash", {"command": f"touch {name}-safe"}, reason) for name in ("one", "two")
    ]
    assert [path.name for path in tmp_path.glob("[!.]*")] == ["one-safe"]


async def test_strict_hooks_work_as_others_do(tmp_path: Path) -> None:
    hooks, user = Hooks(strict=True), User(says_yes=True)
    hooks.on("BeforeTool")(lambda _event: ask("really?"))
    noted = note(hooks, "SessionStart", "BeforeAgent", "Notification", "AfterTool", "AfterAgent")
    options = {"can_use_tool": user.can_use_tool}
    calls: list[str | Reply] = [call("Bash", command="touch a"), "Done."]
    played = await play(tmp_path, hooks, calls, options=options)
    assert played.results == ["Done."]
    assert (tmp_path / "a").exists()
    assert len(noted) == 5


@pytest.mark.parametrize("mode", ["default", "bypassPermissions"])
async def test_with_nobody_to_ask_a_question_is_a_denial_that_says_so(
    tmp_path: Path, mode: str
) -> None:
    hooks = Hooks()
    hooks.on("BeforeTool")(lambda _event: ask("really?"))
    noted = note(hooks, "Notification")
    played = await play(
        tmp_path,
        hooks,
        [call("Bash", command="touch a"), "Done."],
        rules={"allow": ["Bash"]},
        options={"permission_mode": mode},
    )
    assert not (tmp_path / "a").exists()
    assert played.tool_results == ["really? (nobody can be asked to confirm it)"]
    assert not noted


async def test_in_a_mode_that_asks_nobody_a_question_is_a_denial_that_names_it() -> None:
    hooks = Hooks()
    hooks.on("BeforeTool")(lambda _event: ask("really?"))
    options = ClaudeAgentOptions(can_use_tool=User(says_yes=True).can_use_tool)
    (matcher,) = (hooked(options, hooks).hooks or {})["PreToolUse"]
    given: Any = {
        "session_id": "s",
        "tool_name": "Bash",
        "tool_input": {"command": "touch a"},
        "tool_use_id": "1",
        "permission_mode": "dontAsk",
    }
    output: Any = await matcher.hooks[0](given, "1", {"signal": None})
    assert output["hookSpecificOutput"] == {
        "hookEventName": "PreToolUse",
        "permissionDecision": "deny",
        "permissionDecisionReason": (
            "really? (nobody can be asked to confirm it in permission mode dontAsk)"
        ),
    }


async def test_notification_hooks_hear_of_each_question_once(tmp_path: Path) -> None:
    hooks, user, order = Hooks(), User(says_yes=True), list[str]()
    hooks.on("BeforeTool")(lambda e: ask("really?") if "hook" in str(e["tool_input"]) else None)
    noted = note(hooks, "Notification")
    hooks.on("Notification")(lambda _event: order.append("told"))

    async def can_use_tool(*given: Any) -> Any:
        order.append("asked")
        return await user.can_use_tool(*given)

    calls = [call("Bash", command=f"touch {asking}") for asking in ("hook", "claude")]
    await play(tmp_path, hooks, [*calls, "Done."], options={"can_use_tool": can_use_tool})
    assert sorted(path.name for path in tmp_path.glob("[!.]*")) == ["claude", "hook"]
    assert [told["notification_type"] for told in noted] == ["ToolPermission"] * 2
    assert [told["details"]["command"] for told in noted] == ["touch hook", "touch claude"]
    assert order[:2] == ["told", "asked"]
    assert sorted(order[2:]) == ["asked", "told"]


@pytest.mark.parametrize("mode", ["default", "acceptEdits", "bypassPermissions", "dontAsk", None])
@pytest.mark.parametrize("answer", ALLOWING.values(), ids=ALLOWING)
async def test_no_callback_ever_answers_allow(answer: Any, mode: str | None) -> None:
    hooks = Hooks()
    hooks.on("BeforeTool")(lambda _event: answer)
    (matcher,) = (hooked(None, hooks).hooks or {})["PreToolUse"]
    given: dict[str, Any] = {
        "hook_event_name": "PreToolUse",
        "session_id": "s",
        "transcript_path": "",
        "cwd": "/",
        "tool_name": "Bash",
        "tool_input": {"command": "touch a"},
        "tool_use_id": "1",
    }
    if mode is not None:
        given["permission_mode"] = mode
    output: Any = await matcher.hooks[0](given, "1", {"signal": None})  # type: ignore[arg-type]
    assert output.get("decision") is None
    specific = output.get("hookSpecificOutput", {})
    assert specific.get("permissionDecision") in (None, "ask", "deny")
