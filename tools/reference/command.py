"""Writes the pages, or with ``--check`` lists those that differ from the code."""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path

from tools.reference.pages import render_pages

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"
COMMAND = "python tools/reference/run.py"


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="run.py", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if any")
    pages = render_pages()
    if parser.parse_args(argv).check:
        problems = find_differences(pages, REFERENCE)
        print("\n".join(problems) or f"{len(pages)} pages agree with the code")
        return 1 if problems else 0
    for name in find_strangers(pages, REFERENCE):
        (REFERENCE / name).unlink()
        print(f"removed {name}")
    for name, text in pages.items():
        place = REFERENCE / name
        if not place.exists() or place.read_text(encoding="utf-8") != text:
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text, encoding="utf-8")
            print(f"wrote {name}")
    return 0


def find_differences(pages: Mapping[str, str], folder: Path) -> list[str]:
    """A sentence for each page that is missing, superfluous or out of date."""
    problems = [f"{name} is not a page of the reference" for name in find_strangers(pages, folder)]
    for name, text in pages.items():
        place = folder / name
        if not place.exists():
            problems.append(f"{name} is missing")
        elif (held := place.read_text(encoding="utf-8")) != text:
            problems.append(f"{name} differs from the code{_first_difference(held, text)}")
    return [f"docs/reference/{problem}; run {COMMAND}" for problem in problems]


def find_strangers(pages: Mapping[str, str], folder: Path) -> list[str]:
    """The files of the folder that are not pages."""
    found = (str(path.relative_to(folder)) for path in sorted(folder.glob("**/*.md")))
    return [name for name in found if name not in pages]


def _first_difference(held: str, text: str) -> str:
    ours, theirs = text.splitlines(), held.splitlines()
    for number, (new, old) in enumerate(zip(ours, theirs, strict=False), start=1):
        if new != old:
            return f" in line {number}:\n  page: {old}\n  code: {new}\n "
    return f" in its length ({len(theirs)} lines, {len(ours)} from the code)"
