"""Scripts of examples run on the suite's own Python, so every version it runs on is tried."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.examples.toolbox import Workplace


@pytest.fixture(autouse=True)
def _own_python(monkeypatch: pytest.MonkeyPatch) -> None:
    path = os.environ["PATH"]
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{path}")


@pytest.fixture(autouse=True)
def _closed_afterwards() -> Iterator[None]:
    yield
    while Workplace.made:
        Workplace.made.pop().close()
