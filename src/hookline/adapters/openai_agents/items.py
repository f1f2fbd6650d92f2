"""Items of the SDK's conversations: replies of hooks in a model's place, and marks on the questions
that interrupt a run, which its stored state carries."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from agents import ModelResponse, ToolApprovalItem, Usage
from agents.models.fake_id import FAKE_RESPONSES_ID
from openai.types.responses import (
    Response,
    ResponseOutputMessage,
    ResponseOutputText,
    ResponseUsage,
)

from hookline.calls.tool import ConfirmationRequest, ToolInput
from hookline.translate.values import get, put

MARK = "hookline"
# Calls that the SDK acts on: a response without any of these ends the run.
_CALLS = frozenset({
    *("function_call", "custom_tool_call", "computer_call", "local_shell_call", "shell_call"),
    *("apply_patch_call", "mcp_approval_request"),
})  # fmt: skip
# The type of a call that does not name its tool -> the SDK's name for the tool.
_NAMES = {"mcp_approval_request": "hosted_mcp", "computer_call": "computer_use_preview"}


class Mark(dict[str, Any]):
    """What hooks answered about a call. A model can forge one in its call, but only as JSON, which
    never has this class."""


def read_question(interruption: ToolApprovalItem) -> ConfirmationRequest | None:
    """Return what a hook asks the user about a call: the tool, the input as hooks left it, the
    reason. None for a question that no hook asked."""
    mark = read_mark(interruption)
    answered = mark.get("answered")
    if answered is None:
        return None
    changed = answered.get("hookSpecificOutput", {}).get("tool_input")
    return ConfirmationRequest(
        mark["tool_name"],
        mark["tool_input"] if changed is None else changed,
        answered.get("reason", ""),
        answered.get("systemMessage"),
    )


def read_mark(interruption: ToolApprovalItem) -> Mapping[str, Any]:
    mark = get(interruption.raw_item, MARK)
    return mark if isinstance(mark, Mapping) else {}


def put_mark(interruption: ToolApprovalItem, mark: Mark) -> None:
    """Set the mark of a question, and remove any that a model forged; an empty mark sets none."""
    item: Any = interruption.raw_item
    if mark or isinstance(item, Mapping):
        item = put(item, {MARK: mark or None})
    elif hasattr(item, MARK):
        item = item.model_copy()
        delattr(item, MARK)
    interruption.raw_item = item


def read_arguments(arguments: str) -> ToolInput:
    """Read the arguments of a call for hooks; what is not a JSON object becomes the field
    ``arguments``."""
    try:
        read = json.loads(arguments) if arguments else {}
    except ValueError:
        read = None
    return read if isinstance(read, dict) else {"arguments": arguments}


def name_call(item: object) -> str | None:
    """Return the name of the tool that an item calls, None for an item that is not a call."""
    kind = get(item, "type")
    if kind not in _CALLS:
        return None
    if kind in _NAMES:
        return _NAMES[kind]
    name, space = get(item, "name"), get(item, "namespace")
    if name is None:
        return str(kind).removesuffix("_call")
    return f"{space}.{name}" if space and space != name else str(name)


def make_response(text: str) -> Response:
    """Make a reply of one text in a model's place."""
    content = ResponseOutputText(type="output_text", text=text, annotations=[])
    message = ResponseOutputMessage(
        # The SDK does not send this id to an API.
        id=FAKE_RESPONSES_ID,
        type="message",
        role="assistant",
        status="completed",
        content=[content],
    )
    return as_response([message])


def as_response(output: Sequence[Any], usage: Usage | None = None) -> Response:
    """Make a response of the API from a model's output items."""
    counts = usage and ResponseUsage.model_construct(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        total_tokens=usage.total_tokens,
    )
    return Response.model_construct(
        id=None,
        object="response",
        created_at=0,
        model="",
        status="completed",
        output=list(output),
        parallel_tool_calls=False,
        tool_choice="auto",
        tools=[],
        usage=counts,
    )


def settle_ids(response: Response) -> Response:
    """Return the response with the SDK's fake id on the messages that hooks added."""
    if not any(get(item, "id") == MARK for item in response.output):
        return response
    output = [
        put(item, {"id": FAKE_RESPONSES_ID}) if get(item, "id") == MARK else item
        for item in response.output
    ]
    return put_output(response, output)


def put_output(response: Response, output: Sequence[Any]) -> Response:
    changed: Response = put(response, {"output": list(output)})
    return changed


def as_model_response(response: Response) -> ModelResponse:
    return ModelResponse(output=response.output, usage=Usage(), response_id=None)


def read_text(response: Response) -> str:
    """Return the text of a response, including that of a refusal."""
    parts = (
        part
        for item in response.output
        if get(item, "type") == "message"
        for part in get(item, "content") or ()
    )
    return "".join(get(part, "text") or get(part, "refusal") or "" for part in parts)


def is_final(response: Response) -> bool:
    """True if a run ends with this response."""
    kinds = {get(item, "type") for item in response.output}
    return "message" in kinds and _CALLS.isdisjoint(kinds)


def read_prompt(items: Any) -> str | None:
    """Return the user's prompt if the input of a model ends with one; system and developer messages
    may follow it."""
    if isinstance(items, str):
        return items
    asides = ("system", "developer")
    last = next((item for item in reversed(items) if get(item, "role") not in asides), None)
    if get(last, "role") != "user":
        return None
    content = get(last, "content")
    if isinstance(content, str):
        return content
    return "\n\n".join(get(part, "text") or "" for part in content or ()).strip()


def has_history(items: Any) -> bool:
    """True if the input already holds something that the model said."""
    return not isinstance(items, str) and any(get(item, "role") == "assistant" for item in items)
