#!/bin/sh
# Runs before a request goes to the model. The event is one JSON object on stdin, such as
#   {"session_id": "…", "cwd": "…", "hook_event_name": "BeforeModel",
#    "llm_request": {"model": "…", "messages": [{"role": "user", "content": "Hello"}],
#                    "config": {"temperature": 1}}}
# Exit 0 goes on, with the JSON on stdout as the answer, if there is any: what it names in
# llm_request is changed. Exit 2 keeps the request from the model, and what is on stderr is the
# reason. Any other exit code means that this script failed, and the agent goes on as if it were
# not there.

event=$(cat)

# A shell cannot read JSON: this looks at the text as it is, and so also sees what only looks like
# a match. That is enough for a few words; for more use jq, or begin with `hookline init python`.
if printf '%s' "$event" | grep -Eq 'AKIA[0-9A-Z]{16}'; then
  echo 'the request holds a secret, which must not leave this machine' >&2
  exit 2
fi
echo '{"hookSpecificOutput": {"llm_request": {"config": {"temperature": 0}}}}'
