"""Rules for Claude Code's settings: features that this host does not have, and files that are
there but not read."""

from collections.abc import Iterator, Mapping

from hookline.check.findings import Finding, Severity
from hookline.check.material import Checked, CheckedFile, HookSite, find_event_keys, find_raw_hooks
from hookline.dialects import load_foreign
from hookline.dialects.matcher import MatchTimeout
from hookline.settings.reader import SettingsFileError, read_settings_file
from hookline.shell.programs import find_user_config
from hookline.wire.events import HookEventName
from hookline.wire.hooks import LAYER_ORDER, HookSource

# Types that Claude Code runs and hookline does not.
_NOT_RUN = frozenset({"agent", "mcp_tool"})
# A field, the value that asks for a feature, the severity, the message and the remedy.
_UNSUPPORTED: tuple[tuple[str, object, Severity, str, str], ...] = (
    (
        *("shell", "powershell", Severity.WARNING),
        "powershell is not supported, so the hook is skipped",
        "write the command for bash",
    ),
    (
        *("once", True, Severity.HINT),
        "once works only in the frontmatter of a skill; the hook runs every time",
        "remove it",
    ),
)


def check_unread_files(checked: Checked) -> Iterator[Finding]:
    """Find files with Claude Code's hooks that are there and not read."""
    for path in checked.unread:
        try:
            content = read_settings_file(path)
        except SettingsFileError:
            continue
        hooks = None if content is None else content[1].value.get("hooks")
        if content is not None and isinstance(hooks, Mapping) and any(hooks.values()):
            line, column = content[1].place(("hooks",))
            yield Finding(
                kind="not-read",
                severity=Severity.HINT,
                message="the Claude Code hooks in this file are not read",
                remedy='pass --claude, or write "claude": true into your settings',
                file=path,
                line=line,
                column=column,
            )


def check_unfired_events(checked: Checked) -> Iterator[Finding]:
    """Find events with hooks that hookline does not fire by itself."""
    for file in _list_claude_files(checked):
        for key, path in find_event_keys(file):
            event, dialect = file.dialect.event_for(key), load_foreign(file.dialect.name)
            is_fired = isinstance(event, HookEventName) or key in dialect.fired_by_all
            if event is None or is_fired or not file.value(path):
                continue
            what = f"this host does not fire {key} unless the agent fires it by name"
            severity = Severity.WARNING
            if key in dialect.fired_by_some:
                what = f"{key} is fired by hookline.agent, and by other agents only by name"
                severity = Severity.HINT
            remedy = f'call hooks.fire_claude_event("{key}", …) in the agent'
            yield file.finding("event-not-fired", severity, path, what, remedy, at_key=True)


def check_kinds(checked: Checked) -> Iterator[Finding]:
    """Find hooks of a type that hookline does not run, or that the event does not take."""
    for file in _list_claude_files(checked):
        for raw in find_raw_hooks(file):
            kind = raw.config.get("type")
            if not isinstance(kind, str) or file.dialect.event_for(raw.key) is None:
                continue
            refused = file.dialect.refuse_kind(raw.key, kind)
            if refused is not None:
                what, _, remedy = refused.partition("; ")
                severity = Severity.WARNING if kind in _NOT_RUN else Severity.ERROR
                at = (*raw.path, "type")
                yield file.finding("type", severity, raw.path, what, remedy, at=at, event=raw.key)


def check_unsupported_fields(checked: Checked) -> Iterator[Finding]:
    """Find fields that do not do here what they do in Claude Code."""
    for file in _list_claude_files(checked):
        for raw in find_raw_hooks(file):
            for field, value, severity, what, remedy in _UNSUPPORTED:
                if raw.config.get(field) == value:
                    at = (*raw.path, field)
                    yield file.finding("not-supported", severity, at, what, remedy, event=raw.key)


def check_text_of_guards(checked: Checked) -> Iterator[Finding]:
    """Find hooks that fail closed where plain text is context: a brace in it fails them."""
    for site in checked.hooks:
        if site.raw.key in site.file.dialect.text_events and site.hook.on_failure == "block":
            what = "its text for the model may hold no {: with onFailure block that is malformed"
            remedy = "print the text as additionalContext in one JSON object"
            yield site.finding("guard-text", Severity.HINT, ("onFailure",), what, remedy)


def check_user_config(checked: Checked) -> Iterator[Finding]:
    """Find plugin commands with values that only Claude Code asks its user for."""
    for site in checked.commands:
        if site.file.is_claude and (variable := find_user_config(site.hook)) is not None:
            what = f"hookline has no value for {variable}, so the hook fails"
            remedy = "write the value in its place"
            yield site.finding("not-supported", Severity.WARNING, ("command",), what, remedy)


def check_conditions(checked: Checked) -> Iterator[Finding]:
    """Find hooks whose ``if`` is never true, or cannot be read."""
    for site in checked.hooks:
        text = site.raw.config.get("if")
        if not site.file.is_claude or not isinstance(text, str) or not text:
            continue
        from hookline.dialects.claude.events import CALL_EVENTS
        from hookline.dialects.claude.rules import Rule, read_rule

        at, key = ("if",), site.raw.key
        if key not in CALL_EVENTS:
            what = f"the hook never runs: if works only on tool events, and {key} is none"
            yield site.finding("condition", Severity.ERROR, at, what, "remove it")
            continue
        rule = read_rule(text)
        if not isinstance(rule, Rule):
            what = f"{rule}, so the hook runs on every call that it matches"
            remedy = 'write a rule such as "Bash(git push:*)"'
            yield site.finding("condition", Severity.WARNING, at, what, remedy)
        elif not _can_apply(site, rule.tool, checked):
            what = f"the matcher picks no tool that is {rule.tool}, so the hook never runs"
            remedy = "have the matcher and the rule name the same tool"
            yield site.finding("condition", Severity.WARNING, at, what, remedy)


def _can_apply(site: HookSite, tool: str, checked: Checked) -> bool:
    """True if the matcher picks the tool of a rule, or picks no known tool."""
    from hookline.dialects.claude.rules import Rule, covers

    if tool.startswith(("mcp__", "*")):
        return True
    try:
        picked = [host for host in checked.tools if site.entry.matches(host)]
    except MatchTimeout:
        return True
    dialect = load_foreign(site.file.dialect.name)
    names_of_hosts = (dialect.names_of_tool(host, checked.tools) for host in picked)
    return not picked or any(covers(Rule(tool), names, {}, checked.cwd) for names in names_of_hosts)


def check_switches(checked: Checked) -> Iterator[Finding]:
    """Find files that disable all of Claude Code's hooks."""
    only_managed = ("allowManagedHooksOnly",)
    for file in _list_claude_files(checked):
        for path in (("disableAllHooks",), only_managed) if not file.is_plugin else ():
            if file.value(path) is not True:
                continue
            if path == only_managed and file.source is not HookSource.SYSTEM:
                what = "only the managed settings can disable all other hooks; this is ignored"
                yield file.finding(
                    "overreach", Severity.WARNING, path, what, "remove it", at_key=True
                )
                continue
            number = sum(
                site.file.is_claude
                and not site.entry.enabled
                and LAYER_ORDER[site.hook.source] <= LAYER_ORDER[file.source]
                for site in checked.hooks
            )
            what = "this disables Claude Code's hooks"
            if number:
                what += ": 1 hook does not run" if number == 1 else f": {number} hooks do not run"
            yield file.finding("disabled", Severity.HINT, path, what, "remove it to enable them")


def _list_claude_files(checked: Checked) -> Iterator[CheckedFile]:
    return (file for file in checked.files if file.is_claude)
