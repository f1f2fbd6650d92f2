#!/bin/sh
# Runs before a tool does. The event is one JSON object on stdin, such as
#   {"session_id": "…", "cwd": "…", "hook_event_name": "BeforeTool",
#    "tool_name": "run_shell_command", "tool_input": {"command": "ls -l"}}
# Exit 0 lets it go on; exit 2 blocks, and what is on stderr is the reason.
# Any other exit code means that this script failed, and the agent goes on
# as if it were not there.

event=$(cat)

# A shell cannot read JSON: this looks at the text as it is, and so also sees
# what only looks like a match. That is enough for a few words; for more use
# jq, or begin with `hookline init python`.
has() {
  printf '%s' "$event" | grep -Eq -e "$1"
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
