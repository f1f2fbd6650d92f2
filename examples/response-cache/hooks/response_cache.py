#!/usr/bin/env python3
"""Answers a question that was asked before from a file, and keeps an answer once its turn is over.

Hooks read the texts of a conversation, but not its tool calls and what came of them, so requests
that look the same need not be.  A session that has used a tool is left alone from then on.
"""

import hashlib
import json
import os
import re
import sys
import tempfile
import time

HOUR = 3600
MAX_AGE = 24 * HOUR
# Session ids, times and the like are not in the key: they differ each time and change no answer.
KEYED = ("model", "messages", "config", "toolConfig")
# Change it to forget all answers, as after a change of the system instruction, which is not shown.
VERSION = "1"


def place(event, kind, name):
    project = os.environ.get("HOOKLINE_PROJECT_DIR") or event["cwd"]
    return os.path.join(project, ".hookline", "state", "responses", f"{kind}-{name}.json")


def session_note(event):
    """Where is kept what is known of a session: the key of a call under way, or that it is over."""
    return place(event, "session", re.sub(r"[^0-9A-Za-z-]", "_", event["session_id"]))


def key_of(request):
    asked = [VERSION, {name: request.get(name) for name in KEYED}]
    return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()


def read(path, *, max_age=None):
    """What a file holds; nothing when it is not there, too old or damaged."""
    try:
        if max_age is not None and time.time() - os.path.getmtime(path) > max_age:
            return {}
        with open(path, encoding="utf-8") as file:
            value = json.load(file)
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def write(path, value):
    """The file is replaced at once, so nobody ever reads half of it."""
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    descriptor, scratch = tempfile.mkstemp(prefix="new-", dir=os.path.dirname(path))
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump(value, file)
        os.replace(scratch, path)
    except BaseException:
        os.unlink(scratch)
        raise


def forget_old(folder):
    """Answers are gone when their time is up, notes on sessions when those are long over."""
    for entry in os.scandir(folder):
        max_age = 30 * MAX_AGE if entry.name.startswith("session-") else MAX_AGE
        if time.time() - entry.stat().st_mtime > max_age:
            os.unlink(entry.path)


def before_model(event):
    note = session_note(event)
    if os.path.exists(note):
        # The second call of a turn: the first has asked for a tool.
        leave_alone(event)
        return
    key = key_of(event["llm_request"])
    text = read(place(event, "answer", key), max_age=MAX_AGE).get("text")
    if isinstance(text, str):
        reply(text)
    else:
        write(note, {"key": key})


def reply(text):
    candidate = {"content": {"role": "model", "parts": [text]}, "finishReason": "STOP", "index": 0}
    answer = {"hookEventName": "BeforeModel", "llm_response": {"candidates": [candidate]}}
    json.dump({"hookSpecificOutput": answer}, sys.stdout)


def after_model(event):
    note = read(session_note(event))
    reasons = [c.get("finishReason") for c in event["llm_response"].get("candidates", [])]
    if "key" in note and reasons == ["STOP"]:
        write(session_note(event), {**note, "complete": True})


def after_agent(event):
    """What other hooks left of the answer is what is kept."""
    note = read(session_note(event))
    if "key" not in note:
        return
    if note.get("complete") and event["prompt_response"].strip():
        path = place(event, "answer", note["key"])
        write(path, {"text": event["prompt_response"]})
        forget_old(os.path.dirname(path))
    os.unlink(session_note(event))


def leave_alone(event):
    write(session_note(event), {})


ACTIONS = {
    "BeforeModel": before_model,
    "AfterModel": after_model,
    "AfterAgent": after_agent,
    "BeforeTool": leave_alone,
    "SessionStart": leave_alone,
}


def main():
    event = json.load(sys.stdin.buffer)
    ACTIONS[event["hook_event_name"]](event)


if __name__ == "__main__":
    main()
