"""The column of the conformance table with the release of google-genai that is installed here.

Where all frameworks are, it is measured with the other columns.
"""

from importlib.util import find_spec

import pytest

from tests.adapters.genai.table import HARNESS
from tests.kit.adapters import SCENARIOS, Scenario, run_cell


@pytest.mark.skipif(find_spec("langchain") is not None, reason="test_table.py has it too")
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.cell)
async def test_the_column_holds_with_this_release(scenario: Scenario) -> None:
    assert (await run_cell(HARNESS, scenario)).complaints == []
