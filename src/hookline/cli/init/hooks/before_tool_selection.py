#!/usr/bin/env python3
"""Runs before the model is offered its tools. The event is one JSON object on stdin, such as

    {"session_id": "…", "cwd": "…", "hook_event_name": "BeforeToolSelection",
     "llm_request": {"model": "…", "messages": […]}, "available_tools": ["read_file", "glob"]}

The JSON on stdout names the only tools that the model may use. Exit 2 leaves no tools at all; any
other exit code but 0, or an exception, means that this script failed, and leaves none either: the
settings say "onFailure": "block".
"""

import json
import sys

READING = ["read_file", "list_directory", "glob", "search_file_content"]

json.load(sys.stdin)
tool_config = {"mode": "AUTO", "allowedFunctionNames": READING}
print(json.dumps({"hookSpecificOutput": {"toolConfig": tool_config}}))
