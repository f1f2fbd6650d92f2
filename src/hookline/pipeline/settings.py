"""Finds the settings files of a working directory and reads them, layer by layer.

A file that cannot be read is a problem with its place, never the end: the others still load. What
a layer may say about the others follows trust: a project speaks for its own hooks only.
"""

import errno
import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from hookline.pipeline.definitions import HookEntry, Origin, Problem, parse_hooks
from hookline.pipeline.dialects import dialect_of
from hookline.pipeline.jsonc import (
    BOM,
    Document,
    JsoncError,
    Path,
    line_and_column,
    parse,
    spoken,
    value_at,
)
from hookline.pipeline.redaction import Redaction
from hookline.places import site_config_dir, user_config_dir
from hookline.wire.hooks import HookSource

_OWN_FILES = ("settings.local.json", "settings.json")
_PROJECT_FOLDERS = (".hookline", ".llxprt", ".gemini")
_HOME_FILES = (".llxprt/settings.json", ".gemini/settings.json")
# Where settings say whether hooks run at all, and which do not by their names.
SWITCHES: tuple[Path, ...] = (("enableHooks",), ("hooksConfig", "enabled"), ("hooks", "enabled"))
DISABLED_NAMES: tuple[Path, ...] = (("hooks", "disabled"), ("hooksConfig", "disabled"))


class SettingsFile(msgspec.Struct, frozen=True):
    """A place where settings may be, the layer they would belong to, and their dialect."""

    path: str
    source: HookSource
    dialect: str = "native"


class Layer(msgspec.Struct, frozen=True, kw_only=True):
    """What one file, or one argument in code, says. None: it says nothing about it."""

    source: HookSource
    entries: tuple[HookEntry, ...] = ()
    enabled: bool | None = None
    disabled: tuple[str, ...] = ()
    redaction: Redaction | None = None
    trace: bool | None = None
    problems: tuple[Problem, ...] = ()


def find_project_dir(working_dir: str, home: str | None) -> str:
    """The nearest directory upwards with a settings folder; the home's own do not count."""
    for directory in _upwards(working_dir):
        has_settings = any(map(os.path.isdir, _below(directory, _PROJECT_FOLDERS)))
        if has_settings and not _same(directory, home):
            return directory
    return working_dir


def _upwards(directory: str) -> Iterator[str]:
    yield directory
    while (parent := os.path.dirname(directory)) != directory:
        yield parent
        directory = parent


def _same(directory: str, home: str | None) -> bool:
    return home is not None and os.path.realpath(directory) == os.path.realpath(home)


def find_settings_files(project_dir: str, home: str | None) -> list[SettingsFile]:
    """Every place to look at, highest priority first; one file reached twice counts once, for
    the layer that is trusted more."""
    own_folder = os.path.join(project_dir, ".hookline")
    project = _below(own_folder, _OWN_FILES) + _below(project_dir, _HOME_FILES)
    user = _below(user_config_dir(), _OWN_FILES) + _below(home, _HOME_FILES)
    system = _below(site_config_dir(), _OWN_FILES)
    found = [SettingsFile(path, HookSource.PROJECT) for path in project]
    found += [SettingsFile(path, HookSource.USER) for path in user]
    found += [SettingsFile(path, HookSource.SYSTEM) for path in system]
    return _counted_once(found)


def _below(directory: str | None, names: Iterable[str]) -> list[str]:
    return [] if directory is None else [os.path.join(directory, name) for name in names]


def _counted_once(files: Sequence[SettingsFile]) -> list[SettingsFile]:
    chosen: dict[str, SettingsFile] = {}
    for file in reversed(files):
        real = os.path.realpath(file.path)
        if real not in chosen or chosen[real].source is file.source:
            chosen[real] = file
    kept = set(map(id, chosen.values()))
    return [file for file in files if id(file) in kept]


class SettingsReader:
    """Reads the same files again and again; a file that breaks keeps what it last said."""

    def __init__(self, files: Iterable[SettingsFile]) -> None:
        self.files = tuple(files)
        self._last_good: dict[str, Layer] = {}

    def read(self) -> list[Layer]:
        """A layer for each file there is, highest priority first; never raises."""
        return [layer for file in self.files if (layer := self._read(file)) is not None]

    def _read(self, file: SettingsFile) -> Layer | None:
        try:
            document = parse(_text_of(file.path))
        except (FileNotFoundError, NotADirectoryError):
            self._last_good.pop(file.path, None)
            return None
        except OSError as error:
            return self._broken(file, file.path, f"cannot be read: {error.strerror or error}")
        except JsoncError as error:
            place = f"{file.path}:{error.line}:{error.column}"
            return self._broken(file, place, f"is not valid JSON: {error.problem}")
        if not isinstance(document.value, dict):
            line, column = document.place(())
            return self._broken(file, f"{file.path}:{line}:{column}", "must hold an object, {…}")
        layer = read_layer(document.value, file.source, file.path, document, file.dialect)
        self._last_good[file.path] = layer
        return layer

    def _broken(self, file: SettingsFile, place: str, problem: str) -> Layer:
        kept = self._last_good.get(file.path)
        done = "its last good version stays in force" if kept else "the file was skipped"
        said = Problem(place, f"{problem}; {done}, the other settings still apply", broken=True)
        base = kept or Layer(source=file.source)
        return msgspec.structs.replace(base, problems=(said,))


def content_of(path: str) -> bytes:
    """What is in a file, for which nothing has to be waited; raises OSError."""
    # Opening a pipe would wait for its writer, reading a device might never end.
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise OSError(errno.EINVAL, "it is not a regular file")
    with open(path, "rb") as file:
        return file.read()


def _text_of(path: str) -> str:
    content = content_of(path).removeprefix(BOM)
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        before = content[: error.start].decode()
        place = line_and_column(before, len(before))
        raise JsoncError("this is not UTF-8", *place) from None


def read_layer(
    value: Mapping[str, Any],
    source: HookSource,
    label: str,
    document: Document | None = None,
    dialect: str = "native",
) -> Layer:
    """What a settings object says; what is wrong in it is among the problems."""
    reader = _LayerReader(value, source, Origin(label, document))
    hooks = Origin(label, document, ("hooks",))
    parsed = parse_hooks(
        value.get("hooks"), source=source, origin=hooks, dialect=dialect_of(dialect)
    )
    return Layer(
        source=source,
        entries=parsed.entries,
        enabled=reader.enabled(),
        disabled=reader.disabled(),
        redaction=reader.redaction(),
        trace=reader.trace(),
        problems=(*reader.problems, *parsed.problems),
    )


class _LayerReader:
    def __init__(self, value: Mapping[str, Any], source: HookSource, origin: Origin) -> None:
        self.value = value
        self.source = source
        self.origin = origin
        self.problems: list[Problem] = []
        for name in ("hooksConfig", "security", "hookline"):
            self._typed((name,), dict, "an object")
        for path in origin.document.duplicates if origin.document else ():
            problem = f"the key {path[-1]!r} is given twice; only the last counts"
            self.problems.append(Problem(origin.at(path), problem))

    def enabled(self) -> bool | None:
        said = [self._typed(path, bool, "true or false") for path in SWITCHES]
        given = [value for value in said if value is not None]
        return all(given) if given else None

    def disabled(self) -> tuple[str, ...]:
        return tuple(name for path in DISABLED_NAMES for name in self._names(path))

    def redaction(self) -> Redaction | None:
        path = ("security", "environmentVariableRedaction")
        section = self._typed(path, dict, "an object")
        if section is None:
            return None
        if not self._may_say(path):
            return None
        return Redaction(
            enabled=self._typed((*path, "enabled"), bool, "true or false") or False,
            allowed=self._names((*path, "allowed")),
            blocked=self._names((*path, "blocked")),
        )

    def trace(self) -> bool | None:
        path = ("hookline", "trace")
        wanted: bool | None = self._typed(path, bool, "true or false")
        return wanted if wanted is not None and self._may_say(path) else None

    def _may_say(self, path: Path) -> bool:
        """Whether this layer is asked about something that is not for a project to decide."""
        if self.source is HookSource.PROJECT:
            self._report(path, "counts only in the user's or the system's settings; it was ignored")
            return False
        return True

    def _typed(self, path: Path, kind: type, called: str) -> Any:
        value = value_at(self.value, path)
        if value is None or isinstance(value, kind):
            return value
        self._report(path, f"must be {called}; it was ignored")
        return None

    def _names(self, path: Path) -> tuple[str, ...]:
        value = self._typed(path, list, "a list of names") or []
        if not all(isinstance(name, str) for name in value):
            self._report(path, "must be a list of names; what is no string was ignored")
        return tuple(name for name in value if isinstance(name, str))

    def _report(self, path: Path, message: str) -> None:
        self.problems.append(Problem(self.origin.at(path), f"{spoken(path)} {message}"))
