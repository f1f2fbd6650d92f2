#!/usr/bin/env python3
"""Denies a tool call whose input holds a secret; the answer says where and what kind, never which.

Settings say "onFailure": "block", so anything unexpected here ends in a denial, not in a leak.
"""

import json
import re
import sys

# Formats that nothing but a secret has.
KNOWN = {
    "an AWS access key": r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b",
    "a GitHub token": r"\b(?:gh[pousr]_[0-9A-Za-z]{36,}|github_pat_[0-9A-Za-z_]{22,})",
    "a GitLab token": r"\bglpat-[0-9A-Za-z_-]{20,}",
    "a Slack token": r"\bxox[abeoprs]-[0-9A-Za-z-]{10,}",
    "a Google API key": r"\bAIza[0-9A-Za-z_-]{35}",
    "a Stripe key": r"\b[rs]k_live_[0-9A-Za-z]{16,}",
    "an OpenAI or Anthropic key": r"\bsk-[0-9A-Za-z_-]{20,}",
    "a JSON web token": r"\beyJ[0-9A-Za-z_-]{8,}\.eyJ[0-9A-Za-z_-]{8,}\.[0-9A-Za-z_-]{8,}",
    "a private key": r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----",
}
# A value given to a telling name: password = "…", "api_key": "…", and SECRET_TOKEN=… on its own.
TELLING = r"(?:password|passwd|secret|token|api_?key|access_?key|private_?key)s?(?:[_-]\w{0,40})?"
ASSIGNED = (
    re.compile(rf"""(?i){TELLING}["']?\s{{0,9}}:?[:=]\s{{0,9}}(["'])(?P<value>[^"'\s]{{8,}})\1"""),
    re.compile(
        rf"(?im)^[ \t]*(?:export )?\w{{0,40}}?{TELLING}=(?P<value>(?=\S*\d)[\w+/=.~-]{{8,}})$"
    ),
)
PLACEHOLDER = re.compile(
    r"(?i)^[<$%{]|example|change.?me|placeholder|dummy|your[_-]|redacted|^(.)\1+$"
)
# What a call takes out of a file may hold a secret: that is how one gets rid of it.
NOT_SCANNED = {"old_string", "old_str", "file_path", "path"}


def texts(value, place=""):
    """Every text of the input with its place in it."""
    if isinstance(value, str):
        yield place, value
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from texts(item, f"{place}[{index}]")
    elif isinstance(value, dict):
        for key, item in value.items():
            if key not in NOT_SCANNED:
                yield from texts(item, f"{place}.{key}" if place else key)


def secrets(text):
    """Kind and position of each secret in a text."""
    for kind, pattern in KNOWN.items():
        for match in re.finditer(pattern, text):
            yield kind, match.start()
    for pattern in ASSIGNED:
        for match in pattern.finditer(text):
            if not PLACEHOLDER.search(match.group("value")):
                yield "a hard-coded credential", match.start()


def findings(tool_input):
    for place, text in texts(tool_input):
        for kind, position in secrets(text):
            line = text.count("\n", 0, position) + 1
            yield f"{kind} in line {line} of {place}"


def main():
    event = json.load(sys.stdin.buffer)
    found = sorted(set(findings(event["tool_input"])))
    if not found:
        return
    reason = (
        f"Not run, because it holds a secret: {'; '.join(found[:5])}. Secrets stay out of files "
        "and commands. Read the value from an environment variable or the project's secret store, "
        "name that variable in the documentation, and ask the user to set it."
    )
    json.dump({"decision": "deny", "reason": reason}, sys.stdout)


if __name__ == "__main__":
    main()
