#!/bin/sh
# Runs when a session ends. The event is one JSON object on stdin, such as
#   {"session_id": "…", "cwd": "…", "hook_event_name": "SessionEnd", "reason": "exit"}
# where reason is exit, clear, logout, prompt_input_exit or other. Nothing can be blocked here; the
# JSON on stdout may have a message for the user. Any exit code but 0 means that this script failed,
# and the agent goes on without it.

event=$(cat)

# A shell cannot parse JSON: this searches the raw text, so it may also match text elsewhere in the
# event. That is enough for simple checks; for more use jq, or start with `hookline init python`.
if printf '%s' "$event" | grep -Eq '"reason": *"(exit|logout)"'; then
  echo '{"systemMessage": "The session is over; look at git status before you go."}'
fi
exit 0
