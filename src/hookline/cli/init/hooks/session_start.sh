#!/bin/sh
# Runs when a session starts. The event is one JSON object on stdin, such as
#   {"session_id": "…", "cwd": "…", "hook_event_name": "SessionStart", "source": "startup"}
# where source is startup, resume, clear or compress. Nothing can be blocked here; the JSON on
# stdout may give the agent context. Any exit code but 0 means that this script failed, and the
# agent goes on without it.

event=$(cat)

# A shell cannot parse JSON: this searches the raw text, so it may also match text elsewhere in the
# event. That is enough for simple checks; for more use jq, or start with `hookline init python`.
if printf '%s' "$event" | grep -Eq '"source": *"(startup|clear)"'; then
  echo '{"hookSpecificOutput": {"additionalContext": "The tests of this project: make test"}}'
fi
exit 0
