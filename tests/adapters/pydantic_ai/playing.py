"""Agents with a scripted model, and what came of their runs."""

from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterator, Sequence
from typing import Any, TypeAlias

from pydantic_ai import Agent
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    ModelResponsePart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
)
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, DeltaToolCalls, FunctionModel

from hookline import Hooks

Reply: TypeAlias = str | ToolCallPart | Sequence[str | ToolCallPart]
Event: TypeAlias = dict[str, Any]


class Script:
    """A model that replies one after the other; ``requests`` is what it was sent."""

    def __init__(self, *replies: Reply) -> None:
        self._replies = iter(replies)
        self.requests: list[list[ModelMessage]] = []
        self.infos: list[AgentInfo] = []
        self.model = FunctionModel(
            self._reply,
            stream_function=self._stream,
            profile={"supports_json_schema_output": True},
        )

    def _next(self, messages: list[ModelMessage], info: AgentInfo) -> list[str | ToolCallPart]:
        self.requests.append(list(messages))
        self.infos.append(info)
        reply = next(self._replies, "Nothing more.")
        return [reply] if isinstance(reply, str | ToolCallPart) else list(reply)

    def _reply(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        parts: list[ModelResponsePart] = [
            TextPart(part) if isinstance(part, str) else part for part in self._next(messages, info)
        ]
        return ModelResponse(parts=parts)

    async def _stream(
        self, messages: list[ModelMessage], info: AgentInfo
    ) -> AsyncIterator[str | DeltaToolCalls]:
        for place, part in enumerate(self._next(messages, info)):
            if isinstance(part, ToolCallPart):
                args = part.args_as_json_str()
                yield {place: DeltaToolCall(part.tool_name, args, tool_call_id=part.tool_call_id)}
            else:
                for at in range(0, len(part), 5):
                    yield part[at : at + 5]

    def results(self, number: int = -1) -> list[str]:
        """What the model read as the results of tools in a request."""
        return [
            part.content if isinstance(part.content, str) else part.model_response_str()
            for part in tool_returns(self.requests[number])
        ]


def call(name: str, /, **args: Any) -> ToolCallPart:
    """A call that the model makes."""
    return ToolCallPart(name, args)


def tool_returns(messages: Sequence[ModelMessage]) -> Iterator[ToolReturnPart]:
    """The results of tools in a history."""
    for message in messages:
        if isinstance(message, ModelRequest):
            yield from (part for part in message.parts if isinstance(part, ToolReturnPart))


def note(hooks: Hooks, *events: str) -> list[Event]:
    """The events of these names, as hooks are given them from now on."""
    noted: list[Event] = []

    def take(event: Event) -> None:
        noted.append(event)

    for name in events:
        hooks.on(name)(take)
    return noted


class Played:
    """What came of a run: its output, its messages, and all events that it streamed."""

    def __init__(self) -> None:
        self.output: Any = None
        self.messages: list[ModelMessage] = []
        self.json = b""
        self.events: list[Any] = []


Play: TypeAlias = Callable[..., Any]


async def play_run(agent: Agent[Any, Any], prompt: str | None, **given: Any) -> Played:
    played = Played()
    result = await agent.run(prompt, **given)
    played.output, played.messages = result.output, result.all_messages()
    played.json = result.new_messages_json()
    return played


async def play_handler(agent: Agent[Any, Any], prompt: str | None, **given: Any) -> Played:
    played = Played()

    async def take(_ctx: Any, events: AsyncIterable[Any]) -> None:
        played.events += [event async for event in events]

    result = await agent.run(prompt, event_stream_handler=take, **given)
    played.output, played.messages = result.output, result.all_messages()
    played.json = result.new_messages_json()
    return played


async def play_stream_events(agent: Agent[Any, Any], prompt: str | None, **given: Any) -> Played:
    played = Played()
    async with agent.run_stream_events(prompt, **given) as events:
        played.events = [event async for event in events]
    result = played.events[-1].result
    played.output, played.messages = result.output, result.all_messages()
    played.json = result.new_messages_json()
    return played


async def play_iter(agent: Agent[Any, Any], prompt: str | None, **given: Any) -> Played:
    played = Played()
    async with agent.iter(prompt, **given) as run:
        async for node in run:
            if Agent.is_model_request_node(node) or Agent.is_call_tools_node(node):
                async with node.stream(run.ctx) as stream:
                    played.events += [event async for event in stream]
    assert run.result is not None
    played.output, played.messages = run.result.output, run.result.all_messages()
    played.json = run.result.new_messages_json()
    return played


async def play_run_stream(agent: Agent[Any, Any], prompt: str | None, **given: Any) -> Played:
    played = Played()

    async def take(_ctx: Any, events: AsyncIterable[Any]) -> None:
        played.events += [event async for event in events]

    async with agent.run_stream(prompt, event_stream_handler=take, **given) as result:
        played.events += [output async for output in result.stream_output(debounce_by=None)]
        played.output = await result.get_output()
    played.messages, played.json = result.all_messages(), result.new_messages_json()
    return played


PLAYS: dict[str, Play] = {
    "run": play_run,
    "run, event_stream_handler": play_handler,
    "run_stream_events": play_stream_events,
    "iter": play_iter,
    "run_stream": play_run_stream,
}
