"""What each hook did last, from the end of the log alone: a listing must not wait for all of it."""

import os

import msgspec

from hookline.debuglog import default_trace_path
from hookline.errors import HooklineError
from hookline.trace.events import decision_of
from hookline.trace.filters import is_within
from hookline.trace.log import read_tail

_TAIL_BYTES = 1024 * 1024


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """One run of one hook: when it ended, what it decided, and why or how it failed."""

    id: str
    time: str
    decision: str
    reason: str
    duration_ms: float


def last_outcomes(
    *, within: str | None = None, path: str | os.PathLike[str] | None = None
) -> dict[tuple[str, str], Outcome]:
    """The last outcome by event and hook name, as far as the end of the log tells.

    ``within`` counts only what ran in that directory or below it, as hooks of other projects may
    have the same names. Without a log, or with one that cannot be read, there are none.
    """
    found: dict[tuple[str, str], Outcome] = {}
    try:
        records = read_tail(default_trace_path() if path is None else path, max_bytes=_TAIL_BYTES)
    except (OSError, HooklineError):
        return {}
    for record in records:
        key = (record.event, record.hook)
        if record.kind != "hook" or key in found:
            continue
        if within is not None and not is_within(record.input, within):
            continue
        word, why = decision_of(record)
        found[key] = Outcome(
            id=record.id,
            time=record.time,
            decision=word,
            reason=why,
            duration_ms=record.duration_ms,
        )
    return found
