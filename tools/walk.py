"""The walk of one BeforeTool event from ``hookline fire`` to the screen: the files it passes.

A file counts if one of its functions was called for the event, not if it was merely imported. They
are printed in the order in which they are first entered; ``--limit N`` fails beyond N.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

_SOURCE = Path(__file__).parents[1] / "src"
_HOOK = '#!/bin/sh\ncat > /dev/null\necho \'{"decision": "allow"}\'\n'
_DEFINITION = {
    "matcher": "write_file",
    "hooks": [{"type": "command", "name": "guard", "command": "./guard.sh"}],
}
_FIRE = ("fire", "BeforeTool", "--trust", "--tool", "write_file", "--tool-input", '{"content": ""}')
# Runs in a process of its own, so that nothing is imported yet; the profile is on from the start.
_PROBE = """
import json, sys, threading
source, walk, *arguments = sys.argv[1:]
called = {}

def watch(frame, event, _argument):
    code = frame.f_code
    # The body of a class or a module is not OPTIMIZED; a comprehension is no function to a reader.
    is_function = code.co_flags & 1 and (code.co_name[0] != "<" or code.co_name == "<lambda>")
    if event != "call" or not is_function or not code.co_filename.startswith(source):
        return
    # What a module calls while it is imported makes its tables; the event is not there yet.
    while frame := frame.f_back:
        if frame.f_code.co_name == "<module>" and frame.f_code.co_filename.startswith(source):
            return
    called.setdefault((code.co_filename, code.co_qualname), None)

threading.setprofile(watch)
sys.setprofile(watch)
from hookline.cli import main
status = main(arguments)
sys.setprofile(None)
with open(walk, "w") as file:
    json.dump({"status": status, "called": list(called)}, file)
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--limit", type=int, metavar="N", help="fail beyond so many files")
    parser.add_argument("--functions", action="store_true", help="name the functions as well")
    options = parser.parse_args()
    functions: dict[str, list[str]] = {}
    for file, name in _walk():
        functions.setdefault(str(Path(file).relative_to(_SOURCE)), []).append(name)
    for file, names in functions.items():
        print(f"{len(names):4}  {file}")
        if options.functions:
            print("".join(f"        {name}\n" for name in names), end="")
    number = sum(map(len, functions.values()))
    print(f"{len(functions)} files, {number} functions")
    if options.limit is not None and len(functions) > options.limit:
        print(
            f"walk: files beyond --limit {options.limit}; fold what only forwards", file=sys.stderr
        )
        return 1
    return 0


def _walk() -> list[tuple[str, str]]:
    """The file and the name of each function that is called, in the order of the first calls."""
    with tempfile.TemporaryDirectory(prefix="hookline-walk-") as scratch:
        project = Path(scratch, "project")
        (project / ".hookline").mkdir(parents=True)
        settings = {"hooks": {"BeforeTool": [_DEFINITION]}}
        (project / ".hookline" / "settings.json").write_text(json.dumps(settings))
        (project / "guard.sh").write_text(_HOOK)
        (project / "guard.sh").chmod(0o755)
        walk = Path(scratch, "walk.json")
        done = subprocess.run(
            [sys.executable, "-c", _PROBE, str(_SOURCE), str(walk), *_FIRE],
            cwd=project,
            # Settings of the person who runs this would make it another walk.
            env={"PATH": os.environ["PATH"], "HOME": scratch, "PYTHONPATH": str(_SOURCE)},
            capture_output=True,
            text=True,
        )
        if done.returncode or "guard" not in done.stdout or "allowed" not in done.stdout:
            sys.exit(f"walk: the event was not allowed:\n{done.stdout}{done.stderr}")
        return [(file, name) for file, name in json.loads(walk.read_text())["called"]]


if __name__ == "__main__":
    sys.exit(main())
