"""Reads settings once for all rules: as the engine reads them, and as they are written.

A rule gets the raw objects with their paths, for what is wrong there, and each hook as the engine
registers it, for what will come of it.
"""

import os
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from hookline.check.findings import Finding, Fix, Replace, Severity
from hookline.pipeline.dialects import DIALECTS, Dialect
from hookline.pipeline.jsonc import Document, Path, value_at
from hookline.pipeline.registry import HookRegistryEntry
from hookline.pipeline.settings import (
    GivenTrust,
    Layer,
    SettingsFile,
    SettingsFileError,
    combine,
    read_layer,
    read_settings_file,
)
from hookline.problem import Problem
from hookline.wire import codec
from hookline.wire.events import EventName
from hookline.wire.hooks import CommandHook, HookSource

# Files of other programs, which have keys of their own.
_FOREIGN_FOLDERS = frozenset({".gemini", ".llxprt", ".claude"})


class CheckedFile(msgspec.Struct, frozen=True, eq=False):
    """A settings file that could be parsed."""

    path: str
    source: HookSource
    dialect: Dialect
    raw: bytes
    document: Document
    layer: Layer

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
        span = self.document.span(where) if at_key else None
        line, column = self.document.place_of(span.key) if span else self.document.place(where)
        return Finding(
            kind=rule,
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
        span = self.document.span(path)
        if span is None or name in self.value(path[:-1]):
            return ()
        return (Replace(self.path, span.key, span.key_end, _json(name)),)

    def replaced(self, path: Path, value: object) -> tuple[Fix, ...]:
        """The edit that writes another value."""
        span = self.document.span(path)
        return () if span is None else (Replace(self.path, span.start, span.end, _json(value)),)


class RawHook(msgspec.Struct, frozen=True, eq=False):
    """An object where a hook is expected, with the key of its event."""

    file: CheckedFile
    key: str
    path: Path
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
    def event(self) -> EventName:
        """The event that it is for."""
        return self.entry.event

    def finding(
        self,
        rule: str,
        severity: Severity,
        field: Path,
        message: str,
        remedy: str = "",
        fixes: Sequence[Fix] = (),
    ) -> Finding:
        """A finding about one of its fields, or about it as a whole."""
        path, event, hook = (*self.raw.path, *field), self.event.value, self.hook.name
        return self.file.finding(
            rule, severity, path, message, remedy, fixes=fixes, event=event, hook=hook
        )


class Checked(msgspec.Struct, frozen=True, eq=False, kw_only=True):
    """Everything there is to check; ``broken`` are the files that nobody can read."""

    files: tuple[CheckedFile, ...]
    hooks: tuple[HookSite, ...]
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
        try:
            found = read_settings_file(file.path)
        except SettingsFileError as error:
            broken.append(error.problem)
            continue
        if found is not None:
            raw, document = found
            layer = read_layer(document.value, file.source, file.path, document, file.dialect)
            dialect = DIALECTS[file.dialect]
            checked.append(CheckedFile(file.path, file.source, dialect, raw, document, layer))
    settings = combine([file.layer for file in checked], trust=GivenTrust(True))
    entries = deque(entry for entry in settings.entries if isinstance(entry.hook, CommandHook))
    # Both what is written and what was registered are in the order of the files.
    sites: list[HookSite] = []
    for written in (written for file in checked for written in raw_hooks(file)):
        if not entries:
            break
        entry, hook, home = entries[0], entries[0].hook, written.file
        assert isinstance(hook, CommandHook)
        if (
            entry.file == home.path
            and written.config.get("type") == "command"
            and written.config.get("command") == hook.command
            and home.dialect.event_for(written.key) is entry.event
            and home.document.place(written.path)[0] == entry.line
        ):
            sites.append(HookSite(written, entry, hook))
            entries.popleft()
    return Checked(
        files=tuple(checked),
        hooks=tuple(sites),
        broken=tuple(broken),
        cwd=cwd,
        project_dir=project_dir,
        environ=dict(environ),
    )


def definitions(file: CheckedFile) -> Iterator[tuple[str, Path, Mapping[str, Any]]]:
    """The definitions of a file: the key of the event, the path, the object."""
    hooks = file.value(("hooks",))
    for key, listed in hooks.items() if isinstance(hooks, Mapping) else ():
        if key not in file.dialect.reserved_keys and isinstance(listed, list):
            for index, definition in enumerate(listed):
                if isinstance(definition, Mapping):
                    yield key, ("hooks", key, index), definition


def raw_hooks(file: CheckedFile) -> Iterator[RawHook]:
    """The objects of a file where hooks are expected."""
    for key, path, definition in definitions(file):
        listed = definition.get("hooks")
        for index, config in enumerate(listed) if isinstance(listed, list) else ():
            if isinstance(config, Mapping):
                yield RawHook(file, key, (*path, "hooks", index), config)


def _json(value: object) -> str:
    return codec.encode(value).decode()
