#!/bin/sh
# Runs before the agent takes up a prompt. The event is one JSON object on stdin, such as
#   {"session_id": "…", "cwd": "…", "hook_event_name": "BeforeAgent", "prompt": "Fix the tests"}
# Exit 0 goes on, with the JSON on stdout as the answer, if there is any; exit 2 refuses the
# prompt, and what is on stderr is the reason. Any other exit code means that this script failed,
# and the agent goes on as if it were not there.

event=$(cat)

# A shell cannot read JSON: this looks at the text as it is, and so also sees what only looks like
# a match. That is enough for a few words; for more use jq, or begin with `hookline init python`.
if printf '%s' "$event" | grep -Eq 'AKIA[0-9A-Z]{16}'; then
  echo 'the prompt holds a secret; take it out and ask again' >&2
  exit 2
fi
if printf '%s' "$event" | grep -Eiq '"prompt": *"[^"]*test'; then
  echo '{"hookSpecificOutput": {"additionalContext": "The tests of this project: make test"}}'
fi
exit 0
