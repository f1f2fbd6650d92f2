import json
import os
import sys

event = json.load(sys.stdin)
path = os.path.join(os.environ["CLAUDE_PROJECT_DIR"], "subagents.json")
counts = json.load(open(path)) if os.path.exists(path) else {}
counts[event["agent_type"]] = counts.get(event["agent_type"], 0) + 1
json.dump(counts, open(path, "w"))
if counts[event["agent_type"]] > 2:
    print(json.dumps({"decision": "block", "reason": "Three reviews are enough: sum them up."}))
