#!/usr/bin/env python3
"""Shows a notification on the desktop, if there is one, and posts it to a webhook, if one is set.

The agent waits for its hooks before it asks the user, so neither way may take long.
"""

import html
import http.client
import json
import os
import shutil
import subprocess
import sys
import urllib.request

SECONDS = 3
LONGEST = 200
FAILURES = (OSError, ValueError, http.client.HTTPException, subprocess.SubprocessError)
APPLESCRIPT = (
    "on run argv",
    "display notification (item 2 of argv) with title (item 1 of argv)",
    "end run",
)


def to_desktop(title, text):
    if shutil.which("notify-send"):
        # The text may hold markup, the title may not.
        command = ["notify-send", "--", title, html.escape(text, quote=False)]
    elif shutil.which("osascript"):
        lines = [word for line in APPLESCRIPT for word in ("-e", line)]
        command = ["osascript", *lines, title, text]
    else:
        return
    quiet = subprocess.DEVNULL
    subprocess.run(command, stdin=quiet, stdout=quiet, stderr=quiet, timeout=SECONDS, check=True)


def to_webhook(title, text):
    url = os.environ.get("NOTIFY_WEBHOOK_URL", "")
    if not url:
        return
    if not url.startswith(("https://", "http://")):
        raise ValueError("no web address")
    body = json.dumps({"text": f"{title}: {text}"}).encode()
    request = urllib.request.Request(url, data=body, headers={"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=SECONDS):
        pass


def details(event):
    """What a tool is about to do; for the desktop alone, since commands may hold secrets."""
    given = event.get("details", {})
    about = str(given.get("command") or given.get("filePath") or "")
    return f"{event['message']}\n{about[:LONGEST]}".strip()


def main():
    event = json.load(sys.stdin.buffer)
    project = os.environ.get("HOOKLINE_PROJECT_DIR") or event["cwd"]
    title = f"Agent in {os.path.basename(project)}"
    problems = []
    for send, text in ((to_desktop, details(event)), (to_webhook, event["message"])):
        try:
            send(title, text)
        except (
            OSError,
            ValueError,
            http.client.HTTPException,
            subprocess.SubprocessError,
        ) as error:
            # Its text may hold the address, and whoever has that can post there.
            code = getattr(error, "code", "")
            problems.append(f"{send.__name__}: {type(error).__name__} {code}".strip())
    if problems:
        sys.exit("; ".join(problems))


if __name__ == "__main__":
    main()
