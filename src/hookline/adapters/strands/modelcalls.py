"""Renders what a step of a model call decides as the events of Strands' ``InvokeModelStage``."""

from collections.abc import AsyncGenerator, Iterator, Sequence
from typing import Any

from strands.middleware import InvokeModelContext, ModelStopReason, TypedEvent

from hookline.adapters.steps import Keep, ModelStep, Replace, Reply, Send, SendBack
from hookline.adapters.strands.runs import AgentRun
from hookline.adapters.strands.translator import StrandsTranslator, find_output_tools, read_text


async def call_model(
    run: AgentRun, context: InvokeModelContext, next_fn: Any
) -> AsyncGenerator[TypedEvent, None]:
    """Call the model between its hooks, and yield its events; held back, if hooks may change the
    response."""
    step = ModelStep(run)
    opening = await step.open(lambda texts: add_texts(context, texts))
    if not isinstance(opening, Send):
        for event in _write_response(run, opening):
            yield event
        return
    if run.allowed is not None:
        # The model gives a structured answer by calling a tool.
        run.allowed |= find_output_tools(context)
    held: list[TypedEvent] = []
    response: ModelStopReason | None = None
    async for event in next_fn(opening.request):
        if isinstance(event, ModelStopReason):
            response = event
        elif opening.holds_back:
            held.append(event)
        else:
            yield event
    if response is None:
        # Another middleware let the call end without one; Strands reports it.
        return
    closing = await step.close(response)
    if not isinstance(closing, Keep):
        held = [*_write_response(run, closing)]
    else:
        held.append(response)
        if closing.hidden:
            run.hidden.append(response.message)
    for event in held:
        yield event


def _write_response(run: AgentRun, decision: Reply | Replace | SendBack) -> Iterator[TypedEvent]:
    """Yield the events of a response that hooks put in place of the model's."""
    assert not isinstance(decision, SendBack), "turns end with their invocation"
    response: ModelStopReason | None = decision.response
    if response is None:
        assert isinstance(decision, Reply)
        response = StrandsTranslator().empty_response(decision.text)
    if decision.hidden:
        run.hidden.append(response.message)
    yield from split_response(response)
    yield response


class _Delta(TypedEvent):
    """A piece of a text; as in Strands, callbacks get it with the state of the invocation."""

    def prepare(self, invocation_state: dict[str, Any]) -> None:
        self.update(invocation_state)


def split_response(response: ModelStopReason) -> Iterator[TypedEvent]:
    """Yield the events that a stream has before this response."""
    yield TypedEvent({"event": {"messageStart": {"role": "assistant"}}})
    for block in response.message["content"]:
        text = read_text(block)
        if text:
            delta = {"text": text}
            yield TypedEvent({"event": {"contentBlockStart": {"start": {}}}})
            yield TypedEvent({"event": {"contentBlockDelta": {"delta": delta}}})
            yield _Delta({"data": text, "delta": delta})
            yield TypedEvent({"event": {"contentBlockStop": {}}})
    yield TypedEvent({"event": {"messageStop": {"stopReason": response.stop_reason}}})


def add_texts(context: InvokeModelContext, texts: Sequence[str]) -> InvokeModelContext:
    """Return the context of a call with texts for the model at the end of its messages."""
    if not texts:
        return context
    return context.replace(messages=with_texts(context.messages, texts))


def with_texts(messages: Sequence[Any], texts: Sequence[str]) -> list[Any]:
    """Return messages with texts added to the last, if it is the user's, since roles alternate."""
    added = [{"text": text} for text in texts]
    if messages and messages[-1]["role"] == "user":
        last = {**messages[-1], "content": [*messages[-1]["content"], *added]}
        return [*messages[:-1], last]
    return [*messages, {"role": "user", "content": added}]
