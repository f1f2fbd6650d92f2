"""The answers of hooks, as the protocol's plain dictionaries: a function returns them, a script
prints them as JSON. It imports nothing but ``typing``, so that scripts start fast."""

from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


class SpecificReply(TypedDict, total=False):
    """What depends on the event in a hook's answer: each event reads its own of these fields."""

    hookEventName: str
    userMessage: str
    additionalContext: str
    tool_input: dict[str, Any]
    removeToolInput: list[str]
    permissionDecision: "Decision"
    permissionDecisionReason: str
    updatedToolOutput: str
    tailToolCallRequest: dict[str, Any]
    clearContext: bool
    llm_request: dict[str, Any]
    llm_response: dict[str, Any]
    toolConfig: dict[str, Any]
    exports: dict[str, str]
    keepHistory: bool


Decision: TypeAlias = Literal["allow", "approve", "ask", "block", "deny"]

Reply = TypedDict(
    "Reply",
    {
        "continue": bool,
        "stopReason": str,
        "suppressOutput": bool,
        "systemMessage": str,
        "decision": Decision,
        "reason": str,
        "hookSpecificOutput": SpecificReply,
    },
    total=False,
)
Reply.__doc__ = """What a hook answers: a dictionary of the protocol, whose fields may all be left
out. The functions of this module make one; a type checker finds a misspelt field."""

# From the weakest to the strictest: the stricter one of two stands.
_STRICTNESS = ("allow", "approve", "ask", "block", "deny")
# Texts that are joined, so that none is lost.
_JOINED = ("reason", "stopReason", "systemMessage", "additionalContext")


def allow() -> Reply:
    """Let the event go on."""
    return {"decision": "allow"}


def deny(reason: str) -> Reply:
    """Block what is about to happen, or reject what happened; the model reads the reason."""
    return {"decision": "deny", "reason": reason}


def ask(reason: str) -> Reply:
    """Ask the user to confirm a tool call."""
    return {"decision": "ask", "reason": reason}


def stop(reason: str) -> Reply:
    """Stop the agent's loop."""
    return {"continue": False, "stopReason": reason}


def rewrite(**tool_input: Any) -> Reply:
    """Call the tool with these fields in place of its own; the others stay."""
    return {"hookSpecificOutput": {"tool_input": tool_input}}


def add_context(text: str) -> Reply:
    """Add a text to what the model reads."""
    return {"hookSpecificOutput": {"additionalContext": text}}


def replace_result(text: str) -> Reply:
    """Have the model read a text in place of the tool's result (AfterTool). The tool has run, so
    this is no denial."""
    return {"hookSpecificOutput": {"updatedToolOutput": text}}


def replace_answer(text: str) -> Reply:
    """Replace the text of the model's response (AfterModel), or answer in the model's place
    (BeforeModel)."""
    return {"hookSpecificOutput": {"llm_response": {"text": text}}}


def only_tools(*names: str) -> Reply:
    """Let the model call only these tools (BeforeToolSelection); without names, none."""
    config = {"allowedFunctionNames": [*names]} if names else {"mode": "NONE"}
    return {"hookSpecificOutput": {"toolConfig": config}}


def map_text(event: "Mapping[str, Any]", change: "Callable[[str], str]") -> Reply | None:
    """Apply a function to each text in a tool's result (AfterTool), in the model's response
    (AfterModel) or in the request to it (BeforeModel); None if that changes nothing.

    A result is a text for the model: of a list of parts that changes, the texts are left, and of
    any other object its JSON. Raises ValueError on another event, which has no such text.
    """
    name = event["hook_event_name"]
    if name not in _TEXTS:
        raise ValueError(f"map_text has no text to change on {name}; use it on {', '.join(_TEXTS)}")
    specific = _TEXTS[name](event, change)
    return None if specific is None else {"hookSpecificOutput": specific}


def _map_result(event: "Mapping[str, Any]", change: "Callable[[str], str]") -> SpecificReply | None:
    result = event["tool_response"]
    content = (
        result["llmContent"] if isinstance(result, dict) and "llmContent" in result else result
    )
    changed = _map_strings(content, change)
    if changed == content:
        return None
    if isinstance(changed, list) and all(isinstance(part, str | dict) for part in changed):
        texts = [part if isinstance(part, str) else part.get("text") for part in changed]
        return {"updatedToolOutput": "\n".join(text for text in texts if isinstance(text, str))}
    if not isinstance(changed, str):
        from json import dumps

        changed = dumps(changed, ensure_ascii=False)
    return {"updatedToolOutput": changed}


def _map_response(
    event: "Mapping[str, Any]", change: "Callable[[str], str]"
) -> SpecificReply | None:
    before = [candidate["content"]["parts"] for candidate in event["llm_response"]["candidates"]]
    after = [[change(text) for text in parts] for parts in before]
    if after == before:
        return None
    candidates = [{"content": {"role": "model", "parts": parts}} for parts in after]
    return {"llm_response": {"candidates": candidates}}


def _map_request(
    event: "Mapping[str, Any]", change: "Callable[[str], str]"
) -> SpecificReply | None:
    before = event["llm_request"]["messages"]
    after = [{**message, "content": change(message["content"])} for message in before]
    return None if after == before else {"llm_request": {"messages": after}}


# Event -> what maps the texts in it.
_TEXTS = {"AfterTool": _map_result, "AfterModel": _map_response, "BeforeModel": _map_request}


def _map_strings(value: Any, change: "Callable[[str], str]") -> Any:
    """Return JSON with a function applied to each string in it; names of fields stay."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list):
        return [_map_strings(item, change) for item in value]
    if isinstance(value, dict):
        return {name: _map_strings(item, change) for name, item in value.items()}
    return value


def message(text: str) -> Reply:
    """Show a message to the user and the model."""
    return {"systemMessage": text}


def combine(*replies: Reply) -> Reply:
    """Combine several answers: objects are merged, texts joined by a newline, the strictest
    decision and a stop stand; of other values the last counts."""
    combined: dict[str, Any] = {}
    for reply in replies:
        _merge(combined, cast("dict[str, Any]", reply))
    return cast(Reply, combined)


def _merge(into: dict[str, Any], reply: dict[str, Any]) -> None:
    for name, value in reply.items():
        before = into.get(name)
        if isinstance(before, dict) and isinstance(value, dict):
            _merge(before, value)
        elif name == "decision" and before in _STRICTNESS and value in _STRICTNESS:
            into[name] = max(before, value, key=_STRICTNESS.index)
        elif name == "continue" and before is False:
            continue
        elif name in _JOINED and isinstance(before, str) and isinstance(value, str):
            into[name] = f"{before}\n{value}"
        elif isinstance(value, dict):
            # Objects are copied, as later answers are merged into them.
            into[name] = {}
            _merge(into[name], value)
        else:
            into[name] = value
