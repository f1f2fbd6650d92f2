"""What a hook may answer, and the one place that interprets an answer.

``create_hook_output`` makes an output from a hook's JSON; callers use its methods and never look
into ``hookSpecificOutput`` themselves. Outputs of model events answer in SDK types, through the
call that they were made with.
"""

from collections.abc import Mapping
from typing import Any, Protocol

import msgspec

from hookline.errors import HooklineError
from hookline.wire.events import EventName, HookEventName

NO_REASON = "No reason provided"
BLOCKING_WORDS = frozenset({"block", "deny"})
DECISION_WORDS = BLOCKING_WORDS | {"allow", "approve", "ask"}
# The modes of a tool selection, from the widest to the narrowest.
TOOL_MODES = ("AUTO", "ANY", "NONE")

# Wire name -> the type that a value must have; others are ignored.
TOP_LEVEL_FIELDS: dict[str, type] = {
    "continue": bool,
    "stopReason": str,
    "suppressOutput": bool,
    "systemMessage": str,
    "decision": str,
    "reason": str,
    "hookSpecificOutput": dict,
}

# A text for the user alone, on every event; the model reads ``systemMessage`` too.
_FOR_USER: dict[str, type] = {"userMessage": str}


class _SpecificFields(dict[EventName, dict[str, type]]):
    """The fields by event, with a default for events that only other dialects have."""

    def __missing__(self, event: EventName) -> dict[str, type]:
        fields = {"additionalContext": str, **_FOR_USER}
        if event == "PermissionRequest":
            fields |= {"tool_input": dict, "removeToolInput": list}
        return fields


# Event -> the fields of ``hookSpecificOutput`` that are read, each with the type of its value.
# ``permissionDecision`` is checked as a decision is.
SPECIFIC_FIELDS = _SpecificFields(
    {
        HookEventName.BEFORE_TOOL: {
            "tool_input": dict,
            "removeToolInput": list,
            "permissionDecision": object,
            "permissionDecisionReason": str,
            "additionalContext": str,
            **_FOR_USER,
        },
        HookEventName.AFTER_TOOL: {
            "additionalContext": str,
            "updatedToolOutput": str,
            "tailToolCallRequest": dict,
            **_FOR_USER,
        },
        HookEventName.BEFORE_AGENT: {"additionalContext": str, **_FOR_USER},
        HookEventName.AFTER_AGENT: {"clearContext": bool, "additionalContext": str, **_FOR_USER},
        HookEventName.BEFORE_MODEL: {"llm_request": dict, "llm_response": dict, **_FOR_USER},
        HookEventName.AFTER_MODEL: {"llm_response": dict, **_FOR_USER},
        HookEventName.BEFORE_TOOL_SELECTION: {"toolConfig": dict, **_FOR_USER},
        HookEventName.SESSION_START: {"additionalContext": str, "exports": dict, **_FOR_USER},
        HookEventName.SESSION_END: _FOR_USER,
        HookEventName.PRE_COMPRESS: {"keepHistory": bool, **_FOR_USER},
        HookEventName.NOTIFICATION: _FOR_USER,
    }
)
TYPE_WORDS = {bool: "true or false", str: "a string", dict: "an object", list: "a list"}


class TranslatedCall(Protocol):
    """The model call that an output is about: it puts what hooks answer into SDK types, and ignores
    what is malformed (``pipeline/modelcall.py``)."""

    def change_request(self, field: str, change: Any, request: Any) -> Any:
        """Return a request with what hooks change; ``field`` is where they say it."""
        ...

    def make_response(self, answer: Any, base: Any = None) -> Any:
        """Return the response that hooks give, on the base of the model's; None if malformed."""
        ...

    def change_tool_config(self, change: Any, tool_config: Any) -> Any:
        """Return a tool config with what hooks change."""
        ...


class BlockingError(msgspec.Struct, frozen=True):
    """Says whether an output blocks, and why."""

    blocked: bool
    reason: str


class ToolSelection(msgspec.Struct, frozen=True):
    """The tool config and the tools of a request after the hooks, in the caller's form."""

    tool_config: Any = None
    tools: Any = None


class DefaultHookOutput(msgspec.Struct, frozen=True, kw_only=True):
    """An answer with the seven fields that all events share; None is a field that was left out."""

    continue_: bool | None = None
    stop_reason: str | None = None
    suppress_output: bool | None = None
    system_message: str | None = None
    decision: str | None = None
    reason: str | None = None
    hook_specific_output: dict[str, Any] | None = None
    call: TranslatedCall | None = None

    def is_blocking_decision(self) -> bool:
        """True if the answer forbids what is about to happen, or rejects what happened."""
        return self.decision in BLOCKING_WORDS

    def is_ask_decision(self) -> bool:
        """True if the user should be asked."""
        return self.decision == "ask"

    def should_stop_execution(self) -> bool:
        """True if the agent loop should end."""
        return self.continue_ is False

    def get_effective_reason(self) -> str:
        """Return the reason to show: the stop's, else the decision's, else a fixed text."""
        return self.stop_reason or self.reason or NO_REASON

    def get_blocking_error(self) -> BlockingError:
        """Return whether the answer blocks, with the reason; "" if it does not."""
        if not self.is_blocking_decision():
            return BlockingError(blocked=False, reason="")
        return BlockingError(blocked=True, reason=self.get_effective_reason())

    def get_additional_context(self) -> str | None:
        """Return the text that hooks add to what the model reads, or None."""
        context = self._get_specific("additionalContext")
        return context if isinstance(context, str) else None

    def get_updated_tool_output(self) -> str | None:
        """Return the text that replaces the tool's result for the model, or None."""
        output = self._get_specific("updatedToolOutput")
        return output if isinstance(output, str) else None

    def get_user_message(self) -> str | None:
        """Return the text for the user alone, or None."""
        said = self._get_specific("userMessage")
        return said or None if isinstance(said, str) else None

    def get_displayed_message(self) -> str | None:
        """Return what to display to the user: the system message, and the text for the user
        alone."""
        return "\n".join(filter(None, (self.system_message, self.get_user_message()))) or None

    def get_exports(self) -> dict[str, str]:
        """Return the environment variables for the commands of the session's tools."""
        exports = self._get_specific("exports")
        given = exports.items() if isinstance(exports, dict) else ()
        return {name: value for name, value in given if isinstance(value, str)}

    def should_keep_history(self) -> bool:
        """True if the history should not be compressed."""
        return self._get_specific("keepHistory") is True

    def should_clear_context(self) -> bool:
        """True if the agent should forget the conversation so far."""
        return self._get_specific("clearContext") is True

    def get_tail_tool_call_request(self) -> dict[str, Any] | None:
        """Return the tool call, ``{name, args}``, that should run at once, or None."""
        request = self._get_specific("tailToolCallRequest")
        return request if is_tail_tool_call(request) else None

    def to_wire(self) -> dict[str, Any]:
        """Return the answer as scripts write it, without the fields that were left out."""
        # Field by field: a comprehension takes four times as long, and every event does this.
        wire: dict[str, Any] = {}
        if self.continue_ is not None:
            wire["continue"] = self.continue_
        if self.stop_reason is not None:
            wire["stopReason"] = self.stop_reason
        if self.suppress_output is not None:
            wire["suppressOutput"] = self.suppress_output
        if self.system_message is not None:
            wire["systemMessage"] = self.system_message
        if self.decision is not None:
            wire["decision"] = self.decision
        if self.reason is not None:
            wire["reason"] = self.reason
        if self.hook_specific_output is not None:
            wire["hookSpecificOutput"] = self.hook_specific_output
        return wire

    def _get_specific(self, key: str) -> Any:
        return self.hook_specific_output.get(key) if self.hook_specific_output else None

    def require_call(self) -> TranslatedCall:
        """Return the call that this output is about; raises HooklineError without one."""
        if self.call is None:
            raise HooklineError("this output was made without a translator; give it a ModelCall")
        return self.call


class BeforeToolHookOutput(DefaultHookOutput, frozen=True, kw_only=True):
    """BeforeTool: may rewrite the tool's input."""

    def get_modified_tool_input(self) -> dict[str, Any] | None:
        """Return the fields to merge into the tool's input, or None."""
        changed = self._get_specific("tool_input")
        return changed if isinstance(changed, dict) else None

    def get_removed_tool_input(self) -> list[str]:
        """Return the names of the fields to remove from the tool's input."""
        return sorted(read_removed(self.hook_specific_output or {}))

    def apply_to_tool_input(self, given: Any) -> Any:
        """Return the tool's whole input after the hooks; the same object if none changed it."""
        return change_tool_input(given, self.hook_specific_output or {})


class BeforeModelHookOutput(DefaultHookOutput, frozen=True, kw_only=True):
    """BeforeModel: may rewrite the request, or answer it in the model's place."""

    def answers_call(self) -> bool:
        """True if the hook gives a response in the model's place."""
        response = self._get_specific("llm_response")
        if response is None:
            return False
        # Only model events load the model's format.
        from hookline.wire.model import is_llm_response

        return is_llm_response(response)

    def is_blocking_decision(self) -> bool:
        """True if the hook forbids the call, or answers it in the model's place."""
        return self.decision in BLOCKING_WORDS or self.answers_call()

    def get_synthetic_response(self) -> Any:
        """Return the hook's own response in the SDK's form, or None."""
        response = self._get_specific("llm_response")
        return None if response is None else self.require_call().make_response(response)

    def apply_llm_request_modifications(self, request: Any) -> Any:
        """Return the request after the hooks; the same object if they changed nothing."""
        change = self._get_specific("llm_request")
        if change is None:
            return request
        return self.require_call().change_request("llm_request", change, request)


class AfterModelHookOutput(DefaultHookOutput, frozen=True, kw_only=True):
    """AfterModel: may rewrite the response."""

    def get_modified_response(self, base: Any = None) -> Any:
        """Return the response after the hooks, or None if they changed nothing."""
        change = self._get_specific("llm_response")
        return None if change is None else self.require_call().make_response(change, base)


class BeforeToolSelectionHookOutput(DefaultHookOutput, frozen=True, kw_only=True):
    """BeforeToolSelection: may restrict the tools of the call."""

    def get_tool_config(self) -> dict[str, Any] | None:
        """Return what hooks say about the tool config, or None."""
        change = self._get_specific("toolConfig")
        return change if isinstance(change, dict) else None

    def apply_tool_config_modifications(self, tool_config: Any, tools: Any) -> ToolSelection:
        """Return the tool config after the hooks; the tool declarations stay as they are."""
        change = self.get_tool_config()
        if change is not None:
            tool_config = self.require_call().change_tool_config(change, tool_config)
        return ToolSelection(tool_config, tools)


class AfterAgentHookOutput(DefaultHookOutput, frozen=True, kw_only=True):
    """AfterAgent: may send the agent back to work, or clear its context."""


# Wire name -> attribute; both are in the same order.
_ATTRIBUTES = dict(zip(TOP_LEVEL_FIELDS, DefaultHookOutput.__struct_fields__, strict=False))
_OUTPUT_TYPES: dict[str, type[DefaultHookOutput]] = {
    "PermissionRequest": BeforeToolHookOutput,
    HookEventName.BEFORE_TOOL: BeforeToolHookOutput,
    HookEventName.BEFORE_MODEL: BeforeModelHookOutput,
    HookEventName.AFTER_MODEL: AfterModelHookOutput,
    HookEventName.BEFORE_TOOL_SELECTION: BeforeToolSelectionHookOutput,
    HookEventName.AFTER_AGENT: AfterAgentHookOutput,
}


def create_hook_output(
    event: EventName, data: Mapping[str, Any], call: TranslatedCall | None = None
) -> DefaultHookOutput:
    """Make the output of an event; fields of the wrong type and unknown decisions are left out."""
    fields: dict[str, Any] = {"call": call}
    for name, value in data.items():
        kind = TOP_LEVEL_FIELDS.get(name)
        if kind is not None and isinstance(value, kind):
            fields[_ATTRIBUTES[name]] = value
    if fields.get("decision") not in DECISION_WORDS:
        fields["decision"] = None
    if event is HookEventName.BEFORE_TOOL and fields.get("hook_specific_output"):
        specific = fields["hook_specific_output"]
        word, why = specific.get("permissionDecision"), specific.get("permissionDecisionReason")
        if not fields["decision"] and isinstance(word, str) and word in DECISION_WORDS:
            fields["decision"] = word
        fields["reason"] = fields.get("reason") or (why if isinstance(why, str) else None)
    return _OUTPUT_TYPES.get(event, DefaultHookOutput)(**fields)


def change_tool_input(given: Any, specific: Mapping[str, Any]) -> Any:
    """Return a tool's input without the fields that hooks remove and with those that they set; the
    same object if they do neither."""
    changed, names = specific.get("tool_input"), read_removed(specific)
    if not isinstance(changed, dict) and not names:
        return given
    before = given if isinstance(given, Mapping) else {}
    kept = {name: value for name, value in before.items() if name not in names}
    return {**kept, **(changed if isinstance(changed, dict) else {})}


def read_removed(specific: Mapping[str, Any]) -> frozenset[str]:
    """Return the names of the fields that hooks remove from a tool's input."""
    removed = specific.get("removeToolInput")
    named = removed if isinstance(removed, list) else ()
    return frozenset(name for name in named if isinstance(name, str))


def find_fault(event: EventName, name: str, value: object) -> str | None:
    """Return why the value of an event's own field cannot be applied (``must be …``), or None."""
    kind = SPECIFIC_FIELDS[event][name]
    if not isinstance(value, kind):
        return f"must be {TYPE_WORDS[kind]}"
    if name in ("removeToolInput", "exports") and isinstance(value, dict | list):
        texts = value.values() if isinstance(value, dict) else value
        if not all(isinstance(each, str) for each in texts):
            return "must hold only strings"
    if name == "tailToolCallRequest" and not is_tail_tool_call(value):
        return "must be {name: string, args: object}"
    if name == "toolConfig" and isinstance(value, dict):
        names = value.get("allowedFunctionNames", [])
        if not isinstance(names, list) or not all(isinstance(each, str) for each in names):
            return "needs a list of strings as allowedFunctionNames"
    if name in ("llm_request", "llm_response"):
        # Only model events load the model's format.
        from hookline.wire.model import llm_request_problem, llm_response_problem

        return (llm_request_problem if name == "llm_request" else llm_response_problem)(value)
    return None


def read_mode(word: object) -> str | None:
    """Return the mode of a tool selection, whatever its case and the blanks around it; None if it
    is not a text."""
    return word.strip().upper() if isinstance(word, str) else None


def is_tail_tool_call(value: object) -> bool:
    """True if a value names a tool and has arguments for it."""
    return (
        isinstance(value, dict)
        and isinstance(value.get("name"), str)
        and isinstance(value.get("args"), dict)
    )
