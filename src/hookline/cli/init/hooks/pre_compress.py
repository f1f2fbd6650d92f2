#!/usr/bin/env python3
"""Runs before the history is compressed. The event is one JSON object on stdin, such as

    {"session_id": "…", "cwd": "…", "hook_event_name": "PreCompress", "trigger": "auto"}

where trigger is auto or manual. Nothing can be blocked here; the JSON on stdout may have a message
for the user. Any exit code but 0, or an exception, means that this script failed, and the agent
goes on without it.
"""

import json
import sys

event = json.load(sys.stdin)

if event["trigger"] == "auto":
    message = "The history is being compressed; details of it may be lost."
    print(json.dumps({"systemMessage": message}))
