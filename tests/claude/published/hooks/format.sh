#!/usr/bin/env bash
file=$(jq -r '.tool_response.filePath // .tool_input.file_path')
[ -f "$file" ] || exit 0
if grep -q $'\t' "$file"; then
  expand -t 4 "$file" > "$file.tmp" && mv "$file.tmp" "$file"
  jq -n --arg file "$(basename "$file")" \
    '{decision: "block", reason: ("Tabs in " + $file + " became spaces: read it again.")}'
fi
