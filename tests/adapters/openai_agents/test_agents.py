"""Agents that hand over to others, run others as tools, and are copied."""

import asyncio
import copy
import gc
import json
import weakref
from pathlib import Path
from typing import Any

import pytest
from agents import (
    Agent,
    GuardrailFunctionOutput,
    Handoff,
    Model,
    ModelProvider,
    ModelResponse,
    RunConfig,
    Runner,
    RunState,
    SQLiteSession,
    Usage,
    function_tool,
    handoff,
    input_guardrail,
)
from agents.exceptions import InputGuardrailTripwireTriggered, UserError
from agents.run import AgentRunner, get_default_agent_runner, set_default_agent_runner
from agents.testing import assistant_message
from pydantic import BaseModel

from hookline import Hooks, ask, deny, stop
from hookline.adapters.openai_agents import close, hooked, read_question
from hookline.errors import HooklineError
from tests.adapters.openai_agents.playing import PLAYS, call, note, results, script, texts
from tests.harness.scratch import Project

each_play = pytest.mark.parametrize("play", PLAYS.values(), ids=PLAYS)


@function_tool
def shell(command: str) -> str:
    """Run a command."""
    return f"ran {command}"


def clerk(model: Any, **options: Any) -> Agent[Any]:
    return Agent(**{"name": "clerk", "model": model, "tools": [shell], **options})


def no_tools(hooks: Hooks) -> Hooks:
    hooks.on("BeforeTool", matcher="shell")(lambda _event: deny("not here"))
    return hooks


@each_play
async def test_an_agent_that_takes_over_has_the_same_hooks_and_the_turn_is_one(play: Any) -> None:
    hooks = no_tools(Hooks())
    seen = note(hooks, "BeforeAgent", "BeforeModel", "AfterAgent")
    second = script(call("shell", command="ls"), "I tried.")
    other = clerk(second, name="other")
    first = script(call("transfer_to_other"))
    played = await play(hooked(clerk(first, handoffs=[other]), hooks), "Go on.")
    assert played.output == "I tried."
    assert "not here" in results(second)
    assert [e["hook_event_name"] for e in seen] == [
        *("BeforeAgent", "BeforeModel", "BeforeModel", "BeforeModel", "AfterAgent")
    ]
    assert len({e["session_id"] for e in seen}) == 1


async def test_handoffs_may_lead_back_and_are_found_when_they_are_added_later() -> None:
    hooks = no_tools(Hooks())
    model = script(
        call("transfer_to_b", id="1"),
        call("transfer_to_a", id="2"),
        call("transfer_to_b", id="3"),
        call("shell", command="ls"),
        "Done.",
    )
    a = hooked(clerk(model, name="a"), hooks)
    b = clerk(model, name="b", handoffs=[a])
    a.handoffs.append(b)
    result = await Runner.run(a, "Go on.")
    assert result.final_output == "Done."
    assert "not here" in results(model)
    there = a.handoffs[0]
    assert isinstance(there, Agent)
    assert there is a.handoffs[0]
    assert there.handoffs[0] is a


async def test_handoff_objects_keep_their_callbacks_their_input_and_their_filter() -> None:
    class Why(BaseModel):
        reason: str

    handed: list[str] = []

    def on_handoff(_ctx: Any, why: Why) -> None:
        handed.append(why.reason)

    hooks = no_tools(Hooks())
    second = script(call("shell", command="ls"), "Done.")
    other = clerk(second, name="other")
    way = handoff(
        other,
        on_handoff=on_handoff,
        input_type=Why,
        tool_name_override="escalate",
        input_filter=lambda data: data.clone(input_history="All is new."),
    )
    agent = hooked(clerk(script(call("escalate", reason="hard")), handoffs=[way]), hooks)
    result = await Runner.run(agent, "Go on.")
    assert handed == ["hard"]
    assert "not here" in results(second)
    assert "All is new." in texts(second, 0)
    assert result.final_output == "Done."


async def test_a_handoff_to_an_agent_that_is_made_anew_each_time_is_hooked_and_leaks_nothing() -> (
    None
):
    hooks = no_tools(Hooks())
    model = script(*[call("go"), call("shell", command="ls"), "Done."] * 3)
    base, made = clerk(model, name="other"), list[weakref.ref[Agent[Any]]]()

    async def invoke(_ctx: Any, _json: str) -> Agent[Any]:
        agent = base.clone(instructions="Anew.")
        made.append(weakref.ref(agent))
        return agent

    lazy: Any = Handoff("go", "", {}, invoke, "other")
    agent = hooked(clerk(model, handoffs=[lazy]), hooks)
    for _ in range(3):
        await Runner.run(agent, "Go on.")
        assert "not here" in results(model)
    gc.collect()
    assert len(made) == 3
    assert all(ref() is None for ref in made)


@each_play
async def test_an_agent_as_a_tool_has_the_same_hooks_and_no_turn_of_its_own(play: Any) -> None:
    hooks = no_tools(Hooks())
    seen = note(hooks, "BeforeAgent", "AfterAgent", "BeforeModel", "BeforeTool", "AfterTool")
    inner = script(call("shell", command="ls"), "The expert says so.")
    expert = clerk(inner, name="expert")
    outer = script(call("ask", input="How?"), "Done.")
    tools = [expert.as_tool("ask", "Ask an expert.")]
    agent = hooked(clerk(outer, tools=tools), hooks)
    assert (await play(agent, "Go on.")).output == "Done."
    assert results(inner) == ["not here"]
    assert results(outer) == ["The expert says so."]
    names = [e["hook_event_name"] for e in seen]
    assert (names.count("BeforeAgent"), names.count("AfterAgent")) == (1, 1)
    assert [e["tool_name"] for e in seen if e["hook_event_name"] == "AfterTool"] == ["ask"]
    assert len({e["session_id"] for e in seen}) == 1
    # The agent itself is as it was.
    plain = script(call("shell", command="ls"), "Free.")
    expert.model = plain
    await Runner.run(expert, "Go on.")
    assert results(plain) == ["ran ls"]


async def test_a_stop_in_an_agent_as_a_tool_ends_the_outer_run_too() -> None:
    hooks = Hooks()
    hooks.on("BeforeTool", matcher="shell")(lambda _event: stop("enough"))
    inner, outer = script(call("shell", command="ls")), script(call("ask", input="How?"))
    tools = [clerk(inner, name="expert").as_tool("ask", "Ask.")]
    result = await Runner.run(hooked(clerk(outer, tools=tools), hooks), "Go on.")
    assert result.final_output == "enough"
    assert (len(inner.calls), len(outer.calls)) == (1, 1)


@pytest.mark.parametrize("streamed", [False, True])
async def test_a_question_in_an_agent_as_a_tool_interrupts_the_outer_run(streamed: bool) -> None:
    hooks = Hooks()
    hooks.on("BeforeTool", matcher="shell")(lambda _event: ask("really?"))
    seen = note(hooks, "BeforeTool", "AfterTool")
    inner = script(call("shell", command="ls"), "The expert says so.")
    outer = script(call("ask", input="How?"), "Done.")
    options: Any = {"on_stream": lambda _event: None} if streamed else {}
    tools = [clerk(inner, name="expert").as_tool("ask", "Ask.", **options)]
    agent = hooked(clerk(outer, tools=tools), hooks)
    result = await Runner.run(agent, "Go on.")
    (item,) = result.interruptions
    question = read_question(item)
    assert question is not None
    assert question.reason == "really?"
    state = await RunState.from_string(agent, result.to_state().to_string())
    state.approve(state.get_interruptions()[0])
    assert (await Runner.run(agent, state)).final_output == "Done."
    assert results(outer) == ["The expert says so."]
    told = [(e["hook_event_name"], e["tool_name"]) for e in seen]
    assert told == [
        ("BeforeTool", "ask"),
        ("BeforeTool", "shell"),
        ("AfterTool", "shell"),
        ("AfterTool", "ask"),
    ]


async def test_an_agent_as_a_tool_that_fails_fires_after_tool_with_the_error() -> None:
    hooks = Hooks()
    after = note(hooks, "AfterTool")
    tools = [clerk(_Broken(), name="expert").as_tool("ask", "Ask.")]
    outer = script(call("ask", input="How?"), "Done.")
    await Runner.run(hooked(clerk(outer, tools=tools), hooks), "Go on.")
    assert "no line" in after[0]["tool_response"]["error"]["message"]
    assert "no line" not in results(outer)[0]


class _Broken(Model):
    async def get_response(self, *_args: Any, **_options: Any) -> ModelResponse:
        raise OSError("no line")

    def stream_response(self, *_args: Any, **_options: Any) -> Any:
        raise OSError("no line")


async def test_hooked_twice_fires_once_and_other_hooks_are_refused() -> None:
    hooks = Hooks()
    seen = note(hooks, "BeforeModel", "BeforeTool", "BeforeAgent")
    agent = hooked(clerk(script(call("shell", command="ls"), "Done.")), hooks)
    assert hooked(agent, hooks) is agent
    assert hooked(agent) is agent
    await Runner.run(hooked(agent, hooks), "Go on.")
    names = [e["hook_event_name"] for e in seen]
    assert names == ["BeforeAgent", "BeforeModel", "BeforeTool", "BeforeModel"]
    with pytest.raises(ValueError, match="other hooks already"):
        hooked(agent, Hooks())


async def test_a_clone_of_a_hooked_agent_is_hooked_with_the_model_that_it_is_given() -> None:
    hooks = no_tools(Hooks())
    seen = note(hooks, "BeforeModel")
    first = hooked(clerk(script("Never.")), hooks)
    model = script(call("shell", command="ls"), "Done.")
    copied = first.clone(model=model, instructions="Be brief.", name="copy")
    await Runner.run(copied, "Go on.")
    assert results(model) == ["not here"]
    assert len(seen) == 2
    assert model.calls[0].system_instructions == "Be brief."
    first.model = script("Another.")
    assert (await Runner.run(first, "Go on.")).final_output == "Another."
    assert len(seen) == 3


async def test_a_copy_of_a_hooked_agent_is_hooked() -> None:
    hooks = no_tools(Hooks())
    agent = hooked(clerk(script(call("shell", command="ls"), "Done.")), hooks)
    for copied in (copy.deepcopy(agent), copy.copy(agent)):
        result = await Runner.run(copied, "Go on.")
        assert "not here" in str(result.to_input_list())


async def test_the_agent_that_was_given_has_no_hooks() -> None:
    model = script(call("shell", command="ls"), "Done.")
    agent = clerk(model)
    hooked(agent, no_tools(Hooks())).tools.append(shell)
    await Runner.run(agent, "Go on.")
    assert results(model) == ["ran ls"]
    assert len(agent.tools) == 1


async def test_instructions_may_be_a_function_and_agents_of_ones_own_class_stay_so() -> None:
    class Special(Agent[Any]):
        def greet(self) -> str:
            return f"I am {self.name}."

    def instruct(ctx: Any, agent: Any) -> str:
        return f"{agent.greet()} {ctx.context}"

    model = script("Done.")
    hooks = Hooks()
    note(hooks, "BeforeModel")
    agent = hooked(Special(name="sam", model=model, instructions=instruct), hooks)
    assert isinstance(agent, Special)
    await Runner.run(agent, "Go on.", context="Hello.")
    assert model.calls[0].system_instructions == "I am sam. Hello."


async def test_guardrails_of_the_agent_work_beside() -> None:
    @input_guardrail
    async def no_cats(_ctx: Any, _agent: Any, given: Any) -> GuardrailFunctionOutput:
        return GuardrailFunctionOutput(None, tripwire_triggered="cat" in str(given))

    hooks = Hooks()
    note(hooks, "BeforeModel", "BeforeAgent")
    agent = hooked(clerk(script("Woof.", "Woof."), input_guardrails=[no_cats]), hooks)
    assert (await Runner.run(agent, "A dog.")).final_output == "Woof."
    with pytest.raises(InputGuardrailTripwireTriggered):
        await Runner.run(agent, "A cat.")


@pytest.mark.parametrize("hooks_given", ["hooks", "session", "config"])
async def test_the_session_of_a_run(hooks_given: str) -> None:
    base = Hooks()
    seen = note(base, "BeforeModel")
    given: Any = {"hooks": base, "session": base.session("mine"), "config": base.config}
    model = script("1", "2", "3", "4", "5")
    agent = hooked(clerk(model), given[hooks_given])
    memory = SQLiteSession("memory")
    await Runner.run(agent, "Hi.", session=memory, run_config=RunConfig(group_id="group"))
    await Runner.run(agent, "Hi.", run_config=RunConfig(group_id="group"))
    await Runner.run(agent, "Hi.", run_config={"group_id": "group"})
    await Runner.run(agent, "Hi.")
    await Runner.run(agent, "Hi.")
    memory.close()
    ids = [event["session_id"] for event in seen]
    if hooks_given == "session":
        assert ids == ["mine"] * 5
    else:
        assert ids[:3] == ["memory", "group", "group"]
        assert len({*ids[2:]}) == 3


async def test_one_agent_serves_many_runs_at_once() -> None:
    hooks = Hooks()
    seen = note(hooks, "BeforeTool", "AfterModel")

    class Echo(Model):
        async def get_response(self, *_args: Any, **options: Any) -> ModelResponse:
            await asyncio.sleep(0.001)
            asked = options["input"][0]["content"]
            called = any("output" in item for item in options["input"])
            said: Any = assistant_message(asked) if called else call("shell", command=asked)
            return ModelResponse(output=[said], usage=Usage(), response_id=None)

        def stream_response(self, *_args: Any, **_options: Any) -> Any:
            raise NotImplementedError

    agent = hooked(clerk(Echo()), hooks)
    configs = [RunConfig(group_id=f"<{n}>") for n in range(20)]
    done = await asyncio.gather(
        *(Runner.run(agent, c.group_id or "", run_config=c) for c in configs)
    )
    assert [result.final_output for result in done] == [c.group_id for c in configs]
    assert len(seen) == 60
    for event in seen:
        if event["hook_event_name"] == "BeforeTool":
            assert event["tool_input"]["command"] == event["session_id"]


@pytest.mark.parametrize("strict", [False, True])
@each_play
async def test_a_run_that_goes_around_our_model_is_noticed(
    play: Any, strict: bool, caplog: pytest.LogCaptureFixture
) -> None:
    hooks = no_tools(Hooks(strict=strict))
    seen = note(hooks, "BeforeModel")
    other = script(call("shell", command="ls"), "I went around.")
    agent = hooked(clerk(script("Never.")), hooks)
    config = RunConfig(model=other)
    if strict:
        with pytest.raises(HooklineError, match="bypasses hooks"):
            await play(agent, "Go on.", run_config=config)
        assert not other.calls
        return
    played = await play(agent, "Go on.", run_config=config)
    assert played.output == "I went around."
    assert caplog.text.count("RunConfig(model=…) bypasses hooks") == 1
    assert not seen
    # The hooks of its tools have their say all the same.
    assert results(other) == ["not here"]


async def test_a_run_that_goes_around_our_model_is_refused_where_settings_are_strict(
    tmp_path: Path,
) -> None:
    (tmp_path / ".hookline").mkdir()
    (tmp_path / ".hookline" / "settings.json").write_text('{"strict": true}')
    other, config_of = script("Never."), Hooks.load(tmp_path, trusted=True)
    agent = hooked(clerk(script()), config_of)
    with pytest.raises(HooklineError, match="bypasses hooks"):
        await Runner.run(agent, "Go on.", run_config=RunConfig(model=other))
    assert not other.calls


async def test_nobody_is_told_of_a_run_that_goes_around_hooks_that_are_disabled(
    caplog: pytest.LogCaptureFixture,
) -> None:
    agent = hooked(clerk(script()), Hooks(enable_hooks=False))
    await Runner.run(agent, "Go on.", run_config=RunConfig(model=script("Fine.")))
    assert not caplog.text


async def test_a_run_that_goes_around_our_model_notices_a_stop_and_asks_all_the_same() -> None:
    hooks = Hooks()
    hooks.on("BeforeTool")(lambda _event: ask("really?"))
    other = script(call("shell", command="ls"), "Done.")
    agent = hooked(clerk(script()), hooks)
    result = await Runner.run(agent, "Go on.", run_config=RunConfig(model=other))
    assert [item.tool_name for item in result.interruptions] == ["shell"]
    hooks = Hooks()
    hooks.on("BeforeTool")(lambda _event: stop("enough"))
    other = script(call("shell", command="ls"), "Done.")
    agent = hooked(clerk(script()), hooks)
    with pytest.raises(HooklineError, match="enough"):
        await Runner.run(agent, "Go on.", run_config=RunConfig(model=other))


async def test_a_run_that_an_agent_without_hooks_began_is_noticed_where_a_model_has_a_name(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Provider(ModelProvider):
        def get_model(self, model_name: str | None) -> Model:
            return script(f"I am free, and {model_name}.")

    hooks = Hooks()
    note(hooks, "BeforeModel")
    second = hooked(Agent(name="second", model="small"), hooks)
    first: Agent[Any] = Agent(
        name="first", model=script(call("transfer_to_second")), handoffs=[second]
    )
    config = RunConfig(model_provider=Provider())
    await Runner.run(first, "Go on.", run_config=config)
    assert "the run began with an agent that has no hooks" in caplog.text


async def test_the_runner_that_was_there_is_the_one_that_runs() -> None:
    runs: list[str] = []

    class Own(AgentRunner):
        async def run(self, *args: Any, **options: Any) -> Any:
            runs.append("own")
            return await super().run(*args, **options)

    before = get_default_agent_runner()
    set_default_agent_runner(Own())
    try:
        agent = hooked(clerk(script("Done.")), no_tools(Hooks()))
        assert (await Runner.run(agent, "Go on.")).final_output == "Done."
    finally:
        set_default_agent_runner(before)
    assert runs == ["own"]


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("around", [False, True])
async def test_a_runner_that_is_set_later_and_hides_a_run_is_noticed(
    strict: bool, around: bool, caplog: pytest.LogCaptureFixture
) -> None:
    model = script(call("shell", command="ls"), "Done.")
    agent = hooked(clerk(model), no_tools(Hooks(strict=strict)))
    options: Any = {"run_config": RunConfig(model=model)} if around else {}
    before = get_default_agent_runner()
    set_default_agent_runner(AgentRunner())
    try:
        if strict:
            # The SDK wraps what a tool raises.
            errors = (HooklineError, UserError)
            with pytest.raises(errors, match="did not begin with hookline's runner"):
                await Runner.run(agent, "Go on.", **options)
            assert len(model.calls) == (1 if around else 0)
            return
        assert (await Runner.run(agent, "Go on.", **options)).final_output == "Done."
    finally:
        set_default_agent_runner(before)
    assert results(model) == ["not here"]
    assert caplog.text.count("did not begin with hookline's runner") == 1


async def test_close_ends_each_session_once() -> None:
    hooks = Hooks()
    seen = note(hooks, "SessionStart", "SessionEnd")
    agent = hooked(clerk(script("1", "2")), hooks)
    for group in ("a", "b"):
        await Runner.run(agent, "Hi.", run_config=RunConfig(group_id=group))
    close(agent)
    close(agent)
    told = [(e["hook_event_name"], e["session_id"]) for e in seen]
    assert told == [
        ("SessionStart", "a"),
        ("SessionStart", "b"),
        ("SessionEnd", "a"),
        ("SessionEnd", "b"),
    ]
    close(clerk(script()))  # an agent without hooks has no sessions


async def test_hooks_of_a_directory_are_loaded_and_closed(tmp_path: Any) -> None:
    agent = hooked(clerk(script("Done.")), tmp_path)
    assert (await Runner.run(agent, "Hi.")).final_output == "Done."
    close(agent)


@each_play
async def test_an_agent_as_a_tool_is_a_subagent_of_claude_codes_hooks(
    play: Any, project: Project
) -> None:
    log = project.script(
        "log.sh",
        "#!/bin/sh\ninput=$(cat)\nprintf '%s\\n' \"$input\" >> log\n"
        "case \"$input\" in *'\"stop_hook_active\":false'*) echo 'Say more.' >&2; exit 2;; esac\n",
    )
    hook = {"type": "command", "command": str(log)}
    events = {name: [{"hooks": [hook]}] for name in ("SubagentStart", "SubagentStop")}
    project.write(".claude/settings.json", json.dumps({"hooks": events}))
    hooks = Hooks.load(project.path, claude=True, trusted=True)
    inner, outer = script("So.", "It is so."), script(call("ask", input="How?"), "Done.")
    tools = [clerk(inner, name="expert").as_tool("ask", "Ask an expert.")]
    assert (await play(hooked(clerk(outer, tools=tools), hooks), "Go on.")).output == "Done."
    assert results(outer) == ["It is so."]
    assert "Say more." in texts(inner)
    read = [json.loads(line) for line in (project.path / "log").read_text().splitlines()]
    assert [(e["hook_event_name"], e["agent_type"]) for e in read] == [
        ("SubagentStart", "expert"),
        ("SubagentStop", "expert"),
        ("SubagentStop", "expert"),
    ]
    assert len({e["agent_id"] for e in read}) == 1
    assert [e.get("last_assistant_message") for e in read] == [None, "So.", "It is so."]
    hooks.close()
