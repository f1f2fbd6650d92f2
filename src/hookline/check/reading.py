"""Reads settings once for all rules: as the engine reads them, and as they are written.

A rule gets the raw objects with their paths, for what is wrong there, and each hook as the engine
registers it, for what will come of it.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from hookline.check.findings import Finding, Fix, Replace, Severity
from hookline.check.spans import Span, spans_of
from hookline.pipeline.definitions import RESERVED_KEYS, Problem
from hookline.pipeline.dialects import Dialect, dialect_of
from hookline.pipeline.jsonc import (
    BOM,
    Document,
    JsoncError,
    Path,
    line_and_column,
    parse,
    value_at,
)
from hookline.pipeline.layers import Settings, combine
from hookline.pipeline.registry import HookRegistryEntry
from hookline.pipeline.settings import (
    Layer,
    SettingsFile,
    SettingsReader,
    content_of,
    read_layer,
)
from hookline.wire.events import HookEventName
from hookline.wire.hooks import CommandHook, HookSource

# Files of other programs, which have keys of their own.
_FOREIGN_FOLDERS = frozenset({".gemini", ".llxprt", ".claude"})


class CheckedFile(msgspec.Struct, frozen=True, eq=False, kw_only=True):
    """A settings file that could be parsed."""

    path: str
    source: HookSource
    dialect: Dialect
    raw: bytes
    document: Document
    layer: Layer

    @property
    def spans(self) -> dict[Path, Span]:
        """Where every key and value stands."""
        return spans_of(self.document.text)

    @property
    def is_own(self) -> bool:
        """Whether every key in it is ours."""
        return os.path.basename(os.path.dirname(self.path)) not in _FOREIGN_FOLDERS

    def value(self, path: Path) -> Any:
        """The value at a path, None where there is none."""
        return value_at(self.document.value, path)

    def finding(
        self,
        rule: str,
        severity: Severity,
        path: Path,
        message: str,
        remedy: str = "",
        *,
        at: Path | None = None,
        at_key: bool = False,
        fixes: Sequence[Fix] = (),
        **about: str,
    ) -> Finding:
        """A finding about the value at a path; ``at`` is another one to look at."""
        where = at if at is not None else path
        if at_key and where in self.spans:
            line, column = line_and_column(self.document.text, self.spans[where].key)
        else:
            line, column = self.document.place(where)
        return Finding(
            rule=rule,
            severity=severity,
            file=self.path,
            line=line,
            column=column,
            message=message,
            remedy=remedy,
            settings=self.path,
            path=path,
            fixes=fixes,
            **about,
        )

    def renamed_key(self, path: Path, name: str) -> tuple[Fix, ...]:
        """The edit that spells a key differently; none where that key is there already."""
        if name in self.value(path[:-1]):
            return ()
        span = self.spans[path]
        return (Replace(self.path, span.key, span.key_end, _quoted(name)),)

    def replaced(self, path: Path, value: object) -> tuple[Fix, ...]:
        """The edit that writes another value."""
        span = self.spans[path]
        text = _quoted(value) if isinstance(value, str) else str(value)
        return (Replace(self.path, span.start, span.end, text),)


class RawHook(msgspec.Struct, frozen=True, eq=False):
    """An object where a hook is expected, with the key of its event and its definition."""

    file: CheckedFile
    key: str
    path: Path
    definition: Mapping[str, Any]
    config: Mapping[str, Any]


class HookSite(msgspec.Struct, frozen=True, eq=False):
    """A hook as the engine has it, and where it is written."""

    raw: RawHook
    entry: HookRegistryEntry
    hook: CommandHook

    @property
    def file(self) -> CheckedFile:
        """The file that it is written in."""
        return self.raw.file

    @property
    def event(self) -> HookEventName:
        """The event that it is for."""
        return self.entry.event

    def finding(
        self,
        rule: str,
        severity: Severity,
        field: Path,
        message: str,
        remedy: str = "",
        *,
        fixes: Sequence[Fix] = (),
        at_key: bool = False,
    ) -> Finding:
        """A finding about one of its fields, or about it as a whole."""
        path = (*self.raw.path, *field)
        return self.file.finding(
            rule,
            severity,
            path,
            message,
            remedy,
            fixes=fixes,
            at_key=at_key,
            event=self.event.value,
            hook=self.hook.name,
        )


class Checked(msgspec.Struct, frozen=True, eq=False, kw_only=True):
    """Everything there is to check; ``broken`` are the files that nobody can read."""

    files: tuple[CheckedFile, ...]
    hooks: tuple[HookSite, ...]
    settings: Settings
    broken: tuple[Problem, ...]
    cwd: str
    project_dir: str
    environ: Mapping[str, str]


def read(
    files: Sequence[SettingsFile], *, cwd: str, project_dir: str, environ: Mapping[str, str]
) -> Checked:
    """Read the files there are, highest priority first; never raises."""
    checked: list[CheckedFile] = []
    broken: list[Problem] = []
    for file in files:
        found = _read(file)
        if isinstance(found, CheckedFile):
            checked.append(found)
        elif found is not None:
            broken.append(found)
    settings = combine([file.layer for file in checked], trusted=lambda _hook: True)
    return Checked(
        files=tuple(checked),
        hooks=tuple(_sites(checked, settings)),
        settings=settings,
        broken=tuple(broken),
        cwd=cwd,
        project_dir=project_dir,
        environ=dict(environ),
    )


def definitions(file: CheckedFile) -> Iterator[tuple[str, Path, Mapping[str, Any]]]:
    """The definitions of a file: the key of the event, the path, the object."""
    hooks = file.value(("hooks",))
    for key, listed in hooks.items() if isinstance(hooks, Mapping) else ():
        if key not in RESERVED_KEYS and isinstance(listed, list):
            for index, definition in enumerate(listed):
                if isinstance(definition, Mapping):
                    yield key, ("hooks", key, index), definition


def raw_hooks(file: CheckedFile) -> Iterator[RawHook]:
    """The objects of a file where hooks are expected."""
    for key, path, definition in definitions(file):
        listed = definition.get("hooks")
        for index, config in enumerate(listed) if isinstance(listed, list) else ():
            if isinstance(config, Mapping):
                yield RawHook(file, key, (*path, "hooks", index), definition, config)


def _read(file: SettingsFile) -> CheckedFile | Problem | None:
    try:
        raw = content_of(file.path)
        document = parse(raw.removeprefix(BOM).decode())
    except (OSError, JsoncError, UnicodeDecodeError):
        return _problem(file)
    if not isinstance(document.value, dict):
        return _problem(file)
    return CheckedFile(
        path=file.path,
        source=file.source,
        dialect=dialect_of(file.dialect),
        raw=raw,
        document=document,
        layer=read_layer(document.value, file.source, file.path, document, file.dialect),
    )


def _problem(file: SettingsFile) -> Problem | None:
    """What the engine says about a file that it cannot use; None where there is no file."""
    layers = SettingsReader((file,)).read()
    return next((problem for layer in layers for problem in layer.problems), None)


def _sites(files: Sequence[CheckedFile], settings: Settings) -> Iterator[HookSite]:
    """Pairs what is written with what was registered; both are in the order of the files."""
    entries = iter(settings.entries)
    entry = next(entries, None)
    for file in files:
        for raw in raw_hooks(file):
            if entry is not None and _is_it(raw, entry):
                assert isinstance(entry.hook, CommandHook)
                yield HookSite(raw, entry, entry.hook)
                entry = next(entries, None)


def _is_it(raw: RawHook, entry: HookRegistryEntry) -> bool:
    hook = entry.hook
    return (
        isinstance(hook, CommandHook)
        and entry.file == raw.file.path
        and raw.config.get("type") == "command"
        and raw.config.get("command") == hook.command
        and raw.file.dialect.event_for(raw.key) is entry.event
        and raw.file.document.place(raw.path)[0] == entry.line
    )


def _quoted(text: str) -> str:
    from hookline.wire import codec

    return codec.encode(text).decode()
