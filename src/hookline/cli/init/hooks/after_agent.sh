#!/bin/sh
# Runs when the agent is done with a prompt. The event is one JSON object on stdin, such as
#   {"session_id": "…", "cwd": "…", "hook_event_name": "AfterAgent", "prompt": "Fix the tests",
#    "prompt_response": "Done.", "stop_hook_active": false}
# Exit 0 lets it end; exit 2 sends it back to work, and what is on stderr is its next prompt. Any
# other exit code means that this script failed, and the agent ends as if it were not there.

event=$(cat)

# A shell cannot read JSON: this looks at the text as it is, and so also sees what only looks like
# a match. That is enough for a few words; for more use jq, or begin with `hookline init python`.
has() {
  printf '%s' "$event" | grep -Eq -e "$1"
}

# An agent that was sent back once already may end: otherwise it might never.
if has '"prompt_response": *"[^"]*TODO' && ! has '"stop_hook_active": *true'; then
  echo 'your answer leaves a TODO; do it now, or say why it has to wait' >&2
  exit 2
fi
exit 0
