"""Applies to an agent's model call what hooks answer."""

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
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

from hookline.adapters.langchain.marks import (
    MARK,
    drop_hidden,
    mark,
    read_marks,
    read_text,
    say,
    settle,
)
from hookline.adapters.langchain.runs import Run
from hookline.adapters.langchain.toolcalls import StoppedCalls
from hookline.adapters.steps import (
    Keep,
    ModelStep,
    Replace,
    Reply,
    Send,
    describe_refused_call,
    split_json,
)
from hookline.calls.tool import text_of

_RAW_CALLS = ("tool_calls", "function_call")


async def call_model(
    run: Run,
    stopped: StoppedCalls,
    request: ModelRequest[Any],
    handler: Callable[[ModelRequest[Any]], Any],
) -> Any:
    """Call the model between its hooks; return what ``handler`` returns, or the hooks' answer."""
    stop = _find_stop(request.messages)
    if stop is not None:
        stopped.forget(run.conversation, request.state)
        run.end(stop)
    request = _read_marks(run, request)
    if run.may_skip_model():
        await run.start()
        return await settle(handler(request))
    step = ModelStep(run)
    opening = await step.open(partial(_add_texts, request))
    if isinstance(opening, Reply):
        return _make_reply(run, request, opening)
    assert isinstance(opening, Send)
    with _hold_back_streams() if opening.holds_back else nullcontext():
        response = await settle(handler(opening.request))
    shown = _show_structured(response)
    closing = await step.close(shown, calls=[call["name"] for call in _list_open_calls(response)])
    if isinstance(closing, Reply):
        return _make_reply(run, request, closing)
    assert isinstance(closing, Keep | Replace)
    if isinstance(closing, Replace):
        response = _parse_again(request, response, closing.response)
    response = _mark_answer(response, run.take_notes(), hidden=closing.hidden)
    return _refuse_calls(response, closing.refused)


def _find_stop(messages: Sequence[BaseMessage]) -> str | None:
    """Return why hooks stopped the tools of the last reply, None if they did not."""
    for message in reversed(messages):
        if not isinstance(message, ToolMessage):
            return None
        stop: str | None = read_marks(message).get("stop")
        if stop is not None:
            return stop
    return None


def _read_marks(run: Run, request: ModelRequest[Any]) -> ModelRequest[Any]:
    """Take up what hooks told the model earlier; return the request without the messages that no
    model may read."""
    messages = request.messages
    # Checked first, since every call looks through the whole conversation.
    if not any(MARK in message.additional_kwargs for message in messages):
        return request
    run.read_notes(messages)
    shown = drop_hidden(messages)
    return request if len(shown) == len(messages) else request.override(messages=shown)


def _add_texts(request: ModelRequest[Any], texts: Sequence[str]) -> ModelRequest[Any]:
    if not texts:
        return request
    added: list[AnyMessage] = [HumanMessage(text) for text in texts]
    return request.override(messages=[*request.messages, *added])


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


def _make_reply(run: Run, request: ModelRequest[Any], reply: Reply) -> Any:
    """Return the response in place of a call or of the model's own response."""
    marks: dict[str, Any] = {"blocked": True} if reply.blocked else {}
    if reply.stop is not None:
        marks = {"stop": reply.stop}
    response = reply.response
    if response is None or reply.blocked:
        response = ModelResponse([say(reply.text, marks)])
    elif reply.stop is None and request.response_format is not None:
        try:
            parsed = _parse(request.response_format, _find_answer(response))
            response = ModelResponse(response.result, parsed)
        except Exception as error:
            response = ModelResponse([say(f"{reply.error}: {error}", {"blocked": True})])
    return _mark_answer(response, run.take_notes(), hidden=reply.hidden, **marks)


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


def _list_open_calls(response: Any) -> list[ToolCall]:
    """Return the tool calls of a response that LangChain will run."""
    answer, result = _find_answer(response), _list_messages(response)
    done = {message.tool_call_id for message in result if isinstance(message, ToolMessage)}
    return [call for call in (answer.tool_calls if answer else ()) if call["id"] not in done]


def _list_messages(response: Any) -> Sequence[BaseMessage]:
    held = response.model_response if isinstance(response, ExtendedModelResponse) else response
    return [held] if isinstance(held, AIMessage) else held.result


def _refuse_calls(response: Any, names: Collection[str]) -> Any:
    """Return the response with an error for each call of these tools, so that LangChain does not
    run it."""
    if not names:
        return response
    refused = [
        ToolMessage(
            describe_refused_call(call["name"]),
            name=call["name"],
            tool_call_id=call["id"],
            status="error",
        )
        for call in _list_open_calls(response)
        if call["name"] in names
    ]
    held = response.model_response if isinstance(response, ExtendedModelResponse) else response
    parsed = getattr(held, "structured_response", None)
    whole: ModelResponse[Any] = ModelResponse([*_list_messages(response), *refused], parsed)
    if isinstance(response, ExtendedModelResponse):
        return ExtendedModelResponse(whole, response.command)
    return whole


def _find_answer(response: Any) -> AIMessage | None:
    found = [message for message in _list_messages(response) if isinstance(message, AIMessage)]
    return found[-1] if found else None


def _mark_answer(response: Any, notes: Sequence[str], *, hidden: bool, **marks: Any) -> Any:
    """Return the response with what hooks say about it as marks on its last answer."""
    if notes:
        marks["notes"] = [*notes]
    if hidden:
        marks["suppressed"] = True
    answer = _find_answer(response)
    if answer is None or not marks:
        return response
    if isinstance(response, AIMessage):
        return mark(answer, **marks)
    if isinstance(response, ExtendedModelResponse):
        inner = _mark_answer(response.model_response, (), hidden=False, **marks)
        return ExtendedModelResponse(inner, response.command)
    marked = mark(answer, **marks)
    result = [marked if message is answer else message for message in response.result]
    return ModelResponse(result, response.structured_response)
