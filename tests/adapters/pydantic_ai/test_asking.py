"""Hooks that answer ``ask``: approvals now, later, in another process, or never."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai import Agent, DeferredToolRequests, DeferredToolResults, ToolApproved, ToolDenied
from pydantic_ai.capabilities import HandleDeferredToolCalls
from pydantic_ai.messages import ModelMessagesTypeAdapter

from hookline import Hooks, add_context, ask, combine, deny, rewrite, stop
from hookline.adapters.pydantic_ai import HooklineCapability
from hookline.calls.tool import ConfirmationRequest
from tests.adapters.pydantic_ai.playing import PLAYS, Event, Play, Script, call, note

OUTPUT: Any = [str, DeferredToolRequests]


def make_agent(
    script: Script, hooks: Hooks, *more: Any, output_type: Any = str, **given: Any
) -> tuple[Agent[None, Any], list[str]]:
    """An agent with a tool, and the commands that the tool ran."""
    agent: Agent[None, Any] = Agent(
        script.model,
        output_type=output_type,
        capabilities=[*more, HooklineCapability(hooks, **given)],
    )
    ran: list[str] = []

    @agent.tool_plain
    def shell(command: str) -> str:
        ran.append(command)
        return f"output of {command}"

    return agent, ran


@pytest.mark.parametrize("play", PLAYS.values(), ids=PLAYS)
@pytest.mark.parametrize("is_approved", [True, False])
async def test_a_run_is_interrupted_and_goes_on_with_the_answer(
    play: Play, is_approved: bool
) -> None:
    hooks = Hooks()
    script = Script([call("shell", command="date"), call("shell", command="rm")], "Fine.")

    @hooks.on("BeforeTool")
    def before(event: Event) -> Any:
        return ask("really?") if event["tool_input"]["command"] == "rm" else None

    # What hooks and tools add is not taken for the prompt when the run goes on.
    hooks.on("BeforeAgent")(lambda _event: add_context("today is Monday"))
    noted = note(hooks, "BeforeAgent", "BeforeTool", "Notification", "AfterAgent")
    agent, ran = make_agent(script, hooks, output_type=OUTPUT)
    played = await play(agent, "Go on.")
    requests = played.output
    assert isinstance(requests, DeferredToolRequests)
    assert ran == ["date"]
    (asked,) = requests.approvals
    assert requests.metadata[asked.tool_call_id] == {
        "reason": "really?",
        "tool_input": {"command": "rm"},
    }
    answer = is_approved or ToolDenied("the user said no")
    played = await play(
        agent,
        None,
        message_history=played.messages,
        deferred_tool_results=DeferredToolResults(approvals={asked.tool_call_id: answer}),
    )
    assert played.output == "Fine."
    assert ran == (["date", "rm"] if is_approved else ["date"])
    said = "output of rm" if is_approved else "the user said no"
    assert script.results() == ["output of date", said]
    names = [event["hook_event_name"] for event in noted]
    assert all(names.count(name) == 1 for name in ("BeforeAgent", "Notification", "AfterAgent"))
    assert names.count("BeforeTool") == (3 if is_approved else 2)
    assert len({event["session_id"] for event in noted}) == 1
    assert {event["prompt"] for event in noted if "prompt" in event} == {"Go on."}


async def test_on_resume_a_denial_of_hooks_outranks_an_approval_and_a_rewrite_counts() -> None:
    hooks = Hooks()
    script = Script([call("shell", command="rm"), call("shell", command="mv")], "Fine.")
    answers: dict[str, Any] = {"rm": ask("really?"), "mv": ask("really?")}
    hooks.on("BeforeTool")(lambda event: answers[event["tool_input"]["command"]])
    agent, ran = make_agent(script, hooks, output_type=OUTPUT)
    result = await agent.run("Go on.")
    ids = [asked.tool_call_id for asked in result.output.approvals]
    answers |= {"rm": deny("not any more"), "mv": combine(ask("really?"), rewrite(command="cp"))}
    approvals: Any = dict.fromkeys(ids, True)
    result = await agent.run(
        message_history=result.all_messages(),
        deferred_tool_results=DeferredToolResults(approvals=approvals),
    )
    assert ran == ["cp"]
    assert script.results() == ["not any more", "output of cp"]


async def test_arguments_that_the_user_overrides_are_what_hooks_see_on_resume() -> None:
    hooks, script = Hooks(), Script(call("shell", command="rm"), "Fine.")
    hooks.on("BeforeTool")(lambda _event: ask("really?"))
    noted = note(hooks, "BeforeTool")
    agent, ran = make_agent(script, hooks, output_type=OUTPUT)
    result = await agent.run("Go on.")
    (asked,) = result.output.approvals
    approved = ToolApproved(override_args={"command": "ls"})
    await agent.run(
        message_history=result.all_messages(),
        deferred_tool_results=DeferredToolResults(approvals={asked.tool_call_id: approved}),
    )
    assert ran == ["ls"]
    assert [event["tool_input"]["command"] for event in noted] == ["rm", "ls"]


PROGRAM = '''
import sys, pathlib
from pydantic_ai import Agent, DeferredToolRequests, DeferredToolResults
from pydantic_ai.messages import ModelMessagesTypeAdapter, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import FunctionModel
from hookline import Hooks, ask
from hookline.adapters.pydantic_ai import HooklineCapability

def reply(messages, info):
    if len(messages) == 1:
        return ModelResponse(parts=[ToolCallPart("shell", {"command": "rm"})])
    return ModelResponse(parts=[TextPart("read: " + messages[-1].parts[0].content)])

hooks = Hooks()
hooks.on("BeforeTool")(lambda event: ask("really?"))
hooks.on("SessionStart")(lambda event: print("SessionStart", event["source"]))
hooks.on("BeforeTool")(lambda event: print("BeforeTool", event["session_id"]))
agent = Agent(FunctionModel(reply), output_type=[str, DeferredToolRequests],
              capabilities=[HooklineCapability(hooks)])

@agent.tool_plain
def shell(command: str) -> str:
    return "output of " + command

state = pathlib.Path(sys.argv[1])
if not state.exists():
    result = agent.run_sync("Go on.", conversation_id="the-conversation")
    state.write_bytes(result.all_messages_json())
    print([call.tool_name for call in result.output.approvals])
else:
    history = ModelMessagesTypeAdapter.validate_json(state.read_bytes())
    (call,) = history[-1].tool_calls
    results = DeferredToolResults(approvals={call.tool_call_id: True})
    print(agent.run_sync(message_history=history, deferred_tool_results=results).output)
'''  # fmt: skip


def test_a_run_is_resumed_from_stored_state_in_another_process(tmp_path: Path) -> None:
    program, state = tmp_path / "program.py", tmp_path / "state.json"
    program.write_text(PROGRAM)

    def run() -> list[str]:
        done = subprocess.run(
            [sys.executable, str(program), str(state)], capture_output=True, text=True, cwd=tmp_path
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()

    assert run() == ["SessionStart startup", "BeforeTool the-conversation", "['shell']"]
    assert json.loads(state.read_bytes())
    assert ModelMessagesTypeAdapter.validate_json(state.read_bytes())
    assert run() == [
        "SessionStart resume",
        "BeforeTool the-conversation",
        "read: output of rm",
    ]


async def test_without_deferred_tool_requests_a_question_is_a_block_that_says_why() -> None:
    hooks, script = Hooks(), Script(call("shell", command="rm"), "Fine.")
    hooks.on("BeforeTool")(lambda _event: ask("really?"))
    noted = note(hooks, "Notification")
    agent, ran = make_agent(script, hooks)
    assert (await agent.run("Go on.")).output == "Fine."
    assert not ran
    assert not noted
    assert script.results() == ["really? (nobody can be asked to confirm it)"]


@pytest.mark.parametrize(
    ("answer", "ran_with", "read"),
    [
        (True, ["rm"], "output of rm"),
        (False, [], "The user did not allow this call of shell: really?"),
        ("yes", [], "The user did not allow this call of shell: really?"),
        (OSError("no terminal"), [], "The user did not allow this call of shell: really?"),
    ],
)
@pytest.mark.parametrize("is_async", [True, False])
async def test_a_callback_is_asked_at_once(
    answer: Any,
    ran_with: list[str],
    read: str,
    is_async: bool,
    caplog: pytest.LogCaptureFixture,
) -> None:
    hooks, script = Hooks(), Script(call("shell", command="rm"), "Fine.")
    hooks.on("BeforeTool")(lambda _event: ask("really?"))
    noted, asked = note(hooks, "Notification"), list[ConfirmationRequest]()

    def confirm(request: ConfirmationRequest) -> Any:
        asked.append(request)
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def confirm_async(request: ConfirmationRequest) -> Any:
        return confirm(request)

    agent, ran = make_agent(script, hooks, confirm=confirm_async if is_async else confirm)
    assert (await agent.run("Go on.")).output == "Fine."
    assert ran == ran_with
    assert script.results() == [read]
    has_failed = isinstance(answer, Exception)
    assert ("cannot ask the user about shell: no terminal" in caplog.text) is has_failed
    assert [(r.tool_name, r.tool_input, r.reason) for r in asked] == [
        ("shell", {"command": "rm"}, "really?")
    ]
    (told,) = noted
    assert (told["notification_type"], told["message"]) == (
        "ToolPermission",
        "Tool shell requires execution",
    )


async def test_a_capability_that_handles_deferred_calls_answers_a_hooks_question() -> None:
    hooks, script = Hooks(), Script(call("shell", command="rm"), "Fine.")
    hooks.on("BeforeTool")(lambda _event: ask("really?"))
    handler = HandleDeferredToolCalls[Any](
        lambda _ctx, requests: requests.build_results(approve_all=True)
    )
    agent, ran = make_agent(script, hooks, handler)
    assert (await agent.run("Go on.")).output == "Fine."
    assert ran == ["rm"]


async def test_an_output_type_of_the_run_alone_needs_defer() -> None:
    hooks, script = Hooks(), Script(call("shell", command="rm"), "Fine.")
    hooks.on("BeforeTool")(lambda _event: ask("really?"))
    agent, _ran = make_agent(script, hooks, defer=True)
    result = await agent.run("Go on.", output_type=OUTPUT)
    assert isinstance(result.output, DeferredToolRequests)


async def test_a_question_about_an_input_that_the_schema_refuses_is_not_put() -> None:
    hooks, script = Hooks(), Script(call("shell", commando="rm"), "Fine.")
    hooks.on("BeforeTool")(lambda _event: ask("really?"))
    agent, ran = make_agent(script, hooks, confirm=lambda _request: pytest.fail("asked"))
    assert (await agent.run("Go on.")).output == "Fine."
    assert not ran


async def test_a_stop_beside_a_question_ends_the_run_and_nobody_is_asked() -> None:
    hooks, script = Hooks(), Script([call("shell", command="rm"), call("shell", command="mv")])

    @hooks.on("BeforeTool")
    def before(event: Event) -> Any:
        return ask("really?") if event["tool_input"]["command"] == "rm" else stop("enough")

    agent, ran = make_agent(script, hooks, output_type=OUTPUT)
    result = await agent.run("Go on.")
    assert result.output == "enough"
    assert not ran
    assert len(script.requests) == 1
