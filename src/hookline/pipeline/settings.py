"""Finds the settings files of a working directory, reads them layer by layer, and puts the layers
together: who may disable whom, whose redaction counts, who is trusted, what must hold.

A file that cannot be read is a problem with its place, never the end: the others still load. What
a layer may say about the others follows trust: a project speaks for its own hooks only. What makes
things stricter may come from any layer, and no other can take it back.
"""

import errno
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

import msgspec

from hookline.errors import EXHAUSTED, HooklineError
from hookline.pipeline.definitions import HookRegistryEntry, Origin, parse_hooks
from hookline.pipeline.dialects import DIALECTS
from hookline.pipeline.jsonc import (
    MAX_BYTES,
    Document,
    JsoncError,
    Path,
    parse,
    spoken,
    text_of,
    value_at,
)
from hookline.places import system_settings_file, user_config_dir
from hookline.problem import Problem
from hookline.wire.hooks import CommandHook, HookConfig, HookSource, Redaction

_OWN_FILES = ("settings.local.json", "settings.json")
_PROJECT_FOLDERS = (".hookline", ".llxprt", ".gemini")
_PROJECT_FILES = (".llxprt/settings.json", ".gemini/settings.json")
_HOME_FILES = (
    *(".llxprt/settings.json", ".config/llxprt-code/settings.json"),
    ".gemini/settings.json",
)
# Where settings say whether hooks run at all, and which do not by their names.
SWITCHES: tuple[Path, ...] = (
    *(("enableHooks",), ("hooksConfig", "enabled"), ("hooks", "enabled")),
    ("tools", "enableHooks"),
)
DISABLED_NAMES: tuple[Path, ...] = (("hooks", "disabled"), ("hooksConfig", "disabled"))
# Whoever requires a hook is satisfied by one of its own layer, or of one that is trusted more.
_FULFILLING: dict[HookSource, tuple[HookSource, ...]] = {
    HookSource.RUNTIME: (HookSource.RUNTIME, HookSource.USER, HookSource.SYSTEM),
    HookSource.PROJECT: (HookSource.PROJECT, HookSource.USER, HookSource.SYSTEM),
    HookSource.USER: (HookSource.USER, HookSource.SYSTEM),
    HookSource.SYSTEM: (HookSource.SYSTEM,),
    HookSource.EXTENSIONS: (HookSource.EXTENSIONS, HookSource.SYSTEM),
}


class SettingsFileError(HooklineError):
    """A settings file that cannot be read or written; it is as it was."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        super().__init__(str(problem))


class SettingsFile(msgspec.Struct, frozen=True):
    """A place where settings may be, the layer they would belong to, and their dialect."""

    path: str
    source: HookSource
    dialect: str = "native"


class Layer(msgspec.Struct, frozen=True, kw_only=True):
    """What one file, or one argument in code, says. None: it says nothing about it."""

    source: HookSource
    entries: tuple[HookRegistryEntry, ...] = ()
    enabled: bool | None = None
    disabled: tuple[str, ...] = ()
    strict: bool = False
    required: tuple[str, ...] = ()
    redaction: Redaction | None = None
    trace: bool | None = None
    problems: tuple[Problem, ...] = ()


class Required(msgspec.Struct, frozen=True):
    """A hook that must be in force, in one of some layers, for an event to go on; ``text`` is how
    it was asked for. What code asks for may also be given in code, as whatever layer."""

    text: str
    name: str
    sources: frozenset[HookSource]
    by_code: bool = False

    @classmethod
    def read(cls, text: str, sources: Iterable[HookSource], *, by_code: bool = False) -> "Required":
        """The hook that ``name`` or ``layer:name`` stands for; ``sources`` are the layers of a
        bare name."""
        layer, colon, name = text.partition(":")
        if colon and layer in list(HookSource):
            return cls(text, name, frozenset({HookSource(layer)}))
        return cls(text, text, frozenset(sources), by_code)

    def is_met_by(self, entry: HookRegistryEntry) -> bool:
        """Whether an entry is that hook, in force or not."""
        if entry.name != self.name:
            return False
        is_of_code = entry.file is None and entry.source is not HookSource.EXTENSIONS
        return entry.source in self.sources or (self.by_code and is_of_code)


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """All layers together: the hooks, and what governs them.

    ``enabled`` is False when no hook may run; ``only_managed`` when the user switched hooks off
    but the system has hooks that cannot be. ``strict`` has an event blocked whenever its hooks
    could not all answer, ``required`` while one of these hooks is not in force. ``trace`` asks for
    a record of what hooks do.
    """

    entries: tuple[HookRegistryEntry, ...] = ()
    enabled: bool = True
    only_managed: bool = False
    strict: bool = False
    required: tuple[Required, ...] = ()
    redaction: Redaction = Redaction()
    trace: bool = False
    problems: tuple[Problem, ...] = ()


def find_project_dir(working_dir: str, home: str | None) -> str:
    """The nearest directory upwards with a settings folder; the home's own do not count."""
    real_home = home and os.path.realpath(home)
    directory = working_dir
    while True:
        has_settings = any(map(os.path.isdir, _below(directory, _PROJECT_FOLDERS)))
        if has_settings and os.path.realpath(directory) != real_home:
            return directory
        parent = os.path.dirname(directory)
        if parent == directory:
            return working_dir
        directory = parent


def find_settings_files(
    project_dir: str,
    home: str | None,
    *,
    given: Iterable[str | os.PathLike[str]] | None = None,
    system: str | None = None,
) -> list[SettingsFile]:
    """Every place to look at, highest priority first; one file reached twice counts once, for
    the layer that is trusted more. Files that are ``given`` stand in place of the project's and
    the user's, ``system`` in place of the system's own."""
    own_folder = os.path.join(project_dir, ".hookline")
    project = _below(own_folder, _OWN_FILES) + _below(project_dir, _PROJECT_FILES)
    user = _below(user_config_dir(), _OWN_FILES) + _below(home, _HOME_FILES)
    if given is not None:
        project, user = [], [os.path.abspath(path) for path in given]
    found = [SettingsFile(path, HookSource.PROJECT) for path in project]
    found += [SettingsFile(path, HookSource.USER) for path in user]
    found.append(SettingsFile(system or system_settings_file(), HookSource.SYSTEM))
    chosen: dict[str, SettingsFile] = {}
    for file in reversed(found):
        real = os.path.realpath(file.path)
        if real not in chosen or chosen[real].source is file.source:
            chosen[real] = file
    kept = set(map(id, chosen.values()))
    return [file for file in found if id(file) in kept]


def _below(directory: str | None, names: Iterable[str]) -> list[str]:
    return [] if directory is None else [os.path.join(directory, name) for name in names]


def find_disabled_names(value: Any) -> Iterator[tuple[Path, str]]:
    """The names that a settings object disables, each with the path to it."""
    for path in DISABLED_NAMES:
        names = value_at(value, path)
        for index, name in enumerate(names) if isinstance(names, list) else ():
            if isinstance(name, str):
                yield (*path, index), name


class SettingsReader:
    """Reads the same files again and again; a file that breaks keeps what it last said."""

    def __init__(self, files: Iterable[SettingsFile]) -> None:
        self.files = tuple(files)
        self._last_good: dict[str, Layer] = {}

    def read(self) -> list[Layer]:
        """A layer for each file there is, highest priority first; raises OSError where the system
        has nothing left to read them with."""
        layers: list[Layer] = []
        for file in self.files:
            try:
                found = read_settings_file(file.path)
            except SettingsFileError as error:
                kept = self._last_good.get(file.path)
                done = "its last good version stays in force" if kept else "the file was skipped"
                done += ", the other settings still apply"
                problem = msgspec.structs.replace(error.problem, consequence=done)
                layer = kept or Layer(source=file.source)
                layers.append(msgspec.structs.replace(layer, problems=(problem,)))
                continue
            self._last_good.pop(file.path, None)
            if found is not None:
                _, document = found
                layer = read_layer(document.value, file.source, file.path, document, file.dialect)
                self._last_good[file.path] = layer
                layers.append(layer)
        return layers


def read_settings_file(path: str, *, blank: str = "") -> tuple[bytes, Document] | None:
    """A file and the object in it, None if there is no file; ``blank`` is read for a file that
    holds nothing. Raises SettingsFileError for one that cannot be used, and OSError where the
    system has nothing left to read it with."""
    try:
        # Opening a pipe would wait for its writer, reading a device might never end.
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file")
        with open(path, "rb") as file:
            content = file.read(MAX_BYTES + 1)
        text = text_of(content)
        document = parse(text if text.strip() or not blank else blank)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        if error.errno in EXHAUSTED:
            # It says nothing about the file, whose hooks must not be taken for none.
            raise
        problem = Problem(
            kind="unreadable", message=f"cannot be read: {error.strerror or error}", file=path
        )
        raise SettingsFileError(problem) from None
    except JsoncError as error:
        raise SettingsFileError(error.problem_of(path)) from None
    if not isinstance(document.value, dict):
        origin = Origin(path, document)
        raise SettingsFileError(origin.problem((), "not-an-object", "must hold an object, {…}"))
    return content, document


def read_layer(
    value: Mapping[str, Any],
    source: HookSource,
    label: str,
    document: Document | None = None,
    dialect: str = "native",
    folder: str | None = None,
) -> Layer:
    """What a settings object says; what is wrong in it is among the problems.

    ``folder`` is the directory of an extension whose settings are given in code.
    """
    origin = Origin(label, document)
    problems: list[Problem] = []

    def report(path: Path, kind: str, message: str, consequence: str = "it was ignored") -> None:
        text = f"{spoken(path)} {message}"
        problems.append(origin.problem(path, kind, text, consequence))

    def typed(path: Path, kind: type, called: str) -> Any:
        found = value_at(value, path)
        if found is None or isinstance(found, kind):
            return found
        report(path, "bad-field", f"must be {called}")
        return None

    def names(path: Path) -> tuple[str, ...]:
        listed = typed(path, list, "a list of names") or []
        named = tuple(name for name in listed if isinstance(name, str))
        if len(named) < len(listed):
            consequence = "what is no string was ignored"
            report(path, "bad-field", "must be a list of names", consequence)
        return named

    def is_overreach(path: Path) -> bool:
        """Whether this layer decides something that is not for a project to decide."""
        if source is HookSource.PROJECT:
            report(path, "overreach", "counts only in the user's or the system's settings")
        return source is HookSource.PROJECT

    for name in ("hooksConfig", "security", "hookline"):
        typed((name,), dict, "an object")
    problems += origin.duplicate_keys()
    said = [typed(path, bool, "true or false") for path in SWITCHES]
    switches = [word for word in said if word is not None]
    disabled = tuple(name for path in DISABLED_NAMES for name in names(path))
    strict, required = typed(("strict",), bool, "true or false"), names(("hooks", "required"))
    redaction, at = None, ("security", "environmentVariableRedaction")
    if typed(at, dict, "an object") is not None and not is_overreach(at):
        redaction = Redaction(
            enabled=typed((*at, "enabled"), bool, "true or false") or False,
            allowed=names((*at, "allowed")),
            blocked=names((*at, "blocked")),
        )
    trace = typed(("hookline", "trace"), bool, "true or false")
    if trace is not None and is_overreach(("hookline", "trace")):
        trace = None
    parsed = parse_hooks(
        value.get("hooks"),
        source=source,
        origin=Origin(label, document, ("hooks",), folder),
        dialect=DIALECTS[dialect],
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
        problems=(*problems, *parsed.problems),
    )


class Switches:
    """Which hooks the layers let run: each switches all of them, or some by their names."""

    def __init__(self, layers: Iterable[Layer], disabled: Iterable[str] = ()) -> None:
        """``disabled`` are further names of the user's."""
        self.on: dict[HookSource, bool] = {}
        self._off: dict[HookSource, set[str]] = {HookSource.USER: set(disabled)}
        for layer in layers:
            if layer.enabled is not None:
                self.on.setdefault(layer.source, layer.enabled)
            self._off.setdefault(layer.source, set()).update(layer.disabled)

    def allow(self, source: HookSource, hook: HookConfig) -> bool:
        """Whether a layer lets a hook run."""
        return self.on.get(source, True) and hook.name not in self._off.get(source, ())

    def allow_all(self, hook: HookConfig) -> bool:
        """Whether every layer does that reaches a hook: its own, and those trusted more."""
        reaching = [HookSource.SYSTEM]
        if not hook.managed:
            reaching.append(HookSource.USER)
            reaching += [HookSource.PROJECT] if hook.source is HookSource.PROJECT else []
        return all(self.allow(source, hook) for source in reaching)


class ProjectTrust(Protocol):
    """Who says which hooks may run, and what counts, as far as it is the project's."""

    def why_untrusted(self, hook: HookConfig) -> str | None:
        """Why a hook may not run, None if it may."""
        ...

    def admits(self, hook: HookConfig) -> bool:
        """Whether a hook is planned: as it was when its settings were read."""
        ...

    def adopt(self, hook: HookConfig) -> bool:
        """Whether code may register a hook in the name of the project."""
        ...

    def get_guards(self) -> Sequence[HookRegistryEntry]:
        """What stands for reviewed hooks that must answer and cannot: it blocks."""
        ...

    def get_words(self, layers: Iterable[Layer]) -> tuple[bool, Sequence[str]]:
        """Whether the project is strict, and which hooks it requires, as far as that counts."""
        ...


class GivenTrust:
    """Trust that somebody decides in code or on the command line, for all of the project."""

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

    def admits(self, hook: HookConfig) -> bool:
        """Whether a hook may run."""
        return self.why_untrusted(hook) is None

    def adopt(self, hook: HookConfig) -> bool:  # noqa: ARG002
        """Whether the project is trusted."""
        return self.is_given()

    def get_guards(self) -> Sequence[HookRegistryEntry]:
        """Nothing: whoever decides by hand has reviewed nothing."""
        return ()

    def get_words(self, layers: Iterable[Layer]) -> tuple[bool, Sequence[str]]:
        """What the project says of itself, if it is trusted."""
        project = [layer for layer in layers if layer.source is HookSource.PROJECT]
        if not project or not self.is_given():
            return False, ()
        names = [name for layer in project for name in layer.required]
        return any(layer.strict for layer in project), names


def combine(
    layers: Sequence[Layer],
    *,
    trust: ProjectTrust,
    disabled: Iterable[str] = (),
    strict: bool = False,
    required: Iterable[str] = (),
) -> Settings:
    """One settings value of many layers; ``disabled``, ``strict`` and ``required`` are what code
    says."""
    switches = Switches(layers, disabled)
    redactions: dict[HookSource, Redaction] = {}
    for layer in layers:
        if layer.redaction is not None:
            redactions.setdefault(layer.source, layer.redaction)
    entries = [
        msgspec.structs.replace(
            entry,
            enabled=switches.allow_all(entry.hook),
            trusted=trust.admits(entry.hook),
        )
        for layer in layers
        for entry in layer.entries
    ]
    managed = any(entry.hook.managed and entry.enabled for entry in entries)
    problems = [problem for layer in layers for problem in layer.problems]
    held_back = sum(1 for entry in entries if not entry.trusted and entry.enabled)
    if held_back:
        are, them = ("hook is", "it") if held_back == 1 else ("hooks are", "them")
        message = f"{held_back} project {are} not trusted and will not run"
        remedy = f"review {them} with `hookline trust`"
        problems.append(Problem(kind="untrusted", file="trust", message=message, remedy=remedy))
    # Their project cannot switch them off any more: the user and the system can.
    entries += [
        guard
        for guard in trust.get_guards()
        if all(switches.allow(s, guard.hook) for s in (HookSource.USER, HookSource.SYSTEM))
    ]
    # The system's word on redaction stands; the user may only ask for more to be kept back.
    system, user = redactions.get(HookSource.SYSTEM), redactions.get(HookSource.USER)
    redaction = system or user or Redaction()
    if system is not None and user is not None:
        blocked = (*system.blocked, *user.blocked)
        redaction = msgspec.structs.replace(system, blocked=blocked) if system.enabled else user
    project_strict, project_required = trust.get_words(layers)
    for_code = _FULFILLING[HookSource.RUNTIME]
    demands = {Required.read(name, for_code, by_code=True) for name in required}
    demands |= {Required.read(name, _FULFILLING[HookSource.PROJECT]) for name in project_required}
    for layer in layers:
        strict |= layer.strict and layer.source is not HookSource.PROJECT
        if layer.source is not HookSource.PROJECT:
            demands |= {Required.read(name, _FULFILLING[layer.source]) for name in layer.required}
    for place, entry in enumerate(entries):
        hook = entry.hook
        is_async = isinstance(hook, CommandHook) and hook.background
        if is_async and any(demand.is_met_by(entry) for demand in demands):
            waited_for = msgspec.structs.replace(hook, background=False)
            entries[place] = msgspec.structs.replace(entry, hook=waited_for)
            problems.append(
                Problem(
                    kind="bad-field",
                    file=entry.file or "",
                    line=entry.line,
                    message=f"async is not for {hook.name!r}, which is required",
                    consequence="the hook is waited for",
                )
            )
    user_on = switches.on.get(HookSource.USER, True)
    is_on = switches.on.get(HookSource.SYSTEM, True) and (user_on or managed)
    return Settings(
        entries=tuple(entries),
        # Nobody gets around a required hook by switching hooks off.
        enabled=is_on or bool(demands),
        only_managed=not user_on,
        strict=strict or project_strict,
        required=tuple(sorted(demands, key=lambda demand: (demand.name, sorted(demand.sources)))),
        redaction=redaction,
        trace=next((layer.trace for layer in layers if layer.trace is not None), False),
        problems=tuple(problems),
    )
