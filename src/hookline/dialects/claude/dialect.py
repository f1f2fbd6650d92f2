"""Claude Code's dialect: how its settings name events and pick hooks, and which hooks run."""

import functools
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hookline._support.problem import Problem
from hookline.dialects.claude.answers import (
    TEXT_EVENTS,
    read_command_answer,
    read_object,
)
from hookline.dialects.claude.events import (
    CALL_EVENTS,
    CLAUDE_EVENTS,
    CLAUDE_WORDS,
    EVENT_NAMES,
    MAPPED_EVENTS,
    NAME,
    OWN_TRIGGERS,
    ClaudeEventName,
)
from hookline.dialects.claude.inputs import (
    find_failure,
    is_of_subagent,
    show_call,
    write_document,
)
from hookline.dialects.claude.payloads import read_claude_event
from hookline.dialects.claude.prompts import refuse
from hookline.dialects.claude.rules import Rule, covers, read_rule
from hookline.dialects.claude.tools import (
    CLAUDE_NAMES,
    claude_names,
    host_names,
    other_names,
    show_as_claude,
    show_as_host,
)
from hookline.dialects.document import EventDocument
from hookline.dialects.matcher import Match, compile_expression
from hookline.dialects.remarks import Remark
from hookline.dialects.stdout import HookAnswer
from hookline.dialects.tools import ShownCall, ToolAlias
from hookline.errors import HooklineError
from hookline.wire.events import EVENTS, EventName, EventSpec
from hookline.wire.fired import FiredEvent, Target
from hookline.wire.hooks import HookConfig, HookSource, OnFailure, PromptHook

if TYPE_CHECKING:
    from hookline.settings.layers import Layer, Plugin
    from hookline.settings.reader import Origin

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
# A sub-agent has SubagentStart and SubagentStop in their place.
_OF_MAIN_AGENT = frozenset({"UserPromptSubmit", "Stop", "SessionStart", "SessionEnd"})
# A matcher that is a list of names, not an expression.
_NAME_LIST = re.compile(r"[A-Za-z0-9_\- ,|]*")
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

    name = NAME
    reserved_keys = frozenset[str]()
    failure_words: Mapping[str, OnFailure] = {"continue": "allow", "block": "block"}
    # If a broken hook could keep an agent from ending, the agent would never end.
    open_events = frozenset({"Stop", "SubagentStop", "TaskCompleted", "TeammateIdle"})
    time_unit = "seconds"
    has_conditions = True
    text_events = TEXT_EVENTS
    extra_events: Mapping[str, EventSpec] = CLAUDE_EVENTS
    fired_by_all = frozenset({"PermissionRequest"})
    fired_by_some = frozenset({"SubagentStart", "SubagentStop", "PostCompact", "StopFailure"})
    env_file = "CLAUDE_ENV_FILE"
    env_file_events = frozenset({"SessionStart", "Setup", "CwdChanged", "FileChanged"})

    @property
    def hook_keys(self) -> frozenset[str]:
        """The keys of Claude Code's hooks of any type."""
        from hookline.dialects.claude.settings import HOOK_KEYS

        return HOOK_KEYS

    def read_layer(
        self,
        value: Mapping[str, Any],
        source: HookSource,
        origin: "Origin",
        tools: Mapping[str, ToolAlias] | None,
    ) -> "Layer":
        """Read a settings object of Claude Code's."""
        from hookline.dialects.claude.settings import read_claude_layer

        return read_claude_layer(value, source, origin, tools)

    def apply_rules(self, layers: "Sequence[Layer]") -> "tuple[list[Layer], dict[str, str]]":
        """Apply what Claude Code's settings say about hooks of all files."""
        from hookline.dialects.claude.settings import apply_rules

        return apply_rules(layers)

    def make_tools(
        self,
        layers: "Iterable[Layer]",
        *,
        of_code: Mapping[str, ToolAlias] | None,
        of_project: Mapping[str, Mapping[str, Any]],
    ) -> tuple[dict[str, ToolAlias], list[Problem]]:
        """Return what the host's tools are in Claude Code."""
        from hookline.dialects.claude.settings import make_tools

        return make_tools(layers, of_code=of_code, of_project=of_project)

    def find_plugin_root(self, folder: str) -> str:
        """Return the real folder of a plugin."""
        from hookline.dialects.claude.settings import find_root

        return find_root(folder)

    def read_plugin(
        self,
        folder: str,
        source: HookSource,
        place: Problem,
        tools: Mapping[str, ToolAlias] | None,
    ) -> "Plugin":
        """Read the hooks of a plugin."""
        from hookline.dialects.claude.settings import read_plugin

        return read_plugin(folder, source, place, tools)

    def event_for(self, key: str) -> EventName | None:
        """The event that hookline fires for one of Claude Code's names."""
        if key in MAPPED_EVENTS:
            return MAPPED_EVENTS[key]
        spec = CLAUDE_EVENTS.get(key)
        return None if spec is None else spec.event

    def event_names(self) -> tuple[str, ...]:
        """Return the names of all of Claude Code's events."""
        return EVENT_NAMES

    def is_in_words(self, event: EventName, fields: Mapping[str, Any]) -> bool:
        """True for a trigger that only Claude Code has."""
        field, words = OWN_TRIGGERS.get(event, ("", frozenset()))
        word = fields.get(field)
        return isinstance(word, str) and word in words

    def read_event(
        self, name: str, fields: Mapping[str, Any], tools: Mapping[str, ToolAlias] | None
    ) -> FiredEvent:
        """Read an event that Claude Code, or a host in its words, fires."""
        return read_claude_event(name, fields, tools)

    def tool_names(self) -> tuple[str, ...]:
        """Return the names of Claude Code's tools, former ones too."""
        return CLAUDE_NAMES

    def host_tools(self, name: str) -> tuple[str, ...]:
        """Return the hosts' tools that a matcher for the name picks."""
        return host_names(name)

    def names_of_tool(
        self, name: str, tools: Mapping[str, ToolAlias] | None = None
    ) -> tuple[str, ...]:
        """Return Claude Code's name, its other names there, and the host's own."""
        return claude_names(name, tools=tools)

    def show_call(
        self,
        name: str,
        tool_input: Mapping[str, Any],
        *,
        tools: Mapping[str, ToolAlias] | None = None,
        cwd: str | None = None,
    ) -> ShownCall:
        """Show a host's call as Claude Code would word it."""
        return show_as_claude(name, tool_input, tools=tools, cwd=cwd)

    def show_to_host(
        self,
        name: str,
        tool_input: Mapping[str, Any],
        *,
        tools: Mapping[str, ToolAlias] | None = None,
    ) -> ShownCall:
        """Show a call of Claude Code's as the host would word it."""
        return show_as_host(name, tool_input, tools=tools)

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
        if (_WORD_LIST if is_words else _NAME_LIST).fullmatch(text):
            names = {*_split_names(text)}
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

    def names_in_matcher(self, matcher: object) -> tuple[str, ...] | None:
        """Split a list of exact names."""
        if not isinstance(matcher, str) or _NAME_LIST.fullmatch(matcher) is None:
            return None
        return tuple(_split_names(matcher))

    def applies(self, hook: HookConfig, document: EventDocument) -> bool:
        """Decide by the hook's ``if``, by whether the tool failed, and by whether a sub-agent fires
        the event; in doubt the hook runs."""
        key = hook.dialect_event
        if key in _OF_MAIN_AGENT and is_of_subagent(document):
            return False
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
            call = show_call(document)
        except HooklineError:
            # Run the hook: it fails with the same error, and onFailure decides what that means.
            return True
        if not isinstance(rule, Rule):
            return True
        also = () if call.alias is None else call.alias.also
        names = (call.name, *also, *other_names(call.name), document.payload["tool_name"])
        return covers(rule, names, call.input, document.payload["cwd"])

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
        # Scripts test for Claude Code's terminal ("cli") or a program on its SDK, as a host is.
        marks = {
            "CLAUDECODE": "1",
            "CLAUDE_CODE_SESSION_ID": session_id,
            "CLAUDE_CODE_ENTRYPOINT": "sdk-py",
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
        self,
        document: EventDocument,
        value: Mapping[str, Any],
        *,
        hook_name: str = "",
        strict: bool = False,
    ) -> HookAnswer:
        """Read an object by table C5."""
        return read_object(document, value, hook_name=hook_name, strict=strict)

    def refuse(
        self, hook: PromptHook, document: EventDocument, reason: str, *, impossible: bool
    ) -> dict[str, Any] | None:
        """Return what a no does on the event."""
        return refuse(hook, document, reason, impossible=impossible)

    def write_failure(self, hook: HookConfig, message: str) -> dict[str, Any]:
        """Deny, or keep the history from being compressed."""
        if hook.dialect_event == "PreCompact":
            return {"hookSpecificOutput": {"keepHistory": True, "userMessage": message}}
        return {"decision": "deny", "reason": message}


def _split_names(text: str) -> list[str]:
    return [name for each in re.split("[|,]", text) if (name := each.strip())]


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
            own = name.name_in(NAME) if isinstance(name, Target) else None
            if own is not None:
                names = (own, *other_names(own), str(name))
            else:
                names = claude_names(name, tools=tools)
            return any(map(test, names[:1] if by_first else names))

        return match_tool
    if event is ClaudeEventName.FILE_CHANGED:
        return lambda path: test(os.path.basename(path))
    words = CLAUDE_WORDS.get(event, {})

    def match_word(word: str) -> bool:
        own = word.name_in(NAME) if isinstance(word, Target) else None
        return test(words.get(word, word) if own is None else own)

    return match_word


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
