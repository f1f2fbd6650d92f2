#!/usr/bin/env python3
"""Runs after a tool has run. The event is one JSON object on stdin, such as

    {"session_id": "…", "cwd": "…", "hook_event_name": "AfterTool", "tool_name": "write_file",
     "tool_input": {"file_path": "app.py", "content": "…"}, "tool_response": {…}}

Exit 0 goes on, with the JSON on stdout as the answer, if there is any; exit 2 puts what is on
stderr in the place of the tool's result. Any other exit code, an exception too, means that this
script failed, and the agent goes on as if it were not there.
"""

import json
import sys

CODE = (".py", ".js", ".ts", ".go", ".rs", ".java")

event = json.load(sys.stdin)

if event["tool_input"].get("file_path", "").endswith(CODE):
    context = "Run the tests of what you just changed."
    print(json.dumps({"hookSpecificOutput": {"additionalContext": context}}))
