#!/usr/bin/env python3
"""BeforeTool: mail goes to addresses of one's own company alone."""

import json
import sys

address = json.load(sys.stdin)["tool_input"].get("to", "")
if not address.endswith("@example.org"):
    sys.stderr.write(f"{address} is not one of us\n")
    sys.exit(2)
