"""The data that is fired, matched, merged and encoded; the peer reads the same as JSON."""

from typing import Any

SESSION_ID = "3f1c6a52-7a0e-4a0c-9f3b-0d5c1c6f2b11"
TOOL_NAME = "read_file"
TOOL_INPUT: dict[str, Any] = {"path": "src/main.py", "offset": 0, "limit": 200}
MEGABYTE = 1_000_000

OTHER_MATCHERS = [f"write_file_{number}|replace_{number}" for number in range(1_000)]
# Half of them plain words, half expressions.
MATCHING_MATCHERS = [f"read_file|grep_{n}" if n % 2 else f"^read_.*$|grep_{n}" for n in range(50)]


def answers() -> list[dict[str, Any]]:
    """The answers of fifty hooks."""
    return [
        {
            "decision": "ask" if number == 25 else "allow",
            "reason": f"rule {number} has no objection",
            "systemMessage": f"checked by rule {number}",
            "hookSpecificOutput": {"additionalContext": f"Rule {number} applies.", "rule": number},
        }
        for number in range(50)
    ]


def payload() -> dict[str, Any]:
    """An event of 10 KB: text with quotes, line ends and letters beyond ASCII, some structure."""
    edits = [
        {
            "line": 12 * number,
            "old": f'\tif name == "entry {number}":\n\t\treturn lookup(name, default=None)\n',
            "new": f'\tif name == "entry {number}":  # naïve – see § {number}\n\t\treturn None\n',
            "replace_all": number % 3 == 0,
            "confidence": number / 50,
        }
        for number in range(48)
    ]
    return event({"path": "src/package/module.py", "edits": edits}, tool_name="edit_file")


def event(tool_input: dict[str, Any], *, tool_name: str = TOOL_NAME) -> dict[str, Any]:
    """The document that a hook reads for a tool call."""
    return {
        "session_id": SESSION_ID,
        "transcript_path": "",
        "cwd": "/home/user/project",
        "hook_event_name": "BeforeTool",
        "timestamp": "2026-01-01T00:00:00.000Z",
        "tool_name": tool_name,
        "tool_input": tool_input,
    }


def file_of(megabytes: int) -> dict[str, Any]:
    """The input of a tool that writes a file: source text with characters that JSON escapes."""
    line = '\tif name == "entry": return lookup(name, default=None)\n'
    return {"path": "src/main.py", "content": line * (megabytes * MEGABYTE // len(line))}


def for_the_peer() -> dict[str, Any]:
    """All data in one document."""
    return {
        "sessionId": SESSION_ID,
        "toolName": TOOL_NAME,
        "toolInput": TOOL_INPUT,
        "otherMatchers": OTHER_MATCHERS,
        "matchingMatchers": MATCHING_MATCHERS,
        "answers": answers(),
        "payload": payload(),
    }
