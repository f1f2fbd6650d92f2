#!/usr/bin/env python3
"""Runs when a session starts. The event is one JSON object on stdin, such as

    {"session_id": "…", "cwd": "…", "hook_event_name": "SessionStart", "source": "startup"}

where source is startup, resume, clear or compress. Nothing can be blocked here; the JSON on stdout
may give the agent context. Any exit code but 0, or an exception, means that this script failed, and
the agent goes on without it.
"""

import json
import sys

event = json.load(sys.stdin)

if event["source"] in ("startup", "clear"):
    context = "The tests of this project: make test"
    print(json.dumps({"hookSpecificOutput": {"additionalContext": context}}))
