"""Claude Code's events: the eight that we have too, and why each of the others stays behind."""

from hookline.nearest import did_you_mean, nearest
from hookline.wire.events import HookEventName

EVENTS: dict[str, HookEventName] = {
    "PreToolUse": HookEventName.BEFORE_TOOL,
    "PostToolUse": HookEventName.AFTER_TOOL,
    "UserPromptSubmit": HookEventName.BEFORE_AGENT,
    "Stop": HookEventName.AFTER_AGENT,
    "SessionStart": HookEventName.SESSION_START,
    "SessionEnd": HookEventName.SESSION_END,
    "PreCompact": HookEventName.PRE_COMPRESS,
    "Notification": HookEventName.NOTIFICATION,
}
_NONE = "there is no such event here"
# Event -> why it has no counterpart, and what comes nearest.
_LOST: dict[str, tuple[str, str]] = {
    "PostToolUseFailure": (
        "AfterTool comes after every call, failed or not",
        "add the hook to AfterTool and let its script do nothing unless tool_response has an error",
    ),
    "PostToolBatch": (_NONE, "AfterTool comes after each call of the batch"),
    "PermissionRequest": (
        "no event comes before a confirmation is asked",
        "decide on BeforeTool: deny, allow or ask",
    ),
    "PermissionDenied": (_NONE, "the hook that denies on BeforeTool gives the reason"),
    "UserPromptExpansion": (_NONE, "BeforeAgent reads the prompt as the agent gets it"),
    "SubagentStart": (_NONE, "BeforeTool of the tool that starts agents comes nearest"),
    "SubagentStop": (_NONE, "AfterTool of the tool that starts agents comes nearest"),
    "Setup": (_NONE, 'SessionStart with the matcher "startup" comes nearest'),
    "PostCompact": (_NONE, 'SessionStart with the matcher "compress" comes nearest'),
    "StopFailure": (_NONE, "AfterAgent comes at the end of a turn"),
}
_OTHERS = frozenset(
    {
        *("TeammateIdle", "TaskCreated", "TaskCompleted", "ConfigChange", "InstructionsLoaded"),
        *("CwdChanged", "DirectoryAdded", "FileChanged", "WorktreeCreate", "WorktreeRemove"),
        *("Elicitation", "ElicitationResult", "MessageDisplay"),
        *("PreModelSwitch", "PostModelSwitch"),
    }
)


def why_lost(event: str) -> tuple[str, str]:
    """Why an event of that name has no counterpart, and what to do about it."""
    if event in _LOST or event in _OTHERS:
        return _LOST.get(event, (_NONE, ""))
    known = (*EVENTS, *_LOST, *_OTHERS)
    hint = did_you_mean(nearest(event, known)[:1])
    hint = hint and f"{hint} correct it there and migrate again"
    return "Claude Code has no such event either, and runs nothing of it", hint
