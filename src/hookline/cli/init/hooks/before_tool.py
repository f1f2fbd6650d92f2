#!/usr/bin/env python3
"""Runs before a tool runs. The event is one JSON object on stdin, such as

    {"session_id": "…", "cwd": "…", "hook_event_name": "BeforeTool",
     "tool_name": "run_shell_command", "tool_input": {"command": "ls -l"}}

Exit 0 lets the tool run; exit 2 blocks it, and stderr is the reason. Any
other exit code, or an exception, means that this script failed, and the
tool is blocked too: the settings say "onFailure": "block".
"""

import json
import re
import sys

DELETES_ALL = re.compile(r"\brm\s+-(?:rf|fr|r|R)\s+[/~](?:[\s*]|$)")
SECRET = re.compile(r"AKIA[0-9A-Z]{16}|-----BEGIN [A-Z ]*PRIVATE KEY")

event = json.load(sys.stdin)
tool_input = event["tool_input"]
texts = [value for value in tool_input.values() if isinstance(value, str)]
is_command = event["tool_name"] == "run_shell_command"

if is_command and DELETES_ALL.search(tool_input["command"]):
    print(
        "this would delete everything; name the files to delete",
        file=sys.stderr,
    )
    sys.exit(2)
if any(SECRET.search(text) for text in texts):
    print(
        "this holds a secret; read it from the environment instead",
        file=sys.stderr,
    )
    sys.exit(2)
