#!/bin/sh
# Runs before the history is compressed. The event is one JSON object on stdin, such as
#   {"session_id": "…", "cwd": "…", "hook_event_name": "PreCompress", "trigger": "auto"}
# where trigger is auto or manual. Nothing can be blocked here; the JSON on stdout may have a
# message for the user. Any exit code but 0 means that this script failed, and the agent goes on
# without it.

event=$(cat)

# A shell cannot parse JSON: this searches the raw text, so it may also match text elsewhere in the
# event. That is enough for simple checks; for more use jq, or start with `hookline init python`.
if printf '%s' "$event" | grep -Eq '"trigger": *"auto"'; then
  echo '{"systemMessage": "The history is being compressed; details of it may be lost."}'
fi
exit 0
