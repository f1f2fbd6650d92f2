#!/bin/sh
# Adds to what the model reads: a JSON object on stdout is the hook's answer.
cat <<END
{
  "hookSpecificOutput": {
    "hookEventName": "SessionStart",
    "additionalContext": "Today is $(date +%A). Our customers: customers.csv."
  }
}
END
