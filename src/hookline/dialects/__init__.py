"""How a family of hooks writes its settings, reads events and words its answers.

A hook keeps the dialect of the file it came from; everything between reading a settings file and
merging the answers is the same for all of them. Another dialect is a module or package here with a
``DIALECT``, and a row in ``ROWS``; it is loaded when a hook or an event asks for it.
"""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from hookline._support.problem import Problem
from hookline.dialects.document import EventDocument
from hookline.dialects.matcher import Match
from hookline.dialects.native import NativeDialect
from hookline.dialects.remarks import Remark
from hookline.dialects.stdout import HookAnswer
from hookline.errors import UnknownEventError
from hookline.wire.events import EVENTS, EventName, EventSpec, HookEventName, narrow_event
from hookline.wire.fired import FiredEvent, read_fired_event
from hookline.wire.hooks import HookConfig, HookSource, OnFailure, PromptHook

if TYPE_CHECKING:
    from hookline.dialects.tools import ShownCall, ToolAlias
    from hookline.settings.layers import Layer, Plugin
    from hookline.settings.reader import Origin

__all__ = [
    "DIALECTS",
    "PLUGINS",
    "ROWS",
    "TRANSCRIPTS",
    "Dialect",
    "EventDocument",
    "ForeignDialect",
    "HookAnswer",
    "Remark",
    "Row",
    "find_named_event",
    "is_read_strictly",
    "list_event_names",
    "list_foreign",
    "list_managed_settings",
    "load_foreign",
    "read_named_event",
]


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
    # The settings keys of events on which plain text on stdout is context for the model.
    text_events: frozenset[str]
    # The variable that names a file for a hook's exports, on which events; "" if it has none.
    env_file: str
    env_file_events: frozenset[str]

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
        self,
        document: EventDocument,
        value: Mapping[str, Any],
        *,
        hook_name: str = "",
        strict: bool = False,
    ) -> HookAnswer:
        """Read the answer of a hook that returns only an object: a function or a server."""
        ...

    def refuse(
        self, hook: PromptHook, document: EventDocument, reason: str, *, impossible: bool
    ) -> dict[str, Any] | None:
        """Return the answer of a prompt hook whose model says no, in native words; None if that
        changes nothing. ``impossible`` is the model's word that the agent cannot do better."""
        ...

    def write_failure(self, hook: HookConfig, message: str) -> dict[str, Any]:
        """Return the answer, in native words, of a failed hook that fails closed."""
        ...


class ForeignDialect(Dialect, Protocol):
    """A dialect whose events and tools have other names than hookline's and its hosts'."""

    # The events that only this dialect has; a host fires them by name.
    extra_events: "Mapping[str, EventSpec]"
    # Of these, the events that every agent of this package fires by itself, and those that
    # ``hookline.agent`` fires and other agents fire as far as they know of them.
    fired_by_all: frozenset[str]
    fired_by_some: frozenset[str]

    @property
    def hook_keys(self) -> frozenset[str]:
        """The keys that a hook of its settings may have."""
        ...

    def read_layer(
        self,
        value: Mapping[str, Any],
        source: HookSource,
        origin: "Origin",
        tools: "Mapping[str, ToolAlias] | None",
    ) -> "Layer":
        """Read a settings object; errors in it are among the layer's problems."""
        ...

    def apply_rules(self, layers: "Sequence[Layer]") -> "tuple[list[Layer], dict[str, str]]":
        """Return the layers with what its settings say about each other's hooks applied, and the
        variables that its settings give to all hooks."""
        ...

    def make_tools(
        self,
        layers: "Iterable[Layer]",
        *,
        of_code: "Mapping[str, ToolAlias] | None",
        of_project: Mapping[str, Mapping[str, Any]],
    ) -> "tuple[dict[str, ToolAlias], list[Problem]]":
        """Return what the host's tools are in this dialect, as code and layers declare them, and
        what is wrong with the declarations."""
        ...

    def find_plugin_root(self, folder: str) -> str:
        """Return the real folder of a plugin, by any folder that names it."""
        ...

    def read_plugin(
        self,
        folder: str,
        source: HookSource,
        place: Problem,
        tools: "Mapping[str, ToolAlias] | None",
    ) -> "Plugin":
        """Read the hooks of a plugin; ``place`` is where settings name it."""
        ...

    def is_in_words(self, event: EventName, fields: Mapping[str, Any]) -> bool:
        """True if the fields of an event that hookline calls by the same name can only be in this
        dialect's words."""
        ...

    def read_event(
        self, name: str, fields: Mapping[str, Any], tools: "Mapping[str, ToolAlias] | None"
    ) -> FiredEvent:
        """Read an event by this dialect's name, or by hookline's, with its fields; ``tools`` are
        the host's. Raises UnknownEventError, InvalidPayloadError and AmbiguousInputError."""
        ...

    def tool_names(self) -> tuple[str, ...]:
        """Return every name of a tool that this dialect has and hosts have not."""
        ...

    def host_tools(self, name: str) -> tuple[str, ...]:
        """Return the usual hosts' tools that this dialect calls by the name."""
        ...

    def names_of_tool(
        self, name: str, tools: "Mapping[str, ToolAlias] | None" = None
    ) -> tuple[str, ...]:
        """Return the names of a host's tool that matchers are compared with, the first first."""
        ...

    def show_call(
        self,
        name: str,
        tool_input: Mapping[str, Any],
        *,
        tools: "Mapping[str, ToolAlias] | None" = None,
        cwd: str | None = None,
    ) -> "ShownCall":
        """Show a host's call in this dialect's words; raises AmbiguousInputError."""
        ...

    def show_to_host(
        self,
        name: str,
        tool_input: Mapping[str, Any],
        *,
        tools: "Mapping[str, ToolAlias] | None" = None,
    ) -> "ShownCall":
        """Show a call in this dialect's words in the host's; raises AmbiguousInputError."""
        ...

    def names_in_matcher(self, matcher: object) -> tuple[str, ...] | None:
        """Return the names that a matcher lists; None for an expression, and for no matcher."""
        ...


class Row(NamedTuple):
    """A dialect, and what must be known of it before it is loaded: ``title`` is its agent.

    ``project_variable`` names the project's directory for every hook, ``plugin_variables`` a
    plugin's folder and that of its data for the plugin's hooks. ``folder`` holds a project's
    settings, ``plugin_mark`` is in every plugin's folder, and ``managed`` is the system's settings
    file, by platform. ``most_sent_back`` is the variable for how often hooks may send one turn
    back to work.
    """

    module: str
    title: str
    project_variable: str
    folder: str
    plugin_mark: str = ""
    plugin_variables: tuple[str, ...] = ()
    managed: Mapping[str, str] = {}
    most_sent_back: str = ""


ROWS: Mapping[str, Row] = {
    "claude": Row(
        "hookline.dialects.claude",
        "Claude Code",
        "CLAUDE_PROJECT_DIR",
        ".claude",
        ".claude-plugin",
        ("CLAUDE_PLUGIN_ROOT", "CLAUDE_PLUGIN_DATA"),
        {
            "darwin": "/Library/Application Support/ClaudeCode/managed-settings.json",
            "": "/etc/claude-code/managed-settings.json",
        },
        "CLAUDE_CODE_STOP_HOOK_BLOCK_CAP",
    ),
}


# The dialect whose hooks read a transcript, and the one that plugins are written for.
TRANSCRIPTS = PLUGINS = "claude"


class _Dialects(dict[str, Dialect]):
    """Dialects by name, loaded on request; an unknown name gives the native one."""

    def __missing__(self, name: str) -> Dialect:
        if name not in ROWS:
            return self["native"]
        self[name] = load_foreign(name)
        return self[name]


DIALECTS = _Dialects(native=NativeDialect())


def load_foreign(name: str) -> ForeignDialect:
    """Return the dialect of that name in ``ROWS``."""
    from importlib import import_module

    dialect: ForeignDialect = import_module(ROWS[name].module).DIALECT
    return dialect


def list_foreign() -> Iterator[ForeignDialect]:
    """Yield every dialect but the native one; each is loaded in its turn."""
    return map(load_foreign, ROWS)


def _find_extra_event(name: str) -> EventSpec | None:
    """Return how an event is written that only another dialect than the native one has."""
    specs = (dialect.extra_events.get(name) for dialect in list_foreign())
    return next((spec for spec in specs if spec is not None), None)


EVENTS.find_more = _find_extra_event


def list_managed_settings(dialect: str) -> tuple[str, ...]:
    """Return the system's settings files of a dialect on this platform."""
    managed = ROWS[dialect].managed
    path = managed.get(sys.platform) or managed.get("")
    return () if path is None else (path,)


def is_read_strictly(hook: HookConfig) -> bool:
    """True for a hook that fails closed, unless only strict mode says so and plain text is what
    its event asks for: a context may hold anything."""
    if hook.on_failure != "block":
        return False
    return not (hook.closed_by_mode and hook.dialect_event in DIALECTS[hook.dialect].text_events)


def list_event_names() -> tuple[str, ...]:
    """Return every name of an event: hookline's, then those of other dialects."""
    foreign = (name for dialect in list_foreign() for name in dialect.event_names())
    return tuple(dict.fromkeys((*(event.value for event in HookEventName), *foreign)))


def find_named_event(name: object) -> EventName:
    """Return the event with this name, hookline's or another dialect's; raises
    UnknownEventError."""
    try:
        return narrow_event(name)
    except UnknownEventError:
        dialect = _find_dialect(name)
        event = dialect.event_for(str(name)) if dialect is not None else None
        if event is None:
            raise
        return event


def read_named_event(
    name: object,
    input: Mapping[str, Any],
    get_tools: "Callable[[], Mapping[str, ToolAlias] | None]" = lambda: None,
    *,
    sdk_objects: bool = True,
    dialect: str | None = None,
) -> FiredEvent:
    """Read an event from its name, hookline's or another dialect's, and its fields; raises
    UnknownEventError, InvalidPayloadError or AmbiguousInputError. ``get_tools`` returns the tools
    that the host declares, for an event in a dialect's words. With ``dialect`` both are in the
    words of that one."""
    if dialect is not None:
        return load_foreign(dialect).read_event(str(name), input, get_tools())
    event = find_named_event(name)
    if event == name and isinstance(event, HookEventName):
        foreign = _find_speaker(event, input)
    else:
        foreign = _find_dialect(name)
    if foreign is None:
        return read_fired_event(event, input, sdk_objects=sdk_objects)
    return foreign.read_event(str(name), input, get_tools())


def _find_speaker(event: EventName, fields: Mapping[str, Any]) -> ForeignDialect | None:
    """Return the dialect in whose words an event is that hookline calls by the same name; None for
    hookline's own words. They differ only by triggers."""
    spec = EVENTS[event]
    if spec.trigger is None or fields.get(spec.target or "") in spec.triggers:
        return None
    return next((each for each in list_foreign() if each.is_in_words(event, fields)), None)


def _find_dialect(name: object) -> ForeignDialect | None:
    if not isinstance(name, str):
        return None
    return next((each for each in list_foreign() if each.event_for(name) is not None), None)
