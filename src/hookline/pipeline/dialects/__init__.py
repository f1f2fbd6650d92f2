"""How a family of hooks writes its settings, reads events and words its answers.

A hook keeps the dialect of the file it came from; everything between reading a settings file and
merging the answers is the same for all of them. A new dialect is one module here and one line in
``DIALECTS``, plus the settings files it lives in (``pipeline/settings.py``).
"""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from hookline.pipeline.dialects.document import EventDocument
from hookline.pipeline.dialects.native import NativeDialect
from hookline.pipeline.dialects.remarks import Remark
from hookline.pipeline.dialects.stdout import HookAnswer
from hookline.pipeline.matcher import Match
from hookline.problem import Problem
from hookline.wire.events import EventName
from hookline.wire.hooks import HookConfig, OnFailure

if TYPE_CHECKING:
    from hookline.pipeline.dialects.tools import ToolAlias

__all__ = ["DIALECTS", "Dialect", "EventDocument", "HookAnswer", "Remark"]


class Dialect(Protocol):
    """One way of talking with hooks. Implementations are stateless and never raise on what a
    settings file or a hook says: what they cannot read is an answer with ``failed`` or a warning.
    """

    name: str
    # Keys beside the events in the ``hooks`` object, and the words for what a failure means.
    reserved_keys: frozenset[str]
    failure_words: "Mapping[str, OnFailure]"
    # The settings keys of events on which a failure lets the agent go on, whatever a hook wants.
    open_events: frozenset[str]
    # The unit of its timeouts, and whether its hooks may say for which calls of a tool they run.
    time_unit: str
    has_conditions: bool
    # The fields that make a hook run in the background.
    background_keys: tuple[str, ...]

    def event_for(self, key: str) -> EventName | None:
        """The event a settings key names, None for a name this dialect does not have."""
        ...

    def event_names(self) -> tuple[str, ...]:
        """Every name that settings of this dialect have for an event."""
        ...

    def timeout_ms(self, value: float) -> float:
        """A timeout as settings write it, in milliseconds."""
        ...

    def default_timeout_ms(self, key: str, kind: str) -> float:
        """The timeout of a hook that says none, by the settings key of its event and its type."""
        ...

    def refuse_kind(self, key: str, kind: str) -> str | None:
        """Why hooks of a type cannot be on the event of a settings key, None if they can."""
        ...

    def find_remarks(self, key: str, config: Mapping[str, Any]) -> Iterable[Remark]:
        """What people should know of how a hook of settings is read here."""
        ...

    def compile_matcher(
        self,
        event: EventName,
        text: str | None,
        tools: "Mapping[str, ToolAlias] | None" = None,
    ) -> tuple[Match, Problem | None]:
        """The test a matcher stands for, and what is wrong with it, if anything. The mapping of
        the host's ``tools`` is looked into each time a name is tested."""
        ...

    def applies(self, hook: HookConfig, document: EventDocument) -> bool:
        """Whether a hook that was planned runs on this very event."""
        ...

    def write_input(self, document: EventDocument) -> bytes:
        """The document a hook reads; raises HooklineError where nobody could show it whole."""
        ...

    def variables(self, session_id: str) -> Mapping[str, str | None]:
        """The variables of a command hook that it finds in this dialect alone; None for one that
        it does not inherit."""
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
        """What a command hook that ended by itself said. ``strict`` is for a hook that fails
        closed: an answer that could mean something else than it says is a failure."""
        ...

    def read_value(
        self, document: EventDocument, value: Mapping[str, Any], *, strict: bool = False
    ) -> HookAnswer:
        """What a hook answered with an object alone: one in this process, or a server."""
        ...


class _Dialects(dict[str, Dialect]):
    """Dialects by name; one that nobody knows is read as the native one."""

    def __missing__(self, name: str) -> Dialect:
        if name == "claude":
            from hookline.pipeline.dialects.claude import ClaudeDialect

            self[name] = ClaudeDialect()
            return self[name]
        return self["native"]


DIALECTS = _Dialects(native=NativeDialect())
