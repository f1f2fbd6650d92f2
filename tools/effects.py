"""Writes the tables of effects into the documents: ``.venv-adapters/bin/python tools/effects.py``

What stands between ``<!-- effects:NAME -->`` and ``<!-- /effects -->`` is what the harnesses of the
conformance table declare, and ``test_table`` measures: the column of an adapter, or with ``all``
the whole table.
"""

import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

_ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(_ROOT)] if str(_ROOT) not in sys.path else []

from tests.kit.adapters import (  # noqa: E402 - the tests are found from this file's place
    Harness,
    render_column,
    render_table,
)

_PLACE = re.compile(r"(<!-- effects:(\w+) -->\n).*?(<!-- /effects -->)", re.DOTALL)
DOCUMENTS = sorted((_ROOT / "docs").glob("*.md"))


def render_effects(harnesses: Sequence[Harness]) -> dict[str, str]:
    """Return the tables by name."""
    columns = {harness.name: render_column(harness) for harness in harnesses}
    return {"all": render_table(harnesses), **columns}


def write_effects(text: str, tables: Mapping[str, str]) -> str:
    """The text of a document with its tables as they are now. Raises KeyError for the name of an
    adapter that is not there."""
    return _PLACE.sub(lambda place: place[1] + tables[place[2]] + place[3], text)


def main() -> None:
    """Rewrite the documents."""
    from tests.adapters.harnesses import HARNESSES

    tables = render_effects(HARNESSES)
    for document in DOCUMENTS:
        text = document.read_text(encoding="utf-8")
        written = write_effects(text, tables)
        if written != text:
            document.write_text(written, encoding="utf-8")
            print(f"wrote {document.relative_to(_ROOT)}")


if __name__ == "__main__":
    main()
