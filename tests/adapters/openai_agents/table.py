"""OpenAI's Agents SDK in the table, with its own ScriptedModel."""

import asyncio
from collections.abc import Iterator
from typing import Any

from agents import (
    Agent,
    FunctionTool,
    RunConfig,
    Runner,
    RunState,
    SQLiteSession,
    function_tool,
    set_tracing_disabled,
)
from agents.result import RunResultBase
from agents.testing import ModelCall, ModelStep, assistant_message, function_call

from hookline.adapters.openai_agents import close, hooked, read_question
from tests.adapters.openai_agents.models import TalkingModel
from tests.kit.adapters import DELEGATE, HELPER, Call, Harness, Limit, Message, Run

set_tracing_disabled(True)


async def run(run: Run) -> None:
    model = TalkingModel([ModelStep.respond(_Replies(run)) for _ in range(12)])
    tools = [*_make_tools(run)]
    if run.delegates:
        helper = Agent(name=HELPER, model=model, tools=[*tools])
        tools.append(helper.as_tool(DELEGATE, "Run the helper."))
    agent = hooked(Agent(name="clerk", model=model, tools=[*tools]), run.hooks)
    session = SQLiteSession(run.session_id)
    try:
        for prompt in run.prompts:
            result = await _MODES[run.mode](run, agent, prompt, session)
            while result.interruptions:
                state = result.to_state()
                for item in result.interruptions:
                    question = read_question(item)
                    assert question is not None
                    if run.approve(f"{question.tool_name}: {question.reason}"):
                        state.approve(item)
                    else:
                        state.reject(item, rejection_message=f"no: {question.reason}")
                result = await _MODES[run.mode](run, agent, state, session)
            run.finish(str(result.final_output))
    finally:
        session.close()
        close(agent)


def _make_tools(run: Run) -> Iterator[FunctionTool]:
    for tool in run.tools:
        is_plain = run.mode == "run_sync"
        yield function_tool(tool.function if is_plain else tool.coroutine)


class _Replies:
    """The model's replies; the script has more steps than a scenario takes."""

    def __init__(self, run: Run) -> None:
        self._run = run

    def __call__(self, call: ModelCall) -> ModelStep:
        names = [tool.name for tool in call.tools]
        reply = self._run.next_reply([*_messages(call.input)], names)
        text = [assistant_message(reply.text)] if reply.text else []
        calls = [function_call(c.name, _list_args(c), call_id=c.id) for c in reply.calls]
        return ModelStep(output=[*text, *calls])


def _list_args(call: Call) -> dict[str, Any]:
    """The arguments of a call; an agent as a tool has one of its own."""
    return {"input": call.args["task"]} if call.name == DELEGATE else call.args


def _messages(items: list[Any]) -> Iterator[Message]:
    roles = {"assistant": "model", "system": "system", "user": "user"}
    for item in items:
        if item.get("type") == "function_call_output":
            yield Message("tool", str(item["output"]))
        elif "role" in item:
            yield Message(roles[item["role"]], _text_of(item["content"]))


def _text_of(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "".join(part["text"] for part in content)


async def _run(run: Run, agent: Agent, given: str | RunState, session: Any) -> RunResultBase:
    result = await Runner.run(agent, given, session=session)
    _show(run, result)
    return result


async def _run_sync(run: Run, agent: Agent, given: str | RunState, session: Any) -> RunResultBase:
    def call() -> RunResultBase:
        # run_sync makes a loop in a thread that has none, and leaves it open.
        asyncio.set_event_loop(loop := asyncio.new_event_loop())
        try:
            return Runner.run_sync(agent, given, session=session)
        finally:
            asyncio.set_event_loop(None)
            loop.close()

    result = await asyncio.to_thread(call)
    _show(run, result)
    return result


async def _run_streamed(
    run: Run, agent: Agent, given: str | RunState, session: Any
) -> RunResultBase:
    # A group is a session too, where there is no Session.
    config = RunConfig(group_id=run.session_id)
    result = Runner.run_streamed(agent, given, session=session, run_config=config)
    async for event in result.stream_events():
        if event.type == "raw_response_event" and event.data.type == "response.output_text.delta":
            run.show(event.data.delta)
    return result


_MODES: dict[str, Any] = {
    "run_sync": _run_sync,
    "async run": _run,
    "async run_streamed": _run_streamed,
}


def _show(run: Run, result: RunResultBase) -> None:
    for response in result.raw_responses:
        for item in response.output:
            if item.type == "message":
                run.show("".join(getattr(part, "text", "") for part in item.content))


HARNESS = Harness(
    name="openai_agents",
    title="OpenAI Agents 0.24",
    modes=tuple(_MODES),
    limits={
        "ask": Limit("✓", note="needs_approval"),
        "BeforeAgent block forgets the prompt": Limit(
            "✗",
            note="prompt stays",
            why="the SDK has the prompt in its result and its Session when hooks are asked",
        ),
        "BeforeAgent context": Limit(
            "◐",
            note="not in session",
            why="the model reads it in every call of the run, and no Session keeps it",
        ),
        "AfterAgent send back": Limit(
            "◐",
            note="inside the model gate",
            why="the answer that was sent back, and why, are in no result and no Session",
        ),
        "SessionStart": Limit(
            "◐", note="first use", why="a conversation begins with its first run in this process"
        ),
        "SessionEnd": Limit(
            "◐", note="close()", why="the SDK does not know that a conversation is over"
        ),
        "PreCompress": Limit("✗", why="a Session compacts its history itself, or the program does"),
    },
    run=run,
    delegates=True,
)
