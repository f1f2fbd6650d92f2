"""Measures resident memory over a run in thirds; after the first, to warm up, it must not grow."""

import ctypes
import gc
import os
from collections.abc import Sequence
from pathlib import Path

# Bytes by which the last third may exceed the second: caches fill up, and inputs of 10 MB fragment
# memory. A leak of a kilobyte an event exceeds that after 20,000 events.
SLACK_BYTES = 4 * 1024 * 1024

# Of glibc's malloc.
_M_MMAP_THRESHOLD, _M_ARENA_MAX = -3, -8
_STATM = Path("/proc/self/statm")


class Memory:
    """Samples of the resident memory of this process; none if the system does not report it."""

    def __init__(self) -> None:
        self.samples: list[int] = []
        self._page = os.sysconf("SC_PAGESIZE")
        libc = ctypes.CDLL(None)
        self._give_back = getattr(libc, "malloc_trim", None)
        if self._give_back:
            # Otherwise every thread keeps memory of its own, and large blocks are never returned.
            libc.mallopt(_M_ARENA_MAX, 1)
            libc.mallopt(_M_MMAP_THRESHOLD, 128 * 1024)

    def sample(self) -> None:
        """Note the memory in use, after freeing garbage and what the allocator keeps for later."""
        gc.collect()
        if self._give_back:
            self._give_back(0)
        try:
            pages = int(_STATM.read_bytes().split()[1])
        except OSError:
            # There is no such file, or no free descriptor to open it.
            return
        self.samples.append(pages * self._page)

    def thirds(self) -> Sequence[int]:
        """The lowest sample of each third, in bytes: events in flight free their memory, a leak
        does not."""
        third = len(self.samples) // 3
        if not third:
            return ()
        parts = [self.samples[part * third : (part + 1) * third] for part in range(3)]
        return [min(part) for part in parts]

    def growth(self) -> int:
        """Bytes by which the last third is above the second."""
        thirds = self.thirds()
        return thirds[2] - thirds[1] if thirds else 0
