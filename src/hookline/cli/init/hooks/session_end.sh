#!/bin/sh
# Runs when a session ends. The event is one JSON object on stdin, such as
#   {"session_id": "…", "cwd": "…", "hook_event_name": "SessionEnd", "reason": "exit"}
# where reason is exit, clear, logout, prompt_input_exit or other. Nothing can be blocked here; the
# JSON on stdout may have a message for the user. Any exit code but 0 means that this script failed,
# and the agent goes on as if it were not there.

event=$(cat)

# A shell cannot read JSON: this looks at the text as it is, and so also sees what only looks like
# a match. That is enough for a few words; for more use jq, or begin with `hookline init python`.
if printf '%s' "$event" | grep -Eq '"reason": *"(exit|logout)"'; then
  echo '{"systemMessage": "The session is over; look at git status before you go."}'
fi
exit 0
