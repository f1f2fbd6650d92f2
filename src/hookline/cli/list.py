"""``hookline list``: every hook there is, enabled or not, trusted or not; it executes nothing.

A hook takes two rows: what it is, then where it stands; more where there is more to say.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from hookline._support.problem import Problem
from hookline.cli.failures import CHECK_HINT, tell_problems
from hookline.cli.options import (
    SOURCES,
    Option,
    Options,
    explain_unread,
    find_sources,
    read_event_name,
)
from hookline.cli.screen import Row, Screen, count, duration, shorten_path, shorten_place
from hookline.engine.project import Project
from hookline.pipeline.registry import HookRegistryEntry
from hookline.settings.layers import EffectiveSettings, Switch, find_switch
from hookline.wire.events import EVENTS, EventName, HookEventName
from hookline.wire.hooks import (
    CommandHook,
    HookConfig,
    HookSource,
    HttpHook,
    PromptHook,
    WithheldHook,
)

# Loaded only where there is a record to show.
if TYPE_CHECKING:
    from hookline.trace.queries import LastRun

# A hook, what keeps it off, what it did last, as far as that is known, and why it is open.
_Listed: TypeAlias = "tuple[HookRegistryEntry, Switch | None, LastRun | None, str]"
EXAMPLES = (
    "hookline list",
    "hookline list --event BeforeTool",
    "hookline list --claude",
    "hookline list --json",
)
OPTIONS = (
    Option("--event", "EVENT", "only the hooks of this event"),
    Option(
        "--source",
        "",
        "only the hooks of these settings",
        choices=(HookSource.PROJECT.value, HookSource.USER.value, HookSource.SYSTEM.value),
    ),
    *SOURCES,
)
_LONGEST_PROMPT = 200

_STATE_ROLES = {"enabled": "good", "disabled": "faint", "not trusted": "care", "blocks": "bad"}
_UNITS = ((86_400.0, "day"), (3_600.0, "hour"), (60.0, "minute"), (1.0, "second"))


def run(options: Options, screen: Screen) -> int:
    """Show the hooks; problems in the settings are on stderr and change nothing else."""
    event, claude_event = (None, "") if options.event is None else _read_event(options.event)
    project = Project.load(options.cwd, **find_sources(options))
    settings, project_dir = project.get_settings(), project.project_dir
    entries = [
        entry
        for entry in settings.entries
        if event in (None, entry.event)
        and claude_event in ("", entry.hook.dialect_event)
        and options.source in (None, entry.source.value)
    ]
    # What hooks did last, by event and name; nothing where no record is kept.
    outcomes: Mapping[tuple[str, str], LastRun] = {}
    if settings.trace or "HOOKLINE_TRACE" in os.environ:
        from hookline.trace.queries import last_outcomes
        from hookline.trace.records import is_trace_wanted

        if is_trace_wanted(default=settings.trace):
            outcomes = last_outcomes(within=project_dir)
    listed: list[_Listed] = [
        (
            entry,
            None if entry.enabled else find_switch(entry.hook, settings.switches),
            outcomes.get((entry.event.value, entry.name)),
            project.get_open(entry.hook) if entry.trusted else "",
        )
        for entry in entries
    ]
    problems = [*settings.problems, *_find_unrun(project.list_files())]
    if options.json:
        described = [
            {"place": problem.place, "message": problem.text, "broken": problem.broken}
            for problem in problems
        ]
        unread = {"unread": files} if (files := project.find_unread()) else {}
        hooks = [_make_document(*hook) for hook in listed]
        screen.document({"hooks": hooks, "problems": described, **unread})
    else:
        _show(screen, settings, project_dir, listed, asked_for_claude=bool(options.claude))
        if files := project.find_unread():
            screen.line((explain_unread(files), "faint"))
    tell_problems(screen, problems)
    return 0


def _find_unrun(files: Sequence[str]) -> list[Problem]:
    """Find hooks of Claude Code's skills and sub-agents, which are not run."""
    if not any(os.path.basename(os.path.dirname(file)).startswith(".claude") for file in files):
        return []
    from hookline.dialects.claude.skills import find_unrun_hooks

    return [*find_unrun_hooks(files)]


def _read_event(name: str) -> tuple[EventName, str]:
    """The event of a name, and that name if it is Claude Code's; raises CommandError."""
    event = read_event_name("--event: ", name)
    return event, "" if name == event.value else name


def _is_fired(event: EventName) -> bool:
    """True if this package fires the event; any other is for the host to fire."""
    if isinstance(event, HookEventName):
        return True
    from hookline.dialects import list_foreign

    fired = (each.fired_by_all | each.fired_by_some for each in list_foreign())
    return any(event.value in names for names in fired)


def _make_document(
    entry: HookRegistryEntry,
    switch: "Switch | None",
    outcome: "LastRun | None",
    why_open: str,
) -> dict[str, Any]:
    hook = entry.hook
    document: dict[str, Any] = {
        "event": entry.event.value,
        "name": hook.name,
        "matcher": entry.matcher or None,
        "type": hook.type,
        "source": hook.source.value,
        "file": entry.file,
        "line": entry.line,
        "enabled": entry.enabled,
        "disabled_by": None if switch is None else switch.describe(),
        "trusted": entry.trusted,
        "open": why_open,
        "from_copy": isinstance(hook, CommandHook)
        and hook.start is not None
        and hook.start.from_copy,
        "managed": hook.managed,
        "sequential": entry.sequential,
        "timeout": hook.timeout,
        "on_failure": hook.on_failure,
        "last": None if outcome is None else msgspec.structs.asdict(outcome),
    }
    if hook.description is not None:
        document["description"] = hook.description
    if isinstance(hook, WithheldHook):
        document["why"] = hook.why
    if isinstance(hook, CommandHook):
        document["command"] = hook.command
        if hook.args is not None:
            document["args"] = hook.args
        document["warm"] = hook.warm
        if hook.background:
            document["async"] = True
    if hook.plugin_root is not None:
        document["plugin"] = hook.plugin_root
    if isinstance(hook, HttpHook):
        document["url"] = hook.url
    if isinstance(hook, PromptHook):
        document["prompt"] = hook.prompt
    if hook.dialect_event:
        document |= {"dialect": hook.dialect, "dialect_event": hook.dialect_event}
        document |= {"fired": _is_fired(entry.event)}
    if hook.condition is not None:
        document["if"] = hook.condition
    return document


def _show(
    screen: Screen,
    settings: EffectiveSettings,
    project_dir: str,
    listed: Sequence[_Listed],
    *,
    asked_for_claude: bool,
) -> None:
    """The hooks of each event, a summary, and what to do next."""
    if not settings.entries:
        screen.line("no hooks are configured for ", (project_dir, "name"))
        is_broken = any(problem.kind != "untrusted" for problem in settings.problems)
        first = "`hookline init` makes a first one, `hookline demo` shows some at work"
        screen.line(CHECK_HINT if is_broken else first)
        return
    others = dict.fromkeys(
        hook[0].event for hook in listed if not isinstance(hook[0].event, HookEventName)
    )
    for event in (*HookEventName, *others):
        rows = [row for hook in listed if hook[0].event is event for row in _make_rows(*hook)]
        if rows:
            screen.line((event.value, "title"))
            screen.table(rows, ("cut", "keep"))
            screen.line()
    states = [_describe_state(entry) for entry, *_ in listed]
    parts = ", ".join(f"{states.count(s)} {s}" for s in _STATE_ROLES if s in states)
    every = len(settings.entries)
    hooks = count(every, "hook") if len(states) == every else f"{len(states)} of {every} hooks"
    screen.line(hooks, f": {parts}" if parts else "")
    if any(entry.hook.managed for entry, *_ in listed):
        screen.line("neither the user nor a project can disable a managed hook")
    if not settings.enabled:
        screen.line(("hooks are disabled in the user's or the system's settings", "care"))
    elif "not trusted" in states or "blocks" in states:
        verb = "hookline trust --claude" if asked_for_claude else "hookline trust"
        screen.line(f"review the project's hooks with `{verb}`; they run after you trust them")


def _describe(hook: HookConfig) -> Iterator[str]:
    """What is particular to a hook of its kind, or of another dialect."""
    if hook.condition is not None:
        yield f"if {hook.condition}"
    if isinstance(hook, HttpHook) and hook.url != hook.name:
        yield hook.url
    if isinstance(hook, PromptHook) and hook.prompt != hook.name:
        text = " ".join(hook.prompt.split())
        yield text if len(text) <= _LONGEST_PROMPT else f"{text[:_LONGEST_PROMPT]}…"
    if hook.plugin_root is not None:
        yield f"plugin {shorten_path(hook.plugin_root)}"


def _describe_state(entry: HookRegistryEntry) -> str:
    if not entry.enabled:
        return "disabled"
    if isinstance(entry.hook, WithheldHook):
        return "blocks"
    return "enabled" if entry.trusted else "not trusted"


def _make_rows(
    entry: HookRegistryEntry,
    switch: "Switch | None",
    outcome: "LastRun | None",
    why_open: str,
) -> Iterator[Row]:
    hook, state = entry.hook, _describe_state(entry)
    matcher = entry.matcher or ("*" if EVENTS[entry.event].target else "")
    managed = ", managed" if hook.managed else ""
    yield (hook.name, "name"), (state + managed, _STATE_ROLES[state]), (str(matcher), "matcher")
    if isinstance(hook, WithheldHook):
        yield ("  why", "faint"), (hook.source.value, "faint"), (hook.why, "faint")
        return
    more = ""
    if isinstance(hook, CommandHook):
        more = f"{', warm' if hook.warm else ''}{', async' if hook.background else ''}"
    kind = f"  {hook.type}{more}, {duration(hook.timeout)}"
    place = shorten_place(entry.file, entry.line)
    yield (kind, "faint"), (hook.source.value, "faint"), (place, "faint")
    details = ", ".join(_describe(hook))
    if hook.dialect_event or details:
        dialect = hook.dialect if hook.dialect_event else ""
        yield (f"  {hook.dialect_event}", "faint"), (dialect, "faint"), (details, "faint")
    if not _is_fired(entry.event):
        yield ("  not fired by this host", "care"), "", ""
    if why_open:
        yield ("  trusted, open", "care"), "", (why_open, "faint")
    elif isinstance(hook, CommandHook) and hook.start is not None and hook.start.from_copy:
        yield ("  runs from its reviewed copy", "faint"), "", ""
    if switch is not None:
        place = shorten_place(switch.file, switch.line)
        yield ("  disabled by", "faint"), (switch.source.value, "faint"), (place, "faint")
    if outcome is not None:
        from datetime import UTC, datetime

        from hookline.pipeline.answer import TONES

        past = (datetime.now(UTC) - datetime.fromisoformat(outcome.time)).total_seconds()
        ago = (f"{count(int(past // size), unit)} ago" for size, unit in _UNITS if past >= size)
        reason = f": {outcome.reason}" if outcome.reason else ""
        outcome_text = f"{next(ago, 'just now')}, {duration(outcome.duration_ms)}{reason}"
        word = (outcome.decision, TONES.get(outcome.decision, ""))
        yield ("  last run", "faint"), word, (outcome_text, "faint")
