"""Reads settings once for all rules: as the engine reads them, and as they are written.

A rule gets the raw objects with their paths, and each hook as the engine registers it.
"""

import os
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from hookline._support.problem import Problem
from hookline.check.findings import Finding, Fix, Severity, TextEdit
from hookline.dialects import DIALECTS, Dialect
from hookline.pipeline.registry import HookRegistryEntry
from hookline.settings.jsonc import Document, Path, value_at
from hookline.settings.reader import (
    GivenTrust,
    Required,
    SettingsFile,
    SettingsFileError,
    combine,
    find_tools,
    is_foreign_file,
    read_settings_file,
)
from hookline.settings.sources import Sources
from hookline.wire import codec
from hookline.wire.events import EventName
from hookline.wire.hooks import CommandHook, HookConfig, HookSource, HttpHook, PromptHook

if TYPE_CHECKING:
    from hookline.dialects.tools import ToolAlias


class CheckedFile(msgspec.Struct, frozen=True, eq=False):
    """A settings file or a plugin's file that could be parsed; ``bases`` are the paths to its
    objects of events."""

    path: str
    source: HookSource
    dialect: Dialect
    raw: bytes
    document: Document
    bases: tuple[Path, ...] = (("hooks",),)
    is_plugin: bool = False

    @property
    def is_claude(self) -> bool:
        """True if it is written for Claude Code."""
        return self.dialect.name == "claude"

    @property
    def is_own(self) -> bool:
        """True if no other program reads the file, so that every key in it is ours."""
        return not self.is_claude and not is_foreign_file(self.path)

    def value(self, path: Path) -> Any:
        """Return the value at a path, None if there is none."""
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
        """Make a finding about the value at a path; ``at`` is another path to show."""
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

    def rename_key(self, path: Path, name: str) -> tuple[Fix, ...]:
        """Make the edit that renames a key; none if the new key is there already."""
        span = self.document.span(path)
        if span is None or name in self.value(path[:-1]):
            return ()
        return (TextEdit(self.path, span.key, span.key_end, _write_json(name)),)

    def replace_value(self, path: Path, value: object) -> tuple[Fix, ...]:
        """Make the edit that writes another value."""
        span = self.document.span(path)
        return (
            () if span is None else (TextEdit(self.path, span.start, span.end, _write_json(value)),)
        )


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
    hook: HookConfig

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
        path, hook = (*self.raw.path, *field), self.hook.name
        event = self.hook.dialect_event or self.event.value
        return self.file.finding(
            rule, severity, path, message, remedy, fixes=fixes, event=event, hook=hook
        )


class CommandSite(HookSite, frozen=True, eq=False):
    """A hook that is a process, and where it is written."""

    hook: CommandHook


class Checked(msgspec.Struct, frozen=True, eq=False, kw_only=True):
    """Everything that rules check.

    ``problems`` are those that the engine reports, unreadable files included. ``tools`` are the
    host's tools that settings declare as Claude Code's, ``declared`` the names of all declared
    tools, and ``unread`` are files of Claude Code's that are there and not read.
    """

    files: tuple[CheckedFile, ...]
    hooks: tuple[HookSite, ...]
    problems: tuple[Problem, ...]
    tools: "Mapping[str, ToolAlias]"
    declared: frozenset[str]
    private_hosts: tuple[str, ...]
    required: tuple[Required, ...]
    unread: tuple[str, ...]
    cwd: str
    project_dir: str
    environ: Mapping[str, str]

    @property
    def broken(self) -> tuple[Problem, ...]:
        """The files that cannot be read."""
        return tuple(each for each in self.problems if each.broken and each.kind != "bad-plugin")

    @property
    def commands(self) -> Iterator[CommandSite]:
        """The hooks that are processes."""
        return (site for site in self.hooks if isinstance(site, CommandSite))


def read(
    files: Sequence[SettingsFile],
    *,
    cwd: str,
    project_dir: str,
    environ: Mapping[str, str],
    claude_files: Iterable[SettingsFile] = (),
    claude: bool | None = None,
    plugins: Iterable[str] = (),
) -> Checked:
    """Read the files that exist, highest priority first, and Claude Code's files and plugins as an
    agent would; never raises."""
    claude_files = tuple(claude_files)
    # Check the texts that the engine read: another process may be writing the files.
    texts: dict[str, tuple[bytes, Document]] = {}
    sources = Sources(
        files,
        project_dir=project_dir,
        foreign_files=claude_files,
        foreign=claude,
        plugins=plugins,
        texts=texts,
    )
    content = sources.read()
    layers = [*content.layers, *content.in_code]
    settings = combine(layers, trust=GivenTrust(True))
    problems = list(settings.problems)
    if any(layer.rules is not None for layer in layers):
        from hookline.dialects.claude.settings import make_tools
        from hookline.dialects.claude.skills import find_unrun_hooks

        tools, refused = make_tools(
            content.layers, of_code=None, of_project=find_tools(content.layers)
        )
        sources.share_tools(tools)
        problems += refused
        problems += find_unrun_hooks(
            [*(file.path for file in sources.files), *sources.plugin_files]
        )
    checked = [
        CheckedFile(file.path, file.source, DIALECTS[file.dialect], *texts[file.path])
        for file in sources.files
        if file.path in texts
    ]
    for source, places in sources.plugins:
        by_file: dict[str, list[Path]] = {}
        for path, base in places:
            by_file.setdefault(path, []).append(base)
        for path, bases in by_file.items():
            try:
                read_again = read_settings_file(path)
            except SettingsFileError:
                # The engine has reported it in the problems.
                continue
            if read_again is not None:
                of_plugin = CheckedFile(path, source, DIALECTS["claude"], *read_again)
                of_plugin = msgspec.structs.replace(of_plugin, bases=tuple(bases), is_plugin=True)
                checked.append(of_plugin)
    read_paths = {file.path for file in sources.files}
    is_refused = content.foreign is False
    unread = (f.path for f in claude_files if not is_refused and f.path not in read_paths)
    return Checked(
        files=tuple(checked),
        hooks=tuple(_find_sites(checked, settings.entries)),
        problems=tuple(problems),
        tools=sources.tools,
        declared=frozenset(name for layer in layers for name in layer.tool_names),
        private_hosts=settings.private_hosts,
        required=settings.required,
        unread=tuple(path for path in unread if os.path.isfile(path)),
        cwd=cwd,
        project_dir=project_dir,
        environ=dict(environ),
    )


def _find_sites(
    files: Iterable[CheckedFile], entries: Iterable[HookRegistryEntry]
) -> Iterator[HookSite]:
    """Pair each hook as written with its registry entry; both are in the file's order."""
    registered: dict[str | None, deque[HookRegistryEntry]] = {}
    for entry in entries:
        registered.setdefault(entry.file, deque()).append(entry)
    for file in files:
        left = registered.get(file.path, deque())
        for raw in find_raw_hooks(file):
            if left and _is_read_as(raw, left[0]):
                entry = left.popleft()
                hook = entry.hook
                if isinstance(hook, CommandHook):
                    yield CommandSite(raw, entry, hook)
                else:
                    yield HookSite(raw, entry, hook)


def _is_read_as(raw: RawHook, entry: HookRegistryEntry) -> bool:
    hook, config = entry.hook, raw.config
    is_same: object = None
    if isinstance(hook, CommandHook):
        is_same = config.get("command") == hook.command
    elif isinstance(hook, HttpHook):
        is_same = str(config.get("url")).strip() == hook.url.strip()
    elif isinstance(hook, PromptHook):
        is_same = config.get("prompt") == hook.prompt
    return (
        bool(is_same)
        and config.get("type") == hook.type
        and raw.file.dialect.event_for(raw.key) is entry.event
        and raw.file.document.place(raw.path)[0] == entry.line
    )


def find_event_keys(file: CheckedFile) -> Iterator[tuple[str, Path]]:
    """Yield the keys of a file where events are expected, each with its path."""
    beside = frozenset[str]()
    if file.is_plugin:
        from hookline.dialects.claude.settings import BESIDE_EVENTS

        beside = BESIDE_EVENTS
    for base in file.bases:
        hooks = file.value(base)
        for key in hooks if isinstance(hooks, Mapping) else ():
            if key not in file.dialect.reserved_keys and (base or key not in beside):
                yield key, (*base, key)


def find_definitions(file: CheckedFile) -> Iterator[tuple[str, Path, Mapping[str, Any]]]:
    """Yield the definitions of a file: the key of the event, the path, the object."""
    for key, path in find_event_keys(file):
        listed = file.value(path)
        for index, definition in enumerate(listed) if isinstance(listed, list) else ():
            if isinstance(definition, Mapping):
                yield key, (*path, index), definition


def find_raw_hooks(file: CheckedFile) -> Iterator[RawHook]:
    """Yield the objects of a file where hooks are expected."""
    for key, path, definition in find_definitions(file):
        listed = definition.get("hooks")
        for index, config in enumerate(listed) if isinstance(listed, list) else ():
            if isinstance(config, Mapping):
                yield RawHook(file, key, (*path, "hooks", index), config)


def _write_json(value: object) -> str:
    return codec.encode(value).decode()
