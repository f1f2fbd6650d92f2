#!/usr/bin/env python3
"""Runs when the model has answered. The event is one JSON object on stdin, such as

    {"session_id": "…", "cwd": "…", "hook_event_name": "AfterModel", "llm_request": {…},
     "llm_response": {"candidates": [{"content": {"role": "model", "parts": ["Hi"]}}]}}

After exit 0 the agent goes on; exit 2 discards the answer, and stderr is the reason. Any other exit
code, or an exception, means that this script failed, and the answer is discarded too: the settings
say "onFailure": "block".
"""

import json
import re
import sys

response = json.load(sys.stdin)["llm_response"]
parts = [part for candidate in response["candidates"] for part in candidate["content"]["parts"]]

if any(re.search(r"AKIA[0-9A-Z]{16}", part) for part in parts):
    print("the answer held a secret and was discarded", file=sys.stderr)
    sys.exit(2)
