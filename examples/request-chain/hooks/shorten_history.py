#!/usr/bin/env python3
"""First in the chain: cuts long messages of earlier turns, in what is sent, not in the history."""

import json
import sys

# The last messages are what the model works on; they stay as they are.
UNTOUCHED = 4
LONGEST = 2000


def shortened(text):
    over = len(text) - LONGEST
    if over <= 0:
        return text
    half = LONGEST // 2
    return f"{text[:half]}\n[{over} characters left out]\n{text[-half:]}"


def main():
    messages = json.load(sys.stdin.buffer)["llm_request"]["messages"]
    old, new = messages[:-UNTOUCHED], messages[-UNTOUCHED:]
    kept = [{**message, "content": shortened(message["content"])} for message in old]
    if kept != old:
        answer = {"hookEventName": "BeforeModel", "llm_request": {"messages": kept + new}}
        json.dump({"hookSpecificOutput": answer}, sys.stdout)


if __name__ == "__main__":
    main()
