"""The one form of time on the wire."""

import time

# The second that was written last, and how: events come in bursts, and the calendar is slow.
_last_second = ("", "")


def timestamp() -> str:
    """Now, as ISO 8601 in UTC with milliseconds and a ``Z``."""
    global _last_second
    digits = str(time.time_ns())
    second, milliseconds = digits[:-9], digits[-9:-6]
    written = _last_second
    if written[0] != second:
        text = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(int(second)))
        written = _last_second = (second, text)
    return f"{written[1]}.{milliseconds}Z"
