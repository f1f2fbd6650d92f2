"""Test files are found below a directory, each once, and not in what others put there."""

from pathlib import Path

import pytest

from hookline.hooktests.cases import HookTestError
from hookline.hooktests.finding import find_test_files


def touch(*names: str) -> None:
    for name in names:
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).touch()


def test_files_come_from_top_to_bottom_and_from_a_to_z() -> None:
    touch("b.hooktest.json", "a.hooktest.json", "sub/c.hooktest.json", "a.json")
    touch(
        ".hookline/tests/d.hooktest.json", "node_modules/x/e.hooktest.json", ".git/f.hooktest.json"
    )
    assert find_test_files(["."]) == [
        "a.hooktest.json",
        "b.hooktest.json",
        ".hookline/tests/d.hooktest.json",
        "sub/c.hooktest.json",
    ]


def test_a_file_that_is_named_counts_whatever_its_name_and_only_once() -> None:
    touch("plain.json", "t/a.hooktest.json")
    Path("t/link.hooktest.json").symlink_to("a.hooktest.json")
    assert find_test_files(["plain.json", "t", "t/a.hooktest.json"]) == [
        "plain.json",
        "t/a.hooktest.json",
    ]


def test_a_place_that_is_not_there_is_an_error() -> None:
    with pytest.raises(HookTestError, match="there is no file or directory nowhere; name one"):
        find_test_files(["nowhere"])
