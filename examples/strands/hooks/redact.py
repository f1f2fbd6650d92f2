#!/usr/bin/env python3
"""AfterModel: replaces mail addresses in what the model says."""

import json
import re
import sys

text = json.load(sys.stdin)["llm_response"].get("text", "")
redacted = re.sub(r"[\w.+-]+@[\w-]+\.[\w.-]+\w", "[address]", text)
if redacted != text:
    json.dump({"hookSpecificOutput": {"llm_response": {"text": redacted}}}, sys.stdout)
