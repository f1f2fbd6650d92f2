#!/usr/bin/env python3
"""Runs when a session ends. The event is one JSON object on stdin, such as

    {"session_id": "…", "cwd": "…", "hook_event_name": "SessionEnd", "reason": "exit"}

where reason is exit, clear, logout, prompt_input_exit or other. Nothing can be blocked here; the
JSON on stdout may have a message for the user. Any exit code but 0, or an exception, means that
this script failed, and the agent goes on without it.
"""

import json
import sys

event = json.load(sys.stdin)

if event["reason"] in ("exit", "logout"):
    message = "The session is over; look at git status before you go."
    print(json.dumps({"systemMessage": message}))
