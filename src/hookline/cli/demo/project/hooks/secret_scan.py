#!/usr/bin/env python3
"""Blocks writes that contain a secret, and says where it is and what to do instead."""

import json
import re
import sys

SECRETS = {
    "an AWS access key": re.compile(r"\bAKIA[0-9A-Z]{16}\b"),
    "a GitHub token": re.compile(r"\bgh[pousr]_[0-9A-Za-z]{36,}\b"),
    "a private key": re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----"),
}

tool_input = json.load(sys.stdin)["tool_input"]
text = tool_input.get("content") or tool_input.get("new_string") or ""

for number, line in enumerate(text.splitlines(), start=1):
    for what, pattern in SECRETS.items():
        if pattern.search(line):
            file = tool_input.get("file_path", "the file")
            reason = f"{file}, line {number} holds {what}; read it from the environment instead"
            print(json.dumps({"decision": "deny", "reason": reason}))
            sys.exit(0)

print(json.dumps({"decision": "allow"}))
