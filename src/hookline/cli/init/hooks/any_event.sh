#!/bin/sh
# Runs on EVENT. The event is one JSON object on stdin, such as
#   {"session_id": "…", "cwd": "…", "hook_event_name": "EVENT", …}
# After exit 0 the agent goes on, and JSON on stdout, if any, is the answer; exit 2 blocks an event
# that can be blocked, and stderr is the reason. Any other exit code means that this script failed.

event=$(cat)

# A shell cannot parse JSON: this searches the raw text. For more than simple checks use jq, or start
# with `hookline init python`.
if printf '%s' "$event" | grep -q forbidden; then
  echo 'the event has a word that is forbidden' >&2
  exit 2
fi
exit 0
