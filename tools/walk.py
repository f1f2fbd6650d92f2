"""Follow an event or a call through the code, and name the files that a reader passes.

A file counts if one of its functions was called for the event, not if it was merely imported. They
are printed in the order in which they are first entered. A walk that passes more files than its
limit exits with 1: fold a file that only forwards.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

_REPOSITORY = Path(__file__).parents[1]
_FRAMEWORKS = _REPOSITORY / ".venv-adapters" / "bin" / "python"


class Walk(NamedTuple):
    """A program in ``tools/walks``, how many files it may pass, and what it prints if it worked."""

    program: str
    limit: int
    printed: str
    needs_framework: bool = False


WALKS = {
    "fire": Walk("fire", 35, "allowed"),
    "run-tool": Walk("run_tool", 20, "ran ls"),
    "langchain": Walk("in_langchain", 25, "ran ls", needs_framework=True),
    "claude": Walk("claude", 40, "allowed"),
    "nats": Walk("over_nats", 35, "allowed"),
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("walk", nargs="?", choices=WALKS, default="fire", help="default: fire")
    parser.add_argument("--limit", type=int, metavar="N", help="allow another number of files")
    parser.add_argument("--functions", action="store_true", help="name the functions as well")
    options = parser.parse_args()
    walk = WALKS[options.walk]
    functions: dict[str, list[str]] = {}
    for file, name in follow(walk):
        functions.setdefault(file, []).append(name)
    for file, names in functions.items():
        print(f"{len(names):4}  {file}")
        if options.functions:
            print("".join(f"        {name}\n" for name in names), end="")
    number = sum(map(len, functions.values()))
    print(f"{len(functions)} files, {number} functions")
    limit = walk.limit if options.limit is None else options.limit
    if len(functions) > limit:
        print(
            f"walk: {options.walk} passes more than {limit} files; fold a file that only forwards",
            file=sys.stderr,
        )
        return 1
    return 0


def follow(walk: Walk) -> list[tuple[str, str]]:
    """Run a walk; return the file and the name of each function called, in the order of the first
    calls."""
    python = str(_FRAMEWORKS) if walk.needs_framework else sys.executable
    with tempfile.TemporaryDirectory(prefix="hookline-walk-") as scratch:
        project = Path(scratch, "project")
        project.mkdir()
        record = Path(scratch, "walk.json")
        done = subprocess.run(
            [python, "-m", f"tools.walks.{walk.program}"],
            cwd=project,
            # Settings of the person who runs this would make it another walk.
            env={
                "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
                "HOME": scratch,
                "PYTHONPATH": f"{_REPOSITORY}{os.pathsep}{_REPOSITORY / 'src'}",
                "HOOKLINE_WALK": str(record),
            },
            capture_output=True,
            text=True,
        )
        if done.returncode or walk.printed not in done.stdout:
            sys.exit(
                f"walk: the program did not print {walk.printed!r}:\n{done.stdout}{done.stderr}"
            )
        return [(file, name) for file, name in json.loads(record.read_text())]


if __name__ == "__main__":
    sys.exit(main())
