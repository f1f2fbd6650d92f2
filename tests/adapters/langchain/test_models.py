"""What hooks say about a model call of a LangChain agent is what becomes of it, streamed or not."""

import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain.agents.structured_output import ProviderStrategy, ToolStrategy
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import BaseModel

from hookline import Hooks, combine, deny, message, stop
from hookline.adapters.langchain import HooklineMiddleware, stop_reason
from tests.adapters.langchain.agents import (
    RAN,
    Way,
    answer,
    every_way,
    mail,
    make_agent,
    results,
    shell,
    talk,
)
from tests.adapters.langchain.models import Recorded, call, calls

ADDRESS = "jane.doe@example.org"


@pytest.fixture
def hooks() -> Iterator[Hooks]:
    with Hooks() as hooks:
        yield hooks


def redact(event: Any) -> Any:
    text = event["llm_response"].get("text", "")
    if ADDRESS not in text:
        return None
    return {"hookSpecificOutput": {"llm_response": {"text": text.replace(ADDRESS, "[address]")}}}


def choose(mode: str, *names: str) -> Any:
    return {"hookSpecificOutput": {"toolConfig": {"mode": mode, "allowedFunctionNames": [*names]}}}


@every_way
async def test_a_denied_call_is_not_made_and_its_reason_is_the_answer(
    hooks: Hooks, way: Way
) -> None:
    hooks.on("BeforeModel")(lambda _: deny("the budget is spent"))
    script = Recorded("Hello.")
    state = await talk(make_agent(hooks, script), "Hi.", way)
    assert answer(state) == "the budget is spent"
    assert script.requests == []


@every_way
async def test_a_rewritten_request_is_what_the_model_reads(hooks: Hooks, way: Way) -> None:
    @hooks.on("BeforeModel")
    def hide(event: Any) -> Any:
        shown = event["llm_request"]["messages"]
        hidden = [{**m, "content": m["content"].replace("swordfish", "[hidden]")} for m in shown]
        wanted = [*hidden, {"role": "system", "content": "answer in French"}]
        change = {"messages": wanted, "config": {"temperature": 0.5}}
        return {"hookSpecificOutput": {"llm_request": change}}

    script = Recorded(call("shell", command="ls"), "Done.")
    agent = make_agent(hooks, script, system_prompt="You are kind.")
    state = await talk(agent, "It is swordfish.", way)
    assert "swordfish" not in script.sent
    first = script.requests[1][0]
    assert isinstance(first, SystemMessage)
    assert first.content == "You are kind.\n\nanswer in French"
    assert [m.type for m in script.requests[1]] == ["system", "human", "ai", "tool"]
    # The user's own message stays as it was written.
    assert state["messages"][0].content == "It is swordfish."


@every_way
async def test_a_hook_may_answer_in_the_models_place(hooks: Hooks, way: Way) -> None:
    given = {"hookSpecificOutput": {"llm_response": {"text": "From the cache."}}}
    hooks.on("BeforeModel")(lambda _: given)
    script = Recorded("Hello.")
    state = await talk(make_agent(hooks, script), "Hi.", way)
    assert answer(state) == "From the cache."
    assert script.requests == []


@every_way
async def test_a_denied_response_is_discarded_with_its_calls(hooks: Hooks, way: Way) -> None:
    @hooks.on("AfterModel")
    def guard(event: Any) -> Any:
        found = "swordfish" in event["llm_response"].get("text", "")
        return deny("no passwords") if found else None

    reply = calls(("shell", "1", {"command": "ls"}), text="It is swordfish.")
    script = Recorded(reply, "Hello.")
    agent = make_agent(hooks, script)
    state = await talk(agent, "Hi.", way)
    assert answer(state) == "no passwords"
    assert RAN == []
    assert "swordfish" not in str(state)
    await talk(agent, "And now?", way)
    assert "swordfish" not in script.sent


@pytest.mark.parametrize("event", ["BeforeToolSelection", "BeforeModel", "AfterModel"])
@every_way
async def test_a_stop_around_the_model_ends_the_loop(hooks: Hooks, event: str, way: Way) -> None:
    hooks.on(event)(lambda _: stop("enough for today"))
    script = Recorded(calls(("shell", "1", {"command": "ls"}), text="Let me see."), "Done.")
    state = await talk(make_agent(hooks, script), "Hi.", way)
    assert answer(state) == "enough for today"
    assert stop_reason(state) == "enough for today"
    assert RAN == []
    assert len(script.requests) == (event == "AfterModel")
    # The reason is the answer: nothing of the response stays beside it.
    assert "Let me see." not in str(state)
    assert not any(m.tool_calls for m in state["messages"] if isinstance(m, AIMessage))


async def read_everything(agent: Any, given: Any, mode: str) -> AsyncIterator[str]:
    """All that a program can see of a run in a mode of streaming."""
    config: Any = {"configurable": {"thread_id": "chat-1"}}
    if mode == "events":
        async for event in agent.astream_events(given, config, version="v2"):
            yield repr(event)
    elif mode == "v3":
        stream = await agent.astream_events(given, config, version="v3")
        async for event in stream:
            yield repr(event)
    elif mode == "log":
        async for patch in agent.astream_log(given, config):
            yield repr(patch)
    elif mode == "sync all":
        modes: Any = ["messages", "updates", "values", "debug", "tasks", "checkpoints"]
        for part in agent.stream(given, config, stream_mode=modes, subgraphs=True):
            yield repr(part)
    else:
        modes = ["messages", "updates", "values", "custom"] if mode == "all" else mode
        async for part in agent.astream(given, config, stream_mode=modes):
            yield repr(part)


@pytest.mark.parametrize(
    "mode", ["messages", "updates", "values", "debug", "all", "events", "v3", "log", "sync all"]
)
@pytest.mark.filterwarnings("ignore:The v3 streaming protocol on Pregel is experimental")
@pytest.mark.filterwarnings("ignore:astream_log is deprecated")
async def test_a_redacted_answer_leaves_no_trace_in_any_stream(hooks: Hooks, mode: str) -> None:
    hooks.on("AfterModel")(redact)
    replies: list[AIMessage | str] = [
        calls(("shell", "1", {"command": "ls"}), text=f"I ask {ADDRESS} first."),
        f"Write to {ADDRESS}.",
        "Done.",
    ]
    script, saver = Recorded(*replies), InMemorySaver()
    agent = make_agent(hooks, script, saver=saver)
    given = {"messages": [("user", "Whom should I ask?")]}
    seen = [part async for part in read_everything(agent, given, mode)]
    shown = "\n".join(seen)
    # A stream of pieces would tear the address apart; so would a program that joins them.
    for piece in ("jane.d", "oe@exa", "mple.o", "e@exam", "jane", "doe", "example"):
        assert piece not in shown, mode
    assert "Write to [address]." in shown
    assert "I ask [address] first." in shown
    assert RAN == ["ls"]
    stored = [
        c.checkpoint["channel_values"]
        for c in saver.list({"configurable": {"thread_id": "chat-1"}})
    ]
    assert ADDRESS not in str(stored)
    assert ADDRESS not in str((saver.blobs, saver.writes))
    await talk(agent, "Thank you.")
    assert ADDRESS not in script.sent
    assert "Write to [address]." in script.sent


async def test_the_final_message_is_streamed_whole_and_once_where_hooks_look_at_it(
    hooks: Hooks,
) -> None:
    hooks.on("AfterModel")(redact)
    agent = make_agent(hooks, Recorded(f"Write to {ADDRESS}."))
    given = {"messages": [("user", "Hi.")]}
    config: Any = {"configurable": {"thread_id": "1"}}
    parts = [part async for part in agent.astream(given, config, stream_mode="messages")]
    ((message, metadata),) = parts
    assert message.content == "Write to [address]."
    assert metadata["langgraph_node"] == "model"


@pytest.mark.parametrize("event", ["BeforeModel", "BeforeToolSelection", "AfterTool"])
async def test_a_stream_is_not_held_back_where_no_hook_looks_at_the_answer(
    hooks: Hooks, event: str
) -> None:
    hooks.on(event)(lambda _: None)
    agent = make_agent(hooks, Recorded("Good morning to you."))
    given = {"messages": [("user", "Hi.")]}
    config: Any = {"configurable": {"thread_id": "1"}}
    parts = [str(m.text) for m, _ in agent.stream(given, config, stream_mode="messages")]
    assert parts[:2] == ["Good m", "orning"]


async def test_an_answer_keeps_its_id_its_calls_and_its_usage_when_hooks_edit_it(
    hooks: Hooks,
) -> None:
    hooks.on("AfterModel")(redact)
    reply = AIMessage(
        [{"type": "text", "text": ADDRESS}, {"type": "reasoning", "reasoning": "hm"}],
        id="message-7",
        tool_calls=[{"name": "shell", "args": {"command": "ls"}, "id": "1"}],
        usage_metadata={"input_tokens": 1, "output_tokens": 2, "total_tokens": 3},
        response_metadata={"logprobs": {"content": [{"token": ADDRESS}]}, "finish_reason": "stop"},
        additional_kwargs={"parsed": ADDRESS, "refusal": None},
    )
    state = await talk(make_agent(hooks, Recorded(reply, "Done.")), "Hi.")
    kept = state["messages"][1]
    assert kept.content == [
        {"type": "text", "text": "[address]"},
        {"type": "reasoning", "reasoning": "hm"},
    ]
    assert kept.id == "message-7"
    assert kept.tool_calls[0]["id"] == "1"
    assert kept.usage_metadata == reply.usage_metadata
    assert kept.response_metadata == {"finish_reason": "stop"}
    assert ADDRESS not in str(state)


async def test_a_script_redacts_and_a_script_sees_the_prompt(tmp_path: Path) -> None:
    """Real hooks in a settings file."""
    (tmp_path / "redact.py").write_text(
        "import json, sys\n"
        "event = json.load(sys.stdin)\n"
        f"text = event['llm_response'].get('text', '').replace({ADDRESS!r}, '[address]')\n"
        "print(json.dumps({'hookSpecificOutput': {'llm_response': {'text': text}}}))\n"
    )
    (tmp_path / "guard.py").write_text(
        "import json, sys\n"
        "event = json.load(sys.stdin)\n"
        "if 'swordfish' in json.dumps(event['llm_request']['messages']):\n"
        "    print('no passwords', file=sys.stderr)\n"
        "    sys.exit(2)\n"
    )
    run = {"type": "command", "command": "python3"}
    settings = {
        "hooks": {
            "AfterModel": [{"hooks": [{**run, "args": [str(tmp_path / "redact.py")]}]}],
            "BeforeModel": [{"hooks": [{**run, "args": [str(tmp_path / "guard.py")]}]}],
        }
    }
    file = tmp_path / "settings.json"
    file.write_text(json.dumps(settings))
    with Hooks.load(tmp_path, settings_files=[file]) as hooks:
        script = Recorded(f"Write to {ADDRESS}.")
        agent = make_agent(hooks, script)
        state = await talk(agent, "Hi.", "astream")
        assert answer(state) == "Write to [address]."
        state = await talk(agent, "It is swordfish.", "stream")
        assert answer(state) == "no passwords"
        assert len(script.requests) == 1


@every_way
async def test_a_call_outside_the_allowed_tools_is_not_executed(hooks: Hooks, way: Way) -> None:
    available: list[Any] = []

    @hooks.on("BeforeToolSelection")
    def narrow(event: Any) -> Any:
        available.append(event["available_tools"])
        return choose("AUTO", "shell", "no_such_tool") if len(available) == 1 else None

    reply = calls(("mail", "1", {"to": "boss"}), ("shell", "2", {"command": "ls"}))
    script = Recorded(reply, "Done.")
    state = await talk(make_agent(hooks, script), "Hi.", way)
    assert script.offered == [["shell"], ["shell", "mail"]]
    assert available == [["shell", "mail"]] * 2
    assert RAN == ["ls"]
    found = {result.tool_call_id: result.content for result in results(state)}
    assert found == {"1": "The tool mail is not allowed in this call.", "2": "output of ls"}
    assert answer(state) == "Done."


@every_way
async def test_mode_none_offers_no_tools_and_executes_none(hooks: Hooks, way: Way) -> None:
    turns: list[Any] = []

    @hooks.on("BeforeToolSelection")
    def forbid(event: Any) -> Any:
        turns.append(event)
        return choose("NONE") if len(turns) == 1 else None

    script = Recorded(call("shell", command="ls"), "Done.")
    state = await talk(make_agent(hooks, script), "Hi.", way)
    assert script.offered[0] == []
    assert RAN == []
    assert results(state)[0].content == "The tool shell is not allowed in this call."
    assert answer(state) == "Done."


async def test_a_refusal_of_a_call_is_in_the_state_when_another_call_interrupts(
    hooks: Hooks,
) -> None:
    """Whoever resumes the run finds it there, in another process too."""
    from langgraph.types import Command

    first: list[Any] = []

    @hooks.on("BeforeToolSelection")
    def narrow(event: Any) -> Any:
        first.append(event)
        return choose("AUTO", "shell") if len(first) == 1 else None

    hooks.on("BeforeTool")(lambda _: {"decision": "ask", "reason": "really?"})
    reply = calls(("mail", "1", {"to": "boss"}), ("shell", "2", {"command": "ls"}))
    agent = make_agent(hooks, Recorded(reply, "Done."))
    state = await talk(agent, "Hi.")
    assert [m.tool_call_id for m in results(state)] == ["1"]
    state = await talk(agent, Command(resume={"decisions": [{"type": "approve"}]}))
    assert RAN == ["ls"]
    assert len(results(state)) == 2


@every_way
async def test_system_messages_reach_the_model(hooks: Hooks, way: Way) -> None:
    """That of BeforeModel with this request, that of AfterModel with the next, each once."""
    said: list[Any] = []

    @hooks.on("AfterModel")
    def after(event: Any) -> Any:
        said.append(event)
        return message("after the first") if len(said) == 1 else None

    hooks.on("BeforeModel")(lambda _: message("before each"))
    script = Recorded(call("shell", command="ls"), call("shell", "call-2", command="ls"), "Done.")
    await talk(make_agent(hooks, script), "Hi.", way)
    sent = [[str(m.text) for m in request if m.type == "human"] for request in script.requests]
    assert sent == [
        ["Hi.", "[System] before each"],
        ["Hi.", "[System] after the first", "[System] before each"],
        ["Hi.", "[System] before each"],
    ]


async def test_a_model_that_returns_nothing_is_shown_and_passes(hooks: Hooks) -> None:
    seen: list[Any] = []
    hooks.on("AfterModel")(lambda event: seen.append(event["llm_response"]))
    ended: list[Any] = []
    hooks.on("AfterAgent")(ended.append)
    state = await talk(make_agent(hooks, Recorded(AIMessage(""))), "Hi.")
    assert answer(state) == ""
    assert seen[0]["candidates"][0]["content"]["parts"] == []
    assert ended[0]["prompt_response"] == ""


@pytest.mark.parametrize("fails", ["open", "closed"])
@every_way
async def test_a_message_of_an_unknown_shape_is_refused_loudly_and_blocks_where_hooks_fail_closed(
    hooks: Hooks, way: Way, fails: str, caplog: pytest.LogCaptureFixture
) -> None:
    seen: list[Any] = []
    on_failure: Any = "block" if fails == "closed" else "allow"
    hooks.on("BeforeModel", on_failure=on_failure)(seen.append)
    script = Recorded("Hello.")
    agent = make_agent(hooks, script, saver=False)
    odd = HumanMessage([{"surprise": "swordfish"}])
    state = await talk(agent, {"messages": [odd]}, way)
    assert seen == []
    assert "without a type" in caplog.text
    if fails == "closed":
        assert "without a type" in answer(state)
        assert script.requests == []
    else:
        assert answer(state) == "Hello."


async def test_strict_mode_blocks_what_cannot_be_shown() -> None:
    with Hooks(strict=True) as hooks:
        hooks.on("AfterModel")(lambda _: None)
        reply = AIMessage([{"surprise": ADDRESS}])
        state = await talk(make_agent(hooks, Recorded(reply)), "Hi.")
        assert ADDRESS not in str(state)
        assert "without a type" in answer(state)


class Weather(BaseModel):
    """The weather."""

    city: str
    degrees: int


STRUCTURED = [ToolStrategy(Weather), ProviderStrategy(Weather), Weather]


@pytest.mark.parametrize("structure", STRUCTURED, ids=["tool", "provider", "auto"])
@pytest.mark.parametrize("tools", [[], [shell]], ids=["no tools", "tools"])
@every_way
async def test_a_text_in_the_place_of_a_structured_answer_is_a_clear_block(
    hooks: Hooks, way: Way, structure: Any, tools: Any
) -> None:
    given = {"hookSpecificOutput": {"llm_response": {"text": "Sunny."}}}
    hooks.on("BeforeModel")(lambda _: given)
    script = Recorded("never")
    agent = make_agent(hooks, script, tools=tools, response_format=structure)
    state = await talk(agent, "Hi.", way)
    assert "without the structured answer that this agent needs" in answer(state)
    assert state.get("structured_response") is None
    assert script.requests == []


@pytest.mark.parametrize("structure", [None, ProviderStrategy(Weather)])
async def test_what_is_said_beside_an_answer_in_the_models_place_is_kept(
    hooks: Hooks, structure: Any
) -> None:
    @hooks.on("BeforeModel")
    def answer_first(event: Any) -> Any:
        if len(event["llm_request"]["messages"]) > 1:
            return None
        said = {"llm_response": {"text": '{"city": "Ulm", "degrees": 3}'}}
        return {"hookSpecificOutput": said, "suppressOutput": True, **message("it is cold")}

    script = Recorded('{"city": "Ulm", "degrees": 4}')
    agent = make_agent(hooks, script, response_format=structure)
    state = await talk(agent, "Hi.")
    assert state["messages"][-1].additional_kwargs["hookline"]["suppressed"] is True
    await talk(agent, "Again.")
    assert str(script.requests[0][-1].text) == "[System] it is cold"


async def test_a_hook_may_give_the_structured_answer_itself(hooks: Hooks) -> None:
    text = '{"city": "Berlin", "degrees": 7}'
    hooks.on("BeforeModel")(lambda _: {"hookSpecificOutput": {"llm_response": {"text": text}}})
    agent = make_agent(hooks, Recorded(), tools=[], response_format=ToolStrategy(Weather))
    state = await talk(agent, "Hi.")
    assert state["structured_response"] == Weather(city="Berlin", degrees=7)


@pytest.mark.parametrize("structure", STRUCTURED, ids=["tool", "provider", "auto"])
async def test_a_denied_call_with_a_structured_answer_ends_the_turn(
    hooks: Hooks, structure: Any
) -> None:
    hooks.on("BeforeModel")(lambda _: deny("the budget is spent"))
    agent = make_agent(hooks, Recorded(), tools=[], response_format=structure)
    state = await talk(agent, "Hi.")
    assert answer(state) == "the budget is spent"


async def test_a_structured_answer_that_hooks_redact_is_read_again(hooks: Hooks) -> None:
    def hide(event: Any) -> Any:
        text = event["llm_response"]["text"].replace("Berlin", "[city]")
        return {"hookSpecificOutput": {"llm_response": {"text": text}}}

    hooks.on("AfterModel")(hide)
    reply = '{"city": "Berlin", "degrees": 7}'
    agent = make_agent(hooks, Recorded(reply), tools=[], response_format=ProviderStrategy(Weather))
    state = await talk(agent, "Hi.")
    assert state["structured_response"] == Weather(city="[city]", degrees=7)
    assert "Berlin" not in str(state)


@pytest.mark.parametrize("structure", [ToolStrategy(Weather), Weather], ids=["tool", "auto"])
@pytest.mark.parametrize("text", ["", f"I asked {ADDRESS}: {{so}} "], ids=["alone", "beside text"])
async def test_a_structured_answer_by_a_tool_is_redacted_as_well(
    hooks: Hooks, structure: Any, text: str
) -> None:
    """Hooks are shown it as JSON, as they are where the model answers with JSON itself."""
    hooks.on("AfterModel")(redact)
    args = {"city": ADDRESS, "degrees": 3}
    reply = calls(("Weather", "1", args), text=text)
    reply.additional_kwargs["tool_calls"] = [{"id": "1", "function": {"arguments": str(args)}}]
    script, saver = Recorded(reply, "Done."), InMemorySaver()
    agent = make_agent(hooks, script, response_format=structure, saver=saver)
    state = await talk(agent, "Hi.", "astream")
    assert state["structured_response"] == Weather(city="[address]", degrees=3)
    assert state["messages"][1].text == text.replace(ADDRESS, "[address]")
    assert state["messages"][1].tool_calls[0]["args"] == {"city": "[address]", "degrees": 3}
    assert ADDRESS not in str(state)
    assert ADDRESS not in str((saver.blobs, saver.writes))
    await talk(agent, "Thank you.")
    assert ADDRESS not in script.sent


async def test_a_structured_answer_by_a_tool_that_hooks_make_invalid_is_a_clear_block(
    hooks: Hooks,
) -> None:
    hooks.on("AfterModel")(lambda _: {"hookSpecificOutput": {"llm_response": {"text": "no"}}})
    reply = call("Weather", city=ADDRESS, degrees=3)
    agent = make_agent(hooks, Recorded(reply), response_format=ToolStrategy(Weather))
    state = await talk(agent, "Hi.")
    assert "it does not end with a JSON object" in answer(state)
    assert ADDRESS not in str(state)


async def test_a_structured_answer_that_hooks_make_invalid_is_a_clear_block(hooks: Hooks) -> None:
    hooks.on("AfterModel")(lambda _: {"hookSpecificOutput": {"llm_response": {"text": "gone"}}})
    reply = '{"city": "Berlin", "degrees": 7}'
    agent = make_agent(hooks, Recorded(reply), tools=[], response_format=ProviderStrategy(Weather))
    state = await talk(agent, "Hi.")
    assert "hooks changed the model's structured answer" in answer(state)
    assert "Berlin" not in str(state)


async def test_a_structured_answer_by_a_tool_passes_a_selection_of_tools(hooks: Hooks) -> None:
    hooks.on("BeforeToolSelection")(lambda _: choose("AUTO", "shell"))
    hooks.on("AfterModel")(redact)
    reply = calls(("Weather", "1", {"city": "Berlin", "degrees": 7}))
    agent = make_agent(hooks, Recorded(reply), response_format=ToolStrategy(Weather))
    state = await talk(agent, "Hi.")
    assert state["structured_response"] == Weather(city="Berlin", degrees=7)


async def test_the_very_response_of_the_model_passes_where_hooks_change_nothing(
    hooks: Hooks,
) -> None:
    given: list[Any] = []

    class Inner(AgentMiddleware):
        def wrap_model_call(self, request: Any, handler: Any) -> Any:
            given.append(handler(request))
            return given[0]

    kept: list[Any] = []

    class Outer(AgentMiddleware):
        def wrap_model_call(self, request: Any, handler: Any) -> Any:
            kept.append(handler(request))
            return kept[0]

    for event in ("BeforeToolSelection", "BeforeModel", "AfterModel"):
        hooks.on(event)(lambda _: None)
    middleware: list[Any] = [Outer(), HooklineMiddleware(hooks), Inner()]
    agent = create_agent(Recorded("Hello.").model, [], middleware=middleware)
    agent.invoke({"messages": [HumanMessage("Hi.")]})
    assert kept[0].result[0] is given[0].result[0]


async def test_a_model_that_raises_raises_on_and_fires_no_after_model(hooks: Hooks) -> None:
    seen: list[Any] = []
    hooks.on("AfterModel")(seen.append)
    with pytest.raises(ConnectionError, match="no network"):
        await talk(make_agent(hooks, Recorded(ConnectionError("no network"))), "Hi.", "async")
    assert seen == []


async def test_a_suppressed_answer_is_marked_for_whoever_displays_it(hooks: Hooks) -> None:
    hooks.on("AfterModel")(lambda _: {"suppressOutput": True})
    hooks.on("AfterTool")(lambda _: {"suppressOutput": True})
    state = await talk(make_agent(hooks, Recorded(call("shell", command="ls"), "Done.")), "Hi.")
    assert state["messages"][-1].additional_kwargs == {"hookline": {"suppressed": True}}
    (result,) = results(state)
    assert isinstance(result, ToolMessage)
    assert result.content == "output of ls"
    assert result.additional_kwargs == {"hookline": {"suppressed": True}}


async def test_hooks_that_are_off_change_nothing() -> None:
    hooks = Hooks(enable_hooks=False)
    script = Recorded(call("mail", to="boss"), "Done.")
    state = await talk(make_agent(hooks, script, tools=[mail]), "Hi.")
    assert answer(state) == "Done."
    assert combine(deny("x"))["decision"] == "deny"
