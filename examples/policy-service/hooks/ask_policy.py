#!/usr/bin/env python3
"""Asks a policy service about a tool call: the event is posted, a decision comes back.

The time limit is the hook's `timeout` in the settings. Past it, and whenever there is no proper
answer, this has failed, and `onFailure` in the settings says what that means.
"""

import http.client
import json
import os
import sys
import urllib.request

DECISIONS = ("allow", "ask", "deny")
# For those who run this by hand: a hook is ended long before.
SECONDS = 60


def ask(url, event):
    headers = {"Content-Type": "application/json", "Accept": "application/json"}
    if os.environ.get("POLICY_TOKEN"):
        headers["Authorization"] = f"Bearer {os.environ['POLICY_TOKEN']}"
    request = urllib.request.Request(url, data=json.dumps(event).encode(), headers=headers)
    with urllib.request.urlopen(request, timeout=SECONDS) as response:
        return json.loads(response.read())


def decision_of(verdict):
    """Only what a policy may say is handed on."""
    if not isinstance(verdict, dict) or verdict.get("decision") not in DECISIONS:
        raise ValueError(f"it did not say one of {', '.join(DECISIONS)}")
    answer = {"decision": verdict["decision"]}
    if verdict["decision"] != "allow":
        answer["reason"] = str(
            verdict.get("reason")
            or "The policy service does not allow this call. Tell the user what it was for."
        )
    return answer


def main():
    event = json.load(sys.stdin.buffer)
    url = os.environ.get("POLICY_URL", "")
    if not url.startswith(("https://", "http://")):
        sys.exit("POLICY_URL is not set to a web address")
    try:
        answer = decision_of(ask(url, event))
    except (OSError, ValueError, http.client.HTTPException) as error:
        sys.exit(f"no answer of the policy service: {error}")
    json.dump(answer, sys.stdout)


if __name__ == "__main__":
    main()
