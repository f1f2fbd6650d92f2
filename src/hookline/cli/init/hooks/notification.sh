#!/bin/sh
# Runs when the user is about to be told or asked something. The event is one JSON object on stdin,
# such as
#   {"session_id": "…", "cwd": "…", "hook_event_name": "Notification",
#    "message": "May I run make?", "notification_type": "ToolPermission"}
# Nothing can be blocked here; the JSON on stdout may have a message for the user. Any exit code but
# 0 means that this script failed, and the agent goes on without it.

event=$(cat)

# A shell cannot parse JSON: this searches the raw text, so it may also match text elsewhere in the
# event. That is enough for simple checks; for more use jq, or start with `hookline init python`.
if printf '%s' "$event" | grep -Eq '"notification_type": *"ToolPermission"'; then
  # Call notify-send or osascript here, or send a chat message.
  echo '{"systemMessage": "The agent waits for your permission."}'
fi
exit 0
