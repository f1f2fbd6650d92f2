"""The options that users give their agents, with hookline's callbacks beside the user's own."""

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

from claude_agent_sdk import ClaudeAgentOptions, HookMatcher

from hookline.adapters.claude_agent.events import Asking, Callback, Guard
from hookline.adapters.conversations import Given
from hookline.adapters.steps import complete
from hookline.errors import HooklineError

OnFailure: TypeAlias = Literal["continue", "block"]

# Seconds that Claude Code waits for a callback: longer than the timeouts of hooks, since after its
# own Claude Code would let a tool's result pass unseen.
_TIMEOUT = 86_400.0
# Bytes of one message. Claude Code sends hooks the whole result even if the model reads a small
# part, and by default the SDK ends the session over a message larger than 1 MB.
_LARGEST_MESSAGE = 1 << 28
_BARE = "CLAUDE_CODE_SIMPLE"
_YES = frozenset({"1", "true", "yes", "on"})


@dataclass
class HookedOptions(ClaudeAgentOptions):
    """Options whose agents run hooks. A copy with other options keeps the hooks."""

    def __post_init__(self) -> None:
        if self.hooks is not None:
            self.hooks = {
                event: [_bind_matcher(matcher, self) for matcher in matchers]
                for event, matchers in self.hooks.items()
            }
        for guard in self._find_guards():
            self.ask_hooks_first(guard)

    def ask_hooks_first(self, guard: Guard) -> None:
        """Let hooks answer before ``can_use_tool``, if there is one."""
        asking = own = self.can_use_tool
        while isinstance(asking, Asking):
            if asking.guard is guard:
                return
            asking = asking.own
        self.can_use_tool = None if own is None else Asking(guard, own)

    def close(self) -> None:
        """End the sessions: SessionEnd is fired for each. May be called again."""
        for guard in self._find_guards():
            complete(guard.end_sessions(blocking=True))

    def __enter__(self) -> "HookedOptions":
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    async def __aenter__(self) -> "HookedOptions":
        return self

    async def __aexit__(self, *_exception: object) -> None:
        for guard in self._find_guards():
            await guard.end_sessions(blocking=False)

    def _find_guards(self) -> list[Guard]:
        matchers = [matcher for each in (self.hooks or {}).values() for matcher in each]
        ours = [callback for matcher in matchers for callback in _find_ours(matcher)]
        return [*dict.fromkeys(callback.guard for callback in ours)]


def _find_ours(matcher: HookMatcher) -> list[Callback]:
    # The SDK also takes a matcher of the wrong type, and calls nothing for it.
    callbacks = getattr(matcher, "hooks", ())
    return [callback for callback in callbacks if isinstance(callback, Callback)]


def _bind_matcher(matcher: HookMatcher, options: ClaudeAgentOptions) -> HookMatcher:
    """Return the matcher for clients of these options; one of the user's own stays the same."""
    ours = _find_ours(matcher)
    return replace(matcher, hooks=[each.bind(options) for each in ours]) if ours else matcher


def hooked(
    options: ClaudeAgentOptions | None = None,
    hooks: Given = None,
    *,
    on_failure: OnFailure = "continue",
) -> HookedOptions:
    """A copy of the options whose agents run hooks, for ``query`` and ``ClaudeSDKClient``.

    ``hooks`` is a ``Hooks``, a ``hooks.session(id)``, a directory whose settings are loaded, or
    nothing for those of the agent's working directory (``options.cwd``). Each session of Claude
    Code is a conversation of its own, under Claude Code's id. Callbacks of your own stay as they
    are. ``with`` and ``async with`` fire SessionEnd at the end, ``close()`` does it too.

    With ``on_failure="block"`` a tool call or a prompt is blocked when hookline itself fails. A
    hook that fails decides that itself (``onFailure``); strict hooks block in both cases. Raises
    HooklineError if Claude Code would not call any hook, and hooks must not be left out.
    """
    given = ClaudeAgentOptions() if options is None else options
    values = {field.name: getattr(given, field.name) for field in fields(ClaudeAgentOptions)}
    made = HookedOptions(**values)
    if made.max_buffer_size is None:
        made.max_buffer_size = _LARGEST_MESSAGE
    guard = Guard(given.cwd if hooks is None else hooks, blocks_failures=on_failure == "block")
    merged: dict[Any, list[HookMatcher]] = {
        event: [*matchers] for event, matchers in (given.hooks or {}).items()
    }
    must_block = guard.must_block()
    bare = _describe_bare_mode(given)
    if bare is not None:
        told = f"Claude Code calls no hooks in bare mode, which {bare} turns on"
        if must_block:
            raise HooklineError(f"{told}; remove it so that hooks run")
        guard.warn(told)
    doubles = guard.find_doubles(given.setting_sources)
    if doubles:
        guard.warn(
            f"Claude Code runs the hooks of {', '.join(doubles)} itself, so they run twice; pass "
            "setting_sources=[] to Claude Code, or claude=False to hookline"
        )
    fails: OnFailure | None = "block" if must_block else None
    for event, callback in guard.make_callbacks(made):
        matcher = HookMatcher(hooks=[callback], timeout=_TIMEOUT, on_failure=fails)
        merged.setdefault(event, []).append(matcher)
    made.hooks = merged
    made.ask_hooks_first(guard)
    return made


def _describe_bare_mode(options: ClaudeAgentOptions) -> str | None:
    """Return what turns on bare mode, in which Claude Code calls no hooks at all; None if off."""
    if "bare" in options.extra_args:
        return "extra_args"
    environment = {**os.environ, **options.env}
    for place, found in (("", environment), *_read_settings(options, environment)):
        if str(found.get(_BARE, "")).strip().lower() in _YES:
            return f"{_BARE}{place}"
    return None


def _read_settings(
    options: ClaudeAgentOptions, environment: Mapping[str, str]
) -> Iterator[tuple[str, Mapping[str, object]]]:
    """Yield each place whose settings may set variables that change Claude Code's mode, with the
    variables; a project's settings may not."""
    given, sources = (options.settings or "").strip(), options.setting_sources
    if given.startswith("{"):
        yield " in options.settings", _find_variables(given)
    elif given:
        path = Path(options.cwd or "", given)
        yield f" in {path}", _find_variables(path)
    if sources is None or "user" in sources:
        home = environment.get("CLAUDE_CONFIG_DIR") or Path(environment.get("HOME", ""), ".claude")
        path = Path(home, "settings.json")
        yield f" in {path}", _find_variables(path)


def _find_variables(settings: str | Path) -> Mapping[str, object]:
    try:
        read = json.loads(settings if isinstance(settings, str) else settings.read_bytes())
    except (OSError, ValueError):
        # Claude Code reports that itself.
        return {}
    variables = read.get("env") if isinstance(read, dict) else None
    return variables if isinstance(variables, dict) else {}
