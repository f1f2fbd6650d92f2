#!/usr/bin/env python3
"""Runs when the user is about to be told or asked something. The event is one JSON object on stdin,
such as

    {"session_id": "…", "cwd": "…", "hook_event_name": "Notification",
     "message": "May I run make?", "notification_type": "ToolPermission"}

Nothing can be blocked here; the JSON on stdout may have a message for the user. Any exit code but
0, or an exception, means that this script failed, and the agent goes on without it.
"""

import json
import sys

event = json.load(sys.stdin)

if event.get("notification_type") == "ToolPermission":
    # Call notify-send or osascript here, or send a chat message.
    print(json.dumps({"systemMessage": "The agent waits for your permission."}))
