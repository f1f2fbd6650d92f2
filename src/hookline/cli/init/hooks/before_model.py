#!/usr/bin/env python3
"""Runs before a request goes to the model. The event is one JSON object on stdin, such as

    {"session_id": "…", "cwd": "…", "hook_event_name": "BeforeModel",
     "llm_request": {"model": "…", "messages": [{"role": "user", "content": "Hello"}],
                     "config": {"temperature": 1}}}

Exit 0 goes on, with the JSON on stdout as the answer, if there is any: what it names in llm_request
is changed. Exit 2 keeps the request from the model, and what is on stderr is the reason. Any other
exit code, an exception too, means that this script failed, and the agent goes on as if it were not
there.
"""

import json
import re
import sys

request = json.load(sys.stdin)["llm_request"]

if any(re.search(r"AKIA[0-9A-Z]{16}", message["content"]) for message in request["messages"]):
    print("the request holds a secret, which must not leave this machine", file=sys.stderr)
    sys.exit(2)
print(json.dumps({"hookSpecificOutput": {"llm_request": {"config": {"temperature": 0}}}}))
