"""Claude Code's settings: seconds, its own names for events, and kinds of hooks that we lack.

What decides whether a hook runs at all (``if``, another shell) cannot be left out: without it the
hook would run where it did not before, and might block there.
"""

import sys
from collections.abc import Mapping
from typing import Any

import msgspec

from hookline.migrate.claude_tools import translated
from hookline.migrate.moves import Before, Draft, Kind, Migrated
from hookline.nearest import did_you_mean, nearest
from hookline.pipeline.jsonc import Document, Path
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
_SWITCHES = {
    "allowManagedHooksOnly": "hooks that nobody may switch off are those of the system's settings "
    'with "managed": true',
    "allowedHttpHookUrls": "there are no http hooks here",
    "httpHookAllowedEnvVars": "there are no http hooks here",
}
_TYPES: dict[str, tuple[str, str]] = {
    "mcp_tool": ("hooks cannot call MCP tools here", "call the server from a script"),
    "prompt": ("hooks cannot put a prompt to a model here", "ask a model from a script"),
    "agent": ("hooks cannot start an agent here", "start one from a script"),
}
_KNOWN = frozenset(
    {
        *("type", "command", "args", "timeout", "statusMessage", "once", "async", "asyncRewake"),
        *("onFailure", "shell", "if"),
    }
)
# The shell reads all of the event before it leaves the rest behind: what has not been read when a
# hook is over is never sent.
_BACKGROUND = 'event=$(cat); printf %s "$event" | {{ {command}\n}} >/dev/null 2>&1 &'


class Lost(msgspec.Struct, frozen=True):
    """A hook that cannot come, and what to do instead."""

    reason: str
    remedy: str = ""


class Made(msgspec.Struct, frozen=True):
    """A hook of ours, how its fields differ from before, and what to know about it."""

    hook: dict[str, Any]
    changes: list[str]
    notes: list[str]


def migrate_claude(document: Document, file: str) -> Migrated:
    """What a settings file of Claude Code's comes to."""
    draft = Draft(document, file)
    settings = document.value if isinstance(document.value, Mapping) else {}
    hooks = settings.get("hooks", {})
    if not isinstance(hooks, Mapping):
        draft.find(Kind.LOST, ("hooks",), "it is not an object of events", subject="hooks")
        hooks = {}
    for key, definitions in hooks.items():
        event = EVENTS.get(key)
        if event is None:
            reason, remedy = _LOST.get(key, (_NONE, ""))
            if key not in _LOST and key not in _OTHERS:
                reason = "Claude Code has no such event either, and runs nothing of it"
                hint = did_you_mean(nearest(key, (*EVENTS, *_LOST, *_OTHERS))[:1])
                remedy = hint and f"{hint} correct it there and migrate again"
            draft.find(Kind.LOST, ("hooks", key), reason, subject=key, remedy=remedy)
        elif not isinstance(definitions, list):
            draft.find(Kind.LOST, ("hooks", key), "it is not a list of definitions", subject=key)
        else:
            for index, definition in enumerate(definitions):
                _add_definition(draft, key, event, index, definition)
    for key, message in _SWITCHES.items():
        if key in settings:
            draft.find(Kind.LOST, (key,), message, subject=key)
    disabled: list[str] = []
    if settings.get("disableAllHooks") is True and draft.moves:
        key, remedy = "disableAllHooks", "`hookline enable NAME`"
        message = "all hooks are switched off there, so they come switched off"
        draft.find(Kind.NOTE, (key,), message, subject=key, remedy=remedy)
        moved = (move.hook for move in draft.moves)
        disabled = [
            hook.get("name") or " ".join((hook["command"], *hook.get("args", ()))) for hook in moved
        ]
    return draft.finished(dict.fromkeys(disabled))


def _add_definition(
    draft: Draft, key: str, event: HookEventName, index: int, definition: Any
) -> None:
    path: Path = ("hooks", key, index)
    hooks = definition.get("hooks") if isinstance(definition, Mapping) else None
    written = definition.get("matcher") if isinstance(definition, Mapping) else None
    if not isinstance(hooks, list) or not isinstance(written, str | None):
        draft.find(Kind.LOST, path, "it is not an object with a list of hooks", subject=key)
        return
    subject = f"{key} {written}" if written else key
    matcher = translated(event, written)
    if matcher.lost is not None:
        remedy = "name tools of your agent in a matcher of your own"
        draft.find(Kind.LOST, (*path, "matcher"), matcher.lost, subject=subject, remedy=remedy)
        return
    for note in matcher.notes:
        draft.find(Kind.NOTE, (*path, "matcher"), note, subject=subject)
    for place, config in enumerate(hooks):
        at: Path = (*path, "hooks", place)
        # The hook, in the words of its settings.
        words = config.get("command") or config.get("type") if isinstance(config, Mapping) else None
        named = f"{subject} {words}" if words else subject
        made = native_hook(key, config)
        if isinstance(made, Lost):
            draft.find(Kind.LOST, at, made.reason, subject=named, remedy=made.remedy)
            continue
        for note in made.notes:
            draft.find(Kind.NOTE, at, note, subject=named)
        draft.move(
            at,
            Before(event=key, matcher=written or None, config=config),
            event.value,
            matcher=matcher.text,
            hook=made.hook,
            changes=tuple(made.changes),
        )


def native_hook(event: str, config: Any) -> Made | Lost:
    """The hook of ours that one of an event of Claude Code's is, or why there is none."""
    lost = _why_hook_is_lost(event, config)
    if lost is not None:
        return lost
    changes: list[str] = []
    notes: list[str] = []
    command: str = config["command"]
    hook: dict[str, Any] = {"type": "command"}
    if config.get("async"):
        changes.append("async: goes on in the background")
        notes.append("what it prints is not read, as it goes on in the background")
        hook |= {"name": command, "command": _BACKGROUND.format(command=command)}
    else:
        hook["command"] = command
        hook |= {"args": config["args"]} if "args" in config else {}
    message = config.get("statusMessage")
    if isinstance(message, str) and message:
        changes.append("statusMessage is its description")
        hook["description"] = message
    seconds = config.get("timeout")
    if isinstance(seconds, bool) or not isinstance(seconds, int | float | None):
        notes.append(f"its timeout {seconds!r} is no number and was left out")
    elif seconds is not None and not 0 < seconds <= sys.float_info.max / 1000:
        notes.append(f"its timeout {seconds} is out of range and was left out")
    elif seconds is not None:
        hook["timeout"] = round(seconds * 1000) or 1
        changes.append(f"timeout {seconds:g} s → {hook['timeout']} ms")
    # On Stop, and in the background, no failure ever held anything up.
    if config.get("onFailure") == "block" and event != "Stop" and not config.get("async"):
        hook["onFailure"] = "block"
    if config.get("once"):
        notes.append("once has no counterpart: it runs every time")
    strangers = sorted(set(config) - _KNOWN)
    if strangers:
        notes.append(f"{', '.join(strangers)} means nothing here and was left out")
    return Made(hook, changes, notes)


def _why_hook_is_lost(event: str, config: Any) -> Lost | None:
    if not isinstance(config, Mapping):
        return Lost("it is not an object, so it never ran")
    kind = config.get("type")
    if kind == "http":
        post = "curl -sS -H 'Content-Type: application/json' --data-binary @-"
        headers = ", with its headers" if config.get("headers") else ""
        return Lost("there are no http hooks here", f"post from a command{headers}: {post} URL")
    if isinstance(kind, str) and kind in _TYPES:
        return Lost(*_TYPES[kind])
    if kind != "command":
        said = f"its type is {kind!r}" if "type" in config else "it has no type"
        return Lost(f"{said}, so it never ran", 'the type must be "command"')
    command, args = config.get("command"), config.get("args", [])
    if not isinstance(command, str) or not command.strip():
        return Lost("it has no command, so it never ran")
    if not isinstance(args, list) or not all(isinstance(arg, str) for arg in args):
        return Lost("its args are not a list of strings, so it never ran")
    if "if" in config and event not in ("PreToolUse", "PostToolUse"):
        return Lost(f"with an if it never ran on {event}")
    if "if" in config:
        return Lost(
            f"hooks have no condition like {config['if']!r}, and without it it would run too often",
            "let the script look at tool_input itself and do nothing for other calls",
        )
    if config.get("shell", "bash") != "bash":
        remedy = "start that shell in the command"
        return Lost(f"commands run under bash, not {config['shell']}", remedy)
    if config.get("asyncRewake"):
        return Lost(
            "a hook that goes on in the background cannot wake the agent here",
            "let it block while the agent waits, without asyncRewake",
        )
    if config.get("async") and "args" in config:
        return Lost(
            "only a shell command can go on in the background here, not one with args",
            "write command and args as one command",
        )
    return None
