#!/bin/sh
# Runs before the model is offered its tools. The event is one JSON object on stdin, such as
#   {"session_id": "…", "cwd": "…", "hook_event_name": "BeforeToolSelection",
#    "llm_request": {"model": "…", "messages": […]}, "available_tools": ["read_file", "glob"]}
# The JSON on stdout names the only tools that the model may use. Exit 2 leaves no tools at all;
# any other exit code but 0 means that this script failed, and leaves none either: the settings say
# "onFailure": "block".

# The answer is the same for every event, but read the event so that the writer is not left waiting.
cat > /dev/null

cat <<'END'
{"hookSpecificOutput": {"toolConfig": {
  "mode": "AUTO",
  "allowedFunctionNames": ["read_file", "list_directory", "glob", "search_file_content"]
}}}
END
