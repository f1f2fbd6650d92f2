"""Writes the tables of effects into the documents: ``.venv-adapters/bin/python tools/effects.py``

What stands between ``<!-- effects:NAME -->`` and ``<!-- /effects -->`` is what the conformance
table measured: the column of an adapter, or with ``all`` the whole table.
"""

import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

_ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(_ROOT)] if str(_ROOT) not in sys.path else []

from hookline.testing.adapters import (  # noqa: E402 - the tests are found from this file's place
    CellResult,
    Harness,
    render_column,
    render_table,
    run_table,
)

_PLACE = re.compile(r"(<!-- effects:(\w+) -->\n).*?(<!-- /effects -->)", re.DOTALL)
DOCUMENTS = sorted((_ROOT / "docs").glob("*.md"))


def measure_effects(harnesses: Iterable[Harness]) -> dict[str, str]:
    """The tables by name. Raises ValueError where an adapter is not what its harness declares."""
    columns = [(harness, run_table(harness)) for harness in harnesses]
    for harness, results in columns:
        for result in results:
            if result.complaints:
                raise ValueError(f"{harness.name}, {result.scenario.cell}: {result.complaints}")
    titled: list[tuple[str, list[CellResult]]] = [(h.title, results) for h, results in columns]
    return {
        "all": render_table(titled),
        **{harness.name: render_column(results) for harness, results in columns},
    }


def write_effects(text: str, tables: Mapping[str, str]) -> str:
    """The text of a document with its tables as they are now. Raises KeyError for the name of an
    adapter that is not there."""
    return _PLACE.sub(lambda place: place[1] + tables[place[2]] + place[3], text)


def main() -> int:
    """Rewrite the documents; 1 where the adapters are not what their harnesses declare."""
    from tests.adapters.harnesses import HARNESSES

    try:
        tables = measure_effects(HARNESSES)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 1
    for document in DOCUMENTS:
        text = document.read_text(encoding="utf-8")
        written = write_effects(text, tables)
        if written != text:
            document.write_text(written, encoding="utf-8")
            print(f"wrote {document.relative_to(_ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
