"""Structured answers that a model gives by calling an output tool: hooks read and change them as
JSON text."""

from dataclasses import replace

from pydantic_ai.messages import ModelResponse, ModelResponsePart, TextPart, ToolCallPart
from pydantic_ai.models import ModelRequestParameters
from pydantic_core import from_json

from hookline.adapters.steps import split_json
from hookline.errors import BlockedByHook


def show_outputs(
    response: ModelResponse, parameters: ModelRequestParameters | None
) -> ModelResponse:
    """Return the response as hooks see it; the same object if it calls no output tool."""
    names = {tool.name for tool in parameters.output_tools} if parameters is not None else set()
    if not any(isinstance(p, ToolCallPart) and p.tool_name in names for p in response.parts):
        return response
    parts: list[ModelResponsePart] = [
        TextPart(part.args_as_json_str())
        if isinstance(part, ToolCallPart) and part.tool_name in names
        else part
        for part in response.parts
    ]
    return replace(response, parts=parts)


def put_outputs(
    changed: ModelResponse, shown: ModelResponse, response: ModelResponse
) -> ModelResponse:
    """Return the response that hooks left, with its structured answers as calls again; raise
    BlockedByHook if they left no JSON in place of one."""
    if changed is shown:
        return response
    if shown is response:
        return changed
    pairs = zip(response.parts, shown.parts, strict=True)
    calls = {
        place: own
        for place, (own, seen) in enumerate(pairs)
        if own is not seen and isinstance(own, ToolCallPart)
    }
    parts = list(changed.parts)
    if len(parts) == len(shown.parts):
        for place, call in calls.items():
            parts[place] = _put_args(call, parts[place])
        return replace(changed, parts=parts)
    # Hooks gave one text for all: the answer is the JSON at its end.
    texts = [place for place, part in enumerate(parts) if isinstance(part, TextPart)]
    if len(calls) != 1 or not texts:
        raise _refuse_answer()
    [call] = calls.values()
    last = parts[texts[-1]]
    assert isinstance(last, TextPart)
    try:
        said, _ = split_json(last.content)
    except ValueError:
        raise _refuse_answer() from None
    parts[texts[-1] :] = [
        *([replace(last, content=said)] if said else []),
        _put_args(call, replace(last, content=last.content[len(said) :])),
        *parts[texts[-1] + 1 :],
    ]
    return replace(changed, parts=parts)


def _put_args(call: ToolCallPart, part: ModelResponsePart) -> ToolCallPart:
    """Return the call with the arguments of a text; the call itself if they are the same."""
    text = part.content if isinstance(part, TextPart) else ""
    if text == call.args_as_json_str():
        return call
    try:
        args = from_json(text)
    except ValueError:
        raise _refuse_answer() from None
    if not isinstance(args, dict):
        raise _refuse_answer()
    return replace(call, args=text if isinstance(call.args, str) else args)


def _refuse_answer() -> BlockedByHook:
    return BlockedByHook(
        "the model's response", "hooks left no JSON object in place of its structured answer"
    )
