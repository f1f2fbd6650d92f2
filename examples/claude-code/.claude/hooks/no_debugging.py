#!/usr/bin/env python3
"""Tells the model of debugging that it has left in a file. The file stays as it is written."""

import json
import sys

event = json.load(sys.stdin)
path = event["tool_input"].get("file_path", "")
try:
    with open(path, encoding="utf-8") as file:
        lines = [number for number, line in enumerate(file, 1) if "breakpoint()" in line]
except (OSError, UnicodeDecodeError):
    lines = []
if lines:
    places = ", ".join(map(str, lines))
    json.dump({"decision": "block", "reason": "breakpoint() in line " + places}, sys.stdout)
