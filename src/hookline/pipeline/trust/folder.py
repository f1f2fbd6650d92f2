"""Whether a project's hooks may run: as long as they are as somebody reviewed them.

The record of the review decides even about what is no longer there: a reviewed hook that fails
closed, and is now missing, switched off or different, blocks what it was reviewed for. Editing a
guard must not switch it off.
"""

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from hookline.files import Signature, signature
from hookline.pipeline.definitions import HookRegistryEntry
from hookline.pipeline.dialects import DIALECTS
from hookline.pipeline.settings import Layer
from hookline.pipeline.trust.coverage import Uncovered, read_state
from hookline.pipeline.trust.review import (
    Review,
    TrustError,
    cover_entry,
    describe_entry,
    read_states,
    reviewed_now,
    sign,
)
from hookline.pipeline.trust.store import TrustStore, is_inside
from hookline.wire.events import HookEventName
from hookline.wire.hooks import CommandHook, HookConfig, HookSource, WithheldHook

_REVIEW = "review it with `hookline trust`"


class _Look(msgspec.Struct, eq=False):
    """A hook, what decides about it as it was when it was looked at, and what is wrong with it."""

    entry: HookRegistryEntry
    described: dict[str, Any]
    is_on: bool
    seen: dict[str, Signature | None] = {}
    fault: str | None = None
    uncovered: tuple[Uncovered, ...] = ()


class FolderTrust:
    """Whether the hooks may run that lead into a project. Each is looked at when it is loaded, and
    again whenever anything has changed that it names, or what was trusted has."""

    def __init__(
        self,
        store: TrustStore,
        *,
        project_dir: str,
        cwd: str,
        warn: Callable[[str], None] = lambda _said: None,
    ) -> None:
        self._store = store
        self._project_dir = project_dir
        self._cwd = cwd
        self._warn = warn
        self._lock = threading.Lock()
        self._looks: dict[int, _Look] = {}
        self._by_identity: dict[object, list[_Look]] = {}
        self._own: set[object] = set()
        self._guards: tuple[HookRegistryEntry, ...] = ()
        self._before: tuple[Any, ...] = ({}, {}, set(), ())
        self._known: Review | None = None
        self._known_as: tuple[Signature | None, str] | None = None
        self.file = store.file_of(project_dir)

    def use(
        self,
        layers: Sequence[Layer],
        *,
        is_on: Callable[[HookConfig], bool],
        in_code: Iterable[Layer] = (),
    ) -> None:
        """Answer for the hooks of these layers from now on; ``is_on`` says which the project lets
        run. Hooks given in code are the caller's own, of whatever layer."""
        self._before = self._looks, self._by_identity, self._own, self._guards
        self._looks, self._by_identity = {}, {}
        self._own = {entry.hook.identity() for layer in in_code for entry in layer.entries}
        for entry in self.find_entries(layers):
            look = _Look(entry, describe_entry(entry), is_on(entry.hook))
            self._look_at(look)
            self._looks[id(entry.hook)] = look
            self._by_identity.setdefault(entry.hook.identity(), []).append(look)
        unreadable = [
            problem.place
            for layer in layers
            if layer.source is HookSource.PROJECT
            for problem in layer.problems
            if problem.broken
        ]
        self._guards = tuple(self._make_guards(unreadable))

    def restore(self) -> None:
        """Answer for the hooks again that were in use before."""
        self._looks, self._by_identity, self._own, self._guards = self._before

    def find_entries(self, layers: Iterable[Layer]) -> list[HookRegistryEntry]:
        """The hooks that a project's review is for: its own, and those of the user and the system
        that run code of the project."""
        return [
            entry
            for layer in layers
            for entry in layer.entries
            if layer.source is HookSource.PROJECT or self._leads_into_project(entry)
        ]

    def why_untrusted(self, hook: HookConfig) -> str | None:
        """Why a hook may not run now, None if it may. One that is not the project's, and runs
        nothing of it, always may."""
        if isinstance(hook, WithheldHook):
            return hook.why
        look = self._looks.get(id(hook))
        # A copy of an entry, as of one that was listed twice, is known by what it runs.
        if look is not None:
            looks: Sequence[_Look] = (look,)
        elif self._by_identity or _is_of_project(hook):
            looks = self._by_identity.get(hook.identity(), ())
        else:
            return None
        if not looks:
            # Code may register hooks in the name of a project that is trusted.
            if not _is_of_project(hook) or hook.identity() in self._own or self.is_all_trusted:
                return None
            return f"nobody has reviewed it; {_REVIEW}"
        for each in looks:
            if any(signature(place) != seen for place, seen in each.seen.items()):
                with self._lock:
                    self._look_at(each)
        if any(each.fault is None for each in looks):
            return None
        return f"{looks[0].fault}; {_REVIEW}"

    def get_uncovered(self, hook: HookConfig) -> tuple[Uncovered, ...]:
        """What of a hook no review covers, by name."""
        look = self._looks.get(id(hook))
        return () if look is None else look.uncovered

    def get_guards(self) -> Sequence[HookRegistryEntry]:
        """What stands for reviewed hooks that must answer and cannot: it blocks."""
        return self._guards

    def get_words(self, layers: Iterable[Layer]) -> tuple[bool, Sequence[str]]:  # noqa: ARG002
        """Whether the project is strict, and which hooks it requires: as it was reviewed."""
        known = self._read_known()
        return (False, ()) if known is None else (known.strict, known.required)

    @property
    def is_all_trusted(self) -> bool:
        """Whether every one of the hooks may run, and none is missing."""
        hooks = (look.entry.hook for look in self._looks.values())
        return not self._guards and all(self.why_untrusted(hook) is None for hook in hooks)

    def trusts_test(self, file: str) -> bool:
        """Whether a hook test that brings code is as it was reviewed."""
        known, project = self._read_known(), os.path.realpath(self._project_dir)
        name = os.path.relpath(os.path.realpath(file), project)
        if known is None or name not in known.tests:
            return False
        try:
            return read_state(file, project) == known.files.get(name)
        except OSError:
            return False

    def _look_at(self, look: _Look) -> None:
        known = self._read_known()
        project = os.path.realpath(self._project_dir)
        found = cover_entry(look.entry, project_dir=self._project_dir, cwd=self._cwd)
        reviewed = None if known is None else known.find(look.described)
        places = dict(found.files)
        for name in reviewed.files if reviewed is not None else ():
            places.setdefault(name, os.path.join(project, name))
        decisive = [*found.watched, *places.values(), *([self.file] if self.file else [])]
        look.seen = sign(decisive)
        now = reviewed_now(look.entry, found, look.is_on)
        look.uncovered = now.uncovered
        if known is None:
            look.fault = "nobody has reviewed it"
            return
        try:
            look.fault = known.why_changed(now, read_states(places, project))
        except TrustError as error:
            look.fault = str(error)

    def _read_known(self) -> Review | None:
        """What was trusted of the project, read again when it has changed; people are told of
        what is wrong with it."""
        now = (signature(self.file) if self.file else None, os.path.realpath(self._project_dir))
        if now != self._known_as or self._known_as is None:
            try:
                self._known = self._store.read(self._project_dir)
            except TrustError as error:
                self._known = None
                self._warn(str(error))
            self._known_as = now
        return self._known

    def _leads_into_project(self, entry: HookRegistryEntry) -> bool:
        if entry.source not in (HookSource.USER, HookSource.SYSTEM):
            return False
        if not isinstance(entry.hook, CommandHook):
            return False
        return bool(cover_entry(entry, project_dir=self._project_dir, cwd=self._cwd).code)

    def _make_guards(self, unreadable: Sequence[str]) -> Iterator[HookRegistryEntry]:
        """An entry that blocks for each reviewed hook that must answer and is not as it was; and
        for each of the user's own that would run what nobody has reviewed."""
        known, looks = self._read_known(), self._looks.values()
        for look in looks:
            hook = look.entry.hook
            if look.fault and not _is_of_project(hook) and hook.on_failure == "block":
                why = f"it runs code of the project, and {look.fault}; {_REVIEW}"
                yield _withheld(look.described, why)
        for guard in known.get_guards() if known is not None else ():
            now = [look for look in looks if look.described == guard.entry]
            if any(look.fault is None and look.is_on for look in now):
                continue
            if now:
                why = now[0].fault or "the project's settings disable it"
            elif any(guard.has_same_place(look.described) for look in looks):
                why = "its entry in the settings has changed since it was reviewed"
            elif unreadable:
                why = f"it was reviewed, and {unreadable[0]} cannot be read"
            else:
                why = "it was reviewed, and is no longer in the project's settings"
            yield _withheld(guard.entry, f"{why}; {_REVIEW}, or `hookline untrust`")
        for directory, why in self._find_hidden(known):
            try:
                hidden = self._store.read(directory)
            except TrustError as error:
                self._warn(str(error))
                continue
            for guard in hidden.get_guards() if hidden is not None else ():
                yield _withheld(guard.entry, why)

    def _find_hidden(self, known: Review | None) -> Iterator[tuple[str, str]]:
        """Projects around the working directory that were reviewed and are not found any more:
        their settings folder is gone, or another one stands between."""
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


def _withheld(reviewed: Mapping[str, Any], why: str) -> HookRegistryEntry:
    event = HookEventName(reviewed["event"])
    matcher = reviewed.get("matcher") or None
    dialect = DIALECTS.get(str(reviewed.get("dialect")), DIALECTS["native"])
    matches, _ = dialect.compile_matcher(event, matcher)
    source = HookSource(reviewed.get("source", HookSource.PROJECT))
    name = str(reviewed["name"])
    hook = WithheldHook(name=name, source=source, on_failure="block", why=why)
    return HookRegistryEntry(
        event=event,
        hook=hook,
        matcher=msgspec.UNSET if matcher is None else matcher,
        matches=matches,
        trusted=False,
    )
