"""Records what a user reviewed of a project's hooks, and compares it with what is there now.

A record keeps contents, not checksums: the next review can show a difference, and only equal
content counts as equal. Each hook is reviewed by itself: its entry, and all that ``coverage``
finds in its words.
"""

import os
import time
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any

import msgspec

from hookline.errors import EXHAUSTED, HooklineError
from hookline.files import Signature, signature
from hookline.pipeline.definitions import HookRegistryEntry
from hookline.pipeline.trust.coverage import (
    Coverage,
    FileState,
    Uncovered,
    cover,
    cover_plugin,
    read_state,
)
from hookline.wire import codec
from hookline.wire.hooks import DEFAULT_TIMEOUT_MS, CommandHook, HookConfig, HookSource, HttpHook

# The format of the records; a record of another version does not count as a review.
VERSION = 2
# Fields that do not change what a hook does, or that depend on where the project is.
_NOT_REVIEWED = frozenset(
    {"description", "directory", "managed", "function", "plugin_data"}
    | {"on_failure", "closed_by_mode"}
    # Set by other layers, and it only ever narrows what the hook may call.
    | {"allowed_urls"}
)
_ORDINARY: dict[str, Any] = {
    "timeout": DEFAULT_TIMEOUT_MS,
    "onFailure": "allow",
    "dialect": "native",
    "dialect_event": "",
    "source": "project",
    "type": "command",
}
_KINDS = {"file": "a file", "directory": "a directory", "other": "a special file"}
_NOTHING: Mapping[str, Any] = MappingProxyType({})
# Nanoseconds within which a file may change twice and keep the same timestamp.
_TICK_NS = 20_000_000


class TrustError(HooklineError):
    """A record of a review, or a file that it covers, cannot be read or written."""


class ReviewedHook(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One hook as it was reviewed: its entry, the files in the project that it names, and what no
    review can cover. ``enabled`` is whether the project let it run."""

    entry: dict[str, Any]
    files: tuple[str, ...] = ()
    uncovered: tuple[Uncovered, ...] = ()
    remarks: tuple[str, ...] = ()
    enabled: bool = True

    @property
    def name(self) -> str:
        """The name of the hook."""
        return str(self.entry.get("name", ""))

    @property
    def event(self) -> str:
        """The event that the hook runs on."""
        return str(self.entry.get("event", ""))

    @property
    def is_of_project(self) -> bool:
        """Whether it is the project's own hook, not a user's hook that runs the project's code."""
        return "source" not in self.entry

    def has_same_place(self, entry: Mapping[str, Any]) -> bool:
        """Whether an entry has the same event and the same name."""
        return (self.event, self.name) == (entry["event"], entry["name"])


class Review(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The hooks of a project, and what was in the files they name, by path in the project.

    ``tests`` are those of the files that are hook tests; ``strict`` and ``required`` are what the
    project asks for itself, ``tools`` what it says of the host's tools.
    """

    version: int = 0
    project: str
    hooks: tuple[ReviewedHook, ...]
    files: dict[str, FileState]
    tests: tuple[str, ...] = ()
    strict: bool = False
    required: tuple[str, ...] = ()
    tools: dict[str, dict[str, Any]] = {}
    trusted_at: str = ""

    def get_guards(self) -> list[ReviewedHook]:
        """The hooks of the project that must answer: those that fail closed, or all in strict mode.
        A user's own hook is not among them: users may change theirs freely."""
        return [
            hook
            for hook in self.hooks
            if hook.enabled
            and hook.is_of_project
            and (self.strict or hook.entry.get("onFailure") == "block")
        ]

    def changes_of(self, now: "Review") -> list[str]:
        """What has changed since this review, one phrase each; raises TrustError for a file that
        cannot be read."""
        # Seen from another working directory, a hook may name fewer files.
        others = {n: os.path.join(now.project, n) for n in self.files if n not in now.files}
        files = {**read_states(others, now.project), **now.files}
        whys = [(hook, self.why_changed(hook, files)) for hook in now.hooks]
        found = [f"{hook.event} {hook.name}: {why}" for hook, why in whys if why is not None]
        gone = [hook for hook in self.hooks if all(hook.entry != each.entry for each in now.hooks)]
        found += [
            f"{hook.event} {hook.name}: it is no longer there"
            for hook in gone
            if hook.is_of_project and not any(hook.has_same_place(each.entry) for each in now.hooks)
        ]
        found += [
            f"{name}: a new or changed test"
            for name in now.tests
            if name not in self.tests or self.files.get(name) != now.files[name]
        ]
        if (self.strict, self.required) != (now.strict, now.required):
            found.append("strict or required: the project's settings have changed")
        if self.tools != now.tools:
            found.append("hooks.tools: the project declares other tools now")
        return found

    def find(self, entry: Mapping[str, Any]) -> ReviewedHook | None:
        """The reviewed hook with exactly this entry, None if there is none."""
        return next((hook for hook in self.hooks if hook.entry == entry), None)

    def why_changed(self, now: ReviewedHook, files: Mapping[str, FileState]) -> str | None:
        """What of a hook has changed since this review, None if nothing has; ``files`` are the
        current states of the files that it names now or named then."""
        known = self.find(now.entry)
        if known is None:
            if any(hook.has_same_place(now.entry) for hook in self.hooks):
                return "its entry in the settings has changed since it was reviewed"
            return "nobody has reviewed it"
        if now.enabled and not known.enabled:
            return "it was disabled when it was reviewed"
        for name in sorted({*now.files, *known.files}):
            if name not in known.files:
                return f"{name} was not there when it was reviewed"
            fault = _explain_difference(name, self.files.get(name), files.get(name))
            if fault is not None:
                return fault
        accepted = {each.what for each in known.uncovered}
        new = [each for each in now.uncovered if each.what not in accepted]
        return f"what it runs cannot be reviewed: {new[0]}" if new else None


def _explain_difference(name: str, then: FileState | None, now: FileState | None) -> str | None:
    if then == now:
        return None
    if then is None:
        return f"{name} was not there when it was reviewed"
    if now is None:
        return f"{name} has vanished since it was reviewed"
    if then.kind != now.kind:
        return f"{name} was {_KINDS[then.kind]} when it was reviewed, and is now {_KINDS[now.kind]}"
    if then.leads_to != now.leads_to:
        return f"{name} points to another place than when it was reviewed"
    return f"{name} has changed since it was reviewed"


def describe_entry(entry: HookRegistryEntry) -> dict[str, Any]:
    """Every field of an entry that changes what the hook does, as JSON, without defaults."""
    matcher = entry.matcher if isinstance(entry.matcher, str) else ""
    said = {
        "event": entry.event.value,
        "matcher": matcher.strip() or None,
        "sequential": entry.sequential or None,
        "type": entry.hook.type,
        **msgspec.structs.asdict(entry.hook),
        "onFailure": entry.hook.on_failure,
    }
    shown = {name: value for name, value in said.items() if name not in _NOT_REVIEWED}
    # Records hold lists where entries hold tuples, and the two are compared.
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in msgspec.to_builtins(shown).items()
        if value not in (None, False, {}, _ORDINARY.get(name))
    }


def review(
    entries: Iterable[HookRegistryEntry],
    *,
    project_dir: str,
    cwd: str,
    is_on: Callable[[HookConfig], bool] = lambda _hook: True,
    tests: Iterable[str] = (),
    strict: bool = False,
    required: Iterable[str] = (),
    tools: Mapping[str, Mapping[str, Any]] = _NOTHING,
    shared_env: Mapping[str, str] = _NOTHING,
) -> Review:
    """Review what a project's hooks would run now; raises TrustError for an unreadable file.

    ``is_on`` says which hooks the project enables, ``tests`` are hook tests that bring code, and
    ``shared_env`` are variables that all hooks in Claude Code's settings get.
    """
    real, files = os.path.realpath(project_dir), dict[str, FileState]()
    hooks = []
    for entry in entries:
        found = cover_entry(entry, project_dir=project_dir, cwd=cwd, shared_env=shared_env)
        hooks.append(describe_hook(entry, found, is_on(entry.hook)))
        files |= read_states(found.files, real)
    named = {os.path.relpath(os.path.realpath(file), real): file for file in tests}
    return Review(
        version=VERSION,
        project=real,
        hooks=tuple(hooks),
        files=files | read_states(named, real),
        tests=tuple(named),
        strict=strict,
        required=tuple(required),
        tools={name: dict(alias) for name, alias in tools.items()},
    )


class Policy(msgspec.Struct, frozen=True):
    """A checksum of all that a review of some hooks covers, and the signatures of its files."""

    digest: str
    seen: dict[str, Signature | None]

    @classmethod
    def read(cls, entries: Iterable[HookRegistryEntry], *, project_dir: str, cwd: str) -> "Policy":
        """The policy of hooks from any layer. The paths that a user's hook names are relative to
        the folder of its settings."""
        import hashlib

        known, seen = [], dict[str, Signature | None]()
        for entry in entries:
            root, hook = project_dir, entry.hook
            said: list[Any] = [describe_entry(entry)]
            if isinstance(hook, HttpHook):
                said.append(hook.allowed_urls)
            if isinstance(hook, CommandHook):
                if hook.source is not HookSource.PROJECT and hook.directory is not None:
                    root = hook.plugin_root or hook.directory
                began = time.time_ns()
                found = cover_entry(entry, project_dir=root, cwd=cwd)
                seen |= sign((*found.watched, *found.files.values()), since=began)
                states = read_states(found.files, os.path.realpath(root))
                said.append(sorted(msgspec.to_builtins(states).items()))
            known.append(codec.encode(said))
        return cls(f"sha256:{hashlib.sha256(b'|'.join(sorted(known))).hexdigest()}", seen)

    def is_current(self) -> bool:
        """Whether nothing that it covers has changed since."""
        return is_unchanged(self.seen)


def sign(places: Iterable[str], *, since: int | None = None) -> dict[str, Signature | None]:
    """Return the signature of each place.

    What changed after the look at it began, at ``since``, or just now, may have been seen as it
    was before: a file can change twice within one tick of the clock that dates it. It gets a
    signature that nothing ever has, so the next comparison finds it changed.
    """
    unsettled = (time.time_ns() if since is None else since) - _TICK_NS
    signed = {place: signature(place) for place in places}
    return {
        place: () if then is not None and max(then[:2]) > unsettled else then
        for place, then in signed.items()
    }


def is_unchanged(signed: Mapping[str, Signature | None]) -> bool:
    """Whether every place still has the signature it had."""
    return all(signature(place) == then for place, then in signed.items())


def cover_entry(
    entry: HookRegistryEntry,
    *,
    project_dir: str,
    cwd: str,
    shared_env: Mapping[str, str] = _NOTHING,
) -> Coverage:
    """What an entry's hook runs or reads in a project now; ``shared_env`` are variables that all
    hooks in Claude Code's settings get."""
    hook, environ = entry.hook, os.environ
    if not isinstance(hook, CommandHook):
        return cover_plugin(hook, project_dir=project_dir, cwd=cwd)
    found = {**environ, **shared_env} if shared_env and hook.dialect == "claude" else environ
    return cover(hook, entry.event, project_dir=project_dir, cwd=cwd, environ=found)


def describe_hook(entry: HookRegistryEntry, found: Coverage, enabled: bool) -> ReviewedHook:
    """Describe a hook as it is now; ``enabled`` is whether the project lets it run."""
    return ReviewedHook(
        entry=describe_entry(entry),
        files=tuple(sorted(found.files)),
        uncovered=found.uncovered,
        remarks=found.remarks,
        enabled=enabled,
    )


def read_states(places: Mapping[str, str], project: str) -> dict[str, FileState]:
    """Read the state of each place, by its path in the project; raises TrustError for a place that
    cannot be read."""
    states = {}
    for name, place in places.items():
        try:
            state = read_state(place, project)
        except OSError as error:
            if error.errno in EXHAUSTED:
                raise
            text = f"{place} cannot be read ({error.strerror}); make it readable"
            raise TrustError(text) from None
        if state is not None:
            states[name] = state
    return states


def accept(now: Review, known: Review | None, *, uncovered: bool) -> Review:
    """What to record of a review that the user agreed to. Without ``uncovered``, hooks that the
    review could not cover whole are left out; a guard that one of them would replace stays."""
    if uncovered:
        return now
    kept = [
        hook
        for hook in now.hooks
        if not hook.uncovered or (known is not None and known.why_changed(hook, now.files) is None)
    ]
    refused = [hook for hook in now.hooks if hook not in kept]
    before = [
        guard
        for guard in (known.get_guards() if known is not None else ())
        if any(guard.has_same_place(hook.entry) for hook in refused)
    ]
    files = {**(known.files if known is not None else {}), **now.files}
    named = {name for hook in (*kept, *before) for name in hook.files} | set(now.tests)
    return msgspec.structs.replace(
        now,
        hooks=(*kept, *before),
        files={name: state for name, state in files.items() if name in named},
    )
