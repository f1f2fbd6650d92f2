#!/bin/sh
# Runs when the user is about to be told or asked something. The event is one JSON object on stdin,
# such as
#   {"session_id": "…", "cwd": "…", "hook_event_name": "Notification",
#    "message": "May I run make?", "notification_type": "ToolPermission"}
# Nothing can be blocked here; the JSON on stdout may have a message for the user. Any exit code but
# 0 means that this script failed, and the agent goes on as if it were not there.

event=$(cat)

# A shell cannot read JSON: this looks at the text as it is, and so also sees what only looks like
# a match. That is enough for a few words; for more use jq, or begin with `hookline init python`.
if printf '%s' "$event" | grep -Eq '"notification_type": *"ToolPermission"'; then
  # This is the place for notify-send, osascript or a chat message.
  echo '{"systemMessage": "The agent waits for your permission."}'
fi
exit 0
