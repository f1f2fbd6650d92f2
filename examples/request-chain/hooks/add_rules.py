#!/usr/bin/env python3
"""Second in the chain: puts the project's rules in front of what the first has left.

Not the other way round, or rules that are long would be cut as an old message.
"""

import json
import os
import sys

RULES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "rules.md")


def main():
    messages = json.load(sys.stdin.buffer)["llm_request"]["messages"]
    with open(RULES, encoding="utf-8") as file:
        rules = file.read().strip()
    if rules:
        told = [{"role": "user", "content": rules}, *messages]
        answer = {"hookEventName": "BeforeModel", "llm_request": {"messages": told}}
        json.dump({"hookSpecificOutput": answer}, sys.stdout)


if __name__ == "__main__":
    main()
