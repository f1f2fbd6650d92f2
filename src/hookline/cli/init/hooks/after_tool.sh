#!/bin/sh
# Runs after a tool has run. The event is one JSON object on stdin, such as
#   {"session_id": "…", "cwd": "…", "hook_event_name": "AfterTool", "tool_name": "write_file",
#    "tool_input": {"file_path": "app.py", "content": "…"}, "tool_response": {…}}
# After exit 0 the agent goes on, and JSON on stdout, if any, is the answer; exit 2 replaces the
# tool's result with stderr. Any other exit code means that this script failed, which replaces it
# too: the settings say "onFailure": "block".

event=$(cat)

# A shell cannot parse JSON: this searches the raw text, so it may also match text elsewhere in the
# event. That is enough for simple checks; for more use jq, or start with `hookline init python`.
has() {
  printf '%s' "$event" | grep -Eq -e "$1"
  found=$?
  [ "$found" -le 1 ] || exit 3 # grep itself failed, so nothing was checked
  return "$found"
}

if has '"file_path": *"[^"]*\.(py|js|ts|go|rs|java)"'; then
  echo '{"hookSpecificOutput": {"additionalContext": "Run the tests of what you just changed."}}'
fi
exit 0
