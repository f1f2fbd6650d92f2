#!/usr/bin/env python3
"""Denies tool calls on protected files; a link or a `..` on the way to one changes nothing.

Settings say "onFailure": "block", so anything unexpected here ends in a denial.
"""

import fnmatch
import json
import os
import re
import sys

LIST = os.path.join(os.path.dirname(os.path.abspath(__file__)), "protected-files.txt")
# Tools that change nothing; of any other, the worst is assumed.
READING = {
    *("read_file", "read_many_files", "list_directory", "glob", "search_file_content"),
    *("read", "view", "grep", "ls"),
}
PATHS = (
    *("file_path", "path", "absolute_path", "filename", "notebook_path", "dir_path", "paths"),
    *("include", "glob"),  # which files a search looks at
)
ADVICE = {
    "no-access": "It may hold secrets and is for people only. Work with an example of it, such as "
    ".env.example, or ask the user for what you need to know.",
    "no-write": "It is made by a tool or belongs to the user. Run the tool that makes it, or tell "
    "the user what should change and why.",
}


def rules():
    """(word, pattern) of each line of the list."""
    with open(LIST, encoding="utf-8") as lines:
        for number, line in enumerate(lines, start=1):
            if line.strip() and not line.startswith("#"):
                word, _, pattern = line.strip().partition(" ")
                if not pattern or word not in (*ADVICE, "allow"):
                    sys.exit(f"line {number} of protected-files.txt makes no sense")
                yield word, pattern.strip().lower()


def fits(path, pattern):
    """Whether a path, relative to the project, is what a pattern means."""
    names, wanted = path.split("/"), pattern.strip("/")
    length = wanted.count("/") + 1
    for start in range(1 if pattern.startswith("/") else len(names)):
        is_end = start + length >= len(names)
        if (is_end or pattern.endswith("/")) and fnmatch.fnmatchcase(
            "/".join(names[start : start + length]), wanted
        ):
            return True
    return False


def protection(path, listed):
    """What holds for a path: no-access, no-write or None."""
    words = [word for word, pattern in listed if fits(path, pattern)]
    return words[-1] if words and words[-1] != "allow" else None


def forms(name, event):
    """A path as it is written and as links lead, relative to the project, in lower case."""
    project = os.environ.get("HOOKLINE_PROJECT_DIR") or event["cwd"]
    path = os.path.normpath(os.path.join(event["cwd"], os.path.expanduser(name)))
    for form in (
        os.path.relpath(path, project),
        os.path.relpath(os.path.realpath(path), os.path.realpath(project)),
    ):
        yield form.lower()


def paths_in(tool_input):
    for key in PATHS:
        value = tool_input.get(key)
        for name in value if isinstance(value, list) else [value]:
            if isinstance(name, str) and name:
                yield name


def words_in(tool_input):
    """The words of a shell command that may be paths."""
    command = tool_input.get("command")
    return re.findall(r"[^\s;&|()<>'\"=@:]+", command) if isinstance(command, str) else []


def verdict(event):
    """The first protected file that the call is about, and how it is protected."""
    listed = list(rules())
    for name in paths_in(event["tool_input"]):
        for path in forms(name, event):
            word = protection(path, listed)
            if word == "no-access" or (word and event["tool_name"] not in READING):
                return name, word
    for name in words_in(event["tool_input"]):
        if any(protection(path, listed) == "no-access" for path in forms(name, event)):
            return name, "no-access"
    return None


def main():
    found = verdict(json.load(sys.stdin.buffer))
    if found:
        name, word = found
        reason = f"{name} is protected ({word}). {ADVICE[word]}"
        json.dump({"decision": "deny", "reason": reason}, sys.stdout)


if __name__ == "__main__":
    main()
