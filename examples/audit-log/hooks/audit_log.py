#!/usr/bin/env python3
"""Appends each event to a log, as one line of JSON, with secrets masked and long texts cut.

It would rather mask too much than too little: a log is read by more people than the files are.
"""

import fcntl
import json
import os
import re
import sys

LOG = os.path.join(".hookline", "state", "audit.jsonl")
MAX_BYTES = int(os.environ.get("AUDIT_MAX_BYTES") or 5000000)
KEPT_FILES = 3
LONGEST_TEXT = 2000

MASK = "[masked]"
TELLING = (
    r"(?:passw(?:or)?d|passphrase|secret|token|api[_-]?key|access[_-]?key|private[_-]?key"
    r"|authorization|credential|cookie)s?"
)
# As in `password: …`, `"api_key": "…"` and `SECRET_TOKEN=…`, up to the value.
GIVEN = rf"""{TELLING}[\w-]{{0,40}}\\?["']?\s{{0,5}}:?[:=]\s{{0,5}}"""
TELLING_NAME = re.compile(rf"(?i){TELLING}")
# In this order: what an earlier one masked, a later one does not see.
SECRETS = (
    (r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY.*?(?:-----END [A-Z0-9 ]{0,60}-----|\Z)", MASK),
    (r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b", MASK),
    (r"\b(?:gh[pousr]_|github_pat_|glpat-|xox[abeoprs]-|[rs]k_live_|sk-|AIza)[\w-]{10,}", MASK),
    (r"\beyJ[\w-]{8,}\.[\w.-]{8,}", MASK),
    (r"(://[^\s/:@]{0,100}:)[^\s/@]{1,200}@", rf"\1{MASK}@"),
    (r"(?i)\b(bearer|basic)\s+[\w+/=.~-]{8,}", rf"\1 {MASK}"),
    (rf"""(?i)(--?{TELLING}\s+)("[^"]*"|'[^']*'|\S+)""", rf"\1{MASK}"),
    (rf"""(?i)({GIVEN}\\?(["']))(?:(?!\2).){{1,500}}""", rf"\1{MASK}"),
    (rf"""(?i)({GIVEN})[^\s"',;&\\]{{3,}}""", rf"\1{MASK}"),
)
SECRETS = tuple((re.compile(pattern, re.DOTALL), mask) for pattern, mask in SECRETS)


def masked(value, is_secret=False):
    """A copy in which no text holds what looks like a secret, and none is very long."""
    if isinstance(value, dict):
        return {
            key: masked(item, is_secret or bool(TELLING_NAME.search(key)))
            for key, item in value.items()
        }
    if isinstance(value, list):
        return [masked(item, is_secret) for item in value]
    if not isinstance(value, str):
        return value
    return MASK if is_secret else readable(value)


def readable(text):
    # A secret that begins before the cut has to be seen up to its end.
    beginning = text[: 2 * LONGEST_TEXT]
    for pattern, mask in SECRETS:
        beginning = pattern.sub(mask, beginning)
    over = len(text) - LONGEST_TEXT
    return f"{beginning[:LONGEST_TEXT]} [{over} more characters]" if over > 0 else beginning


def shortened(event):
    """Every request holds the whole conversation; what is new in it is the last message."""
    request = event.get("llm_request")
    if request is None:
        return event
    messages = request.get("messages", [])
    brief = {**request, "messages": len(messages), "last_message": messages[-1:]}
    return {**event, "llm_request": brief}


def append(path, line):
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    folder = os.open(os.path.dirname(path), os.O_RDONLY)
    try:
        # Tools run at once, and no line may go to a file that another hook is moving away.
        fcntl.flock(folder, fcntl.LOCK_EX)
        if os.path.exists(path) and os.path.getsize(path) + len(line) > MAX_BYTES:
            rotate(path)
        log = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        with open(log, "ab") as file:
            file.write(line)
    finally:
        os.close(folder)


def rotate(path):
    """The log becomes number 1, 1 becomes 2, and the last one goes."""
    names = [path] + [f"{path}.{number}" for number in range(1, KEPT_FILES + 1)]
    for number in range(KEPT_FILES, 0, -1):
        if os.path.exists(names[number - 1]):
            os.replace(names[number - 1], names[number])


def main():
    event = json.load(sys.stdin.buffer)
    project = os.environ.get("HOOKLINE_PROJECT_DIR") or event["cwd"]
    line = json.dumps(masked(shortened(event))) + "\n"
    append(os.path.join(project, LOG), line.encode())


if __name__ == "__main__":
    main()
