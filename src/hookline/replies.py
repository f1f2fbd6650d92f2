"""The answers of hooks, as the protocol's plain dictionaries: a function returns them, a script
prints them as JSON. It imports nothing but ``typing``, so that scripts start fast."""

from typing import Any, TypeAlias

Reply: TypeAlias = dict[str, Any]

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
    """Replace the tool's result with a text."""
    return {"decision": "deny", "reason": text}


def message(text: str) -> Reply:
    """Show a message to the user and the model."""
    return {"systemMessage": text}


def combine(*replies: Reply) -> Reply:
    """Combine several answers: objects are merged, texts joined by a newline, the strictest
    decision and a stop stand; of other values the last counts."""
    combined: Reply = {}
    for reply in replies:
        _merge(combined, reply)
    return combined


def _merge(into: Reply, reply: Reply) -> None:
    for name, value in reply.items():
        before = into.get(name)
        if isinstance(before, dict) and isinstance(value, dict):
            _merge(into[name], value)
        elif name == "decision" and before in _STRICTNESS and value in _STRICTNESS:
            into[name] = max(before, value, key=_STRICTNESS.index)
        elif name == "continue" and before is False:
            continue
        elif name in _JOINED and isinstance(before, str) and isinstance(value, str):
            into[name] = f"{before}\n{value}"
        else:
            # Objects are copied, as later answers are merged into them.
            into[name] = combine(value) if isinstance(value, dict) else value
