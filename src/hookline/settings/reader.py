"""Finds the settings files of a working directory, reads them layer by layer, and combines the
layers: who may disable whom, whose redaction counts, who is trusted, what is required.

A file that cannot be read is reported as a problem, and the others still load. What a layer may
decide about others depends on trust: a project decides only about its own hooks. Any layer may
make things stricter, and no other can undo it.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from hookline._support.places import system_settings_file, user_config_dir
from hookline._support.problem import Problem
from hookline.dialects import list_managed_settings
from hookline.settings.definitions import HookRegistryEntry, Origin, Words, parse_hooks
from hookline.settings.jsonc import Document, Path, SettingsFileError, read_settings_file, value_at
from hookline.settings.layers import DeclaredTool, Layer, SettingsFile
from hookline.wire.hooks import LAYER_ORDER, CommandHook, HookConfig, HookSource, Redaction

if TYPE_CHECKING:
    from hookline.dialects.tools import ToolAlias
    from hookline.settings.policykeys import Place

__all__ = [
    "DISABLED_NAMES",
    "SWITCHES",
    "GivenTrust",
    "Layer",
    "ProjectTrust",
    "Required",
    "Settings",
    "SettingsFile",
    "SettingsFileError",
    "SettingsReader",
    "Switches",
    "combine",
    "find_claude_files",
    "find_demands",
    "find_disabled_names",
    "find_project_dir",
    "find_settings_files",
    "find_tools",
    "is_claude_file",
    "is_foreign_file",
    "keep_one_of_each",
    "read_layer",
    "read_settings_file",
]

_OWN_FILES = ("settings.local.json", "settings.json")
_PROJECT_FOLDERS = (".hookline", ".llxprt", ".gemini")
_PROJECT_FILES = (".llxprt/settings.json", ".gemini/settings.json")
_CLAUDE_FOLDER = ".claude"
_FOREIGN_FOLDERS = frozenset({*_PROJECT_FOLDERS[1:], "llxprt-code", _CLAUDE_FOLDER})
_CLAUDE_PROJECT_FILES = (".claude/settings.local.json", ".claude/settings.json")
_CLAUDE_HOME_FILES = (".claude/settings.json",)
_HOME_FILES = (
    *(".llxprt/settings.json", ".config/llxprt-code/settings.json"),
    ".gemini/settings.json",
)
# Where settings say whether hooks run at all.
SWITCHES: tuple[Path, ...] = (
    *(("enableHooks",), ("hooksConfig", "enabled"), ("hooks", "enabled")),
    ("tools", "enableHooks"),
)
# Where settings declare the host's tools; the first counts.
TOOLS: tuple[Path, ...] = (("tools",), ("hooks", "tools"))
_REDACTION: Path = ("security", "environmentVariableRedaction")
# The objects whose keys decide policy, and the keys that each may have.
_SECTIONS: "tuple[tuple[Path, Place, frozenset[str]], ...]" = (
    (
        (),
        "settings",
        frozenset(
            {
                *("$schema", "enableHooks", "hooks", "hooksConfig", "hookline", "security"),
                *("strict", "tools", "claude", "plugins"),
            }
        ),
    ),
    (("hooksConfig",), "hooksConfig", frozenset({"enabled", "disabled", "notifications"})),
    (("hookline",), "hookline", frozenset({"trace"})),
    (("security",), "security", frozenset({"environmentVariableRedaction", "privateHookHosts"})),
    (_REDACTION, "redaction", frozenset({"enabled", "allowed", "blocked"})),
    (("tools",), "tools", frozenset({"enableHooks"})),
)
_PRIVATE_HOSTS: Path = ("security", "privateHookHosts")
DISABLED_NAMES: tuple[Path, ...] = (("hooks", "disabled"), ("hooksConfig", "disabled"))
# A layer's required hook may be in the layer itself, or in one that is trusted more.
_FULFILLING: dict[HookSource, tuple[HookSource, ...]] = {
    HookSource.RUNTIME: (HookSource.RUNTIME, HookSource.USER, HookSource.SYSTEM),
    HookSource.PROJECT: (HookSource.PROJECT, HookSource.USER, HookSource.SYSTEM),
    HookSource.USER: (HookSource.USER, HookSource.SYSTEM),
    HookSource.SYSTEM: (HookSource.SYSTEM,),
    HookSource.EXTENSIONS: (HookSource.EXTENSIONS, HookSource.SYSTEM),
}


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


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """All layers together: the hooks, and what governs them.

    ``enabled`` is False if no hook may run; ``only_managed`` is True if the user disabled hooks,
    so that only managed ones run. With ``strict`` an event is blocked if not all of its hooks could
    answer, with ``required`` if one of these hooks is not in force. ``trace`` asks for a record of
    what hooks do.

    ``tools`` are the host's as Claude Code calls them and ``shared_env`` the variables that all
    hooks in its settings get, both only for hooks of its dialect. ``private_hosts`` are hosts of a
    private network that a project's http hooks may call.
    """

    entries: tuple[HookRegistryEntry, ...] = ()
    enabled: bool = True
    only_managed: bool = False
    strict: bool = False
    required: tuple[Required, ...] = ()
    redaction: Redaction = Redaction()
    trace: bool = False
    tools: "Mapping[str, ToolAlias] | None" = None
    shared_env: Mapping[str, str] = {}
    private_hosts: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()


def find_project_dir(working_dir: str, home: str | None, *, claude: bool = False) -> str:
    """The nearest directory upwards with a settings folder; the home directory does not count.
    With ``claude`` a folder of Claude Code counts if there is no other."""
    real_home = home and os.path.realpath(home)
    for folders in (_PROJECT_FOLDERS, *([(_CLAUDE_FOLDER,)] if claude else [])):
        directory, parent = working_dir, ""
        while directory != parent:
            has_settings = any(map(os.path.isdir, _join_each(directory, folders)))
            if has_settings and os.path.realpath(directory) != real_home:
                return directory
            directory, parent = os.path.dirname(directory), directory
    return working_dir


def find_settings_files(
    project_dir: str,
    home: str | None,
    *,
    given: Iterable[str | os.PathLike[str]] | None = None,
    system: str | None = None,
) -> list[SettingsFile]:
    """Every file that may hold settings, highest priority first; a file that is reached twice
    counts once, for the layer that is trusted more. ``given`` files replace the project's and the
    user's, ``system`` replaces the system's; a given file in a folder called ``.claude`` is in
    Claude Code's dialect."""
    own_folder = os.path.join(project_dir, ".hookline")
    project = _join_each(own_folder, _OWN_FILES) + _join_each(project_dir, _PROJECT_FILES)
    user = _join_each(user_config_dir(), _OWN_FILES) + _join_each(home, _HOME_FILES)
    if given is not None:
        project, user = [], [os.path.abspath(path) for path in given]
    found = [SettingsFile(path, HookSource.PROJECT) for path in project]
    for path in user:
        is_claude = given is not None and is_claude_file(path)
        dialect = "claude" if is_claude else "native"
        found.append(SettingsFile(path, HookSource.USER, dialect))
    found.append(SettingsFile(system or system_settings_file(), HookSource.SYSTEM))
    return keep_one_of_each(found)


def find_claude_files(project_dir: str, home: str | None) -> list[SettingsFile]:
    """Every file that may hold Claude Code settings, highest priority first."""
    named = (
        (HookSource.PROJECT, _join_each(project_dir, _CLAUDE_PROJECT_FILES)),
        (HookSource.USER, _join_each(home, _CLAUDE_HOME_FILES)),
        (HookSource.SYSTEM, list_managed_settings("claude")),
    )
    return [SettingsFile(path, source, "claude") for source, paths in named for path in paths]


def keep_one_of_each(files: Sequence[SettingsFile]) -> list[SettingsFile]:
    """The files without those that another path reaches too."""
    chosen: dict[str, SettingsFile] = {}
    for file in reversed(files):
        real = os.path.realpath(file.path)
        if real not in chosen or LAYER_ORDER[chosen[real].source] <= LAYER_ORDER[file.source]:
            chosen[real] = file
    kept = set(map(id, chosen.values()))
    return [file for file in files if id(file) in kept]


def is_claude_file(path: str) -> bool:
    """Whether a settings file is Claude Code's, by the folder it is in."""
    return os.path.basename(os.path.dirname(path)) == _CLAUDE_FOLDER


def is_foreign_file(path: str) -> bool:
    """Whether a settings file is another program's, with keys of its own, by its folder."""
    return os.path.basename(os.path.dirname(path)) in _FOREIGN_FOLDERS


def _join_each(directory: str | None, names: Iterable[str]) -> list[str]:
    return [] if directory is None else [os.path.join(directory, name) for name in names]


def find_disabled_names(value: Any) -> Iterator[tuple[Path, str]]:
    """The names that a settings object disables, each with the path to it."""
    for path in DISABLED_NAMES:
        names = value_at(value, path)
        for index, name in enumerate(names) if isinstance(names, list) else ():
            if isinstance(name, str):
                yield (*path, index), name


class SettingsReader:
    """Reads the same files again and again; a broken file keeps its last good content. The host's
    ``tools`` are for matchers that use other names for them. If ``texts`` is given, each file that
    was read is put into it."""

    def __init__(
        self,
        files: Iterable[SettingsFile] = (),
        *,
        tools: "Mapping[str, ToolAlias] | None" = None,
        texts: dict[str, tuple[bytes, Document]] | None = None,
    ) -> None:
        self.files = tuple(files)
        self._tools = tools
        self._texts = texts
        self._last_good: dict[str, Layer] = {}

    def read(self) -> list[Layer]:
        """Read a layer from each file that exists, highest priority first; raises OSError if the
        system has run out of resources."""
        return [layer for file in self.files if (layer := self.read_file(file)) is not None]

    def read_file(self, file: SettingsFile) -> Layer | None:
        """Read the layer of a file, None if there is no file; raises OSError as ``read`` does."""
        try:
            found = read_settings_file(file.path)
        except SettingsFileError as error:
            kept = self._last_good.get(file.path)
            done = "its last good version stays in force" if kept else "the file was skipped"
            done += ", the other settings still apply"
            problem = msgspec.structs.replace(error.problem, consequence=done)
            layer = kept or Layer(source=file.source)
            return msgspec.structs.replace(layer, problems=(problem,))
        self._last_good.pop(file.path, None)
        if found is None:
            return None
        if self._texts is not None:
            self._texts[file.path] = found
        value, document = found[1].value, found[1]
        layer = read_layer(value, file.source, file.path, document, file.dialect, tools=self._tools)
        self._last_good[file.path] = layer
        return layer


def read_layer(
    value: Mapping[str, Any],
    source: HookSource,
    label: str,
    document: Document | None = None,
    dialect: str = "native",
    folder: str | None = None,
    *,
    tools: "Mapping[str, ToolAlias] | None" = None,
) -> Layer:
    """Read a settings object; errors in it are among the layer's problems.

    ``folder`` is the directory of an extension whose settings are given in code; ``tools`` are the
    host's, for matchers of another dialect.
    """
    origin = Origin(label, document)
    if dialect == "claude":
        from hookline.dialects.claude.settings import read_claude_layer

        return read_claude_layer(value, source, origin, tools)
    words = Words(value, origin)

    def is_overreach(path: Path) -> bool:
        """Whether this layer is a project that decides something it must not; reports it."""
        if source is HookSource.PROJECT:
            message = "counts only in the user's or the system's settings"
            words.report(path, "overreach", message)
        return source is HookSource.PROJECT

    for name in ("hooksConfig", "security", "hookline"):
        words.find((name,), dict, "an object")
    for path, place, known in _SECTIONS:
        words.report_slips(path, place, known)
    words.problems += origin.duplicate_keys()
    said = [words.find_switch(path) for path in SWITCHES]
    switches = [word for word in said if word is not None]
    disabled = tuple(name for path in DISABLED_NAMES for name in words.find_names(path))
    strict, required = words.find_switch(("strict",)), words.find_names(("hooks", "required"))
    redaction, at = None, _REDACTION
    if words.find(at, dict, "an object") is not None and not is_overreach(at):
        redaction = Redaction(
            enabled=words.find_switch((*at, "enabled")) or False,
            allowed=words.find_names((*at, "allowed")),
            blocked=words.find_names((*at, "blocked")),
        )
    trace = words.find_switch(("hookline", "trace"))
    if trace is not None and is_overreach(("hookline", "trace")):
        trace = None
    hosts: tuple[str, ...] = ()
    if value_at(value, _PRIVATE_HOSTS) is not None and not is_overreach(_PRIVATE_HOSTS):
        hosts = words.find_names(_PRIVATE_HOSTS)
    claude = words.find_switch(("claude",))
    plugins = tuple(
        (name, origin.problem(("plugins", index), "bad-plugin", ""))
        for index, name in enumerate(value["plugins"] if words.find_names(("plugins",)) else ())
        if isinstance(name, str)
    )
    declared: dict[str, DeclaredTool | None] = {}
    for path in TOOLS if "tools" in value or value_at(value, TOOLS[1]) is not None else ():
        declared = {**dict(_read_tools(words, path, label)), **declared}
    parsed = parse_hooks(
        value.get("hooks"), source=source, origin=Origin(label, document, ("hooks",), folder)
    )
    return Layer(
        source=source,
        entries=parsed.entries,
        enabled=all(switches) if switches else None,
        disabled=disabled,
        strict=strict or False,
        required=required,
        redaction=redaction,
        trace=trace,
        claude=claude,
        plugins=plugins,
        tools={name: tool for name, tool in declared.items() if tool is not None},
        tool_names=tuple(declared),
        private_hosts=hosts,
        problems=(*words.problems, *parsed.problems),
    )


def _read_tools(words: Words, path: Path, file: str) -> Iterator[tuple[str, DeclaredTool | None]]:
    """The tools that settings declare at a path: by name, what each is in Claude Code; None for
    the tools in a list, which are only names."""
    declared = value_at(words.value, path)
    if isinstance(declared, list):
        yield from dict.fromkeys(words.find_names(path)).items()
        return
    if not isinstance(declared, dict):
        if declared is not None:
            words.report(path, "bad-field", "must be a list of tools, or an object of them")
        return
    if path == TOOLS[0] and is_foreign_file(file):
        # Other programs use an object of that name for other things.
        return
    told = {problem.path for problem in words.problems if problem.kind == "misread-key"}
    for tool, said in declared.items():
        at = (*path, tool)
        if at in SWITCHES or at in told:
            continue
        alias = {"name": said} if isinstance(said, str) else said
        name = alias.get("name") if isinstance(alias, dict) else None
        if not isinstance(alias, dict) or not isinstance(name, str) or not name:
            message = 'must be the name of a tool of Claude Code\'s, or an object with its "name"'
            words.report(at, "bad-field", message)
            continue
        fields = words.find((*at, "fields"), dict, "an object") if alias is said else None
        renamed: dict[str, list[str]] = {}
        for field, names in (fields or {}).items():
            names = [names] if isinstance(names, str) else names
            if isinstance(names, list) and names and all(isinstance(n, str) for n in names):
                renamed[field] = names
            else:
                words.report((*at, "fields", field), "bad-field", "must be a list of names")
        keys = [key for key in ("paths", "also") if key in alias]
        lists = {key: list(words.find_names((*at, key))) for key in keys}
        written = {"name": name, **({"fields": renamed} if renamed else {}), **lists}
        yield tool, (written, words.origin.problem(at, "overreach", ""))


class Switches:
    """Which hooks the layers enable: a layer switches all hooks, or some by name; a Claude Code
    file switches those of its dialect."""

    def __init__(self, layers: Iterable[Layer], disabled: Iterable[str] = ()) -> None:
        """``disabled`` are more names that the user disables."""
        self.on: dict[HookSource, bool] = {}
        self._claude_on: dict[HookSource, bool] = {}
        self._only_managed = False
        self._off: dict[HookSource, set[str]] = {HookSource.USER: set(disabled)}
        for layer in layers:
            if layer.enabled is not None:
                on = self.on if layer.rules is None else self._claude_on
                on.setdefault(layer.source, layer.enabled)
            if layer.rules is not None:
                self._only_managed |= layer.rules.only_managed
            self._off.setdefault(layer.source, set()).update(layer.disabled)

    def allow(self, source: HookSource, hook: HookConfig) -> bool:
        """Whether a layer lets a hook run."""
        if hook.dialect == "claude":
            is_refused = source is HookSource.SYSTEM and self._only_managed
            if is_refused and hook.source is not HookSource.SYSTEM:
                return False
            if not self._claude_on.get(source, True):
                return False
        return self.on.get(source, True) and hook.name not in self._off.get(source, ())

    def allow_all(self, hook: HookConfig) -> bool:
        """Whether every layer that may disable a hook lets it run."""
        reaching = [HookSource.SYSTEM]
        if not hook.managed:
            reaching.append(HookSource.USER)
            reaching += [HookSource.PROJECT] if hook.source is HookSource.PROJECT else []
        return all(self.allow(source, hook) for source in reaching)

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
    found: dict[str, Mapping[str, Any]] = {}
    for layer in layers:
        if layer.source is HookSource.PROJECT:
            found = {**{name: alias for name, (alias, _) in layer.tools.items()}, **found}
    return found


def combine(
    layers: Sequence[Layer],
    *,
    trust: ProjectTrust,
    disabled: Iterable[str] = (),
    strict: bool = False,
    required: Iterable[str] = (),
) -> Settings:
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
    told = {(guard.event, guard.name) for guard in guards}
    held_back = sum(
        1
        for entry in entries
        if not entry.trusted and entry.enabled and (entry.event, entry.name) not in told
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
    user_on = switches.on.get(HookSource.USER, True)
    is_on = switches.on.get(HookSource.SYSTEM, True) and (user_on or managed)
    return Settings(
        entries=tuple(entries),
        # Disabling hooks must not bypass a required hook.
        enabled=is_on or bool(demands),
        only_managed=not user_on,
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
