#!/usr/bin/env python3
import json
import os
import sys

root = os.environ.get("CLAUDE_PLUGIN_ROOT")
sys.path.insert(0, root or os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from rules.engine import find_rule  # noqa: E402

event = json.load(sys.stdin)
rule = find_rule(event.get("tool_input", {}).get("file_path", ""))
if rule:
    print(
        json.dumps(
            {
                "hookSpecificOutput": {
                    "hookEventName": event["hook_event_name"],
                    "permissionDecision": "deny",
                    "permissionDecisionReason": f"{rule} is generated: change its source.",
                }
            }
        )
    )
sys.exit(0)
