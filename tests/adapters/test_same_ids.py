"""The same id with other arguments is another call: neither a hook's decision nor the user's about
the one lets the other run, in every adapter and every mode."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import msgspec
import pytest

from hookline import Hooks, ask, deny
from tests.adapters.harnesses import HARNESSES
from tests.kit.adapters import Call, Harness, Message, Observed, Reply, Run

every_mode = pytest.mark.parametrize(
    ("harness", "mode"),
    [
        pytest.param(harness, mode, id=f"{harness.name}-{mode}")
        for harness in HARNESSES
        for mode in harness.modes
    ],
)
every_order = pytest.mark.parametrize(
    "replies",
    [
        pytest.param([["rm", "ls"]], id="at once, the bad one first"),
        pytest.param([["ls", "rm"]], id="at once, the bad one last"),
        pytest.param([["ls"], ["rm"]], id="one after the other"),
    ],
)


class SameIds(Run):
    """A run whose model gives all of its calls one id, and whose user allows all but rm."""

    def next_reply(self, messages: Sequence[Message], tools: Sequence[str]) -> Reply:
        reply = super().next_reply(messages, tools)
        calls = [msgspec.structs.replace(call, id="call-0") for call in reply.calls]
        return Reply(reply.text, tuple(calls))

    def approve(self, question: str) -> bool:
        super().approve(question)
        return "rm" not in question


async def play(harness: Harness, mode: str, hooks: Hooks, replies: list[list[str]]) -> Observed:
    observed = Observed(mode=mode, session_id=f"same-{mode}")
    said = [
        Reply("Let me look.", tuple(Call("shell", {"command": command}) for command in commands))
        for commands in replies
    ]
    # Some frameworks refuse such a reply with an exception of their own.
    with suppress(Exception):
        await harness.run(
            SameIds(hooks, observed, prompts=["Go on."], replies=[*said, Reply("All is done.")])
        )
    return observed


@every_order
@every_mode
async def test_a_call_runs_by_its_own_decision(
    harness: Harness, mode: str, replies: list[list[str]]
) -> None:
    hooks, results = Hooks(), list[tuple[str, str]]()

    @hooks.on("BeforeTool", matcher="shell")
    def guard(event: Any) -> Any:
        return deny("no") if event["tool_input"]["command"] == "rm" else None

    @hooks.on("AfterTool", matcher="shell")
    def note(event: Any) -> None:
        results.append((event["tool_input"]["command"], str(event["tool_response"])))

    observed = await play(harness, mode, hooks, replies)
    assert {"command": "rm"} not in observed.inputs("shell")
    assert all(f"output of {command}" in result for command, result in results)


@every_order
@every_mode
async def test_an_answer_of_the_user_is_about_one_call(
    harness: Harness, mode: str, replies: list[list[str]]
) -> None:
    hooks = Hooks()
    hooks.on("BeforeTool", matcher="shell")(
        lambda event: ask(f"run {event['tool_input']['command']}?")
    )
    observed = await play(harness, mode, hooks, replies)
    assert {"command": "rm"} not in observed.inputs("shell")
