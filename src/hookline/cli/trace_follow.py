"""Events as they come, until nobody looks any more: an interrupt, or a reader who has gone."""

import os
import select
import sys
import time
from collections import deque

from hookline.cli.screen import Screen
from hookline.cli.trace_screen import EventRows
from hookline.trace.events import Assembler, TracedEvent
from hookline.trace.log import TraceLog
from hookline.trace.queries import Filter

_PAUSE_S = 0.2


def follow(log: TraceLog, wanted: Filter, screen: Screen, *, limit: int, json: bool) -> int:
    """Show the newest events there are, then each new one; 0 once the reader has gone."""
    assembler, rows, reader = Assembler(), EventRows(screen), _Reader()
    shown = deque(_arrived(log, assembler, wanted), maxlen=limit)
    while True:
        for event in shown:
            screen.document(event) if json else rows.show(event)
        screen.flush()
        if reader.is_gone_after(_PAUSE_S):
            return 0
        shown = deque(_arrived(log, assembler, wanted))


def _arrived(log: TraceLog, assembler: Assembler, wanted: Filter) -> list[TracedEvent]:
    events = (assembler.add(record) for record in log.poll())
    return [event for event in events if event is not None and wanted.accepts(event)]


class _Reader:
    """Who reads standard output; when they go, the screen sends the rest nowhere in silence."""

    def __init__(self) -> None:
        try:
            self._descriptor: int | None = sys.stdout.fileno()
        except (AttributeError, OSError, ValueError):
            self._descriptor = None
            return
        self._file = os.fstat(self._descriptor)
        self._poll = select.poll()
        self._poll.register(self._descriptor, 0)

    def is_gone_after(self, seconds: float) -> bool:
        """Wait so long, or until they are gone."""
        if self._descriptor is None:
            time.sleep(seconds)
            return False
        if not os.path.samestat(os.fstat(self._descriptor), self._file):
            return True
        return bool(self._poll.poll(seconds * 1000))
