"""Something wrong in settings or scripts, as fields, so that callers never parse the text."""

import msgspec

# The whole file, or an entry of it, was not used: hooks may be missing.
_BROKEN = frozenset(
    {"unreadable", "not-json", "too-large", "too-deep", "not-an-object", "bad-plugin"}
)
_SKIPPED = frozenset({"skipped", "unknown-event"})


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """What is wrong, where, what was done about it, and what to do.

    ``file`` is a path, or the label of settings that were given in code; ``line`` and ``column``
    are 1-based, and None if there is no text. ``path`` is the path of keys to the value.
    ``kind`` is a short word that stays the same when the wording changes.
    """

    kind: str
    message: str
    file: str = ""
    line: int | None = None
    column: int | None = None
    consequence: str = ""
    remedy: str = ""
    path: tuple[str | int, ...] = ()

    @property
    def place(self) -> str:
        """``file:line:column``, as far as they are known."""
        parts = (self.file, self.line, self.column)
        return ":".join(str(part) for part in parts if part not in ("", None))

    @property
    def text(self) -> str:
        """What is wrong, what was done about it, and what to do."""
        return "; ".join(filter(None, (self.message, self.consequence, self.remedy)))

    @property
    def broken(self) -> bool:
        """True if a whole file, or a plugin, could not be read."""
        return self.kind in _BROKEN

    @property
    def skipped(self) -> bool:
        """True if an entry, with the hooks in it, was left out."""
        return self.kind in _SKIPPED

    def __str__(self) -> str:
        return f"{self.place}: {self.text}" if self.place else self.text
