"""``hookline list``: every hook there is, enabled or not, trusted or not; it executes nothing."""

import argparse
import os
from collections.abc import Iterator
from typing import Any

from hookline.cli.layout import Row
from hookline.cli.screen import Screen
from hookline.cli.text import count, duration
from hookline.config import Config
from hookline.pipeline.layers import Settings
from hookline.pipeline.registry import HookRegistryEntry
from hookline.wire.events import EVENTS, HookEventName
from hookline.wire.hooks import CommandHook

EXAMPLES = ("hookline list", "hookline list --json")

_STATE_ROLES = {"enabled": "good", "disabled": "faint", "not trusted": "care"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """List has no arguments of its own."""


def run(options: argparse.Namespace, screen: Screen) -> int:
    """Show the hooks; problems in the settings are on stderr and change nothing else."""
    config = Config.load(options.cwd, settings_files=options.settings)
    settings = config.get_settings()
    if options.json:
        screen.document(_document(settings))
    elif settings.entries:
        _show(screen, settings)
    else:
        screen.line("no hooks are configured for ", (config.get_project_dir(), "name"))
        screen.line(
            "write some into .hookline/settings.json; "
            '"hookline demo --keep DIR" makes a project to copy from'
        )
    for problem in settings.problems:
        if problem.place != "trust":
            screen.warning(str(problem))
    return 0


def _show(screen: Screen, settings: Settings) -> None:
    for event in HookEventName:
        entries = [entry for entry in settings.entries if entry.event is event]
        if entries:
            screen.line((event.value, "title"))
            rows = [row for entry in entries for row in _rows(entry)]
            screen.table(rows, ("cut", "keep"))
            screen.line()
    screen.line(_summary(settings))
    if not settings.enabled:
        screen.line(("hooks are disabled in the user's or the system's settings", "care"))
    elif any(_state(entry) == "not trusted" for entry in settings.entries):
        screen.line("review the project's hooks; they run when fire is given --trust")


def _rows(entry: HookRegistryEntry) -> Iterator[Row]:
    """Two rows, the second set in: what it is, then what kind it is and where it stands."""
    state, hook = _state(entry), entry.hook
    matcher = entry.matcher or ("*" if EVENTS[entry.event].target else "")
    managed = ", managed" if hook.managed else ""
    yield (hook.name, "name"), (state + managed, _STATE_ROLES[state]), (str(matcher), "matcher")
    kind = f"  {hook.type}, {duration(hook.timeout)}"
    yield (kind, "faint"), (hook.source.value, "faint"), (_place(entry), "faint")


def _state(entry: HookRegistryEntry) -> str:
    if not entry.enabled:
        return "disabled"
    return "enabled" if entry.trusted else "not trusted"


def _place(entry: HookRegistryEntry) -> str:
    """``file:line``, from here or from the home directory where that is shorter."""
    if entry.file is None:
        return ""
    for start, shown in ((os.getcwd(), ""), (os.path.expanduser("~"), "~/")):
        if entry.file.startswith(start + os.sep):
            return f"{shown}{os.path.relpath(entry.file, start)}:{entry.line}"
    return f"{entry.file}:{entry.line}"


def _summary(settings: Settings) -> str:
    states = [_state(entry) for entry in settings.entries]
    parts = [f"{states.count(state)} {state}" for state in _STATE_ROLES if state in states]
    return f"{count(len(states), 'hook')}: {', '.join(parts)}"


def _document(settings: Settings) -> dict[str, Any]:
    return {
        "hooks": [_described(entry) for entry in settings.entries],
        "problems": [
            {"place": problem.place, "message": problem.message, "broken": problem.broken}
            for problem in settings.problems
        ],
    }


def _described(entry: HookRegistryEntry) -> dict[str, Any]:
    hook = entry.hook
    described: dict[str, Any] = {
        "event": entry.event.value,
        "name": hook.name,
        "matcher": entry.matcher or None,
        "type": hook.type,
        "source": hook.source.value,
        "file": entry.file,
        "line": entry.line,
        "enabled": entry.enabled,
        "trusted": entry.trusted,
        "managed": hook.managed,
        "sequential": entry.sequential,
        "timeout": hook.timeout,
        "on_failure": hook.on_failure,
    }
    if hook.description is not None:
        described["description"] = hook.description
    if isinstance(hook, CommandHook):
        described["command"] = hook.command
        if hook.args is not None:
            described["args"] = hook.args
    return described
