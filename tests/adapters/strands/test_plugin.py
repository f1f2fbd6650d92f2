"""Agents of Strands behind hooks: what the table of effects does not show."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel
from strands import Agent, tool
from strands.plugins import Plugin
from strands.session.file_session_manager import FileSessionManager

from hookline import HooklineError, Hooks, ask, deny, rewrite, stop
from hookline.adapters.strands import HooklinePlugin
from tests.adapters.strands.models import ScriptedModel, call, read_message
from tests.eleven import command
from tests.kit.adapters import Reply

Event = dict[str, Any]


@pytest.fixture
def ran() -> list[str]:
    return []


@pytest.fixture
def shell(ran: list[str]) -> Any:
    @tool(name="shell")
    def run(command: str) -> str:
        """Run a command."""
        ran.append(command)
        return f"output of {command}"

    return run


def note(hooks: Hooks, *events: str) -> list[Event]:
    noted: list[Event] = []
    for event in events:
        hooks.on(event)(noted.append)
    return noted


def make_agent(model: Any, hooks: Any, tools: Any = (), **options: Any) -> Agent:
    plugins: list[Plugin] = [] if hooks is None else [HooklinePlugin(hooks)]
    return Agent(model, tools=[*tools], plugins=plugins, callback_handler=None, **options)


def answer(result: Any, response: Any) -> Any:
    return [
        {"interruptResponse": {"interruptId": question.id, "response": response}}
        for question in result.interrupts
    ]


def test_every_event_of_a_turn_says_which_turn_it_is_and_whose(shell: Any) -> None:
    hooks = Hooks()
    events = note(
        hooks,
        *("BeforeAgent", "BeforeToolSelection", "BeforeModel", "AfterModel"),
        *("BeforeTool", "AfterTool", "AfterAgent"),
    )
    model, _ = ScriptedModel.saying(call("shell", command="ls"), "Done.", "Again.")
    agent = make_agent(model, hooks.session("s", labels={"user": "ada"}), [shell])
    agent("Go on.")
    first = [*events]
    agent("And then?")
    assert len(first) == 10
    assert len({event["turn_id"] for event in first}) == 1
    assert len({event["turn_id"] for event in events}) == 2
    assert all(event["labels"] == {"user": "ada"} and "agent" not in event for event in events)


def test_a_turn_that_was_interrupted_or_sent_back_is_one_turn(shell: Any, ran: list[str]) -> None:
    hooks = Hooks()
    hooks.on("BeforeTool")(lambda _event: ask("really?"))
    hooks.on("AfterAgent")(lambda e: None if e["stop_hook_active"] else deny("in French"))
    events = note(hooks, "BeforeAgent", "BeforeTool", "AfterTool", "AfterAgent")
    model, _ = ScriptedModel.saying(call("shell", command="ls"), "Done.", "Fini.")
    agent = make_agent(model, hooks, [shell])
    result = agent("Go on.")
    assert (result.stop_reason, ran) == ("interrupt", [])
    assert str(agent(answer(result, "yes"))).strip() == "Fini."
    assert ran == ["ls"]
    names = [event["hook_event_name"] for event in events]
    assert names == ["BeforeAgent", "BeforeTool", "AfterTool", "AfterAgent", "AfterAgent"]
    assert len({event["turn_id"] for event in events}) == 1


@pytest.mark.parametrize("response", [False, "no", "later", {"approved": True}, 1])
def test_whatever_is_no_approval_refuses_the_call(
    response: Any, shell: Any, ran: list[str]
) -> None:
    hooks = Hooks()
    hooks.on("BeforeTool")(lambda _event: ask("really?"))
    model, sent = ScriptedModel.saying(call("shell", command="ls"), "Done.")
    agent = make_agent(model, hooks, [shell])
    agent(answer(agent("Go on."), response))
    assert not ran
    assert "really?" in sent[-1].read()[-1].text


def test_another_process_can_resume_and_hooks_decide_there_again(
    tmp_path: Path, shell: Any, ran: list[str]
) -> None:
    """The user's answer holds for the input that was shown, and a denial still denies."""

    def resume(reply: Any, folder: Path) -> Any:
        hooks = Hooks()
        hooks.on("BeforeTool")(lambda _event: ask("really?"))
        model, _ = ScriptedModel.saying(call("shell", command="ls"), "Done.", "Done.")
        stored: Any = {"session_manager": FileSessionManager("s", storage_dir=str(folder))}
        asked = make_agent(model, hooks, [shell], **stored)("Go on.")
        later = Hooks()
        later.on("BeforeTool")(lambda _event: reply)
        stored = {"session_manager": FileSessionManager("s", storage_dir=str(folder))}
        model, _ = ScriptedModel.saying("Done.")
        return make_agent(model, later, [shell], **stored)(answer(asked, True))

    assert resume(ask("really?"), tmp_path / "a").stop_reason == "end_turn"
    assert ran == ["ls"]
    resume(deny("no more"), tmp_path / "b")
    other: Any = {**rewrite(command="rm -r /"), "decision": "ask", "reason": "really?"}
    assert resume(other, tmp_path / "c").stop_reason == "interrupt"
    assert ran == ["ls"]


def test_a_refused_prompt_leaves_no_trace_in_the_history() -> None:
    hooks = Hooks()
    hooks.on("BeforeAgent")(lambda e: deny("no") if "secret" in e["prompt"] else None)
    model, sent = ScriptedModel.saying("Good morning.")
    agent = make_agent(model, hooks)
    assert str(agent("secret")).strip() == "no"
    assert agent.messages == []
    agent("Hi")
    assert [message.text for message in sent[0].read()] == ["Hi"]


def test_a_prompt_that_stops_the_loop_stays_in_the_history() -> None:
    hooks = Hooks()
    hooks.on("BeforeAgent")(lambda _event: stop("enough"))
    model, sent = ScriptedModel.saying()
    agent = make_agent(model, hooks)
    assert str(agent("Hi")).strip() == "enough"
    assert [read_message(message) for message in agent.messages] == ["Hi", "enough"]
    assert not sent


def test_calls_of_the_program_itself_are_guarded_and_cannot_be_asked_about(
    shell: Any, ran: list[str]
) -> None:
    hooks = Hooks()
    hooks.on("BeforeTool")(lambda _event: ask("really?"))
    agent = make_agent(ScriptedModel.saying()[0], hooks, [shell])
    result: Any = agent.tool.shell(command="ls")
    assert result["status"] == "error"
    assert "nobody can be asked" in result["content"][0]["text"]
    assert not ran


def test_an_agent_that_a_function_runs_is_a_sub_agent(shell: Any) -> None:
    hooks = Hooks()
    events = note(hooks, "BeforeAgent", "BeforeTool", "AfterAgent")
    inner_model, _ = ScriptedModel.saying(call("shell", command="ls"), "Looked.")

    @tool
    def look(place: str) -> str:
        """Look somewhere."""
        return str(make_agent(inner_model, hooks, [shell], name="scout")(place))

    model, _ = ScriptedModel.saying(call("look", place="here"), "Done.")
    make_agent(model, hooks, [look])("Go on.")
    names = [event["hook_event_name"] for event in events]
    assert names == ["BeforeAgent", "BeforeTool", "BeforeTool", "AfterAgent"]
    agents = [event.get("agent", {}).get("name") for event in events]
    assert agents == [None, None, "scout", None]
    assert len({event["turn_id"] for event in events}) == 1
    assert len({event["session_id"] for event in events}) == 1


def test_a_question_in_a_sub_agent_reaches_the_user_and_no_hook_runs_twice(
    shell: Any, ran: list[str]
) -> None:
    hooks = Hooks()
    hooks.on("BeforeTool", matcher="shell")(lambda _event: ask("really?"))
    events = note(hooks, "BeforeTool")
    inner_model, _ = ScriptedModel.saying(call("shell", command="ls"), "Looked.")
    scout = make_agent(inner_model, None, [shell], name="scout")
    model, _ = ScriptedModel.saying(call("scout", input="Look."), "Done.")
    agent = make_agent(model, hooks, [scout])
    result = agent("Go on.")
    assert (result.stop_reason, ran) == ("interrupt", [])
    assert str(agent(answer(result, True))).strip() == "Done."
    assert ran == ["ls"]
    assert [event["tool_name"] for event in events] == ["scout", "shell"]


class Weather(BaseModel):
    """The weather."""

    degrees: int


def test_a_structured_answer_is_no_tool_for_hooks() -> None:
    hooks = Hooks()
    hooks.on("BeforeToolSelection")(
        lambda _event: {"hookSpecificOutput": {"toolConfig": {"mode": "NONE"}}}
    )
    events = note(hooks, "BeforeTool", "BeforeToolSelection")
    model, sent = ScriptedModel.saying(call("Weather", degrees=3))
    agent = make_agent(model, hooks)
    result = agent("Go on.", structured_output_model=Weather)
    assert result.structured_output == Weather(degrees=3)
    assert sent[0].tools == ["Weather"]
    assert [event["hook_event_name"] for event in events] == ["BeforeToolSelection"]


@pytest.mark.parametrize("strict", [True, False])
def test_a_way_around_hooks_is_warned_of_and_refused_in_strict_mode(
    strict: bool, caplog: pytest.LogCaptureFixture
) -> None:
    agent = make_agent(ScriptedModel.saying()[0], Hooks(strict=strict))
    with (
        pytest.warns(DeprecationWarning, match="structured_output"),
        pytest.raises(HooklineError if strict else NotImplementedError),
    ):
        agent.structured_output(Weather, "Go on.")
    assert ("hooks do not see Agent.structured_output" in caplog.text) != strict


def test_a_response_that_a_hook_hides_is_marked() -> None:
    hooks = Hooks()
    hooks.on("AfterModel")(lambda _event: {"suppressOutput": True})
    agent = make_agent(ScriptedModel.saying("Done.")[0], hooks)
    agent("Go on.")
    marked: Any = agent.messages[-1]
    assert marked["metadata"]["custom"] == {"hookline": {"suppressed": True}}


@pytest.mark.parametrize("is_async", [True, False])
async def test_only_a_hook_that_may_change_the_text_holds_a_stream(
    is_async: bool, tmp_path: Path
) -> None:
    more: Any = {"async": True} if is_async else {}
    observer = command("cat > seen", **more)
    hooks = Hooks(working_dir=tmp_path, hooks={"AfterModel": [{"hooks": [observer]}]})
    model, _ = ScriptedModel.saying("One two three four five.")
    stream = make_agent(model, hooks).stream_async("Go on.")
    seen_first = [(tmp_path / "seen").exists() async for event in stream if "data" in event]
    assert len(seen_first) > 1
    assert seen_first[0] is not is_async
    await asyncio.to_thread(hooks.config.engine.wait_for_background, 30)
    assert "One two three" in (tmp_path / "seen").read_text("utf-8")
    hooks.close()


def test_a_stop_ends_one_turn_whatever_else_its_reply_calls(shell: Any) -> None:
    hooks = Hooks()
    hooks.on("AfterTool")(lambda _event: stop("enough"))
    one, two = call("shell", "1", command="a").calls[0], call("shell", "2", command="b").calls[0]
    model, sent = ScriptedModel.saying(Reply(calls=(one, two)))
    agent = make_agent(model, hooks, [shell])
    assert str(agent("Go on.")).strip() == "enough"
    assert len(sent) == 1
    # The next turn is another one.
    model, sent = ScriptedModel.saying("Hello.")
    agent.model = model
    assert str(agent("Hi")).strip() == "Hello."
