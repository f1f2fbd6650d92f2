"""``tools/mutate.py``: small bugs, made one at a time, and the tests that notice them."""

import subprocess
import sys
from pathlib import Path

import pytest

from tools import mutate
from tools.mutation import bugs, reach

_SOURCE = b'''"""A module: if x == 1, nobody knows."""
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import json
__all__ = ["read"]
_LIMIT = 3
Kind = Literal["one"]

def read(doc: dict[Literal["size"], int], *, strict: bool = True) -> int | None:
    """Read doc["size"]."""
    for item in doc:
        if not item:
            continue
        print(item)
        raise ValueError(f"{doc['size']} > 1")
    if doc["size"] < 1 and strict:
        return doc.get("count")
    return list(doc)[1:] if item is None else None
'''


def _changes() -> set[tuple[int, str, str]]:
    found = [bug for bug in bugs.find(_SOURCE, "m.py") if bugs.is_bug(bug, _SOURCE)]
    lines = [(bug, bug.apply(_SOURCE).decode().splitlines()) for bug in found]
    return {(bug.line, bug.kind, after[bug.line - 1].strip()) for bug, after in lines}


@pytest.mark.parametrize(
    "change",
    [
        (7, "off by one", "_LIMIT = 4"),
        (
            10,
            "flag",
            'def read(doc: dict[Literal["size"], int], *, strict: bool = False) -> int | None:',
        ),
        (13, "not dropped", "if item:"),
        (14, "loop", "break"),
        (15, "call dropped", "pass"),
        (17, "key", 'if doc["count"] < 1 and strict:'),
        (17, "bound", 'if doc["size"] <= 1 and strict:'),
        (17, "off by one", 'if doc["size"] < 2 and strict:'),
        (17, "or for and", 'if doc["size"] < 1 or strict:'),
        (17, "condition inverted", 'if (not (doc["size"] < 1 and strict)):'),
        (18, "key", 'return doc.get("size")'),
        (18, "None returned", "return None"),
        (19, "comparison", "return list(doc)[1:] if item is not None else None"),
        (19, "off by one", "return list(doc)[0:] if item is None else None"),
    ],
)
def test_each_kind_of_bug_is_made_where_it_can_be(change: tuple[int, str, str]) -> None:
    assert change in _changes()


def test_types_messages_docstrings_and_public_names_are_left_alone() -> None:
    assert {line for line, _, _ in _changes()} == {7, 10, 13, 14, 15, 17, 18, 19}


def test_the_same_seed_draws_the_same_bugs() -> None:
    sources = {"a.py": _SOURCE, "b.py": _SOURCE}
    first = bugs.sample(sources, 5, seed=4)
    assert first == bugs.sample(sources, 5, seed=4)
    assert first != bugs.sample(sources, 5, seed=5)
    assert len({(bug.module, bug.line) for bug in first}) == 5


def test_the_tests_of_a_module_are_those_at_its_path() -> None:
    files = ["tests/a/test_b.py", "tests/a/test_b_more.py", "tests/a/test_c.py", "tests/test_d.py"]
    assert reach.mirror("a/b.py", files) == files[:2]
    assert reach.mirror("a/other.py", files) == files[:3]
    assert reach.mirror("d.py", files) == files[3:]


def test_the_tests_of_the_verb_that_shows_a_modules_work_are_asked_too() -> None:
    files = ["tests/cli/test_check.py", "tests/cli/test_test.py", "tests/check/test_reports.py"]
    assert reach.of_verbs("check/reports.py", files) == files[:1]
    assert reach.of_verbs("hooktests/cases.py", files) == files[1:2]


def test_a_bug_that_no_test_notices_is_shown_and_the_checkout_is_as_it_was(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    module = tmp_path / "src/hookline/sizes.py"
    module.parent.mkdir(parents=True)
    module.write_text("def is_small(n):\n    return n < 10\n\ndef first(n):\n    return n[0]\n")
    (tmp_path / "tests").mkdir()
    text = (
        "import pytest\nfrom hookline.sizes import is_small\n\n"
        '@pytest.mark.parametrize("n", [10], ids=["a - b"])\n'
        "def test_ten(n):\n    assert not is_small(n)\n"
    )
    (tmp_path / "tests/test_sizes.py").write_text(text)
    (tmp_path / ".venv").symlink_to(sys.prefix)
    (tmp_path / ".gitignore").write_text(".venv\n")
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    before = module.read_bytes()
    assert mutate.main(["--sample", "2", "--jobs", "1"], checkout=tmp_path) == 0
    shown = capsys.readouterr().out
    assert "  tests/test_sizes.py::test_ten\n" in shown
    assert "SURVIVED sizes.py:5:14 off by one  " in shown
    assert "\n-    return n[0]\n+    return n[1]\n" in shown
    assert shown.endswith("killed 1 of 2\n")
    assert module.read_bytes() == before
