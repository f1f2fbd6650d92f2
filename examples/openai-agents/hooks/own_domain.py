#!/usr/bin/env python3
"""Denies mail to other domains than our own."""

import json
import sys

OWN = "@example.org"

to = json.load(sys.stdin)["tool_input"].get("to")
if not isinstance(to, str) or not to.endswith(OWN):
    reason = "mail goes to " + OWN[1:] + " alone"
    json.dump({"decision": "deny", "reason": reason}, sys.stdout)
