"""Turns and sessions of ADK's runs."""

import asyncio
from typing import Any

import pytest
from google.adk.agents import SequentialAgent
from google.adk.apps import App, ResumabilityConfig
from google.adk.apps.app import EventsCompactionConfig
from google.adk.apps.llm_event_summarizer import LlmEventSummarizer
from google.adk.runners import InMemoryRunner
from google.adk.sessions.sqlite_session_service import SqliteSessionService
from google.adk.tools.long_running_tool import LongRunningFunctionTool
from google.adk.workflow import Workflow
from google.genai import types
from pydantic import BaseModel

from hookline import Hooks, add_context, ask, deny, message, stop
from hookline.adapters.adk import HookedSummarizer, HooklinePlugin
from tests.adapters.adk.models import (
    DEPRECATED,
    EXPERIMENTAL,
    Chat,
    Script,
    Shell,
    agent,
    answer,
    call,
    noting,
    question,
    texts,
)

SECRET = "swordfish"


def refuse_secret(event: dict[str, Any]) -> Any:
    return deny("not that") if SECRET in event["prompt"] else None


def send_back_once(event: dict[str, Any]) -> Any:
    return None if event["stop_hook_active"] else deny("say it in French")


@pytest.mark.parametrize("stored", [False, True])
async def test_a_refused_prompt_is_not_stored_and_no_model_reads_of_it(
    tmp_path: Any, stored: bool
) -> None:
    hooks = Hooks()
    hooks.on("BeforeAgent")(refuse_secret)
    model = Script("Good morning.")
    service = SqliteSessionService(str(tmp_path / "s.db")) if stored else None
    chat = Chat(agent(model), HooklinePlugin(hooks), service=service)
    events = await chat.say(f"My password is {SECRET}.")
    assert texts(events) == ["not that"]
    assert not model.requests
    assert "swor" not in await chat.stored()
    assert "[A hook refused this prompt.]" in await chat.stored()
    await chat.say("Hello.")
    assert model.sent() == "Hello."


@DEPRECATED
@pytest.mark.parametrize("id", ["call-1", "never-made"])
async def test_a_text_beside_a_tools_result_is_a_prompt_too(id: str) -> None:
    hooks = Hooks()
    hooks.on("BeforeAgent")(refuse_secret)

    def approve() -> dict[str, str]:
        """Have something approved."""
        return {"status": "pending"}

    model = Script(call("approve", "call-1"), "Waiting.", "Done.")
    root = agent(model, LongRunningFunctionTool(approve))
    chat = Chat(SequentialAgent(name="all", sub_agents=[root]), HooklinePlugin(hooks))
    await chat.say("Go on.")
    response = types.FunctionResponse(id=id, name="approve", response={"status": "yes"})
    events = await chat.say(f"It is {SECRET}.", types.Part(function_response=response))
    assert texts(events) == ["not that"]
    await chat.say("Hello.")
    assert "swor" not in await chat.stored()
    assert "Waiting." in model.sent(), "what the message joined was rewound"


async def test_a_stopped_prompt_ends_the_turn_and_stays_in_the_history() -> None:
    hooks, replies = Hooks(), [stop("enough for today"), None]
    hooks.on("BeforeAgent")(lambda _: replies.pop(0))
    model = Script("Hello.")
    chat = Chat(agent(model), HooklinePlugin(hooks))
    assert texts(await chat.say("One.")) == ["enough for today"]
    await chat.say("Two.")
    assert "One." in model.sent()


async def test_what_hooks_add_to_a_prompt_is_read_by_every_call_of_the_turn_and_later() -> None:
    hooks, shell = Hooks(), Shell()
    hooks.on("SessionStart")(lambda _: add_context("you are in Berlin"))
    hooks.on("BeforeAgent")(lambda _: add_context("today is Monday"))
    model = Script(call("shell", command="ls"), "Done.", "Bye.")
    chat = Chat(agent(model, shell.tool), HooklinePlugin(hooks))
    message = types.Content(role="user", parts=[types.Part(text="Go on.")])
    events = [
        event
        async for event in chat.runner.run_async(
            user_id="user", session_id="chat", new_message=message
        )
    ]
    await chat.say("And?")
    for number in range(3):
        assert "you are in Berlin\n\ntoday is Monday" in model.sent(number)
    assert message.parts == [types.Part(text="Go on.")], "the caller's own message was edited"
    assert "Monday" not in str(texts(events))


@pytest.mark.parametrize("stream", [False, True])
async def test_an_answer_is_sent_back_and_the_agent_goes_on_with_its_tools(stream: bool) -> None:
    hooks, shell = Hooks(), Shell()
    hooks.on("AfterAgent")(send_back_once)
    seen: list[Any] = []
    hooks.on("AfterAgent")(seen.append)
    model = Script("Hello.", call("shell", command="ls"), "Bonjour.", "Salut.")
    chat = Chat(agent(model, shell.tool), HooklinePlugin(hooks), stream=stream)
    events = await chat.say("Greet me.")
    final = [event for event in events if not event.partial]
    assert texts(final) == ["Hello.", "Bonjour."]
    assert shell.ran == ["ls"]
    assert [e["prompt_response"] for e in seen] == ["Hello.", "Bonjour."]
    assert [e["prompt"] for e in seen] == ["Greet me.", "say it in French"]
    assert model.sent(1).endswith("Hello.\nsay it in French")
    assert 'code_execution_result":{' not in await chat.stored()
    await chat.say("And?")
    assert "Hello.\nsay it in French" in model.sent()


async def test_an_agent_is_sent_back_a_few_times_at_most() -> None:
    hooks = Hooks()
    hooks.on("AfterAgent")(lambda _: deny("again"))
    model = Script(*["Hello."] * 20)
    await Chat(agent(model), HooklinePlugin(hooks)).say("Greet me.")
    assert len(model.requests) == 9


@EXPERIMENTAL
async def test_an_answer_of_a_resumable_app_is_sent_back_too() -> None:
    hooks = Hooks()
    hooks.on("AfterAgent")(send_back_once)
    config = ResumabilityConfig(is_resumable=True)
    chat = Chat(
        agent(Script("Hello.", "Bonjour.")), HooklinePlugin(hooks), resumability_config=config
    )
    assert texts(await chat.say("Greet me.")) == ["Hello.", "Bonjour."]


async def test_the_answer_of_an_agent_that_was_transferred_to_is_sent_back() -> None:
    hooks = Hooks()
    hooks.on("AfterAgent")(send_back_once)
    helper = agent(Script("Hello.", "Bonjour."), name="helper")
    root = agent(Script(call("transfer_to_agent", agent_name="helper")), sub_agents=[helper])
    assert texts(await Chat(root, HooklinePlugin(hooks)).say("Go on.")) == ["Hello.", "Bonjour."]


@DEPRECATED
async def test_a_sequence_of_agents_ends_its_turn_once_and_cannot_be_sent_back(
    caplog: pytest.LogCaptureFixture,
) -> None:
    hooks, seen = Hooks(), list[str]()
    hooks.on("AfterAgent")(noting(seen, "prompt_response", deny("again")))
    agents = [agent(Script(f"{name} is done."), name=name) for name in ("one", "two")]
    root = SequentialAgent(name="root", sub_agents=[*agents])
    events = await Chat(root, HooklinePlugin(hooks)).say("Go on.")
    assert texts(events) == ["one is done.", "two is done."]
    assert seen == ["two is done."]
    assert "sent the turn back, but ADK can only do that for a root LlmAgent" in caplog.text


async def test_a_workflow_is_guarded_too() -> None:
    hooks, seen = Hooks(), list[str]()
    for event in ("BeforeAgent", "BeforeModel", "AfterModel", "AfterAgent"):
        hooks.on(event)(lambda given: seen.append(given["hook_event_name"]))
    worker = agent(Script("Done."), name="worker")
    root = Workflow(name="root", edges=[("START", worker)])
    assert "Done." in texts(await Chat(root, HooklinePlugin(hooks)).say("Go on."))
    assert seen == ["BeforeAgent", "BeforeModel", "AfterModel", "AfterAgent"]


async def test_a_structured_answer_ends_a_turn_as_its_json() -> None:
    class Capital(BaseModel):
        name: str

    hooks, seen, shell = Hooks(), list[str](), Shell()
    hooks.on("AfterAgent")(noting(seen, "prompt_response", send_back_once))
    replies = [call("set_model_response", name="Bern"), call("set_model_response", name="Berne")]
    root = agent(Script(*replies), shell.tool, output_schema=Capital)
    await Chat(root, HooklinePlugin(hooks)).say("Which?")
    assert seen == ['{"name": "Bern"}', '{"name": "Berne"}']


async def test_a_turn_that_waits_for_the_user_ends_when_it_goes_on() -> None:
    hooks, shell, seen = Hooks(), Shell(), list[Any]()
    hooks.on("BeforeTool")(lambda _: ask("really?"))
    hooks.on("BeforeAgent")(lambda event: seen.append(("begin", event["prompt"])))
    hooks.on("AfterAgent")(lambda event: seen.append((event["prompt"], event["prompt_response"])))
    model = Script(["Let me look.", call("shell", command="ls")], "Done.")
    chat = Chat(agent(model, shell.tool), HooklinePlugin(hooks))
    asks = question(await chat.say("Go on."))
    assert seen == [("begin", "Go on.")]
    await chat.say(answer(asks, confirmed=True))
    assert seen == [("begin", "Go on."), ("Go on.", "Done.")]


async def test_a_cleared_context_is_not_read_again() -> None:
    hooks, clears = Hooks(), [True, False]
    hooks.on("AfterAgent")(
        lambda _: {"hookSpecificOutput": {"clearContext": True}} if clears.pop(0) else None
    )
    model = Script("One is done.", "Two is done.")
    chat = Chat(agent(model), HooklinePlugin(hooks))
    await chat.say("One.")
    await chat.say("Two.")
    assert model.sent() == "Two."


async def test_a_cleared_context_is_not_read_when_the_agent_goes_on() -> None:
    hooks = Hooks()
    both = {"decision": "deny", "reason": "start over"}
    hooks.on("AfterAgent")(
        lambda event: (
            None
            if event["stop_hook_active"]
            else {**both, "hookSpecificOutput": {"clearContext": True}}
        )
    )
    model = Script("Hello.", "Again.", "Bye.")
    chat = Chat(agent(model), HooklinePlugin(hooks))
    await chat.say("One.")
    assert model.sent() == "start over"
    await chat.say("Two.")
    assert model.sent(2) == "start over\nAgain.\nTwo."


async def test_sessions_start_with_their_first_run_and_end_with_the_runner() -> None:
    hooks, seen = Hooks(), list[Any]()
    for name in ("SessionStart", "SessionEnd"):
        hooks.on(name)(lambda e: seen.append((e["session_id"], e.get("source") or e.get("reason"))))
    plugin = HooklinePlugin(hooks)
    chat = Chat(agent(Script()), plugin, session="a")
    await chat.say("One.")
    await chat.say("Two.")
    chat.session_id = "b"
    await chat.say("One.")
    await chat.runner.close()
    await chat.runner.close()
    assert seen == [("a", "startup"), ("b", "startup"), ("a", "exit"), ("b", "exit")]
    later = Chat(agent(Script()), HooklinePlugin(hooks), session="a", service=chat.service)
    await later.say("Three.")
    assert seen[-1] == ("a", "resume")


async def test_the_runner_in_memory_and_its_debug_way_are_guarded() -> None:
    hooks, shell = Hooks(), Shell()
    hooks.on("BeforeTool")(lambda _: deny("never"))
    app = App(
        name="app",
        root_agent=agent(Script(call("shell", command="ls"), "Done."), shell.tool),
        plugins=[HooklinePlugin(hooks)],
    )
    async with InMemoryRunner(app=app) as runner:
        events = await runner.run_debug("Go on.", quiet=True)
    assert texts(events) == ["Done."]
    assert shell.ran == []


async def test_a_given_session_serves_all_conversations() -> None:
    hooks, seen = Hooks(), list[str]()
    hooks.on("BeforeAgent")(lambda event: seen.append(event["session_id"]))
    await Chat(agent(Script()), HooklinePlugin(hooks.session("mine"))).say("Hi")
    assert seen == ["mine"]


@EXPERIMENTAL
async def test_compaction_fires_its_hooks_and_its_model_call_is_guarded() -> None:
    hooks, seen = Hooks(), list[Any]()
    hooks.on("PreCompress")(lambda e: seen.append((e["session_id"], e["trigger"])))
    hooks.on("SessionStart")(lambda e: seen.append((e["session_id"], e["source"])))
    hooks.on("PreCompress")(lambda _: message("keep the names"))

    def hide(event: dict[str, Any]) -> Any:
        messages = [
            {**each, "content": each["content"].replace(SECRET, "[hidden]")}
            for each in event["llm_request"]["messages"]
        ]
        return {"hookSpecificOutput": {"llm_request": {"messages": messages}}}

    hooks.on("BeforeModel")(hide)
    summarizing = Script("They talked.")
    plugin = HooklinePlugin(hooks)
    config = EventsCompactionConfig(
        summarizer=HookedSummarizer(summarizing, hooks=plugin),
        compaction_interval=2,
        overlap_size=0,
    )
    model = Script("One.", "Two.", "Three.")
    chat = Chat(agent(model), plugin, events_compaction_config=config)
    await chat.say(f"I am {SECRET}.")
    await chat.say("And?")
    await chat.say("And then?")
    assert seen == [("chat", "startup"), ("chat", "auto"), ("chat", "compress")]
    assert SECRET not in summarizing.sent()
    assert "I am [hidden]." in summarizing.sent()
    assert "They talked." in model.sent()
    assert "keep the names" in model.sent()


@EXPERIMENTAL
async def test_a_summary_that_hooks_deny_is_not_made() -> None:
    hooks = Hooks()
    hooks.on("AfterModel")(
        lambda event: deny("not that") if SECRET in str(event["llm_response"]) else None
    )
    plugin = HooklinePlugin(hooks)
    config = EventsCompactionConfig(
        summarizer=HookedSummarizer(Script(SECRET), hooks=plugin),
        compaction_interval=1,
        overlap_size=0,
    )
    chat = Chat(agent(Script("One.", "Two.")), plugin, events_compaction_config=config)
    await chat.say("Hi")
    assert "swor" not in await chat.stored()


@EXPERIMENTAL
@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("is_wrapped", [False, True])
async def test_compaction_behind_the_back_of_hooks_is_warned_of(
    strict: bool, is_wrapped: bool, caplog: pytest.LogCaptureFixture
) -> None:
    hooks = Hooks(strict=strict)
    hooks.on("BeforeModel")(lambda _: None)
    plugin, summarizer = HooklinePlugin(hooks), LlmEventSummarizer(Script())
    config = EventsCompactionConfig(
        compaction_interval=5,
        overlap_size=0,
        summarizer=HookedSummarizer(summarizer, hooks=plugin) if is_wrapped else summarizer,
    )
    model = Script("Hello.")
    chat = Chat(agent(model), plugin, events_compaction_config=config)
    said = texts(await chat.say("Hi"))
    assert "hooks do not see how the app's events are compacted" in caplog.text
    assert (said == ["Hello."]) is not strict
    assert len(model.requests) == int(not strict)


async def test_runs_leave_nothing_behind_even_if_they_are_cut_short() -> None:
    hooks = Hooks()
    hooks.on("AfterModel")(lambda _: None)
    plugin = HooklinePlugin(hooks)
    chat = Chat(agent(Script("Hello.", "Bye."), Shell().tool), plugin)
    run = chat.runner.run_async(
        user_id="user",
        session_id="chat",
        new_message=types.Content(role="user", parts=[types.Part(text="Hi")]),
    )
    await anext(run)
    await run.aclose()
    await chat.say("Hi")
    assert not plugin._runs
    assert len(asyncio.all_tasks()) == 1
