"""One hook of Claude Code's, field by field: ours, or the reason why there is none.

What decides whether it runs at all (``if``, another shell) cannot be left out: without it the hook
would run where it did not before, and might block there.
"""

import sys
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import msgspec

Config: TypeAlias = Mapping[str, Any]

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
_NEVER_FAIL_CLOSED = frozenset({"Stop"})
_TOOL_EVENTS = frozenset({"PreToolUse", "PostToolUse"})
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
    changes: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def native_hook(event: str, config: Any) -> Made | Lost:
    """The hook that a handler of an event is here."""
    lost = _lost(event, config)
    return lost if lost is not None else _Maker(event, config).made()


def _lost(event: str, config: Any) -> Lost | None:
    if not isinstance(config, Mapping):
        return Lost("it is not an object, so it never ran")
    kind = config.get("type")
    if kind != "command":
        return _other_type(config, kind)
    command, args = config.get("command"), config.get("args", [])
    if not isinstance(command, str) or not command.strip():
        return Lost("it has no command, so it never ran")
    if not isinstance(args, list) or not all(isinstance(arg, str) for arg in args):
        return Lost("its args are not a list of strings, so it never ran")
    return next((lost for rule in _RULES if (lost := rule(event, config)) is not None), None)


def _other_type(config: Config, kind: object) -> Lost:
    if kind == "http":
        post = "curl -sS -H 'Content-Type: application/json' --data-binary @-"
        headers = ", with its headers" if config.get("headers") else ""
        return Lost("there are no http hooks here", f"post from a command{headers}: {post} URL")
    if isinstance(kind, str) and kind in _TYPES:
        return Lost(*_TYPES[kind])
    said = f"its type is {kind!r}" if "type" in config else "it has no type"
    return Lost(f"{said}, so it never ran", 'the type must be "command"')


def _condition(event: str, config: Config) -> Lost | None:
    if "if" not in config:
        return None
    if event not in _TOOL_EVENTS:
        return Lost(f"with an if it never ran on {event}")
    reason = f"hooks have no condition like {config['if']!r}, and without it it would run too often"
    return Lost(reason, "let the script look at tool_input itself and do nothing for other calls")


def _shell(_event: str, config: Config) -> Lost | None:
    if config.get("shell", "bash") == "bash":
        return None
    return Lost(
        f"commands run under bash, not {config['shell']}", "start that shell in the command"
    )


def _waking(_event: str, config: Config) -> Lost | None:
    if not config.get("asyncRewake"):
        return None
    return Lost(
        "a hook that goes on in the background cannot wake the agent here",
        "let it block while the agent waits, without asyncRewake",
    )


def _background_program(_event: str, config: Config) -> Lost | None:
    if not (config.get("async") and "args" in config):
        return None
    return Lost(
        "only a shell command can go on in the background here, not one with args",
        "write command and args as one command",
    )


_RULES: tuple[Callable[[str, Config], Lost | None], ...] = (
    _condition,
    _shell,
    _waking,
    _background_program,
)


class _Maker:
    def __init__(self, event: str, config: Config) -> None:
        self._event = event
        self._config = config
        self._changes: list[str] = []
        self._notes: list[str] = []

    def made(self) -> Made:
        hook = {
            "type": "command",
            **self._command(),
            **self._description(),
            **self._timeout(),
            **self._failure(),
        }
        if self._config.get("once"):
            self._notes.append("once has no counterpart: it runs every time")
        strangers = sorted(set(self._config) - _KNOWN)
        if strangers:
            self._notes.append(f"{', '.join(strangers)} means nothing here and was left out")
        return Made(hook, tuple(self._changes), tuple(self._notes))

    def _command(self) -> dict[str, Any]:
        command: str = self._config["command"]
        if self._config.get("async"):
            self._changes.append("async: goes on in the background")
            self._notes.append("what it prints is not read, as it goes on in the background")
            return {"name": command, "command": _BACKGROUND.format(command=command)}
        args = {"args": self._config["args"]} if "args" in self._config else {}
        return {"command": command, **args}

    def _description(self) -> dict[str, Any]:
        message = self._config.get("statusMessage")
        if not isinstance(message, str) or not message:
            return {}
        self._changes.append("statusMessage is its description")
        return {"description": message}

    def _timeout(self) -> dict[str, Any]:
        seconds = self._config.get("timeout")
        if seconds is None:
            return {}
        if isinstance(seconds, bool) or not isinstance(seconds, int | float):
            self._notes.append(f"its timeout {seconds!r} is no number and was left out")
            return {}
        if not 0 < seconds <= sys.float_info.max / 1000:
            self._notes.append(f"its timeout {seconds} is out of range and was left out")
            return {}
        milliseconds = round(seconds * 1000) or 1
        self._changes.append(f"timeout {seconds:g} s → {milliseconds} ms")
        return {"timeout": milliseconds}

    def _failure(self) -> dict[str, Any]:
        if self._config.get("onFailure") != "block":
            return {}
        if self._event in _NEVER_FAIL_CLOSED or self._config.get("async"):
            return {}
        return {"onFailure": "block"}
