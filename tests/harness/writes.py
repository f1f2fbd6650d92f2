"""Writes of this process are seen as they happen; those of its children, by comparing afterwards.

An audit hook names the test and the path of a write outside the tmp dir.  It cannot see into a
child, so the tree and the home directory are compared before and after the whole run: in CI a
difference fails it; elsewhere it is only told, since a person may be editing meanwhile.
"""

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
# Where the paths stand in the arguments of each audit event, and where its directory
# descriptors do: a name relative to one of those says nothing without it.
_PATHS: dict[str, tuple[tuple[int, ...], tuple[int, ...]]] = {
    "open": ((0,), ()),
    "os.mkdir": ((0,), (2,)),
    "os.remove": ((0,), (1,)),
    "os.rmdir": ((0,), (1,)),
    "os.rename": ((0, 1), (2, 3)),
    "os.link": ((1,), (3,)),
    "os.symlink": ((1,), (2,)),
    "os.truncate": ((0,), ()),
}


_ALLOWED = ["/dev/", "/proc/"]


class _Watch:
    """What the running test wrote outside, while one runs: a process has one audit hook."""

    outside: list[str] | None = None


def allow(directory: Path) -> None:
    """Let ``directory`` and everything below it be written by any test."""
    _ALLOWED.append(f"{directory.resolve()}{os.sep}")


@contextlib.contextmanager
def watched() -> Iterator[Sequence[str]]:
    """Collect the paths that this process writes where it may not, while the block runs."""
    written: list[str] = []
    _Watch.outside = written
    try:
        yield written
    finally:
        _Watch.outside = None


def _audit(event: str, args: tuple[object, ...]) -> None:
    if _Watch.outside is None or event not in _PATHS:
        return
    if event == "open" and not (isinstance(args[2], int) and args[2] & _WRITING):
        return
    paths, directories = _PATHS[event]
    relative_to_descriptor = any(args[index] != -1 for index in directories)
    for index in paths:
        path = args[index]
        if not isinstance(path, str | bytes | os.PathLike):
            continue
        name = os.fsdecode(path)
        if os.path.isabs(name) or not relative_to_descriptor:
            _note(name, _Watch.outside)


def _note(name: str, outside: list[str]) -> None:
    path = os.path.realpath(name)
    if not ("__pycache__" in path or f"{path}{os.sep}".startswith(tuple(_ALLOWED))):
        outside.append(path)


sys.addaudithook(_audit)


class TreeGuard:
    """What the tree and the real home directory look like, from outside the tests."""

    def __init__(self, tree: Path, home: Path) -> None:
        self._tree = tree
        self._home = home
        self._before = self._look()

    def changes(self) -> list[str]:
        return sorted(self._look() ^ self._before)

    def _look(self) -> frozenset[str]:
        return frozenset({*self._git_status(), *self._home_listing()})

    def _git_status(self) -> Iterator[str]:
        # Reading the status must not refresh the index: that is a write as well.
        command = ["git", "--no-optional-locks", "status", "--porcelain", "--untracked-files=all"]
        try:
            done = subprocess.run(command, cwd=self._tree, capture_output=True, text=True)
        except FileNotFoundError:
            return
        yield from done.stdout.splitlines()

    def _home_listing(self) -> Iterator[str]:
        for directory in (self._home, self._home / ".config", self._home / ".local" / "state"):
            with contextlib.suppress(OSError):
                yield from map(str, directory.iterdir())


_GUARD = pytest.StashKey[TreeGuard]()


@pytest.fixture(scope="session", autouse=True)
def _tmp_dirs_allowed(tmp_path_factory: pytest.TempPathFactory) -> None:
    allow(tmp_path_factory.getbasetemp())


def pytest_sessionstart(session: pytest.Session) -> None:
    session.config.stash[_GUARD] = TreeGuard(session.config.rootpath, Path.home())


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    changes = session.config.stash[_GUARD].changes()
    if not changes:
        return
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None:
        reporter.ensure_newline()
        reporter.write_sep("=", "the tree or the home directory changed during the run")
        reporter.write_line("\n".join(changes))
    if os.environ.get("CI"):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
