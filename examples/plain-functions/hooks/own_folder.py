#!/usr/bin/env python3
"""BeforeTool: notes go into the folder "notes" alone; a bare name is put there."""

import json
import posixpath
import sys

path = json.load(sys.stdin)["tool_input"].get("path", "")
inside = posixpath.normpath(path)
if "/" not in inside and inside not in ("", ".", ".."):
    inside = "notes/" + inside
if not inside.startswith("notes/"):
    sys.stderr.write(f"{path} is not in the folder notes\n")
    sys.exit(2)
if inside != path:
    json.dump({"hookSpecificOutput": {"tool_input": {"path": inside}}}, sys.stdout)
