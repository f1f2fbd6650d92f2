#!/bin/sh
# Runs when the model has answered. The event is one JSON object on stdin, such as
#   {"session_id": "…", "cwd": "…", "hook_event_name": "AfterModel", "llm_request": {…},
#    "llm_response": {"candidates": [{"content": {"role": "model", "parts": ["Hi"]}}]}}
# Exit 0 goes on; exit 2 discards the answer, and what is on stderr is the reason. Any other exit
# code means that this script failed, and the agent goes on as if it were not there.

event=$(cat)

# A shell cannot read JSON: this looks at the text as it is, and so also sees what only looks like
# a match. That is enough for a few words; for more use jq, or begin with `hookline init python`.
if printf '%s' "$event" | sed 's/.*"llm_response"//' | grep -Eq 'AKIA[0-9A-Z]{16}'; then
  echo 'the answer held a secret and was discarded' >&2
  exit 2
fi
exit 0
