"""There is no code without a test: writing it is denied until the test is there."""

from pathlib import Path

import pytest

from hookline.agent.providers.scripted import call
from tests.examples.toolbox import Workplace


@pytest.fixture
def work(tmp_path: Path) -> Workplace:
    return Workplace(tmp_path / "my project", "test-first")


CODE = call("write_file", file_path="src/cart.py", content="total = 0\n")
TEST = call("write_file", file_path="tests/test_cart.py", content="def test_total(): ...\n")


async def test_code_without_a_test_is_not_written_and_the_model_reads_which_is_missing(
    work: Workplace,
) -> None:
    await work.run("Write a cart.", [CODE], "I see.")
    assert not work.exists("src/cart.py")
    assert "Write tests/test_cart.py first" in work.results[0]


async def test_with_the_test_there_the_same_call_passes(work: Workplace) -> None:
    await work.run("Write a cart.", [CODE], [TEST], [CODE], "Done.")
    assert work.read("src/cart.py") == "total = 0\n"
    assert work.results[0].startswith("Not written")
    assert work.results[1:] == ["Wrote tests/test_cart.py.", "Wrote src/cart.py."]


async def test_the_test_may_be_in_a_folder_like_that_of_the_code(work: Workplace) -> None:
    work.write("tests/shop/test_cart.py", "def test_total(): ...\n")
    writes = [
        call("write_file", file_path=str(work.path / f"src/shop/{name}.py"), content="x = 1\n")
        for name in ("cart", "basket")
    ]
    await work.run("Write a cart.", writes, "Done.")
    assert (work.exists("src/shop/cart.py"), work.exists("src/shop/basket.py")) == (True, False)


async def test_what_needs_no_test_is_written(work: Workplace) -> None:
    names = ("src/__init__.py", "src/logo.svg", "docs/src/x.py", "setup.py")
    writes = [call("write_file", file_path=name, content="x") for name in names]
    await work.run("Go on.", writes, "Done.")
    assert all(work.exists(name) for name in names)
