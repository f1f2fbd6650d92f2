#!/usr/bin/env python3
"""AfterTool: a note that holds an AWS key is not shown to the model."""

import json
import re
import sys

response = json.load(sys.stdin)["tool_response"]
if re.search(r"AKIA[0-9A-Z]{4}", json.dumps(response)):
    sys.stderr.write("this note holds an AWS key\n")
    sys.exit(2)
