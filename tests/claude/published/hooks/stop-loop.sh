#!/usr/bin/env bash
# Sends the agent back until it says the word, as long as loop.md is there.
set -euo pipefail
input=$(cat)
[ -f "$CLAUDE_PROJECT_DIR/loop.md" ] || exit 0
transcript=$(jq -r '.transcript_path' <<<"$input")
if [ ! -f "$transcript" ] || ! grep -q '"role":"assistant"' "$transcript"; then
  echo "no transcript to look at" >&2
  exit 1
fi
last=$(grep '"role":"assistant"' "$transcript" | tail -n 1)
text=$(jq -r '.message.content | map(select(.type == "text")) | map(.text) | join("\n")' <<<"$last")
if [[ "$text" == *"ALL DONE"* ]]; then
  rm "$CLAUDE_PROJECT_DIR/loop.md"
  exit 0
fi
jq -n --arg reason "$(cat "$CLAUDE_PROJECT_DIR/loop.md")" \
  '{decision: "block", reason: $reason, systemMessage: "once more"}'
