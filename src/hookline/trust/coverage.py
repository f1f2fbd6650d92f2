"""Finds the files that a review of a hook covers.

The rule is one: the files that a command names, for each the nearest hook folder with all it holds,
and what the entry's own ``covers`` names. Nothing is executed, and only regular files are opened.
"""

import errno
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec

from hookline._support.files import QUIETLY
from hookline.dialects import ROWS
from hookline.trust.ground import Ground, may_be_code

MOST_FILES = 200
MOST_BYTES = 16 * 1024 * 1024
_MOST_ENTRIES = 10_000
_MOST_DEPTH = 32
_CHUNK = 1024 * 1024

HOST_FOLDERS = frozenset(
    {".hookline", ".llxprt", ".gemini", *(row.folder for row in ROWS.values())}
)
_PLUGIN_MARKS = (
    *(row.plugin_mark for row in ROWS.values() if row.plugin_mark),
    *("plugin.json", "gemini-extension.json", "llxprt-extension.json"),
)
_SETTINGS = frozenset(
    {"settings.json", "settings.local.json", "settings.schema.json", "hooktest.schema.json"}
)
_CACHES = frozenset(
    {"__pycache__", ".mypy_cache", ".ruff_cache", ".pytest_cache", ".cache", ".git", ".hg", ".svn"}
)
_STATE = "state"


class Covered(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a review covers for one hook: files by their paths in the project, and the folders
    that hold them; ``open`` says what it could not cover."""

    files: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    open: tuple[str, ...] = ()


class FileState(msgspec.Struct, frozen=True, kw_only=True):
    """One covered file: its kind, which may be ``file``, ``directory``, ``other`` or ``absent``,
    where it really is in the project, its executable bit and its bytes."""

    kind: str
    leads_to: str
    executable: bool = False
    content: bytes = b""


def cover(ground: Ground, names: Iterable[str], covers: Sequence[str] = ()) -> Covered:
    """Find what belongs to a hook that names these paths in the project, as it is now."""
    walk = _Walk(ground)
    for name in names:
        walk.add_file(name)
        place = ground.place_of(name)
        target = ground.name_of_real(os.path.realpath(place))
        for each in dict.fromkeys((name, target or name)):
            folder = find_hook_folder(ground, each)
            if folder is not None:
                walk.add_folder(folder)
    for pattern in covers:
        walk.add_pattern(pattern)
    if ground.plugin:
        walk.add_folder(ground.name_of_real(ground.plugin) or ground.plugin, is_plugin=True)
    return walk.finish()


def find_hook_folder(ground: Ground, name: str) -> str | None:
    """Return the nearest hook folder that a file is in, None if there is none."""
    folder = os.path.dirname(name)
    while folder and folder != "/":
        above = os.path.dirname(folder)
        # Some file systems ignore case.
        last, before = (os.path.basename(each).lower() for each in (folder, above))
        if last == "hooks" or last in HOST_FOLDERS or before in HOST_FOLDERS:
            return folder
        place = ground.place_of(folder)
        if any(os.path.lexists(os.path.join(place, mark)) for mark in _PLUGIN_MARKS):
            return folder
        folder = above
    return None


class _Walk:
    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        self._files: dict[str, None] = {}
        self._folders: dict[str, None] = {}
        self._open: dict[str, None] = {}
        self._size = self._scanned = 0

    def finish(self) -> Covered:
        if len(self._files) > MOST_FILES or self._size > MOST_BYTES:
            more = f"more than {MOST_FILES} files or {MOST_BYTES >> 20} MiB; keep hooks in a "
            folder = next(iter(self._folders), ".")
            return Covered(
                files=tuple(sorted(self._files))[:MOST_FILES],
                open=(f"{folder}/ has {more}folder of their own", *self._open),
            )
        return Covered(
            files=tuple(sorted(self._files)),
            folders=tuple(sorted(self._folders)),
            open=tuple(self._open),
        )

    def add_file(self, name: str) -> None:
        """Cover a file, and if it is a link, what it leads to."""
        if name in self._files:
            return
        place = self._ground.place_of(name)
        try:
            status = os.stat(place)
            real = self._ground.name_of_real(os.path.realpath(place))
        except OSError:
            self._files[name] = None
            return
        if real is None:
            self._open[f"{name} is a link that leads out of the project"] = None
            return
        if stat.S_ISDIR(status.st_mode):
            self._open[f"{name}/ is a link to a folder; copy what it leads to"] = None
            return
        if not stat.S_ISREG(status.st_mode):
            self._open[f"{name} is no regular file"] = None
            return
        if name.endswith(".pyc"):
            self._open[f"{name} is compiled, without its source"] = None
        self._files[name] = None
        self._size += status.st_size
        if real != name:
            self.add_file(real)

    def add_folder(self, folder: str, *, is_plugin: bool = False) -> None:
        """Cover all that a hook folder holds."""
        if any(f"{folder}/".startswith(f"{other}/") for other in self._folders):
            return
        self._folders[folder] = None
        for name in self._list(folder, is_plugin=is_plugin):
            self.add_file(name)
            if len(self._files) > MOST_FILES:
                return

    def add_pattern(self, pattern: str) -> None:
        """Cover what a pattern of the entry's own ``covers`` names."""
        ground = self._ground
        base = pattern.split("*", 1)[0].rpartition("/")[0] if "*" in pattern else pattern
        name = ground.name_of(os.path.join(ground.real, base or "."))
        if name is None:
            self._open[f'"covers" names {pattern}, which is outside the project'] = None
            return
        place = ground.place_of(name)
        if not os.path.isdir(place):
            self.add_file(name)
            return
        is_meant = _match_pattern(pattern if "*" in pattern else f"{pattern.rstrip('/')}/**")
        for file in self._list("" if name == "." else name, is_plugin=True):
            if is_meant(file):
                self.add_file(file)
            if len(self._files) > MOST_FILES:
                return

    def _list(self, folder: str, *, is_plugin: bool = False) -> Iterator[str]:
        for name in list_folder(self._ground, folder, is_plugin=is_plugin):
            self._scanned += 1
            if self._scanned > _MOST_ENTRIES:
                self._open[f"{folder}/ has too many files to look at"] = None
                return
            if name.endswith("/"):
                self._open[f"{name} cannot be listed"] = None
                continue
            yield name


def _match_pattern(pattern: str) -> Callable[[str], bool]:
    pieces = re.split(r"(\*\*/?|\*|\?)", os.path.normpath(pattern))
    rules = {"**": ".*", "**/": "(?:.*/)?", "*": "[^/]*", "?": "[^/]"}
    compiled = re.compile("".join(rules.get(each) or re.escape(each) for each in pieces))
    return lambda name: compiled.fullmatch(name) is not None


def list_folder(ground: Ground, folder: str, *, is_plugin: bool = False) -> Iterator[str]:
    """Yield the paths of what a review covers of a folder; one that ends with a slash could not be
    listed. A plugin's settings are covered with it, and it keeps what it writes elsewhere."""
    todo = [(folder, 0)]
    links: set[str] = set()
    while todo:
        name, depth = todo.pop()
        try:
            with os.scandir(ground.place_of(name)) as entries:
                ordered = sorted(entries, key=lambda entry: entry.name)
        except (OSError, ValueError):
            if depth:
                yield f"{name}/"
            continue
        beside = {entry.name for entry in ordered}
        for entry in ordered:
            inner = f"{name}/{entry.name}" if name else entry.name
            if is_left_out(inner, entry.name, beside, is_plugin=is_plugin):
                continue
            if entry.is_symlink() and entry.is_dir() and _leads_inside(ground, entry.path, links):
                todo.append((inner, depth + 1))
            elif not entry.is_dir(follow_symlinks=False):
                yield inner
            elif entry.name == _STATE and not is_plugin:
                yield from _list_loadable(ground, inner)
            elif depth >= _MOST_DEPTH:
                yield f"{inner}/"
            else:
                todo.append((inner, depth + 1))


def _leads_inside(ground: Ground, place: str, links: set[str]) -> bool:
    """True for a link to a folder of the project that was not followed before."""
    real = os.path.realpath(place)
    is_new = real not in links and ground.name_of_real(real) is not None
    links.add(real)
    # A folder that holds the link would be followed without end.
    return is_new and not os.path.realpath(os.path.dirname(place)).startswith(f"{real}/")


def _list_loadable(ground: Ground, folder: str) -> Iterator[str]:
    """Yield what hooks keep in a folder for what they write, and may be code all the same."""
    for directory, folders, files in os.walk(ground.place_of(folder)):
        folders[:] = sorted(each for each in folders if each not in _CACHES)
        for entry in sorted(files):
            place = os.path.join(directory, entry)
            try:
                status = os.stat(place)
            except OSError:
                continue
            if may_be_code(entry, status, place):
                yield os.path.join(folder, os.path.relpath(place, ground.place_of(folder)))


def is_left_out(name: str, entry: str, beside: set[str], *, is_plugin: bool = False) -> bool:
    """True if something in a hook folder is not covered: it is reviewed by itself, or programs and
    editors change it all the time."""
    if is_plugin and (entry in _SETTINGS or entry == ".cache"):
        return False
    if entry in _CACHES or entry == ".DS_Store" or entry.endswith(".hooktest.json"):
        return True
    if entry in _SETTINGS and os.path.basename(os.path.dirname(name)) in HOST_FOLDERS:
        return True
    # Python loads a source before what was compiled from it.
    if entry.endswith(".pyc") and entry[:-1] in beside:
        return True
    # What editors leave is left out only beside the edited file: a script might load any other.
    return (
        entry.startswith(".#")
        or (entry.startswith(".") and entry[-4:-1] == ".sw")
        or (entry.endswith("~") and entry[:-1] in beside)
        or (entry.startswith("#") and entry.endswith("#") and entry[1:-1] in beside)
    )


def read_state(ground: Ground, name: str) -> FileState:
    """Read the state of a covered path; raises OSError if it is unreadable."""
    place = ground.place_of(name)
    for _ in range(5):
        # Everything is read at the real path: a link that is replaced meanwhile must not mix two
        # files.
        try:
            real = os.path.realpath(place, strict=True)
            descriptor = os.open(real, QUIETLY | os.O_NOFOLLOW)
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
                return FileState(kind="absent", leads_to="")
            if error.errno in (errno.ENXIO, errno.ENODEV):
                return FileState(kind="other", leads_to="")
            raise
        try:
            status = os.fstat(descriptor)
            leads_to = ground.name_of_real(real) or ""
            if not stat.S_ISREG(status.st_mode):
                kind = "directory" if stat.S_ISDIR(status.st_mode) else "other"
                return FileState(kind=kind, leads_to=leads_to)
            content = _read_all(descriptor, status.st_size)
        finally:
            os.close(descriptor)
        if content is not None:
            executable = bool(status.st_mode & 0o111)
            return FileState(kind="file", leads_to=leads_to, executable=executable, content=content)
    raise OSError(errno.EBUSY, "it keeps changing while it is read", place)


def _read_all(descriptor: int, size: int) -> bytes | None:
    """Return the content of a file of that size; None if it has another size by now."""
    content = os.read(descriptor, min(size, MOST_BYTES) + 1)
    while len(content) <= MOST_BYTES and (more := os.read(descriptor, _CHUNK)):
        content += more
    return content if len(content) == size or size > MOST_BYTES else None


def read_states(ground: Ground, names: Iterable[str]) -> dict[str, FileState]:
    """Read the state of each path; raises OSError, which names the file."""
    states = {}
    for name in names:
        try:
            states[name] = read_state(ground, name)
        except OSError as error:
            raise OSError(error.errno, error.strerror, ground.place_of(name)) from None
    return states
