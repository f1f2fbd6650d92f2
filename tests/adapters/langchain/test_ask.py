"""A hook that asks interrupts the run; the answer, and nothing else, lets the tool run."""

import os
import pickle
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import Command, Send

from hookline import Hooks, ask, combine, deny, message, rewrite, stop
from hookline.adapters.langchain import HooklineMiddleware
from hookline.calls.tool import ConfirmationRequest
from tests.adapters.langchain.agents import (
    RAN,
    Way,
    answer,
    every_way,
    make_agent,
    results,
    shell,
    talk,
)
from tests.adapters.langchain.models import Recorded, call, calls

LS = call("shell", command="ls")


@pytest.fixture
def hooks() -> Iterator[Hooks]:
    with Hooks() as hooks:
        yield hooks


def decide(kind: str, **fields: Any) -> Command[Any]:
    return Command(resume={"decisions": [{"type": kind, **fields}]})


@every_way
async def test_the_question_has_the_form_of_human_in_the_loop(hooks: Hooks, way: Way) -> None:
    hooks.on("BeforeTool")(lambda _: combine(rewrite(command="ls -l"), ask("really?")))
    state = await talk(make_agent(hooks, Recorded(LS, "Done.")), "Go on.", way)
    (asked,) = state["__interrupt__"]
    assert asked.value["action_requests"] == [
        {"name": "shell", "args": {"command": "ls -l"}, "description": "really?"}
    ]
    (review,) = asked.value["review_configs"]
    assert review["action_name"] == "shell"
    assert review["allowed_decisions"] == ["approve", "edit", "reject", "respond"]
    assert RAN == []


@every_way
async def test_an_approved_call_runs_once_and_hooks_are_asked_once(hooks: Hooks, way: Way) -> None:
    asked: list[Any] = []
    told: list[Any] = []
    after: list[Any] = []

    @hooks.on("BeforeTool")
    def question(event: Any) -> Any:
        asked.append(event)
        return combine(rewrite(command="ls -l"), ask("really?"), message("be quick"))

    hooks.on("Notification")(told.append)
    hooks.on("AfterTool")(after.append)
    agent = make_agent(hooks, Recorded(LS, "Done."))
    await talk(agent, "Go on.", way)
    state = await talk(agent, decide("approve"), way)
    assert RAN == ["ls -l"]
    assert results(state)[0].content == "output of ls -l\n\n[System] be quick"
    assert answer(state) == "Done."
    assert len(asked) == 1
    assert [event["notification_type"] for event in told] == ["ToolPermission"]
    assert told[0]["details"]["command"] == "ls -l"
    assert after[0]["original_tool_input"] == {"command": "ls"}


@every_way
async def test_an_answer_is_not_one_about_other_arguments_of_the_same_id(
    hooks: Hooks, way: Way
) -> None:
    hooks.on("BeforeTool")(lambda event: ask(f"run {event['tool_input']['command']}?"))
    agent = make_agent(hooks, Recorded(LS, "Done."))
    state = await talk(agent, "Go on.", way)
    last = state["messages"][-1]
    changed = last.model_copy(
        update={"tool_calls": [{**last.tool_calls[0], "args": {"command": "rm"}}]}
    )
    place = {"configurable": {"thread_id": "chat-1"}}
    # The graph goes on as if the model had made the other call.
    agent.update_state(place, {"messages": [changed]}, as_node="model")
    await talk(agent, decide("approve"), way)
    assert RAN == []


@every_way
async def test_a_rejected_call_does_not_run_and_the_model_reads_why(hooks: Hooks, way: Way) -> None:
    hooks.on("BeforeTool")(lambda _: ask("really?"))
    agent = make_agent(hooks, Recorded(LS, call("shell", "call-2", command="ls"), "Done."))
    await talk(agent, "Go on.", way)
    state = await talk(agent, decide("reject", message="not today"), way)
    (first,) = results(state)
    assert "not today" in first.content
    assert first.status == "error"
    state = await talk(agent, decide("reject"), way)
    assert "really?" in results(state)[1].content
    assert RAN == []


async def test_a_decision_counts_even_if_the_hooks_would_not_ask_any_more(hooks: Hooks) -> None:
    seen: list[Any] = []

    @hooks.on("BeforeTool")
    def question(event: Any) -> Any:
        seen.append(event)
        return ask("really?") if len(seen) == 1 else None

    agent = make_agent(hooks, Recorded(LS, "Done."))
    await talk(agent, "Go on.")
    state = await talk(agent, decide("reject"))
    assert RAN == []
    assert results(state)[0].status == "error"


@every_way
async def test_a_decision_counts_even_if_the_hooks_that_asked_are_gone(
    hooks: Hooks, way: Way
) -> None:
    hooks.on("BeforeTool")(lambda _: ask("really?"))
    saver = InMemorySaver()
    await talk(make_agent(hooks, Recorded(LS), saver=saver), "Go on.", way)
    with Hooks() as others:
        agent = make_agent(others, Recorded("Done."), saver=saver)
        state = await talk(agent, decide("reject", message="not today"), way)
    assert RAN == []
    assert "not today" in results(state)[0].content


@pytest.mark.parametrize("way", ["sync", "async"])
@pytest.mark.parametrize("is_sent", [False, True])
async def test_calls_that_run_in_one_step_cannot_be_asked_about(
    hooks: Hooks, way: Way, is_sent: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """langgraph would start the step again for the answer, run a call twice, and give the answer
    to whichever call asks first."""

    @hooks.on("BeforeTool")
    def question(event: Any) -> Any:
        if event["tool_input"]["command"] == "first":
            time.sleep(0.05)
        return ask("really?")

    middleware = HooklineMiddleware(hooks)
    graph = StateGraph(MessagesState)
    graph.add_node("start", lambda _: {})
    graph.add_edge(START, "start")
    node = ToolNode(
        [shell],
        wrap_tool_call=middleware.wrap_tool_call,
        awrap_tool_call=middleware.awrap_tool_call,
    )
    graph.add_node("tools", node)
    if is_sent:
        graph.add_conditional_edges("start", lambda state: [Send("tools", state)])
    else:
        graph.add_edge("start", "tools")
    agent = graph.compile(checkpointer=InMemorySaver())
    RAN.clear()
    reply = calls(*(("shell", name, {"command": name}) for name in ("first", "second")))
    state = await talk(agent, {"messages": [reply]}, way)
    approved: list[str] = []
    if state["__interrupt__"]:
        approved = [state["__interrupt__"][0].value["action_requests"][0]["args"]["command"]]
        state = await talk(agent, decide("approve"), way)
    assert approved == RAN
    assert not state["__interrupt__"]
    assert sum(result.status == "error" for result in results(state)) == 2 - len(approved)
    if not is_sent:
        assert "Send each to the tool node by itself" in caplog.text


@pytest.mark.parametrize("way", ["sync", "async"])
async def test_calls_that_a_graph_sends_one_by_one_are_asked_about_each(
    hooks: Hooks, way: Way
) -> None:
    hooks.on("BeforeTool")(lambda _: ask("really?"))
    middleware = HooklineMiddleware(hooks)
    graph = StateGraph(MessagesState)
    graph.add_node("start", lambda _: {})
    graph.add_edge(START, "start")
    node = ToolNode(
        [shell],
        wrap_tool_call=middleware.wrap_tool_call,
        awrap_tool_call=middleware.awrap_tool_call,
    )
    graph.add_node("tools", node)
    graph.add_conditional_edges(
        "start", lambda state: [Send("tools", [one]) for one in state["messages"][-1].tool_calls]
    )
    agent = graph.compile(checkpointer=InMemorySaver())
    RAN.clear()
    reply = calls(*(("shell", name, {"command": name}) for name in ("first", "second")))
    state = await talk(agent, {"messages": [reply]}, way)
    resume = {
        question.id: question.value["action_requests"][0]["args"]["command"] == "second"
        for question in state["__interrupt__"]
    }
    assert len(resume) == 2
    await talk(agent, Command(resume=resume), way)
    assert RAN == ["second"]


@every_way
async def test_a_user_may_edit_the_call_and_hooks_guard_the_edited_one(
    hooks: Hooks, way: Way
) -> None:
    @hooks.on("BeforeTool")
    def guard(event: Any) -> Any:
        is_bad = event["tool_input"].get("command") == "rm"
        return deny("never rm") if is_bad else ask("really?")

    first, second = LS, call("shell", "call-2", command="ls")
    third = call("shell", "call-3", command="ls")
    agent = make_agent(hooks, Recorded(first, second, third, "Done."))
    await talk(agent, "Go on.", way)
    edited = {"name": "shell", "args": {"command": "pwd"}}
    await talk(agent, decide("edit", edited_action=edited), way)
    edited = {"name": "mail", "args": {"to": "boss"}}
    await talk(agent, decide("edit", edited_action=edited), way)
    edited = {"name": "shell", "args": {"command": "rm"}}
    state = await talk(agent, decide("edit", edited_action=edited), way)
    assert RAN == ["pwd", "mail boss: hello"]
    contents = [result.content for result in results(state)]
    assert contents == ["output of pwd", "sent to boss", "never rm"]


async def test_an_edit_to_a_tool_that_is_not_there_does_not_raise(hooks: Hooks) -> None:
    hooks.on("BeforeTool")(lambda _: ask("really?"))
    agent = make_agent(hooks, Recorded(LS, "Done."))
    await talk(agent, "Go on.")
    state = await talk(agent, decide("edit", edited_action={"name": "fax", "args": {}}))
    assert "fax" in results(state)[0].content
    assert RAN == []


async def test_a_user_may_answer_in_the_tools_place(hooks: Hooks) -> None:
    hooks.on("BeforeTool")(lambda _: ask("really?"))
    agent = make_agent(hooks, Recorded(LS, "Done."))
    await talk(agent, "Go on.")
    state = await talk(agent, decide("respond", message="a.txt"))
    assert (results(state)[0].content, results(state)[0].status) == ("a.txt", "success")
    assert RAN == []


@pytest.mark.parametrize("value", ["maybe", {"decisions": []}, {"decisions": ["x"]}, 7, False])
async def test_what_is_no_decision_is_no_yes(hooks: Hooks, value: Any) -> None:
    hooks.on("BeforeTool")(lambda _: ask("really?"))
    agent = make_agent(hooks, Recorded(LS, "Done."))
    await talk(agent, "Go on.")
    state = await talk(agent, Command(resume=value))
    assert RAN == []
    assert results(state)[0].status == "error"


@every_way
async def test_several_calls_that_ask_are_answered_each_by_itself(hooks: Hooks, way: Way) -> None:
    asked: list[str] = []

    @hooks.on("BeforeTool")
    def question(event: Any) -> Any:
        asked.append(event["tool_input"]["command"])
        return None if event["tool_input"]["command"] == "c0" else ask("really?")

    reply = calls(*(("shell", f"c{n}", {"command": f"c{n}"}) for n in range(4)))
    agent = make_agent(hooks, Recorded(reply, "Done."))
    state = await talk(agent, "Go on.", way)
    questions = state["__interrupt__"]
    named = {q.id: q.value["action_requests"][0]["args"]["command"] for q in questions}
    assert sorted(named.values()) == ["c1", "c2", "c3"]
    resume = {
        id: {"decisions": [{"type": "reject" if name == "c2" else "approve"}]}
        for id, name in named.items()
    }
    state = await talk(agent, Command(resume=resume), way)
    assert sorted(RAN) == ["c0", "c1", "c3"]
    assert answer(state) == "Done."
    assert sorted(asked) == ["c0", "c1", "c2", "c3"]


@pytest.mark.parametrize("outer_id", ["call-1", "call-7"])
@pytest.mark.parametrize("asked_about", ["shell", "delegate|shell"])
async def test_a_question_of_an_agent_that_a_tool_runs_is_its_own(
    hooks: Hooks, asked_about: str, outer_id: str
) -> None:
    hooks.on("BeforeTool", matcher=asked_about)(lambda _: ask("really?"))
    inner = make_agent(hooks, Recorded(LS, "It is done."), saver=False)

    @tool
    def delegate(task: str) -> str:
        """Delegate a task."""
        return str(inner.invoke({"messages": [("user", task)]})["messages"][-1].text)

    outer = make_agent(
        hooks, Recorded(call("delegate", outer_id, task="List."), "Done."), tools=[delegate]
    )
    state = await talk(outer, "Go on.")
    questions = []
    while state["__interrupt__"]:
        questions.append(state["__interrupt__"][0].value["action_requests"][0]["name"])
        state = await talk(outer, decide("approve"))
    assert questions == asked_about.split("|")
    assert RAN == ["ls"]
    assert results(state)[0].content == "It is done."


@every_way
async def test_without_a_checkpointer_a_question_is_a_block_that_says_so(
    hooks: Hooks, way: Way, caplog: pytest.LogCaptureFixture
) -> None:
    hooks.on("BeforeTool")(lambda _: ask("really?"))
    agent = make_agent(hooks, Recorded(LS, "Done."), saver=False)
    state = await talk(agent, "Go on.", way)
    assert results(state)[0].content == "really? (nobody can be asked to confirm it)"
    assert RAN == []
    assert "give the agent a checkpointer" in caplog.text


@pytest.mark.parametrize("says", [True, False])
@every_way
async def test_confirm_is_asked_instead_of_an_interrupt(hooks: Hooks, way: Way, says: bool) -> None:
    hooks.on("BeforeTool")(lambda _: ask("really?"))
    asked: list[ConfirmationRequest] = []
    told: list[Any] = []

    def confirm(request: ConfirmationRequest) -> bool:
        asked.append(request)
        return says

    async def confirm_later(request: ConfirmationRequest) -> bool:
        return confirm(request)

    hooks.on("Notification")(told.append)
    for each in (confirm, confirm_later):
        agent = make_agent(hooks, Recorded(LS, "Done."), saver=False, confirm=each)
        state = await talk(agent, "Go on.", way)
        assert (["ls"] if says else []) == RAN
        assert answer(state) == "Done."
    assert [request.reason for request in asked] == ["really?"] * 2
    assert len(told) == 2


async def test_a_tail_call_that_asks_does_not_run_the_first_tool_twice(hooks: Hooks) -> None:
    wanted = {"name": "mail", "args": {"to": "log"}}
    hooks.on("AfterTool", matcher="shell")(
        lambda _: {"hookSpecificOutput": {"tailToolCallRequest": wanted}}
    )
    hooks.on("BeforeTool", matcher="mail")(lambda _: ask("really?"))
    state = await talk(make_agent(hooks, Recorded(LS, "Done.")), "Go on.")
    assert RAN == ["ls"]
    assert "nobody can be asked" in results(state)[0].content


async def test_an_edit_says_yes_to_the_edited_call_alone(hooks: Hooks) -> None:
    wanted = {"name": "mail", "args": {"to": "log"}}
    hooks.on("AfterTool", matcher="shell")(
        lambda _: {"hookSpecificOutput": {"tailToolCallRequest": wanted}}
    )
    hooks.on("BeforeTool")(lambda _: ask("really?"))
    agent = make_agent(hooks, Recorded(LS, "Done."))
    await talk(agent, "Go on.")
    edited = {"name": "shell", "args": {"command": "pwd"}}
    state = await talk(agent, decide("edit", edited_action=edited))
    assert RAN == ["pwd"]
    assert results(state)[0].status == "error"


async def test_a_stop_beside_a_question_holds_after_the_resume(hooks: Hooks) -> None:
    @hooks.on("BeforeTool")
    def guard(event: Any) -> Any:
        return stop("enough") if event["tool_name"] == "mail" else ask("really?")

    reply = calls(("mail", "1", {"to": "boss"}), ("shell", "2", {"command": "ls"}))
    script = Recorded(reply, "Done.")
    agent = make_agent(hooks, script)
    await talk(agent, "Go on.", max_concurrency=1)
    state = await agent.aget_state({"configurable": {"thread_id": "chat-1"}})
    if state.interrupts:
        await talk(agent, decide("approve"))
    assert RAN == []
    assert len(script.requests) == 1


async def test_a_stop_beside_a_question_holds_for_another_agent_that_goes_on(hooks: Hooks) -> None:
    @hooks.on("BeforeTool")
    def guard(event: Any) -> Any:
        return stop("enough") if event["tool_name"] == "mail" else ask("really?")

    reply = calls(("shell", "1", {"command": "ls"}), ("mail", "2", {"to": "boss"}))
    saver = InMemorySaver()
    await talk(make_agent(hooks, Recorded(reply), saver=saver), "Go on.", max_concurrency=1)
    script = Recorded("Done.")
    state = await talk(make_agent(hooks, script, saver=saver), decide("approve"))
    assert RAN == []
    assert script.requests == []
    assert answer(state) == "enough"


PROCESS = """
import pickle, sys
from pathlib import Path
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from hookline import Hooks
from tests.adapters.langchain.agents import RAN, make_agent
from tests.adapters.langchain.models import Recorded

for decision in sys.argv[2:]:
    hooks, seen, saver = Hooks(), [], InMemorySaver()
    RAN.clear()
    hooks.on("BeforeTool")(seen.append)
    hooks.on("SessionStart")(lambda event: print(event["source"], event["session_id"]))
    storage, writes, blobs = pickle.loads(Path(sys.argv[1]).read_bytes())
    for thread, spaces in storage.items():
        for space, checkpoints in spaces.items():
            saver.storage[thread][space].update(checkpoints)
    saver.writes.update(writes)
    saver.blobs.update(blobs)
    agent = make_agent(hooks, Recorded("Done."), saver=saver)
    config = {"configurable": {"thread_id": "chat-1"}}
    state = agent.invoke(Command(resume={"decisions": [{"type": decision}]}), config)
    print(RAN, len(seen), state["messages"][-1].text)
"""


async def test_an_interrupted_run_goes_on_in_another_process(hooks: Hooks, tmp_path: Path) -> None:
    """From the stored state alone; the hooks there are not asked again."""
    hooks.on("BeforeTool")(lambda _: ask("really?"))
    saver = InMemorySaver()
    agent = make_agent(hooks, Recorded(LS), saver=saver)
    state = await talk(agent, "Go on.")
    assert state["__interrupt__"]
    stored = (
        {thread: dict(spaces) for thread, spaces in saver.storage.items()},
        dict(saver.writes),
        dict(saver.blobs),
    )
    file = tmp_path / "state"
    file.write_bytes(pickle.dumps(stored))
    done = subprocess.run(
        [sys.executable, "-c", PROCESS, str(file), "approve", "reject"],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.stdout.splitlines() == [
        *("resume chat-1", "['ls'] 0 Done."),
        *("resume chat-1", "[] 0 Done."),
    ], done.stderr
