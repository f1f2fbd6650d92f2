"""A tool call between its hooks, written down: a question that is answered hours later, in another
process, is about the call that hooks have seen, and they are not run for it again."""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from hookline.engine.view import Circumstances
from hookline.wire.codec import show

if TYPE_CHECKING:
    from hookline.calls.tool import Firing, ToolCall

# Changes with the form of a record: one of another version is not taken up.
_VERSION = 1


class CallRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A call as hooks were shown it, what they answered, and under which circumstances.
    ``reason`` is that of the question that the user is to answer, None if there is none."""

    version: int = _VERSION
    tool_name: str
    tool_input: Any
    mcp_context: dict[str, Any] | None
    call_id: str | None
    reason: str | None
    answered: dict[str, Any]
    circumstances: Circumstances

    def find_difference(self, call: "ToolCall", now: Circumstances) -> str | None:
        """Return why the record does not hold for a call, None if it does."""
        then = self.circumstances
        shown = show(call.input)
        if self.version != _VERSION:
            return "another version of hookline wrote it"
        if self.tool_name != call.name or self.mcp_context != call.mcp_context:
            return f"it is about {self.tool_name}"
        # What is shown only in part, or as a text, may differ where hooks did not see it.
        if shown.cuts or shown.as_text or write_input(self.tool_input) != write_input(call.input):
            return "the input is another one"
        if then.session_id != now.session_id:
            return "it belongs to another session"
        if then.labels != now.labels:
            return "the session has other labels now"
        if not then.policy or then.policy != now.policy:
            return "the hooks in force have changed"
        return None


def write_input(tool_input: Any) -> str:
    """Return an input as hooks are shown it, in a form in which equal inputs are equal texts; True
    is not 1 there."""
    return json.dumps(show(tool_input).value, sort_keys=True, separators=(",", ":"))


def write_record(
    call: "ToolCall", answered: dict[str, Any], now: Circumstances, *, reason: str | None
) -> dict[str, Any]:
    """Return the JSON of a call whose hooks have answered."""
    record = CallRecord(
        tool_name=call.name,
        tool_input=show(call.input).value,
        mcp_context=call.mcp_context,
        call_id=call.id,
        reason=reason,
        answered=answered,
        circumstances=now,
    )
    written: dict[str, Any] = msgspec.to_builtins(record)
    return written


def read_record(firing: "Firing", call: "ToolCall", record: Mapping[str, Any]) -> CallRecord | None:
    """Return what was written about a call; None, with a warning, if it does not hold for it."""
    try:
        read = msgspec.convert(record, CallRecord)
        why = read.find_difference(call, firing.describe_circumstances())
    except (msgspec.ValidationError, ValueError) as error:
        read, why = None, f"it cannot be read: {error}"
    if why is None:
        return read
    firing.warn(f"what was written about a call of {call.name} does not hold: {why}; it is new")
    return None
