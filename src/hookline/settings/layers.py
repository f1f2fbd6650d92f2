"""The layers of settings: what each file says, and how they are combined: who may disable whom,
whose redaction counts, who is trusted, what is required.

What a layer may decide about others depends on trust: a project decides only about its own hooks.
Any layer may make things stricter, and no other can undo it.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import msgspec

from hookline._support.problem import Problem
from hookline.dialects import ROWS
from hookline.dialects.matcher import Match
from hookline.wire.events import EventName
from hookline.wire.hooks import CommandHook, HookConfig, HookSource, Redaction

if TYPE_CHECKING:
    from hookline.dialects.tools import ToolAlias
    from hookline.settings.jsonc import Path

# A plugin's folder as settings name it, and what a host's tool is in other dialects; each with its
# place in the settings, for problems.
NamedPlugin: TypeAlias = tuple[str, Problem]
DeclaredTool: TypeAlias = tuple[Mapping[str, Any], Problem]
# A layer's required hook may be in the layer itself, or in one that is trusted more.
_FULFILLING: dict[HookSource, tuple[HookSource, ...]] = {
    HookSource.RUNTIME: (HookSource.RUNTIME, HookSource.USER, HookSource.SYSTEM),
    HookSource.PROJECT: (HookSource.PROJECT, HookSource.USER, HookSource.SYSTEM),
    HookSource.USER: (HookSource.USER, HookSource.SYSTEM),
    HookSource.SYSTEM: (HookSource.SYSTEM,),
    HookSource.EXTENSIONS: (HookSource.EXTENSIONS, HookSource.SYSTEM),
}


# The layers that may disable hooks, the most trusted first.
_SWITCHING = (HookSource.SYSTEM, HookSource.USER, HookSource.PROJECT)


class HookRegistryEntry(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """One hook: its event, the names it matches, where it is from, and whether it may run.

    ``file`` and ``line`` say where it is defined, if in a file. ``matcher`` is UNSET if the
    definition has none; listings tell that from null, though both match all names.
    """

    event: EventName
    hook: HookConfig
    matcher: str | msgspec.UnsetType | None = msgspec.UNSET
    matches: Match
    sequential: bool = False
    enabled: bool = True
    trusted: bool = True
    file: str | None = None
    line: int | None = None

    @property
    def name(self) -> str:
        """The name of the hook."""
        return self.hook.name

    @property
    def source(self) -> HookSource:
        """The layer the hook belongs to."""
        return self.hook.source


class SettingsFile(msgspec.Struct, frozen=True):
    """A file that may hold settings, the layer they belong to, and their dialect."""

    path: str
    source: HookSource
    dialect: str = "native"


class Switch(msgspec.Struct, frozen=True, kw_only=True):
    """A setting that switches hooks off, or says that they are on: those of ``name``, or without
    one all that its layer may disable.

    One of another dialect's settings is about hooks of that dialect; with ``spares_system`` it is
    not about those of the system's settings.
    """

    source: HookSource
    file: str
    line: int | None
    name: str | None = None
    is_on: bool = False
    is_foreign: bool = False
    spares_system: bool = False

    def covers(self, hook: HookConfig) -> bool:
        """True if it is about a hook, whether or not its layer may disable that."""
        if self.is_foreign and hook.dialect not in ROWS:
            return False
        if self.spares_system and hook.source is HookSource.SYSTEM:
            return False
        return self.name in (None, hook.name)

    def describe(self) -> dict[str, Any]:
        """Return its layer and place, for a document."""
        return {"source": self.source.value, "file": self.file, "line": self.line}


class Layer(msgspec.Struct, frozen=True, kw_only=True):
    """What one file, or one argument in code, says; None where it says nothing.

    Of its ``switches`` at most one is about all hooks, but for one that spares the system's.
    ``foreign`` is whether files of other dialects are read, ``plugins`` are folders of plugins, and
    ``tools`` maps the host's tools to those of other dialects; ``tool_names`` are all tools that
    the layer declares, also those with only a name. A layer with ``rules`` is a file of another
    dialect: all that it says is about hooks of that dialect.
    """

    source: HookSource
    entries: tuple[HookRegistryEntry, ...] = ()
    switches: tuple[Switch, ...] = ()
    strict: bool = False
    required: tuple[str, ...] = ()
    redaction: Redaction | None = None
    trace: bool | None = None
    foreign: bool | None = None
    plugins: tuple[NamedPlugin, ...] = ()
    tools: Mapping[str, DeclaredTool] = {}
    tool_names: tuple[str, ...] = ()
    private_hosts: tuple[str, ...] = ()
    rules: msgspec.Struct | None = None
    problems: tuple[Problem, ...] = ()


class Plugin(msgspec.Struct, frozen=True):
    """A plugin's hooks, a layer for each place that has some; the files that it reads, whether they
    exist or not; and its problems. ``places`` are its objects of events: the file and the path of
    each."""

    layers: tuple[Layer, ...]
    files: tuple[str, ...]
    problems: tuple[Problem, ...]
    places: "tuple[tuple[str, Path], ...]" = ()


class ReadSources(msgspec.Struct, frozen=True, kw_only=True):
    """What was read: the layers of files and of the plugins that they name, highest priority
    first, and ``in_code`` those of plugins that code names.

    ``foreign`` is whether the project's files of other dialects are read, None if no settings say.
    """

    layers: list[Layer] = []
    in_code: list[Layer] = []
    shared_env: Mapping[str, str] = {}
    foreign: bool | None = None


class Required(msgspec.Struct, frozen=True):
    """A hook that must be in force, in one of some layers, for an event to go on; ``text`` is what
    the settings say. A hook that code requires may also be given in code, in any layer."""

    text: str
    name: str
    sources: frozenset[HookSource]
    by_code: bool = False

    @classmethod
    def read(cls, text: str, sources: Iterable[HookSource], *, by_code: bool = False) -> "Required":
        """Read ``name`` or ``layer:name``; ``sources`` are the layers of a bare name."""
        layer, colon, name = text.partition(":")
        if colon and layer in list(HookSource):
            return cls(text, name, frozenset({HookSource(layer)}))
        return cls(text, text, frozenset(sources), by_code)

    def is_met_by(self, entry: HookRegistryEntry) -> bool:
        """Whether an entry is this hook, in force or not."""
        if entry.name != self.name:
            return False
        is_of_code = entry.file is None and entry.source is not HookSource.EXTENSIONS
        return entry.source in self.sources or (self.by_code and is_of_code)


class EffectiveSettings(msgspec.Struct, frozen=True, kw_only=True):
    """All layers together: the hooks, and what governs them.

    ``enabled`` is False if no hook may run; ``only_managed`` is True if the user disabled hooks,
    so that only managed ones run. With ``strict`` an event is blocked if not all of its hooks could
    answer, with ``required`` if one of these hooks is not in force. ``switches`` are what switches
    hooks off, highest priority first. ``trace`` asks for a record of what hooks do.

    ``tools`` are the host's as other dialects call them and ``shared_env`` the variables that all
    hooks in its settings get, both only for hooks of its dialect. ``private_hosts`` are hosts of a
    private network that a project's http hooks may call.
    """

    entries: tuple[HookRegistryEntry, ...] = ()
    enabled: bool = True
    only_managed: bool = False
    switches: tuple[Switch, ...] = ()
    strict: bool = False
    required: tuple[Required, ...] = ()
    redaction: Redaction = Redaction()
    trace: bool = False
    tools: "Mapping[str, ToolAlias] | None" = None
    shared_env: Mapping[str, str] = {}
    private_hosts: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()


def may_disable(source: HookSource, hook: HookConfig) -> bool:
    """Whether a layer may disable a hook: nobody but the system a managed one, and a project only
    its own."""
    if source is HookSource.PROJECT:
        return hook.source is HookSource.PROJECT and not hook.managed
    return source is HookSource.SYSTEM or not hook.managed


def find_switch(hook: HookConfig, switches: Iterable[Switch]) -> Switch | None:
    """The switch that keeps a hook off: that of the most trusted layer."""
    fitting = [each for each in switches if each.covers(hook) and may_disable(each.source, hook)]
    by_layer = (each for source in _SWITCHING for each in fitting if each.source is source)
    return next(by_layer, None)


class Switches:
    """Which hooks the layers enable. ``off`` are the switches that count, highest priority first:
    in the files of a layer, the first that is about all hooks."""

    def __init__(self, layers: Iterable[Layer], disabled: Iterable[str] = ()) -> None:
        """``disabled`` are more names that the user disables."""
        self._disabled = frozenset(disabled)
        off: list[Switch] = []
        first: dict[tuple[HookSource, bool], Switch] = {}
        for switch in (switch for layer in layers for switch in layer.switches):
            if switch.name is None and not switch.spares_system:
                scope = switch.source, switch.is_foreign
                if first.setdefault(scope, switch) is not switch or switch.is_on:
                    continue
            off.append(switch)
        self.off = tuple(off)

    def is_on(self, source: HookSource) -> bool:
        """Whether a layer lets hooks run at all."""
        return not any(
            each.source is source and each.name is None and not each.is_foreign for each in self.off
        )

    def allow(self, source: HookSource, hook: HookConfig) -> bool:
        """Whether a layer lets a hook run."""
        if source is HookSource.USER and hook.name in self._disabled:
            return False
        return not any(each.source is source and each.covers(hook) for each in self.off)

    def allow_all(self, hook: HookConfig) -> bool:
        """Whether every layer that may disable a hook lets it run."""
        return all(self.allow(source, hook) for source in _SWITCHING if may_disable(source, hook))

    def allow_guard(self, hook: HookConfig) -> bool:
        """Whether the user and the system let a reviewed guard run; the project has no say."""
        return all(self.allow(source, hook) for source in (HookSource.USER, HookSource.SYSTEM))


class ProjectTrust(Protocol):
    """Decides which of a project's hooks may run, and which of its other settings count."""

    def why_untrusted(self, hook: HookConfig) -> str | None:
        """Why a hook may not run, None if it may."""
        ...

    def admit(self, entry: HookRegistryEntry) -> tuple[HookRegistryEntry, bool]:
        """An entry as it is planned, as decided when its settings were read, and whether it is a
        guard that the project cannot disable any more."""
        ...

    def adopt(self, hook: HookConfig) -> bool:
        """Whether code may register a hook for the project."""
        ...

    def get_guards(self) -> Sequence[HookRegistryEntry]:
        """Reviewed guards that the settings do not give, and entries that block in place of hooks
        that must answer and cannot."""
        ...

    def get_notices(self) -> Sequence[Problem]:
        """What people must be told of guards that go on as they were reviewed."""
        ...

    def get_words(self, layers: Iterable[Layer]) -> tuple[bool, Sequence[str]]:
        """Whether the project is strict, and which hooks it requires, if that is trusted."""
        ...

    def get_tools(self, layers: Iterable[Layer]) -> Mapping[str, Mapping[str, Any]]:
        """What the project declares about the host's tools, if that is trusted."""
        ...


class GivenTrust:
    """Trust in a whole project that is given in code or on the command line."""

    def __init__(self, trusted: bool | Callable[[], bool]) -> None:
        self._trusted = trusted

    def is_given(self) -> bool:
        """Whether the project is trusted now."""
        return self._trusted() if callable(self._trusted) else self._trusted

    def why_untrusted(self, hook: HookConfig) -> str | None:
        """Why a hook may not run, None if it may."""
        if hook.source is not HookSource.PROJECT or self.is_given():
            return None
        return "the project is not trusted, so its hooks do not run"

    def admit(self, entry: HookRegistryEntry) -> tuple[HookRegistryEntry, bool]:
        """The entry, which is planned if the project is trusted."""
        trusted = self.why_untrusted(entry.hook) is None
        return msgspec.structs.replace(entry, trusted=trusted), False

    def adopt(self, hook: HookConfig) -> bool:  # noqa: ARG002
        """Whether the project is trusted."""
        return self.is_given()

    def get_guards(self) -> Sequence[HookRegistryEntry]:
        """No guards, as there is no review."""
        return ()

    def get_notices(self) -> Sequence[Problem]:
        """Nothing to tell, as there is no review."""
        return ()

    def get_words(self, layers: Iterable[Layer]) -> tuple[bool, Sequence[str]]:
        """What the project asks for, if it is trusted."""
        project = [layer for layer in layers if layer.source is HookSource.PROJECT]
        if not project or not self.is_given():
            return False, ()
        names = [name for layer in project for name in layer.required]
        return any(layer.strict for layer in project), names

    def get_tools(self, layers: Iterable[Layer]) -> Mapping[str, Mapping[str, Any]]:
        """What the project declares about the host's tools, if it is trusted."""
        return find_tools(layers) if self.is_given() else {}


def find_tools(layers: Iterable[Layer]) -> dict[str, Mapping[str, Any]]:
    """What the project's layers declare about the host's tools; the first counts."""
    tools: dict[str, Mapping[str, Any]] = {}
    for layer in layers:
        if layer.source is HookSource.PROJECT:
            tools = {**{name: alias for name, (alias, _) in layer.tools.items()}, **tools}
    return tools


def combine(
    layers: Sequence[Layer],
    *,
    trust: ProjectTrust,
    disabled: Iterable[str] = (),
    strict: bool = False,
    required: Iterable[str] = (),
) -> EffectiveSettings:
    """Combine many layers into one settings value; ``disabled``, ``strict`` and ``required`` come
    from code."""
    switches = Switches(layers, disabled)
    redactions: dict[HookSource, Redaction] = {}
    for layer in layers:
        if layer.redaction is not None:
            redactions.setdefault(layer.source, layer.redaction)
    entries = [_admit(entry, trust, switches) for layer in layers for entry in layer.entries]
    managed = any(entry.hook.managed and entry.enabled for entry in entries)
    problems = [problem for layer in layers for problem in layer.problems]
    guards = trust.get_guards()
    # Of a changed entry whose guard goes on, people are told with the guard.
    guarded = {(guard.event, guard.name) for guard in guards}
    held_back = sum(
        1
        for entry in entries
        if not entry.trusted and entry.enabled and (entry.event, entry.name) not in guarded
    )
    if held_back:
        are, them = ("hook is", "it") if held_back == 1 else ("hooks are", "them")
        message = f"{held_back} project {are} not trusted and will not run"
        remedy = f"review {them} with `hookline trust`"
        problems.append(Problem(kind="untrusted", file="trust", message=message, remedy=remedy))
    entries += [guard for guard in guards if switches.allow_guard(guard.hook)]
    problems += trust.get_notices()
    # The system's redaction stands; the user may only block more variables.
    system, user = redactions.get(HookSource.SYSTEM), redactions.get(HookSource.USER)
    redaction = system or user or Redaction()
    if system is not None and user is not None:
        blocked = (*system.blocked, *user.blocked)
        redaction = msgspec.structs.replace(system, blocked=blocked) if system.enabled else user
    project_strict, project_required = trust.get_words(layers)
    demands = find_demands(layers, required=required, of_project=project_required)
    for layer in layers:
        strict |= layer.strict and layer.source is not HookSource.PROJECT
    entries = [_wait_if_required(entry, demands, problems) for entry in entries]
    user_on = switches.is_on(HookSource.USER)
    is_on = switches.is_on(HookSource.SYSTEM) and (user_on or managed)
    return EffectiveSettings(
        entries=tuple(entries),
        # Disabling hooks must not bypass a required hook.
        enabled=is_on or bool(demands),
        only_managed=not user_on,
        switches=switches.off,
        strict=strict or project_strict,
        required=tuple(sorted(demands, key=lambda demand: (demand.name, sorted(demand.sources)))),
        redaction=redaction,
        trace=next((layer.trace for layer in layers if layer.trace is not None), False),
        private_hosts=tuple(dict.fromkeys(host for each in layers for host in each.private_hosts)),
        problems=tuple(problems),
    )


def find_demands(
    layers: Iterable[Layer], *, required: Iterable[str], of_project: Iterable[str]
) -> set[Required]:
    """The hooks that code (``required``), a trusted project and the other layers require."""
    for_code = _FULFILLING[HookSource.RUNTIME]
    demands = {Required.read(name, for_code, by_code=True) for name in required}
    demands |= {Required.read(name, _FULFILLING[HookSource.PROJECT]) for name in of_project}
    for layer in layers:
        if layer.source is not HookSource.PROJECT:
            demands |= {Required.read(name, _FULFILLING[layer.source]) for name in layer.required}
    return demands


def _admit(entry: HookRegistryEntry, trust: ProjectTrust, switches: Switches) -> HookRegistryEntry:
    """An entry as it is planned, enabled or not."""
    planned, is_guard = trust.admit(entry)
    allow = switches.allow_guard if is_guard else switches.allow_all
    return msgspec.structs.replace(planned, enabled=allow(entry.hook))


def _wait_if_required(
    entry: HookRegistryEntry, demands: Iterable[Required], problems: list[Problem]
) -> HookRegistryEntry:
    """The entry; a required hook in the background is changed to be waited for, and reported."""
    hook = entry.hook
    if not isinstance(hook, CommandHook) or not hook.background:
        return entry
    if not any(demand.is_met_by(entry) for demand in demands):
        return entry
    message = f"{entry.event.value} {hook.name}: async is not for a hook that is required"
    problem = Problem(
        kind="bad-field",
        message=message,
        consequence="the hook is waited for",
        remedy='take "async" out, or its name out of "required"',
        file=entry.file or "settings given in code",
        line=entry.line,
    )
    problems.append(problem)
    waited_for = msgspec.structs.replace(hook, background=False)
    return msgspec.structs.replace(entry, hook=waited_for)
