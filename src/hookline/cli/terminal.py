"""Lines on a terminal, through rich, which knows what colours it has."""

from typing import TextIO

from rich.console import Console
from rich.text import Text

from hookline.cli.layout import Line
from hookline.cli.screen import STYLES


class TerminalWriter:
    """Writes to one terminal; without ``colour`` nothing but text reaches it."""

    def __init__(self, stream: TextIO, *, colour: bool) -> None:
        self._console = Console(
            file=stream, force_terminal=True, color_system="auto" if colour else None
        )
        self.width: int | None = self._console.width

    def write(self, line: Line) -> None:
        """The line is fitted already, so rich must neither wrap nor cut it."""
        text = Text.assemble(*((part, STYLES[role] if role else "") for part, role in line))
        text.rstrip()
        self._console.print(text, soft_wrap=True, highlight=False)
