#!/bin/sh
# Runs before a request goes to the model. The event is one JSON object on stdin, such as
#   {"session_id": "…", "cwd": "…", "hook_event_name": "BeforeModel",
#    "llm_request": {"model": "…", "messages": [{"role": "user", "content": "Hello"}],
#                    "config": {"temperature": 1}}}
# After exit 0 the agent goes on, and JSON on stdout, if any, is the answer: it changes the fields
# of llm_request that it names. Exit 2 keeps the request from being sent, and stderr is the reason.
# Any other exit code means that this script failed, and the request is not sent either: the
# settings say "onFailure": "block".

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
  echo 'the request holds a secret, which must not leave this machine' >&2
  exit 2
fi
echo '{"hookSpecificOutput": {"llm_request": {"config": {"temperature": 0}}}}'
