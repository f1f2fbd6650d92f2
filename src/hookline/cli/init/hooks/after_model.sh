#!/bin/sh
# Runs when the model has answered. The event is one JSON object on stdin, such as
#   {"session_id": "…", "cwd": "…", "hook_event_name": "AfterModel", "llm_request": {…},
#    "llm_response": {"candidates": [{"content": {"role": "model", "parts": ["Hi"]}}]}}
# After exit 0 the agent goes on; exit 2 discards the answer, and stderr is the reason. Any other
# exit code means that this script failed, and the answer is discarded too: the settings say
# "onFailure": "block".

event=$(cat)

# A shell cannot parse JSON: this searches the raw text, so it may also match text elsewhere in the
# event. That is enough for simple checks; for more use jq, or start with `hookline init python`.
has() {
  printf '%s' "$event" | grep -Eq -e "$1"
  found=$?
  [ "$found" -le 1 ] || exit 3 # grep itself failed, so nothing was checked
  return "$found"
}

event=${event##*'"llm_response"'}
if has 'AKIA[0-9A-Z]{16}'; then
  echo 'the answer held a secret and was discarded' >&2
  exit 2
fi
exit 0
