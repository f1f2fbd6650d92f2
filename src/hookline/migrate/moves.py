"""The outcome of a migration as values: hooks that move, and findings about them and the rest."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

import msgspec


class Kind(StrEnum):
    """What a finding asks of its reader: to do without, to change a script, to know."""

    LOST = "lost"
    SCRIPT = "script"
    NOTE = "note"


class Finding(msgspec.Struct, frozen=True, kw_only=True):
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
    group: tuple[str, str, int]
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


def name_of(hook: Mapping[str, Any]) -> str:
    """The name that a hook of ours goes by."""
    return str(hook.get("name") or " ".join((hook["command"], *hook.get("args", ()))))
