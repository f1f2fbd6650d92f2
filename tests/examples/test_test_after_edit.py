"""An edit that breaks a test comes back to the model with the test's own words."""

from pathlib import Path

import pytest

from hookline.agent.providers.scripted import call
from tests.examples.toolbox import Workplace

TEST = """
import unittest
import prices

class Prices(unittest.TestCase):
    def test_tax_is_added(self):
        self.assertEqual(prices.gross(100), 119)
"""


@pytest.fixture
def work(tmp_path: Path) -> Workplace:
    work = Workplace(tmp_path / "my project", "test-after-edit")
    work.write("prices.py", "def gross(net):\n    return net + 19\n")
    work.write("tests/test_prices.py", TEST)
    return work


async def test_the_output_of_a_failing_test_is_added_to_the_result(work: Workplace) -> None:
    edit = call("replace", file_path="prices.py", old_string="19", new_string="16")
    await work.run("The tax is 16 %.", [edit], "I see.")
    assert work.results[0].startswith("Changed prices.py.\n\nAfter this change the tests fail")
    assert "test_tax_is_added" in work.results[0]
    assert "AssertionError: 116 != 119" in work.results[0]
    assert work.read("prices.py").endswith("net + 16\n")


async def test_the_model_repairs_what_it_broke(work: Workplace) -> None:
    edits = [
        [call("replace", file_path="prices.py", old_string="net + 19", new_string="net * 119")],
        [call("replace", file_path="prices.py", old_string="net * 119", new_string="net * 1.19")],
    ]
    result = await work.run("The tax is a share.", *edits, "All is well.")
    assert "11900 != 119" in work.results[0]
    assert work.results[1] == "Changed prices.py."
    assert result.text == "All is well."


async def test_nothing_is_said_when_tests_pass_or_the_file_is_no_code(work: Workplace) -> None:
    await work.run(
        "Go on.",
        [call("replace", file_path="prices.py", old_string="net)", new_string="net, of=None)")],
        [call("write_file", file_path="notes.txt", content="assert False")],
        "Done.",
    )
    assert work.results == ["Changed prices.py.", "Wrote notes.txt."]


async def test_a_long_output_is_cut_to_its_end(work: Workplace) -> None:
    noise = "print('noise ' * 4000)\nraise SystemExit('the end')\n"
    work.write("tests/test_prices.py", noise)
    edit = call("replace", file_path="prices.py", old_string="19", new_string="20")
    await work.run("Go on.", [edit], "I see.")
    assert "the end" in work.results[0]
    assert len(work.results[0]) < 5000
