"""Files are replaced in one step, or not at all; and that one was touched is seen."""

import contextlib
import os
import resource
import stat
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from hookline._support.files import open_regular, read_bounded, signature, write_atomically


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@contextlib.contextmanager
def small_files_only() -> Iterator[None]:
    """A disk on which there is room for a kilobyte."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1024, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_new_file_gets_the_mode_that_any_new_file_gets(tmp_path: Path) -> None:
    plain, ours = tmp_path / "plain", tmp_path / "ours"
    plain.touch()
    write_atomically(str(ours), b"new")
    assert (ours.read_bytes(), mode_of(ours)) == (b"new", mode_of(plain))


def test_a_file_that_exists_keeps_its_mode_unless_one_is_given(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    file.chmod(0o640)
    write_atomically(str(file), b"one")
    assert mode_of(file) == 0o640
    write_atomically(str(file), b"two", mode=0o600)
    assert (mode_of(file), file.read_bytes()) == (0o600, b"two")


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("real")
    write_atomically(str(tmp_path / "link"), b"x")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_bytes() == b"x"


def test_what_cannot_be_written_leaves_the_old_file_and_nothing_beside_it(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"old")
    with small_files_only(), pytest.raises(OSError, match="File too large"):
        write_atomically(str(file), b"new" * 10_000)
    assert file.read_bytes() == b"old"
    assert sorted(os.listdir(tmp_path)) == ["file"]


def test_a_directory_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        write_atomically(str(tmp_path / "none" / "file"), b"x")


def test_writers_at_once_leave_one_of_their_contents_whole(tmp_path: Path) -> None:
    file = tmp_path / "file"
    contents = [bytes([65 + n]) * 50_000 for n in range(8)]
    threads = [threading.Thread(target=write_atomically, args=(str(file), c)) for c in contents]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert file.read_bytes() in contents
    assert sorted(os.listdir(tmp_path)) == ["file"]


def test_an_error_names_the_file_and_not_the_one_beside_it(tmp_path: Path) -> None:
    file = str(tmp_path / "nowhere" / "page.html")
    with pytest.raises(FileNotFoundError) as raised:
        write_atomically(file, b"new")
    assert raised.value.filename == file


def test_a_file_that_was_changed_and_made_to_look_as_before_is_not_the_same(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("before")
    known, before = signature(str(path)), path.stat()
    assert signature(str(path)) == known
    # File systems tell times apart that are some milliseconds apart.
    while path.stat().st_ctime_ns == before.st_ctime_ns:
        path.write_text("after.")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert signature(str(path)) != known


def test_a_file_that_is_not_there_has_no_signature(tmp_path: Path) -> None:
    assert signature(str(tmp_path / "none")) is None


def test_a_pipe_is_refused_at_once_and_a_device_is_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "endless").symlink_to("/dev/zero")
    for name in ("pipe", "endless"):
        with pytest.raises(OSError, match="it is not a regular file") as refused:
            read_bounded(str(tmp_path / name), 100)
        assert refused.value.filename == str(tmp_path / name)
    with pytest.raises(IsADirectoryError):
        read_bounded(str(tmp_path), 100)


def test_a_file_is_read_up_to_its_bound(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x" * 100)
    assert read_bounded(str(tmp_path / "file"), 100) == b"x" * 100
    with pytest.raises(OSError, match="it is larger than 99 bytes, the most that is read"):
        read_bounded(str(tmp_path / "file"), 99)


def test_a_link_to_a_regular_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x")
    (tmp_path / "link").symlink_to("file")
    with open_regular(str(tmp_path / "link")) as file:
        assert file.read() == b"x"


def test_what_is_refused_is_closed(tmp_path: Path) -> None:
    def find_next_descriptor() -> int:
        descriptor = os.open(os.devnull, os.O_RDONLY)
        os.close(descriptor)
        return descriptor

    before = find_next_descriptor()
    with pytest.raises(IsADirectoryError):
        open_regular(str(tmp_path))
    assert find_next_descriptor() == before
