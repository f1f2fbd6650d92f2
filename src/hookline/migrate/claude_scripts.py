"""The scripts of Claude Code's hooks, and what each would have to change, line by line.

Both are told from text alone: a command's words name the scripts, and a script's lines what it
reads and prints. A script may mention a field and not depend on it; so only what a name can hardly
mean otherwise is reported, and comments are passed over.
"""

import os
import re
from collections.abc import Sequence

import msgspec

from hookline.files import open_regular
from hookline.migrate.claude import EVENTS
from hookline.migrate.claude_tools import TOOLS
from hookline.pipeline.programs import words_in
from hookline.pipeline.shell import expand

_MOST_READ = 1_000_000
_PROJECT_VARIABLES = ("CLAUDE_PROJECT_DIR", "GEMINI_PROJECT_DIR", "LLXPRT_PROJECT_DIR")
_CONTEXT_EVENTS = frozenset({"UserPromptSubmit", "SessionStart"})
_CONTEXT = """print {"hookSpecificOutput": {"additionalContext": "…"}}"""


class Script(msgspec.Struct, frozen=True):
    """A script, and its text."""

    path: str
    text: str


class Demand(msgspec.Struct, frozen=True):
    """One change that a script needs: at which line, why, and what to write."""

    line: int
    message: str
    remedy: str = ""


class _Rule(msgspec.Struct, frozen=True):
    """Words that mean something else here, or nothing; for hooks of these events, None for any."""

    pattern: re.Pattern[str]
    message: str
    remedy: str = ""
    events: frozenset[str] | None = None


def _rule(words: str, message: str, remedy: str = "", *events: str) -> _Rule:
    return _Rule(re.compile(rf"\b(?:{words})\b"), message, remedy, frozenset(events) or None)


_RULES = (
    _rule(
        "updatedInput",
        "updatedInput is not read here",
        "print hookSpecificOutput.tool_input; what it does not name stays",
    ),
    _rule(
        "updatedToolOutput|updatedMCPToolOutput",
        "{word} is not read here",
        'print {{"decision": "block", "reason": …}}: the reason takes the place of the result',
    ),
    _rule(
        "additionalContext",
        "additionalContext is not read on BeforeTool",
        "print a systemMessage",
        "PreToolUse",
    ),
    _rule(
        "additionalContext",
        "additionalContext is not read on AfterAgent",
        'print {{"decision": "block", "reason": …}}: the reason is the next prompt',
        "Stop",
    ),
    _Rule(
        re.compile("""["']defer["']"""),
        "there is no decision defer here",
        "ask instead",
        frozenset({"PreToolUse"}),
    ),
    _rule(
        "sessionTitle|suppressOriginalPrompt|initialUserMessage|watchPaths|reloadSkills"
        "|terminalSequence|classifierContext",
        "{word} is not read here",
    ),
    _rule("last_assistant_message", "it is called prompt_response here"),
    _rule(
        "tool_use_id|permission_mode|permission_suggestions|prompt_id|agent_id|agent_type"
        "|agent_transcript_path|custom_instructions|duration_ms|background_tasks|session_title",
        "there is no {word} here",
    ),
    _rule(
        "tool_response",
        "tool_response is what your agent's tool gives, not Claude Code's",
        "look at one: HOOKLINE_TRACE=1 and hookline trace",
        "PostToolUse",
    ),
    _rule(
        "transcript_path",
        'transcript_path may be "", and what is there is not Claude Code\'s transcript',
    ),
    _rule(
        "CLAUDE_ENV_FILE|CLAUDE_PLUGIN_ROOT|CLAUDE_PLUGIN_DATA|CLAUDE_CODE_REMOTE",
        "{word} is not set here",
    ),
)
_ANY_EVENT = re.compile(rf"\b(?:{'|'.join(EVENTS)})\b")
# As a word of code, not of prose: in quotes, in a list of alternatives, or compared with.
_TOOL_NAMES = "|".join(TOOLS)
_TOOL = re.compile(rf"""(?:(?:^|[\s(|"'^])(?=\w+[)|"'$])|=\s*)({_TOOL_NAMES})\b""")
# Blocks that come to something else.
_BLOCKED = {
    "PostToolUse": (
        "a block takes the place of the tool's result, which the model then does not see",
        f"to add to the result, {_CONTEXT}",
    ),
    "PreCompact": ("PreCompress cannot be blocked", ""),
}
_BLOCKS = re.compile(r"""\bexit\s*\(?\s*2\b|["']block["']""")
_PRINTS = re.compile(r"\b(?:echo|printf|print|cat|console\.log|puts|stdout\.write)\b")
_COMMENT = re.compile(r"\s*(?:#(?!!)|//)")
_RENAMED = {"PreToolUse", "PostToolUse", "UserPromptSubmit", "Stop", "PreCompact"}


def scripts_of(
    command: str, args: Sequence[str], *, project_dir: str, home: str | None
) -> list[Script]:
    """The scripts of the project and of the user's home that a command or its arguments name."""
    values = dict.fromkeys(_PROJECT_VARIABLES, project_dir) | ({"HOME": home} if home else {})
    words = [*words_in(command, values), *(expand(word, values) for word in args)]
    found: dict[str, Script] = {}
    for word in words:
        word = word.replace("~", home, 1) if home and word.startswith("~/") else word
        path = os.path.normpath(os.path.join(project_dir, word))
        places = (place for place in (project_dir, home) if place)
        if path not in found and any(path.startswith(place + os.sep) for place in places):
            try:
                with open_regular(path) as file:
                    content = file.read(_MOST_READ)
            except (OSError, ValueError):
                continue
            # A program that was compiled is no text.
            if b"\0" not in content:
                found[path] = Script(path, content.decode(errors="replace"))
    return list(found.values())


def demands(text: str, event: str, *, is_command: bool = False) -> list[Demand]:
    """What the script of a hook of an event of Claude Code's has to change, or the command of one
    that has no script."""
    lines = enumerate(text.splitlines(), start=1)
    code = [(number, line) for number, line in lines if not _COMMENT.match(line)]
    found: dict[str, Demand] = {}

    def demand(line: int, message: str, remedy: str = "") -> None:
        found.setdefault(message, Demand(line, message, remedy))

    for number, line in code:
        for rule in _RULES:
            if rule.events is None or event in rule.events:
                for word in rule.pattern.findall(line):
                    demand(number, rule.message.format(word=word), rule.remedy.format(word=word))
        # Names of tools and events, in scripts that read those.
        if "tool_name" in text:
            for name in _TOOL.findall(line):
                demand(number, f"the tool {name} is called {' or '.join(TOOLS[name])} here")
        if "hook_event_name" in text and "hookEventName" not in line:
            for name in _ANY_EVENT.findall(line):
                if name in _RENAMED:
                    demand(number, f"the event {name} is called {EVENTS[name].value} here")
    for number, line in code:
        if event in _BLOCKED and _BLOCKS.search(line):
            demand(number, *_BLOCKED[event])
    # Text that the model was given; what stands in the settings is there to print some.
    if event in _CONTEXT_EVENTS and "hookSpecificOutput" not in text:
        prints = [number for number, line in code if is_command or _PRINTS.search(line)]
        for number in prints[:1]:
            message = "text on stdout is a message here, and not added to the context"
            found[message] = Demand(number, message, _CONTEXT)
    return sorted(found.values(), key=lambda demand: demand.line)
