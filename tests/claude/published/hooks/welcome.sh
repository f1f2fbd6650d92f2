#!/usr/bin/env bash
echo "Branch: main. Two files are not committed."
if [ -n "$CLAUDE_ENV_FILE" ]; then
  echo 'export PATH="$CLAUDE_PROJECT_DIR/node_modules/.bin:$PATH"' >> "$CLAUDE_ENV_FILE"
  echo "export NODE_ENV=development" >> "$CLAUDE_ENV_FILE"
fi
