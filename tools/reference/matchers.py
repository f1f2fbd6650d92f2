"""How matchers are compared; the real matcher decides every row of the example tables."""

from collections.abc import Iterable

from hookline.dialects import DIALECTS
from hookline.dialects.claude.tools import CLAUDE_NAMES
from hookline.dialects.matcher import MATCH_SECONDS
from hookline.wire.events import EVENTS, EventName, HookEventName
from tools.reference.events import file_of
from tools.reference.markdown import code, codes, page, table

_TOOL_EXAMPLES = (
    (None, "write_file"),
    ("", "write_file"),
    ("*", "write_file"),
    ("write_file", "write_file"),
    ("write_file", "overwrite_file_now"),
    ("^write_file$", "overwrite_file_now"),
    ("Write_File", "write_file"),
    ("(?i)Write_File", "write_file"),
    ("write_file|replace", "replace"),
    (" write_file ", "write_file"),
    ("write_file, replace", "replace"),
    ("write_.*", "write_file"),
    ("write_*", "write_file"),
    ("^mcp__github__", "mcp__github__create_issue"),
    ("^(?!read_)", "read_file"),
    ("^(?!read_)", "write_file"),
    ("[write", "write_file"),
    ("[write", "[write"),
)
_TRIGGER_EXAMPLES = (
    (HookEventName.SESSION_START, "startup", "startup"),
    (HookEventName.SESSION_START, "start", "startup"),
    (HookEventName.SESSION_START, "startup|resume", "resume"),
    (HookEventName.SESSION_START, "start.*", "startup"),
    (HookEventName.SESSION_END, "*", "logout"),
    (HookEventName.PRE_COMPRESS, "auto", "manual"),
    (HookEventName.NOTIFICATION, "ToolPermission", "ToolPermission"),
    (HookEventName.BEFORE_AGENT, "anything at all", ""),
)
_CLAUDE_EXAMPLES = (
    (HookEventName.BEFORE_TOOL, "Bash", "run_shell_command"),
    (HookEventName.BEFORE_TOOL, "Write|Edit", "write_file"),
    (HookEventName.BEFORE_TOOL, "Write, Edit", "write_file"),
    (HookEventName.BEFORE_TOOL, "Writ", "write_file"),
    (HookEventName.BEFORE_TOOL, "^Writ", "write_file"),
    (HookEventName.BEFORE_TOOL, "mcp__github__.*", "mcp__github__create_issue"),
    (HookEventName.BEFORE_TOOL, "[Write", "read_file"),
    (HookEventName.SESSION_START, "compact", "compress"),
)


def render() -> str:
    targets = [
        (
            f"[{event.value}](events/{file_of(event)})",
            code(spec.target) if (spec := EVENTS[event]).target else "nothing",
            _describe(spec.target, search=spec.search),
            codes(spec.triggers) or ("any tool's name" if spec.search else "–"),
        )
        for event in HookEventName
    ]
    return page(
        "Matchers",
        "A matcher stands beside the `hooks` of a definition and says for which tools, or which "
        "triggers, they run:",
        '```json\n{"matcher": "write_file|replace", "hooks": []}\n```',
        "## What it is compared with",
        table(("event", "compared with", "how", "values"), targets),
        "## Rules",
        "- No matcher, `null`, an empty one and `*` match all.\n"
        "- On events of **tools** it is a regular expression that is *searched* in the tool's "
        "name: it may match a part of it, and case counts. Write `^write_file$` for one tool "
        "alone.\n"
        "- On events with a **trigger** it must be equal, or match the *whole* word as a regular "
        "expression.\n"
        "- On events with nothing to compare it is ignored, with a finding of `hookline check`.\n"
        "- White space around it does not count; commas and spaces inside it do.\n"
        "- What is no regular expression must equal the name, with a warning.\n"
        "- The syntax is that of the `regex` package: Python's, with more.\n"
        f"- A name that takes longer than {MATCH_SECONDS * 1000:g} ms counts as matched, with a "
        "warning: a guard must not be skipped because it is slow.",
        "## Examples for tools",
        table(
            ("matcher", "tool", "matches"),
            _rows((HookEventName.BEFORE_TOOL, *each) for each in _TOOL_EXAMPLES),
        ),
        "## Examples for other events",
        table(
            ("event", "matcher", "value", "matches"),
            (
                (event.value, *row)
                for (event, *_), row in zip(
                    _TRIGGER_EXAMPLES, _rows(_TRIGGER_EXAMPLES), strict=True
                )
            ),
        ),
        "## In Claude Code's settings",
        "A matcher of `.claude/settings.json` follows Claude Code's rules. One of letters, digits, "
        "`_`, `-`, spaces, commas and bars is a list of *exact* names; any other is a regular "
        "expression in JavaScript's syntax, searched in the name. An invalid one matches "
        "all. It is compared with Claude Code's names for the tool.",
        table(
            ("event", "matcher", "value here", "matches"),
            (
                (event.value, *row)
                for (event, *_), row in zip(
                    _CLAUDE_EXAMPLES, _rows(_CLAUDE_EXAMPLES, "claude"), strict=True
                )
            ),
        ),
        "Names of tools that are known by both: " + _known_tools() + ". Others are declared with "
        '`"hooks": {"tools": {"my_tool": "Bash"}}`; see [Claude Code\'s hooks](../claude.md).',
        "## Try one",
        "`hookline fire BeforeTool --tool NAME` shows which hooks match; `hookline check` finds "
        "matchers that match no known tool, globs, and commas.",
    )


def _describe(target: str | None, *, search: bool) -> str:
    if target is None:
        return "ignored"
    return "found anywhere in it" if search else "equal, or matches all of it"


def _rows(
    examples: Iterable[tuple[EventName, str | None, str]], dialect: str = "native"
) -> list[tuple[str, str, str]]:
    rows = []
    for event, matcher, value in examples:
        matches, problem = DIALECTS[dialect].compile_matcher(event, matcher)
        said = "yes" if matches(value) else "no"
        warned = ", with a warning" if problem else ""
        shown = "none" if matcher is None else code(f'"{matcher}"')
        rows.append((shown, code(value) if value else "–", said + warned))
    return rows


def _known_tools() -> str:
    from hookline.dialects.claude.tools import host_names

    pairs = [(name, host_names(name)) for name in CLAUDE_NAMES]
    return ", ".join(f"`{name}` ({codes(hosts)})" for name, hosts in pairs if hosts)
