#!/bin/sh
# Narrows what the model may use: of the agent's tools these, so nothing reaches the network.
cat <<END
{
  "hookSpecificOutput": {
    "hookEventName": "BeforeToolSelection",
    "toolConfig": {
      "mode": "AUTO",
      "allowedFunctionNames": ["read_file", "write_file", "run_shell_command"]
    }
  }
}
END
