#!/usr/bin/env python3
"""Runs before the agent starts on a prompt. The event is one JSON object on stdin, such as

    {"session_id": "…", "cwd": "…", "hook_event_name": "BeforeAgent", "prompt": "Fix the tests"}

After exit 0 the agent goes on, and JSON on stdout, if any, is the answer; exit 2 refuses the
prompt, and stderr is the reason. Any other exit code, or an exception, means that this script
failed, and the prompt is refused too: the settings say "onFailure": "block".
"""

import json
import re
import sys

prompt = json.load(sys.stdin)["prompt"]

if re.search(r"AKIA[0-9A-Z]{16}", prompt):
    print("the prompt holds a secret; take it out and ask again", file=sys.stderr)
    sys.exit(2)
if "test" in prompt.lower():
    context = "The tests of this project: make test"
    print(json.dumps({"hookSpecificOutput": {"additionalContext": context}}))
