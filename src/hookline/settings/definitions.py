"""Turns the ``hooks`` object of a settings file, or of code, into hooks, entry by entry.

A bad entry is skipped with a problem that names its place; its neighbours load. A bad field that
a hook can do without is replaced by its default.
"""

import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any, ClassVar

import msgspec

from hookline._support.nearest import did_you_mean, nearest
from hookline._support.problem import Problem
from hookline.dialects import DIALECTS, Dialect
from hookline.dialects.matcher import Match
from hookline.errors import InvalidHookError
from hookline.settings.jsonc import Document, Path, spoken, value_at
from hookline.wire.events import EventName
from hookline.wire.hooks import (
    CommandHook,
    HookConfig,
    HookSource,
    HttpHook,
    PromptHook,
    RuntimeHook,
)

# Imported only for hooks of other dialects.
if TYPE_CHECKING:
    from hookline.dialects.tools import ToolAlias
    from hookline.settings.policykeys import Misread, Place

# A prompt hook without a name is named after the beginning of its prompt.
_LONGEST_NAME = 60
# The query of a URL may hold a secret, so it is not part of a hook's name.
_WEB_NAME = re.compile(r"[?#]")
_WEB_ADDRESS = re.compile(r"https?://[^/?#\s]", re.IGNORECASE)
_KINDS: tuple[tuple[type | tuple[type, ...], str], ...] = (
    (type(None), "null"),
    (bool, "true or false"),
    ((int, float), "a number"),
    (str, "a string"),
    ((list, tuple), "a list"),
    (Mapping, "an object"),
)
# What a field of a type must be.
_FIELD_KINDS = {bool: "true or false", str: "a string", dict: "an object of strings"}
# Known keys: these need no check for misspellings.
_KNOWN: "dict[Place, frozenset[str]]" = {
    "definition": frozenset({"matcher", "sequential", "hooks", "description"}),
    "hook": frozenset(
        {
            *("type", "name", "description", "timeout", "onFailure", "managed", "command", "args"),
            *("env", "warm", "async", "url", "headers", "allowedEnvVars", "prompt", "model"),
            *("continueOnBlock", "statusMessage", "once", "shell", "asyncRewake", "covers"),
        }
    ),
}
_KNOWN["registered"] = _KNOWN["hook"] | {"function"}
# At most this many unknown keys of an object are checked, as settings may be unreviewed.
_MOST_UNKNOWN = 50


class Origin(msgspec.Struct, frozen=True):
    """Where settings came from: a file with its text, or a name for settings given in code.

    ``base`` is the path of the object that paths are relative to. ``folder`` is the directory of
    an extension whose settings are given in code, ``plugin_root`` and ``plugin_data`` those of a
    Claude Code plugin.
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
        self, path: Path, kind: str, message: str, consequence: str = "", remedy: str = ""
    ) -> Problem:
        """Make a problem of the value at a path."""
        whole = (*self.base, *path)
        line, column = self.document.place(whole) if self.document else (None, None)
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


class Words:
    """Looks up single values of a settings object, and collects the problems with them."""

    def __init__(self, value: Mapping[str, Any], origin: Origin) -> None:
        self.value = value
        self.origin = origin
        self.problems: list[Problem] = []

    def report(
        self,
        path: Path,
        kind: str,
        message: str,
        consequence: str = "it was ignored",
        remedy: str = "",
    ) -> None:
        """Report a problem of the value at a path."""
        text = f"{spoken(path)} {message}"
        self.problems.append(self.origin.problem(path, kind, text, consequence, remedy))

    def report_slips(self, path: Path, place: "Place", known: frozenset[str]) -> None:
        """Report each unknown key of the object at a path that was meant to decide policy."""
        value = value_at(self.value, path)
        if isinstance(value, Mapping) and not value.keys() <= known:
            for key, found in find_slips(value, place, known):
                self.report(
                    (*path, key), "skipped" if found.loses_hooks else "misread-key", *found[2:]
                )

    def find(self, path: Path, kind: type, called: str) -> Any:
        """The value at a path, None if there is none of that type, which is reported."""
        found = value_at(self.value, path)
        if found is None or isinstance(found, kind):
            return found
        self.report(path, "bad-field", f"must be {called}")
        return None

    def find_switch(self, path: Path) -> bool | None:
        """The value of a switch, None if it is not set."""
        word: bool | None = self.find(path, bool, "true or false")
        return word

    def find_names(self, path: Path) -> tuple[str, ...]:
        """The names in a list."""
        listed = self.find(path, list, "a list of names") or []
        named = tuple(name for name in listed if isinstance(name, str))
        if len(named) < len(listed):
            consequence = "values that are not strings were ignored"
            self.report(path, "bad-field", "must be a list of names", consequence)
        return named


def find_slips(
    value: Mapping[Any, Any], place: "Place", known: frozenset[str], *, is_claude: bool = False
) -> "Iterator[tuple[str, Misread]]":
    """The unknown keys of an object that were meant to decide policy."""
    from hookline.settings.policykeys import find_misread

    unknown = (key for key in value if key not in known and isinstance(key, str))
    for key in islice(unknown, _MOST_UNKNOWN):
        found = find_misread(key, place, is_claude=is_claude)
        if found is not None:
            yield key, found


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
    reader = _Reader(source, origin, dialect or DIALECTS["native"], tools)
    if isinstance(raw, Mapping):
        reader.read_events(raw)
    elif raw is not None:
        reader.skip((), f"hooks must be an object of events, not {_name_kind(raw)}")
    return Parsed(tuple(reader.entries), tuple(reader.problems))


def settings_hook(config: Mapping[str, Any], *, source: HookSource) -> HookConfig:
    """Read a hook that code gives in the form of settings; raises InvalidHookError."""
    reader = _Reader(source, Origin("code"), DIALECTS["native"])
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
    reader = _Reader(source, Origin("code"), DIALECTS["native"])
    reader.report_slips(config, (), "registered")
    common = reader.read_common(config, (), name="")
    reader.refuse_problems()
    call = getattr(function, "__call__", None)  # noqa: B004
    is_async = iscoroutinefunction(function) or iscoroutinefunction(call)
    return RuntimeHook(**common, function=function, is_async=is_async)


class _Reader:
    def __init__(
        self,
        source: HookSource,
        origin: Origin,
        dialect: Dialect,
        tools: "Mapping[str, ToolAlias] | None" = None,
    ) -> None:
        self.source = source
        self.origin = origin
        self.dialect = dialect
        self.tools = tools
        self.entries: list[HookRegistryEntry] = []
        self.problems: list[Problem] = []

    def report(
        self, path: Path, kind: str, message: str, consequence: str = "", remedy: str = ""
    ) -> None:
        text = f"{spoken(path)}: {message}" if path else message
        self.problems.append(self.origin.problem(path, kind, text, consequence, remedy))

    def skip(self, path: Path, message: str, consequence: str = "it was skipped") -> None:
        self.report(path, "skipped", message, consequence)

    def refuse_problems(self) -> None:
        """Raise InvalidHookError if there is any problem: in code each one is an error."""
        if self.problems:
            said = (f"{p.message}; {p.remedy}" if p.remedy else p.message for p in self.problems)
            raise InvalidHookError("; ".join(said))

    def report_slips(self, config: Mapping[Any, Any], path: Path, place: "Place") -> None:
        known = _KNOWN[place]
        if not config.keys() <= known:
            is_claude = self.dialect.name == "claude"
            for key, found in find_slips(config, place, known, is_claude=is_claude):
                self.report(
                    (*path, key), "skipped" if found.loses_hooks else "misread-key", *found[2:]
                )

    def read_events(self, raw: Mapping[Any, Any]) -> None:
        for key, definitions in raw.items():
            if key in self.dialect.reserved_keys:
                continue
            event = self.dialect.event_for(key) if isinstance(key, str) else None
            if event is None:
                from hookline.settings.policykeys import find_misread

                message, consequence = "is not a hook event and was skipped", ""
                slip = find_misread(str(key), "hooks") if self.dialect.reserved_keys else None
                if slip is not None:
                    consequence, hint = slip.consequence, slip.remedy
                else:
                    hint = did_you_mean(nearest(str(key), self.dialect.event_names()))
                self.report((str(key),), "unknown-event", message, consequence, hint)
            elif not isinstance(definitions, list | tuple):
                self.skip((key,), f"must be a list of definitions, not {_name_kind(definitions)}")
            else:
                for index, definition in enumerate(definitions):
                    self.read_definition(event, definition, (key, index))

    def read_definition(self, event: EventName, definition: object, path: Path) -> None:
        hooks = definition.get("hooks") if isinstance(definition, Mapping) else None
        if not isinstance(definition, Mapping) or not isinstance(hooks, list | tuple):
            self.skip(path, "must be an object with a list of hooks")
            return
        matcher = definition.get("matcher", msgspec.UNSET)
        at_matcher = (*path, "matcher")
        if matcher is not msgspec.UNSET and not isinstance(matcher, str | None):
            self.skip(at_matcher, "must be a string", "the definition was skipped")
            return
        matches, problem = self.dialect.compile_matcher(event, matcher or None, self.tools)
        if problem is not None:
            self.report(at_matcher, problem.kind, problem.message, problem.consequence)
        self.report_slips(definition, path, "definition")
        sequential = self._read_field(definition, "sequential", path, bool, False)
        file = self.origin.label if self.origin.document else None
        for index, config in enumerate(hooks):
            here = (*path, "hooks", index)
            hook = self.read_hook(config, here, str(path[0]))
            if hook is not None:
                entry = HookRegistryEntry(
                    event=event,
                    hook=hook,
                    matcher=matcher,
                    matches=matches,
                    sequential=sequential,
                    file=file,
                    line=self.origin.line(here),
                )
                self.entries.append(entry)

    def read_hook(self, config: object, path: Path, key: str) -> HookConfig | None:
        """Read a hook from an object; None, with a problem, if that fails. ``key`` is the settings
        key of its event."""
        if not isinstance(config, Mapping):
            self.skip(path, f"must be an object, not {_name_kind(config)}")
            return None
        kind: Any = config.get("type")
        read = self._READERS.get(kind) if isinstance(kind, str) else None
        refused = self.dialect.refuse_kind(key, kind) if isinstance(kind, str) else None
        if kind == "runtime":
            self.skip(path, "a runtime hook is a function and can only be registered in code")
        elif refused is not None:
            self.skip(path, refused)
        elif read is None:
            said = f"has the unknown type {kind!r}" if "type" in config else "has no type"
            *names, last = (f'"{name}"' for name in self._READERS)
            self.skip(path, f"{said}; the type must be {', '.join(names)} or {last}")
        elif self._report_remarks(config, path, key):
            self.report_slips(config, path, "hook" if path else "registered")
            return read(self, config, path, key)
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

    def read_command(self, config: Mapping[str, Any], path: Path, key: str) -> CommandHook | None:
        """Read a hook that runs a command."""
        command: Any = config.get("command")
        args: Any = config.get("args")
        if not isinstance(command, str) or not command.strip():
            self.skip(path, "a command hook needs a command")
            return None
        is_list = isinstance(args, list | tuple) and all(isinstance(item, str) for item in args)
        words = tuple(args) if is_list else None
        if "args" in config and not is_list:
            self.report((*path, "args"), "bad-field", "must be a list of strings", "it was ignored")
        common = self.read_common(config, path, key, name=" ".join((command, *(words or ()))))
        env: dict[str, str] = {}
        for name, value in self._read_field(config, "env", path, dict, {}).items():
            is_text = isinstance(name, str) and isinstance(value, str)
            if is_text and name and "=" not in name and "\0" not in name + value:
                env[name] = value
            else:
                message = "must be a variable's name with a string, neither with NUL"
                self.report((*path, "env", name), "bad-field", message, "it was ignored")
        covers: Any = config.get("covers", [])
        if not isinstance(covers, list | tuple) or not all(isinstance(c, str) for c in covers):
            message = "must be a list of paths in the project"
            self.report((*path, "covers"), "bad-field", message, "it was ignored")
            covers = ()
        warm = self._read_field(config, "warm", path, bool, False)
        in_background = [
            key
            for key in self.dialect.background_keys
            if self._read_field(config, key, path, bool, False)
        ]
        if in_background and common["on_failure"] == "block":
            message = "is not for a hook that fails closed: nobody would wait for its answer"
            at = (*path, in_background[0])
            self.report(at, "bad-field", message, "the hook is waited for")
            in_background = []
        directory = self.origin.directory
        if self.source is HookSource.EXTENSIONS:
            command, env = _fill_separators(command), {n: _fill_separators(env[n]) for n in env}
            words = None if words is None else tuple(map(_fill_separators, words))
            texts = (command, *(words or ()), *env.values())
            if directory is None and any("extensionPath" in text for text in texts):
                message = "names ${extensionPath}, and its extension has no path"
                self.report(path, "bad-field", message, "it stays as written", 'add "path" to it')
        return CommandHook(
            **common,
            command=command,
            args=words,
            env=env,
            warm=warm,
            directory=directory,
            background=bool(in_background),
            wakes=self.dialect.wake_key in in_background,
            plugin_data=self.origin.plugin_data,
            covers=tuple(covers),
        )

    def read_http(self, config: Mapping[str, Any], path: Path, key: str) -> HttpHook | None:
        """Read a hook that calls a server."""
        url: Any = config.get("url")
        if not isinstance(url, str) or not _WEB_ADDRESS.match(url.strip()):
            self.skip(path, "an http hook needs a url that begins with https:// or http://")
            return None
        headers = self._read_field(config, "headers", path, dict, {})
        texts = {
            name: value
            for name, value in headers.items()
            if isinstance(name, str) and isinstance(value, str)
        }
        if len(texts) < len(headers):
            message = "must be an object of strings"
            self.report(
                (*path, "headers"), "bad-field", message, "values that are not strings were ignored"
            )
        allowed: Any = config.get("allowedEnvVars", [])
        is_list = isinstance(allowed, list | tuple) and all(isinstance(n, str) for n in allowed)
        if not is_list:
            message = "must be a list of the names of variables"
            self.report((*path, "allowedEnvVars"), "bad-field", message, "it was ignored")
        return HttpHook(
            **self.read_common(
                config, path, key, name=_WEB_NAME.split(url.strip(), 1)[0], kind="http"
            ),
            url=url.strip(),
            headers=texts,
            allowed_env=tuple(allowed) if is_list else (),
        )

    def read_prompt(self, config: Mapping[str, Any], path: Path, key: str) -> PromptHook | None:
        """Read a hook that asks a model."""
        prompt: Any = config.get("prompt")
        if not isinstance(prompt, str) or not prompt.strip():
            self.skip(path, "a prompt hook needs a prompt")
            return None
        name = " ".join(prompt.split())
        name = name if len(name) <= _LONGEST_NAME else f"{name[:_LONGEST_NAME]}…"
        return PromptHook(
            **self.read_common(config, path, key, name=name, kind="prompt"),
            prompt=prompt,
            model=self._read_field(config, "model", path, str, None),
            continue_on_block=self._read_field(config, "continueOnBlock", path, bool, False),
        )

    def read_common(
        self,
        config: Mapping[str, Any],
        path: Path,
        key: str = "",
        *,
        name: str,
        kind: str = "command",
    ) -> dict[str, Any]:
        """Read the fields that every kind of hook has; ``name`` is for a hook without one."""
        dialect = self.dialect
        managed = self._read_field(config, "managed", path, bool, False)
        if managed and self.source is not HookSource.SYSTEM:
            message = "counts only in the system's settings"
            self.report((*path, "managed"), "overreach", message, "it was ignored")
            managed = False
        usual, *others = dialect.failure_words
        said: Any = config.get("onFailure", usual)
        if not isinstance(said, str) or said not in dialect.failure_words:
            words = " or ".join(f'"{word}"' for word in (usual, *others))
            used = f'"{usual}" is used instead'
            self.report((*path, "onFailure"), "bad-field", f"must be {words}", used)
            said = usual
        elif dialect.failure_words[said] == "block" and key in dialect.open_events:
            message = f'"{said}" has no effect on {key}'
            self.report((*path, "onFailure"), "bad-field", message, f'"{usual}" is used instead')
            said = usual
        own_name = self._read_field(config, "name", path, str, "")
        description = self._read_field(config, "description", path, str, None)
        default = dialect.default_timeout_ms(key, kind)
        timeout: Any = config.get("timeout", default)
        is_number = isinstance(timeout, int | float) and not isinstance(timeout, bool)
        if "timeout" in config and is_number and 0 < timeout <= sys.float_info.max:
            timeout = dialect.timeout_ms(timeout)
        elif "timeout" in config:
            timeout = default
            message = f"must be a number of {dialect.time_unit} above 0"
            used = f"{default / dialect.timeout_ms(1):g} is used instead"
            self.report((*path, "timeout"), "bad-field", message, used)
        condition = (
            self._read_field(config, "if", path, str, None) if dialect.has_conditions else None
        )
        return {
            "name": own_name or name,
            "source": self.source,
            "description": description,
            "timeout": timeout,
            "on_failure": dialect.failure_words[said],
            "managed": managed,
            "dialect": dialect.name,
            "dialect_event": "" if dialect.name == "native" else key,
            "condition": condition,
            "plugin_root": self.origin.plugin_root,
        }

    _READERS: ClassVar[dict[str, Callable[..., HookConfig | None]]] = {
        "command": read_command,
        "http": read_http,
        "prompt": read_prompt,
    }

    def _read_field(
        self, config: Mapping[str, Any], key: str, path: Path, kind: type, default: Any
    ) -> Any:
        if key not in config or isinstance(config[key], kind):
            return config.get(key, default)
        self.report((*path, key), "bad-field", f"must be {_FIELD_KINDS[kind]}", "it was ignored")
        return default


def _fill_separators(text: str) -> str:
    """Replace the placeholders that extensions write for the separator in paths."""
    return text.replace("${/}", os.sep).replace("${pathSeparator}", os.sep)


def _name_kind(value: object) -> str:
    return next((name for kind, name in _KINDS if isinstance(value, kind)), type(value).__name__)
