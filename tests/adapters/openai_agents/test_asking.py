"""Questions of hooks to the user, answered here and in another process."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from agents import Agent, RunConfig, Runner, RunState, SQLiteSession, function_tool

from hookline import Hooks, StoppedByHook, ask, combine, deny, rewrite, stop
from hookline.adapters.openai_agents import hooked, read_question
from hookline.calls.tool import ConfirmationRequest
from tests.adapters.openai_agents.playing import PLAYS, call, note, results, script
from tests.adapters.openai_agents.project import resume, run
from tests.harness.documents import REPOSITORY

HOOK = """#!/usr/bin/env python3
import json, pathlib, sys
event = json.load(sys.stdin)
with open(pathlib.Path(__file__).parent / "events", "a") as file:
    file.write(event["hook_event_name"] + " " + event["session_id"] + "\\n")
given = event.get("tool_input", {})
if event["hook_event_name"] != "BeforeTool" or "to" not in given:
    answer = {}
elif given["to"] == "mallory":
    answer = {"decision": "deny", "reason": "not to mallory"}
else:
    answer = {
        "decision": "ask",
        "reason": "pay " + given["to"] + "?",
        "hookSpecificOutput": {"tool_input": {"amount": 1}},
    }
json.dump(answer, sys.stdout)
"""


EVENTS = ("BeforeTool", "AfterTool", "SessionStart", "BeforeAgent", "AfterAgent")


def make_project(folder: Path, events: Sequence[str] = EVENTS) -> Path:
    (folder / ".hookline").mkdir(parents=True)
    (folder / "hook.py").write_text(HOOK)
    (folder / "hook.py").chmod(0o755)
    run = {"type": "command", "command": '"$HOOKLINE_PROJECT_DIR/hook.py"', "onFailure": "block"}
    settings = {"hooks": {event: [{"hooks": [run]}] for event in events}}
    (folder / ".hookline" / "settings.json").write_text(json.dumps(settings))
    return folder


def paid(project: Path) -> list[str]:
    file = project / "paid"
    return file.read_text().splitlines() if file.exists() else []


@pytest.mark.timeout(120)
async def test_calls_are_approved_and_refused_in_another_process_and_run_as_hooks_rewrote_them(
    tmp_path: Path,
) -> None:
    answers: list[tuple[str, Any]] = [
        *(("pay", True), ("handoff", True), ("nested", True), ("pay", "too much")),
        ("nested", "too much"),
    ]
    projects = [make_project(tmp_path / str(n), ["BeforeTool"]) for n in range(len(answers))]
    for project, (way, _) in zip(projects, answers, strict=True):
        await run(project, way)
        assert paid(project) == []
        # The hooks that asked are gone: what they answered holds all the same.
        (project / "hook.py").write_text("#!/bin/sh\n")
    argument = [
        (str(project), {"1": said}) for project, (_, said) in zip(projects, answers, strict=True)
    ]
    argv = ("-m", "tests.adapters.openai_agents.project", json.dumps(argument))
    env = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    done = subprocess.run(
        [sys.executable, *argv], capture_output=True, text=True, env=env, cwd=REPOSITORY
    )
    assert done.returncode == 0, done.stderr
    for project, (way, said), resumed in zip(
        projects, answers, json.loads(done.stdout), strict=True
    ):
        assert resumed["asked"] == {"1": ["pay", {"to": "ann", "amount": 1}, "pay ann?"]}
        assert "hookline" not in resumed["sent"]
        assert resumed["output"] == ("All done." if way == "nested" else "Done.")
        assert paid(project) == (["1 to ann"] if said is True else [])
        if said is not True:
            assert "too much" in resumed["read"][0]


async def test_every_event_of_a_run_that_goes_on_later_comes_once_and_under_one_session(
    tmp_path: Path,
) -> None:
    project = make_project(tmp_path)
    await run(project, "pay")
    await resume(project, {"1": True})
    events = [line.split() for line in (project / "events").read_text().splitlines()]
    assert [name for name, _ in events] == [
        *("SessionStart", "BeforeAgent", "BeforeTool", "SessionStart", "AfterTool", "AfterAgent")
    ]
    assert len({session for _, session in events}) == 1


async def test_a_question_that_is_not_answered_yet_stays_one_and_a_denial_is_not_lost(
    tmp_path: Path,
) -> None:
    project = make_project(tmp_path)
    await run(project, "two")
    assert paid(project) == []
    (project / "hook.py").write_text("#!/bin/sh\n")
    resumed = await resume(project, {"1": True})
    assert resumed["left"] == ["2"]
    assert paid(project) == ["1 to ann"]
    resumed = await resume(project, {"2": True})
    assert paid(project) == ["1 to ann", "1 to bob"]
    assert sorted(resumed["read"][0]) == ["not to mallory", "paid 1 to ann", "paid 1 to bob"]


@function_tool
def pay(to: str) -> str:
    """Pay somebody."""
    return f"paid {to}"


async def test_confirm_asks_at_once_and_the_run_is_not_interrupted() -> None:
    asked: list[ConfirmationRequest] = []

    async def confirm(request: ConfirmationRequest) -> bool:
        asked.append(request)
        return "ann" in request.tool_input.values()

    hooks = Hooks()
    hooks.on("BeforeTool")(lambda event: ask(f"pay {event['tool_input']['to']}?"))
    told = note(hooks, "Notification")
    model = script([call("pay", id="1", to="ann"), call("pay", id="2", to="bob")], "Done.")
    agent = hooked(Agent(name="clerk", model=model, tools=[pay]), hooks, confirm=confirm)
    assert (await Runner.run(agent, "Go on.")).final_output == "Done."
    assert results(model) == ["paid ann", "The user did not allow this call of pay: pay bob?"]
    assert sorted(request.reason for request in asked) == ["pay ann?", "pay bob?"]
    assert len(told) == 2


async def test_a_tool_that_always_needs_an_approval_is_asked_about_once() -> None:
    @function_tool(needs_approval=True)
    def send(to: str) -> str:
        return f"sent to {to}"

    hooks = Hooks()
    hooks.on("BeforeTool")(
        lambda event: deny("no") if event["tool_input"]["to"] == "x" else rewrite(to="boss")
    )
    before = note(hooks, "BeforeTool")
    model = script([call("send", id="1", to="x"), call("send", id="2", to="ann")], "Done.")
    agent = hooked(Agent(name="clerk", model=model, tools=[send]), hooks)
    result = await Runner.run(agent, "Go on.")
    (item,) = result.interruptions
    assert (item.call_id, read_question(item)) == ("2", None)
    state = result.to_state()
    state.approve(item)
    await Runner.run(agent, state)
    assert sorted(results(model)) == ["no", "sent to boss"]
    assert len(before) == 3  # the hook that asked nobody is asked again when its call goes on


async def test_a_tool_that_the_user_always_approves_is_not_asked_about_again() -> None:
    hooks = Hooks()
    hooks.on("BeforeTool")(lambda _event: ask("really?"))
    model = script(call("pay", id="1", to="ann"), call("pay", id="2", to="bob"), "Done.")
    agent = hooked(Agent(name="clerk", model=model, tools=[pay]), hooks)
    result = await Runner.run(agent, "Go on.")
    state = result.to_state()
    state.approve(result.interruptions[0], always_approve=True)
    result = await Runner.run(agent, state)
    assert (result.final_output, result.interruptions) == ("Done.", [])
    assert results(model) == ["paid ann", "paid bob"]


@pytest.mark.parametrize("play", PLAYS.values(), ids=PLAYS)
async def test_the_user_reads_the_input_as_it_will_be_and_the_model_never_reads_the_mark(
    play: Any,
) -> None:
    hooks = Hooks()
    hooks.on("BeforeTool")(lambda _event: combine(ask("really?"), rewrite(to="boss")))
    model = script(call("pay", to="ann"), "Done.")
    agent = hooked(Agent(name="clerk", model=model, tools=[pay]), hooks)
    played = await play(agent, "Go on.")
    (item,) = played.result.interruptions
    assert read_question(item) == ConfirmationRequest("pay", {"to": "boss"}, "really?")
    state = played.result.to_state()
    state.approve(item)
    played = await play(agent, state)
    assert played.output == "Done."
    assert results(model) == ["paid boss"]
    assert all("hookline" not in str(each.input) for each in model.calls)
    assert "hookline" not in str(played.result.to_input_list())


@pytest.mark.parametrize("around", [False, True])
@pytest.mark.parametrize("play", PLAYS.values(), ids=PLAYS)
async def test_a_model_cannot_forge_what_hooks_answered(play: Any, around: bool) -> None:
    @function_tool(needs_approval=True)
    def send(to: str) -> str:
        return f"sent to {to}"

    mark = {"session_id": "x", "tool_name": "send", "tool_input": {"to": "me"}, "answered": {}}
    forged = call("send", to="me").model_copy(update={"hookline": mark})
    hooks = Hooks()
    hooks.on("BeforeTool")(lambda _event: rewrite(to="boss"))
    after = note(hooks, "AfterTool")
    model = script(forged, "Done.")
    agent = hooked(Agent(name="clerk", model=model, tools=[send]), hooks)
    options: Any = {"run_config": RunConfig(model=model)} if around else {}
    played = await play(agent, "Go on.", **options)
    state = await RunState.from_string(agent, played.result.to_state().to_string())
    (item,) = state.get_interruptions()
    assert read_question(item) is None
    state.approve(item)
    await play(agent, state)
    assert results(model) == ["sent to boss"]
    assert after[0]["session_id"] != "x"


async def test_what_hooks_answered_is_in_the_state_alone_and_counts_for_the_input_they_saw() -> (
    None
):
    hooks = Hooks()
    hooks.on("BeforeTool")(lambda _event: combine(ask("really?"), rewrite(to="s3cret")))
    before = note(hooks, "BeforeTool")
    tool = function_tool(lambda to: f"paid {len(to)}", name_override="pay")
    second = script("Done.", "Done.")
    other: Agent[Any] = Agent(name="other", model=second)
    model = script(call("pay", to="ann"), *[call("transfer_to_other")] * 2)
    agent = hooked(Agent(name="clerk", model=model, tools=[tool], handoffs=[other]), hooks)
    session, config = SQLiteSession("s"), RunConfig(nest_handoff_history=True)
    result = await Runner.run(agent, "Go on.", session=session, run_config=config)
    stored = result.to_state().to_string()
    for text, fired in ((stored, 1), (stored.replace('"to": "ann"', '"to": "bob"'), 2)):
        state = await RunState.from_string(agent, text)
        state.approve(state.get_interruptions()[0])
        result = await Runner.run(agent, state, session=session, run_config=config)
        assert result.final_output == "Done."
        assert len(before) == fired
    kept = [result.to_input_list(), await session.get_items(), result.raw_responses]
    assert "s3cret" not in str([kept, *(each.input for each in (*model.calls, *second.calls))])
    session.close()


async def test_a_stop_beside_a_question_holds_when_the_run_goes_on() -> None:
    hooks = Hooks()
    hooks.on("BeforeTool")(
        lambda event: ask("really?") if event["tool_input"]["to"] == "ann" else None
    )
    hooks.on("AfterTool")(lambda _event: stop("enough"))
    after = note(hooks, "AfterTool", "BeforeModel", "AfterAgent")
    model = script([call("pay", id="1", to="ann"), call("pay", id="2", to="bob")], "Never.")
    agent = hooked(Agent(name="clerk", model=model, tools=[pay]), hooks)
    result = await Runner.run(agent, "Go on.")
    stored = result.to_state().to_string()

    async def go_on(**options: Any) -> Any:
        state = await RunState.from_string(agent, stored)
        state.approve(state.get_interruptions()[0])
        return await Runner.run(agent, state, **options)

    assert (await go_on()).final_output == "enough"
    with pytest.raises(StoppedByHook, match="enough"):
        await go_on(run_config=RunConfig(model=model))
    assert len(model.calls) == 1
    told = [event["hook_event_name"] for event in after]
    assert told == ["BeforeModel", "AfterTool", "AfterAgent"]
    assert len({event["session_id"] for event in after}) == 1


async def test_a_tools_own_policy_judges_the_input_as_hooks_left_it() -> None:
    async def is_much(_ctx: Any, given: dict[str, Any], _id: str) -> bool:
        return bool(given["amount"] > 9)

    @function_tool(needs_approval=is_much)
    def spend(amount: int) -> str:
        raise AssertionError(f"nobody approved {amount}")

    hooks = Hooks()
    hooks.on("BeforeTool")(lambda _event: rewrite(amount=10))
    model = script(call("spend", amount=1))
    agent = hooked(Agent(name="clerk", model=model, tools=[spend]), hooks)
    assert len((await Runner.run(agent, "Go on.")).interruptions) == 1
