#!/usr/bin/env python3
"""Runs when the agent is done with a prompt. The event is one JSON object on stdin, such as

    {"session_id": "…", "cwd": "…", "hook_event_name": "AfterAgent", "prompt": "Fix the tests",
     "prompt_response": "Done.", "stop_hook_active": false}

Exit 0 lets the agent end; exit 2 sends it back to work, with stderr as its next prompt. Any other
exit code, or an exception, means that this script failed, which sends it back too: the settings say
"onFailure": "block".
"""

import json
import sys

event = json.load(sys.stdin)

# An agent that was already sent back once may end; otherwise it might loop forever.
if "TODO" in event["prompt_response"] and not event.get("stop_hook_active"):
    print("your answer leaves a TODO; do it now, or say why it has to wait", file=sys.stderr)
    sys.exit(2)
