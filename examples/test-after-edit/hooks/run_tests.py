#!/usr/bin/env python3
"""Runs the project's tests after an edit; when they fail, the model reads their output.

The time limit is the hook's `timeout` in the settings: past it the tests are ended with this
script, and the agent goes on without their verdict.
"""

import json
import os
import re
import subprocess
import sys

COMMAND = os.environ.get("TEST_COMMAND") or "python3 -B -m unittest discover -s tests"
SUFFIXES = tuple(os.environ.get("TEST_SUFFIXES", ".py").split())
# What pytest and, since Python 3.12, unittest end with when there was no test to run.
NO_TESTS = 5
ROOM = 4000


def is_relevant(event):
    name = event["tool_input"].get("file_path") or event["tool_input"].get("path")
    has_failed = event["tool_response"].get("error")
    return isinstance(name, str) and name.endswith(SUFFIXES) and not has_failed


def failure(project):
    """What the tests printed when they failed, None when all is well."""
    done = subprocess.run(
        ["sh", "-c", COMMAND],
        cwd=project,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    if done.returncode in (0, NO_TESTS):
        return None
    return shortened(done.stdout.decode("utf-8", "replace").strip())


def shortened(output):
    """The end of a long output, where the failures and their count are, from a line's start on."""
    if len(output) <= ROOM:
        return output
    return "[…]\n" + re.sub(r"\A[^\n]*\n", "", output[-ROOM:])


def main():
    event = json.load(sys.stdin.buffer)
    project = os.environ.get("HOOKLINE_PROJECT_DIR") or event["cwd"]
    if not is_relevant(event) or not os.path.isdir(project):
        return
    output = failure(project)
    if output is None:
        return
    context = (
        f"After this change the tests fail ({COMMAND}):\n\n{output}\n\nMake them pass before you "
        "go on; change a test only if what it expects is no longer wanted."
    )
    answer = {"hookEventName": "AfterTool", "additionalContext": context}
    json.dump({"hookSpecificOutput": answer}, sys.stdout)


if __name__ == "__main__":
    main()
