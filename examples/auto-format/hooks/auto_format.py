#!/usr/bin/env python3
"""Formats the file a tool wrote, and tells the model so that its next edit fits what is there.

A suffix may have a formatter of its own: FORMAT_PY="ruff format --quiet" in the hook's `env`. The
rest get what needs no installation. Trouble of any kind leaves the file as it is.
"""

import json
import os
import re
import shlex
import subprocess
import sys

# Spaces at the end of a line mean something in these.
SPACES_COUNT = {".md", ".markdown", ".diff", ".patch"}


def tidy(text, suffix):
    """No spaces at the ends of lines, one line end at the end of the file, JSON laid out."""
    line_end = "\r\n" if "\r\n" in text else "\n"
    if suffix == ".json":
        text = laid_out(text, line_end)
    if suffix not in SPACES_COUNT:
        text = re.sub(r"[ \t]+(?=\r?$)", "", text, flags=re.MULTILINE)
    return text.rstrip("\r\n") + line_end if text.strip() else text


def laid_out(text, line_end):
    """JSON with two spaces a level; as it is when a value or a key would not survive that."""
    try:
        value = json.loads(text, object_pairs_hook=without_doubles, parse_float=exactly)
    except ValueError:
        return text
    return json.dumps(value, indent=2, ensure_ascii=False).replace("\n", line_end)


def without_doubles(pairs):
    if len(dict(pairs)) != len(pairs):
        raise ValueError("a key occurs twice")
    return dict(pairs)


def exactly(digits):
    if repr(float(digits)) != digits:
        raise ValueError("this number would be written differently")
    return float(digits)


def format_file(path):
    """Format one file; gives whether that changed it."""
    with open(path, "rb") as file:
        before = file.read()
    suffix = os.path.splitext(path)[1].lower()
    command = os.environ.get("FORMAT_" + suffix[1:].upper())
    if command:
        # Its output is not an answer of this hook.
        subprocess.run([*shlex.split(command), path], stdout=sys.stderr, check=True)
    else:
        after = tidy(before.decode("utf-8"), suffix).encode("utf-8")
        if after != before:
            with open(path, "wb") as file:
                file.write(after)
    with open(path, "rb") as file:
        return file.read() != before


def written_file(event):
    """The file that the tool wrote, when it did and it is one of the project's."""
    name = event["tool_input"].get("file_path") or event["tool_input"].get("path")
    if event["tool_response"].get("error") or not isinstance(name, str):
        return None
    project = os.path.realpath(os.environ.get("HOOKLINE_PROJECT_DIR") or event["cwd"])
    path = os.path.realpath(os.path.join(event["cwd"], name))
    return path if path.startswith(project + os.sep) and os.path.isfile(path) else None


def main():
    event = json.load(sys.stdin.buffer)
    path = written_file(event)
    if path is None or not format_file(path):
        return
    name = os.path.relpath(path, os.path.realpath(event["cwd"]))
    context = (
        f"{name} was formatted after you wrote it: what is on disk differs in layout from what you "
        "sent. Read it before you edit it again."
    )
    answer = {"hookEventName": "AfterTool", "additionalContext": context}
    json.dump({"hookSpecificOutput": answer}, sys.stdout)


if __name__ == "__main__":
    main()
