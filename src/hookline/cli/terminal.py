"""Lines on a terminal, through rich, which knows what colours it has."""

from itertools import groupby
from operator import itemgetter
from typing import TextIO

from rich.console import Console
from rich.text import Text

from hookline.cli.layout import Line
from hookline.cli.screen import STYLES, encodable, guarded


class TerminalWriter:
    """Writes to one terminal; without ``colour`` nothing but text reaches it."""

    def __init__(self, stream: TextIO, lost: list[OSError], *, colour: bool) -> None:
        self._stream = stream
        self._lost = lost
        self._console = Console(
            file=stream, force_terminal=True, color_system="auto" if colour else None
        )
        self.width: int | None = self._console.width

    def encodable(self, text: str) -> str:
        """The text as this terminal can show it, which may take more columns."""
        return encodable(text, self._stream)

    def write(self, line: Line) -> None:
        """The line is fitted already, so rich must neither wrap nor cut it."""
        text = Text()
        for role, parts in groupby(line, key=itemgetter(1)):
            text.append("".join(part for part, _ in parts), STYLES[role] if role else "")
        text.rstrip()
        # What was cut to fit ends with a sign of one column, on every terminal.
        if encodable("…", self._stream) != "…":
            text = _with(text, "…", ".")
        guarded(self._stream, lambda _: self._print(text), self._lost)

    def _print(self, text: Text) -> None:
        self._console.print(text, soft_wrap=True, highlight=False)


def _with(text: Text, old: str, new: str) -> Text:
    replaced = text.copy()
    replaced.plain = text.plain.replace(old, new)
    return replaced
