#!/usr/bin/env python3
"""Last in the chain: picks the model by the size of what will be sent, after the other two."""

import json
import os
import sys

LONG_ABOVE = 20000


def main():
    request = json.load(sys.stdin.buffer)["llm_request"]
    size = sum(len(message["content"]) for message in request["messages"])
    model = os.environ.get("LONG_MODEL" if size > LONG_ABOVE else "SHORT_MODEL")
    if model and model != request["model"]:
        answer = {"hookEventName": "BeforeModel", "llm_request": {"model": model}}
        json.dump({"hookSpecificOutput": answer}, sys.stdout)


if __name__ == "__main__":
    main()
