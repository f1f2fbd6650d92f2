"""Breaks something around a hook system for a moment, again and again: hooks may lose their results
meanwhile, but nothing else may happen."""

import asyncio
import contextlib
import ctypes
import os
import random
import resource
import signal
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

from tests.harness import processes

# Seconds that a storm lasts, and until its effects must be over.
_LASTS = 0.25
_SETTLES = 0.25

_TMPFS_BYTES = 4 * 1024 * 1024
_CLONE_NEWNS, _CLONE_NEWUSER = 0x0002_0000, 0x1000_0000
_MS_REC, _MS_PRIVATE = 0x4000, 0x4_0000
_MNT_DETACH = 2


class Storms:
    """Starts one storm after the other; ``moment`` changes whenever one begins or ends."""

    def __init__(self, tmp: Path, *, seed: int) -> None:
        self.moment = 0
        self.raised: Counter[str] = Counter()
        self._random = random.Random(f"storms {seed}")
        self._kinds: dict[str, Callable[[], AbstractContextManager[None]]] = {
            "no descriptors": no_descriptors,
            "full /tmp": lambda: full(tmp),
            "killed guard": lambda: killed("hookline-guard"),
            "killed templates": lambda: killed("warm.py"),
        }

    @property
    def is_raging(self) -> bool:
        return self.moment % 2 == 1

    async def rage(self, *, pause: float) -> None:
        """Start storms of every kind in turn until cancelled, ``pause`` seconds apart or so."""
        while True:
            for name, kind in self._kinds.items():
                await asyncio.sleep(self._random.uniform(0.5, 1.5) * pause)
                async with self._marked():
                    with kind():
                        await asyncio.sleep(_LASTS)
                    await asyncio.sleep(_SETTLES)
                self.raised[name] += 1

    @contextlib.asynccontextmanager
    async def _marked(self) -> AsyncIterator[None]:
        self.moment += 1
        try:
            yield
        finally:
            self.moment += 1


@contextlib.contextmanager
def no_descriptors() -> Iterator[None]:
    """Use up nearly all descriptors of this process, and lower the limit of its hooks."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    highest = max(map(int, os.listdir("/dev/fd")))
    taken: list[int] = []
    resource.setrlimit(resource.RLIMIT_NOFILE, (highest + 8, hard))
    try:
        with contextlib.suppress(OSError):
            while True:
                taken.append(os.open("/dev/null", os.O_RDONLY))
        yield
    finally:
        for descriptor in taken:
            os.close(descriptor)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@contextlib.contextmanager
def full(tmp: Path) -> Iterator[None]:
    """Fill the directory for temporary files, or hide it if it shares a disk with others."""
    if not tmp.is_mount():
        hidden = tmp.with_name(f"{tmp.name}-hidden")
        tmp.rename(hidden)
        try:
            yield
        finally:
            hidden.rename(tmp)
        return
    filler = tmp / "filler"
    try:
        with contextlib.suppress(OSError), filler.open("wb", buffering=0) as file:
            while True:
                file.write(bytes(65_536))
        yield
    finally:
        filler.unlink()


@contextlib.contextmanager
def killed(name: str) -> Iterator[None]:
    """Kill the children of this process whose command line has ``name`` in it."""
    for pid in processes.running():
        with contextlib.suppress(OSError, IndexError):
            words = Path(f"/proc/{pid}/cmdline").read_bytes()
            status = Path(f"/proc/{pid}/stat").read_bytes()
            parent = int(status.rpartition(b")")[2].split()[1])
            if parent == os.getpid() and name.encode() in words:
                os.kill(pid, signal.SIGKILL)
    yield


def small_tmp(directory: Path) -> bool:
    """Make ``directory`` a small disk of its own that only this process and its children see.

    Needs Linux, and the right to have namespaces; without them it stays what it is.
    """
    directory.mkdir()
    try:
        libc = ctypes.CDLL(None, use_errno=True)
        own = os.geteuid(), os.getegid()
        as_root = own[0] == 0
        if libc.unshare(_CLONE_NEWNS if as_root else _CLONE_NEWNS | _CLONE_NEWUSER):
            return False
        if not as_root:
            _keep_identity(*own)
        if libc.mount(None, b"/", None, _MS_REC | _MS_PRIVATE, None):
            return False
        size = f"size={_TMPFS_BYTES}".encode()
        return not libc.mount(b"tmpfs", os.fsencode(directory), b"tmpfs", 0, size)
    except (OSError, AttributeError):
        return False


def _keep_identity(user: int, group: int) -> None:
    """Be the same user and group in a user namespace as outside of it."""
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
    Path("/proc/self/gid_map").write_text(f"{group} {group} 1")


def empty(tmp: Path) -> None:
    """Remove the files that killed hooks left there, and unmount the disk if it is one."""
    if tmp.is_mount():
        ctypes.CDLL(None).umount2(os.fsencode(tmp), _MNT_DETACH)
        return
    for entry in tmp.iterdir():
        entry.unlink()
