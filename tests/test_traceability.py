"""Tried on trees of its own, since on the real one the tool is part of `make check`."""

from pathlib import Path

import pytest

from tools.traceability import main, read_requirements

FAMILIES = {"HSYS": 2, "HEVT": 4, "HRUN": 4, "HPAY": 6, "HBUS": 3, "HTEL": 3, "HAPP": 2, "HFAIL": 5}


def run(root: Path, *ids: str, test: str) -> int:
    """Check a document with these ids against one test file."""
    document, tests = root / "requirements.md", root / "tests"
    tests.mkdir()
    rows = ["| id | what stands |", "|---|---|", *(f"| {id_} | … |" for id_ in ids)]
    document.write_text("\n".join(rows))
    (tests / "test_it.py").write_text(f"import pytest\n{test}\n")
    return main(["--requirements", str(document), "--tests", str(tests)])


def test_the_document_lists_every_requirement_once() -> None:
    listed = read_requirements(Path(__file__).parents[1] / "docs" / "requirements.md")
    deltas = {
        f"DELTA-{family}-{number:03}"
        for family, count in FAMILIES.items()
        for number in range(1, count + 1)
    }
    others = {*(f"INV-{number}" for number in range(1, 8)), "GUAR-1", "GUAR-2", "GUAR-3"}
    assert len(deltas) == 29
    assert sorted(id_ for id_, _ in listed if id_) == sorted(deltas | others)


def test_ids_in_decorators_module_marks_and_several_in_one_mark_all_count(tmp_path: Path) -> None:
    test = """
pytestmark = pytest.mark.requirement("INV-1")

@pytest.mark.requirement("INV-2", "GUAR-1")
def test_it(): pass

@pytest.mark.parametrize("x", [pytest.param(1, marks=pytest.mark.requirement("GUAR-2"))])
def test_other(x): pass
"""
    assert run(tmp_path, "INV-1", "INV-2", "GUAR-1", "GUAR-2", test=test) == 0


def test_a_requirement_without_a_test_fails(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    test = '# pytest.mark.requirement("INV-1")\nTEXT = "@pytest.mark.requirement(\'INV-1\')"'
    assert run(tmp_path, "INV-1", test=test) == 1
    assert "requirements.md:3: INV-1 has no test" in capsys.readouterr().err


def test_a_mark_with_an_unknown_id_fails(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    test = '@pytest.mark.requirement("INV-1", "INV-9")\ndef test_it(): pass'
    assert run(tmp_path, "INV-1", test=test) == 1
    assert "test_it.py:2: no requirement is called INV-9" in capsys.readouterr().err


def test_an_id_listed_twice_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    test = 'pytestmark = pytest.mark.requirement("INV-1")'
    assert run(tmp_path, "INV-1", "INV-1", test=test) == 1
    assert "requirements.md:4: INV-1 is also at" in capsys.readouterr().err


def test_an_id_that_is_not_written_out_fails(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    test = 'ID = "INV-1"\npytestmark = pytest.mark.requirement(ID, "INV-1")'
    assert run(tmp_path, "INV-1", test=test) == 1
    assert "test_it.py:3: a requirement mark takes ids written out" in capsys.readouterr().err


def test_a_document_without_requirements_fails(tmp_path: Path) -> None:
    assert run(tmp_path, test="") == 1
