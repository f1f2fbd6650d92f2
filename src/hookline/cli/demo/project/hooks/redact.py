#!/usr/bin/env python3
"""Rewrites the model's answer: an address or a phone number becomes the name of its kind."""

import json
import re
import sys

PERSONAL = re.compile(
    r"(?P<EMAIL>[\w.+-]+@[\w-]+(?:\.[\w-]+)+)"
    r"|(?P<PHONE>(?:\+\d{1,3}[ .-]?)?(?:\(\d{3}\)|\b\d{3})[ .-]?\d{3}[ .-]?\d{4}\b)"
)

response = json.load(sys.stdin)["llm_response"]
candidates, changed = response.get("candidates", []), False
for candidate in candidates:
    # As one text: a number may go over the edge of a part.
    text = "".join(candidate["content"]["parts"])
    redacted = PERSONAL.sub(lambda found: f"[{found.lastgroup}]", text)
    if redacted != text:
        candidate["content"]["parts"], changed = [redacted], True

if changed:
    answer = {"hookEventName": "AfterModel", "llm_response": {"candidates": candidates}}
    print(json.dumps({"hookSpecificOutput": answer}))
