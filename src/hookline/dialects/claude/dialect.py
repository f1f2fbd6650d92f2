"""Claude Code's dialect: how its settings name events and pick hooks, and which hooks run."""

import functools
import os
import re
from collections.abc import Iterator, Mapping
from typing import Any

from hookline._support.problem import Problem
from hookline.dialects.claude.answers import (
    TEXT_EVENTS,
    read_command_answer,
    read_object,
)
from hookline.dialects.claude.inputs import find_failure, show_call, write_document
from hookline.dialects.claude.names import (
    CALL_EVENTS,
    CLAUDE_WORDS,
    EVENT_NAMES,
    MAPPED_EVENTS,
)
from hookline.dialects.claude.rules import Rule, covers, read_rule
from hookline.dialects.document import EventDocument
from hookline.dialects.matcher import NAME_LIST, Match, compile_expression
from hookline.dialects.remarks import Remark
from hookline.dialects.stdout import HookAnswer
from hookline.dialects.tools import ToolAlias, claude_names, other_names
from hookline.errors import HooklineError
from hookline.wire.claude_events import ClaudeEventName
from hookline.wire.events import EVENTS, EventName, find_event
from hookline.wire.fired import Target
from hookline.wire.hooks import HookConfig, OnFailure

# No hook takes a quarter of an hour, so such a timeout was meant in milliseconds.
_LONGEST_TIMEOUT = 1_000
_COMMAND_EVENTS = frozenset({"SessionStart", "Setup"})
_PROMPT_EVENTS = frozenset(
    {
        *("PreToolUse", "PostToolUse", "PostToolUseFailure", "PostToolBatch"),
        *("PermissionRequest", "PermissionDenied", "UserPromptSubmit", "UserPromptExpansion"),
        *("Stop", "SubagentStop", "TaskCreated", "TaskCompleted", "TeammateIdle"),
    }
)
_NOT_RUN_HERE = {
    "agent": "agent hooks are not supported: this host has no agent to ask; use a prompt hook",
    "mcp_tool": "mcp_tool hooks are not supported; call the server's tool from a command hook",
}
# Their matchers are lists of fewer characters.
_WORD_LIST = re.compile(r"[A-Za-z0-9_|]*")
_WORD_EVENTS = frozenset({ClaudeEventName.FILE_CHANGED, ClaudeEventName.STOP_FAILURE})
# The characters that mean something after a backslash in JavaScript.
_JS_ESCAPE = re.compile(
    r"\\(?:[dDwWsSbBnrtvf0-9]|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|k<(?P<group>\w+)>|c(?P<control>[A-Za-z])"
    r"|(?P<itself>.))",
    re.DOTALL,
)
_JS_COUNT = re.compile(r"\{\d+(?:,\d*)?\}")

_read_rule = functools.lru_cache(maxsize=256)(read_rule)


class ClaudeDialect:
    """Tables C1 to C5 of Claude Code's hooks."""

    name = "claude"
    reserved_keys = frozenset[str]()
    failure_words: Mapping[str, OnFailure] = {"continue": "allow", "block": "block"}
    # If a broken hook could keep an agent from ending, the agent would never end.
    open_events = frozenset({"Stop", "SubagentStop", "TaskCompleted", "TeammateIdle"})
    time_unit = "seconds"
    has_conditions = True
    background_keys: tuple[str, ...] = ("async", "asyncRewake")
    text_events = TEXT_EVENTS

    def event_for(self, key: str) -> EventName | None:
        """The event that hookline fires for one of Claude Code's names."""
        if key in MAPPED_EVENTS:
            return MAPPED_EVENTS[key]
        event = find_event(key)
        return event if isinstance(event, ClaudeEventName) else None

    def event_names(self) -> tuple[str, ...]:
        """Return the names of all of Claude Code's events."""
        return EVENT_NAMES

    def timeout_ms(self, value: float) -> float:
        """Convert seconds to milliseconds."""
        return value * 1000

    def default_timeout_ms(self, key: str, kind: str) -> float:
        """Return ten minutes for a command, less where the user waits."""
        if key == "SessionEnd":
            return 1_500
        return 30_000 if kind == "prompt" or key == "UserPromptSubmit" else 600_000

    def refuse_kind(self, key: str, kind: str) -> str | None:
        """Refuse types that hookline does not run, or that the event does not take."""
        if kind in _NOT_RUN_HERE:
            return _NOT_RUN_HERE[kind]
        if key in _COMMAND_EVENTS and kind in ("http", "prompt"):
            return f"{kind} hooks cannot be on {key}; use a command hook"
        if kind == "prompt" and key not in _PROMPT_EVENTS:
            return f"prompt hooks cannot be on {key}; use a command hook"
        return None

    def find_remarks(self, key: str, config: Mapping[str, Any]) -> Iterator[Remark]:
        """Find fields that hookline does not support, and rules that cannot be read."""
        if config.get("shell") == "powershell":
            yield Remark(
                "shell", "powershell is not supported; write the command for bash", is_fatal=True
            )
        if config.get("asyncRewake") is True:
            yield Remark(
                "asyncRewake",
                "is not supported",
                "the hook runs as async and does not wake the agent",
            )
        timeout = config.get("timeout")
        if isinstance(timeout, int | float) and timeout >= _LONGEST_TIMEOUT:
            yield Remark(
                "timeout",
                f"is in seconds, and {timeout:g} of them look like milliseconds",
                "it stays as written",
            )
        condition = config.get("if")
        if not isinstance(condition, str) or not condition:
            return
        if key not in CALL_EVENTS:
            yield Remark(
                "if", f"works only on tool events, and {key} is none", "the hook never runs"
            )
        elif not isinstance(rule := _read_rule(condition), Rule):
            yield Remark("if", rule, "the hook runs on every call that it matches")

    def compile_matcher(
        self, event: EventName, text: str | None, tools: Mapping[str, ToolAlias] | None = None
    ) -> tuple[Match, Problem | None]:
        """Compile a list of exact names, or an expression that is searched for. A matcher that
        cannot be read matches everything, so that what it guards stays guarded."""
        spec = EVENTS[event]
        if text in (None, "", "*") or spec.target is None:
            return _match_all, None
        is_words = event in _WORD_EVENTS
        if (_WORD_LIST if is_words else NAME_LIST).fullmatch(text):
            names = {name.strip() for name in re.split("[|,]", text)} - {""}
            if not names:
                return _match_all, _report_matcher(
                    f"{text!r} names nothing" if text.strip() else "is blank"
                )
            return _compare_names(event, names.__contains__, tools), None
        try:
            test = compile_expression(_translate_javascript(text), ascii_only=True)
        except ValueError as error:
            return _match_all, _report_matcher(f"{text!r} is not a regular expression ({error})")
        # A negative expression must not match by one of the tool's other names.
        return _compare_names(event, test, tools, by_first="(?!" in text or "(?<!" in text), None

    def applies(self, hook: HookConfig, document: EventDocument) -> bool:
        """Decide by the hook's ``if``, and by whether the tool failed; in doubt the hook runs."""
        key = hook.dialect_event
        if key in ("PostToolUse", "PostToolUseFailure"):
            has_failed = find_failure(document) is not None
            if has_failed != (key == "PostToolUseFailure"):
                return False
        if not hook.condition:
            return True
        if key not in CALL_EVENTS:
            return False
        rule = _read_rule(hook.condition)
        try:
            shown = show_call(document)
        except HooklineError:
            # Run the hook: it fails with the same error, and onFailure decides what that means.
            return True
        if not isinstance(rule, Rule):
            return True
        also = () if shown.alias is None else shown.alias.also
        names = (shown.name, *also, *other_names(shown.name), document.payload["tool_name"])
        return covers(rule, names, shown.input, document.payload["cwd"])

    def write_input(self, document: EventDocument) -> bytes:
        """Write the document of table C4."""
        return write_document(document)

    def variables(self, session_id: str) -> Mapping[str, str | None]:
        """Return the variables that mark a process of Claude Code's. Hooks do not inherit those of
        OpenTelemetry, nor those that an outer agent set for its own hooks."""
        hidden = dict.fromkeys(
            (
                *(name for name in os.environ if name.startswith("OTEL_")),
                *("CLAUDE_PLUGIN_ROOT", "CLAUDE_PLUGIN_DATA", "CLAUDE_ENV_FILE"),
            )
        )
        # Scripts test for Claude Code's terminal ("cli") or a program on its SDK ("sdk-py"); this
        # is neither.
        marks = {
            "CLAUDECODE": "1",
            "CLAUDE_CODE_SESSION_ID": session_id,
            "CLAUDE_CODE_ENTRYPOINT": "hookline",
        }
        return {**hidden, **marks}

    def read_answer(
        self,
        document: EventDocument,
        hook_name: str,
        exit_code: int,
        stdout: str,
        stderr: str,
        *,
        strict: bool = False,
    ) -> HookAnswer:
        """Read a command's answer by table C5."""
        return read_command_answer(document, hook_name, exit_code, stdout, stderr, strict=strict)

    def read_value(
        self, document: EventDocument, value: Mapping[str, Any], *, strict: bool = False
    ) -> HookAnswer:
        """Read an object by table C5."""
        return read_object(document, value, strict=strict)


def _match_all(_name: str) -> bool:
    return True


def _report_matcher(message: str) -> Problem:
    return Problem(kind="bad-matcher", message=message, consequence="it matches all")


def _compare_names(
    event: EventName,
    test: Match,
    tools: Mapping[str, ToolAlias] | None,
    *,
    by_first: bool = False,
) -> Match:
    """Return a test of our names that compares the names that Claude Code has for them;
    ``by_first`` compares only the first of these."""
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


def _translate_javascript(text: str) -> str:
    """Translate a JavaScript expression into the syntax of the ``regex`` package."""
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
