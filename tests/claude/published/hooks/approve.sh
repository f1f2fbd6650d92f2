#!/usr/bin/env bash
# Says yes to what only reads.
set -euo pipefail
input=$(cat)
command=$(jq -r '.tool_input.command // ""' <<<"$input")
case "$command" in
  ls*|cat*|"git status"*)
    jq -n '{hookSpecificOutput: {hookEventName: "PermissionRequest", decision: {behavior: "allow"}}}'
    ;;
  *"rm -rf"*)
    jq -n '{hookSpecificOutput: {hookEventName: "PermissionRequest",
            decision: {behavior: "deny", message: "never that"}}}'
    ;;
esac
