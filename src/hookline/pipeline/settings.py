"""Finds the settings files of a working directory and reads them, layer by layer.

A file that cannot be read is a problem with its place, never the end: the others still load. What
a layer may say about the others follows trust: a project speaks for its own hooks only.
"""

import errno
import os
import stat
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from hookline.errors import HooklineError
from hookline.pipeline.definitions import HookRegistryEntry, Origin, parse_hooks
from hookline.pipeline.dialects import dialect_of
from hookline.pipeline.jsonc import (
    MAX_BYTES,
    Document,
    JsoncError,
    Path,
    parse,
    spoken,
    text_of,
    value_at,
)
from hookline.places import site_config_dir, user_config_dir
from hookline.problem import Problem
from hookline.wire.hooks import HookSource, Redaction

_OWN_FILES = ("settings.local.json", "settings.json")
_PROJECT_FOLDERS = (".hookline", ".llxprt", ".gemini")
_HOME_FILES = (".llxprt/settings.json", ".gemini/settings.json")
# Where settings say whether hooks run at all, and which do not by their names.
SWITCHES: tuple[Path, ...] = (("enableHooks",), ("hooksConfig", "enabled"), ("hooks", "enabled"))
DISABLED_NAMES: tuple[Path, ...] = (("hooks", "disabled"), ("hooksConfig", "disabled"))


class SettingsFileError(HooklineError):
    """A settings file that cannot be read or written; it is as it was."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        super().__init__(str(problem))


class SettingsFile(msgspec.Struct, frozen=True):
    """A place where settings may be, the layer they would belong to, and their dialect."""

    path: str
    source: HookSource
    dialect: str = "native"


class Layer(msgspec.Struct, frozen=True, kw_only=True):
    """What one file, or one argument in code, says. None: it says nothing about it."""

    source: HookSource
    entries: tuple[HookRegistryEntry, ...] = ()
    enabled: bool | None = None
    disabled: tuple[str, ...] = ()
    redaction: Redaction | None = None
    trace: bool | None = None
    problems: tuple[Problem, ...] = ()


def find_project_dir(working_dir: str, home: str | None) -> str:
    """The nearest directory upwards with a settings folder; the home's own do not count."""
    real_home = home and os.path.realpath(home)
    directory = working_dir
    while True:
        has_settings = any(map(os.path.isdir, _below(directory, _PROJECT_FOLDERS)))
        if has_settings and os.path.realpath(directory) != real_home:
            return directory
        parent = os.path.dirname(directory)
        if parent == directory:
            return working_dir
        directory = parent


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
    chosen: dict[str, SettingsFile] = {}
    for file in reversed(found):
        real = os.path.realpath(file.path)
        if real not in chosen or chosen[real].source is file.source:
            chosen[real] = file
    kept = set(map(id, chosen.values()))
    return [file for file in found if id(file) in kept]


def _below(directory: str | None, names: Iterable[str]) -> list[str]:
    return [] if directory is None else [os.path.join(directory, name) for name in names]


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
            found = read_settings_file(file.path)
        except SettingsFileError as error:
            kept = self._last_good.get(file.path)
            done = "its last good version stays in force" if kept else "the file was skipped"
            problem = msgspec.structs.replace(
                error.problem, consequence=f"{done}, the other settings still apply"
            )
            return msgspec.structs.replace(kept or Layer(source=file.source), problems=(problem,))
        if found is None:
            self._last_good.pop(file.path, None)
            return None
        _, document = found
        layer = read_layer(document.value, file.source, file.path, document, file.dialect)
        self._last_good[file.path] = layer
        return layer


def read_settings_file(path: str, *, blank: str = "") -> tuple[bytes, Document] | None:
    """A file and the object in it, None if there is no file; ``blank`` is read for a file that
    holds nothing. Raises SettingsFileError for one that cannot be used."""
    try:
        # Opening a pipe would wait for its writer, reading a device might never end.
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file")
        with open(path, "rb") as file:
            content = file.read(MAX_BYTES + 1)
        text = text_of(content)
        document = parse(text if text.strip() or not blank else blank)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        problem = Problem(
            kind="unreadable", message=f"cannot be read: {error.strerror or error}", file=path
        )
        raise SettingsFileError(problem) from None
    except JsoncError as error:
        raise SettingsFileError(error.problem_of(path)) from None
    if not isinstance(document.value, dict):
        origin = Origin(path, document)
        raise SettingsFileError(origin.problem((), "not-an-object", "must hold an object, {…}"))
    return content, document


def read_layer(
    value: Mapping[str, Any],
    source: HookSource,
    label: str,
    document: Document | None = None,
    dialect: str = "native",
) -> Layer:
    """What a settings object says; what is wrong in it is among the problems."""
    reader = _LayerReader(value, source, Origin(label, document))
    parsed = parse_hooks(
        value.get("hooks"),
        source=source,
        origin=Origin(label, document, ("hooks",)),
        dialect=dialect_of(dialect),
    )
    return Layer(
        source=source,
        entries=parsed.entries,
        enabled=reader.enabled(),
        disabled=tuple(name for path in DISABLED_NAMES for name in reader.names(path)),
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
        self.problems += origin.duplicate_keys()

    def enabled(self) -> bool | None:
        said = [self._typed(path, bool, "true or false") for path in SWITCHES]
        given = [value for value in said if value is not None]
        return all(given) if given else None

    def names(self, path: Path) -> tuple[str, ...]:
        value = self._typed(path, list, "a list of names") or []
        names = tuple(name for name in value if isinstance(name, str))
        if len(names) < len(value):
            message = "must be a list of names"
            self._report(path, "bad-field", message, "what is no string was ignored")
        return names

    def redaction(self) -> Redaction | None:
        path = ("security", "environmentVariableRedaction")
        if self._typed(path, dict, "an object") is None or not self._may_say(path):
            return None
        return Redaction(
            enabled=self._typed((*path, "enabled"), bool, "true or false") or False,
            allowed=self.names((*path, "allowed")),
            blocked=self.names((*path, "blocked")),
        )

    def trace(self) -> bool | None:
        path = ("hookline", "trace")
        wanted: bool | None = self._typed(path, bool, "true or false")
        return wanted if wanted is not None and self._may_say(path) else None

    def _may_say(self, path: Path) -> bool:
        """Whether this layer is asked about something that is not for a project to decide."""
        if self.source is HookSource.PROJECT:
            message = "counts only in the user's or the system's settings"
            self._report(path, "overreach", message, "it was ignored")
            return False
        return True

    def _typed(self, path: Path, kind: type, called: str) -> Any:
        value = value_at(self.value, path)
        if value is None or isinstance(value, kind):
            return value
        self._report(path, "bad-field", f"must be {called}", "it was ignored")
        return None

    def _report(self, path: Path, kind: str, message: str, consequence: str) -> None:
        text = f"{spoken(path)} {message}"
        self.problems.append(self.origin.problem(path, kind, text, consequence))
