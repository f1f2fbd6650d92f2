"""Sends the agent back where it has written something and run no tests since."""

import json
import sys

event = json.load(sys.stdin)
if event["stop_hook_active"] or not event["transcript_path"]:
    sys.exit()
untested = False
with open(event["transcript_path"], encoding="utf-8") as transcript:
    for line in transcript:
        message = json.loads(line).get("message") or {}
        content = message.get("content")
        for block in content if isinstance(content, list) else []:
            if block.get("type") == "tool_use" and block["name"] in ("Write", "Edit"):
                untested = True
            elif block.get("type") == "tool_use" and "pytest" in json.dumps(block["input"]):
                untested = False
if untested:
    message = "You have changed files and run no tests since. Run pytest."
    json.dump({"decision": "block", "reason": message, "systemMessage": "Sent back."}, sys.stdout)
