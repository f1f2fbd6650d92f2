"""Rules for Claude Code's matchers: a list of exact names, or an expression that is searched.

They are compared with Claude Code's names of the host's tools, as far as these are declared.
"""

import re
from collections.abc import Iterator, Mapping

from hookline._support.nearest import ask_which, did_you_mean, only_one
from hookline._support.problem import Problem
from hookline.check.findings import Finding, Severity
from hookline.check.matchers import (
    LONGEST,
    OF_FILES,
    PERMISSION_RULE,
    Verdict,
    does_match,
    find_exploding_name,
    find_words,
    judge_condition,
    replace_word,
    report_unmatched,
)
from hookline.check.material import Checked, find_definitions
from hookline.dialects import ForeignDialect, load_foreign
from hookline.dialects.matcher import Match
from hookline.settings.jsonc import Path
from hookline.wire.events import EVENTS, EventSpec

# The triggers of Claude Code's events that have a fixed list of them.
_TRIGGERS: Mapping[str, tuple[str, ...]] = {
    "SessionStart": ("startup", "resume", "clear", "compact", "fork"),
    "SessionEnd": ("clear", "resume", "logout", "prompt_input_exit", "other"),
    "PreCompact": ("manual", "auto"),
    "PostCompact": ("manual", "auto"),
    "Setup": ("init", "maintenance"),
    "ConfigChange": (
        *("user_settings", "project_settings", "local_settings", "policy_settings", "skills"),
    ),
    "InstructionsLoaded": (
        *("session_start", "nested_traversal", "path_glob_match", "include", "compact"),
    ),
    "DirectoryAdded": ("slash_command", "register_repo_root"),
}
# Triggers that never occur in our hosts.
_NEVER_HERE = {"SessionStart": "fork", "SessionEnd": "resume"}


def check_claude_matchers(checked: Checked) -> Iterator[Finding]:
    """Find what is wrong with each matcher, only the surest problem of each; one finding names all
    matchers of a file that match no declared tool."""
    for file in checked.files:
        strange: list[tuple[Path, str]] = []
        for key, path, definition in find_definitions(file) if file.is_claude else ():
            event, text = file.dialect.event_for(key), definition.get("matcher")
            is_text = isinstance(text, str) and text.strip() not in ("", "*")
            if event is None or not isinstance(text, str) or not is_text or len(text) > LONGEST:
                continue
            matches, problem = file.dialect.compile_matcher(event, text, checked.tools)
            spec, dialect = EVENTS[event], load_foreign(file.dialect.name)
            verdict = _judge_form(text, key, spec, problem)
            if verdict is None and key in _TRIGGERS:
                verdict = _judge_trigger(text, key, matches, dialect)
            elif verdict is None and spec.search:
                verdict = _judge_tools(text, matches, checked, dialect)
                if verdict is None and _matches_no_tool(text, matches, checked):
                    strange.append(((*path, "matcher"), text))
            if verdict is not None:
                rule, severity, message, remedy, instead = verdict
                at = (*path, "matcher")
                fixes = file.replace_value(at, instead) if instead is not None else ()
                yield file.finding(rule, severity, at, message, remedy, fixes=fixes, event=key)
        if strange:
            yield report_unmatched(file, strange, "declared tool")


def _judge_form(text: str, key: str, spec: EventSpec, problem: Problem | None) -> Verdict | None:
    if spec.target is None:
        what = f"{key} has nothing to match, so its hooks run every time"
        remedy = "remove the matcher, and look at the input in the script"
        return Verdict("matcher-ignored", Severity.WARNING, what, remedy)
    rule = re.fullmatch(PERMISSION_RULE, text.strip())
    if rule is not None and spec.search:
        what = f"{text!r} looks like a permission rule; a matcher sees only the tool's name"
        remedy = f'write {rule[1]}, and "if": "{text.strip()}" in the hook'
        return Verdict("matcher-rule", Severity.ERROR, what, remedy)
    if spec.search and (condition := judge_condition(text, has_rules=True)) is not None:
        return condition
    if problem is not None and spec.search and re.match(OF_FILES, text):
        return _judge_file_name(text, Severity.ERROR)
    if problem is not None:
        remedy = "correct it; until then it matches all"
        return Verdict("matcher-regex", Severity.ERROR, problem.message, remedy)
    if re.search(r"[)\]][*+{]", text):
        name = find_exploding_name(text, search=True)
        if name is not None:
            what = f"{text!r} can take forever on names such as {name[:12]}…"
            remedy = "do not nest repetitions, or repeat alternatives that overlap"
            return Verdict("matcher-explodes", Severity.WARNING, what, remedy)
    return None


def _judge_file_name(text: str, severity: Severity) -> Verdict:
    what = f"{text!r} looks like a file name; a matcher sees only the tool's name"
    return Verdict("matcher-file", severity, what, 'name the files in the hook: "if": "Edit(*.py)"')


def _judge_trigger(text: str, key: str, matches: Match, dialect: ForeignDialect) -> Verdict | None:
    triggers = _TRIGGERS[key]
    here = [word for word in triggers if word != _NEVER_HERE.get(key)]
    words = dialect.names_in_matcher(text) or ()
    unknown = [word for word in words if word not in triggers]
    one = only_one(unknown[0], triggers) if len(unknown) == 1 else None
    remedy = ask_which(unknown[0], triggers) if unknown else ""
    remedy = remedy or f"the triggers are {', '.join(here)}"
    instead = replace_word(text, unknown[0], one) if one else None
    if any(does_match(matches, word) for word in here):
        if not unknown:
            return None
        what = f"{unknown[0]!r} never happens on {key}"
        return Verdict("matcher-trigger", Severity.WARNING, what, remedy, instead)
    if any(does_match(matches, word) for word in triggers):
        what = f"{text!r} never happens on {key} in this host"
        return Verdict("matcher-trigger", Severity.WARNING, what, remedy)
    what = f"{text!r} never happens on {key}, so these hooks never run"
    return Verdict("matcher-trigger", Severity.ERROR, what, remedy, instead)


def _matches_no_tool(text: str, matches: Match, checked: Checked) -> bool:
    """True if a matcher matches no tool that this host declares; names of MCP tools are not known
    here, so they are not judged."""
    hosts = (*checked.tools, *checked.declared)
    return "mcp" not in text and not any(does_match(matches, host) for host in hosts)


def _judge_tools(
    text: str, matches: Match, checked: Checked, dialect: ForeignDialect
) -> Verdict | None:
    from hookline.dialects.tools import split_mcp_name

    words, tools = dialect.names_in_matcher(text) or (), checked.tools
    hosts = (name for host in tools for name in dialect.names_of_tool(host, tools))
    tool_names = dict.fromkeys([*dialect.tool_names(), *hosts, *checked.declared])
    for word in words:
        if word.startswith("mcp__") and split_mcp_name(word) is None:
            what = f"no tool is called {word!r}: a list has whole names"
            correction = f"{word.rstrip('_')}__.*"
            return Verdict("matcher-tool", Severity.WARNING, what, f"write {correction}")
    if any(does_match(matches, host) for host in (*tools, *checked.declared)):
        # One name may be misspelt beside good ones.
        for word in (word for word in words if word not in tool_names and "mcp" not in word):
            one = only_one(word, tool_names)
            if one is not None:
                what, remedy = f"no known tool is called {word!r}", did_you_mean([one])
                correction = replace_word(text, word, one)
                return Verdict("matcher-tool", Severity.WARNING, what, remedy, correction)
        return None
    if "mcp" in text:
        return None
    if re.match(OF_FILES, text):
        return _judge_file_name(text, Severity.WARNING)
    claudes = [name for name in dialect.tool_names() if does_match(matches, name) or name in words]
    if claudes:
        tool = claudes[0]
        what = f"{text!r} matches no declared tool: this host declares none as {tool}"
        remedy = f'declare it: "tools": {{"my_tool": "{tool}"}}, or Hooks(tools=…)'
        return Verdict("matcher-tool", Severity.WARNING, what, remedy)
    for word in words or find_words(text):
        one = only_one(word, tool_names)
        if one is not None:
            slip = "case counts" if one.lower() == word.lower() else "a typing error"
            what = f"{text!r} matches no declared tool ({slip}?)"
            correction = replace_word(text, word, one)
            return Verdict("matcher-tool", Severity.WARNING, what, did_you_mean([one]), correction)
    return None
