"""Tool calls of an agent."""

import asyncio
import json
from dataclasses import dataclass
from typing import Any

import pytest
from agents import (
    Agent,
    AgentHooks,
    FunctionTool,
    RunConfig,
    RunContextWrapper,
    Runner,
    ToolExecutionConfig,
    ToolGuardrailFunctionOutput,
    ToolOutputImage,
    ToolOutputText,
    ToolsToFinalOutputResult,
    function_tool,
    tool_input_guardrail,
)
from agents.exceptions import UserError

from hookline import (
    Hooks,
    add_context,
    combine,
    deny,
    message,
    replace_result,
    rewrite,
    stop,
)
from hookline.adapters.openai_agents import hooked
from tests.adapters.openai_agents.playing import PLAYS, call, note, results, script

pytestmark = pytest.mark.filterwarnings("error")


def make_agent(model: Any, *tools: Any, **options: Any) -> Agent[Any]:
    return Agent(name="clerk", model=model, tools=[*tools], **options)


@function_tool
def shell(command: str) -> str:
    """Run a command."""
    return f"ran {command}"


async def test_a_rewritten_input_reaches_the_tool_and_not_what_the_model_reads_of_its_call() -> (
    None
):
    hooks = Hooks()
    hooks.on("BeforeTool")(lambda _event: rewrite(command="ls --token=s3cret"))
    after = note(hooks, "AfterTool")
    model = script(call("shell", command="ls"), "Done.")
    result = await Runner.run(hooked(make_agent(model, shell), hooks), "Go on.")
    assert results(model) == ["ran ls --token=s3cret"]
    assert "s3cret" not in str([i for i in model.calls[1].input if i.get("arguments")])
    (event,) = after
    assert event["tool_input"] == {"command": "ls --token=s3cret"}
    assert event["original_tool_input"] == {"command": "ls"}
    assert result.final_output == "Done."


async def test_arguments_that_are_no_json_object_are_shown_too_and_nobody_is_asked_about_them() -> (
    None
):
    ran: list[str] = []

    async def invoke(_ctx: Any, arguments: str) -> str:
        ran.append(arguments)
        return "ok"

    raw = FunctionTool("raw", "", {}, invoke, strict_json_schema=False)
    hooks = Hooks()
    seen = note(hooks, "BeforeTool")
    odd = call("raw").model_copy(update={"arguments": "not json"})
    empty = call("raw", id="2").model_copy(update={"arguments": ""})
    model = script([odd, empty], "Done.")
    result = await Runner.run(hooked(make_agent(model, raw), hooks), "Go on.")
    assert result.final_output == "Done."
    assert [event["tool_input"] for event in seen] == [{"arguments": "not json"}, {}]
    assert ran == ["not json", ""]


async def test_a_denial_of_arguments_that_are_no_json_object_holds() -> None:
    hooks = Hooks()
    hooks.on("BeforeTool")(lambda _event: deny("no"))
    odd = call("shell").model_copy(update={"arguments": "rm -rf"})
    model = script(odd, "Done.")
    await Runner.run(hooked(make_agent(model, shell), hooks), "Go on.")
    assert results(model) == ["no"]


@pytest.mark.parametrize("handler", ["default", "own"])
async def test_after_tool_reads_the_error_that_the_sdk_hides_from_the_model(handler: str) -> None:
    def tell(_ctx: RunContextWrapper[Any], error: Exception) -> str:
        return f"sorry: {type(error).__name__}"

    def fill() -> str:
        raise OSError("the disk is full")

    options: Any = {} if handler == "default" else {"failure_error_function": tell}
    hooks = Hooks()
    after = note(hooks, "AfterTool")
    hooks.on("AfterTool")(lambda _event: add_context("try another disk"))
    model = script(call("fill"), "Done.")
    tool = function_tool(fill, **options)
    await Runner.run(hooked(make_agent(model, tool), hooks), "Go on.")
    assert after[0]["tool_response"]["error"] == {
        "type": "tool_failed",
        "message": "OSError: the disk is full",
    }
    (read,) = results(model)
    assert read.startswith("sorry: OSError" if handler == "own" else "An error occurred")
    assert read.endswith("\n\ntry another disk")
    assert "disk is full" not in read


@pytest.mark.parametrize("answer", [None, replace_result("no disk")])
async def test_a_tool_whose_error_nobody_handles_fires_after_tool_and_raises(
    answer: Any, caplog: pytest.LogCaptureFixture
) -> None:
    def fill() -> str:
        raise OSError("the disk is full")

    hooks = Hooks()
    hooks.on("AfterTool")(lambda _event: answer)
    after = note(hooks, "AfterTool")
    tool = function_tool(fill, failure_error_function=None)
    agent = hooked(make_agent(script(call("fill")), tool), hooks)
    with pytest.raises(UserError, match="the disk is full"):
        await Runner.run(agent, "Go on.")
    assert "the disk is full" in after[0]["tool_response"]["error"]["message"]
    told = "its exception still goes on to the caller: no disk"
    assert (told in caplog.text) is (answer is not None)


async def test_what_a_hook_puts_in_the_place_of_an_error_is_what_the_model_reads() -> None:
    @function_tool
    def fill() -> str:
        raise OSError("the disk is full")

    hooks = Hooks()
    hooks.on("AfterTool")(lambda _event: replace_result("no disk"))
    model = script(call("fill"), "Done.")
    await Runner.run(hooked(make_agent(model, fill), hooks), "Go on.")
    assert results(model) == ["no disk"]


async def test_results_that_are_no_text_stay_what_they_are_and_take_additions() -> None:
    @function_tool
    def look() -> list[Any]:
        return [ToolOutputText(text="a cat"), ToolOutputImage(image_url="data:image/png;base64,")]

    @function_tool
    def count() -> dict[str, int]:
        return {"cats": 2}

    plain, hooks = script([call("look"), call("count")], "Done."), Hooks()
    await Runner.run(make_agent(plain, look, count), "Go on.")
    after = note(hooks, "AfterTool")
    model = script([call("look"), call("count")], "Done.")
    await Runner.run(hooked(make_agent(model, look, count), hooks), "Go on.")
    assert results(model) == results(plain)
    shown = {e["tool_name"]: e["tool_response"]["llmContent"] for e in after}
    assert shown == {"look": [{"text": "a cat"}, {"type": "image"}], "count": '{"cats":2}'}

    hooks.on("AfterTool")(lambda _event: add_context("all tame"))
    model = script([call("look"), call("count")], "Done.")
    await Runner.run(hooked(make_agent(model, look, count), hooks), "Go on.")
    first, second = results(model)
    assert [part["type"] for part in first] == ["input_text", "input_image", "input_text"]
    assert first[2]["text"] == "all tame"
    assert second == '{"cats":2}\n\nall tame'


@pytest.mark.parametrize("play", PLAYS.values(), ids=PLAYS)
async def test_a_stop_ends_a_run_of_parallel_calls_and_the_reason_is_its_output(play: Any) -> None:
    hooks = Hooks()
    hooks.on("BeforeTool", matcher="shell")(lambda _event: stop("enough"))
    ended = note(hooks, "AfterAgent")
    model = script([call("other"), call("shell", command="ls")], "Never.")
    ran: list[str] = []
    other = function_tool(lambda: ran.append("other"), name_override="other")
    played = await play(hooked(make_agent(model, shell, other), hooks), "Go on.")
    assert (played.output, ran) == ("enough", [])
    assert len(model.calls) == 1
    assert [event["prompt_response"] for event in ended] == ["enough"]


@pytest.mark.parametrize("way", ["first", "custom", "named"])
async def test_a_run_that_ends_with_a_tools_result_ends_with_what_hooks_made_of_it(
    way: str,
) -> None:
    def choose(_ctx: Any, found: list[Any]) -> ToolsToFinalOutputResult:
        return ToolsToFinalOutputResult(True, found[0].output)

    behaviour: Any = {
        "first": "stop_on_first_tool",
        "custom": choose,
        "named": {"stop_at_tool_names": ["shell"]},
    }[way]
    hooks = Hooks()
    hooks.on("AfterTool")(lambda _event: replace_result("[removed]"))
    agent = make_agent(script(call("shell", command="ls")), shell, tool_use_behavior=behaviour)
    result = await Runner.run(hooked(agent, hooks), "Go on.")
    assert result.final_output == "[removed]"


async def test_a_denied_call_of_a_tool_with_a_schema_for_its_output_is_read_as_text() -> None:
    @dataclass
    class Seat:
        row: int

    @function_tool(output_type=Seat)
    def seat() -> Seat:
        return Seat(3)

    hooks = Hooks()
    hooks.on("BeforeTool")(lambda _event: deny("sold out"))
    model = script(call("seat"), "Done.")
    await Runner.run(hooked(make_agent(model, seat), hooks), "Go on.")
    assert results(model) == ["sold out"]


async def test_hooks_do_not_use_up_the_time_that_a_tool_has() -> None:
    @function_tool(timeout=0.05)
    async def quick() -> str:
        return "in time"

    @function_tool(timeout=0.05)
    async def slow() -> str:
        await asyncio.sleep(5)
        return "late"

    hooks = Hooks()

    async def think(_event: Any) -> None:
        await asyncio.sleep(0.15)

    hooks.on("BeforeTool")(think)
    model = script([call("quick"), call("slow")], "Done.")
    await Runner.run(hooked(make_agent(model, quick, slow), hooks), "Go on.")
    assert results(model)[0] == "in time"
    assert "timed out" in results(model)[1]


async def test_guardrails_and_lifecycle_hooks_of_the_sdk_work_beside() -> None:
    seen: list[str] = []

    class Watch(AgentHooks[Any]):
        async def on_tool_end(self, _ctx: Any, _agent: Any, tool: Any, result: Any) -> None:
            seen.append(f"{tool.name}: {result}")

    @tool_input_guardrail
    def no_rm(data: Any) -> ToolGuardrailFunctionOutput:
        if "rm" in data.context.tool_arguments:
            return ToolGuardrailFunctionOutput.reject_content("the guardrail says no")
        return ToolGuardrailFunctionOutput.allow()

    guarded = function_tool(lambda command: command, name_override="guarded")
    guarded.tool_input_guardrails = [no_rm]
    hooks = Hooks()
    hooks.on("AfterTool")(lambda _event: replace_result("[removed]"))
    model = script([call("guarded", command="rm"), call("shell", command="ls")], "Done.")
    agent = make_agent(model, guarded, shell, hooks=Watch())
    await Runner.run(hooked(agent, hooks), "Go on.")
    assert results(model) == ["the guardrail says no", "[removed]"]
    assert seen == ["shell: [removed]"]


async def test_a_tool_is_offered_and_called_only_while_it_is_enabled() -> None:
    enabled = {"shell": True}

    def is_on(_ctx: Any, agent: Any) -> bool:
        assert agent.name == "clerk"
        return enabled["shell"]

    @function_tool(is_enabled=is_on)
    def once() -> str:
        enabled["shell"] = False
        return "done"

    hooks = Hooks()
    seen = note(hooks, "BeforeTool", "BeforeToolSelection")
    model = script(call("once"), "Done.")
    await Runner.run(hooked(make_agent(model, once, shell), hooks), "Go on.")
    assert [[tool.name for tool in c.tools] for c in model.calls] == [["once", "shell"], ["shell"]]
    offered = [e["available_tools"] for e in seen if "available_tools" in e]
    assert offered == [["once", "shell"], ["shell"]]


async def test_a_call_that_follows_another_runs_through_its_own_hooks_and_its_own_schema() -> None:
    @function_tool
    def log(text: str, level: int = 1) -> str:
        return f"logged {text} at {level}"

    tail = {"tailToolCallRequest": {"name": "log", "args": {"text": "ls ran"}}}
    hooks = Hooks()
    hooks.on("AfterTool", matcher="shell")(lambda _event: {"hookSpecificOutput": tail})
    hooks.on("BeforeTool", matcher="log")(lambda _event: rewrite(level=2))
    seen = note(hooks, "BeforeTool")
    model = script(call("shell", command="ls"), "Done.")
    await Runner.run(hooked(make_agent(model, shell, log), hooks), "Go on.")
    assert results(model) == ["logged ls ran at 2"]
    assert seen[-1]["original_request_name"] == "shell"


async def test_a_tool_that_needs_an_approval_does_not_follow_another_at_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    @function_tool(needs_approval=True)
    def pay() -> str:
        raise AssertionError("nobody approved it")

    tail = {"tailToolCallRequest": {"name": "pay", "args": {}}}
    hooks = Hooks()
    hooks.on("AfterTool", matcher="shell")(lambda _event: {"hookSpecificOutput": tail})
    model = script(call("shell", command="ls"), "Done.")
    await Runner.run(hooked(make_agent(model, shell, pay), hooks), "Go on.")
    assert results(model) == ["ran ls"]
    assert "the tail call of 'pay'" in caplog.text


async def test_messages_of_hooks_reach_the_model_with_the_result() -> None:
    hooks = Hooks()
    hooks.on("BeforeTool")(lambda _event: combine(rewrite(command="ls -l"), message("be brief")))
    model = script(call("shell", command="ls"), "Done.")
    await Runner.run(hooked(make_agent(model, shell), hooks), "Go on.")
    assert results(model) == ["ran ls -l\n\n[System] be brief"]


async def test_one_call_at_a_time_stops_before_the_next_one() -> None:
    ran: list[str] = []

    @function_tool
    def step(number: int) -> str:
        ran.append(str(number))
        return "ok"

    hooks = Hooks()
    hooks.on("AfterTool")(lambda _event: stop("enough"))
    model = script([call("step", id="a", number=1), call("step", id="b", number=2)], "Never.")
    config = RunConfig(tool_execution=ToolExecutionConfig(max_function_tool_concurrency=1))
    result = await Runner.run(hooked(make_agent(model, step), hooks), "Go on.", run_config=config)
    assert ran == ["1"]
    assert result.final_output == "enough"


async def test_a_hook_that_fails_lets_the_call_run_and_one_that_fails_closed_does_not(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def fail(_event: Any) -> None:
        raise RuntimeError("broken hook")

    for on_failure, read in (("continue", "ran ls"), ("block", "broken hook")):
        hooks = Hooks()
        options: Any = {} if on_failure == "continue" else {"on_failure": "block"}
        hooks.on("BeforeTool", **options)(fail)
        model = script(call("shell", command="ls"), "Done.")
        await Runner.run(hooked(make_agent(model, shell), hooks), "Go on.")
        assert read in results(model)[0]
    assert "broken hook" in caplog.text


async def test_the_arguments_that_a_tool_gets_are_json_again() -> None:
    got: list[Any] = []

    async def invoke(_ctx: Any, arguments: str) -> str:
        got.append(json.loads(arguments))
        return "ok"

    raw = FunctionTool("raw", "", {}, invoke, strict_json_schema=False)
    hooks = Hooks()
    hooks.on("BeforeTool")(lambda _event: rewrite(names=["ä"], depth={"n": None}))
    model = script(call("raw", a=1), "Done.")
    await Runner.run(hooked(make_agent(model, raw), hooks), "Go on.")
    assert got == [{"a": 1, "names": ["ä"], "depth": {"n": None}}]
