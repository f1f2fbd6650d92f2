#!/usr/bin/env python3
"""Counts the model calls and tokens of a session: past one limit it saves, past another it ends.

The count is a file to which lines are only ever added, so agents of one session can count at once.
"""

import json
import os
import re
import sys

# A rough rule for models that do not say what a call took.
CHARACTERS_PER_TOKEN = 4


def limit(name):
    """A number of the settings; 0 or nothing is no limit."""
    return int(os.environ.get(name) or 0) or float("inf")


def ledger(event):
    """The file that a session is counted in."""
    project = os.environ.get("HOOKLINE_PROJECT_DIR") or event["cwd"]
    folder = os.path.join(project, ".hookline", "state")
    os.makedirs(folder, mode=0o700, exist_ok=True)
    return os.path.join(folder, f"cost-{re.sub(r'[^0-9A-Za-z-]', '_', event['session_id'])}.jsonl")


def add(event, **spent):
    entry = {"time": event["timestamp"], "model": event["llm_request"]["model"], **spent}
    with open(ledger(event), "a", encoding="utf-8") as file:
        file.write(json.dumps(entry) + "\n")


def total(event):
    """The calls and tokens of the session so far."""
    try:
        with open(ledger(event), encoding="utf-8") as file:
            entries = [json.loads(line) for line in file]
    except FileNotFoundError:
        return 0, 0
    return sum(e.get("calls", 0) for e in entries), sum(e.get("tokens", 0) for e in entries)


def before(event):
    calls, tokens = total(event)
    if calls >= limit("COST_HARD_CALLS") or tokens >= limit("COST_HARD_TOKENS"):
        reason = (
            f"This session has used up its budget with {calls} model calls and {tokens} tokens. "
            "Start a new session, or raise COST_HARD_CALLS and COST_HARD_TOKENS in "
            ".hookline/settings.json."
        )
        return {"decision": "deny", "reason": reason}
    add(event, calls=1)
    if calls >= limit("COST_SOFT_CALLS") or tokens >= limit("COST_SOFT_TOKENS"):
        answer = {"hookEventName": "BeforeModel", "llm_request": cheaper(event["llm_request"])}
        return {"hookSpecificOutput": answer}
    return None


def cheaper(request):
    """What to change in a request so that it costs less."""
    changes = {}
    if os.environ.get("COST_CHEAP_MODEL"):
        changes["model"] = os.environ["COST_CHEAP_MODEL"]
    asked = request.get("config", {}).get("maxOutputTokens") or float("inf")
    most = min(asked, limit("COST_MAX_OUTPUT_TOKENS"))
    if most < asked:
        changes["config"] = {"maxOutputTokens": most}
    return changes


def after(event):
    usage = event["llm_response"].get("usageMetadata", {})
    tokens = usage.get("totalTokenCount")
    if tokens is None:
        add(event, tokens=estimate(event), estimated=True)
    else:
        add(event, tokens=tokens)


def estimate(event):
    texts = [message["content"] for message in event["llm_request"]["messages"]]
    for candidate in event["llm_response"].get("candidates", []):
        texts += candidate["content"]["parts"]
    return sum(map(len, texts)) // CHARACTERS_PER_TOKEN


def main():
    event = json.load(sys.stdin.buffer)
    answer = {"BeforeModel": before, "AfterModel": after}[event["hook_event_name"]](event)
    if answer is not None:
        json.dump(answer, sys.stdout)


if __name__ == "__main__":
    main()
