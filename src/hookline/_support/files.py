"""Writes files atomically, reads them without blocking or filling the memory, and detects changes.

A reader never sees half of a written file, not even after a crash or on a full disk.
"""

import contextlib
import errno
import os
import stat
from collections.abc import Iterable
from typing import BinaryIO, TypeAlias

Signature: TypeAlias = tuple[int, ...]
# Nanoseconds within which a file may change twice and keep the same timestamp.
_TICK_NS = 20_000_000
# Opens anything for reading: a pipe does not wait, and a terminal does not take control.
QUIETLY = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


def write_atomically(path: str, data: bytes, *, mode: int | None = None) -> None:
    """Put ``data`` into a file in one step; the old content stays until the new is on the disk.

    An existing file keeps its mode unless one is given. A link stays a link: its target is
    replaced. Raises OSError, which names the file, and then nothing has changed.
    """
    target = os.path.realpath(path)
    beside = f"{target}.{os.getpid()}-{os.urandom(4).hex()}.tmp"
    try:
        if mode is None:
            try:
                mode = stat.S_IMODE(os.stat(target).st_mode)
            except FileNotFoundError:
                mask = os.umask(0)
                os.umask(mask)
                mode = 0o666 & ~mask
        # Private until it has its final mode.
        descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with open(descriptor, "wb") as file:
                os.fchmod(descriptor, mode)
                file.write(data)
                file.flush()
                os.fsync(descriptor)
            os.replace(beside, target)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(beside)
            raise
    except OSError as error:
        raise OSError(error.errno, error.strerror, path) from None


def open_regular(path: str) -> BinaryIO:
    """Open a regular file for reading; raises OSError, which names the file, for anything else.

    Opening a pipe would wait for its writer, and a device might never end. The check looks at the
    open file, so nobody can replace the file in between.
    """
    descriptor = os.open(path, QUIETLY)
    try:
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
        if not stat.S_ISREG(mode):
            raise OSError(errno.EINVAL, "it is not a regular file", path)
        return open(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def read_bounded(path: str, limit: int) -> bytes:
    """Return the content of a regular file; raises OSError, which names the file, also if it is
    larger than ``limit`` bytes."""
    with open_regular(path) as file:
        content = file.read(limit + 1)
    if len(content) > limit:
        raise OSError(
            errno.EFBIG, f"it is larger than {limit:,} bytes, the most that is read", path
        )
    return content


def signature(path: str) -> Signature | None:
    """Return the times, size, inode, device and mode of what is at a path, None if there is
    nothing. It stays the same until the file is changed, or a link points elsewhere."""
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    return (
        *(status.st_mtime_ns, status.st_ctime_ns, status.st_size),
        *(status.st_ino, status.st_dev, status.st_mode),
    )


def sign_settled(places: Iterable[str], *, since: int) -> dict[str, Signature | None]:
    """Return the signature of each place; a look at them began at ``since``, in nanoseconds.

    What changed after that, or just before, may change again and keep the time that it has: it
    gets a signature that nothing ever has, so the next comparison finds it changed.
    """
    signed = {place: signature(place) for place in places}
    return {
        place: () if then is not None and max(then[:2]) > since - _TICK_NS else then
        for place, then in signed.items()
    }
