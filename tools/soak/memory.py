"""Resident memory over a run, in thirds: the first is for warming up, the others must be alike."""

import ctypes
import gc
import os
from collections.abc import Sequence
from pathlib import Path

# What the last third may have more than the second: caches fill up, and memory is fragmented by
# inputs of 10 MB. A leak of a kilobyte an event is more than that in 20,000 of them.
SLACK_BYTES = 4 * 1024 * 1024

# Of glibc's malloc.
_M_MMAP_THRESHOLD, _M_ARENA_MAX = -3, -8
_STATM = Path("/proc/self/statm")


class Memory:
    """Samples of the resident memory of this process; none where the system does not say."""

    def __init__(self) -> None:
        self._samples: list[int] = []
        self._page = os.sysconf("SC_PAGESIZE")
        libc = ctypes.CDLL(None)
        self._give_back = getattr(libc, "malloc_trim", None)
        if self._give_back:
            # Every thread would keep memory of its own, and large blocks would come to stay.
            libc.mallopt(_M_ARENA_MAX, 1)
            libc.mallopt(_M_MMAP_THRESHOLD, 128 * 1024)

    def sample(self) -> None:
        """Note what is in use; garbage, and what the allocator keeps for later, are no leak."""
        gc.collect()
        if self._give_back:
            self._give_back(0)
        try:
            pages = int(_STATM.read_bytes().split()[1])
        except OSError:
            # There is no such file, or no descriptor to spare for it.
            return
        self._samples.append(pages * self._page)

    def thirds(self) -> Sequence[int]:
        """The lowest of each third of the samples, in bytes: what events in flight hold is gone
        a moment later, what leaks is not."""
        third = len(self._samples) // 3
        if not third:
            return ()
        parts = [self._samples[part * third : (part + 1) * third] for part in range(3)]
        return [min(part) for part in parts]

    def growth(self) -> int:
        """Bytes by which the last third is above the second."""
        thirds = self.thirds()
        return thirds[2] - thirds[1] if thirds else 0
