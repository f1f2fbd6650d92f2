"""Finds test files below a directory, without a walk through what others put there."""

import os
from collections.abc import Iterable, Iterator

from hookline.hooktests.cases import SUFFIX, HookTestError

# Copies of other people's projects, caches, and the insides of version control.
PASSED_BY = frozenset(
    {
        *(".git", ".hg", ".svn", ".jj", "node_modules", "__pycache__", "site-packages"),
        *(".venv", "venv", ".tox", ".nox", ".mypy_cache", ".pytest_cache", ".ruff_cache"),
    }
)


def find_test_files(places: Iterable[str]) -> list[str]:
    """Every test file in the places, each once: files as they are, directories from top to bottom;
    raises HookTestError for a place that is not there."""
    found: dict[str, str] = {}
    for place in places:
        for file in _files(place):
            found.setdefault(os.path.realpath(file), file)
    return list(found.values())


def _files(place: str) -> Iterator[str]:
    if os.path.isdir(place):
        yield from _below(place)
    elif os.path.exists(place):
        yield place
    else:
        raise HookTestError(f"there is no file or directory {place}; name one that exists")


def _below(directory: str) -> Iterator[str]:
    for here, folders, names in os.walk(directory):
        folders[:] = sorted(name for name in folders if name not in PASSED_BY)
        yield from (
            os.path.normpath(os.path.join(here, name))
            for name in sorted(names)
            if name.endswith(SUFFIX)
        )
