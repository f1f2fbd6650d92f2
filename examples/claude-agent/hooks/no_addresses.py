#!/usr/bin/env python3
"""Replaces mail addresses in the results of tools."""

import json
import re
import sys

ADDRESS = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")

text = json.load(sys.stdin)["tool_response"]["llmContent"]
hidden = ADDRESS.sub("[address]", text) if isinstance(text, str) else "[not a text]"
if hidden != text:
    json.dump({"decision": "deny", "reason": hidden}, sys.stdout)
