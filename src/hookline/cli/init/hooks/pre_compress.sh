#!/bin/sh
# Runs before the history is compressed. The event is one JSON object on stdin, such as
#   {"session_id": "…", "cwd": "…", "hook_event_name": "PreCompress", "trigger": "auto"}
# where trigger is auto or manual. Nothing can be blocked here; the JSON on stdout may have a
# message for the user. Any exit code but 0 means that this script failed, and the agent goes on as
# if it were not there.

event=$(cat)

# A shell cannot read JSON: this looks at the text as it is, and so also sees what only looks like
# a match. That is enough for a few words; for more use jq, or begin with `hookline init python`.
if printf '%s' "$event" | grep -Eq '"trigger": *"auto"'; then
  echo '{"systemMessage": "The history is being compressed; details of it may be lost."}'
fi
exit 0
