"""Every recorded case once more with hooks that fail closed: the same answer, or blocked.

``under_block.txt`` says of each case which of the two; never is an answer weaker than without.
"""

import json
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from hookline.testing.conformance import run_case
from tests.conformance.test_cases import CASES, read
from tests.eleven import Json

pytestmark = pytest.mark.slow

TABLE = dict(
    line.split()
    for line in (Path(__file__).parent / "under_block.txt").read_text(encoding="utf-8").splitlines()
)


def fail_closed(case: Json) -> Json:
    """The case with ``onFailure: "block"`` for every hook of its settings and its code."""
    case = deepcopy(case)
    settings = case.get("settings", {})
    for hooks in (settings.get("hooks"), *(e.get("hooks") for e in settings.get("extensions", []))):
        for hook in find_hooks(hooks):
            hook["onFailure"] = "block"
    for registered in (*case.get("register", []), *case.get("register_before_init", [])):
        if isinstance(registered.get("config"), dict):
            registered["config"]["onFailure"] = "block"
    return case


def find_hooks(hooks: Any) -> Iterator[Json]:
    """The hooks of a ``hooks`` object, which may be as malformed as a case needs it."""
    for definitions in hooks.values() if isinstance(hooks, dict) else ():
        for definition in definitions if isinstance(definitions, list) else ():
            listed = definition.get("hooks") if isinstance(definition, dict) else None
            for hook in listed if isinstance(listed, list) else ():
                if isinstance(hook, dict):
                    yield hook


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_a_hook_that_fails_closed_answers_the_same_or_blocks(path: Path) -> None:
    case = read(path)
    answer = json.loads(json.dumps(run_case(fail_closed(case))))
    if TABLE[path.stem] == "same":
        assert answer == case["expect"]
    else:
        assert answer["view"]["blocked"] is True
        assert [result for result in answer["results"] if result.get("failed")]


def test_the_table_has_every_case_and_no_other() -> None:
    assert list(TABLE) == [path.stem for path in CASES]
    assert set(TABLE.values()) == {"same", "blocked"}
