#!/usr/bin/env python3
"""Offers the model only tools that read, and denies every other call, whichever way it comes.

Settings say "onFailure": "block": when this cannot run, no tool can.
"""

import json
import sys

# Tools that change nothing; one that is not named here counts as one that writes.
READING = {
    "glob",
    "grep",
    "grep_search",
    "list_directory",
    "read_file",
    "read_line_range",
    "read_many_files",
    "search_file_content",
}


def selection(event):
    """What to offer the model: of the tools that this call would have, those that read."""
    own = event["llm_request"].get("toolConfig", {})
    offered = own.get("allowedFunctionNames") or event.get("available_tools")
    if not offered:
        return None
    allowed = sorted(READING.intersection(offered))
    mode = own.get("mode", "AUTO") if allowed else "NONE"
    tool_config = {"mode": mode, "allowedFunctionNames": allowed}
    answer = {"hookEventName": "BeforeToolSelection", "toolConfig": tool_config}
    return {"hookSpecificOutput": answer}


def denial(event):
    """Why a call does not run, None for one that may."""
    if event["tool_name"] in READING:
        return None
    reason = (
        f"{event['tool_name']} was not run: this project is read-only for you. Use tools that "
        "only read. If something should change, show it as a diff and let the user make it."
    )
    return {"decision": "deny", "reason": reason}


def main():
    event = json.load(sys.stdin.buffer)
    is_selection = event["hook_event_name"] == "BeforeToolSelection"
    answer = selection(event) if is_selection else denial(event)
    if answer is not None:
        json.dump(answer, sys.stdout)


if __name__ == "__main__":
    main()
