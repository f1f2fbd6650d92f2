"""Decides which hooks of a project run, and from where: by the user's reviews.

The reviewed policy stays in force. A guard runs as it was reviewed, from its copy, whatever the
project's files and settings say by now; every other hook runs while it is as it was reviewed.
"""

import os
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from hookline._support.files import Signature, signature
from hookline._support.problem import Problem
from hookline.dialects import ROWS
from hookline.settings.layers import HookRegistryEntry
from hookline.settings.reader import Layer, make_entry
from hookline.trust.comparison import Comparison
from hookline.trust.coverage import read_state
from hookline.trust.form import find_outside, read_form
from hookline.trust.ground import Ground, may_be_code
from hookline.trust.review import (
    ReviewedFile,
    ReviewedHook,
    TrustError,
    describe_entry,
    ground_of,
    restore_entry,
)
from hookline.trust.store import ReviewRecord, TrustStore
from hookline.wire.events import EVENTS, HookEventName
from hookline.wire.hooks import (
    CommandHook,
    HookConfig,
    HookSource,
    ReviewedStart,
    WithheldHook,
)

if TYPE_CHECKING:
    from hookline.dialects.tools import ToolAlias

_REVIEW = "review it with `hookline trust`"
_DECIDES = "`hookline trust` decides about the change, `hookline untrust` ends the review"
_WORDS = re.compile(r"[\s'\"();&|<>=`,:]+")


class _Look(msgspec.Struct, eq=False):
    """A hook as it is planned, what was reviewed of it, and why it may not run; ``verdict`` is
    why it could not when the settings were read."""

    entry: HookRegistryEntry
    # Kept, as looks are found by the identity of this object.
    original: HookConfig
    described: dict[str, Any]
    ground: Ground
    record: ReviewRecord | None = None
    hook: ReviewedHook | None = None
    fault: str | None = None
    is_guard: bool = False
    comparison: Comparison | None = None
    verdict: str | None = None

    @property
    def why_open(self) -> str:
        return "" if self.hook is None else self.hook.explain_open(self.is_guard)

    @property
    def is_copied(self) -> bool:
        hook = self.entry.hook
        return isinstance(hook, CommandHook) and hook.start is not None and hook.start.from_copy


class _InUse(msgspec.Struct, frozen=True, eq=False):
    """The hooks in use. ``own`` are those that the caller gave in code, in any layer; ``guards``
    are reviewed ones that the settings do not give, ``notices`` what people must be told."""

    looks: dict[int, _Look] = {}
    by_identity: dict[object, list[_Look]] = {}
    own: frozenset[object] = frozenset()
    guards: tuple[HookRegistryEntry, ...] = ()
    notices: tuple[Problem, ...] = ()

    def find(self, hook: HookConfig) -> Sequence[_Look]:
        """Return what is known of a hook. One that was changed since, as by strict mode, is found
        by its identity, its layer and its start: a project that lists the same guard as the user
        or the caller must not hold back theirs, and the copy vouches for no files but its own."""
        look = self.looks.get(id(hook))
        if look is not None or not self.by_identity:
            return () if look is None else (look,)
        return () if hook.identity() in self.own else self.by_identity.get(_key_of(hook), ())


class FolderTrust:
    """The reviews of a project and of the folders above the working directory, applied. With
    ``copies`` every closed hook runs from its copy, not only guards."""

    def __init__(
        self,
        stores: Sequence[TrustStore],
        *,
        project_dir: str,
        cwd: str,
        warn: Callable[[str], None] = lambda _message: None,
        copies: bool = False,
    ) -> None:
        self._stores = stores
        self._project_dir = project_dir
        self._cwd = cwd
        self._warn = warn
        self._copies = copies
        self._lock = threading.Lock()
        # Events under way keep using the hooks that they began with.
        self._now = self._before = _InUse()
        self._adopted: set[object] = set()
        self._reviews: list[ReviewRecord] = []
        self._signed: list[Signature | None] | None = None
        folders = (store.folder_of(project_dir) for store in stores)
        self.files: tuple[str, ...] = tuple(folder for folder in folders if folder is not None)

    def use(
        self,
        layers: Sequence[Layer],
        *,
        is_on: Callable[[HookConfig], bool],
        is_required: Callable[[HookRegistryEntry], bool] = lambda _entry: False,
        in_code: Iterable[Layer] = (),
        others: bool | None = None,
        tools: "Mapping[str, ToolAlias] | None" = None,
    ) -> None:
        """Decide about the hooks of these layers from now on; ``is_on`` says which the project
        enables, ``is_required`` which somebody requires. Hooks given in code are the caller's own,
        in any layer.

        ``others`` is whether they include the project's settings of other dialects: False if the
        user excludes them, None if no settings say. ``tools`` are the host's, as other dialects
        call them.
        """
        # Before they are read, so that a change in between shows.
        self._signed = self._sign_stores()
        reviews, faults = self._read_reviews(self._project_dir)
        self._reviews = reviews
        looks: dict[int, _Look] = {}
        notices: list[Problem] = []
        project = Ground.of(self._project_dir)
        for entry in self.find_entries(layers):
            look = self._judge(
                entry, reviews, project, is_on=is_on(entry.hook), is_required=is_required(entry)
            )
            looks[id(entry.hook)] = look
            look.verdict = self._find_fault(look)
            if look.hook is not None and look.verdict is not None and not look.is_guard:
                notices.append(_tell_held_back(look, look.verdict))
            if (
                (look.is_guard or self._copies)
                and look.record is not None
                and look.hook is not None
            ):
                is_off = look.is_guard and not is_on(entry.hook)
                why = "the project's settings disable it" if is_off else ""
                if not why and look.is_copied and look.comparison is not None:
                    why = look.comparison.find_change() or ""
                if why and look.fault is None:
                    notices.append(_report_kept_guard(look.hook, look.record, why, entry.file))
        guards = [*self._keep_guards(layers, looks, others, tools, notices)]
        guards += self._withhold_users(looks.values())
        if faults:
            guards += self._hold_all(layers, faults)
        by_identity: dict[object, list[_Look]] = {}
        for look in [*looks.values()]:
            looks[id(look.entry.hook)] = look
            by_identity.setdefault(_key_of(look.entry.hook), []).append(look)
        own = frozenset(entry.hook.identity() for layer in in_code for entry in layer.entries)
        self._before, self._now = (
            self._now,
            _InUse(looks, by_identity, own, tuple(guards), tuple(notices)),
        )

    def is_stale(self) -> bool:
        """True if somebody reviewed the project again, or took its review back."""
        return self._signed is not None and self._signed != self._sign_stores()

    def _sign_stores(self) -> list[Signature | None]:
        return [signature(folder) for folder in self.files]

    def restore(self) -> None:
        """Go back to the hooks that were in use before; those whose review was taken back meanwhile
        do not run."""
        self._hold_back(self._before, self._reviews)
        self._now = self._before

    def _hold_back(self, in_use: _InUse, reviews: Sequence[ReviewRecord]) -> None:
        """Keep the hooks from running that these reviews do not have any more."""
        project = os.path.realpath(self._project_dir)
        for look in in_use.looks.values():
            if look.record is None or look.record.review.project != project:
                continue
            if not any(record.review.find(look.described) for record in reviews):
                look.fault = "its review was taken back"

    def adopt(self, hook: HookConfig) -> bool:
        """True if code may register a hook for the project: only if all of it is trusted."""
        if self.is_all_trusted:
            self._adopted.add(hook.identity())
        return hook.identity() in self._adopted

    def find_entries(self, layers: Iterable[Layer]) -> list[HookRegistryEntry]:
        """Return the hooks that a project's review covers: its own, and those of the user and the
        system that start its files."""
        project = Ground.of(self._project_dir)
        of_others = (HookSource.USER, HookSource.SYSTEM)
        return [
            entry
            for layer in layers
            for entry in layer.entries
            if layer.source is HookSource.PROJECT
            or (entry.source in of_others and self._is_covered(entry, project))
        ]

    def _is_covered(self, entry: HookRegistryEntry, project: Ground) -> bool:
        """True if a hook of the user or the system starts a file of the project, or did when it was
        reviewed."""
        if self._starts_here(entry, project):
            return True
        described = describe_entry(entry) if self._reviews else {}
        return any(record.review.find(described) for record in self._reviews)

    def admit(self, entry: HookRegistryEntry) -> tuple[HookRegistryEntry, bool]:
        """Return an entry as it is planned, and whether it is a guard that the project can no
        longer disable. A later change is found before the hook starts."""
        look = self._now.looks.get(id(entry.hook))
        if look is None:
            is_let = not _is_of_project(entry.hook) or entry.hook.identity() in self._now.own
            return msgspec.structs.replace(entry, trusted=is_let), False
        # A guard is planned, and fails if it cannot run, so that it blocks.
        is_kept = look.is_guard and look.hook is not None
        trusted = is_kept or look.verdict is None
        return msgspec.structs.replace(entry, hook=look.entry.hook, trusted=trusted), is_kept

    def why_untrusted(self, hook: HookConfig) -> str | None:
        """Return why a hook may not run now, None if it may. A hook that is not the project's, and
        starts none of its files, always may."""
        if isinstance(hook, WithheldHook):
            return hook.why
        now = self._now
        if self.is_stale():
            # Until the settings are read again, at the next event.
            self._hold_back(now, self._read_reviews(self._project_dir)[0])
        looks = now.find(hook) or self._before.find(hook)
        if not looks:
            identity = hook.identity() if _is_of_project(hook) else None
            if identity is None or identity in now.own or identity in self._adopted:
                return None
            return f"nobody has reviewed it; {_REVIEW}"
        faults = []
        for look in looks:
            fault = self._find_fault(look)
            if fault is None:
                return None
            faults.append(fault)
        return f"{faults[0]}; {_REVIEW}"

    def _find_fault(self, look: _Look) -> str | None:
        """Return why a hook may not run now, None if it may."""
        if look.fault is not None or look.is_copied:
            return look.fault
        if look.comparison is None:
            return "nobody has reviewed it"
        with self._lock:
            return look.comparison.find_fault()

    def get_open(self, hook: HookConfig) -> str:
        """Return why no review vouches for what a hook starts, "" if one does."""
        look = self._now.looks.get(id(hook))
        return "" if look is None else look.why_open

    def get_files(self, hook: HookConfig) -> Mapping[str, ReviewedFile] | None:
        """Return the reviewed files of a hook that runs from its copy; None for any other."""
        look = self._now.looks.get(id(hook))
        if look is None or not look.is_copied or look.record is None or look.hook is None:
            return None
        return {name: look.record.review.files[name] for name in look.hook.files}

    def get_guards(self) -> Sequence[HookRegistryEntry]:
        """Return reviewed guards that the settings do not give, and entries that block in place of
        hooks that must answer and cannot."""
        return self._now.guards

    def get_notices(self) -> Sequence[Problem]:
        """Return what people must be told of guards that go on as they were reviewed."""
        return self._now.notices

    def get_words(self, layers: Iterable[Layer]) -> tuple[bool, Sequence[str]]:  # noqa: ARG002
        """Return whether the project is strict, and which hooks it requires, as reviewed."""
        strict = any(record.review.strict for record in self._reviews)
        names = [name for record in self._reviews for name in record.review.required]
        return strict, list(dict.fromkeys(names))

    def get_tools(self, layers: Iterable[Layer]) -> Mapping[str, Mapping[str, Any]]:  # noqa: ARG002
        """Return what the project declares about the host's tools, as reviewed."""
        return self._reviews[0].review.tools if self._reviews else {}

    @property
    def is_all_trusted(self) -> bool:
        """True if every hook may run, and no guard is kept that the settings do not give."""
        hooks = [look.entry.hook for look in self._now.looks.values()]
        changed = self._now.guards or self._now.notices
        return not changed and all(self.why_untrusted(hook) is None for hook in hooks)

    def trusts_test(self, file: str) -> bool:
        """True if a hook test that brings code is unchanged since its review."""
        ground = Ground.of(self._project_dir)
        name = ground.name_of(file)
        for record in self._reviews:
            if name is None or name not in record.review.tests:
                continue
            try:
                return read_state(ground, name).content == record.read_copy(name)
            except (OSError, TrustError):
                return False
        return False

    def _read_reviews(self, directory: str) -> tuple[list[ReviewRecord], list[str]]:
        """Return the reviews of a directory in all stores, and what keeps some from being read."""
        reviews, faults = [], []
        for store in self._stores:
            try:
                record = store.read(directory)
            except TrustError as error:
                faults.append(str(error))
                continue
            if record is not None:
                reviews.append(record)
            elif store.has_record_of_earlier_version(directory):
                faults.append(
                    f"{os.path.realpath(directory)} was reviewed with an earlier version of "
                    "hookline, which kept no copies; look at its hooks again with `hookline trust`"
                )
        for fault in faults:
            self._warn(fault)
        return reviews, faults

    def _judge(
        self,
        entry: HookRegistryEntry,
        reviews: Sequence[ReviewRecord],
        project: Ground,
        *,
        is_on: bool,
        is_required: bool,
    ) -> _Look:
        """Decide about a hook of the settings."""
        described = describe_entry(entry)
        ground = ground_of(entry.hook, project)
        matches = [(record, hook) for record in reviews if (hook := record.review.find(described))]
        if not matches:
            is_known = any(
                h.has_same_place(described) for record in reviews for h in record.review.hooks
            )
            fault = "its entry in the settings has changed since it was reviewed"
            fault = fault if is_known else "nobody has reviewed it"
            return _Look(entry, entry.hook, described, ground, fault=fault)
        record, hook = matches[0]
        look = self._plan(entry, described, ground, record, hook, is_required=is_required)
        if is_on and not hook.enabled:
            look.fault = "the project disabled it when it was reviewed"
        return look

    def _plan(
        self,
        entry: HookRegistryEntry,
        described: dict[str, Any],
        ground: Ground,
        record: ReviewRecord,
        hook: ReviewedHook,
        *,
        is_required: bool = False,
    ) -> _Look:
        """Plan a reviewed hook: from its copy if it is a closed guard, else in place."""
        is_guard = hook.enabled and (hook.is_guard or is_required)
        comparison = Comparison(record, hook, ground)
        look = _Look(
            *(entry, entry.hook, described, ground, record, hook),
            is_guard=is_guard,
            comparison=comparison,
        )
        config = entry.hook
        if isinstance(config, CommandHook):
            start = ReviewedStart(project=self._project_dir)
            if ground.real != os.path.realpath(self._project_dir):
                start = ReviewedStart(project=ground.real)
            if not look.why_open and (is_guard or self._copies):
                argv = hook.form.argv_in(record.root, hook.files)
                start = msgspec.structs.replace(start, argv=argv, from_copy=True)
                look.fault = _find_damage(record, hook)
            elif not look.why_open:
                argv = hook.form.argv_in_place(ground)
                start = msgspec.structs.replace(start, argv=_find_interpreter(argv, hook, ground))
            planned = msgspec.structs.replace(config, start=start)
            look.entry = msgspec.structs.replace(entry, hook=planned)
        if not record.review.is_of_folder() and not (is_guard and not look.why_open):
            look.fault = f"{ground.real} is another folder than the one that was reviewed"
        return look

    def _keep_guards(
        self,
        layers: Sequence[Layer],
        looks: dict[int, _Look],
        others: bool | None,
        tools: "Mapping[str, ToolAlias] | None",
        notices: list[Problem],
    ) -> Iterator[HookRegistryEntry]:
        """Yield the reviewed guards that the settings do not give any more, or never gave: those
        of this project, and of the folders above the working directory."""
        current = [look.described for look in looks.values()]
        project = os.path.realpath(self._project_dir)
        unreadable = [
            problem.place
            for layer in layers
            if layer.source is HookSource.PROJECT
            for problem in layer.problems
            if problem.broken
        ]
        faults: list[str] = []
        for record in [*self._reviews, *self._read_above(project, faults)]:
            is_here = record.review.project == project
            for guard in record.review.get_guards():
                entry = guard.entry
                is_settings = entry.get("dialect") in ROWS and "plugin_root" not in entry
                if (is_here and entry in current) or (others is False and is_settings):
                    continue
                try:
                    restored = restore_entry(guard, tools)
                except TrustError as error:
                    self._warn(str(error))
                    faults.append(str(error))
                    continue
                if restored is None:
                    continue
                ground = ground_of(restored.hook, Ground.of(record.review.project))
                look = self._plan(restored, entry, ground, record, guard)
                looks[id(look.entry.hook)] = look
                why = f"its project is {record.review.project}, above this one"
                if is_here:
                    why = _explain_missing(guard, current, unreadable, others)
                notices.append(_report_kept_guard(guard, record, why, None))
                yield msgspec.structs.replace(look.entry, trusted=True)
        if faults:
            # Nobody can tell which guards there are.
            yield from _block_all(faults[0])

    def _read_above(self, project: str, faults: list[str]) -> Iterator[ReviewRecord]:
        """Yield the reviews of the folders above the working directory, but for the project's; what
        keeps one from being read is added to ``faults``."""
        above: list[str] = []
        directory = os.path.realpath(self._cwd)
        while directory not in above:
            above.append(directory)
            directory = os.path.dirname(directory)
        for store in self._stores:
            for directory in store.find_projects(each for each in above if each != project):
                try:
                    record = store.read(directory)
                except TrustError as error:
                    self._warn(str(error))
                    faults.append(str(error))
                    continue
                if record is not None:
                    yield record

    def _withhold_users(self, looks: Iterable[_Look]) -> Iterator[HookRegistryEntry]:
        """Yield an entry that blocks for each user's hook that fails closed and would start files
        of the project that nobody reviewed."""
        for look in looks:
            hook = look.entry.hook
            if look.fault and not _is_of_project(hook) and hook.on_failure == "block":
                why = f"it starts a file of the project, and {look.fault}; {_REVIEW}"
                yield _withhold(look.entry, why)

    def _hold_all(
        self, layers: Sequence[Layer], faults: Sequence[str]
    ) -> Iterator[HookRegistryEntry]:
        """Yield entries that block every event that can be blocked, if the project's settings name
        a guard: its review cannot be read."""
        project = [layer for layer in layers if layer.source is HookSource.PROJECT]
        has_guard = any(
            entry.hook.on_failure == "block" for layer in project for entry in layer.entries
        ) or any(layer.required for layer in project)
        is_unreadable = any(problem.broken for layer in project for problem in layer.problems)
        if not (has_guard or is_unreadable):
            return
        yield from _block_all(faults[0])

    def _starts_here(self, entry: HookRegistryEntry, project: Ground) -> bool:
        """True if a hook of the user or the system starts a file of the project, or is the entry of
        a plugin that is in the project."""
        hook = entry.hook
        ground = ground_of(hook, project)
        if ground.plugin:
            return True
        if not isinstance(hook, CommandHook):
            return False
        texts = (hook.command, *(hook.args or ()))
        words = {word for text in texts for word in (text, *_WORDS.split(text)) if word}
        # A look at the words saves reading most commands.
        places = (os.path.join(base, word) for word in words for base in (ground.real, self._cwd))
        if not any("$" in place or (_is_there(place) and ground.holds(place)) for place in places):
            return False
        form = read_form(hook, entry.event.value, ground, cwd=self._cwd)
        if not form.open:
            return not os.path.isabs(form.script)
        for name in form.named:
            place = ground.place_of(name)
            if os.path.isfile(place) and may_be_code(name, os.stat(place), place):
                return True
        return False


def _block_all(fault: str) -> Iterator[HookRegistryEntry]:
    """Yield an entry that blocks for each event that can be blocked."""
    why = f"a review cannot be read, so nobody can tell what it guards: {fault}"
    hook = WithheldHook(name="review", source=HookSource.PROJECT, on_failure="block", why=why)
    for event in HookEventName:
        if EVENTS[event].blockable:
            yield msgspec.structs.replace(make_entry(event, hook)[0], trusted=False)


def _is_of_project(hook: HookConfig) -> bool:
    return hook.source is HookSource.PROJECT


def _is_there(place: str) -> bool:
    try:
        return os.path.lexists(place)
    except ValueError:  # no name of a file
        return False


def _key_of(hook: HookConfig) -> object:
    return hook.source, hook.identity(), getattr(hook, "start", None)


def _withhold(entry: HookRegistryEntry, why: str) -> HookRegistryEntry:
    """Return the entry that blocks in place of another."""
    hook = entry.hook
    withheld = WithheldHook(
        name=hook.name,
        source=hook.source,
        on_failure="block",
        dialect=hook.dialect,
        dialect_event=hook.dialect_event,
        condition=hook.condition,
        why=why,
    )
    return msgspec.structs.replace(entry, hook=withheld, trusted=False)


def _find_interpreter(argv: tuple[str, ...], hook: ReviewedHook, ground: Ground) -> tuple[str, ...]:
    """Return the words of a hook that runs in place; its interpreter is looked up again if it is
    not where it was."""
    if hook.form.interpreter and not os.access(argv[0], os.X_OK):
        return (find_outside(os.path.basename(argv[0]), ground) or argv[0], *argv[1:])
    return argv


def _find_damage(record: ReviewRecord, hook: ReviewedHook) -> str | None:
    """Return what is wrong with the copy of a hook, None if it is whole."""
    damage = record.find_damage(hook.files)
    if damage is not None:
        return damage
    program = hook.form.interpreter[:1]
    if program and not os.access(program[0], os.X_OK):
        return f"its interpreter {program[0]}, as it was reviewed, is gone"
    return None


def _explain_missing(
    guard: ReviewedHook,
    current: Iterable[Mapping[str, Any]],
    unreadable: Sequence[str],
    others: bool | None,
) -> str:
    """Return why the settings do not give a reviewed guard."""
    if any(guard.has_same_place(entry) for entry in current):
        return "its entry in the settings has changed since it was reviewed"
    if unreadable:
        return f"{unreadable[0]} cannot be read"
    dialect = str(guard.entry.get("dialect"))
    if dialect in ROWS and others is None:
        return (
            f"nothing asks for {ROWS[dialect].title}'s settings any more: pass --{dialect}, or set "
            f'"{dialect}" to true or false in your settings'
        )
    return "it is no longer in the project's settings"


def _report_kept_guard(
    guard: ReviewedHook, record: ReviewRecord, why: str, file: str | None
) -> Problem:
    return Problem(
        kind="guard-kept",
        file=file or record.review.project,
        message=f"{guard.event} {guard.name}: {why}",
        consequence=f"it goes on guarding as it was reviewed on {record.review.trusted_at}",
        remedy=_DECIDES,
    )


def _tell_held_back(look: _Look, fault: str) -> Problem:
    return Problem(
        kind="untrusted",
        file=look.entry.file or look.ground.real,
        line=look.entry.line,
        message=f"{look.entry.event.value} {look.entry.name}: {fault}",
        consequence="it does not run",
        remedy=_REVIEW,
    )
