"""Which events are asked for; times are compared as the log writes them, which sorts as text."""

import re
from datetime import UTC, datetime, timedelta

import msgspec

from hookline.errors import HooklineError
from hookline.trace.events import TracedEvent

_AGO = re.compile(r"(\d+(?:\.\d+)?)\s*(s|m|h|d|w)")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_CLOCK = re.compile(r"\d{1,2}:\d{2}(:\d{2})?")


class Filter(msgspec.Struct, frozen=True, kw_only=True):
    """What an event must be; None, or empty, asks for nothing.

    ``session`` may be the beginning of an id and ``hook`` a part of a name, as both are long.
    ``within`` is a directory: that of the hooks, or one above it.
    """

    events: frozenset[str] = frozenset()
    hook: str | None = None
    session: str | None = None
    failures: bool = False
    since: str | None = None
    slow: float | None = None
    within: str | None = None

    def accepts(self, event: TracedEvent) -> bool:
        """Whether the event is one that is asked for."""
        return (
            (not self.events or event.event in self.events)
            and (self.session is None or event.session_id.startswith(self.session))
            and (self.since is None or event.time >= self.since)
            and (not self.failures or event.has_failures)
            and (self.hook is None or any(self.hook in run.hook for run in event.hooks))
            and (self.slow is None or slowest(event) >= self.slow)
            and (self.within is None or is_within(event.input, self.within))
        )


def slowest(event: TracedEvent) -> float:
    """How long its slowest hook took, in milliseconds."""
    return max((run.duration_ms for run in event.hooks), default=0.0)


def is_within(payload: object, directory: str) -> bool:
    """Whether an event's hooks worked in a directory or below it."""
    cwd = payload.get("cwd") if isinstance(payload, dict) else None
    if not isinstance(cwd, str):
        return False
    return cwd == directory or cwd.startswith(directory.rstrip("/") + "/")


def moment(text: str, *, now: datetime) -> str:
    """A time as people say it (``10m``, ``14:30``, ``2026-03-01``), as the log writes it."""
    if ago := _AGO.fullmatch(text.strip()):
        try:
            return _written(now - timedelta(**{_UNITS[ago[2]]: float(ago[1])}))
        except OverflowError:
            return ""
    try:
        if _CLOCK.fullmatch(text.strip()):
            text = f"{now.astimezone():%Y-%m-%d}T{text.strip():0>5}"
        return _written(datetime.fromisoformat(text.strip()))
    except (ValueError, OverflowError):
        raise HooklineError(
            f"--since: {text!r} is no time; write 90s, 10m, 2h or 3d for how long ago, "
            "14:30 for today, or 2026-03-01T14:30"
        ) from None


def _written(time: datetime) -> str:
    """In UTC; a time without a zone is a local one."""
    return time.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
