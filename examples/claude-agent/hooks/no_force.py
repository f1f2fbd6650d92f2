#!/usr/bin/env python3
"""Denies pushes by force."""

import json
import re
import sys

FORCE = re.compile(r"\bgit\b.*\bpush\b.*(--force(?!-with-lease)|\s-f\b)")

command = json.load(sys.stdin)["tool_input"].get("command")
if not isinstance(command, str) or FORCE.search(command):
    json.dump({"decision": "deny", "reason": "use --force-with-lease"}, sys.stdout)
