#!/usr/bin/env python3
"""Denies writing src/x.py until tests/test_x.py exists.

A way of working, not a wall: whatever this script does not understand may pass.
"""

import json
import os
import sys

SOURCES, TESTS = "src", "tests"
EXEMPT = {"__init__.py", "__main__.py", "_version.py"}


def places_of_test(path):
    """Where the test of src/a/b/x.py may be: in tests/a/b, tests/b or tests."""
    folders = path.split("/")[1:-1]
    name = "test_" + os.path.basename(path)
    return ["/".join([TESTS, *folders[start:], name]) for start in range(len(folders) + 1)]


def source_file(event, project):
    """The source file that the call writes, relative to the project, or None."""
    name = event["tool_input"].get("file_path") or event["tool_input"].get("path")
    if not isinstance(name, str):
        return None
    absolute = os.path.realpath(os.path.join(event["cwd"], name))
    path = os.path.relpath(absolute, os.path.realpath(project)).replace(os.sep, "/")
    is_source = path.startswith(SOURCES + "/") and path.endswith(".py")
    return path if is_source and os.path.basename(path) not in EXEMPT else None


def main():
    event = json.load(sys.stdin.buffer)
    project = os.environ.get("HOOKLINE_PROJECT_DIR") or event["cwd"]
    path = source_file(event, project)
    if path is None:
        return
    tests = places_of_test(path)
    if any(os.path.isfile(os.path.join(project, test)) for test in tests):
        return
    reason = (
        f"Not written: {path} has no test yet. Write {tests[-1]} first, with a test of what this "
        "file shall do, see it fail, and then repeat this call."
    )
    json.dump({"decision": "deny", "reason": reason}, sys.stdout)


if __name__ == "__main__":
    main()
