"""Turns the ``hooks`` object of a settings file, or of code, into hooks, entry by entry.

A bad entry is skipped with a problem that names its place; its neighbours load. A bad field that
a hook can do without is replaced by its default.
"""

import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

from hookline.errors import InvalidHookError
from hookline.pipeline.dialects import Dialect, dialect_of
from hookline.pipeline.jsonc import Document, Path, spoken
from hookline.pipeline.matcher import Match
from hookline.wire.events import HookEventName, nearest_events
from hookline.wire.hooks import DEFAULT_TIMEOUT_MS, CommandHook, HookSource

# Keys beside the events that are settings of the hook system itself.
RESERVED_KEYS = frozenset({"enabled", "disabled", "notifications"})

_MISSING = object()


class Problem(msgspec.Struct, frozen=True):
    """Something wrong in the settings: where, what, and what was done about it.

    ``broken`` marks a file that could not be read at all.
    """

    place: str
    message: str
    broken: bool = False

    def __str__(self) -> str:
        return f"{self.place}: {self.message}"


class Origin(msgspec.Struct, frozen=True):
    """Where settings came from: a file with its text, or a name for settings given in code."""

    label: str
    document: Document | None = None
    base: Path = ()

    def at(self, path: Path) -> str:
        """``file:line:column`` of a value, or the label where there is no file."""
        line = self.line(path)
        if self.document is None or line is None:
            return self.label
        _, column = self.document.place((*self.base, *path))
        return f"{self.label}:{line}:{column}"

    def line(self, path: Path) -> int | None:
        """The line of a value, None where there is no file."""
        return self.document.place((*self.base, *path))[0] if self.document else None


class HookEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One hook as it was defined: on which event, for which names, from where.

    ``matcher`` is UNSET where the definition has none, which is not the same as null to a reader
    of listings, though both match all.
    """

    event: HookEventName
    hook: CommandHook
    matcher: str | msgspec.UnsetType | None
    matches: Match
    sequential: bool
    file: str | None = None
    line: int | None = None


class Parsed(msgspec.Struct, frozen=True):
    """The good entries of a ``hooks`` object, in order, and the problems of the others."""

    entries: tuple[HookEntry, ...]
    problems: tuple[Problem, ...]


def parse_hooks(
    raw: object, *, source: HookSource, origin: Origin, dialect: Dialect | None = None
) -> Parsed:
    """Read a ``hooks`` object; never raises."""
    reader = _Reader(source, origin, dialect or dialect_of("native"))
    if raw is None:
        return Parsed((), ())
    if not isinstance(raw, Mapping):
        reader.report((), f"hooks must be an object of events, not {_kind(raw)}; it was skipped")
    else:
        reader.events(raw)
    return Parsed(tuple(reader.entries), tuple(reader.problems))


def command_hook(config: Mapping[str, Any], *, source: HookSource) -> CommandHook:
    """A command hook given in code; raises InvalidHookError where a file's would be skipped."""
    reader = _Reader(source, Origin("code"), dialect_of("native"))
    hook = reader.hook(config, ())
    if hook is None or reader.problems:
        raise InvalidHookError("; ".join(problem.message for problem in reader.problems))
    return hook


class _Reader:
    def __init__(self, source: HookSource, origin: Origin, dialect: Dialect) -> None:
        self.source = source
        self.origin = origin
        self.dialect = dialect
        self.entries: list[HookEntry] = []
        self.problems: list[Problem] = []

    def report(self, path: Path, message: str) -> None:
        where = spoken(path)
        text = f"{where}: {message}" if where else message
        self.problems.append(Problem(self.origin.at(path), text))

    def events(self, raw: Mapping[Any, Any]) -> None:
        for key, definitions in raw.items():
            if key in RESERVED_KEYS:
                continue
            event = self.dialect.event_for(key) if isinstance(key, str) else None
            if event is None:
                near = nearest_events(key)
                hint = f"; did you mean {' or '.join(near)}?" if near else ""
                self.report((str(key),), f"is not a hook event and was skipped{hint}")
            elif not isinstance(definitions, list | tuple):
                problem = f"must be a list of definitions, not {_kind(definitions)}; it was skipped"
                self.report((key,), problem)
            else:
                for index, definition in enumerate(definitions):
                    self._definition(event, definition, (key, index))

    def _definition(self, event: HookEventName, definition: object, path: Path) -> None:
        if not isinstance(definition, Mapping) or not isinstance(
            definition.get("hooks"), list | tuple
        ):
            self.report(path, "must be an object with a list of hooks; it was skipped")
            return
        matcher = definition.get("matcher", msgspec.UNSET)
        if matcher is not msgspec.UNSET and not isinstance(matcher, str | None):
            self.report((*path, "matcher"), "must be a string; the definition was skipped")
            return
        matches, problem = self.dialect.compile_matcher(event, matcher or None)
        if problem:
            self.report((*path, "matcher"), problem)
        sequential = self._field(definition, "sequential", path, bool, "true or false", False)
        for index, config in enumerate(definition["hooks"]):
            here = (*path, "hooks", index)
            hook = self.hook(config, here)
            if hook is not None:
                file = self.origin.label if self.origin.document else None
                self.entries.append(
                    HookEntry(
                        event=event,
                        hook=hook,
                        matcher=matcher,
                        matches=matches,
                        sequential=sequential,
                        file=file,
                        line=self.origin.line(here),
                    )
                )

    def hook(self, config: object, path: Path) -> CommandHook | None:
        problem = _fatal_problem(config)
        if problem is not None:
            self.report(path, f"{problem}; it was skipped")
            return None
        assert isinstance(config, Mapping)
        command: str = config["command"]
        args = self._strings(config, "args", path)
        fallback = " ".join((command, *args)) if args is not None else command
        return CommandHook(
            name=self._field(config, "name", path, str, "a string", "") or fallback,
            source=self.source,
            description=self._field(config, "description", path, str, "a string", None),
            timeout=self._timeout(config, path),
            on_failure=self._choice(config, "onFailure", path),
            managed=self._managed(config, path),
            dialect=self.dialect.name,
            command=command,
            args=args,
            env=self._env(config, path),
            warm=self._field(config, "warm", path, bool, "true or false", False),
        )

    def _field(
        self, config: Mapping[str, Any], key: str, path: Path, kind: type, spoken: str, default: Any
    ) -> Any:
        value = config.get(key, _MISSING)
        if value is _MISSING or isinstance(value, kind):
            return default if value is _MISSING else value
        self.report((*path, key), f"must be {spoken}; it was ignored")
        return default

    def _timeout(self, config: Mapping[str, Any], path: Path) -> float:
        value = config.get("timeout", _MISSING)
        if value is _MISSING:
            return DEFAULT_TIMEOUT_MS
        if _is_number(value) and 0 < value <= sys.float_info.max:
            return self.dialect.timeout_ms(value)
        problem = f"must be a number of milliseconds above 0; {DEFAULT_TIMEOUT_MS} is used instead"
        self.report((*path, "timeout"), problem)
        return DEFAULT_TIMEOUT_MS

    def _choice(self, config: Mapping[str, Any], key: str, path: Path) -> Any:
        value = config.get(key, "allow")
        if value in ("allow", "block"):
            return value
        self.report((*path, key), 'must be "allow" or "block"; "allow" is used instead')
        return "allow"

    def _managed(self, config: Mapping[str, Any], path: Path) -> bool:
        managed: bool = self._field(config, "managed", path, bool, "true or false", False)
        if managed and self.source is not HookSource.SYSTEM:
            self.report((*path, "managed"), "counts only in the system's settings; it was ignored")
            return False
        return managed

    def _strings(self, config: Mapping[str, Any], key: str, path: Path) -> tuple[str, ...] | None:
        value = config.get(key)
        if key not in config:
            return None
        if isinstance(value, list | tuple) and all(isinstance(item, str) for item in value):
            return tuple(value)
        self.report((*path, key), "must be a list of strings; it was ignored")
        return None

    def _env(self, config: Mapping[str, Any], path: Path) -> dict[str, str]:
        raw = self._field(config, "env", path, dict, "an object of strings", {})
        env = {name: value for name, value in raw.items() if _is_variable(name, value)}
        for name in raw:
            if name not in env:
                problem = "must be a variable's name with a string, neither with NUL"
                self.report((*path, "env", name), f"{problem}; it was ignored")
        return env


def _fatal_problem(config: object) -> str | None:
    """What makes an entry no hook at all."""
    if not isinstance(config, Mapping):
        return f"must be an object, not {_kind(config)}"
    kind = config.get("type")
    if kind == "runtime":
        return "a runtime hook is a function and can only be registered in code"
    if kind != "command":
        said = f"has the unknown type {kind!r}" if "type" in config else "has no type"
        return f'{said}; the type must be "command"'
    command = config.get("command")
    if not isinstance(command, str) or not command.strip():
        return "a command hook needs a command"
    return None


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_variable(name: object, value: object) -> bool:
    if not (isinstance(name, str) and isinstance(value, str)):
        return False
    return bool(name) and "=" not in name and "\0" not in name + value


def _kind(value: object) -> str:
    names: Iterator[tuple[Callable[[object], bool], str]] = iter(
        (
            (lambda v: v is None, "null"),
            (lambda v: isinstance(v, bool), "true or false"),
            (lambda v: isinstance(v, int | float), "a number"),
            (lambda v: isinstance(v, str), "a string"),
            (lambda v: isinstance(v, list | tuple), "a list"),
            (lambda v: isinstance(v, Mapping), "an object"),
        )
    )
    return next((name for test, name in names if test(value)), type(value).__name__)
