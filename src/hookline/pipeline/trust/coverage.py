"""Finds which files of a project a review of a hook must cover, and what no review can cover.

A hook's words name files, and these lead to the hook folder they are in, since scripts load their
neighbours. What cannot be covered is reported. Nothing is executed, and only regular files are
opened.
"""

import errno
import itertools
import os
import stat
from collections.abc import Mapping, Sequence

import msgspec

from hookline.pipeline.dialects import DIALECTS
from hookline.pipeline.trust.commands import Commands, Name, Uncovered, expand_home, shorten
from hookline.pipeline.trust.kinds import LOADERS, Use
from hookline.pipeline.trust.wording import Field, TooMuchError
from hookline.shell.programs import hook_variables, read_shebang
from hookline.shell.tokens import expand
from hookline.wire.events import EventName
from hookline.wire.hooks import CommandHook, HookConfig, HookSource

__all__ = ["Coverage", "FileState", "Uncovered", "cover", "cover_plugin", "lines_of", "read_state"]

# Bytes of one file or one folder: how much text is kept, and how much is read at all.
_KEPT_TEXT = 256 * 1024
_MOST_READ = 16 * 1024 * 1024
_MOST_FILES = 200
_MOST_MATCHES = 200
_MOST_ENTRIES = 10_000
_MOST_DEPTH = 32
_CHUNK = 1024 * 1024

_HOST_FOLDERS = frozenset({".hookline", ".llxprt", ".gemini", ".claude"})
_PLUGIN_MARKS = (".claude-plugin", "plugin.json", "gemini-extension.json", "llxprt-extension.json")
_SETTINGS = frozenset(
    {"settings.json", "settings.local.json", "settings.schema.json", "hooktest.schema.json"}
)
_CACHES = frozenset(
    {"__pycache__", ".mypy_cache", ".ruff_cache", ".pytest_cache", ".cache", ".git", ".hg", ".svn"}
)
# Directories of the system's programs, which no project brings.
_SYSTEM = ("/usr/", "/bin/", "/sbin/", "/opt/", "/nix/", "/System/", "/Library/", "/dev/")
_CODE_SUFFIXES = (
    *(".sh", ".bash", ".zsh", ".py", ".pyc", ".so", ".js", ".mjs", ".cjs", ".ts", ".rb", ".pl"),
    *(".pm", ".php", ".lua", ".awk", ".jq"),
)
_EXECUTABLES = (b"\x7fELF", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe")


class Coverage(msgspec.Struct, frozen=True, kw_only=True):
    """What a hook runs or reads in a project, as far as its words tell.

    ``files`` are those that exist, by path in the project, with the place at which the command
    finds each; ``code`` are those that are executed or loaded. ``watched`` are all places that
    matter: a file that changes, appears or vanishes shows in the stat of one of them.
    """

    files: dict[str, str]
    watched: tuple[str, ...]
    uncovered: tuple[Uncovered, ...]
    remarks: tuple[str, ...]
    code: frozenset[str]


def cover(
    hook: CommandHook,
    event: EventName,
    *,
    project_dir: str,
    cwd: str,
    environ: Mapping[str, str],
) -> Coverage:
    """Find what a hook of an event runs or reads in a project, as it is now."""
    ground = _Ground(project_dir, cwd)
    ground.add_plugin_of(hook)
    in_dialect = DIALECTS[hook.dialect].variables("")
    if in_dialect:
        # The hook does not inherit these variables, so their values here do not matter.
        environ = {name: environ[name] for name in environ if name not in in_dialect}
    ours = {name: value for name, value in in_dialect.items() if value is not None}
    places = {"project_dir": project_dir, "cwd": cwd}
    ours |= hook_variables(**places, session_id="", event=event.value, hook=hook)
    of_the_event = [name for name, value in ours.items() if not value]
    ours = {name: value for name, value in ours.items() if value}
    if hook.directory is not None and hook.source is HookSource.EXTENSIONS:
        ours.setdefault("CLAUDE_PLUGIN_ROOT", hook.directory)
    values = {**environ, **ours, **hook.env}
    commands = Commands(
        values={name: value for name, value in values.items() if name not in of_the_event},
        inert={*ours, *hook.env},
        of_the_event=of_the_event,
        bases=(project_dir, cwd),
        find=ground.find,
    )
    is_users = hook.source in (HookSource.USER, HookSource.SYSTEM)
    finder = _Finder(ground, commands, environ, hook.directory if is_users else None)
    try:
        for name, value in hook.env.items():
            commands.assign(name, value)
        if hook.args is None:
            commands.read_command(hook.command)
        else:
            words = (hook.command, *hook.args)
            commands.start([Field(expand(word, ours), code=word) for word in words])
        finder.find_all()
    except (TooMuchError, RecursionError):
        why, remedy = "too long to be followed", "write it as a script"
        commands.uncovered[Uncovered(shorten(hook.command), why, remedy)] = None
        finder.find_known()
    ground.add_folders()
    covered = ground.make_coverage(commands.uncovered, commands.remarks)
    if hook.dialect == "native":
        return covered
    # In that dialect the project's directory has only this name.
    named = [
        msgspec.structs.replace(
            each, remedy=each.remedy.replace("$HOOKLINE_PROJECT_DIR", "$CLAUDE_PROJECT_DIR")
        )
        for each in covered.uncovered
    ]
    return msgspec.structs.replace(covered, uncovered=tuple(named))


def cover_plugin(hook: HookConfig, *, project_dir: str, cwd: str) -> Coverage:
    """Find what a hook that is not a command uses in a project: its plugin, if it has one."""
    ground = _Ground(project_dir, cwd)
    ground.add_plugin_of(hook)
    return ground.make_coverage()


class _Finder:
    """Finds the files of the project that a command names."""

    def __init__(
        self,
        ground: "_Ground",
        commands: Commands,
        environ: Mapping[str, str],
        directory: str | None,
    ) -> None:
        self._ground = ground
        self._commands = commands
        self._environ = environ
        self._directory = directory
        self._done: set[Name] = set()
        self._read: set[str] = set()
        self._bases = commands.bases

    def find_known(self) -> list[str]:
        """Look for every name known so far, and return the scripts among the files found."""
        todo = [name for name in self._commands.names if name not in self._done]
        self._scripts: list[str] = []
        # Files that the command writes come first, so that they are not covered.
        for name in sorted(todo, key=lambda name: name.use is not Use.WRITTEN):
            self._done.add(name)
            if name.use is not Use.PROGRAM:
                self._look(name)
                continue
            paths = self._commands.values.get("PATH", [os.defpath])
            for base, entry in self._ground.entries_in_project(paths, name.bases):
                self._take(os.path.join(base, entry, name.text), Use.CODE, name.text)
        return self._scripts

    def find_all(self) -> None:
        """Look for every name, also those in the first lines of scripts; raises TooMuchError."""
        while scripts := self.find_known():
            for place in scripts:
                shebang = read_shebang(place)
                if shebang is not None:
                    self._commands.start([*map(Field, shebang), Field(place)])
        for name, (kind, _) in LOADERS.items():
            if name in self._environ and (not kind or kind in self._commands.interpreters):
                value = self._environ[name].replace(":", " ").replace("=", " ")
                for entry in (entry for entry in value.split() if entry[0] != "-"):
                    for base in self._bases:
                        self._ground.add_own(f"{name}={entry}", os.path.join(base, entry))

    def _look(self, name: Name) -> None:
        texts = [name.text]
        if name.text.startswith("~"):
            texts.append(expand_home(name.text))
            texts += [name.text[3:]] if name.text.startswith(("~+/", "~-/")) else []
        for text in texts:
            bases = name.bases
            if os.path.isabs(text):
                bases = bases[:1]
            elif self._directory is not None and name.use is Use.CODE:
                own = os.path.join(self._directory, text)
                self._ground.watch(own)
                self._take(own, name.use, text)
                if self._commands.is_single and os.path.exists(own):
                    continue
            for base in bases:
                self._take(os.path.join(base, text), name.use, text)

    def _take(self, place: str, use: Use, text: str) -> None:
        if self._ground.take(place, use, text) and use is Use.CODE and place not in self._read:
            self._read.add(place)
            self._scripts.append(place)


class _Ground:
    """The files of a project by their paths in it, through whatever link it was reached."""

    def __init__(self, project_dir: str, cwd: str) -> None:
        self.files: dict[str, str] = {}
        self.watched: dict[str, None] = {}
        self.uncovered: dict[Uncovered, None] = {}
        self.remarks: dict[str, None] = {}
        self.code: set[str] = set()
        self._project_dir = project_dir
        self._real = os.path.realpath(project_dir)
        self._written: set[str] = set()
        self._directories: set[str] = set()
        self._folders: set[str] = set()
        self._outside: str | None = None
        self._entries: dict[tuple[str, tuple[str, ...]], list[tuple[str, str]]] = {}
        self._scanned = 0
        # Prefixes of paths in the project, and the path in the project that each stands for.
        roots = {self._real: "", os.path.normpath(project_dir): ""}
        inside = self._find_inside(os.path.realpath(cwd))
        if inside is not None:
            roots.setdefault(os.path.normpath(cwd), inside)
        self._roots = [(f"{root.rstrip('/')}/", name) for root, name in roots.items()]

    def _find_inside(self, real: str) -> str | None:
        """The path in the project of a real path, None for a path outside."""
        if real == self._real:
            return ""
        prefix = f"{self._real.rstrip('/')}/"
        return real[len(prefix) :] if real.startswith(prefix) else None

    def find_name(self, place: str) -> str | None:
        """The path in the project of a place: "" for the project itself, None for a place outside.
        In a plugin outside the project it is the whole path."""
        try:
            if "/../" not in f"{place}/":
                path = os.path.normpath(place)
                for prefix, name in self._roots:
                    if f"{path}/".startswith(prefix):
                        return os.path.join(name, path[len(prefix) :]).rstrip("/")
            parent = self._find_inside(os.path.realpath(os.path.dirname(place.rstrip("/"))))
            last = os.path.basename(place.rstrip("/"))
            if parent is not None and last not in ("", ".", ".."):
                return os.path.join(parent, last)
            real = os.path.realpath(place)
            if self._outside is not None and f"{real}/".startswith(self._outside):
                return real
            return self._find_inside(real)
        except (OSError, ValueError):  # not a valid file name
            return None

    def watch(self, place: str) -> None:
        self.watched.setdefault(place)

    def take(self, place: str, use: Use, text: str) -> bool:
        """Cover what is at a place that a command names; True if it is a regular file."""
        if "/../" not in f"{place}/":
            place = os.path.normpath(place)
        name = self.find_name(place)
        if name is None:
            is_shown = use is Use.CODE and "/" in text and not place.startswith(_SYSTEM)
            if is_shown and os.path.isfile(place):
                self.remarks[f"{shorten(text)}: it is outside the project"] = None
            return False
        if use is Use.WRITTEN:
            self._written.add(name)
            return False
        try:
            known = os.stat(place)
        except (OSError, ValueError) as error:
            is_name = not isinstance(error, ValueError) and error.errno != errno.ENAMETOOLONG
            if is_name and use is not Use.MAYBE:
                self.watch(place)
            return False
        if use is not Use.CODE and self._is_kept_by_hooks(name, known):
            return False
        if stat.S_ISDIR(known.st_mode):
            self._take_directory(name, place, use)
            return False
        self._add_file(name, place, known, is_code=use is Use.CODE)
        return stat.S_ISREG(known.st_mode)

    def _is_kept_by_hooks(self, name: str, known: os.stat_result) -> bool:
        """Whether a file is one that hooks write themselves, and cannot be code."""
        if name not in self._written and not _is_state(name):
            return False
        is_code = bool(known.st_mode & 0o111) or name.endswith(_CODE_SUFFIXES)
        if is_code and stat.S_ISREG(known.st_mode):
            return False
        self.remarks[f"{shorten(name)}: hooks write it themselves"] = None
        return True

    def add_own(self, written: str, place: str) -> None:
        """Cover what a variable of the user's own environment loads from the project."""
        name = self.find_name(place)
        if name is None:
            return
        if os.path.isdir(place):
            self.remarks[f"{shorten(written)}: what is loaded from there"] = None
        else:
            self.take(place, Use.CODE, place)

    def _add_file(self, name: str, place: str, known: os.stat_result, *, is_code: bool) -> None:
        self.files.setdefault(name, place)
        self.watch(place)
        if is_code:
            self.code.add(name)
        inside = self._find_inside(os.path.realpath(place))
        if inside != name:
            # A link that is replaced shows in its directory.
            self.watch(os.path.dirname(place))
        if inside is not None and stat.S_ISREG(known.st_mode) and known.st_size > _MOST_READ:
            self._report_uncovered(
                name, f"it is larger than {_MOST_READ >> 20} MiB", "keep it smaller"
            )

    def _report_uncovered(self, name: str, why: str, remedy: str) -> None:
        self.uncovered[Uncovered(shorten(name), why, remedy)] = None

    def _take_directory(self, name: str, place: str, use: Use) -> None:
        if use is Use.CODE:
            self.files.setdefault(name or ".", place)
            self.code.add(name or ".")
            self._walk(name, place, is_code=True)
        elif name and use is Use.DATA:
            self.files.setdefault(name, place)
            self.watch(place)
            self._directories.add(name)

    def find(self, pattern: str, bases: Sequence[str]) -> list[str] | None:
        """The files that a shell matches with a pattern; None if they are too many to list."""
        import fnmatch
        import re

        found: dict[str, None] = {}
        for base in ("",) if os.path.isabs(pattern) else bases:
            reached = ["/" if os.path.isabs(pattern) else ""]
            for part in [part for part in pattern.split("/") if part]:
                if not set("*?[") & set(part):
                    reached = [os.path.join(each, part) for each in reached]
                    continue
                matches = re.compile(fnmatch.translate(part)).match
                further: list[str] = []
                for each in reached:
                    directory = os.path.join(base, each)
                    if self.find_name(directory) is not None:
                        self.watch(directory)
                    for entry in self._list_names(directory) or ():
                        # A shell matches a hidden file only if the pattern begins with a dot.
                        is_shown = not entry.startswith(".") or part.startswith(".")
                        if is_shown and matches(entry):
                            further.append(os.path.join(each, entry))
                    if len(further) > _MOST_MATCHES or self._scanned > _MOST_ENTRIES:
                        return None
                reached = further
            found |= dict.fromkeys(e for e in reached if os.path.lexists(os.path.join(base, e)))
        return sorted(found) if len(found) <= _MOST_MATCHES else None

    def _list_names(self, directory: str) -> list[str] | None:
        """The sorted names in a directory; None if it cannot be listed."""
        names = []
        try:
            with os.scandir(directory) as entries:
                for entry in entries:
                    names.append(entry.name)
                    self._scanned += 1
                    if self._scanned > _MOST_ENTRIES:
                        break
        except (OSError, ValueError):
            return None
        return sorted(names)

    def entries_in_project(
        self, paths: Sequence[str], bases: tuple[str, ...]
    ) -> list[tuple[str, str]]:
        """The entries of search paths that are in the project, each with its base directory."""
        found: dict[tuple[str, str], None] = {}
        for path in paths:
            known = self._entries.get((path, bases))
            if known is None:
                known = self._entries[path, bases] = []
                for entry in path.split(os.pathsep)[:_MOST_MATCHES]:
                    is_relative = entry.startswith(("~+", "~-"))
                    entry = entry[2:].lstrip("/") if is_relative else expand_home(entry)
                    if not os.path.isabs(entry):
                        known += [(base, entry) for base in bases]
                    elif self.find_name(os.path.join(entry, "x")) is not None:
                        known.append(("/", entry))
            found |= dict.fromkeys(known)
        return list(found)

    def add_folders(self) -> None:
        """Cover the hook folders of the files with all their contents, and report the rest."""
        for name, place in list(self.files.items()):
            names = dict.fromkeys((name, self._find_inside(os.path.realpath(place)) or name))
            if name in self._directories or os.path.isabs(name):
                continue
            for each in names:
                folder = self._find_hook_folder(each)
                if folder is not None:
                    self._walk(folder, os.path.join(self._project_dir, folder), is_code=False)
                elif name in self.code and not self._is_held(each) and not os.path.isdir(place):
                    self.remarks[f"{shorten(name)}: what it loads beside it"] = None
        for name in sorted(self._directories):
            if not self._is_held(f"{name}/"):
                remedy = "name the files in it, or keep it in a folder called hooks"
                self._report_uncovered(name, "a directory of which not all is covered", remedy)

    def add_plugin_of(self, hook: HookConfig) -> None:
        """Cover the whole folder of a hook's plugin, as its scripts may load each other. A
        project's plugin is covered wherever it is, others only inside the project."""
        root = hook.plugin_root
        name = None if root is None else self.find_name(root)
        if root is None or (name is None and hook.source is not HookSource.PROJECT):
            return
        if name is None:
            name, self._outside = root, f"{root}/"
        self._walk(name, root, is_code=True, is_plugin=True)

    def make_coverage(
        self, uncovered: Mapping[Uncovered, None] = {}, remarks: Mapping[str, None] = {}
    ) -> Coverage:
        """The coverage found so far, with what the commands report and remark."""
        return Coverage(
            files=dict(sorted(self.files.items())),
            watched=tuple(self.watched),
            uncovered=tuple({**uncovered, **self.uncovered}),
            remarks=tuple({**remarks, **self.remarks}),
            code=frozenset(self.code),
        )

    def _is_held(self, name: str) -> bool:
        return any(name.startswith(f"{folder}/") or not folder for folder in self._folders)

    def _find_hook_folder(self, name: str) -> str | None:
        """The nearest hook folder that a file is in, None if there is none."""
        folder = os.path.dirname(name)
        while folder:
            above = os.path.dirname(folder)
            # Some file systems ignore case.
            last, before = (os.path.basename(each).lower() for each in (folder, above))
            if last == "hooks" or last in _HOST_FOLDERS or before in _HOST_FOLDERS:
                return folder
            place = os.path.join(self._project_dir, folder)
            if any(os.path.lexists(os.path.join(place, mark)) for mark in _PLUGIN_MARKS):
                return folder
            folder = above
        return None

    def _walk(self, folder: str, place: str, *, is_code: bool, is_plugin: bool = False) -> None:
        """Cover all files of a folder, or report the folder if they are too many. A plugin keeps
        what it writes in another folder."""
        if folder in self._folders or self._is_held(f"{folder}/"):
            return
        files: dict[str, tuple[str, os.stat_result]] = {}
        directories: dict[str, str] = {}
        links: list[str] = []
        size = 0
        todo = [(folder, place, 0)]
        while todo:
            name, at, depth = todo.pop()
            directories[name] = at
            entries = self._list_names(at)
            if entries is None or depth > _MOST_DEPTH or self._scanned > _MOST_ENTRIES:
                self._report_uncovered(
                    f"{name}/", "a folder that cannot be listed", "make it readable"
                )
                return
            for entry in entries:
                inner, where = os.path.join(name, entry), os.path.join(at, entry)
                if _is_left_out(inner, entry, entries, is_plugin=is_plugin):
                    continue
                try:
                    known = os.stat(where)
                except OSError:
                    self.watch(where)
                    continue
                if not stat.S_ISDIR(known.st_mode):
                    is_own = not is_plugin and inner not in self.code
                    if is_own and self._is_kept_by_hooks(inner, known):
                        continue
                    files[inner] = where, known
                    size += known.st_size
                elif entry == "state" and not is_plugin:
                    # A package takes precedence over a module of its name.
                    for mark in ("py", "pyc", "so", "abi3.so"):
                        self.take(os.path.join(where, f"__init__.{mark}"), Use.CODE, "")
                elif os.path.islink(where):
                    files[inner] = where, known
                    links.append(inner)
                else:
                    todo.append((inner, where, depth + 1))
            if len(files) > _MOST_FILES or size > _MOST_READ:
                more = f"more than {_MOST_FILES} files or {_MOST_READ >> 20} MiB"
                self._report_uncovered(
                    f"{folder or '.'}/", more, "keep hooks in a folder of their own"
                )
                return
        self._folders.add(folder)
        for directory in directories.values():
            self.watch(directory)
        for inner, (where, _) in files.items():
            self.files.setdefault(inner, where)
            self.watch(where)
            self.code |= {inner} if is_code else set()
        for inner in links:
            to = self._find_inside(os.path.realpath(files[inner][0]))
            if to is None or not self._is_held(f"{to}/"):
                self._report_uncovered(
                    f"{inner}/", "a link to a directory", "copy what it leads to"
                )


def _is_state(name: str) -> bool:
    """Whether a file is in a folder where hooks keep what they write themselves."""
    parts = name.split("/")
    keepers = {*_HOST_FOLDERS, "hooks"}
    return any(a in keepers and b == "state" for a, b in itertools.pairwise(parts))


def _is_left_out(name: str, entry: str, beside: Sequence[str], *, is_plugin: bool = False) -> bool:
    """Whether something in a hook folder is not covered: it is reviewed separately, or programs
    and editors change it all the time. A plugin's settings are covered with it."""
    if is_plugin and (entry in _SETTINGS or entry == ".cache"):
        return False
    above = os.path.basename(os.path.dirname(name))
    # Backups are left out only beside the edited file: a script might load any other.
    return (
        entry in _CACHES
        or entry.endswith(".hooktest.json")
        or (entry in _SETTINGS and above in _HOST_FOLDERS)
        or entry == ".DS_Store"
        or entry.startswith(".#")
        or (entry.startswith(".") and entry[-4:-1] == ".sw")
        or (entry.endswith("~") and entry[:-1] in beside)
        or (entry.startswith("#") and entry.endswith("#") and entry[1:-1] in beside)
    )


class FileState(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The state of one covered file: its real path, its kind and its content.

    The kind is ``file``, ``directory`` or ``other``, which is never opened. Equal states mean
    equal bytes.
    """

    kind: str
    leads_to: str
    executable: bool = False
    content: str = ""


def read_state(place: str, project_dir: str) -> FileState | None:
    """Read the state of a place, None if nothing is there; raises OSError if it is unreadable."""
    for _ in range(5):
        # Everything is read at the real path: a link that is replaced meanwhile must not mix two
        # files.
        real = os.path.realpath(place)
        try:
            known = os.lstat(real)
            if stat.S_ISLNK(known.st_mode):
                # Raises ELOOP for a ring of links.
                os.stat(real)
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
                return None
            raise
        content, is_same = "", not stat.S_ISLNK(known.st_mode)
        if stat.S_ISREG(known.st_mode):
            try:
                content, is_same = _read_file(real, known)
            except FileNotFoundError:
                continue
        if is_same and os.path.realpath(place) == real:
            break
    else:
        raise OSError(errno.EBUSY, "it keeps changing while it is read", place)
    project = os.path.realpath(project_dir)
    inside = real.startswith(f"{project.rstrip('/')}/")
    kind = "directory" if stat.S_ISDIR(known.st_mode) else "other"
    is_file = stat.S_ISREG(known.st_mode)
    return FileState(
        kind="file" if is_file else kind,
        leads_to=os.path.relpath(real, project) if inside or real == project else real,
        executable=is_file and bool(known.st_mode & 0o111),
        content=content,
    )


def _read_file(place: str, known: os.stat_result) -> tuple[str, bool]:
    """Read a file; return its content, and whether it is still the file that is ``known``."""
    # If it has become a FIFO or a terminal meanwhile, opening must not hang or take control.
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        descriptor = os.open(place, flags)
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
        return "", False
    try:
        opened = os.fstat(descriptor)
        if _identify(opened) != _identify(known):
            return "", False
        if known.st_size > _MOST_READ:
            return f"too large to cover ({known.st_size} bytes)", True
        chunks: list[bytes] = []
        size = 0
        while size <= _MOST_READ and (chunk := os.read(descriptor, _CHUNK)):
            chunks.append(chunk)
            size += len(chunk)
        is_same = size == known.st_size and _identify(os.fstat(descriptor)) == _identify(known)
    finally:
        os.close(descriptor)
    content = b"".join(chunks)
    is_program = content.startswith(_EXECUTABLES) and b"\0" in content.split(b"\n", 1)[0]
    is_text = size <= _KEPT_TEXT and not is_program
    if is_text:
        try:
            return f"text:{content.decode()}", is_same
        except UnicodeDecodeError:
            pass
    # Loaded only here, as most files that hooks name are text.
    import hashlib

    digest = f"sha256:{hashlib.sha256(content).hexdigest()} ({size} bytes)"
    if not is_text:
        return digest, is_same
    return f"escaped:{digest}\n{content.decode(errors='backslashreplace')}", is_same


def _identify(known: os.stat_result) -> tuple[int, ...]:
    times = known.st_mtime_ns, known.st_ctime_ns
    return (known.st_mode, known.st_dev, known.st_ino, known.st_size, *times)


def lines_of(state: FileState) -> list[str]:
    """The lines to show for a state: its text, or one line that says what it is instead."""
    if state.kind != "file":
        return [f"{'a directory' if state.kind == 'directory' else 'no regular file'}"]
    head, _, text = state.content.partition("text:")
    if not head:
        return text.removesuffix("\n").split("\n") if text else []
    if state.content.startswith("escaped:"):
        return state.content.partition("\n")[2].removesuffix("\n").split("\n")
    return [state.content]
