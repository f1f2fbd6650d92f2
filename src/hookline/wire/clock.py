"""The one form of time on the wire."""

import time


def timestamp() -> str:
    """Now, as ISO 8601 in UTC with milliseconds and a ``Z``."""
    milliseconds = time.time_ns() // 1_000_000
    clock = time.gmtime(milliseconds // 1000)
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', clock)}.{milliseconds % 1000:03d}Z"
