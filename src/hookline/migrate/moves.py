"""The result of a migration: hooks that move, and findings about hooks that change or stay."""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any

import msgspec

from hookline.pipeline.jsonc import Document, Path


class Kind(StrEnum):
    """Whether a finding refuses to move something, or notes something for the user."""

    REFUSED = "refused"
    NOTE = "note"


class Finding(msgspec.Struct, frozen=True):
    """Something that does not move or changes: the place, the subject, and what to do."""

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
    """A hook that moves: as it was, as it will be, and its place.

    ``changes`` describes how its fields change; hooks with the same ``group`` share a definition.
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
    """The result for one settings file; ``disabled`` are names of hooks that stay disabled."""

    moves: tuple[Move, ...] = ()
    disabled: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()


class Draft:
    """Collects the result for one settings file."""

    def __init__(self, document: Document, file: str) -> None:
        self.document = document
        self.file = file
        self.moves: list[Move] = []
        self.findings: list[Finding] = []

    def move(self, path: Path, before: Before, event: str, **fields: Any) -> None:
        """Add the hook at a path of the document."""
        line, column = self.document.place(path)
        group = (self.file, *path[:-2])
        fields |= {"file": self.file, "line": line, "column": column, "group": group}
        self.moves.append(Move(before=before, event=event, **fields))

    def find(
        self, kind: Kind, path: Path, message: str, *, subject: str = "", remedy: str = ""
    ) -> None:
        """Add a finding about a path of the document."""
        place = self.document.place(path)
        self.findings.append(Finding(kind, self.file, *place, message, subject, remedy))

    def finish(self, disabled: Iterable[str] = ()) -> Migrated:
        """Return the whole result."""
        return Migrated(
            moves=tuple(self.moves), disabled=tuple(disabled), findings=tuple(self.findings)
        )
