#!/usr/bin/env python3
"""Replaces mail addresses in the answers of the model."""

import json
import re
import sys

ADDRESS = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")

candidates = json.load(sys.stdin)["llm_response"]["candidates"]
for candidate in candidates:
    content = candidate["content"]
    content["parts"] = [ADDRESS.sub("[address]", part) for part in content["parts"]]
json.dump({"hookSpecificOutput": {"llm_response": {"candidates": candidates}}}, sys.stdout)
