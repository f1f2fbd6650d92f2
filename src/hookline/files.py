"""Writes files so that a reader, a crash or a full disk never meets half of one, and tells whether
one is still the same."""

import contextlib
import os
import stat
from typing import TypeAlias

Signature: TypeAlias = tuple[int, ...]


def write_atomically(path: str, data: bytes, *, mode: int | None = None) -> None:
    """Put ``data`` into a file in one step; the old content stays until the new is on the disk.

    A file that exists keeps its mode unless one is given. A link stays a link: what it points to
    is replaced. Raises OSError, which names the file, and then nothing has changed.
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
        # Readable by nobody else until it has the mode that was asked for.
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


def signature(path: str) -> Signature | None:
    """Of what is at a path: when it was written, when it was changed in any way, its size, its
    number, its device and its kind: the same for as long as nobody has touched it, or led a link
    elsewhere. None where there is nothing."""
    try:
        known = os.stat(path)
    except (OSError, ValueError):
        return None
    return (
        *(known.st_mtime_ns, known.st_ctime_ns, known.st_size),
        *(known.st_ino, known.st_dev, known.st_mode),
    )
