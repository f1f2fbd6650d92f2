#!/bin/sh
# Runs when a session starts. The event is one JSON object on stdin, such as
#   {"session_id": "…", "cwd": "…", "hook_event_name": "SessionStart", "source": "startup"}
# where source is startup, resume, clear or compress. Nothing can be blocked here; the JSON on
# stdout may add to what the agent knows. Any exit code but 0 means that this script failed, and
# the agent goes on as if it were not there.

event=$(cat)

# A shell cannot read JSON: this looks at the text as it is, and so also sees what only looks like
# a match. That is enough for a few words; for more use jq, or begin with `hookline init python`.
if printf '%s' "$event" | grep -Eq '"source": *"(startup|clear)"'; then
  echo '{"hookSpecificOutput": {"additionalContext": "The tests of this project: make test"}}'
fi
exit 0
