"""Hooks of PermissionRequest answer a question in the user's place, where they may."""

from collections.abc import Mapping
from typing import Any

import pytest

from hookline import Hooks
from hookline.calls.tool import ConfirmationRequest

ASK = {"decision": "ask", "reason": "is that meant?"}


class Desk:
    """Hooks, a tool and a user, and what became of each."""

    def __init__(self, before: Mapping[str, Any] = ASK, *, confirm: bool | None = True) -> None:
        self.hooks = Hooks()
        self.before = before
        self.confirm = confirm
        self.asked: list[ConfirmationRequest] = []
        self.ran: list[dict[str, Any]] = []
        self.hooks.on("BeforeTool")(lambda _event: dict(self.before))

    def answer(self, **output: Any) -> None:
        """Have a hook answer the question."""
        self.hooks.on("PermissionRequest")(lambda _event: output)

    async def run(self, **tool_input: Any) -> str:
        def ask(request: ConfirmationRequest) -> bool:
            self.asked.append(request)
            return bool(self.confirm)

        def tool(given: dict[str, Any]) -> str:
            self.ran.append(given)
            return "done"

        with self.hooks:
            result = await self.hooks.run_tool(
                tool,
                tool_input or {"command": "make"},
                name="run_shell_command",
                call=tool,
                confirm=None if self.confirm is None else ask,
            )
        self.stop_reason = result.stop_reason
        return str(result.llm_content)


@pytest.mark.parametrize("word", ["allow", "approve"])
async def test_an_allow_skips_the_question(word: str) -> None:
    desk = Desk(confirm=False)
    desk.answer(decision=word)
    assert await desk.run() == "done"
    assert desk.asked == []


async def test_a_deny_is_a_block_and_the_user_is_not_asked() -> None:
    desk = Desk()
    desk.answer(decision="deny", reason="never that")
    assert await desk.run() == "never that"
    assert (desk.ran, desk.asked) == ([], [])


async def test_a_deny_beside_an_allow_is_a_block() -> None:
    desk = Desk()
    desk.answer(decision="allow")
    desk.answer(decision="deny", reason="never that")
    assert await desk.run() == "never that"


@pytest.mark.parametrize("output", [{}, {"systemMessage": "hm"}, {"decision": "ask"}])
async def test_who_says_nothing_leaves_the_question_to_the_user(output: dict[str, Any]) -> None:
    desk = Desk(confirm=False)
    desk.answer(**output)
    said = await desk.run()
    assert said.startswith("The user did not allow this call of run_shell_command")
    assert len(desk.asked) == 1


async def test_a_denied_call_is_never_put_to_them() -> None:
    desk = Desk({"decision": "deny", "reason": "no"})
    desk.answer(decision="allow")
    assert await desk.run() == "no"


async def test_where_nobody_can_be_asked_they_are_not_asked_either() -> None:
    desk = Desk(confirm=None)
    desk.answer(decision="allow")
    assert "nobody can be asked" in await desk.run()
    assert desk.ran == []


async def test_an_allow_may_rewrite_the_input() -> None:
    desk = Desk()
    specific = {"tool_input": {"command": "make -n"}, "removeToolInput": ["env"]}
    desk.answer(decision="allow", hookSpecificOutput=specific)
    await desk.run(command="make", env="prod", cwd="/")
    assert desk.ran == [{"command": "make -n", "cwd": "/"}]


async def test_a_stop_ends_the_loop() -> None:
    desk = Desk()
    desk.answer(**{"continue": False, "stopReason": "that is enough"})
    await desk.run()
    assert desk.stop_reason == "that is enough"
    assert desk.ran == []


@pytest.mark.parametrize(
    ("asking", "answering", "is_skipped"),
    [
        ("project", "project", True),
        ("project", "user", True),
        ("user", "project", False),
        ("user", "extensions", False),
        ("user", "user", True),
        ("user", "system", True),
        ("system", "user", False),
        ("system", "project", False),
        ("system", "runtime", False),
        ("system", "system", True),
        ("runtime", "project", True),
    ],
)
async def test_nobody_answers_a_question_of_who_is_trusted_more(
    asking: str, answering: str, is_skipped: bool
) -> None:
    desk = Desk({}, confirm=False)
    system = desk.hooks.config.get_hook_system()
    assert system is not None
    # What code registers for another layer is replaced when settings are read.
    system.initialize_blocking()
    system.register_hook("BeforeTool", lambda _event: dict(ASK), source=asking)
    rewrite = {"decision": "allow", "hookSpecificOutput": {"tool_input": {"command": "rm"}}}
    system.register_hook("PermissionRequest", lambda _event: rewrite, source=answering)
    # Who may answer allows what it has seen, not what another hook makes of it.
    allow = {"decision": "allow"}
    system.register_hook("PermissionRequest", lambda _event: allow, source=asking)
    await desk.run()
    assert [request.tool_input for request in desk.asked] == (
        [] if is_skipped else [{"command": "make"}]
    )
    assert desk.ran == ([{"command": "rm"}] if is_skipped else [])


async def test_nobody_rewrites_what_who_is_trusted_more_allows() -> None:
    desk = Desk({}, confirm=True)
    system = desk.hooks.config.get_hook_system()
    assert system is not None
    system.initialize_blocking()
    rewriting = {"decision": "allow", "hookSpecificOutput": {"tool_input": {"command": "evil"}}}
    system.register_hook("BeforeTool", lambda _event: dict(ASK), source="user")
    system.register_hook("PermissionRequest", lambda _event: {"decision": "allow"}, source="user")
    system.register_hook("PermissionRequest", lambda _event: rewriting, source="project")
    await desk.run()
    assert [request.tool_input for request in desk.asked] == desk.ran
    assert desk.asked
    assert "evil" not in str(desk.ran)


async def test_a_hook_of_it_that_fails_leaves_the_question_to_the_user() -> None:
    desk = Desk()

    @desk.hooks.on("PermissionRequest")
    def broken(_event: dict[str, Any]) -> None:
        raise OSError("gone")

    assert await desk.run() == "done"
    assert len(desk.asked) == 1


async def test_a_hook_of_it_that_fails_closed_blocks() -> None:
    desk = Desk()

    @desk.hooks.on("PermissionRequest", on_failure="block")
    def broken(_event: dict[str, Any]) -> None:
        raise OSError("gone")

    assert "broken failed" in await desk.run()
    assert desk.ran == []
