"""A finding is a problem with a severity; if its remedy is certain, it has the fixes for it."""

from collections.abc import Sequence
from enum import StrEnum
from typing import TypeAlias

import msgspec

from hookline._support.problem import Problem


class Severity(StrEnum):
    """An error cannot work, a warning is probably a mistake, a hint is advice."""

    ERROR = "error"
    WARNING = "warning"
    HINT = "hint"


class TextEdit(msgspec.Struct, frozen=True):
    """Replaces the text between two offsets of a settings file."""

    file: str
    start: int
    end: int
    text: str


class MakeExecutable(msgspec.Struct, frozen=True):
    """Sets the exec bit for everyone who may read the script."""

    file: str


class UnixLineEnds(msgspec.Struct, frozen=True):
    """Changes a script's line ends to Unix ones."""

    file: str


class NewScript(msgspec.Struct, frozen=True):
    """Writes a script that is not there yet, and can be executed."""

    file: str
    text: str


Fix: TypeAlias = TextEdit | MakeExecutable | UnixLineEnds | NewScript


class Finding(Problem, frozen=True, kw_only=True):
    """One problem at one place; its ``kind`` is the rule that found it.

    ``settings`` is the file that ``path`` leads into; ``file``, ``line`` and ``column`` are the
    place, which may be in a script. ``fixes`` are applied together or not at all.
    """

    severity: Severity
    line: int = 1
    column: int = 1
    settings: str = ""
    event: str | None = None
    hook: str | None = None
    fixes: Sequence[Fix] = ()
