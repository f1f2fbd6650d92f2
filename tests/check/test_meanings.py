"""Every rule that check can name has a sentence for it, and no sentence is about another."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import hookline.check
from hookline.check import RULE_MEANINGS

# What has a rule's name among its first arguments, or as its ``kind``.
_NAMING = {"finding", "Finding", "Verdict"}


def named_rules() -> Iterator[str]:
    """The rules that the source names where it makes a finding, or chooses one's rule."""
    for file in Path(hookline.check.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Call):
                called = getattr(node.func, "attr", getattr(node.func, "id", ""))
                kinds = [each.value for each in node.keywords if each.arg == "kind"]
                if called in _NAMING:
                    yield from (name for each in (*node.args[:1], *kinds) for name in strings(each))
            elif isinstance(node, ast.Assign):
                for target in node.targets:
                    yield from chosen(target, node.value)


def chosen(target: ast.expr, value: ast.expr) -> Iterator[str]:
    """What is assigned to a variable that is called as what holds a rule."""
    if isinstance(target, ast.Name) and target.id in ("rule", "kind"):
        yield from strings(value)
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        for name, each in zip(target.elts, value.elts, strict=True):
            yield from chosen(name, each)


def strings(value: ast.expr) -> Iterator[str]:
    if isinstance(value, ast.Constant) and isinstance(value.value, str):
        yield value.value


def test_every_rule_has_its_meaning() -> None:
    assert set(named_rules()) == set(RULE_MEANINGS)


def test_a_meaning_is_one_sentence() -> None:
    for rule, meaning in RULE_MEANINGS.items():
        assert meaning.endswith("."), rule
        assert meaning[0].isupper() or meaning.startswith("onFailure"), rule
        assert len(meaning) < 100, rule


def test_the_page_on_check_leads_to_every_rule() -> None:
    """The names on the page itself are rules; the table of all of them is in the reference."""
    docs = Path(__file__).parents[2] / "docs"
    page = (docs / "cli.md").read_text()
    section = page[page.index("### Rules") :].partition("\nClaude Code's files")[0]
    assert "(reference/failures.md#rules-of-hookline-check)" in section
    assert set(re.findall(r"^- `(.+?)`", section, re.MULTILINE)) <= set(RULE_MEANINGS)
    table = (docs / "reference/failures.md").read_text().partition("## Rules of hookline check")[2]
    assert set(re.findall(r"^\| `(.+?)` \|", table, re.MULTILINE)) == set(RULE_MEANINGS)
