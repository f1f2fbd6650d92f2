"""What Claude Code calls events and tools: which event a key of its settings is here, which hooks
may be on it and for how long, and which names a matcher picks."""

import os
import re
from collections.abc import Mapping

from hookline.fired import Target
from hookline.pipeline.dialects.tools import ToolAlias, claude_names, other_names
from hookline.pipeline.matcher import Match, compile_expression, is_name_list
from hookline.problem import Problem
from hookline.wire.claude_events import ClaudeEventName
from hookline.wire.events import EVENTS, EventName, HookEventName, find_event

# Claude Code's name -> our event, where they are not called the same.
MAPPED_EVENTS: Mapping[str, HookEventName] = {
    "PreToolUse": HookEventName.BEFORE_TOOL,
    "PostToolUse": HookEventName.AFTER_TOOL,
    "PostToolUseFailure": HookEventName.AFTER_TOOL,
    "UserPromptSubmit": HookEventName.BEFORE_AGENT,
    "Stop": HookEventName.AFTER_AGENT,
    "SessionStart": HookEventName.SESSION_START,
    "SessionEnd": HookEventName.SESSION_END,
    "PreCompact": HookEventName.PRE_COMPRESS,
    "Notification": HookEventName.NOTIFICATION,
}
EVENT_NAMES = (*MAPPED_EVENTS, *(event.value for event in ClaudeEventName))
# The events of one call of a tool.
CALL_EVENTS = frozenset(
    {"PreToolUse", "PostToolUse", "PostToolUseFailure", "PermissionRequest", "PermissionDenied"}
)
# What a matcher is compared with: our word -> Claude Code's.
CLAUDE_WORDS: Mapping[EventName, Mapping[str, str]] = {
    HookEventName.SESSION_START: {"compress": "compact"},
    HookEventName.SESSION_END: {"exit": "prompt_input_exit"},
    HookEventName.NOTIFICATION: {"ToolPermission": "permission_prompt"},
}

_COMMAND_EVENTS = frozenset({"SessionStart", "Setup"})
_PROMPT_EVENTS = frozenset(
    {
        *("PreToolUse", "PostToolUse", "PostToolUseFailure", "PostToolBatch"),
        *("PermissionRequest", "PermissionDenied", "UserPromptSubmit", "UserPromptExpansion"),
        *("Stop", "SubagentStop", "TaskCreated", "TaskCompleted", "TeammateIdle"),
    }
)
_NOT_RUN_HERE = {
    "agent": "agent hooks are not run here: this host has no agent to ask; use a prompt hook",
    "mcp_tool": "mcp_tool hooks are not run here; call the server's tool from a command hook",
}
# Their matchers are lists of fewer characters.
_WORD_LIST = re.compile(r"[A-Za-z0-9_|]*")
_WORD_EVENTS = frozenset({ClaudeEventName.FILE_CHANGED, ClaudeEventName.STOP_FAILURE})
# The letters that mean something behind a backslash in JavaScript.
_JS_ESCAPE = re.compile(
    r"\\(?:[dDwWsSbBnrtvf0-9]|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|k<(?P<group>\w+)>|c(?P<control>[A-Za-z])"
    r"|(?P<itself>.))",
    re.DOTALL,
)
_JS_COUNT = re.compile(r"\{\d+(?:,\d*)?\}")


def find_claude_event(name: str) -> EventName | None:
    """The event that is fired here under one of Claude Code's names."""
    if name in MAPPED_EVENTS:
        return MAPPED_EVENTS[name]
    event = find_event(name)
    return event if isinstance(event, ClaudeEventName) else None


def default_timeout(key: str, kind: str) -> float:
    """The timeout in milliseconds of a hook that says none."""
    if key == "SessionEnd":
        return 1_500
    return 30_000 if kind == "prompt" or key == "UserPromptSubmit" else 600_000


def refuse_kind(key: str, kind: str) -> str | None:
    """Why hooks of a type cannot be on an event, None if they can."""
    if kind in _NOT_RUN_HERE:
        return _NOT_RUN_HERE[kind]
    if key in _COMMAND_EVENTS and kind in ("http", "prompt"):
        return f"{kind} hooks cannot be on {key}, which takes command hooks alone"
    if kind == "prompt" and key not in _PROMPT_EVENTS:
        return f"prompt hooks cannot be on {key}; use a command hook"
    return None


def compile_claude_matcher(
    event: EventName, text: str | None, tools: Mapping[str, ToolAlias] | None
) -> tuple[Match, Problem | None]:
    """The test a matcher stands for. One that nobody can read matches all, so that what it guards
    stays guarded."""
    spec = EVENTS[event]
    if text in (None, "", "*") or spec.target is None:
        return _match_all, None
    is_words = event in _WORD_EVENTS
    if _WORD_LIST.fullmatch(text) if is_words else is_name_list(text):
        names = {name.strip() for name in re.split("[|,]", text)} - {""}
        if not names:
            return _match_all, _report(f"{text!r} names nothing" if text.strip() else "is blank")
        return _compare(event, names.__contains__, tools), None
    try:
        test = compile_expression(_from_javascript(text), ascii_only=True)
    except ValueError as error:
        return _match_all, _report(f"{text!r} is not a regular expression ({error})")
    # Where a name must not be found, another name of the same tool must not be taken for it.
    return _compare(event, test, tools, by_first="(?!" in text or "(?<!" in text), None


def _match_all(_name: str) -> bool:
    return True


def _report(message: str) -> Problem:
    return Problem(kind="bad-matcher", message=message, consequence="it matches all")


def _compare(
    event: EventName,
    test: Match,
    tools: Mapping[str, ToolAlias] | None,
    *,
    by_first: bool = False,
) -> Match:
    """The test of what is matched, given as we call it, by the names that Claude Code has for it;
    ``by_first`` by its name there alone."""
    if EVENTS[event].search:

        def match_tool(name: str) -> bool:
            if isinstance(name, Target):
                names = (name.elsewhere, *other_names(name.elsewhere), str(name))
            else:
                names = claude_names(name, tools=tools)
            return any(map(test, names[:1] if by_first else names))

        return match_tool
    if event is ClaudeEventName.FILE_CHANGED:
        return lambda path: test(os.path.basename(path))
    words = CLAUDE_WORDS.get(event, {})
    return lambda word: test(word.elsewhere if isinstance(word, Target) else words.get(word, word))


def _from_javascript(text: str) -> str:
    """An expression of JavaScript's in the syntax of the ``regex`` package."""
    pieces: list[str] = []
    at, in_class = 0, False
    while at < len(text):
        char, end = text[at], at + 1
        escape = _JS_ESCAPE.match(text, at) if char == "\\" else None
        if escape is not None:
            end = escape.end()
            if escape["group"]:
                char = f"(?P={escape['group']})"
            elif escape["control"]:
                char = f"\\x{ord(escape['control']) % 32:02x}"
            else:
                char = re.escape(escape["itself"]) if escape["itself"] else escape[0]
        elif in_class:
            in_class = char != "]"
            char = "\\[" if char == "[" else char
        elif text.startswith(("[^]", "[]"), at):
            is_any = text[at + 1] == "^"
            char, end = ("[\\s\\S]", at + 3) if is_any else ("(?!)", at + 2)
        elif char == "[":
            in_class = True
        elif char == "$":
            char = "\\Z"
        elif char == "{" and not _JS_COUNT.match(text, at):
            char = "\\{"
        pieces.append(char)
        at = end
    return "".join(pieces)
