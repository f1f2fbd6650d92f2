"""One settings file, read, and all that it may say: the values that settings are put together of.

They are the same for every dialect; a file of Claude Code's has rules of its own besides.
"""

import errno
import os
import stat
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from hookline.errors import EXHAUSTED, HooklineError
from hookline.pipeline.definitions import HookRegistryEntry, Origin
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
from hookline.problem import Problem
from hookline.wire.hooks import HookSource, Redaction

if TYPE_CHECKING:
    from hookline.pipeline.claude_settings import ClaudeRules

# A plugin's folder as settings name it, and what a tool of the host's is in Claude Code; each with
# its place, for what may be wrong with it.
NamedPlugin: TypeAlias = tuple[str, Problem]
DeclaredTool: TypeAlias = tuple[Mapping[str, Any], Problem]


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
    """What one file, or one argument in code, says. None: it says nothing about it.

    ``claude`` is whether Claude Code's files are read, ``plugins`` are folders of its plugins, and
    ``tools`` has what the host's tools are there. A layer with ``rules`` is a file of
    Claude Code's: whatever it says is about hooks of that dialect.
    """

    source: HookSource
    entries: tuple[HookRegistryEntry, ...] = ()
    enabled: bool | None = None
    disabled: tuple[str, ...] = ()
    strict: bool = False
    required: tuple[str, ...] = ()
    redaction: Redaction | None = None
    trace: bool | None = None
    claude: bool | None = None
    plugins: tuple[NamedPlugin, ...] = ()
    tools: Mapping[str, DeclaredTool] = {}
    private_hosts: tuple[str, ...] = ()
    rules: "ClaudeRules | None" = None
    problems: tuple[Problem, ...] = ()


def read_settings_file(path: str, *, blank: str = "") -> tuple[bytes, Document] | None:
    """A file and the object in it, None if there is no file; ``blank`` is read for a file that
    holds nothing. Raises SettingsFileError for one that cannot be used, and OSError where the
    system has nothing left to read it with."""
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
        if error.errno in EXHAUSTED:
            # It says nothing about the file, whose hooks must not be taken for none.
            raise
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


class Words:
    """Looks single values of a settings object up; what is wrong with them is among the
    problems."""

    def __init__(self, value: Mapping[str, Any], origin: Origin) -> None:
        self.value = value
        self.origin = origin
        self.problems: list[Problem] = []

    def report(
        self, path: Path, kind: str, message: str, consequence: str = "it was ignored"
    ) -> None:
        """A problem of the value at a path."""
        text = f"{spoken(path)} {message}"
        self.problems.append(self.origin.problem(path, kind, text, consequence))

    def find(self, path: Path, kind: type, called: str) -> Any:
        """The value at a path, None where there is none of that kind."""
        found = value_at(self.value, path)
        if found is None or isinstance(found, kind):
            return found
        self.report(path, "bad-field", f"must be {called}")
        return None

    def find_switch(self, path: Path) -> bool | None:
        """What a switch says, None if nothing."""
        word: bool | None = self.find(path, bool, "true or false")
        return word

    def find_names(self, path: Path) -> tuple[str, ...]:
        """The names in a list."""
        listed = self.find(path, list, "a list of names") or []
        named = tuple(name for name in listed if isinstance(name, str))
        if len(named) < len(listed):
            consequence = "what is no string was ignored"
            self.report(path, "bad-field", "must be a list of names", consequence)
        return named
