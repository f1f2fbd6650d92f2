#!/usr/bin/env python3
"""Gives the model what git and the source files know: once in full, then what may have changed.

Whatever cannot be found out is left out; a session never waits or fails because of it.
"""

import json
import os
import re
import subprocess
import sys

TODO = r"(TODO|FIXME)[:(]"
MOST, LONGEST = 10, 160


def git(*words):
    """The lines that git prints; none when it cannot."""
    try:
        done = subprocess.run(
            ["git", *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=5,
        )
    except (OSError, subprocess.TimeoutExpired):
        return []
    return done.stdout.decode("utf-8", "replace").splitlines() if done.returncode == 0 else []


def listed(title, lines):
    """A heading and its lines, kept short; nothing when there are none."""
    if not lines:
        return []
    shown = ["- " + re.sub(r"\s+", " ", line).strip()[:LONGEST] for line in lines[:MOST]]
    more = [f"- and {len(lines) - MOST} more"] if len(lines) > MOST else []
    return [f"{title}:", *shown, *more]


def branch():
    return [f"Git branch: {name}" for name in git("symbolic-ref", "--quiet", "--short", "HEAD")]


def changes():
    return listed("Uncommitted", git("status", "--short"))


def commits():
    return listed("Last commits", git("log", "-3", "--format=%h %s"))


def todos():
    """Notes in the files that git knows or would, and open boxes of TODO.md."""
    notes = git("grep", "-nIE", "--untracked", "--full-name", TODO)
    try:
        with open("TODO.md", encoding="utf-8", errors="replace") as file:
            boxes = re.findall(r"^\s*[-*] \[ \] (.+)$", file.read(), flags=re.MULTILINE)
    except OSError:
        boxes = []
    return listed("Open TODOs", boxes + notes)


SECTIONS = {"SessionStart": (branch, commits, changes), "BeforeAgent": (branch, todos)}


def main():
    event = json.load(sys.stdin.buffer)
    os.chdir(os.environ.get("HOOKLINE_PROJECT_DIR") or event["cwd"])
    name = event["hook_event_name"]
    lines = [line for section in SECTIONS[name] for line in section()]
    if lines:
        answer = {"hookEventName": name, "additionalContext": "\n".join(lines)}
        json.dump({"hookSpecificOutput": answer}, sys.stdout)


if __name__ == "__main__":
    main()
