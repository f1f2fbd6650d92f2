"""Claude Code's dialect behind the protocol that all dialects have."""

import os
from collections.abc import Iterable, Mapping
from typing import Any

from hookline.pipeline.dialects.claude.answers import read_command_answer, read_object
from hookline.pipeline.dialects.claude.conditions import applies, find_remarks
from hookline.pipeline.dialects.claude.inputs import write_document
from hookline.pipeline.dialects.claude.names import (
    EVENT_NAMES,
    compile_claude_matcher,
    default_timeout,
    find_claude_event,
    refuse_kind,
)
from hookline.pipeline.dialects.document import EventDocument
from hookline.pipeline.dialects.remarks import Remark
from hookline.pipeline.dialects.stdout import HookAnswer
from hookline.pipeline.dialects.tools import ToolAlias
from hookline.pipeline.matcher import Match
from hookline.problem import Problem
from hookline.wire.events import EventName
from hookline.wire.hooks import HookConfig, OnFailure


class ClaudeDialect:
    """Tables C1 to C5 of Claude Code's hooks."""

    name = "claude"
    reserved_keys = frozenset[str]()
    failure_words: Mapping[str, OnFailure] = {"continue": "allow", "block": "block"}
    # An agent that may not end because a hook is broken would never end.
    open_events = frozenset({"Stop", "SubagentStop", "TaskCompleted", "TeammateIdle"})
    time_unit = "seconds"
    has_conditions = True
    background_keys: tuple[str, ...] = ("async", "asyncRewake")

    def event_for(self, key: str) -> EventName | None:
        """The event that is fired here for one of Claude Code's."""
        return find_claude_event(key)

    def event_names(self) -> tuple[str, ...]:
        """All that Claude Code has."""
        return EVENT_NAMES

    def timeout_ms(self, value: float) -> float:
        """Settings are in seconds."""
        return value * 1000

    def default_timeout_ms(self, key: str, kind: str) -> float:
        """Ten minutes for a command; less where a person waits."""
        return default_timeout(key, kind)

    def refuse_kind(self, key: str, kind: str) -> str | None:
        """Some events take commands alone, and some types are not run here."""
        return refuse_kind(key, kind)

    def find_remarks(self, key: str, config: Mapping[str, Any]) -> Iterable[Remark]:
        """Fields that do not do here what they do there, and rules that cannot be read."""
        return find_remarks(key, config)

    def compile_matcher(
        self, event: EventName, text: str | None, tools: Mapping[str, ToolAlias] | None = None
    ) -> tuple[Match, Problem | None]:
        """A list of exact names, or an expression that is searched."""
        return compile_claude_matcher(event, text, tools)

    def applies(self, hook: HookConfig, document: EventDocument) -> bool:
        """By its ``if``, and by whether the tool has failed."""
        return applies(hook, document)

    def write_input(self, document: EventDocument) -> bytes:
        """The document of table C4."""
        return write_document(document)

    def variables(self, session_id: str) -> Mapping[str, str | None]:
        """What marks a process of Claude Code's. Nothing of OpenTelemetry is inherited, and what an
        agent around this one gave its own hooks is not for ours."""
        hidden = dict.fromkeys(
            (
                *(name for name in os.environ if name.startswith("OTEL_")),
                *("CLAUDE_PLUGIN_ROOT", "CLAUDE_PLUGIN_DATA", "CLAUDE_ENV_FILE"),
            )
        )
        # Scripts ask whether a person sits at Claude Code's terminal ("cli") or a program of its
        # SDK runs ("sdk-py"); neither is so.
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
        """Table C5 for a command."""
        return read_command_answer(document, hook_name, exit_code, stdout, stderr, strict=strict)

    def read_value(
        self, document: EventDocument, value: Mapping[str, Any], *, strict: bool = False
    ) -> HookAnswer:
        """Table C5 for an object alone."""
        return read_object(document, value, strict=strict)
