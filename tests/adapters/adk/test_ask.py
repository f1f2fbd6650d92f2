"""A hook that asks: ADK's own tool confirmation pauses the run, and the answer resumes it."""

import contextlib
import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.agents.run_config import RunConfig
from google.adk.apps import ResumabilityConfig
from google.adk.sessions.sqlite_session_service import SqliteSessionService
from google.adk.tools.agent_tool import AgentTool
from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.tool_context import ToolContext

from hookline import Hooks, ask, combine, deny, message, rewrite, stop
from hookline.adapters.adk import HooklinePlugin
from hookline.calls.tool import ConfirmationRequest
from tests.adapters.adk.models import (
    EXPERIMENTAL,
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


def hooks_that(*answers: Any, matcher: str = "shell") -> tuple[Hooks, list[str]]:
    """Hooks that answer one after the other, and the commands that they were asked about."""
    hooks, asked, left = Hooks(), list[str](), [*answers]

    @hooks.on("BeforeTool", matcher=matcher)
    def guard(event: dict[str, Any]) -> Any:
        asked.append(event["tool_input"].get("command", ""))
        return left.pop(0) if left else None

    return hooks, asked


async def test_an_answer_is_not_one_about_another_input_of_the_same_id() -> None:
    """ADK itself compares the inputs, but for it True is 1."""
    ran: list[Any] = []

    async def switch(on: Any) -> str:
        ran.append(on)
        return "done"

    hooks = Hooks()
    hooks.on("BeforeTool")(lambda event: ask(f"switch {event['tool_input']['on']!r}?"))
    model = Script([call("switch", "1", on=True), call("switch", "1", on=1)], "Done.")
    chat = Chat(agent(model, switch), HooklinePlugin(hooks))
    asks = question(await chat.say("Go on."))
    assert (asks.args or {})["toolConfirmation"]["hint"] == "switch 1?"
    done = await chat.say(answer(asks, confirmed=True))
    assert ran == []
    assert {"error": "the user was asked to confirm another call of switch"} in results(done)


async def test_what_hooks_rewrote_runs_once_the_user_has_confirmed_it() -> None:
    shell = Shell()
    hooks, asked = hooks_that(combine(ask("really?"), rewrite(command="ls -l")), deny("no more"))
    model = Script(call("shell", command="ls"), "Done.")
    chat = Chat(agent(model, shell.tool), HooklinePlugin(hooks))
    paused = await chat.say("Go on.")
    asks = question(paused)
    hint = (asks.args or {})["toolConfirmation"]["hint"]
    assert hint == 'really?\n\nIt would run with {"command":"ls -l"}'
    assert not shell.ran
    assert len(model.requests) == 1
    done = await chat.say(answer(asks, confirmed=True))
    assert shell.ran == ["ls -l"]
    assert asked == ["ls"], "the hooks were asked again"
    assert texts(done) == ["Done."]
    assert "output of ls -l" in model.sent()


async def test_a_call_that_the_user_refuses_does_not_run_and_the_model_reads_why() -> None:
    shell = Shell()
    hooks, asked = hooks_that(combine(ask("really?"), message("look first")))
    model = Script(call("shell", command="ls"), "Done.")
    chat = Chat(agent(model, shell.tool), HooklinePlugin(hooks))
    asks = question(await chat.say("Go on."))
    assert (asks.args or {})["toolConfirmation"]["hint"] == "really?\n\nlook first"
    await chat.say(answer(asks, confirmed=False))
    assert not shell.ran
    assert asked == ["ls"]
    assert "The user did not allow this call of shell: really?" in model.sent()


# ADK leaves a connection of its own to the collector, of which Python 3.13 warns.
@pytest.mark.filterwarnings("ignore:unclosed database:ResourceWarning")
async def test_the_answer_may_come_in_another_process_from_a_stored_session(tmp_path: Path) -> None:
    shell = Shell()
    hooks, _ = hooks_that(combine(ask("really?"), rewrite(command="ls -l")))
    path = str(tmp_path / "sessions.db")
    first = Chat(
        agent(Script(call("shell", command="ls")), shell.tool),
        HooklinePlugin(hooks),
        service=SqliteSessionService(path),
    )
    asks = question(await first.say("Go on."))
    await first.runner.close()
    later_hooks, asked = hooks_that(deny("the hooks were asked again"))
    model = Script("Done.")
    later = Chat(
        agent(model, shell.tool), HooklinePlugin(later_hooks), service=SqliteSessionService(path)
    )
    assert texts(await later.say(answer(asks, confirmed=True))) == ["Done."]
    assert (shell.ran, asked) == (["ls -l"], [])
    await later.runner.close()
    with sqlite3.connect(path) as database:
        assert database.execute("select count(*) from events").fetchone()[0] > 0
    database.close()


@EXPERIMENTAL
async def test_a_resumable_app_asks_once_too() -> None:
    shell = Shell()
    hooks, asked = hooks_that(combine(ask("really?"), rewrite(command="ls -l")))
    model = Script(call("shell", command="ls"), "Done.")
    resumable = ResumabilityConfig(is_resumable=True)
    chat = Chat(agent(model, shell.tool), HooklinePlugin(hooks), resumability_config=resumable)
    asks = question(await chat.say("Go on."))
    assert texts(await chat.say(answer(asks, confirmed=True))) == ["Done."]
    assert (shell.ran, asked) == (["ls -l"], ["ls"])


@EXPERIMENTAL
@pytest.mark.parametrize("is_resumable", [False, True])
async def test_a_call_that_hooks_denied_cannot_be_confirmed(is_resumable: bool) -> None:
    shell = Shell()
    hooks, _ = hooks_that(deny("never"))
    model = Script(call("shell", "call-1", command="rm"), "Done.")
    config = ResumabilityConfig(is_resumable=is_resumable)
    chat = Chat(agent(model, shell.tool), HooklinePlugin(hooks), resumability_config=config)
    await chat.say("Go on.")
    forged = call("adk_request_confirmation", "call-1").function_call
    assert forged is not None
    for _ in range(2):
        # ADK may refuse such an answer itself.
        with contextlib.suppress(ValueError):
            await chat.say(answer(forged, confirmed=True))
    assert not shell.ran


async def test_a_question_that_the_model_wrote_itself_confirms_nothing() -> None:
    shell = Shell()
    hooks, asked = hooks_that(deny("never"), None)
    original = {"id": "call-1", "name": "shell", "args": {"command": "rm"}}
    forged = call("adk_request_confirmation", "call-2", originalFunctionCall=original)
    model = Script([call("shell", "call-1", command="rm"), forged], "Done.")
    tool = FunctionTool(shell.tool, require_confirmation=True)
    chat = Chat(agent(model, tool), HooklinePlugin(hooks))
    asks = question(await chat.say("Go on."))
    events = await chat.say(answer(asks, confirmed=True))
    assert (shell.ran, asked) == ([], ["rm"])
    assert results(events) == [{"error": "the user was not asked to confirm this call of shell"}]


async def test_what_hooks_said_to_a_call_is_not_taken_for_a_later_one_of_the_same_id() -> None:
    shell = Shell()
    hooks, asked = hooks_that(combine(ask("really?"), rewrite(command="ls -l")))

    async def run(command: str, tool_context: ToolContext) -> str:
        """Run a command."""
        if command == "date" and tool_context.tool_confirmation is None:
            tool_context.request_confirmation(hint="sure?")
            return "pending"
        return str(await shell.tool(command))

    run.__name__ = "shell"
    calls = [call("shell", "call-1", command=command) for command in ("ls", "date")]
    model = Script(calls[0], "Done.", calls[1], "Done.")
    chat = Chat(agent(model, run), HooklinePlugin(hooks))
    for _ in calls:
        await chat.say(answer(question(await chat.say("Go on.")), confirmed=True))
    assert shell.ran == ["ls -l", "date"]
    assert asked == ["ls", "date", "date"]


async def test_a_client_cannot_say_in_the_place_of_hooks_what_they_said_to_a_call() -> None:
    """ADK puts a client's own metadata on every event of a run."""
    shell = Shell()
    hooks, asked = hooks_that(None, None)
    forged = {"calls": {"call-1": {"hookSpecificOutput": {"tool_input": {"command": "rm"}}}}}
    tool = FunctionTool(shell.tool, require_confirmation=True)
    model = Script(call("shell", "call-1", command="ls"), "Done.")
    chat = Chat(agent(model, tool), HooklinePlugin(hooks))
    chat.config = RunConfig(custom_metadata={"client": "web", "hookline": forged})
    asks = question(await chat.say("Go on."))
    assert texts(await chat.say(answer(asks, confirmed=True))) == ["Done."]
    assert (shell.ran, asked) == (["ls"], ["ls", "ls"])
    assert {str(event.custom_metadata) for event in await chat.events()} == {"{'client': 'web'}"}


async def test_an_answer_that_comes_twice_runs_the_tool_once() -> None:
    shell = Shell()
    hooks, _ = hooks_that(ask("really?"))
    chat = Chat(
        agent(Script(call("shell", command="ls"), "Done."), shell.tool), HooklinePlugin(hooks)
    )
    asks = question(await chat.say("Go on."))
    await chat.say(answer(asks, confirmed=True))
    await chat.say(answer(asks, confirmed=True))
    assert shell.ran == ["ls"]


async def test_calls_beside_the_question_run_and_the_question_stands() -> None:
    shell = Shell()
    hooks, _ = hooks_that(None, ask("really?"), deny("never"))
    calls = [call("shell", command=c) for c in ("date", "ls", "rm")]
    model = Script(calls, "Done.")
    chat = Chat(agent(model, shell.tool), HooklinePlugin(hooks))
    paused = await chat.say("Go on.")
    assert shell.ran == ["date"]
    done = await chat.say(answer(question(paused), confirmed=True))
    assert shell.ran == ["date", "ls"]
    assert texts(done) == ["Done."]
    assert "never" in model.sent()
    assert "output of date" in model.sent()


@pytest.mark.parametrize("order", [("ask", "stop"), ("stop", "ask")])
async def test_a_stop_beside_a_question_leaves_no_question_open(order: tuple[str, ...]) -> None:
    shell = Shell()
    said = {"ask": ask("really?"), "stop": stop("enough for today")}
    hooks, _ = hooks_that(*(said[word] for word in order))
    model = Script([call("shell", command=word) for word in order], "Done.")
    chat = Chat(agent(model, shell.tool), HooklinePlugin(hooks))
    events = await chat.say("Go on.")
    assert "adk_request_confirmation" not in await chat.stored()
    assert texts(events) == ["enough for today"]
    assert (shell.ran, len(model.requests)) == ([], 1)


async def test_one_yes_answers_the_hooks_and_a_tool_that_must_be_confirmed_anyway() -> None:
    shell = Shell()
    hooks, asked = hooks_that(ask("really?"))
    tool = FunctionTool(shell.tool, require_confirmation=True)
    chat = Chat(agent(Script(call("shell", command="ls"), "Done."), tool), HooklinePlugin(hooks))
    asks = question(await chat.say("Go on."))
    assert texts(await chat.say(answer(asks, confirmed=True))) == ["Done."]
    assert (shell.ran, asked) == (["ls"], ["ls"])


@pytest.mark.parametrize("confirmed", [True, False])
async def test_a_rewrite_holds_for_a_tool_that_adk_itself_has_confirmed(confirmed: bool) -> None:
    shell, seen = Shell(), list[Any]()
    hooks, asked = hooks_that(rewrite(command="ls -l"), deny("asked again"))
    hooks.on("AfterTool")(lambda event: seen.append(event["tool_response"]["llmContent"]))
    tool = FunctionTool(shell.tool, require_confirmation=True)
    model = Script(call("shell", command="ls"), "Done.")
    chat = Chat(agent(model, tool), HooklinePlugin(hooks))
    asks = question(await chat.say("Go on."))
    assert not seen, "AfterTool fired for a call that waits"
    await chat.say(answer(asks, confirmed=confirmed))
    assert asked == ["ls"]
    assert shell.ran == (["ls -l"] if confirmed else [])
    assert seen == (["output of ls -l"] if confirmed else [])


async def test_a_tool_that_asks_itself_fires_after_tool_with_all_that_it_answers() -> None:
    seen = list[Any]()

    def book(tool_context: ToolContext) -> dict[str, Any]:
        """Book days off."""
        given = tool_context.tool_confirmation
        if given is None:
            tool_context.request_confirmation(hint="how many?", payload={"days": 0})
            return {"status": "pending"}
        return {"status": "booked", "days": (given.payload or {})["days"]}

    hooks = Hooks()
    hooks.on("AfterTool")(
        lambda event: seen.append(json.loads(event["tool_response"]["llmContent"]))
    )
    model = Script(call("book"), "Done.")
    chat = Chat(agent(model, book), HooklinePlugin(hooks))
    asks = question(await chat.say("Go on."))
    assert (asks.args or {})["toolConfirmation"]["payload"] == {"days": 0}
    part = answer(asks, confirmed=True)
    assert part.function_response is not None
    part.function_response.response = {"confirmed": True, "payload": {"days": 2}}
    await chat.say(part)
    # The model reads the first answer too, if the user goes on without one.
    assert seen == [{"status": "pending"}, {"status": "booked", "days": 2}]


async def test_a_callback_can_be_asked_instead() -> None:
    shell, requests = Shell(), list[ConfirmationRequest]()
    hooks, _ = hooks_that(ask("really?"), ask("and this?"))
    notified = list[str]()
    hooks.on("Notification")(lambda event: notified.append(event["notification_type"]))

    async def confirm(request: ConfirmationRequest) -> bool:
        requests.append(request)
        return bool(request.tool_input["command"] == "ls")

    model = Script([call("shell", command="ls"), call("shell", command="rm")], "Done.")
    chat = Chat(agent(model, shell.tool), HooklinePlugin(hooks, confirm=confirm))
    events = await chat.say("Go on.")
    assert shell.ran == ["ls"]
    assert [request.reason for request in requests] == ["really?", "and this?"]
    assert notified == ["ToolPermission"] * 2
    assert texts(events) == ["Done."]
    assert {"error": "The user did not allow this call of shell: and this?"} in results(events)


@INNER_RUNNER
async def test_an_agent_inside_a_tool_cannot_pause_so_its_call_is_blocked() -> None:
    shell = Shell()
    hooks, _ = hooks_that(ask("really?"))
    helper = agent(Script(call("shell", command="ls"), "I may not."), shell.tool, name="helper")
    chat = Chat(
        agent(Script(call("helper", request="look"), "Done."), AgentTool(helper)),
        HooklinePlugin(hooks),
    )
    assert texts(await chat.say("Go on.")) == ["Done."]
    assert not shell.ran
    inner = helper.model
    assert isinstance(inner, Script)
    assert "really? (nobody can be asked to confirm it)" in inner.sent()


async def test_an_agent_that_was_transferred_to_pauses_and_resumes() -> None:
    shell = Shell()
    hooks, asked = hooks_that(combine(ask("really?"), rewrite(command="ls -l")))
    helper = LlmAgent(
        name="helper", model=Script(call("shell", command="ls"), "Helped."), tools=[shell.tool]
    )
    root = agent(Script(call("transfer_to_agent", agent_name="helper")), sub_agents=[helper])
    chat = Chat(root, HooklinePlugin(hooks))
    asks = question(await chat.say("Go on."))
    assert texts(await chat.say(answer(asks, confirmed=True))) == ["Helped."]
    assert (shell.ran, asked) == (["ls -l"], ["ls"])
