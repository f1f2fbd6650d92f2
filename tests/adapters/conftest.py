"""Frameworks have an environment of their own, so these tests run only where they are named."""

from pathlib import Path

import pytest


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """True leaves it out; None leaves the question to others."""
    named = any(Path(argument).resolve() in _upwards(collection_path) for argument in config.args)
    return None if named else True


def _upwards(path: Path) -> set[Path]:
    here = Path(__file__).parent
    return {p for p in (path, *path.parents) if p.is_relative_to(here)}
