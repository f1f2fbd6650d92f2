#!/bin/sh
# Adds to what the model reads: any JSON on stdout is the hook's answer.
cat <<END
{
  "hookSpecificOutput": {
    "hookEventName": "SessionStart",
    "additionalContext": "Today is $(date +%A). Run 'make test' before you commit."
  }
}
END
