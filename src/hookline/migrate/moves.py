"""The outcome of a migration as values: hooks that move, and findings about them and the rest."""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any

import msgspec

from hookline.pipeline.jsonc import Document, Path


class Kind(StrEnum):
    """What a finding says: that something stays where it is, or what to know."""

    REFUSED = "refused"
    NOTE = "note"


class Finding(msgspec.Struct, frozen=True):
    """Something that is not as before: where, about what, and what to do."""

    kind: Kind
    file: str
    line: int
    column: int
    message: str
    subject: str = ""
    remedy: str = ""


class Before(msgspec.Struct, frozen=True, kw_only=True):
    """A hook as the other agent has it."""

    event: str
    matcher: str | None
    config: Mapping[str, Any]


class Move(msgspec.Struct, frozen=True, kw_only=True):
    """One hook on its way: how it was, how it will be, and from where it comes.

    ``changes`` are those of its fields, in words; hooks with the same ``group`` share a definition.
    """

    file: str
    line: int
    column: int
    group: tuple[str | int, ...]
    before: Before
    event: str
    hook: Mapping[str, Any]
    matcher: str | None = None
    sequential: bool = False
    changes: tuple[str, ...] = ()


class Migrated(msgspec.Struct, frozen=True, kw_only=True):
    """What one settings file comes to; ``disabled`` are names of hooks that stay switched off."""

    moves: tuple[Move, ...] = ()
    disabled: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()


class Draft:
    """What one settings file has come to so far."""

    def __init__(self, document: Document, file: str) -> None:
        self.document = document
        self.file = file
        self.moves: list[Move] = []
        self.findings: list[Finding] = []

    def move(self, path: Path, before: Before, event: str, **fields: Any) -> None:
        """Take the hook at a path of the document along."""
        line, column = self.document.place(path)
        group = (self.file, *path[:-2])
        fields |= {"file": self.file, "line": line, "column": column, "group": group}
        self.moves.append(Move(before=before, event=event, **fields))

    def find(
        self, kind: Kind, path: Path, message: str, *, subject: str = "", remedy: str = ""
    ) -> None:
        """Say something about what is at a path of the document."""
        place = self.document.place(path)
        self.findings.append(Finding(kind, self.file, *place, message, subject, remedy))

    def finished(self, disabled: Iterable[str] = ()) -> Migrated:
        """All of it."""
        return Migrated(
            moves=tuple(self.moves), disabled=tuple(disabled), findings=tuple(self.findings)
        )
