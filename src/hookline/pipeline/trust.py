"""A project's hooks run once somebody has looked at them, and only as they were then.

What was looked at is kept whole, not as a checksum: the next look can be a comparison, and nothing
but equal content is ever taken for equal. Trust is for each hook by itself: its entry, and all that
``coverage`` finds in its words. The record decides even about what is no longer there: a reviewed
hook that fails closed, and is now missing, switched off or different, blocks what it was reviewed
for. Editing a guard must not switch it off.
"""

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from hookline.errors import EXHAUSTED, HooklineError
from hookline.files import Signature, signature, write_atomically
from hookline.pipeline.coverage import Coverage, FileState, Uncovered, cover, read_state
from hookline.pipeline.definitions import HookRegistryEntry
from hookline.pipeline.dialects import DIALECTS
from hookline.pipeline.settings import Layer
from hookline.places import STATE_VARIABLE, home_dir, user_state_dir
from hookline.wire import codec
from hookline.wire.codec import timestamp
from hookline.wire.events import HookEventName
from hookline.wire.hooks import (
    DEFAULT_TIMEOUT_MS,
    CommandHook,
    HookConfig,
    HookSource,
    WithheldHook,
)

# The form of the records; those of another are not taken for a review.
_VERSION = 2
# What says nothing about what a hook does, or is the same wherever the project is.
_NOT_REVIEWED = frozenset({"description", "directory", "managed", "function", "on_failure"})
_ORDINARY: dict[str, Any] = {
    "timeout": DEFAULT_TIMEOUT_MS,
    "onFailure": "allow",
    "dialect": "native",
    "source": "project",
    "type": "command",
}
# Nanoseconds within which a file may change twice and have the same date.
_TICK_NS = 20_000_000
_REVIEW = "review it with `hookline trust`"


class TrustError(HooklineError):
    """What was trusted cannot be read or written."""


class ReviewedHook(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One hook as it was looked at: its entry, the things in the project that it names, and what
    nobody can look at. ``enabled`` is whether the project let it run."""

    entry: dict[str, Any]
    files: tuple[str, ...] = ()
    uncovered: tuple[Uncovered, ...] = ()
    remarks: tuple[str, ...] = ()
    enabled: bool = True

    @property
    def name(self) -> str:
        """What it is called."""
        return str(self.entry.get("name", ""))

    @property
    def event(self) -> str:
        """The event it is for."""
        return str(self.entry.get("event", ""))

    def has_same_place(self, entry: Mapping[str, Any]) -> bool:
        """Whether an entry is for the same event and has the same name."""
        return (self.event, self.name) == (entry["event"], entry["name"])


class Review(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The hooks of a project, and what was in the files they name, by path in the project.

    ``tests`` are those of the files that are hook tests; ``strict`` and ``required`` are what the
    project asks for itself.
    """

    version: int = 0
    project: str
    hooks: tuple[ReviewedHook, ...]
    files: dict[str, FileState]
    tests: tuple[str, ...] = ()
    strict: bool = False
    required: tuple[str, ...] = ()
    trusted_at: str = ""

    def get_guards(self) -> list[ReviewedHook]:
        """The hooks that must answer: those that fail closed, all of them in strict mode."""
        return [
            hook
            for hook in self.hooks
            if hook.enabled and (self.strict or hook.entry.get("onFailure") == "block")
        ]

    def changes_of(self, now: "Review") -> list[str]:
        """What is not as it was looked at, one phrase each; nothing if all of it is. Raises
        TrustError for a file that cannot be read."""
        # A look from another directory may name fewer of the files.
        others = {n: os.path.join(now.project, n) for n in self.files if n not in now.files}
        files = {**_read_states(others, now.project), **now.files}
        whys = [(hook, self.why_changed(hook, files)) for hook in now.hooks]
        found = [f"{hook.event} {hook.name}: {why}" for hook, why in whys if why is not None]
        gone = [hook for hook in self.hooks if all(hook.entry != each.entry for each in now.hooks)]
        found += [
            f"{hook.event} {hook.name}: it is no longer there"
            for hook in gone
            if not any(hook.has_same_place(each.entry) for each in now.hooks)
        ]
        found += [
            f"{name}: a new test, or a changed one"
            for name in now.tests
            if name not in self.tests or self.files.get(name) != now.files[name]
        ]
        if (self.strict, self.required) != (now.strict, now.required):
            found.append("strict or required: the project asks for something else now")
        return found

    def find(self, entry: Mapping[str, Any]) -> ReviewedHook | None:
        """The reviewed hook that has this very entry."""
        return next((hook for hook in self.hooks if hook.entry == entry), None)

    def why_changed(self, now: ReviewedHook, files: Mapping[str, FileState]) -> str | None:
        """What of a hook is not as it was looked at, None if all of it is; ``files`` are the
        states of what it names now and of what it named then."""
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
            fault = _compare(name, self.files.get(name), files.get(name))
            if fault is not None:
                return fault
        accepted = {each.what for each in known.uncovered}
        new = [each for each in now.uncovered if each.what not in accepted]
        return f"what it runs cannot be reviewed: {new[0]}" if new else None


def _compare(name: str, then: FileState | None, now: FileState | None) -> str | None:
    if then == now:
        return None
    if then is None or now is None:
        return f"{name} has vanished since it was reviewed"
    if then.kind != now.kind:
        return f"{name} was a {then.kind} when it was reviewed, and is none any more"
    if then.leads_to != now.leads_to:
        return f"{name} leads elsewhere than when it was reviewed"
    return f"{name} has changed since it was reviewed"


def describe_entry(entry: HookRegistryEntry) -> dict[str, Any]:
    """Every field of an entry that decides what a hook does, as JSON; defaults are left out."""
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
    return {
        name: value
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
) -> Review:
    """What a project's hooks would run now; raises TrustError for a file that cannot be read.

    ``is_on`` says which of them the project lets run, ``tests`` are files that bring code.
    """
    real, files = os.path.realpath(project_dir), dict[str, FileState]()
    hooks = []
    for entry in entries:
        found = _cover(entry, project_dir=project_dir, cwd=cwd)
        hooks.append(_reviewed(entry, found, is_on(entry.hook)))
        files |= _read_states(found.files, real)
    named = {os.path.relpath(os.path.realpath(file), real): file for file in tests}
    return Review(
        version=_VERSION,
        project=real,
        hooks=tuple(hooks),
        files=files | _read_states(named, real),
        tests=tuple(named),
        strict=strict,
        required=tuple(required),
    )


class Policy(msgspec.Struct, frozen=True):
    """All that a review of some hooks covers, as a checksum, and what of it was looked at when."""

    digest: str
    seen: dict[str, Signature | None]

    @classmethod
    def read(cls, entries: Iterable[HookRegistryEntry], *, project_dir: str, cwd: str) -> "Policy":
        """The policy that hooks of whatever layer make. What a hook of the user's names is counted
        from the folder of its settings."""
        import hashlib

        known, seen = [], dict[str, Signature | None]()
        for entry in entries:
            root, hook = project_dir, entry.hook
            said: list[Any] = [describe_entry(entry)]
            if isinstance(hook, CommandHook):
                if hook.source is not HookSource.PROJECT and hook.directory is not None:
                    root = hook.directory
                found = _cover(entry, project_dir=root, cwd=cwd)
                seen |= _sign((*found.watched, *found.files.values()))
                states = _read_states(found.files, os.path.realpath(root))
                said.append(sorted(msgspec.to_builtins(states).items()))
            known.append(codec.encode(said))
        return cls(f"sha256:{hashlib.sha256(b'|'.join(sorted(known))).hexdigest()}", seen)

    def is_current(self) -> bool:
        """Whether nothing of it has changed since."""
        return all(signature(place) == seen for place, seen in self.seen.items())


def _sign(places: Iterable[str]) -> dict[str, Signature | None]:
    """The signature of each place. What was changed just now may change once more within the same
    tick of the clock that dates it: it gets one that nothing ever has."""
    unsettled = time.time_ns() - _TICK_NS
    signed = {place: signature(place) for place in places}
    return {
        place: () if then is not None and max(then[:2]) > unsettled else then
        for place, then in signed.items()
    }


def _cover(entry: HookRegistryEntry, *, project_dir: str, cwd: str) -> Coverage:
    assert isinstance(entry.hook, CommandHook), "settings have no other kind"
    return cover(entry.hook, entry.event, project_dir=project_dir, cwd=cwd, environ=os.environ)


def _reviewed(entry: HookRegistryEntry, found: Coverage, enabled: bool) -> ReviewedHook:
    return ReviewedHook(
        entry=describe_entry(entry),
        files=tuple(sorted(found.files)),
        uncovered=found.uncovered,
        remarks=found.remarks,
        enabled=enabled,
    )


def _read_states(places: Mapping[str, str], project: str) -> dict[str, FileState]:
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
    """What is to be kept of a review that somebody agreed to: without ``uncovered``, no hook that
    nobody could look at whole. A guard that such a one would replace stays in force."""
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


class TrustStore:
    """What the user has trusted, a file for each project; only the user may read it."""

    def __init__(self, directory: str | None = None) -> None:
        state = user_state_dir()
        self._directory = directory or (None if state is None else os.path.join(state, "trust"))

    def read(self, project_dir: str) -> Review | None:
        """What was trusted of a project, None if nothing was; raises TrustError."""
        file = self._place(project_dir)
        if file is None:
            return None
        try:
            with open(file, "rb") as opened:
                content = opened.read()
            record = msgspec.json.decode(content)
            is_record = isinstance(record, dict) and isinstance(record.get("project"), str)
            if is_record and record.get("version") != _VERSION:
                raise TrustError(
                    f"{file} was recorded by another version of hookline, which looked at less; "
                    "nothing runs on it: review the project again with `hookline trust`"
                )
            known = msgspec.convert(record, Review)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            if error.errno in EXHAUSTED:
                raise
            raise TrustError(f"{file} cannot be read ({error.strerror}); correct that") from None
        except (msgspec.DecodeError, ValueError) as error:
            raise TrustError(
                f"{file} is damaged ({error}); trust the project again, which replaces it"
            ) from None
        return known if known.project == os.path.realpath(project_dir) else None

    def write(self, reviewed: Review) -> str:
        """Keep a review; gives the file. Raises TrustError, and then what was there before still
        is."""
        file = self._place(reviewed.project)
        if file is None:
            raise TrustError(f"there is no home to keep it in; set HOME or {STATE_VARIABLE}")
        kept = msgspec.structs.replace(reviewed, version=_VERSION, trusted_at=timestamp())
        try:
            os.makedirs(os.path.dirname(file), mode=0o700, exist_ok=True)
            write_atomically(file, codec.encode(msgspec.to_builtins(kept)), mode=0o600)
        except OSError as error:
            raise TrustError(
                f"{file} cannot be written ({error.strerror or error}); nothing was changed, "
                "make room or correct its permissions"
            ) from None
        return file

    def forget(self, project_dir: str) -> bool:
        """Trust a project no more; whether it was. Raises TrustError."""
        file = self._place(project_dir)
        try:
            if file is None:
                return False
            os.unlink(file)
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError as error:
            raise TrustError(f"{file} cannot be removed ({error.strerror}); remove it") from None
        return True

    def file_of(self, project_dir: str) -> str | None:
        """Where it is kept, None for a user without a home."""
        if self._directory is None:
            return None
        # A name that any file system takes, and that a person can still find.
        path = os.path.realpath(project_dir)
        readable = "".join(c if c.isascii() and c.isalnum() else "-" for c in path).strip("-")
        import zlib

        number = zlib.crc32(os.fsencode(path))
        return os.path.join(self._directory, f"{readable[-100:]}-{number:08x}.json")

    def _place(self, project_dir: str) -> str | None:
        """The same; raises TrustError for a place that the project itself could write to."""
        named = os.environ.get(STATE_VARIABLE, "")
        if named and not os.path.isabs(named):
            raise TrustError(f"{STATE_VARIABLE} is {named!r}; it must be an absolute path")
        if self._directory is not None:
            store, project = os.path.realpath(self._directory), os.path.realpath(project_dir)
            home = home_dir()
            # A project that is the home, or holds it, holds all that is the user's anyway.
            holds_home = home is not None and is_inside(os.path.realpath(home), project)
            if is_inside(store, project) and not holds_home:
                raise TrustError(
                    f"what is trusted would be kept in {store}, in the project itself; "
                    f"set {STATE_VARIABLE} to a directory outside of it"
                )
        return self.file_of(project_dir)


def is_inside(path: str, directory: str) -> bool:
    """Whether a path is a directory or something in it; both are real paths."""
    return path == directory or path.startswith(directory.rstrip(os.sep) + os.sep)


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
        found = _cover(look.entry, project_dir=self._project_dir, cwd=self._cwd)
        reviewed = None if known is None else known.find(look.described)
        places = dict(found.files)
        for name in reviewed.files if reviewed is not None else ():
            places.setdefault(name, os.path.join(project, name))
        decisive = [*found.watched, *places.values(), *([self.file] if self.file else [])]
        look.seen = _sign(decisive)
        now = _reviewed(look.entry, found, look.is_on)
        look.uncovered = now.uncovered
        if known is None:
            look.fault = "nobody has reviewed it"
            return
        try:
            look.fault = known.why_changed(now, _read_states(places, project))
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
        return bool(_cover(entry, project_dir=self._project_dir, cwd=self._cwd).code)

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
