"""Every adapter through the conformance table, cell by cell."""

from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec

import pytest

from hookline.testing.adapters import SCENARIOS, Harness, Scenario, run_cell

NAMES = ("plain", "langchain", "pydantic_ai")


def find_harnesses() -> Iterator[Harness]:
    """Those of the adapters that are there, in the order of the table."""
    for name in NAMES:
        module = f"tests.adapters.{name}"
        if find_spec(module) is not None and find_spec(f"{module}.table") is not None:
            yield import_module(f"{module}.table").HARNESS


HARNESSES = [*find_harnesses()]


@pytest.mark.parametrize(
    ("harness", "scenario"),
    [
        pytest.param(harness, scenario, id=f"{harness.name}-{scenario.cell}")
        for harness in HARNESSES
        for scenario in SCENARIOS
    ],
)
async def test_table(harness: Harness, scenario: Scenario) -> None:
    """The cell is what the harness declares, in each of its modes."""
    result = await run_cell(harness, scenario)
    assert not result.complaints, "\n".join(result.complaints)
