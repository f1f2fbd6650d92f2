"""An agent that a tool of another agent runs is a sub-agent: its turn is the other's."""

import asyncio
from collections import Counter
from typing import Any

import pytest
from pydantic_ai import Agent, DeferredToolRequests, DeferredToolResults
from pydantic_ai.messages import ModelMessagesTypeAdapter

from hookline import Hooks, ask, deny, stop
from hookline.adapters.pydantic_ai import HooklineCapability
from hookline.hooks import HookSession
from tests.adapters.pydantic_ai.playing import Event, Script, call, note

EVENTS = (
    *("BeforeAgent", "BeforeModel", "AfterModel", "BeforeToolSelection", "BeforeTool", "AfterTool"),
    *("AfterAgent", "SubagentStart", "SubagentStop"),
)


def make_agents(
    hooks: HookSession, outer: Script, inner: Script
) -> tuple[Agent[None, str], list[str]]:
    """An agent whose tool runs another, with a tool of its own; and the commands that ran."""
    ran: list[str] = []
    capability = HooklineCapability(hooks)
    reviewer = Agent(inner.model, name="reviewer", capabilities=[capability])
    agent = Agent(outer.model, name="writer", capabilities=[capability])

    @reviewer.tool_plain(name="shell")
    @agent.tool_plain(name="shell")
    def shell(command: str) -> str:
        ran.append(command)
        return "done"

    @agent.tool_plain
    async def review(text: str) -> str:
        return (await reviewer.run(text)).output

    return agent, ran


def cap_calls(hooks: Hooks, most: int) -> None:
    """A hook that refuses tool calls of a turn beyond a number."""
    calls: Counter[str] = Counter()

    @hooks.on("BeforeTool", matcher="shell")
    def cap(event: Event) -> Any:
        calls[event["turn_id"]] += 1
        return deny("enough") if calls[event["turn_id"]] > most else None


async def test_a_cap_of_five_calls_a_turn_holds_with_sub_agents() -> None:
    hooks = Hooks()
    cap_calls(hooks, 5)
    three = [call("shell", command=str(number)) for number in range(3)]
    outer = Script(three, [call("review", text="a"), call("review", text="b")], "Fine.", three)
    agent, ran = make_agents(hooks, outer, Script(three, "Seen.", three, "Seen."))
    await agent.run("Go on.")
    assert len(ran) == 5
    # The next prompt is another turn.
    await agent.run("Again.")
    assert len(ran) == 8


async def test_its_events_have_the_turn_of_the_prompt_and_say_who_it_is() -> None:
    hooks = Hooks()
    noted = note(hooks, *EVENTS)
    outer = Script(call("review", text="Look."), "Fine.")
    agent, _ = make_agents(hooks, outer, Script(call("shell", command="ls"), "Seen."))
    await agent.run("Go on.")
    assert len({event["turn_id"] for event in noted}) == 1
    assert len({event["session_id"] for event in noted}) == 1
    names = [event["hook_event_name"] for event in noted if "agent" not in event]
    assert (names.count("BeforeAgent"), names.count("AfterAgent")) == (1, 1)
    inner = [event for event in noted if "agent" in event]
    assert [event["hook_event_name"] for event in inner] == [
        *("SubagentStart", "BeforeToolSelection", "BeforeModel", "AfterModel"),
        *("BeforeTool", "AfterTool"),
        *("BeforeToolSelection", "BeforeModel", "AfterModel", "SubagentStop"),
    ]
    [who] = {str(event["agent"]): event["agent"] for event in inner}.values()
    assert who == {"name": "reviewer", "id": who["id"], "parent": "writer", "depth": 1}
    assert inner[0]["agent_id"] == inner[-1]["agent_id"] == who["id"]
    assert inner[-1]["last_assistant_message"] == "Seen."


async def test_hooks_of_its_end_send_it_back_and_those_of_its_start_add_to_its_prompt() -> None:
    hooks, inner = Hooks(), Script("Seen.", "Seen again.")
    context = {"hookSpecificOutput": {"additionalContext": "Mind the tests."}}
    hooks.on("SubagentStart", matcher="reviewer")(lambda _event: context)
    hooks.on("SubagentStop")(
        lambda event: None if event["stop_hook_active"] else deny("Look at the end, too.")
    )
    outer = Script(call("review", text="Look."), "Fine.")
    agent, _ = make_agents(hooks, outer, inner)
    await agent.run("Go on.")
    assert "Mind the tests." in str(inner.requests[0])
    assert "Look at the end, too." in str(inner.requests[1])
    assert outer.results() == ["Seen again."]


async def test_a_stop_inside_it_ends_the_outer_run_too() -> None:
    hooks = Hooks()
    hooks.on("BeforeTool", matcher="shell")(lambda _event: stop("over"))
    outer = Script(call("review", text="Look."), "Fine.")
    agent, ran = make_agents(hooks, outer, Script(call("shell", command="ls"), "Seen."))
    assert (await agent.run("Go on.")).output == "over"
    assert (ran, len(outer.requests)) == ([], 1)


async def test_two_runs_at_once_are_two_turns() -> None:
    hooks = Hooks()
    noted = note(hooks, "BeforeTool")
    outer = Script(*[call("review", text="Look.")] * 2, "Fine.", "Fine.")
    agent, _ = make_agents(hooks, outer, Script(*[call("shell", command="ls")] * 2, "Seen."))
    await asyncio.gather(agent.run("One."), agent.run("Two."))
    turns = [event["turn_id"] for event in noted if event["tool_name"] == "review"]
    assert len({*turns}) == 2
    assert sorted(turns) == sorted(e["turn_id"] for e in noted if e["tool_name"] == "shell")


async def test_a_turn_that_waits_for_the_user_goes_on_under_its_id_from_a_stored_history() -> None:
    hooks = Hooks()
    hooks.on("BeforeTool")(lambda _event: ask("really?"))
    noted = note(hooks, "BeforeTool", "AfterTool", "AfterAgent")
    script = Script(call("shell", command="rm"), "Fine.")
    agent = Agent(
        script.model,
        output_type=[str, DeferredToolRequests],
        capabilities=[HooklineCapability(hooks)],
    )

    @agent.tool_plain
    def shell(command: str) -> str:
        return f"ran {command}"

    first = await agent.run("Go on.")
    assert isinstance(first.output, DeferredToolRequests)
    [asked] = first.output.approvals
    history = ModelMessagesTypeAdapter.validate_json(first.all_messages_json())
    answers = DeferredToolResults(approvals={asked.tool_call_id: True})
    await agent.run(None, message_history=history, deferred_tool_results=answers)
    assert script.results() == ["ran rm"]
    assert len({event["turn_id"] for event in noted}) == 1
    assert noted[-1]["hook_event_name"] == "AfterAgent"


async def test_labels_of_a_given_session_are_in_every_event() -> None:
    hooks = Hooks()
    noted = note(hooks, *EVENTS)
    session = hooks.session("s", labels={"user": "ada"})
    outer = Script(call("review", text="Look."), "Fine.")
    agent, _ = make_agents(session, outer, Script("Seen."))
    await agent.run("Go on.")
    assert [event["labels"] for event in noted] == [{"user": "ada"}] * len(noted)


async def test_a_response_that_hooks_hide_is_marked(caplog: pytest.LogCaptureFixture) -> None:
    hooks, script = Hooks(), Script("Secret.")
    hooks.on("AfterModel")(lambda _event: {"suppressOutput": True})
    agent = Agent(script.model, capabilities=[HooklineCapability(hooks)])
    result = await agent.run("Go on.")
    assert result.response.metadata == {"hookline": {"suppressed": True}}
    assert "wants this response hidden" in caplog.text


async def test_a_stop_of_one_of_two_capabilities_inside_it_ends_the_outer_run_too() -> None:
    hooks, others = Hooks(), Hooks()
    hooks.on("BeforeTool", matcher="look")(lambda _event: stop("over"))
    noted = note(others, "BeforeTool")
    capabilities = [HooklineCapability(hooks), HooklineCapability(others)]
    outer, inner = Script(call("review"), "Fine."), Script(call("look"), "Seen.")
    reviewer = Agent(inner.model, name="reviewer", capabilities=capabilities)
    agent = Agent(outer.model, capabilities=capabilities)

    @reviewer.tool_plain
    def look() -> str:
        return "seen"

    @agent.tool_plain
    async def review() -> str:
        return (await reviewer.run("Look.")).output

    assert (await agent.run("Go on.")).output == "over"
    assert (len(outer.requests), len(inner.requests)) == (1, 1)
    assert len({event["turn_id"] for event in noted}) == 1
