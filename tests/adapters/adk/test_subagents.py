"""An agent that runs in place of a tool call of another agent is a sub-agent: its turn is the
other's."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from google.adk.agents import LlmAgent, SequentialAgent
from google.adk.tools.agent_tool import AgentTool

from hookline import Hooks, ask, deny, stop
from hookline.adapters.adk import HooklinePlugin
from tests.adapters.adk.models import (
    DEPRECATED,
    INNER_RUNNER,
    Chat,
    Script,
    Shell,
    agent,
    answer,
    call,
    question,
    results,
    texts,
)

EVENTS = (
    *("BeforeAgent", "BeforeModel", "AfterModel", "BeforeToolSelection", "BeforeTool", "AfterTool"),
    *("AfterAgent", "SubagentStart", "SubagentStop"),
)
Event: TypeAlias = dict[str, Any]


def of_tool(model: Script, inner: Script, *tools: Any) -> LlmAgent:
    helper = LlmAgent(name="helper", model=inner, tools=[*tools])
    return agent(model, *tools, AgentTool(helper))


def of_mode(mode: Any) -> Callable[..., LlmAgent]:
    def make(model: Script, inner: Script, *tools: Any) -> LlmAgent:
        helper = LlmAgent(name="helper", model=inner, tools=[*tools], mode=mode)
        return agent(model, *tools, sub_agents=[helper])

    return make


# Makes an agent and the sub-agent "helper", with a model and the same tools each.
MAKERS: dict[str, Callable[..., LlmAgent]] = {
    "AgentTool": of_tool,
    "single_turn": of_mode("single_turn"),
    "task": of_mode("task"),
}
MAKE = pytest.mark.parametrize("kind", MAKERS)
pytestmark = [INNER_RUNNER]


def end(kind: str, text: str) -> Any:
    """What a sub-agent's model replies at its end."""
    return call("finish_task", result=text) if kind == "task" else text


def note(hooks: Hooks, *names: str) -> list[Event]:
    noted: list[Event] = []
    for name in names:
        hooks.on(name)(noted.append)
    return noted


@MAKE
async def test_a_cap_of_five_calls_a_turn_holds_with_sub_agents(kind: str) -> None:
    hooks, shell, calls = Hooks(), Shell(), Counter[str]()

    @hooks.on("BeforeTool", matcher="shell")
    def cap(event: Event) -> Any:
        calls[event["turn_id"]] += 1
        return deny("enough") if calls[event["turn_id"]] > 5 else None

    three = [call("shell", command=str(number)) for number in range(3)]
    model = Script(three, call("helper", request="a"), call("helper", request="b"), "Fine.", three)
    inner = Script(three, end(kind, "Seen."), three, end(kind, "Seen."))
    chat = Chat(MAKERS[kind](model, inner, shell.tool), HooklinePlugin(hooks))
    await chat.say("Go on.")
    assert len(shell.ran) == 5
    # The next prompt is another turn.
    await chat.say("Again.")
    assert len(shell.ran) == 8


@MAKE
async def test_its_events_have_the_turn_of_the_prompt_and_say_who_it_is(kind: str) -> None:
    hooks, shell = Hooks(), Shell()
    noted = note(hooks, *EVENTS)
    model = Script(call("helper", request="Look."), "Fine.")
    inner = Script(call("shell", command="ls"), end(kind, "Seen."))
    await Chat(MAKERS[kind](model, inner, shell.tool), HooklinePlugin(hooks)).say("Go on.")
    assert len({event["turn_id"] for event in noted}) == 1
    assert {event["session_id"] for event in noted} == {"chat"}
    names = [event["hook_event_name"] for event in noted if "agent" not in event]
    assert (names.count("BeforeAgent"), names.count("AfterAgent")) == (1, 1)
    inside = [event for event in noted if "agent" in event]
    names = [event["hook_event_name"] for event in inside]
    assert names[:6] == [
        *("SubagentStart", "BeforeToolSelection", "BeforeModel", "AfterModel"),
        *("BeforeTool", "AfterTool"),
    ]
    assert names.count("SubagentStop") == 1
    [who] = {str(event["agent"]): event["agent"] for event in inside}.values()
    assert who == {"name": "helper", "id": who["id"], "parent": "root", "depth": 1}
    [last] = [event for event in inside if event["hook_event_name"] == "SubagentStop"]
    assert inside[0]["agent_id"] == last["agent_id"] == who["id"]
    assert "Seen." in last["last_assistant_message"]


@MAKE
async def test_hooks_of_its_end_send_it_back_and_those_of_its_start_add_to_its_prompt(
    kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    hooks = Hooks()
    context = {"hookSpecificOutput": {"additionalContext": "Mind the tests."}}
    hooks.on("SubagentStart", matcher="helper")(lambda _event: context)
    hooks.on("SubagentStop")(
        lambda event: None if event["stop_hook_active"] else deny("Look at the end, too.")
    )
    model = Script(call("helper", request="Look."), "Fine.")
    inner = Script(end(kind, "Seen."), end(kind, "Seen again."))
    events = await Chat(MAKERS[kind](model, inner), HooklinePlugin(hooks)).say("Go on.")
    assert "Mind the tests." in inner.sent(0)
    if kind == "single_turn":
        # ADK has taken the first answer for the result by then.
        assert "sent helper back, but ADK takes the first answer" in caplog.text
        return
    assert "Look at the end, too." in inner.sent(1)
    assert "Seen again." in str(results(events))
    assert "helper: {'result': 'Seen again.'}" in model.sent()


@MAKE
async def test_a_stop_inside_it_ends_the_outer_run_too(kind: str) -> None:
    hooks, shell = Hooks(), Shell()
    hooks.on("BeforeTool", matcher="shell")(lambda _event: stop("over"))
    model = Script(call("helper", request="Look."), "Fine.")
    inner = Script(call("shell", command="ls"), end(kind, "Seen."))
    events = await Chat(MAKERS[kind](model, inner, shell.tool), HooklinePlugin(hooks)).say("Go.")
    assert (shell.ran, len(model.requests), len(inner.requests)) == ([], 1, 1)
    assert texts(events)[-1] == "over"


async def test_a_task_that_asks_the_user_goes_on_in_the_turn_of_the_answer() -> None:
    hooks = Hooks()
    noted = note(hooks, "BeforeModel", "SubagentStart", "SubagentStop", "BeforeAgent")
    inner = Script("Which one?", call("finish_task", result="Seen."))
    root = of_mode("task")(Script(call("helper", request="Look."), "Fine."), inner)
    chat = Chat(root, HooklinePlugin(hooks))
    await chat.say("Go on.")
    await chat.say("The second.")
    names = [event["hook_event_name"] for event in noted]
    assert [names.count(name) for name in ("SubagentStart", "SubagentStop")] == [1, 1]
    turns = [event["turn_id"] for event in noted if event["hook_event_name"] == "BeforeAgent"]
    assert len({*turns}) == 2
    assert {event["turn_id"] for event in noted} == {*turns}


@DEPRECATED
async def test_agents_that_talk_to_the_user_are_no_sub_agents() -> None:
    hooks = Hooks()
    noted = note(hooks, "BeforeModel")
    helper = LlmAgent(name="helper", model=Script("Seen."))
    root = agent(Script(call("transfer_to_agent", agent_name="helper")), sub_agents=[helper])
    await Chat(root, HooklinePlugin(hooks)).say("Go on.")
    stages = [LlmAgent(name=name, model=Script("Seen.")) for name in ("first", "second")]
    sequence = SequentialAgent(name="stages", sub_agents=[*stages])
    await Chat(sequence, HooklinePlugin(hooks)).say("Go on.")
    assert [event for event in noted if "agent" in event] == []
    assert len({event["turn_id"] for event in noted}) == 2


async def test_a_turn_that_waits_for_the_user_goes_on_under_its_id() -> None:
    hooks, shell = Hooks(), Shell()
    hooks.on("BeforeTool")(lambda _event: ask("really?"))
    noted = note(hooks, "BeforeTool", "AfterTool", "AfterAgent")
    model = Script(call("shell", command="rm"), "Fine.", "Fine.")
    chat = Chat(agent(model, shell.tool), HooklinePlugin(hooks))
    asked = question(await chat.say("Go on."))
    await chat.say(answer(asked, confirmed=True))
    assert (shell.ran, len({event["turn_id"] for event in noted})) == (["rm"], 1)
    await chat.say("Again.")
    assert len({event["turn_id"] for event in noted}) == 2


async def test_labels_of_a_given_session_are_in_every_event() -> None:
    hooks = Hooks()
    noted = note(hooks, *EVENTS)
    plugin = HooklinePlugin(hooks.session("s", labels={"user": "ada"}))
    root = of_tool(Script(call("helper", request="Look."), "Fine."), Script("Seen."))
    await Chat(root, plugin).say("Go on.")
    assert [event["labels"] for event in noted] == [{"user": "ada"}] * len(noted)


async def test_a_stream_is_held_back_only_where_hooks_can_change_it(tmp_path: Path) -> None:
    observer = {"type": "command", "command": "cat >> seen", "async": True}
    hooks = Hooks(working_dir=tmp_path, hooks={"AfterModel": [{"hooks": [observer]}]})
    chat = Chat(
        agent(Script("A long answer.", "A long answer.")), HooklinePlugin(hooks), stream=True
    )
    with hooks:
        assert texts(await chat.say("Go on."))[:-1] == ["A lo", "ng a", "nswe", "r."]
        assert hooks.config.engine.wait_for_background(30)
        assert (tmp_path / "seen").read_text("utf-8").count('"text":"A long answer."') == 1
        hooks.on("AfterModel")(lambda _event: None)
        assert texts(await chat.say("Go on.")) == ["A long answer."]
        assert hooks.config.engine.wait_for_background(30)


async def test_what_hooks_add_to_a_tool_that_raises_is_in_its_exception() -> None:
    hooks = Hooks()
    context = {"hookSpecificOutput": {"additionalContext": "Try the other disk."}}
    hooks.on("AfterTool")(lambda _event: context)

    def save() -> str:
        raise OSError("the disk is full")

    chat = Chat(agent(Script(call("save")), save), HooklinePlugin(hooks))
    with pytest.raises(OSError, match=r"the disk is full\n\nTry the other disk\."):
        await chat.say("Go on.")
