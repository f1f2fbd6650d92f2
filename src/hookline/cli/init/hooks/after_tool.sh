#!/bin/sh
# Runs after a tool has run. The event is one JSON object on stdin, such as
#   {"session_id": "…", "cwd": "…", "hook_event_name": "AfterTool", "tool_name": "write_file",
#    "tool_input": {"file_path": "app.py", "content": "…"}, "tool_response": {…}}
# Exit 0 goes on, with the JSON on stdout as the answer, if there is any; exit 2 puts what is on
# stderr in the place of the tool's result. Any other exit code means that this script failed, and
# the agent goes on as if it were not there.

event=$(cat)

# A shell cannot read JSON: this looks at the text as it is, and so also sees what only looks like
# a match. That is enough for a few words; for more use jq, or begin with `hookline init python`.
if printf '%s' "$event" | grep -Eq '"file_path": *"[^"]*\.(py|js|ts|go|rs|java)"'; then
  echo '{"hookSpecificOutput": {"additionalContext": "Run the tests of what you just changed."}}'
fi
exit 0
