"""The programs that type checkers accept do what they say."""

import ast
import runpy
from pathlib import Path

import pytest

PROGRAMS = sorted(Path(__file__).with_name("programs").glob("[a-z]*.py"))


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_a_program_runs_as_it_stands_and_imports_the_root_alone(program: Path) -> None:
    runpy.run_path(str(program), run_name="__main__")
    imports = [node for node in ast.walk(ast.parse(program.read_text("utf-8"))) if is_ours(node)]
    assert imports == []


def is_ours(node: ast.AST) -> bool:
    """Whether a node imports a module of hookline's."""
    return isinstance(node, ast.ImportFrom) and (node.module or "").startswith("hookline.")
