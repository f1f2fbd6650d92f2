"""Reads settings once for all rules: as the engine reads them, and as they are written.

A rule gets the raw objects with their paths, for what is wrong there, and each hook as the engine
registers it, for what will come of it.
"""

import os
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from hookline.check.findings import Finding, Fix, Replace, Severity
from hookline.pipeline.dialects import DIALECTS, Dialect
from hookline.pipeline.jsonc import Document, Path, value_at
from hookline.pipeline.registry import HookRegistryEntry
from hookline.pipeline.settings import (
    GivenTrust,
    SettingsFile,
    SettingsFileError,
    combine,
    find_tools,
    is_foreign_file,
    read_settings_file,
)
from hookline.pipeline.sources import Sources
from hookline.problem import Problem
from hookline.wire import codec
from hookline.wire.events import EventName
from hookline.wire.hooks import CommandHook, HookConfig, HookSource, HttpHook, PromptHook

if TYPE_CHECKING:
    from hookline.pipeline.dialects.tools import ToolAlias

# Keys that a plugin may have beside its events.
_BESIDE_EVENTS = frozenset({"description", "$schema"})


class CheckedFile(msgspec.Struct, frozen=True, eq=False):
    """A settings file that could be parsed, or one of a plugin; ``bases`` lead to its objects of
    events."""

    path: str
    source: HookSource
    dialect: Dialect
    raw: bytes
    document: Document
    bases: tuple[Path, ...] = (("hooks",),)
    is_plugin: bool = False

    @property
    def is_claude(self) -> bool:
        """Whether it is written for Claude Code."""
        return self.dialect.name == "claude"

    @property
    def is_own(self) -> bool:
        """Whether every key in it is ours."""
        return not self.is_claude and not is_foreign_file(self.path)

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
    """The same of a hook that is a process."""

    hook: CommandHook


class Checked(msgspec.Struct, frozen=True, eq=False, kw_only=True):
    """Everything there is to check.

    ``problems`` are what the engine has to say about it, files that nobody can read included.
    ``tools`` are the host's as far as settings say what they are in Claude Code, ``declared`` the
    names of all that they declare, and ``unread`` are files of Claude Code's that nobody asked for.
    """

    files: tuple[CheckedFile, ...]
    hooks: tuple[HookSite, ...]
    problems: tuple[Problem, ...]
    tools: "Mapping[str, ToolAlias]"
    declared: frozenset[str]
    private_hosts: tuple[str, ...]
    unread: tuple[str, ...]
    cwd: str
    project_dir: str
    environ: Mapping[str, str]

    @property
    def broken(self) -> tuple[Problem, ...]:
        """The files that nobody can read."""
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
    """Read the files there are, highest priority first, and of Claude Code's files and plugins what
    an agent would; never raises."""
    claude_files = tuple(claude_files)
    # What is checked is what was read: another process may be writing.
    texts: dict[str, tuple[bytes, Document]] = {}
    sources = Sources(
        files,
        project_dir=project_dir,
        claude_files=claude_files,
        claude=claude,
        plugins=plugins,
        texts=texts,
    )
    found = sources.read()
    layers = [*found.layers, *found.in_code]
    settings = combine(layers, trust=GivenTrust(True))
    problems = list(settings.problems)
    if any(layer.rules is not None for layer in layers):
        from hookline.pipeline.claude_settings import make_tools

        tools, refused = make_tools(found.layers, given=None, of_project=find_tools(found.layers))
        sources.share_tools(tools)
        problems += refused
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
                # It is among the problems.
                continue
            if read_again is not None:
                of_plugin = CheckedFile(path, source, DIALECTS["claude"], *read_again)
                of_plugin = msgspec.structs.replace(of_plugin, bases=tuple(bases), is_plugin=True)
                checked.append(of_plugin)
    asked = {file.path for file in sources.files}
    unread = () if found.claude is False else (f.path for f in claude_files if f.path not in asked)
    return Checked(
        files=tuple(checked),
        hooks=tuple(_find_sites(checked, settings.entries)),
        problems=tuple(problems),
        tools=sources.tools,
        declared=frozenset(name for layer in layers for name in layer.tool_names),
        private_hosts=settings.private_hosts,
        unread=tuple(path for path in unread if os.path.isfile(path)),
        cwd=cwd,
        project_dir=project_dir,
        environ=dict(environ),
    )


def _find_sites(
    files: Iterable[CheckedFile], entries: Iterable[HookRegistryEntry]
) -> Iterator[HookSite]:
    """What is written and what was registered of it, which are in the same order in each file."""
    registered: dict[str | None, deque[HookRegistryEntry]] = {}
    for entry in entries:
        registered.setdefault(entry.file, deque()).append(entry)
    for file in files:
        left = registered.get(file.path, deque())
        for written in raw_hooks(file):
            if left and _is_read_as(written, left[0]):
                entry = left.popleft()
                hook = entry.hook
                if isinstance(hook, CommandHook):
                    yield CommandSite(written, entry, hook)
                else:
                    yield HookSite(written, entry, hook)


def _is_read_as(written: RawHook, entry: HookRegistryEntry) -> bool:
    hook, config = entry.hook, written.config
    said: object = None
    if isinstance(hook, CommandHook):
        said = config.get("command") == hook.command
    elif isinstance(hook, HttpHook):
        said = str(config.get("url")).strip() == hook.url.strip()
    elif isinstance(hook, PromptHook):
        said = config.get("prompt") == hook.prompt
    return (
        bool(said)
        and config.get("type") == hook.type
        and written.file.dialect.event_for(written.key) is entry.event
        and written.file.document.place(written.path)[0] == entry.line
    )


def event_keys(file: CheckedFile) -> Iterator[tuple[str, Path]]:
    """The keys of a file that stand where events do, each with its path."""
    for base in file.bases:
        hooks = file.value(base)
        for key in hooks if isinstance(hooks, Mapping) else ():
            is_beside = not base and key in _BESIDE_EVENTS
            if key not in file.dialect.reserved_keys and not is_beside:
                yield key, (*base, key)


def definitions(file: CheckedFile) -> Iterator[tuple[str, Path, Mapping[str, Any]]]:
    """The definitions of a file: the key of the event, the path, the object."""
    for key, path in event_keys(file):
        listed = file.value(path)
        for index, definition in enumerate(listed) if isinstance(listed, list) else ():
            if isinstance(definition, Mapping):
                yield key, (*path, index), definition


def raw_hooks(file: CheckedFile) -> Iterator[RawHook]:
    """The objects of a file where hooks are expected."""
    for key, path, definition in definitions(file):
        listed = definition.get("hooks")
        for index, config in enumerate(listed) if isinstance(listed, list) else ():
            if isinstance(config, Mapping):
                yield RawHook(file, key, (*path, "hooks", index), config)


def _json(value: object) -> str:
    return codec.encode(value).decode()
