"""What a hook says, as the plain dictionaries of the protocol: a function returns them, a script
prints them as JSON. Nothing else is imported, so that a script pays nothing for it."""

from typing import Any, TypeAlias

Reply: TypeAlias = dict[str, Any]

# From the weakest to the strictest: a stricter word is never taken back.
_STRICTNESS = ("allow", "approve", "ask", "block", "deny")
# Texts of which none may get lost.
_JOINED = ("reason", "stopReason", "systemMessage", "additionalContext")


def allow() -> Reply:
    """Let it happen."""
    return {"decision": "allow"}


def deny(reason: str) -> Reply:
    """Do not let it happen, or reject what happened; the model reads the reason."""
    return {"decision": "deny", "reason": reason}


def ask(reason: str) -> Reply:
    """Let the user decide about a tool call."""
    return {"decision": "ask", "reason": reason}


def stop(reason: str) -> Reply:
    """End the agent's loop."""
    return {"continue": False, "stopReason": reason}


def rewrite(**tool_input: Any) -> Reply:
    """Call the tool with these fields in place of its own; the others stay."""
    return {"hookSpecificOutput": {"tool_input": tool_input}}


def add_context(text: str) -> Reply:
    """Let the model read this as well."""
    return {"hookSpecificOutput": {"additionalContext": text}}


def replace_result(text: str) -> Reply:
    """Let the model read this in place of what the tool gave."""
    return {"decision": "deny", "reason": text}


def message(text: str) -> Reply:
    """Tell the user and the model something."""
    return {"systemMessage": text}


def combine(*replies: Reply) -> Reply:
    """All of these at once: objects are merged, texts joined by a newline, the strictest decision
    and a stop stand; of other values the last counts."""
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
            # Objects are copied, as what follows is merged into them.
            into[name] = combine(value) if isinstance(value, dict) else value
