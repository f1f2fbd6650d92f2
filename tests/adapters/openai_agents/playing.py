"""Agents with a scripted model, and what came of their runs."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from agents import Agent, Runner, Usage, set_tracing_disabled
from agents.testing import ModelStep, assistant_message, function_call

from hookline import Hooks
from tests.adapters.openai_agents.models import TalkingModel

set_tracing_disabled(True)

Event: TypeAlias = dict[str, Any]


def call(name: str, /, id: str = "", **args: Any) -> Any:
    """A call that the model makes."""
    return function_call(name, args, call_id=id or f"call-{name}")


def script(*replies: Any) -> TalkingModel:
    """A model that replies one after the other: a text, a call, or a list of both."""
    steps = []
    for reply in replies:
        items = reply if isinstance(reply, list) else [reply]
        output = [assistant_message(item) if isinstance(item, str) else item for item in items]
        usage = Usage(requests=1, input_tokens=3, output_tokens=4, total_tokens=7)
        steps.append(ModelStep(output=output, usage=usage))
    return TalkingModel(steps)


def results(model: TalkingModel, number: int = -1) -> list[Any]:
    """What the model read as the results of tools in a request."""
    return [i["output"] for i in model.calls[number].input if "output" in i]


def texts(model: TalkingModel, number: int = -1) -> str:
    """All that the model was sent in a request."""
    return str(model.calls[number].input)


def note(hooks: Hooks, *events: str) -> list[Event]:
    """The events of these names, as hooks are given them from now on."""
    noted: list[Event] = []

    def take(event: Event) -> None:
        noted.append(event)

    for name in events:
        hooks.on(name)(take)
    return noted


class Played:
    """What came of a run: its result, and all events that it streamed."""

    def __init__(self, result: Any, events: Sequence[Any] = ()) -> None:
        self.result, self.events = result, events
        self.output = result.final_output

    @property
    def traces(self) -> str:
        """Whatever a program can see of a run."""
        result = self.result
        seen = [result.to_input_list(), result.raw_responses, result.new_items, self.output]
        return str([*seen, *map(_show_event, self.events)])


def _show_event(event: Any) -> str:
    data = getattr(event, "data", None)
    return str(event) if data is None else str(data.model_dump(warnings=False))


async def play_run(agent: Agent[Any], given: Any, **options: Any) -> Played:
    return Played(await Runner.run(agent, given, **options))


async def play_sync(agent: Agent[Any], given: Any, **options: Any) -> Played:
    def run() -> Any:
        asyncio.set_event_loop(loop := asyncio.new_event_loop())
        try:
            return Runner.run_sync(agent, given, **options)
        finally:
            asyncio.set_event_loop(None)
            loop.close()

    return Played(await asyncio.to_thread(run))


async def play_streamed(agent: Agent[Any], given: Any, **options: Any) -> Played:
    result = Runner.run_streamed(agent, given, **options)
    events = [event async for event in result.stream_events()]
    return Played(result, events)


PLAYS: dict[str, Callable[..., Any]] = {
    "run": play_run,
    "run_sync": play_sync,
    "run_streamed": play_streamed,
}
