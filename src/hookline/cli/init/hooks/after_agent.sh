#!/bin/sh
# Runs when the agent is done with a prompt. The event is one JSON object on stdin, such as
#   {"session_id": "…", "cwd": "…", "hook_event_name": "AfterAgent", "prompt": "Fix the tests",
#    "prompt_response": "Done.", "stop_hook_active": false}
# Exit 0 lets the agent end; exit 2 sends it back to work, with stderr as its next prompt. Any other
# exit code means that this script failed, which sends it back too: the settings say
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

# An agent that was already sent back once may end; otherwise it might loop forever.
if has '"prompt_response": *"[^"]*TODO' && ! has '"stop_hook_active": *true'; then
  echo 'your answer leaves a TODO; do it now, or say why it has to wait' >&2
  exit 2
fi
exit 0
