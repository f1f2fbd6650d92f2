"""The shape of the source: short functions are not simple if a reader must jump to each of them."""

import ast
from collections import Counter
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "hookline"
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def count_once(text: str) -> tuple[int, int]:
    """How many functions a module has, and how many of them are private and named once."""
    nodes = list(ast.walk(ast.parse(text)))
    named = Counter(node.id for node in nodes if isinstance(node, ast.Name))
    named.update(node.attr for node in nodes if isinstance(node, ast.Attribute))
    functions = [node.name for node in nodes if isinstance(node, FUNCTIONS)]
    private = [name for name in functions if name.startswith("_") and not name.startswith("__")]
    return len(functions), sum(named[name] == 1 for name in private)


def test_a_private_function_that_is_called_once_is_counted() -> None:
    assert count_once("def _a(): ...\ndef _b(): _a(); _a()\ndef c(): _b()\n") == (3, 1)


def test_at_most_a_fifth_of_all_functions_are_private_and_called_once() -> None:
    counts = [count_once(file.read_text(encoding="utf-8")) for file in SOURCE.rglob("*.py")]
    functions, once = map(sum, zip(*counts, strict=True))
    assert once <= functions / 5, f"{once} of {functions}; put fragments back into their callers"
