#!/bin/sh
# Runs before the agent starts on a prompt. The event is one JSON object on stdin, such as
#   {"session_id": "…", "cwd": "…", "hook_event_name": "BeforeAgent", "prompt": "Fix the tests"}
# After exit 0 the agent goes on, and JSON on stdout, if any, is the answer; exit 2 refuses the
# prompt, and stderr is the reason. Any other exit code means that this script failed, and the prompt
# is refused too: the settings say "onFailure": "block".

event=$(cat)

# A shell cannot parse JSON: this searches the raw text, so it may also match text elsewhere in the
# event. That is enough for simple checks; for more use jq, or start with `hookline init python`.
has() {
  printf '%s' "$event" | grep -Eq -e "$1"
  found=$?
  [ "$found" -le 1 ] || exit 3 # grep itself failed, so nothing was checked
  return "$found"
}

if has 'AKIA[0-9A-Z]{16}'; then
  echo 'the prompt holds a secret; take it out and ask again' >&2
  exit 2
fi
if has '"prompt": *"[^"]*[Tt]est'; then
  echo '{"hookSpecificOutput": {"additionalContext": "The tests of this project: make test"}}'
fi
exit 0
