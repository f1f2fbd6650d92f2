#!/usr/bin/env python3
"""BeforeTool: denies a forced push, asks before files are deleted."""

import json
import sys

command = json.load(sys.stdin)["tool_input"].get("command", "")
if "--force" in command.split():
    sys.stderr.write("use --force-with-lease\n")
    sys.exit(2)
if command.startswith("rm "):
    json.dump({"decision": "ask", "reason": "it deletes files"}, sys.stdout)
