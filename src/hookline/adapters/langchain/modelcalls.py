"""Applies to an agent's model call what hooks answer."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from langchain.agents.middleware import ExtendedModelResponse, ModelRequest, ModelResponse
from langchain.agents.structured_output import (
    AutoStrategy,
    OutputToolBinding,
    ProviderStrategy,
    ProviderStrategyBinding,
    ToolStrategy,
)
from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    BaseMessage,
    HumanMessage,
    ToolCall,
    ToolMessage,
)
from langchain_core.runnables.config import var_child_runnable_config

from hookline.adapters.gates import (
    Conversation,
    ModelOutcome,
    describe_refused_call,
    split_json,
)
from hookline.adapters.langchain.marks import (
    MARK,
    drop_hidden,
    mark,
    read_marks,
    read_text,
    say,
    settle,
)
from hookline.adapters.langchain.toolcalls import StoppedCalls
from hookline.calls.tool import text_of
from hookline.hooks import Face
from hookline.translate.langchain import LangChainTranslator
from hookline.wire.events import HookEventName

_EVENTS = (
    HookEventName.BEFORE_TOOL_SELECTION,
    HookEventName.BEFORE_MODEL,
    HookEventName.AFTER_MODEL,
)
_RAW_CALLS = ("tool_calls", "function_call")


async def call_model(
    conversation: Conversation,
    face: Face,
    stopped: StoppedCalls,
    request: ModelRequest[Any],
    handler: Callable[[ModelRequest[Any]], Any],
) -> Any:
    """Call the model between its hooks; return what ``handler`` returns, or the hooks' answer."""
    await conversation.start(face)
    stop = _find_stop(request.messages)
    if stop is not None:
        stopped.forget(conversation, request.state)
        return ModelResponse(result=[say(stop, {"stop": stop})])
    request = _add_kept_texts(request, conversation)
    if face.may_skip(*_EVENTS):
        return await settle(handler(request))
    gate = await face.model_gate(request)
    if gate.outcome is not None:
        return _finish_unsent(request, gate.outcome)
    if gate.holds_back:
        with _hold_back_streams():
            response = await settle(handler(gate.request))
    else:
        response = await settle(handler(gate.request))
    shown = _show_structured(response)
    outcome = await gate.finish(shown)
    if outcome.blocked or outcome.stop is not None:
        return _finish_rejected(outcome)
    kept = response
    if outcome.response is not shown:
        kept = _parse_again(request, response, outcome.response)
    kept = _mark_answer(kept, outcome)
    return kept if gate.allowed is None else _refuse_calls(face, kept, gate.allowed)


def _find_stop(messages: Sequence[BaseMessage]) -> str | None:
    """Return why hooks stopped the tools of the last reply, None if they did not."""
    for message in reversed(messages):
        if not isinstance(message, ToolMessage):
            return None
        stop: str | None = read_marks(message).get("stop")
        if stop is not None:
            return stop
    return None


def _add_kept_texts(request: ModelRequest[Any], conversation: Conversation) -> ModelRequest[Any]:
    """Return the request with the texts that hooks kept for it, and without the messages that no
    model may read."""
    messages, texts = request.messages, conversation.take()
    # Checked first, since every call looks through the whole conversation.
    if any(MARK in message.additional_kwargs for message in messages):
        last = next((m for m in reversed(messages) if isinstance(m, AIMessage)), None)
        if last is not None:
            texts = [*read_marks(last).get("notes", ()), *texts]
        messages = drop_hidden(messages)
    if not texts and len(messages) == len(request.messages):
        return request
    added: list[AnyMessage] = [HumanMessage(text) for text in texts]
    return request.override(messages=[*messages, *added])


@contextmanager
def _hold_back_streams() -> Iterator[None]:
    """Keep a model call within from being streamed: hooks may change the response. What they leave
    is streamed as one message when the step ends."""
    config = var_child_runnable_config.get()
    callbacks = (config or {}).get("callbacks")
    handlers = getattr(callbacks, "handlers", [])
    # The handlers of langgraph, astream_events and astream_log.
    streaming = [handler for handler in handlers if hasattr(handler, "tap_output_iter")]
    if config is None or not streaming:
        yield
        return
    quiet: Any = callbacks
    quiet = quiet.copy()
    for handler in streaming:
        quiet.remove_handler(handler)
    token = var_child_runnable_config.set({**config, "callbacks": quiet})
    try:
        yield
    finally:
        var_child_runnable_config.reset(token)


def _finish_unsent(request: ModelRequest[Any], outcome: ModelOutcome) -> Any:
    """Return the response for a call that hooks answered or blocked."""
    if outcome.blocked or outcome.stop is not None:
        return _finish_rejected(outcome)
    response: ModelResponse[Any] = outcome.response
    if request.response_format is not None:
        try:
            parsed = _parse(request.response_format, _find_answer(response))
            response = ModelResponse(response.result, parsed)
        except Exception as error:
            told = (
                "a hook answered in the model's place, but without the structured answer that "
                f"this agent needs: {error}"
            )
            response = ModelResponse([say(told, {"blocked": True})])
    return _mark_answer(response, outcome)


def _finish_rejected(outcome: ModelOutcome) -> ModelResponse[Any]:
    """Return the response for a call that hooks rejected or stopped the loop with."""
    marks: dict[str, Any] = {"blocked": True} if outcome.stop is None else {"stop": outcome.stop}
    if outcome.message:
        marks["notes"] = [f"[System] {outcome.message}"]
    answer = _find_answer(outcome.response)
    reason = outcome.stop if outcome.stop is not None else outcome.reason or ""
    said = read_text(answer) if answer is not None else ""
    if answer is None or outcome.blocked or not said or said == reason:
        return ModelResponse(result=[say(reason, marks)])
    # A stop keeps what the model said, but not what it wants to call.
    kept = _drop_calls(answer)
    return ModelResponse(result=[kept, say(reason, marks)])


def _find_structured_call(response: Any) -> ToolCall | None:
    """Return the tool call by which the model gave a structured answer, None if it did not."""
    if getattr(response, "structured_response", None) is None:
        return None
    done = {m.tool_call_id for m in response.result if isinstance(m, ToolMessage)}
    answer = _find_answer(response)
    calls = [] if answer is None else answer.tool_calls
    return next((call for call in calls if call["id"] in done), None)


def _show_structured(response: Any) -> Any:
    """Return the response as hooks see it: a structured answer is JSON text, whichever way the
    model gave it."""
    call, answer = _find_structured_call(response), _find_answer(response)
    if call is None or answer is None:
        return response
    text = read_text(answer) + text_of(call["args"])
    shown = answer.model_copy(update={"content": text})
    return ModelResponse([shown if message is answer else message for message in response.result])


def _parse_again(request: ModelRequest[Any], before: Any, after: Any) -> Any:
    """Return the response that hooks changed, with its structured answer read from the new text."""
    if getattr(before, "structured_response", None) is None or request.response_format is None:
        return after
    call, answer = _find_structured_call(before), _find_answer(after)
    try:
        if call is not None and answer is not None:
            return _put_structured(request.response_format, call, answer, after.result)
        if after.structured_response is not None:
            return after
        return ModelResponse(after.result, _parse(request.response_format, answer))
    except Exception as error:
        told = f"hooks changed the model's structured answer into an invalid one: {error}"
        return ModelResponse([say(told, {"blocked": True})])


def _put_structured(
    response_format: Any, call: ToolCall, answer: AIMessage, result: list[BaseMessage]
) -> ModelResponse[Any]:
    """Return a response whose structured answer is a call with the JSON at the end of a text."""
    said, args = split_json(read_text(answer))
    specs = _find_specs(response_format)
    spec = next((spec for spec in specs if spec.name == call["name"]), specs[0])
    parsed = OutputToolBinding.from_schema_spec(spec).parse(args)
    # Provider packages keep the raw call here, with the old arguments.
    beside = {k: v for k, v in answer.additional_kwargs.items() if k not in _RAW_CALLS}
    calls = [{**c, "args": args} if c["id"] == call["id"] else c for c in answer.tool_calls]
    changes = {"content": said, "tool_calls": calls, "additional_kwargs": beside}
    told = getattr(response_format, "tool_message_content", None)
    done = ToolMessage(
        told or f"Returning structured response: {parsed}",
        tool_call_id=call["id"],
        name=call["name"],
    )
    kept = [
        done if isinstance(message, ToolMessage) and message.tool_call_id == call["id"] else message
        for message in result
        if message is not answer
    ]
    return ModelResponse([answer.model_copy(update=changes), *kept], parsed)


def _find_specs(response_format: Any) -> list[Any]:
    """Return the schemas of a structured answer."""
    if isinstance(response_format, ProviderStrategy):
        return [response_format.schema_spec]
    if not isinstance(response_format, ToolStrategy):
        is_auto = isinstance(response_format, AutoStrategy)
        response_format = ToolStrategy(response_format.schema if is_auto else response_format)
    return list(response_format.schema_specs)


def _parse(response_format: Any, answer: AIMessage | None) -> Any:
    """Return the structured answer that a text holds; raise if it holds none."""
    if answer is None:
        raise ValueError("there is no answer")
    failure: Exception = ValueError("there is no schema")
    for spec in _find_specs(response_format):
        try:
            return ProviderStrategyBinding.from_schema_spec(spec).parse(answer)
        except Exception as error:
            failure = error
    raise failure


def _refuse_calls(face: Face, response: Any, allowed: frozenset[str]) -> Any:
    """Return the response with an error for each call of a tool that hooks do not allow now, so
    that LangChain does not run it."""
    answer = _find_answer(response)
    held = response.model_response if isinstance(response, ExtendedModelResponse) else response
    if answer is None:
        return response
    result = [held] if isinstance(held, AIMessage) else held.result
    done = {message.tool_call_id for message in result if isinstance(message, ToolMessage)}
    refused = [
        ToolMessage(
            describe_refused_call(call["name"]),
            name=call["name"],
            tool_call_id=call["id"],
            status="error",
        )
        for call in answer.tool_calls
        if call["name"] not in allowed and call["id"] not in done
    ]
    if not refused:
        return response
    names = ", ".join(sorted({str(message.name) for message in refused}))
    face.warn(f"the model called {names}, which hooks do not allow in this call: it did not run")
    parsed = getattr(held, "structured_response", None)
    whole: ModelResponse[Any] = ModelResponse([*result, *refused], parsed)
    if isinstance(response, ExtendedModelResponse):
        return ExtendedModelResponse(whole, response.command)
    return whole


def _find_answer(response: Any) -> AIMessage | None:
    if isinstance(response, ExtendedModelResponse):
        response = response.model_response
    if isinstance(response, AIMessage):
        return response
    found = [message for message in response.result if isinstance(message, AIMessage)]
    return found[-1] if found else None


def _mark_answer(response: Any, outcome: ModelOutcome) -> Any:
    """Return the response with the hooks' message and suppression as marks on its last answer."""
    marks: dict[str, Any] = {}
    if outcome.message:
        marks["notes"] = [f"[System] {outcome.message}"]
    if outcome.suppressed:
        marks["suppressed"] = True
    answer = _find_answer(response)
    if answer is None or not marks:
        return response
    if isinstance(response, AIMessage):
        return mark(answer, **marks)
    if isinstance(response, ExtendedModelResponse):
        inner = _mark_answer(response.model_response, outcome)
        return ExtendedModelResponse(inner, response.command)
    marked = mark(answer, **marks)
    result = [marked if message is answer else message for message in response.result]
    return ModelResponse(result, response.structured_response)


def _drop_calls(answer: AIMessage) -> AIMessage:
    names = [call["name"] for call in answer.tool_calls]
    kept: AIMessage = LangChainTranslator().drop_calls(answer, names)
    return kept
