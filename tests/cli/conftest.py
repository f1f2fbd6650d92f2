"""The command without a process of its own, for tables of many small cases."""

from collections.abc import Callable
from typing import TypeAlias

import pytest

from hookline.cli import main
from tests.cli.command import Done

Call: TypeAlias = Callable[..., Done]


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str]) -> Call:
    def called(*arguments: str) -> Done:
        status = main(arguments)
        return Done(status, *capsys.readouterr())

    return called
