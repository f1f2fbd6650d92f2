#!/usr/bin/env python3
"""Runs before a request goes to the model. The event is one JSON object on stdin, such as

    {"session_id": "…", "cwd": "…", "hook_event_name": "BeforeModel",
     "llm_request": {"model": "…", "messages": [{"role": "user", "content": "Hello"}],
                     "config": {"temperature": 1}}}

After exit 0 the agent goes on, and JSON on stdout, if any, is the answer: it changes the fields of
llm_request that it names. Exit 2 keeps the request from being sent, and stderr is the reason. Any
other exit code, or an exception, means that this script failed, and the request is not sent either:
the settings say "onFailure": "block".
"""

import json
import re
import sys

request = json.load(sys.stdin)["llm_request"]

if any(re.search(r"AKIA[0-9A-Z]{16}", message["content"]) for message in request["messages"]):
    print("the request holds a secret, which must not leave this machine", file=sys.stderr)
    sys.exit(2)
print(json.dumps({"hookSpecificOutput": {"llm_request": {"config": {"temperature": 0}}}}))
