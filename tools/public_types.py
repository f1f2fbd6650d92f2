"""Fails where a user's type checker does not know the whole type of a public name.

``basedpyright --verifytypes`` looks at every module; of what it finds, this keeps the names that
users are told of: what ``hookline`` exports and what the reference of the Python API describes.
What needs a framework or a model's SDK is left out: none is installed beside it. ``make
test-types`` runs this.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

FOREIGN = (
    "hookline.adapters.",
    "hookline.agent.providers.anthropic.",
    "hookline.agent.providers.genai.",
    "hookline.agent.providers.openai.",
)
# Fixtures, whose own type pytest leaves incomplete.
FIXTURES = {"hookline.testing.plugin.hooks", "hookline.testing.plugin.load_hooks"}
REFERENCE = Path(__file__).parents[1] / "docs" / "reference" / "api.md"


def find_public_names() -> set[str]:
    """Return the names that the reference describes, without those of a framework or an SDK."""
    text = REFERENCE.read_text(encoding="utf-8")
    names = re.findall(r"^::: (hookline\.[\w.]+)$", text, re.MULTILINE)
    return {name for name in names if not name.startswith(FOREIGN)} - FIXTURES


def is_public(name: str, public: set[str]) -> bool:
    """True for a public name, a member of one, and whatever ``hookline`` itself exports."""
    parts = name.split(".")
    return len(parts) == 2 or any(
        ".".join(parts[:end]) in public for end in range(3, len(parts) + 1)
    )


def find_symbols() -> Sequence[dict[str, Any]]:
    """Ask basedpyright, which finds packages by the ``python`` that is first on the PATH."""
    tools = os.path.dirname(sys.executable)
    run = subprocess.run(
        [os.path.join(tools, "basedpyright"), "--verifytypes", "hookline", "--outputjson"],
        env={**os.environ, "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}"},
        stdout=subprocess.PIPE,
        text=True,
        check=False,  # it fails unless every module is complete
    )
    symbols: Sequence[dict[str, Any]] = json.loads(run.stdout)["typeCompleteness"]["symbols"]
    return symbols


def describe(symbols: Sequence[dict[str, Any]]) -> Iterator[str]:
    for symbol in symbols:
        for diagnostic in symbol["diagnostics"] or [{"message": "a part of it is unknown"}]:
            yield f"{symbol['name']}: {' '.join(diagnostic['message'].split())}"


def main() -> int:
    public, symbols = find_public_names(), find_symbols()
    checked = [symbol for symbol in symbols if is_public(symbol["name"], public)]
    incomplete = [s for s in checked if not s["isTypeKnown"] or s["isTypeAmbiguous"]]
    print("\n".join(describe(incomplete)), end="\n" if incomplete else "")
    print(f"{len(checked) - len(incomplete)} of {len(checked)} public names have a complete type")
    return 1 if incomplete or not checked else 0


if __name__ == "__main__":
    sys.exit(main())
