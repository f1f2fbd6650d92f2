"""Has pytest say less: the model reads all of it."""

import json
import sys

event = json.load(sys.stdin)
command = event["tool_input"].get("command", "")
if command.split()[:1] == ["pytest"] and "-q" not in command.split():
    updated = dict(event["tool_input"], command=command + " -q")
    own = {"hookEventName": "PreToolUse", "updatedInput": updated}
    json.dump({"hookSpecificOutput": own}, sys.stdout)
