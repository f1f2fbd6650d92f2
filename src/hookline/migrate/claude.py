"""Translates Claude Code's hooks into native ones: each moves if it will do the same, or stays.

A guard that moves and no longer blocks is worse than one that stays, so a hook that may not mean
the same natively is refused, with the reason.
"""

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from hookline.migrate.claude_scripts import DECIDES_PROGRAMS, CannotMove, Judge
from hookline.migrate.claude_tools import Matcher, translate_matcher
from hookline.migrate.moves import Before, Draft, Kind, Migrated
from hookline.pipeline.dialects import DIALECTS
from hookline.pipeline.dialects.claude.names import MAPPED_EVENTS
from hookline.pipeline.jsonc import Document, Path, value_at
from hookline.shell.tokens import quote_variables

# There is no native event for the failure of a tool.
EVENTS = {name: event for name, event in MAPPED_EVENTS.items() if name != "PostToolUseFailure"}
_KNOWN = frozenset(
    {
        *("type", "command", "args", "timeout", "statusMessage", "once", "async", "asyncRewake"),
        *("onFailure", "shell", "if"),
    }
)
_PROJECT_VARIABLES = ("CLAUDE_PROJECT_DIR", "GEMINI_PROJECT_DIR", "LLXPRT_PROJECT_DIR")
_PLUGIN_VARIABLES = ("CLAUDE_PLUGIN_ROOT", "CLAUDE_PLUGIN_DATA")
# Programs read these variables by themselves.
_UNSAID = re.compile(
    r"PATH|HOME|SHELL|IFS|BASH_ENV|ENV|LANG|TZ|VIRTUAL_ENV"
    r"|(?:LC|LD|DYLD|PYTHON|NODE|RUBY|PERL|GIT|XDG|JQ|UV).*|.*_PROXY",
    re.IGNORECASE,
)
# A value that stays one word in a shell, quoted or not.
_ONE_WORD = re.compile(r"[^\s*?\[\]]+")


class Around(msgspec.Struct, frozen=True, kw_only=True):
    """The surroundings of a file's hooks: the project, "" for hooks of all projects, the variables
    that move with each hook, and those that do not, with the file that sets them."""

    project_dir: str = ""
    home: str | None = None
    env: Mapping[str, str] = {}
    private: Mapping[str, str] = {}


def migrate_claude(
    document: Document, file: str, around: Around, base: Path = ("hooks",)
) -> Migrated:
    """Migrate the hooks of a settings file, or of a plugin's file; ``base`` is the path to them."""
    draft = Draft(document, file)
    hooks = value_at(document.value, base)
    if not isinstance(hooks, Mapping):
        if hooks is not None:
            draft.find(Kind.REFUSED, base, "it is not an object of events", subject="hooks")
        hooks = {}
    for key, definitions in hooks.items():
        event = EVENTS.get(key)
        if event is None:
            reason = "there is no native event for it"
            draft.find(Kind.REFUSED, (*base, key), reason, subject=key)
        elif not isinstance(definitions, list):
            draft.find(Kind.REFUSED, (*base, key), "it is not a list of definitions", subject=key)
        else:
            for index, definition in enumerate(definitions):
                _add_definition(draft, (*base, key, index), key, definition, around)
    return draft.finish()


def _add_definition(draft: Draft, path: Path, key: str, definition: Any, around: Around) -> None:
    hooks, written = value_at(definition, ("hooks",)), value_at(definition, ("matcher",))
    if not isinstance(hooks, list) or not isinstance(written, str | None):
        draft.find(Kind.REFUSED, path, "it is not an object with a list of hooks", subject=key)
        return
    matcher = translate_matcher(EVENTS[key], written)
    subject = f"{key} {written}" if written else key
    for place, config in enumerate(hooks):
        at: Path = (*path, "hooks", place)
        words = value_at(config, ("command",)) or value_at(config, ("type",))
        named = f"{subject} {words}" if isinstance(words, str) else subject
        try:
            hook, changes = make_native(key, config, matcher, around)
        except CannotMove as error:
            draft.find(Kind.REFUSED, at, str(error), subject=named)
            continue
        for note in matcher.notes:
            draft.find(Kind.NOTE, (*path, "matcher"), note, subject=subject)
        draft.move(
            at,
            Before(event=key, matcher=written or None, config=config),
            EVENTS[key].value,
            matcher=matcher.text,
            hook=hook,
            changes=tuple(changes),
        )


def make_native(
    event: str, config: Any, matcher: Matcher, around: Around
) -> tuple[dict[str, Any], list[str]]:
    """Make the native hook for one of Claude's, and say what changes; raises CannotMove."""
    _check_fields(config)
    if event == "PostToolUse":
        raise CannotMove("AfterTool, its native event, also runs after failed calls")
    if matcher.refused is not None:
        raise CannotMove(f"its matcher cannot be written natively: {matcher.refused}")
    command, args = config["command"], config.get("args")
    hook: dict[str, Any] = {"type": "command", "command": command}
    changes: list[str] = []
    plugin = {name: around.env[name] for name in _PLUGIN_VARIABLES if name in around.env}
    if args is not None:
        # Claude Code replaces these with plain text, which must not be expanded again.
        words = [_fill(word, plugin) for word in (command, *args)]
        if any("$" in word.replace("${CLAUDE_PROJECT_DIR}", "") for word in words):
            raise CannotMove("natively a dollar sign in its command or args means something else")
        hook |= {"command": words[0], "args": words[1:]}
    split = {name for name, value in around.env.items() if not _ONE_WORD.fullmatch(value)}
    if args is None and quote_variables(command, split - {*_PLUGIN_VARIABLES}) != command:
        raise CannotMove("its command uses a variable of the settings' env that is several words")
    default_ms = DIALECTS["claude"].default_timeout_ms(event, "command")
    seconds = config.get("timeout", default_ms / 1000)
    hook["timeout"] = max(round(seconds * 1000), 1)
    changes.append(f"timeout {seconds:g} s → {hook['timeout']} ms")
    values = dict(around.env) | ({"HOME": around.home} if around.home else {})
    if around.project_dir:
        values |= dict.fromkeys(_PROJECT_VARIABLES, around.project_dir)
    judge = Judge(event, values, folder=around.project_dir, may_read=matcher.same_input)
    judge.judge(hook["command"], hook.get("args"))
    for name in DECIDES_PROGRAMS & around.env.keys():
        raise CannotMove(f"the settings' env sets {name}, so it may start other programs")
    text = "\n".join(judge.texts)
    for name in (*around.private, *_PLUGIN_VARIABLES):
        is_read = re.search(rf"\b{re.escape(name)}\b", text) or _UNSAID.fullmatch(name)
        if is_read and name not in around.env:
            whose = around.private.get(name, "a plugin that it does not belong to")
            raise CannotMove(f"it depends on {name}, which {whose} sets")
    if around.env:
        hook["env"] = dict(around.env)
        changes.append(f"env {', '.join(around.env)}")
    if config.get("statusMessage"):
        hook["description"] = config["statusMessage"]
        changes.append("statusMessage becomes its description")
    # On Stop a failure never blocks in Claude Code.
    if config.get("onFailure") == "block" and event != "Stop":
        hook["onFailure"] = "block"
    return hook, changes


def _fill(word: str, values: Mapping[str, str]) -> str:
    for name, value in values.items():
        word = word.replace(f"${{{name}}}", value)
    return word


def _check_fields(config: Any) -> None:
    """Raise CannotMove for a hook that never ran, or has a field that native hooks do not."""
    if not isinstance(config, Mapping):
        raise CannotMove("it is not an object, so it never ran")
    kind, command, args = config.get("type"), config.get("command"), config.get("args", [])
    seconds, message = config.get("timeout", 1), config.get("statusMessage", "")
    is_number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
    on_failure, strangers = config.get("onFailure", "continue"), sorted(set(config) - _KNOWN)
    obstacles = (
        (kind in ("http", "prompt", "agent", "mcp_tool"), f"{kind} hooks are not moved"),
        (kind != "command", f"its type is {kind!r}, so it never ran"),
        (not isinstance(command, str) or not command.strip(), "it has no command"),
        (
            not isinstance(args, list) or not all(isinstance(arg, str) for arg in args),
            "its args are not a list of strings",
        ),
        (
            not is_number or not 0 < seconds < 1e9,
            f"its timeout is {seconds!r}, not a number of seconds",
        ),
        (not isinstance(message, str), "its statusMessage is not a string"),
        ("if" in config, f"it has the condition {config.get('if')!r}; native hooks have none"),
        (config.get("shell", "bash") != "bash", f"its shell is {config.get('shell')!r}"),
        (
            config.get("async", False) is not False,
            "it is async, and natively its answer would count",
        ),
        (config.get("asyncRewake", False) is not False, "it may wake the agent (asyncRewake)"),
        (on_failure not in ("continue", "block"), f"its onFailure is {on_failure!r}"),
        (bool(strangers), f"it has the unknown fields {', '.join(strangers)}"),
    )
    for is_so, reason in obstacles:
        if is_so:
            raise CannotMove(reason)
