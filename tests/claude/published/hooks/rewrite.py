import json
import sys

old, new = sys.argv[1].split("=")
event = json.load(sys.stdin)
given = event["tool_input"]
words = given["command"].split()
if words and words[0] == old:
    given["command"] = " ".join([new, *words[1:]])
    output = {"hookEventName": "PreToolUse", "updatedInput": given}
    print(json.dumps({"hookSpecificOutput": output}))
