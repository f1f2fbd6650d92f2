"""How a family of hooks writes its settings, reads events and words its answers.

A hook keeps the dialect of the file it came from; everything between reading a settings file and
merging the answers is the same for all of them. A new dialect is one module here and one line in
``DIALECTS``, plus the settings files it lives in (``settings/reader.py``).
"""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from hookline._support.problem import Problem
from hookline.dialects.document import EventDocument
from hookline.dialects.matcher import Match
from hookline.dialects.native import NativeDialect
from hookline.dialects.remarks import Remark
from hookline.dialects.stdout import HookAnswer
from hookline.wire.events import EventName
from hookline.wire.hooks import HookConfig, OnFailure

if TYPE_CHECKING:
    from hookline.dialects.tools import ToolAlias

__all__ = ["DIALECTS", "Dialect", "EventDocument", "HookAnswer", "Remark", "is_read_strictly"]


class Dialect(Protocol):
    """One way of talking to hooks. Implementations are stateless and never raise on the content of
    a settings file or an answer: for what they cannot read they return an answer with ``failed``
    or a warning.
    """

    name: str
    # Keys beside the events in the ``hooks`` object, and the words that ``onFailure`` may be.
    reserved_keys: frozenset[str]
    failure_words: "Mapping[str, OnFailure]"
    # The settings keys of events on which a failure lets the agent go on, whatever onFailure says.
    open_events: frozenset[str]
    # The unit of its timeouts, and whether its hooks may have a condition on the call (``if``).
    time_unit: str
    has_conditions: bool
    # The fields that make a hook run in the background.
    background_keys: tuple[str, ...]
    # The settings keys of events on which plain text on stdout is context for the model.
    text_events: frozenset[str]

    def event_for(self, key: str) -> EventName | None:
        """Return the event a settings key names, None for a name this dialect does not have."""
        ...

    def event_names(self) -> tuple[str, ...]:
        """Return every name that settings of this dialect have for an event."""
        ...

    def timeout_ms(self, value: float) -> float:
        """Convert a timeout as settings write it to milliseconds."""
        ...

    def default_timeout_ms(self, key: str, kind: str) -> float:
        """Return the timeout of a hook that sets none, by its event's settings key and its type."""
        ...

    def refuse_kind(self, key: str, kind: str) -> str | None:
        """Say why hooks of a type cannot be on the event of a settings key; None if they can."""
        ...

    def find_remarks(self, key: str, config: Mapping[str, Any]) -> Iterable[Remark]:
        """Find what the user should know about how a hook of the settings is read."""
        ...

    def compile_matcher(
        self,
        event: EventName,
        text: str | None,
        tools: "Mapping[str, ToolAlias] | None" = None,
    ) -> tuple[Match, Problem | None]:
        """Compile a matcher; return its test, and what is wrong with it, if anything. The test
        looks into the host's ``tools`` each time, so later changes to the mapping count."""
        ...

    def applies(self, hook: HookConfig, document: EventDocument) -> bool:
        """True if a planned hook runs on this event."""
        ...

    def write_input(self, document: EventDocument) -> bytes:
        """Write the document a hook reads; raises HooklineError if it cannot show all of it."""
        ...

    def variables(self, session_id: str) -> Mapping[str, str | None]:
        """Return the environment variables that only command hooks of this dialect get; None for
        a variable that they do not inherit."""
        ...

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
        """Read the trimmed answer of a command hook that exited. ``strict`` is for a hook that
        fails closed: an ambiguous answer is a failure."""
        ...

    def read_value(
        self, document: EventDocument, value: Mapping[str, Any], *, strict: bool = False
    ) -> HookAnswer:
        """Read the answer of a hook that returns only an object: a function or a server."""
        ...


class _Dialects(dict[str, Dialect]):
    """Dialects by name; an unknown name gives the native one."""

    def __missing__(self, name: str) -> Dialect:
        if name == "claude":
            from hookline.dialects.claude import ClaudeDialect

            self[name] = ClaudeDialect()
            return self[name]
        return self["native"]


DIALECTS = _Dialects(native=NativeDialect())


def is_read_strictly(hook: HookConfig) -> bool:
    """True for a hook that fails closed, unless only strict mode says so and plain text is what
    its event asks for: a context may hold anything."""
    if hook.on_failure != "block":
        return False
    return not (hook.closed_by_mode and hook.dialect_event in DIALECTS[hook.dialect].text_events)
