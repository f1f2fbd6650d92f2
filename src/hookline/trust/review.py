"""A review: a project's hooks as a user looked at them, and how they differ from those of now.

The document of a review holds entries, digests and modes; the bytes are in the copy beside it.
"""

import os
from collections.abc import Callable, Collection, Iterable, Mapping
from types import MappingProxyType
from typing import Any

import msgspec

from hookline.errors import EXHAUSTED, HooklineError
from hookline.settings.layers import HookRegistryEntry
from hookline.settings.reader import make_entry
from hookline.trust.coverage import (
    FileState,
    cover,
    list_folder,
    read_states,
)
from hookline.trust.form import Form, read_form
from hookline.trust.ground import Ground
from hookline.wire.events import find_event
from hookline.wire.hooks import (
    DEFAULT_TIMEOUT_MS,
    KINDS,
    CommandHook,
    HookConfig,
    HookSource,
)

# The format of the documents; those of another version do not count as reviews.
VERSION = 3
# Fields that do not change what a hook does, or that depend on where the project is.
_NOT_REVIEWED = frozenset(
    {"description", "directory", "managed", "function", "plugin_data", "start"}
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
_NAMES = {"file": "a file", "directory": "a folder", "other": "a special file"}
_NOTHING: Mapping[str, Any] = MappingProxyType({})


class TrustError(HooklineError):
    """A review, its copy, or a file that it covers, cannot be read or written."""


class ReviewedFile(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A covered file as it was reviewed; ``checksum`` finds a damaged copy, fast."""

    kind: str = "file"
    leads_to: str = ""
    executable: bool = False
    size: int = 0
    digest: str = ""
    checksum: int = 0

    @classmethod
    def of(cls, state: FileState) -> "ReviewedFile":
        """Return the record of a file's state."""
        import hashlib
        import zlib

        if state.kind != "file":
            return cls(kind=state.kind, leads_to=state.leads_to)
        return cls(
            leads_to=state.leads_to,
            executable=state.executable,
            size=len(state.content),
            digest=f"sha256:{hashlib.sha256(state.content).hexdigest()}",
            checksum=zlib.crc32(state.content),
        )

    def matches(self, state: FileState) -> bool:
        """True if a state is very likely the reviewed one; only bytes tell for sure."""
        import zlib

        own = (self.kind, self.leads_to, self.executable, self.size, self.checksum)
        size, checksum = len(state.content), zlib.crc32(state.content) if state.content else 0
        return own == (state.kind, state.leads_to, state.executable, size, checksum)


class ReviewedHook(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One hook as it was reviewed: its entry, how it is started and what is covered of it.

    ``open`` says why no review vouches for what it starts, "" if one does; ``detached`` why it is
    open as a guard. ``hints`` name files that its texts lead to, outside the review. ``enabled`` is
    whether the project let it run, ``place`` what the entry depends on where it stands.
    """

    entry: dict[str, Any]
    form: Form = Form()
    files: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    open: str = ""
    detached: str = ""
    remedy: str = ""
    hints: tuple[str, ...] = ()
    enabled: bool = True
    required: bool = False
    place: dict[str, Any] = {}

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
        """True if it is the project's own hook, not a user's hook that starts the project's
        code."""
        return "source" not in self.entry

    @property
    def is_guard(self) -> bool:
        """True if it must not fail open."""
        return self.required or self.entry.get("onFailure") == "block"

    @property
    def why_open(self) -> str:
        """Why no review vouches for what it starts, "" if one does."""
        return self.explain_open(self.is_guard)

    def explain_open(self, is_guard: bool) -> str:
        """Return why no review vouches for what it starts, "" if one does; only a guard runs from
        a copy, and may be open for that."""
        return self.open or (self.detached if is_guard else "")

    def has_same_place(self, entry: Mapping[str, Any]) -> bool:
        """True if an entry has the same event and the same name."""
        return (self.event, self.name) == (entry["event"], entry["name"])


class Review(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The hooks of a project, and the files that they name, by path in the project.

    ``tests`` are those of the files that are hook tests; ``strict`` and ``required`` are what the
    project asks for itself, ``tools`` what it says of the host's tools. ``folder`` is the device
    and the number of the project's folder.
    """

    version: int = 0
    project: str
    hooks: tuple[ReviewedHook, ...]
    files: dict[str, ReviewedFile]
    folder: tuple[int, int] = (0, 0)
    tests: tuple[str, ...] = ()
    strict: bool = False
    required: tuple[str, ...] = ()
    tools: dict[str, dict[str, Any]] = {}
    written_by: str = ""
    trusted_at: str = ""

    def find(self, entry: Mapping[str, Any]) -> ReviewedHook | None:
        """Return the reviewed hook with exactly this entry, None if there is none."""
        return next((hook for hook in self.hooks if hook.entry == entry), None)

    def get_guards(self) -> list[ReviewedHook]:
        """Return the project's hooks that must not fail open. A user's own is not among them:
        users may change theirs freely."""
        return [h for h in self.hooks if h.enabled and h.is_of_project and h.is_guard]

    def is_of_folder(self) -> bool:
        """True if the project's folder is the one that was reviewed."""
        return self.folder == identify_folder(self.project)

    def digest(self) -> str:
        """Return a digest of the policy: all that was looked at, wherever the project is."""
        import hashlib

        from hookline.wire import codec

        hooks = [
            [hook.entry, sorted(hook.files), hook.enabled, hook.required] for hook in self.hooks
        ]
        files = {
            name: [file.kind, file.leads_to, file.executable, file.digest]
            for name, file in sorted(self.files.items())
        }
        demands = [self.strict, sorted(self.required), self.tools, sorted(self.tests)]
        text = codec.encode({"hooks": msgspec.to_builtins(hooks), "files": files, "asked": demands})
        return f"sha256:{hashlib.sha256(_sorted_json(text)).hexdigest()}"

    def changes_of(self, now: "Review") -> list[str]:
        """Return what has changed since this review, one phrase each."""
        whys = [(hook, self.why_changed(hook, now.files)) for hook in now.hooks]
        changes = [f"{hook.event} {hook.name}: {why}" for hook, why in whys if why is not None]
        missing = [
            hook for hook in self.hooks if all(hook.entry != each.entry for each in now.hooks)
        ]
        changes += [
            f"{hook.event} {hook.name}: it is no longer in the settings"
            for hook in missing
            if hook.is_of_project and not any(hook.has_same_place(each.entry) for each in now.hooks)
        ]
        changes += [
            f"{name}: a new or changed test"
            for name in now.tests
            if name not in self.tests or self.files.get(name) != now.files[name]
        ]
        if (self.strict, self.required) != (now.strict, now.required):
            changes.append("strict or required: the project's settings have changed")
        if self.tools != now.tools:
            changes.append("hooks.tools: the project declares other tools now")
        if self.folder != now.folder:
            changes.append(f"{now.project}: it is another folder than the one that was reviewed")
        return changes

    def why_changed(self, now: ReviewedHook, files: Mapping[str, ReviewedFile]) -> str | None:
        """Return what of a hook has changed since this review, None if nothing has; ``files`` are
        the current ones."""
        former = self.find(now.entry)
        if former is None:
            if any(hook.has_same_place(now.entry) for hook in self.hooks):
                return "its entry in the settings has changed since it was reviewed"
            return "nobody has reviewed it"
        if now.enabled != former.enabled:
            return f"it was {'dis' if now.enabled else 'en'}abled when it was reviewed"
        for name in sorted({*now.files, *former.files}):
            then, here = self.files.get(name), files.get(name)
            fault = explain_difference(
                name, then if name in former.files else None, here if name in now.files else None
            )
            if fault is not None:
                return fault
        if now.why_open and not former.why_open:
            return f"it is open now: {now.why_open}"
        if now.required and not former.required:
            return "it is required now, and was not when it was reviewed"
        return None


def identify_folder(place: str) -> tuple[int, int]:
    """Return the device and the number of a folder; zeros for what is not there."""
    try:
        status = os.stat(place)
    except OSError:
        return (0, 0)
    return status.st_dev, status.st_ino


def explain_difference(
    name: str, then: ReviewedFile | None, now: ReviewedFile | None
) -> str | None:
    """Return how a file differs from the reviewed one, None if it does not."""
    if then == now:
        return None
    if then is None or then.kind == "absent":
        return f"{name} was not there when it was reviewed"
    if now is None or now.kind == "absent":
        return f"{name} has vanished since it was reviewed"
    if then.kind != now.kind:
        return f"{name} was {_NAMES[then.kind]} when it was reviewed, and is now {_NAMES[now.kind]}"
    if then.leads_to != now.leads_to:
        return f"{name} leads to another place than when it was reviewed"
    if then.digest != now.digest or then.checksum != now.checksum:
        return f"{name} has changed since it was reviewed"
    return f"{name} has another mode than when it was reviewed"


def describe_entry(entry: HookRegistryEntry) -> dict[str, Any]:
    """Return every field of an entry that changes what the hook does, as JSON, without defaults."""
    matcher = entry.matcher if isinstance(entry.matcher, str) else ""
    fields = {
        "event": entry.event.value,
        "matcher": matcher.strip() or None,
        "sequential": entry.sequential or None,
        "type": entry.hook.type,
        **msgspec.structs.asdict(entry.hook),
        "onFailure": entry.hook.on_failure,
    }
    reviewed = {name: value for name, value in fields.items() if name not in _NOT_REVIEWED}
    # Documents hold lists where entries hold tuples, and the two are compared.
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in msgspec.to_builtins(reviewed).items()
        if value not in (None, False, {}, (), [], _ORDINARY.get(name))
    }


def restore_entry(hook: ReviewedHook, tools: Any = None) -> HookRegistryEntry | None:
    """Return the entry of a reviewed hook, as settings would give it; None for a hook of an event
    that this version does not know. Raises TrustError if no entry can be made from the review."""
    fields = {**hook.place, **hook.entry}
    event = find_event(str(fields.pop("event", "")))
    if event is None:
        return None
    kind = KINDS.get(str(fields.pop("type", "command")))
    matcher, sequential = fields.pop("matcher", None), bool(fields.pop("sequential", False))
    fields["on_failure"] = fields.pop("onFailure", "allow")
    fields.setdefault("source", HookSource.PROJECT.value)
    try:
        if kind is None:
            raise msgspec.ValidationError("this version does not know its type")
        # A review has the engine's names of fields, not those of settings.
        names = dict(zip(kind.__struct_fields__, kind.__struct_encode_fields__, strict=True))
        config = msgspec.convert({names.get(f, f): value for f, value in fields.items()}, kind)
    except msgspec.ValidationError as error:
        message = f"the review of {hook.event} {hook.name} cannot be used ({error})"
        raise TrustError(message) from None
    matcher = msgspec.UNSET if matcher is None else str(matcher)
    return make_entry(event, config, matcher, sequential=sequential, tools=tools)[0]


class ReviewDraft(msgspec.Struct, frozen=True):
    """A review of what is there now, and the bytes that it was made from."""

    review: Review
    contents: Mapping[str, bytes]


def review(
    entries: Iterable[HookRegistryEntry],
    *,
    project_dir: str,
    cwd: str,
    is_on: Callable[[HookConfig], bool] = lambda _hook: True,
    is_required: Callable[[HookRegistryEntry], bool] = lambda _entry: False,
    tests: Iterable[str] = (),
    strict: bool = False,
    required: Iterable[str] = (),
    tools: Mapping[str, Mapping[str, Any]] = _NOTHING,
) -> ReviewDraft:
    """Review what a project's hooks would run now; raises TrustError for an unreadable file.

    ``is_on`` says which hooks the project enables, ``is_required`` which somebody requires;
    ``tests`` are hook tests that bring code.
    """
    ground = Ground.of(project_dir)
    states: dict[str, FileState] = {}
    hooks = []
    for entry in entries:
        hook = look_at(
            entry, project_dir=project_dir, cwd=cwd, states=states, enabled=is_on(entry.hook)
        )
        hooks.append(msgspec.structs.replace(hook, required=is_required(entry)))
    test_names = [os.path.relpath(os.path.realpath(file), ground.real) for file in tests]
    states |= read_all(ground, [name for name in test_names if name not in states])
    document = Review(
        project=ground.real,
        folder=identify_folder(ground.real),
        hooks=tuple(hooks),
        files={name: ReviewedFile.of(state) for name, state in sorted(states.items())},
        tests=tuple(test_names),
        strict=strict,
        required=tuple(required),
        tools={name: dict(alias) for name, alias in tools.items()},
    )
    return ReviewDraft(document, {name: state.content for name, state in states.items()})


def look_at(
    entry: HookRegistryEntry,
    *,
    project_dir: str,
    cwd: str,
    states: dict[str, FileState],
    enabled: bool = True,
) -> ReviewedHook:
    """Look at one hook as it is now; the files that it covers are added to ``states``. Raises
    TrustError for an unreadable file."""
    hook = entry.hook
    if not isinstance(hook, CommandHook):
        # Its entry is all there is.
        return ReviewedHook(entry=describe_entry(entry), enabled=enabled, place=_find_place(hook))
    ground = ground_of(hook, Ground.of(project_dir))
    form = read_form(hook, entry.event.value, ground, cwd=cwd)
    covered = cover(ground, form.named, hook.covers)
    own = read_all(ground, covered.files)
    states |= own
    why, hints = form.open or "; ".join(covered.open), list[str]()
    detached = ""
    if not form.open:
        # Only who reviews looks at texts.
        from hookline.trust.texts import find_detached, find_live

        live = [*find_live(ground, own)]
        hints = [str(reference) for reference, _ in live]
        why = why or next((str(reference) for reference, starts in live if starts), "")
        detached = next((str(reference) for reference in find_detached(own)), "")
    return ReviewedHook(
        entry=describe_entry(entry),
        form=form,
        files=covered.files,
        folders=covered.folders,
        open=why,
        detached=detached,
        remedy=form.remedy,
        hints=tuple(hints),
        enabled=enabled,
        place=_find_place(hook),
    )


def ground_of(hook: HookConfig, project: Ground) -> Ground:
    """Return the files that count as the project's for a hook: its plugin's too, if the project
    names the plugin or holds it."""
    plugin = hook.plugin_root
    if plugin is None or not (hook.source is HookSource.PROJECT or project.holds(plugin)):
        return project
    return msgspec.structs.replace(project, plugin=os.path.realpath(plugin))


def _find_place(hook: HookConfig) -> dict[str, Any]:
    """Return what an entry depends on where it stands, to restore it from its review."""
    names = ("directory", "plugin_data", "allowed_urls", "managed")
    values = {name: getattr(hook, name, None) for name in names}
    return {name: msgspec.to_builtins(value) for name, value in values.items() if value}


def read_all(ground: Ground, names: Iterable[str]) -> dict[str, FileState]:
    """Read the state of each covered path; raises TrustError for one that cannot be read."""
    try:
        return read_states(ground, names)
    except OSError as error:
        if error.errno in EXHAUSTED:
            raise
        text = f"{error.filename} cannot be read ({error.strerror}); make it readable"
        raise TrustError(text) from None


def find_names(ground: Ground, hook: ReviewedHook) -> set[str]:
    """Return the paths that a reviewed hook covers now: those of its review, and what else is in
    its folders."""
    names = {*hook.files}
    plugin = hook.entry.get("plugin_root")
    for folder in hook.folders:
        is_plugin = bool(plugin) and f"{ground.place_of(folder)}/".startswith(f"{plugin}/")
        names.update(each for each in list_folder(ground, folder, is_plugin=is_plugin))
    if covers := hook.entry.get("covers"):
        names.update(cover(ground, (), tuple(covers)).files)
    return names


def _sorted_json(text: bytes) -> bytes:
    return msgspec.json.encode(msgspec.json.decode(text), order="deterministic")


def find_refused(
    now: Review, former: Review | None, accepted: Collection[str]
) -> list[ReviewedHook]:
    """Return the open hooks of a review that nobody has accepted by name, now or before."""
    return [
        hook
        for hook in now.hooks
        if hook.why_open
        and hook.name not in accepted
        and (former is None or former.why_changed(hook, now.files) is not None)
    ]


def leave_out(draft: ReviewDraft, refused: Collection[ReviewedHook]) -> ReviewDraft:
    """Return a review without some of its hooks, and without the files that only they name."""
    hooks = tuple(hook for hook in draft.review.hooks if hook not in refused)
    names = {name for hook in hooks for name in hook.files} | set(draft.review.tests)
    files = {name: file for name, file in draft.review.files.items() if name in names}
    return ReviewDraft(
        msgspec.structs.replace(draft.review, hooks=hooks, files=files), draft.contents
    )
