import json
import re
import sys

event = json.load(sys.stdin)
prompt = event["prompt"]
if re.search(r"AKIA[0-9A-Z]{16}", prompt):
    print("Take the key out of your prompt.", file=sys.stderr)
    sys.exit(2)
ticket = re.search(r"\b[A-Z]+-\d+\b", prompt)
if ticket:
    context = f"{ticket[0]} is about the export."
    output = {"hookEventName": "UserPromptSubmit", "additionalContext": context}
    print(json.dumps({"hookSpecificOutput": output}))
