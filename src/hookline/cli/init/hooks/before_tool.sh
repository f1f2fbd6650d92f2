#!/bin/sh
# Runs before a tool runs. The event is one JSON object on stdin, such as
#   {"session_id": "…", "cwd": "…", "hook_event_name": "BeforeTool",
#    "tool_name": "run_shell_command", "tool_input": {"command": "ls -l"}}
# Exit 0 lets the tool run; exit 2 blocks it, and stderr is the reason. Any
# other exit code means that this script failed, and the tool is blocked
# too: the settings say "onFailure": "block".

event=$(cat)

# A shell cannot parse JSON: this searches the raw text, so it may also
# match text elsewhere in the event. That is enough for simple checks; for
# more use jq, or start with `hookline init python`.
has() {
  printf '%s' "$event" | grep -Eq -e "$1"
  found=$?
  [ "$found" -le 1 ] || exit 3 # grep itself failed: nothing was checked
  return "$found"
}

block() {
  echo "$1" >&2
  exit 2
}

if has '"tool_name": *"run_shell_command"' &&
  has 'rm +-(rf|fr|r|R) +[/~]["* ]'; then
  block 'this would delete everything; name the files to delete'
fi
if has 'AKIA[0-9A-Z]{16}' || has '-----BEGIN [A-Z ]*PRIVATE KEY'; then
  block 'this holds a secret; read it from the environment instead'
fi
exit 0
