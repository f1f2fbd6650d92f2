"""Decides whether a project's hooks may run: while they are as the user reviewed them.

The record also decides about what is gone: a reviewed hook that fails closed, and is now missing,
disabled or different, blocks the events it was reviewed for. Editing a guard must not disable it.
"""

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import msgspec

from hookline.files import Signature
from hookline.pipeline.definitions import HookRegistryEntry
from hookline.pipeline.dialects import DIALECTS
from hookline.pipeline.settings import Layer
from hookline.pipeline.trust.coverage import Coverage, Uncovered, read_state
from hookline.pipeline.trust.review import (
    Review,
    ReviewedHook,
    TrustError,
    cover_entry,
    describe_entry,
    describe_hook,
    is_unchanged,
    read_states,
    sign,
)
from hookline.pipeline.trust.store import TrustStore, is_inside
from hookline.wire.events import find_event
from hookline.wire.hooks import HookConfig, HookSource, WithheldHook

if TYPE_CHECKING:
    from hookline.pipeline.dialects.tools import ToolAlias

_REVIEW = "review it with `hookline trust`"


class _Verdict(msgspec.Struct, frozen=True):
    """Why a hook may not run, None if it may; and the signatures of all that this depends on."""

    fault: str | None
    seen: dict[str, Signature | None]
    uncovered: tuple[Uncovered, ...] = ()

    def is_current(self) -> bool:
        """Whether nothing that it depends on has changed since."""
        return is_unchanged(self.seen)


class _Look(msgspec.Struct, eq=False):
    """A hook and the last verdict on it, which is replaced whole because other threads read it."""

    entry: HookRegistryEntry
    described: dict[str, Any]
    is_on: bool
    verdict: _Verdict


class _InUse(msgspec.Struct, frozen=True, eq=False):
    """The hooks in use. ``own`` are those that the caller gave in code, in any layer; ``guards``
    block in place of reviewed hooks that must answer and cannot."""

    looks: dict[int, _Look] = {}
    by_identity: dict[tuple[HookSource, object], list[_Look]] = {}
    own: frozenset[object] = frozenset()
    guards: tuple[HookRegistryEntry, ...] = ()

    def find(self, hook: HookConfig) -> Sequence[_Look]:
        """What is known of a hook. A copy, as of an entry that is listed twice, is found by its
        identity and its layer: a project that lists the same guard as the user or the caller must
        not hold back theirs."""
        look = self.looks.get(id(hook))
        if look is not None:
            return (look,)
        identity = hook.identity() if self.by_identity else None
        return () if identity in self.own else self.by_identity.get((hook.source, identity), ())


class FolderTrust:
    """Decides which hooks may run that belong to a project or run its code. Each is examined when
    it is loaded, and again after a change to a file that it names or to the record."""

    def __init__(
        self,
        store: TrustStore,
        *,
        project_dir: str,
        cwd: str,
        warn: Callable[[str], None] = lambda _message: None,
    ) -> None:
        self._store = store
        self._project_dir = project_dir
        self._cwd = cwd
        self._warn = warn
        self._lock = threading.Lock()
        # Events under way keep using the hooks that they began with.
        self._now = self._before = _InUse()
        self._adopted: set[object] = set()
        self._claude: bool | None = None
        self._tools: Mapping[str, ToolAlias] | None = None
        self._shared_env: Mapping[str, str] = {}
        self._known: Review | None = None
        self._known_as: tuple[Signature | None, str] | None = None
        self.file = store.file_of(project_dir)

    def use(
        self,
        layers: Sequence[Layer],
        *,
        is_on: Callable[[HookConfig], bool],
        in_code: Iterable[Layer] = (),
        claude: bool | None = None,
        tools: "Mapping[str, ToolAlias] | None" = None,
        shared_env: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """Decide about the hooks of these layers from now on; ``is_on`` says which the project
        enables. Hooks given in code are the caller's own, in any layer.

        ``claude`` is whether they include the project's Claude Code settings: False if the user
        excludes them, None if no settings say. ``tools`` are the host's, as Claude Code calls
        them, ``shared_env`` the variables that all hooks in its settings get.
        """
        self._claude, self._tools, self._shared_env = claude, tools, shared_env
        looks: dict[int, _Look] = {}
        by_identity: dict[tuple[HookSource, object], list[_Look]] = {}
        for entry in self.find_entries(layers):
            described, is_let = describe_entry(entry), is_on(entry.hook)
            look = _Look(entry, described, is_let, self._judge(entry, described, is_let))
            looks[id(entry.hook)] = look
            copies = by_identity.setdefault((entry.source, entry.hook.identity()), [])
            copies.append(look)
        unreadable = [
            problem.place
            for layer in layers
            if layer.source is HookSource.PROJECT
            for problem in layer.problems
            if problem.broken
        ]
        self._before, self._now = (
            self._now,
            _InUse(
                looks,
                by_identity,
                frozenset(entry.hook.identity() for layer in in_code for entry in layer.entries),
                tuple(self._make_guards([*looks.values()], unreadable)),
            ),
        )

    def restore(self) -> None:
        """Go back to the hooks that were in use before."""
        self._now = self._before

    def adopt(self, hook: HookConfig) -> bool:
        """Whether code may register a hook for the project: only if all of it is trusted."""
        if self.is_all_trusted:
            self._adopted.add(hook.identity())
        return hook.identity() in self._adopted

    def find_entries(self, layers: Iterable[Layer]) -> list[HookRegistryEntry]:
        """The hooks that a project's review covers: its own, and those of the user and the system
        that run its code."""
        return [
            entry
            for layer in layers
            for entry in layer.entries
            if layer.source is HookSource.PROJECT
            or (entry.source in (HookSource.USER, HookSource.SYSTEM) and self._cover(entry).code)
        ]

    def why_untrusted(self, hook: HookConfig) -> str | None:
        """Why a hook may not run now, None if it may. A hook that is not the project's, and runs
        none of its code, always may."""
        if isinstance(hook, WithheldHook):
            return hook.why
        now = self._now
        looks = now.find(hook) or self._before.find(hook)
        if not looks:
            identity = hook.identity() if _is_of_project(hook) else None
            if identity is None or identity in now.own or identity in self._adopted:
                return None
            return f"nobody has reviewed it; {_REVIEW}"
        for look in looks:
            if not look.verdict.is_current():
                with self._lock:
                    look.verdict = self._judge(look.entry, look.described, look.is_on)
        faults = [look.verdict.fault for look in looks]
        return None if None in faults else f"{faults[0]}; {_REVIEW}"

    def admits(self, hook: HookConfig) -> bool:
        """Whether a hook is planned, by the same verdict that the guards were made from. A later
        change is found before the hook starts."""
        looks = self._now.find(hook)
        if looks:
            return any(look.verdict.fault is None for look in looks)
        return not _is_of_project(hook) or hook.identity() in self._now.own

    def get_uncovered(self, hook: HookConfig) -> tuple[Uncovered, ...]:
        """What no review covers of a hook."""
        look = self._now.looks.get(id(hook))
        return () if look is None else look.verdict.uncovered

    def get_guards(self) -> Sequence[HookRegistryEntry]:
        """Entries that block in place of reviewed hooks that must answer and cannot."""
        return self._now.guards

    def get_words(self, layers: Iterable[Layer]) -> tuple[bool, Sequence[str]]:  # noqa: ARG002
        """Whether the project is strict, and which hooks it requires, as reviewed."""
        known = self._read_known()
        return (False, ()) if known is None else (known.strict, known.required)

    def get_tools(self, layers: Iterable[Layer]) -> Mapping[str, Mapping[str, Any]]:  # noqa: ARG002
        """What the project declares about the host's tools, as reviewed."""
        known = self._read_known()
        return {} if known is None else known.tools

    @property
    def is_all_trusted(self) -> bool:
        """Whether every hook may run, and no reviewed guard is missing."""
        hooks = [look.entry.hook for look in self._now.looks.values()]
        return not self._now.guards and all(self.why_untrusted(hook) is None for hook in hooks)

    def trusts_test(self, file: str) -> bool:
        """Whether a hook test that brings code is unchanged since its review."""
        known, project = self._read_known(), os.path.realpath(self._project_dir)
        name = os.path.relpath(os.path.realpath(file), project)
        if known is None or name not in known.tests:
            return False
        try:
            return read_state(file, project) == known.files.get(name)
        except OSError:
            return False

    def _judge(self, entry: HookRegistryEntry, described: dict[str, Any], is_on: bool) -> _Verdict:
        """Examine a hook as it is now. Signatures are taken before files are read, so that a
        change in between shows."""
        began = time.time_ns()
        seen = sign([self.file]) if self.file else {}
        known = self._read_known()
        project = os.path.realpath(self._project_dir)
        found = self._cover(entry)
        reviewed = None if known is None else known.find(described)
        places = dict(found.files)
        for name in reviewed.files if reviewed is not None else ():
            places.setdefault(name, os.path.join(project, name))
        seen |= sign([*found.watched, *places.values()], since=began)
        now = describe_hook(entry, found, is_on)
        fault: str | None = "nobody has reviewed it"
        try:
            if known is not None:
                fault = known.why_changed(now, read_states(places, project))
        except TrustError as error:
            fault = str(error)
        return _Verdict(fault, seen, now.uncovered)

    def _read_known(self) -> Review | None:
        """The project's review, read again when its file has changed; warns if it is broken."""
        signed = sign([self.file])[self.file] if self.file else None
        now = signed, os.path.realpath(self._project_dir)
        if now != self._known_as or signed == ():
            try:
                known = self._store.read(self._project_dir)
            except TrustError as error:
                known = None
                if now != self._known_as:
                    self._warn(str(error))
            self._known, self._known_as = known, now
        return self._known

    def _cover(self, entry: HookRegistryEntry) -> Coverage:
        return cover_entry(
            entry, project_dir=self._project_dir, cwd=self._cwd, shared_env=self._shared_env
        )

    def _make_guards(
        self, looks: Sequence[_Look], unreadable: Sequence[str]
    ) -> Iterator[HookRegistryEntry]:
        """Make an entry that blocks for each reviewed hook that must answer and has changed, and
        for each user's hook that fails closed and would run unreviewed code."""
        known = self._read_known()
        for look in looks:
            hook, fault = look.entry.hook, look.verdict.fault
            if fault and not _is_of_project(hook) and hook.on_failure == "block":
                why = f"it runs code of the project, and {fault}; {_REVIEW}"
                yield from self._withhold(look.described, why)
        for guard in known.get_guards() if known is not None else ():
            if self._is_left_by_user(guard):
                continue
            now = [look for look in looks if look.described == guard.entry]
            if any(look.verdict.fault is None and look.is_on for look in now):
                continue
            if now:
                why = now[0].verdict.fault or "the project's settings disable it"
            elif any(guard.has_same_place(look.described) for look in looks):
                why = "its entry in the settings has changed since it was reviewed"
            elif unreadable:
                why = f"it was reviewed, and {unreadable[0]} cannot be read"
            elif guard.entry.get("dialect") == "claude" and self._claude is None:
                why = "it was reviewed, and nothing asks for Claude Code's settings any more: "
                why += 'pass --claude, or set "claude" to true or false in your settings'
            else:
                why = "it was reviewed, and is no longer in the project's settings"
            yield from self._withhold(guard.entry, f"{why}; {_REVIEW}, or `hookline untrust`")
        for directory, why in self._find_hidden(known):
            try:
                hidden = self._store.read(directory)
            except TrustError as error:
                self._warn(str(error))
                continue
            for guard in hidden.get_guards() if hidden is not None else ():
                if not self._is_left_by_user(guard):
                    yield from self._withhold(guard.entry, why)

    def _is_left_by_user(self, guard: ReviewedHook) -> bool:
        """Whether a guard is from Claude Code's settings, and the user or the caller excludes
        those. What a plugin brings is not part of them."""
        entry = guard.entry
        is_settings = entry.get("dialect") == "claude" and "plugin_root" not in entry
        return self._claude is False and is_settings

    def _withhold(self, reviewed: Mapping[str, Any], why: str) -> Iterator[HookRegistryEntry]:
        """Make the entry that blocks in place of a reviewed hook."""
        event = find_event(reviewed["event"])
        if event is None:  # no agent can fire it
            return
        matcher = reviewed.get("matcher") or None
        dialect = str(reviewed.get("dialect", "native"))
        matches, _ = DIALECTS[dialect].compile_matcher(event, matcher, self._tools)
        hook = WithheldHook(
            name=str(reviewed["name"]),
            source=HookSource(reviewed.get("source", HookSource.PROJECT)),
            on_failure="block",
            dialect=dialect,
            dialect_event=str(reviewed.get("dialect_event", "")),
            condition=reviewed.get("condition"),
            why=why,
        )
        yield HookRegistryEntry(
            event=event,
            hook=hook,
            matcher=msgspec.UNSET if matcher is None else matcher,
            matches=matches,
            trusted=False,
        )

    def _find_hidden(self, known: Review | None) -> Iterator[tuple[str, str]]:
        """Reviewed projects around the working directory that are not found any more, because
        their settings folder is gone or another one is nearer; each with the reason."""
        project = os.path.realpath(self._project_dir)
        directory = os.path.realpath(self._cwd)
        while True:
            if directory != project and (known is None or is_inside(directory, project)):
                file = self._store.file_of(directory)
                if file is not None and os.path.exists(file):
                    undo = f"`hookline untrust --cwd {directory}` takes the review back"
                    if is_inside(directory, project):
                        gone = f"the settings of {directory}, which were reviewed, are gone"
                    else:
                        gone = f"{project} hides the settings of {directory}, which were reviewed"
                    yield directory, f"{gone}; {undo}"
            parent = os.path.dirname(directory)
            if parent == directory:
                return
            directory = parent


def _is_of_project(hook: HookConfig) -> bool:
    return hook.source is HookSource.PROJECT
