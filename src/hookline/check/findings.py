"""A finding says where, what and what to do; where the remedy is certain, it carries it out too."""

from collections.abc import Sequence
from enum import StrEnum
from typing import TypeAlias

import msgspec

from hookline.pipeline.jsonc import Path


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


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One thing to say about one place.

    ``path`` is the value in the settings that it is about; ``line`` and ``column``, 1-based, are
    where to look, which may be in a script. ``fixes`` are done together or not at all.
    """

    rule: str
    severity: Severity
    file: str
    line: int
    column: int
    message: str
    remedy: str = ""
    settings: str = ""
    path: Path = ()
    event: str | None = None
    hook: str | None = None
    fixes: Sequence[Fix] = ()

    @property
    def text(self) -> str:
        """What is the matter, and the remedy."""
        return f"{self.message}; {self.remedy}" if self.remedy else self.message
