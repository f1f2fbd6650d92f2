#!/usr/bin/env python3
"""Runs after a tool has run. The event is one JSON object on stdin, such as

    {"session_id": "…", "cwd": "…", "hook_event_name": "AfterTool", "tool_name": "write_file",
     "tool_input": {"file_path": "app.py", "content": "…"}, "tool_response": {…}}

After exit 0 the agent goes on, and JSON on stdout, if any, is the answer; exit 2 replaces the
tool's result with stderr. Any other exit code, or an exception, means that this script failed,
which replaces it too: the settings say "onFailure": "block".
"""

import json
import sys

CODE = (".py", ".js", ".ts", ".go", ".rs", ".java")

event = json.load(sys.stdin)

if event["tool_input"].get("file_path", "").endswith(CODE):
    context = "Run the tests of what you just changed."
    print(json.dumps({"hookSpecificOutput": {"additionalContext": context}}))
