"""Pydantic AI in the table, with its own FunctionModel.

``run_stream`` takes the first text of a run for its result. There a reply of a text and calls has
its calls alone, unless hooks are to see the text; then the conversation goes on in another run.
"""

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Iterator
from functools import partial
from typing import Any

from pydantic_ai import Agent, DeferredToolRequests, DeferredToolResults, Tool, ToolDenied
from pydantic_ai.messages import (
    AgentStreamEvent,
    ModelMessage,
    ModelResponse,
    PartDeltaEvent,
    PartStartEvent,
    SystemPromptPart,
    TextPart,
    TextPartDelta,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, DeltaToolCalls, FunctionModel

from hookline.adapters.pydantic_ai import HooklineCapability
from tests.kit.adapters import DELEGATE, HELPER, Harness, Limit, Message, Run


async def run(run: Run) -> None:
    with HooklineCapability(run.hooks) as capability:
        model = FunctionModel(partial(_reply, run), stream_function=partial(_stream, run))
        tools: list[Tool[None]] = [
            Tool(tool.coroutine if "async" in run.mode else tool.function, name=tool.name)
            for tool in run.tools
        ]
        if run.delegates:
            helper: Agent[None, str] = Agent(
                model, name=HELPER, tools=tools, capabilities=[capability]
            )
            tools = [*tools, _make_delegate(helper)]
        agent: Agent[None, Any] = Agent(
            model,
            output_type=[str, DeferredToolRequests],
            tools=tools,
            capabilities=[capability],
        )
        play = _MODES[run.mode]
        history: list[ModelMessage] = []
        for prompt in run.prompts:
            output, history = await play(
                run, agent, prompt, conversation_id=run.session_id, message_history=history
            )
            while isinstance(output, DeferredToolRequests):
                answers = DeferredToolResults()
                for call in output.approvals:
                    answers.approvals[call.tool_call_id] = _answer(run, output, call)
                output, history = await play(
                    run, agent, None, message_history=history, deferred_tool_results=answers
                )
            while history and _has_results(history[-1]):
                output, history = await play(run, agent, None, message_history=history)
            run.finish(output)


def _make_delegate(helper: Agent[None, str]) -> Tool[None]:
    async def delegate(task: str) -> str:
        return (await helper.run(task)).output

    return Tool(delegate, name=DELEGATE)


def _has_results(message: ModelMessage) -> bool:
    return any(isinstance(part, ToolReturnPart) for part in message.parts)


def _answer(run: Run, requests: DeferredToolRequests, call: ToolCallPart) -> bool | ToolDenied:
    reason = requests.metadata[call.tool_call_id]["reason"]
    return run.approve(f"{call.tool_name}: {reason}") or ToolDenied(f"no: {reason}")


async def _run(run: Run, agent: Agent[None, Any], prompt: str | None, **given: Any) -> Any:
    result = await agent.run(prompt, **given)
    _show(run, result.new_messages())
    return result.output, result.all_messages()


async def _run_sync(run: Run, agent: Agent[None, Any], prompt: str | None, **given: Any) -> Any:
    def call() -> Any:
        # run_sync makes a loop in a thread that has none, and leaves it open.
        asyncio.set_event_loop(loop := asyncio.new_event_loop())
        try:
            return agent.run_sync(prompt, **given)
        finally:
            asyncio.set_event_loop(None)
            loop.close()

    result = await asyncio.to_thread(call)
    _show(run, result.new_messages())
    return result.output, result.all_messages()


async def _iterate(run: Run, agent: Agent[None, Any], prompt: str | None, **given: Any) -> Any:
    async with agent.iter(prompt, **given) as iterated:
        async for node in iterated:
            if Agent.is_model_request_node(node):
                async with node.stream(iterated.ctx) as stream:
                    async for event in stream:
                        _show_event(run, event)
    assert iterated.result is not None
    return iterated.result.output, iterated.result.all_messages()


async def _run_stream(run: Run, agent: Agent[None, Any], prompt: str | None, **given: Any) -> Any:
    async def show(_ctx: Any, events: AsyncIterable[AgentStreamEvent]) -> None:
        async for event in events:
            _show_event(run, event)

    async with agent.run_stream(prompt, event_stream_handler=show, **given) as result:
        try:
            async for text in result.stream_text(delta=True, debounce_by=None):
                run.show(text)
        except Exception:
            if isinstance(await result.get_output(), str):
                raise
        output = await result.get_output()
    return output, result.all_messages()


async def _run_events(run: Run, agent: Agent[None, Any], prompt: str | None, **given: Any) -> Any:
    async def show(_ctx: Any, events: AsyncIterable[AgentStreamEvent]) -> None:
        async for event in events:
            _show_event(run, event)

    result = await agent.run(prompt, event_stream_handler=show, **given)
    return result.output, result.all_messages()


_MODES: dict[str, Any] = {
    "run_sync": _run_sync,
    "async run": _run,
    "async iter, stream": _iterate,
    "async event_stream_handler": _run_events,
    "async run_stream": _run_stream,
}


def _show(run: Run, messages: list[ModelMessage]) -> None:
    for message in messages:
        if isinstance(message, ModelResponse):
            run.show(message.text or "")


def _show_event(run: Run, event: object) -> None:
    if isinstance(event, PartStartEvent) and isinstance(event.part, TextPart):
        run.show(event.part.content)
    elif isinstance(event, PartDeltaEvent) and isinstance(event.delta, TextPartDelta):
        run.show(event.delta.content_delta)


def _reply(run: Run, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    names = [tool.name for tool in info.function_tools]
    reply = run.next_reply([*_messages(messages)], names)
    text = [TextPart(reply.text)] if reply.text else []
    calls = [ToolCallPart(call.name, call.args, call.id) for call in reply.calls]
    return ModelResponse(parts=[*text, *calls])


async def _stream(
    run: Run, messages: list[ModelMessage], info: AgentInfo
) -> AsyncIterator[str | DeltaToolCalls]:
    names = [tool.name for tool in info.function_tools]
    reply = run.next_reply([*_messages(messages)], names)
    is_final = run.mode == "async run_stream" and not run.hooks.may_answer("AfterModel")
    is_whole = not reply.calls or not is_final
    for piece in reply.pieces if is_whole else ():
        yield piece
    for place, call in enumerate(reply.calls):
        args = "{" + ", ".join(f'"{name}": "{value}"' for name, value in call.args.items()) + "}"
        yield {place: DeltaToolCall(name=call.name, json_args=args, tool_call_id=call.id)}


def _messages(messages: list[ModelMessage]) -> Iterator[Message]:
    roles = {"system-prompt": "system", "user-prompt": "user", "text": "model"}
    for message in messages:
        for part in message.parts:
            if isinstance(part, ToolReturnPart):
                yield Message("tool", part.model_response_str())
            elif isinstance(part, SystemPromptPart | UserPromptPart | TextPart):
                yield Message(roles[part.part_kind], str(part.content))


HARNESS = Harness(
    name="pydantic_ai",
    title="Pydantic AI 2.66",
    modes=tuple(_MODES),
    delegates=True,
    limits={
        "ask": Limit("✓", note="ApprovalRequired"),
        "AfterAgent send back": Limit(
            "◐",
            note="not in run_stream",
            why="`run_stream` hands out its result before the turn is over",
            fails_in=("async run_stream",),
        ),
        "SessionStart": Limit(
            "◐", note="first use", why="a conversation begins with its first run in this process"
        ),
        "SessionEnd": Limit(
            "◐", note="close()", why="the framework does not know that a conversation is over"
        ),
        "PreCompress": Limit(
            "✗", why="histories are compressed by the program, a history processor or the provider"
        ),
    },
    run=run,
)
