"""Finds the settings files of a working directory, and reads each as its declared types.

An entry is read at a time: a bad one is skipped with a problem that names its place, and its
neighbours load. A bad value that an entry can do without is reported, and its default counts. A
file that cannot be read is reported, and the others still load.
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from hookline._support.nearest import did_you_mean, nearest
from hookline._support.places import system_settings_file, user_config_dir
from hookline._support.problem import Problem
from hookline.dialects import DIALECTS, PLUGINS, ROWS, Dialect, list_managed_settings, load_foreign
from hookline.errors import InvalidHookError
from hookline.settings.jsonc import (
    Document,
    Path,
    SettingsFileError,
    read_settings_file,
    spoken,
    value_at,
)
from hookline.settings.layers import (
    DeclaredTool,
    EffectiveSettings,
    GivenTrust,
    HookRegistryEntry,
    Layer,
    Plugin,
    ProjectTrust,
    Required,
    SettingsFile,
    Switch,
    Switches,
    combine,
    find_demands,
    find_tools,
)
from hookline.settings.types import (
    DISABLED_NAMES,
    SWITCHES,
    TOOLS,
    Definition,
    HooksSection,
    Security,
    Settings,
    ToolNames,
    ToolsSection,
)
from hookline.wire.events import EventName
from hookline.wire.hooks import (
    KINDS,
    LAYER_ORDER,
    NOT_THE_PROJECT,
    SYSTEM_ONLY,
    CommandHook,
    HookConfig,
    HookSource,
    HttpHook,
    Key,
    PromptHook,
    RuntimeHook,
    keys_of,
)

# Imported only for hooks of other dialects.
if TYPE_CHECKING:
    from hookline.dialects.tools import ToolAlias

__all__ = [
    "DISABLED_NAMES",
    "SWITCHES",
    "EffectiveSettings",
    "GivenTrust",
    "HookRegistryEntry",
    "Layer",
    "ObjectReader",
    "Origin",
    "Parsed",
    "ProjectTrust",
    "Required",
    "SettingsFile",
    "SettingsFileError",
    "SettingsReader",
    "Switches",
    "combine",
    "find_demands",
    "find_dialect",
    "find_disabled_names",
    "find_foreign_files",
    "find_project_dir",
    "find_settings_files",
    "find_switch_values",
    "find_tools",
    "is_foreign_file",
    "keep_one_of_each",
    "make_entry",
    "parse_hooks",
    "read_layer",
    "read_settings_file",
    "runtime_hook",
    "settings_hook",
]

S = TypeVar("S", bound=msgspec.Struct)
H = TypeVar("H", bound=HookConfig)

_OWN_FILES = ("settings.local.json", "settings.json")
_PROJECT_FOLDERS = (".hookline", ".llxprt", ".gemini")
_PROJECT_FILES = (".llxprt/settings.json", ".gemini/settings.json")
_OTHER_FOLDERS = tuple(row.folder for row in ROWS.values())
_FOREIGN_FOLDERS = frozenset({*_PROJECT_FOLDERS[1:], "llxprt-code", *_OTHER_FOLDERS})
_HOME_FILES = (
    *(".llxprt/settings.json", ".config/llxprt-code/settings.json"),
    ".gemini/settings.json",
)

# A prompt hook without a name is named after the beginning of its prompt.
_LONGEST_NAME = 60
# What a hook of each type cannot do without.
_NEEDS = {
    "command": "a command hook needs a command",
    "http": "an http hook needs a url that begins with https:// or http://",
    "prompt": "a prompt hook needs a prompt",
}
# Keys that a hook may have whatever its type; a registered function has one more.
_HOOK_KEYS = frozenset({"type"}).union(*(keys_of(kind) for kind in KINDS.values()))
_REGISTERED_KEYS = _HOOK_KEYS | {"function"}
# Who may set a key that is not for every layer, in words.
_REFUSED = {NOT_THE_PROJECT: "the user's or the system's", SYSTEM_ONLY: "the system's"}
_KINDS: tuple[tuple[type | tuple[type, ...], str], ...] = (
    (type(None), "null"),
    (bool, "true or false"),
    ((int, float), "a number"),
    (str, "a string"),
    ((list, tuple), "a list"),
    (Mapping, "an object"),
)
# At most this many unknown keys of an object are checked, as settings may be unreviewed.
_MOST_UNKNOWN = 50
_IGNORED = "it was ignored"


class Origin(msgspec.Struct, frozen=True):
    """Where settings came from: a file with its text, or a name for settings given in code.

    ``base`` is the path of the object that paths are relative to. ``folder`` is the directory of
    an extension whose settings are given in code, ``plugin_root`` and ``plugin_data`` those of a
    plugin.
    """

    label: str
    document: Document | None = None
    base: Path = ()
    folder: str | None = None
    plugin_root: str | None = None
    plugin_data: str | None = None

    @property
    def directory(self) -> str | None:
        """The directory of the settings, None if they have none."""
        return os.path.dirname(self.label) if self.document is not None else self.folder

    def line(self, path: Path) -> int | None:
        """The line of a value, None if there is no file."""
        return self.document.place((*self.base, *path))[0] if self.document else None

    def problem(
        self,
        path: Path,
        kind: str,
        message: str,
        consequence: str = "",
        remedy: str = "",
        *,
        at: Path | None = None,
    ) -> Problem:
        """Make a problem of the value at a path; ``at`` is the place in it to show."""
        whole, place = (*self.base, *path), (*self.base, *(path if at is None else at))
        line, column = self.document.place(place) if self.document else (None, None)
        return Problem(
            kind=kind,
            message=message,
            file=self.label,
            line=line,
            column=column,
            consequence=consequence,
            remedy=remedy,
            path=whole,
        )

    def duplicate_keys(self) -> Iterator[Problem]:
        """Make a problem for each key that one object has more than once."""
        if self.document is None:
            return
        for path, offset in self.document.duplicates.items():
            line, column = self.document.place_of(offset)
            yield Problem(
                kind="duplicate-key",
                message=f"the key {path[-1]!r} is given twice",
                consequence="only the last counts",
                file=self.label,
                line=line,
                column=column,
                path=path,
            )


def find_project_dir(working_dir: str, home: str | None, *, foreign: bool = False) -> str:
    """The nearest directory upwards with a settings folder; the home directory does not count.
    With ``foreign`` a folder of another dialect counts if there is no other."""
    real_home = home and os.path.realpath(home)
    for folders in (_PROJECT_FOLDERS, *([_OTHER_FOLDERS] if foreign else [])):
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
    replacements: Iterable[str | os.PathLike[str]] | None = None,
    system: str | None = None,
) -> list[SettingsFile]:
    """Every file that may hold settings, highest priority first; a file that is reached twice
    counts once, for the layer that is trusted more. ``replacements`` stand for the project's and
    the user's files, ``system`` for the system's; one in the folder of another dialect is in that
    dialect."""
    own_folder = os.path.join(project_dir, ".hookline")
    project = _join_each(own_folder, _OWN_FILES) + _join_each(project_dir, _PROJECT_FILES)
    user = _join_each(user_config_dir(), _OWN_FILES) + _join_each(home, _HOME_FILES)
    if replacements is not None:
        project, user = [], [os.path.abspath(path) for path in replacements]
    files = [SettingsFile(path, HookSource.PROJECT) for path in project]
    for path in user:
        dialect = "native" if replacements is None else find_dialect(path)
        files.append(SettingsFile(path, HookSource.USER, dialect))
    files.append(SettingsFile(system or system_settings_file(), HookSource.SYSTEM))
    return keep_one_of_each(files)


def find_foreign_files(project_dir: str, home: str | None) -> list[SettingsFile]:
    """Every file that may hold settings of another dialect, highest priority first."""
    return [
        SettingsFile(path, source, dialect)
        for dialect, row in ROWS.items()
        for source, paths in (
            (HookSource.PROJECT, _join_each(os.path.join(project_dir, row.folder), _OWN_FILES)),
            (HookSource.USER, _join_each(home and os.path.join(home, row.folder), _OWN_FILES[1:])),
            (HookSource.SYSTEM, list_managed_settings(dialect)),
        )
        for path in paths
    ]


def keep_one_of_each(files: Sequence[SettingsFile]) -> list[SettingsFile]:
    """The files without those that another path reaches too."""
    chosen: dict[str, SettingsFile] = {}
    for file in reversed(files):
        real = os.path.realpath(file.path)
        if real not in chosen or LAYER_ORDER[chosen[real].source] <= LAYER_ORDER[file.source]:
            chosen[real] = file
    ids = set(map(id, chosen.values()))
    return [file for file in files if id(file) in ids]


def find_dialect(path: str) -> str:
    """The dialect of a settings file, by the folder it is in."""
    folder = os.path.basename(os.path.dirname(path))
    return next((name for name, row in ROWS.items() if row.folder == folder), "native")


def is_foreign_file(path: str) -> bool:
    """Whether a settings file is another program's, with keys of its own, by its folder."""
    return os.path.basename(os.path.dirname(path)) in _FOREIGN_FOLDERS


def _join_each(directory: str | None, names: Iterable[str]) -> list[str]:
    return [] if directory is None else [os.path.join(directory, name) for name in names]


def find_switch_values(value: Any) -> Iterator[tuple[Path, bool]]:
    """What a settings object says about all hooks: the path to each word, and whether they run."""
    for path in SWITCHES:
        is_on = value_at(value, path)
        if isinstance(is_on, bool):
            yield path, is_on


def find_disabled_names(value: Any) -> Iterator[tuple[Path, str]]:
    """The names that a settings object disables, each with the path to it."""
    for path in DISABLED_NAMES:
        names = value_at(value, path)
        for index, name in enumerate(names) if isinstance(names, list) else ():
            if isinstance(name, str):
                yield (*path, index), name


class ObjectReader:
    """Reads objects of settings as their declared types, and collects what is wrong with them."""

    def __init__(self, origin: Origin, source: HookSource, dialect: Dialect) -> None:
        self.origin = origin
        self.source = source
        self.dialect = dialect
        self.is_foreign = dialect.name in ROWS
        self.problems: list[Problem] = []

    def report(
        self,
        path: Path,
        kind: str,
        message: str,
        consequence: str = "",
        remedy: str = "",
        *,
        at: Path | None = None,
    ) -> None:
        """Report a problem of the value at a path; ``at`` is the place in it to show."""
        text = f"{spoken(path)}: {message}" if path else message
        problem = self.origin.problem(path, kind, text, consequence, remedy, at=at)
        self.problems.append(problem)

    def read(self, kind: type[S], value: Mapping[Any, Any], path: Path = ()) -> S:
        """Read an object of the settings; null counts as left out. Raises ValidationError if it
        lacks a key that it cannot do without."""
        self.report_slips(value, kind, path)
        chosen: dict[str, Any] = {}
        for name, key in keys_of(kind, is_foreign=self.is_foreign).items():
            member = None if key.rules.in_parts else value.get(name)
            if member is None:
                continue
            if key.section is None:
                chosen[name] = member
            elif not isinstance(member, Mapping):
                self.report((*path, name), "bad-field", "must be an object", _IGNORED)
            elif not self._is_overreach(key, (*path, name)):
                chosen[name] = self.read(key.section, member, (*path, name))
        return self.convert(kind, chosen, path)

    def convert(self, kind: type[S], chosen: dict[str, Any], path: Path) -> S:
        """Make a value from the declared keys of an object. What cannot be used is reported and
        taken out of ``chosen``; raises ValidationError as ``read`` does."""
        keys = keys_of(kind, is_foreign=self.is_foreign)
        # The types of hooks have None for a key that is left out, but null is no value for it.
        are_nulls_bad = issubclass(kind, HookConfig)
        try:
            if are_nulls_bad and None in chosen.values():
                raise msgspec.ValidationError
            value = msgspec.convert(chosen, kind)
        except msgspec.ValidationError:
            needed = {f.encode_name for f in msgspec.structs.fields(kind) if f.required}
            for name in sorted(chosen, key=lambda name: name not in needed):
                try:
                    if are_nulls_bad and chosen[name] is None:
                        raise msgspec.ValidationError
                    msgspec.convert(chosen[name], keys[name].type)
                except msgspec.ValidationError:
                    if name in needed:
                        raise
                    self._mend(name, keys[name], chosen, path)
            value = msgspec.convert(chosen, kind)
        for name in [each for each in chosen if keys[each].rules.layers in _REFUSED]:
            others = {each: other for each, other in chosen.items() if each != name}
            without = msgspec.convert(others, kind)
            is_leaf = keys[name].section is None
            if is_leaf and without != value and self._is_overreach(keys[name], (*path, name)):
                chosen, value = others, without
        return value

    def _is_overreach(self, key: Key, path: Path) -> bool:
        """True, with a problem, if this layer may not set a key. An object that other programs use
        too is judged by its own keys."""
        whose = _REFUSED.get(key.rules.layers)
        is_shared = getattr(key.section, "is_shared", False)
        if whose is None or is_shared or self.source is HookSource.SYSTEM:
            return False
        if key.rules.layers == NOT_THE_PROJECT and self.source is not HookSource.PROJECT:
            return False
        self.report(path, "overreach", f"counts only in {whose} settings", _IGNORED)
        return True

    def _mend(self, name: str, key: Key, chosen: dict[str, Any], path: Path) -> None:
        """Report a value that does not have the type of its key, and leave what can be used."""
        from hookline.settings.mistakes import find_misfits

        misfits, usable = find_misfits(key, chosen.pop(name), unit=self.dialect.time_unit)
        if usable is not None:
            chosen[name] = usable
        for misfit in misfits:
            consequence = misfit.consequence or self.say_default(name)
            here, at = (*path, name, *misfit.path), (*path, name, *misfit.place)
            self.report(here, "bad-field", f"must be {misfit.must}", consequence, at=at)

    def say_default(self, name: str) -> str:  # noqa: ARG002
        """Say what is done about a bad value of a key."""
        return _IGNORED

    def report_slips(
        self, value: Mapping[Any, Any], kind: type[msgspec.Struct], path: Path
    ) -> None:
        """Report each unknown key of an object that was meant to decide policy."""
        keys = self._find_known(kind, path)
        if value.keys() <= keys:
            return
        from hookline.settings.mistakes import find_slip

        unknown = (key for key in value if key not in keys and isinstance(key, str))
        for key in islice(unknown, _MOST_UNKNOWN):
            is_registered = issubclass(kind, HookConfig) and not path
            slip = find_slip(key, kind, is_foreign=self.is_foreign, is_registered=is_registered)
            if slip is not None:
                self.report(
                    (*path, key),
                    "skipped" if slip.loses_hooks else "misread-key",
                    slip.message,
                    slip.consequence,
                    slip.remedy,
                )

    def _find_known(self, kind: type[msgspec.Struct], path: Path) -> frozenset[str]:
        if not issubclass(kind, HookConfig):
            return frozenset(keys_of(kind, is_foreign=self.is_foreign))
        if self.is_foreign:
            return load_foreign(self.dialect.name).hook_keys
        return _HOOK_KEYS if path else _REGISTERED_KEYS


class Parsed(msgspec.Struct, frozen=True):
    """The good entries of a ``hooks`` object, in order, and the problems of the others."""

    entries: tuple[HookRegistryEntry, ...]
    problems: tuple[Problem, ...]


def parse_hooks(
    raw: object,
    *,
    source: HookSource,
    origin: Origin,
    dialect: Dialect | None = None,
    tools: "Mapping[str, ToolAlias] | None" = None,
) -> Parsed:
    """Read a ``hooks`` object; never raises. The host's ``tools`` are for matchers that use other
    names for them."""
    reader = _HookReader(origin, source, dialect or DIALECTS["native"], tools)
    if isinstance(raw, Mapping):
        reader.read_events(raw)
    elif raw is not None:
        reader.skip((), f"hooks must be an object of events, not {_name_kind(raw)}")
    return Parsed(tuple(reader.entries), tuple(reader.problems))


def settings_hook(config: Mapping[str, Any], *, source: HookSource) -> HookConfig:
    """Read a hook that code gives in the form of settings; raises InvalidHookError."""
    reader = _HookReader(Origin("code"), source, DIALECTS["native"])
    hook = reader.read_hook(config, (), "")
    reader.refuse_problems()
    assert hook is not None
    return hook


def runtime_hook(config: Mapping[str, Any], *, source: HookSource) -> RuntimeHook:
    """Read a function given in code as a hook; raises InvalidHookError if it cannot run."""
    from inspect import iscoroutinefunction

    function = config.get("function")
    if not config.get("name"):
        raise InvalidHookError("a runtime hook needs a name")
    if not callable(function):
        raise InvalidHookError("a hook is a function, or a mapping as in the settings")
    reader = _HookReader(Origin("code"), source, DIALECTS["native"])
    reader.report_slips(config, HookConfig, ())
    common = reader.read_fields(HookConfig, config, (), "")
    reader.refuse_problems()
    call = getattr(function, "__call__", None)  # noqa: B004
    is_async = iscoroutinefunction(function) or iscoroutinefunction(call)
    inline = bool(config.get("inline"))
    if inline and is_async:
        raise InvalidHookError(
            "inline is for plain functions; an async one runs in its caller's event loop anyway"
        )
    fields = {"function": function, "is_async": is_async, "inline": inline}
    return RuntimeHook(**msgspec.structs.asdict(common), **fields)


def make_entry(
    event: EventName,
    hook: HookConfig,
    matcher: str | msgspec.UnsetType | None = msgspec.UNSET,
    *,
    sequential: bool = False,
    tools: "Mapping[str, ToolAlias] | None" = None,
    file: str | None = None,
    line: int | None = None,
) -> tuple[HookRegistryEntry, Problem | None]:
    """Make the entry of a hook; return it, and what is wrong with its matcher, if anything."""
    text = matcher if isinstance(matcher, str) else None
    matches, problem = DIALECTS[hook.dialect].compile_matcher(event, text or None, tools)
    entry = HookRegistryEntry(
        event=event,
        hook=hook,
        matcher=matcher,
        matches=matches,
        sequential=sequential,
        file=file,
        line=line,
    )
    return entry, problem


class _HookReader(ObjectReader):
    """Reads the events of a ``hooks`` object, their definitions and their hooks."""

    def __init__(
        self,
        origin: Origin,
        source: HookSource,
        dialect: Dialect,
        tools: "Mapping[str, ToolAlias] | None" = None,
    ) -> None:
        super().__init__(origin, source, dialect)
        self.tools = tools
        self.entries: list[HookRegistryEntry] = []
        self._default_timeout = 0.0

    def skip(self, path: Path, message: str, consequence: str = "it was skipped") -> None:
        """Report an entry that is left out."""
        self.report(path, "skipped", message, consequence)

    def refuse_problems(self) -> None:
        """Raise InvalidHookError if there is any problem: in code each one is an error."""
        if self.problems:
            texts = (f"{p.message}; {p.remedy}" if p.remedy else p.message for p in self.problems)
            raise InvalidHookError("; ".join(texts))

    def read_events(self, raw: Mapping[Any, Any]) -> None:
        """Read the definitions of each event."""
        for key, definitions in raw.items():
            if key in self.dialect.reserved_keys:
                continue
            event = self.dialect.event_for(key) if isinstance(key, str) else None
            if event is None:
                self._report_event(str(key))
            elif not isinstance(definitions, list | tuple):
                self.skip((key,), f"must be a list of definitions, not {_name_kind(definitions)}")
            else:
                for index, definition in enumerate(definitions):
                    self.read_definition(event, definition, (key, index))

    def _report_event(self, key: str) -> None:
        from hookline.settings.mistakes import find_slip

        consequence, hint = "", did_you_mean(nearest(key, self.dialect.event_names()))
        slip = find_slip(key, HooksSection) if self.dialect.reserved_keys else None
        if slip is not None:
            consequence, hint = slip.consequence, slip.remedy
        message = "is not a hook event and was skipped"
        self.report((key,), "unknown-event", message, consequence, hint)

    def read_definition(self, event: EventName, raw: object, path: Path) -> None:
        """Read the hooks of a definition."""
        hooks = raw.get("hooks") if isinstance(raw, Mapping) else None
        if not isinstance(raw, Mapping) or not isinstance(hooks, list | tuple):
            self.skip(path, "must be an object with a list of hooks")
            return
        chosen = {name: raw[name] for name in ("matcher", "sequential") if name in raw}
        if not isinstance(chosen.get("matcher"), str | None):
            self.skip((*path, "matcher"), "must be a string", "the definition was skipped")
            return
        definition = self.convert(Definition, {**chosen, "hooks": []}, path)
        text = definition.matcher or None
        _, problem = self.dialect.compile_matcher(event, text, self.tools)
        if problem is not None:
            at = (*path, "matcher")
            self.report(at, problem.kind, problem.message, problem.consequence)
        self.report_slips(raw, Definition, path)
        for index, config in enumerate(hooks):
            here = (*path, "hooks", index)
            hook = self.read_hook(config, here, str(path[0]))
            if hook is None:
                continue
            entry, _ = make_entry(
                event,
                hook,
                definition.matcher,
                sequential=definition.sequential,
                tools=self.tools,
                file=self.origin.label if self.origin.document else None,
                line=self.origin.line(here),
            )
            self.entries.append(entry)

    def read_hook(self, config: object, path: Path, key: str) -> HookConfig | None:
        """Read a hook from an object; None, with a problem, if that fails. ``key`` is the settings
        key of its event."""
        if not isinstance(config, Mapping):
            self.skip(path, f"must be an object, not {_name_kind(config)}")
            return None
        name: Any = config.get("type")
        kind = KINDS.get(name) if isinstance(name, str) else None
        refusal = self.dialect.refuse_kind(key, name) if isinstance(name, str) else None
        if name == "runtime":
            self.skip(path, "a runtime hook is a function and can only be registered in code")
        elif refusal is not None:
            self.skip(path, refusal)
        elif kind is None:
            fault = f"has the unknown type {name!r}" if "type" in config else "has no type"
            *first, last = (f'"{each}"' for each in KINDS)
            self.skip(path, f"{fault}; the type must be {', '.join(first)} or {last}")
        elif self._report_remarks(config, path, key):
            self.report_slips(config, kind, path)
            try:
                hook: HookConfig = self.read_fields(kind, config, path, key)
            except msgspec.ValidationError:
                self.skip(path, _NEEDS[name])
                return None
            return self._finish(hook, path)
        return None

    def _report_remarks(self, config: Mapping[str, Any], path: Path, key: str) -> bool:
        """Report the dialect's remarks on a hook; False if the hook must be skipped."""
        is_fatal = False
        for remark in self.dialect.find_remarks(key, config):
            at = (*path, remark.field)
            if remark.is_fatal:
                self.skip(at, remark.message, "the hook was skipped")
            else:
                self.report(at, "bad-field", remark.message, remark.consequence)
            is_fatal |= remark.is_fatal
        return not is_fatal

    def read_fields(self, kind: type[H], config: Mapping[str, Any], path: Path, key: str) -> H:
        """Read the declared keys of a hook, in the words and units of the dialect; raises
        ValidationError if it lacks one that it cannot do without."""
        keys = keys_of(kind, is_foreign=self.dialect.has_conditions)
        chosen = {name: config[name] for name in keys if name in config}
        self._default_timeout = self.dialect.default_timeout_ms(key, kind.type)
        if chosen.get("timeout") == float("inf"):
            chosen["timeout"] = None
        self._read_failure_word(chosen, path, key)
        hook = self.convert(kind, chosen, path)
        timeout = self._default_timeout
        if "timeout" in chosen:
            timeout = self.dialect.timeout_ms(chosen["timeout"])
        return msgspec.structs.replace(
            hook,
            source=self.source,
            timeout=timeout,
            dialect=self.dialect.name,
            dialect_event="" if self.dialect.name == "native" else key,
            plugin_root=self.origin.plugin_root,
        )

    def say_default(self, name: str) -> str:
        """Say what is used instead of a bad value, where that is not just nothing."""
        if name != "timeout":
            return _IGNORED
        return f"{self._default_timeout / self.dialect.timeout_ms(1):g} is used instead"

    def _read_failure_word(self, chosen: dict[str, Any], path: Path, key: str) -> None:
        """Put the engine's word in place of the dialect's."""
        if "onFailure" not in chosen:
            return
        word, words = chosen.pop("onFailure"), self.dialect.failure_words
        usual = next(iter(words))
        message = ""
        if not isinstance(word, str) or word not in words:
            message = "must be " + " or ".join(f'"{each}"' for each in words)
        elif words[word] == "block" and key in self.dialect.open_events:
            message = f'"{word}" has no effect on {key}'
        else:
            chosen["onFailure"] = words[word]
        if message:
            at = (*path, "onFailure")
            self.report(at, "bad-field", message, f'"{usual}" is used instead')

    def _finish(self, hook: HookConfig, path: Path) -> HookConfig:
        """Add the name of a hook that has none, and what its place in the settings decides."""
        replace = msgspec.structs.replace
        if isinstance(hook, CommandHook):
            name = " ".join((hook.command, *(hook.args or ())))
            return self._finish_command(replace(hook, name=hook.name or name), path)
        if isinstance(hook, HttpHook):
            url = hook.url.strip()
            # The query of a URL may hold a secret, so it is not part of a hook's name.
            name = url.partition("?")[0].partition("#")[0]
            return replace(hook, url=url, name=hook.name or name)
        assert isinstance(hook, PromptHook)
        name = " ".join(hook.prompt.split())
        name = name if len(name) <= _LONGEST_NAME else f"{name[:_LONGEST_NAME]}…"
        return replace(hook, name=hook.name or name)

    def _finish_command(self, hook: CommandHook, path: Path) -> CommandHook:
        background = hook.background or hook.rewake
        if background and hook.on_failure == "block":
            message = "is not for a hook that fails closed: nobody would wait for its answer"
            at = (*path, "async" if hook.background else "asyncRewake")
            self.report(at, "bad-field", message, "the hook is waited for")
            background = False
        hook = msgspec.structs.replace(
            hook,
            background=background,
            rewake=hook.rewake and background,
            directory=self.origin.directory,
            plugin_data=self.origin.plugin_data,
        )
        if self.source is not HookSource.EXTENSIONS:
            return hook
        texts = (hook.command, *(hook.args or ()), *hook.env.values())
        if hook.directory is None and any("extensionPath" in text for text in texts):
            message = "names ${extensionPath}, and its extension has no path"
            self.report(path, "bad-field", message, "it stays as written", 'add "path" to it')
        return msgspec.structs.replace(
            hook,
            command=_fill_separators(hook.command),
            args=None if hook.args is None else tuple(map(_fill_separators, hook.args)),
            env={name: _fill_separators(text) for name, text in hook.env.items()},
        )


def _fill_separators(text: str) -> str:
    """Replace the placeholders that extensions write for the separator in paths."""
    return text.replace("${/}", os.sep).replace("${pathSeparator}", os.sep)


def _name_kind(value: object) -> str:
    return next((name for kind, name in _KINDS if isinstance(value, kind)), type(value).__name__)


class SettingsReader:
    """Reads the same files and plugins again and again; a broken one keeps its last good content.

    The host's ``tools`` are for matchers that use other names for them. If ``texts`` is given, each
    file that was read is put into it.
    """

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
        # By the path of a file, or of a plugin's folder.
        self._last_good: dict[str, tuple[Layer, ...]] = {}

    def read(self) -> list[Layer]:
        """Read a layer from each file that exists, highest priority first; raises OSError if the
        system has run out of resources."""
        return [layer for file in self.files if (layer := self.read_file(file)) is not None]

    def read_file(self, file: SettingsFile) -> Layer | None:
        """Read the layer of a file, None if there is no file; raises OSError as ``read`` does."""
        try:
            content = read_settings_file(file.path)
        except SettingsFileError as error:
            former = self._recall(file.path, file.source)
            fate = "its last good version stays in force" if former else "the file was skipped"
            consequence = f"{fate}, the other settings still apply"
            problem = msgspec.structs.replace(error.problem, consequence=consequence)
            layer = former[0] if former else Layer(source=file.source)
            return msgspec.structs.replace(layer, problems=(problem,))
        self._last_good.pop(file.path, None)
        if content is None:
            return None
        if self._texts is not None:
            self._texts[file.path] = content
        value, document = content[1].value, content[1]
        layer = read_layer(value, file.source, file.path, document, file.dialect, tools=self._tools)
        self._last_good[file.path] = (layer,)
        return layer

    def read_plugin(self, folder: str, source: HookSource, place: Problem) -> Plugin:
        """Read a plugin's folder for the layer that names it at ``place``; its problems are in a
        layer of their own."""
        dialect = load_foreign(PLUGINS)
        root = dialect.find_plugin_root(folder)
        plugin = dialect.read_plugin(folder, source, place, self._tools)
        if not plugin.problems:
            self._last_good[root] = plugin.layers
            return plugin
        layers = self._recall(root, source) or plugin.layers
        layers += (Layer(source=source, problems=plugin.problems),)
        return msgspec.structs.replace(plugin, layers=layers)

    def _recall(self, path: str, source: HookSource) -> tuple[Layer, ...]:
        """The last good content of a file or a plugin, if it was read for the same layer."""
        former = self._last_good.get(path, ())
        return former if former and former[0].source is source else ()


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
    if dialect in ROWS:
        return load_foreign(dialect).read_layer(value, source, origin, tools)
    reader = ObjectReader(origin, source, DIALECTS["native"])
    settings = reader.read(Settings, value)
    reader.problems += origin.duplicate_keys()
    # What is no object is reported with the hooks and the tools in it.
    raw_hooks, raw_tools = value.get("hooks"), value.get("tools")
    hooks = HooksSection()
    if isinstance(raw_hooks, Mapping):
        declared_hooks = {key: raw_hooks[key] for key in keys_of(HooksSection) if key in raw_hooks}
        hooks = reader.read(HooksSection, declared_hooks, ("hooks",))
    if isinstance(raw_tools, Mapping):
        reader.read(ToolsSection, raw_tools, ("tools",))
    security = settings.security or Security()
    hookline = settings.hookline
    trace = hookline.trace if hookline is not msgspec.UNSET else msgspec.UNSET
    declared: dict[str, DeclaredTool | None] = {}
    for path in TOOLS if "tools" in value or value_at(value, TOOLS[1]) is not None else ():
        declared = {**dict(_read_tools(reader, value, path, label)), **declared}
    parsed = parse_hooks(
        raw_hooks, source=source, origin=Origin(label, document, ("hooks",), folder)
    )
    return Layer(
        source=source,
        entries=parsed.entries,
        switches=tuple(_read_switches(value, source, origin)),
        strict=settings.strict,
        required=hooks.required,
        redaction=security.environment_variable_redaction or None,
        trace=None if trace is msgspec.UNSET else trace,
        foreign=None if settings.foreign is msgspec.UNSET else settings.foreign,
        plugins=tuple(
            (name, origin.problem(("plugins", index), "bad-plugin", ""))
            for index, name in enumerate(value["plugins"] if settings.plugins else ())
            if isinstance(name, str)
        ),
        tools={name: tool for name, tool in declared.items() if tool is not None},
        tool_names=tuple(declared),
        private_hosts=security.private_hook_hosts,
        problems=(*reader.problems, *parsed.problems),
    )


def _read_switches(
    value: Mapping[str, Any], source: HookSource, origin: Origin
) -> Iterator[Switch]:
    """The names that a settings object disables, and its word about all hooks: off, if it has two
    that differ."""
    for path, name in find_disabled_names(value):
        yield Switch(source=source, file=origin.label, line=origin.line(path), name=name)
    whole = min(find_switch_values(value), key=lambda each: each[1], default=None)
    if whole is not None:
        path, is_on = whole
        yield Switch(source=source, file=origin.label, line=origin.line(path), is_on=is_on)


def _read_tools(
    reader: ObjectReader, value: Mapping[str, Any], path: Path, file: str
) -> Iterator[tuple[str, DeclaredTool | None]]:
    """The tools that settings declare at a path: by name, what each is in other dialects; None for
    the tools in a list, which are only names."""
    declared = value_at(value, path)
    if isinstance(declared, list):
        names = [name for name in declared if isinstance(name, str)]
        if len(names) < len(declared):
            consequence = "values that are not strings were ignored"
            reader.report(path, "bad-field", "must be a list of strings", consequence)
        yield from dict.fromkeys(names).items()
        return
    if not isinstance(declared, dict):
        if declared is not None:
            message = "must be a list of tools, or an object of them"
            reader.report(path, "bad-field", message, _IGNORED)
        return
    if path == TOOLS[0] and is_foreign_file(file):
        # Other programs use an object of that name for other things.
        return
    misread = {problem.path for problem in reader.problems if problem.kind == "misread-key"}
    for tool, raw in declared.items():
        at = (*path, tool)
        if at in SWITCHES or at in misread:
            continue
        try:
            if not isinstance(raw, str | dict):
                raise msgspec.ValidationError
            alias = reader.read(ToolNames, {"name": raw} if isinstance(raw, str) else raw, at)
        except msgspec.ValidationError:
            reader.report(at, "bad-field", f"must be {ToolNames.must}", _IGNORED)
            continue
        declaration = msgspec.to_builtins(alias)
        if alias.fields:
            fields = alias.fields.items()
            declaration["fields"] = {f: [n] if isinstance(n, str) else n for f, n in fields}
        yield tool, (declaration, reader.origin.problem(at, "overreach", ""))
