#!/usr/bin/env python3
"""AfterTool: an AWS key in what a tool gave is hidden from the model."""

import json
import re
import sys

response = json.load(sys.stdin)["tool_response"]
shown = response["llmContent"]
text = shown if isinstance(shown, str) else json.dumps(shown)
if re.search(r"AKIA[0-9A-Z]{4,}", json.dumps(response)):
    hidden = re.sub(r"AKIA[0-9A-Z]{4,}", "[key]", text)
    json.dump({"decision": "deny", "reason": hidden}, sys.stdout)
