#!/usr/bin/env python3
"""Runs on EVENT. The event is one JSON object on stdin, such as

    {"session_id": "…", "cwd": "…", "hook_event_name": "EVENT", …}

After exit 0 the agent goes on, and JSON on stdout, if any, is the answer; exit 2 blocks an event
that can be blocked, and stderr is the reason. Any other exit code, or an exception, means that this
script failed.
"""

import json
import sys

event = json.load(sys.stdin)

if "forbidden" in str(event):
    print("the event has a word that is forbidden", file=sys.stderr)
    sys.exit(2)
