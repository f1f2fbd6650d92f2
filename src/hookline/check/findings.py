"""A finding is a problem with a weight; where its remedy is certain, it carries that out too."""

from collections.abc import Sequence
from enum import StrEnum
from typing import TypeAlias

import msgspec

from hookline.problem import Problem


class Severity(StrEnum):
    """How bad it is: it cannot work, it is hardly meant, it could be better."""

    ERROR = "error"
    WARNING = "warning"
    HINT = "hint"


class Replace(msgspec.Struct, frozen=True):
    """Other text between two offsets of a settings file's text."""

    file: str
    start: int
    end: int
    text: str


class MakeExecutable(msgspec.Struct, frozen=True):
    """The exec bit for everyone who may read the script."""

    file: str


class UnixLineEnds(msgspec.Struct, frozen=True):
    """Lines that end as a shell wants it."""

    file: str


Fix: TypeAlias = Replace | MakeExecutable | UnixLineEnds


class Finding(Problem, frozen=True, kw_only=True):
    """One thing to say about one place; its ``kind`` is the rule that found it.

    ``settings`` is the file that ``path`` leads into; ``file``, ``line`` and ``column`` are where
    to look, which may be in a script. ``fixes`` are done together or not at all.
    """

    severity: Severity
    line: int = 1
    column: int = 1
    settings: str = ""
    event: str | None = None
    hook: str | None = None
    fixes: Sequence[Fix] = ()
