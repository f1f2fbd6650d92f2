#!/usr/bin/env python3
"""Rewrites the tool's input: a forced push may only overwrite what one has seen."""

import json
import re
import sys

command = json.load(sys.stdin)["tool_input"].get("command", "")
safer = re.sub(r"(git push\b.*)--force(?!-)", r"\1--force-with-lease", command)

if safer != command:
    answer = {"hookSpecificOutput": {"tool_input": {"command": safer}}}
    print(json.dumps(answer))
