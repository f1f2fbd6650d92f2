"""A project's hooks run once somebody has looked at them, and only as they were then.

What was looked at is kept whole, not as a checksum: the next look can be a comparison, and nothing
but equal content is ever taken for equal. It covers each hook's event, matcher, command, arguments
and variables, and every file of the project that a word of its command or arguments names. It does
not cover what such a file loads in turn.
"""

import os
from collections.abc import Callable, Iterable, Iterator

import msgspec

from hookline.errors import HooklineError
from hookline.files import Signature, signature, write_atomically
from hookline.pipeline.definitions import HookRegistryEntry
from hookline.pipeline.programs import argv_of, hook_variables, words_in
from hookline.pipeline.shell import expand
from hookline.places import user_state_dir
from hookline.wire import codec
from hookline.wire.codec import timestamp
from hookline.wire.events import HookEventName
from hookline.wire.hooks import CommandHook, HookConfig

# Bytes: what is larger, or no text, is kept as a checksum.
_KEPT_TEXT = 256 * 1024
_WITHOUT_SYNTAX = {ord(char): " " for char in ";&|<>()`=,:{}"}
_WITHOUT_QUOTES = {ord(char): "" for char in "'\"\\"}


class TrustError(HooklineError):
    """What was trusted cannot be read or written."""


class ReviewedHook(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What of a hook decides what it does."""

    event: str
    command: str
    matcher: str | None = None
    args: tuple[str, ...] | None = None
    env: dict[str, str] = {}


class Review(msgspec.Struct, frozen=True, kw_only=True):
    """The hooks of a project, and what was in the files they name, by path in the project."""

    project: str
    hooks: tuple[ReviewedHook, ...]
    files: dict[str, str]
    trusted_at: str = ""

    def covers(self, now: "Review") -> bool:
        """Whether whatever would run now was looked at, as it is now."""
        return self.hooks == now.hooks and now.files.items() <= self.files.items()


def review(entries: Iterable[HookRegistryEntry], *, project_dir: str, cwd: str) -> Review:
    """What a project's hooks would run now; raises TrustError for a file that cannot be read."""
    entries = tuple(entries)
    hooks = [(entry.event, _command_of(entry)) for entry in entries]
    named = named_files(hooks, project_dir=project_dir, cwd=cwd)
    return Review(
        project=os.path.realpath(project_dir),
        hooks=tuple(
            ReviewedHook(
                event=entry.event.value,
                matcher=entry.matcher if isinstance(entry.matcher, str) else None,
                command=hook.command,
                args=hook.args,
                env=dict(hook.env),
            )
            for entry, (_, hook) in zip(entries, hooks, strict=True)
        ),
        files={name: _content(file) for name, file in named.items()},
    )


def _command_of(entry: HookRegistryEntry) -> CommandHook:
    """The hook of an entry that comes from settings, which have no other kind."""
    assert isinstance(entry.hook, CommandHook)
    return entry.hook


def named_files(
    hooks: Iterable[tuple[HookEventName, CommandHook]], *, project_dir: str, cwd: str
) -> dict[str, str]:
    """The files inside a project that the hooks of events name: path in the project -> where."""
    found: dict[str, str] = {}
    for event, hook in hooks:
        for name, place in _candidates(event, hook, project_dir=project_dir, cwd=cwd):
            if name not in found and os.path.isfile(place):
                found[name] = place
    return found


def _candidates(
    event: HookEventName, hook: CommandHook, *, project_dir: str, cwd: str
) -> Iterator[tuple[str, str]]:
    """Every path in the project that a word may stand for, and where it would be."""
    project = os.path.realpath(project_dir)
    # No file can be looked at beforehand that is named by a session.
    values = hook_variables(project_dir=project_dir, cwd=cwd, session_id="", event=event.value)
    values = {"PWD": cwd, **values, **hook.env}
    argv = words_in(hook.command, values) if hook.args is None else argv_of(hook, values) or []
    words: list[str] = []
    for text in (hook.command, *argv, *hook.env.values()):
        # It may be a command for another shell, the value of an option, a list of paths.
        whole = expand(text, values).translate(_WITHOUT_QUOTES)
        words += [text, *words_in(text, values), whole]
        words += whole.translate(_WITHOUT_SYNTAX).split()
    for word in dict.fromkeys(words):
        for base in dict.fromkeys((project_dir, cwd)):
            place = os.path.join(base, os.path.expanduser(word))
            try:
                paths = os.path.realpath(place), os.path.normpath(place)
            except ValueError:  # no file can be called that
                continue
            inside = (path for path in paths if path.startswith(project.rstrip(os.sep) + os.sep))
            if (path := next(inside, None)) is not None:
                yield os.path.relpath(path, project), place


def _content(file: str) -> str:
    try:
        with open(file, "rb") as opened:
            data = opened.read()
    except OSError as error:
        raise TrustError(f"{file} cannot be read ({error.strerror}); make it readable") from None
    if len(data) <= _KEPT_TEXT:
        try:
            return f"text:{data.decode()}"
        except UnicodeDecodeError:
            pass
    import hashlib

    return f"sha256:{hashlib.sha256(data).hexdigest()} ({len(data)} bytes)"


class TrustStore:
    """What the user has trusted, a file for each project; only the user may read it."""

    def __init__(self, directory: str | None = None) -> None:
        state = user_state_dir()
        self._directory = directory or (None if state is None else os.path.join(state, "trust"))

    def read(self, project_dir: str) -> Review | None:
        """What was trusted of a project, None if nothing was; raises TrustError."""
        file = self.file_of(project_dir)
        if file is None:
            return None
        try:
            with open(file, "rb") as opened:
                known = msgspec.json.decode(opened.read(), type=Review)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise TrustError(f"{file} cannot be read ({error.strerror}); correct that") from None
        except (msgspec.DecodeError, ValueError) as error:
            raise TrustError(
                f"{file} is damaged ({error}); trust the project again, which replaces it"
            ) from None
        return known if known.project == os.path.realpath(project_dir) else None

    def write(self, reviewed: Review) -> str:
        """Keep a review, and with it what an earlier one knew of files that are still the same;
        gives the file. Raises TrustError, and then what was there before still is."""
        file = self.file_of(reviewed.project)
        if file is None:
            raise TrustError("there is no home to keep it in; set HOME or XDG_STATE_HOME")
        kept = msgspec.structs.replace(reviewed, trusted_at=timestamp())
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
        file = self.file_of(project_dir)
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


class FolderTrust:
    """Whether a project's hooks may run. All are looked at when they are loaded and whenever a
    file has changed that the hook in question names, or what was trusted has."""

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
        self._entries: tuple[HookRegistryEntry, ...] = ()
        self._places: dict[int, tuple[str, ...]] = {}
        self._seen: dict[str, Signature | None] = {}
        self.is_all_trusted = True
        self.file = store.file_of(project_dir)

    def use(self, entries: Iterable[HookRegistryEntry]) -> None:
        """Answer for these hooks from now on."""
        self._entries = tuple(entries)
        places = {}
        for entry in self._entries:
            named = _candidates(
                entry.event, _command_of(entry), project_dir=self._project_dir, cwd=self._cwd
            )
            # Whatever decides about a hook: what it names, and what was trusted.
            decisive = [place for _, place in named] + ([self.file] if self.file else [])
            places[id(entry.hook)] = tuple(decisive)
        self._places = places
        self.is_all_trusted = self._look()

    def is_trusted(self, hook: HookConfig) -> bool:
        """Whether a hook may run now; one that was not among those in use is not ours to hold."""
        places = self._places.get(id(hook))
        if places is None:
            return True
        if any(signature(place) != self._seen[place] for place in places):
            self.is_all_trusted = self._look()
        return self.is_all_trusted

    def _look(self) -> bool:
        places = {place for known in self._places.values() for place in known}
        self._seen = {place: signature(place) for place in places}
        if not self._entries:
            return True
        try:
            known = self._store.read(self._project_dir)
            return known is not None and known.covers(
                review(self._entries, project_dir=self._project_dir, cwd=self._cwd)
            )
        except TrustError as error:
            self._warn(str(error))
            return False
