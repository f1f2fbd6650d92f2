"""``hookline migrate``: another agent's hook settings as ours, looked at first, written on demand.

It executes nothing and leaves the other agent's files alone.
"""

import argparse
import os
from collections.abc import Mapping
from typing import Any, cast

from hookline.cli.failures import CommandError
from hookline.cli.migrate_screen import plan_document, show_plan
from hookline.cli.paths import shown
from hookline.cli.screen import Screen
from hookline.edit import (
    Updated,
    add_to_settings,
    read_settings_text,
)
from hookline.migrate.claude import EVENTS
from hookline.migrate.planning import (
    Agent,
    Places,
    Plan,
    Source,
    Target,
    additions,
    find_places,
    find_sources,
    given_source,
    make_plan,
)
from hookline.pipeline.settings import SettingsFileError
from hookline.wire.events import HookEventName

EXAMPLES = (
    "hookline migrate",
    "hookline migrate --from claude --only project",
    "hookline migrate --write",
)

_AGENTS: dict[str, tuple[Agent, ...]] = {
    "auto": ("claude", "gemini"),
    "claude": ("claude",),
    "gemini": ("gemini",),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what is migrate's own."""
    parser.add_argument(
        "--from",
        dest="agent",
        choices=tuple(_AGENTS),
        default="auto",
        help="whose settings (default: Claude Code's, or without any Gemini's and LLxprt's)",
    )
    parser.add_argument(
        "--only", choices=("project", "user"), help="the project's settings alone, or the user's"
    )
    how = parser.add_mutually_exclusive_group()
    how.add_argument(
        "--dry-run", action="store_true", help="show what would come of it (the default)"
    )
    how.add_argument(
        "--write", action="store_true", help="add the hooks; what was there is kept, with a backup"
    )


def run(options: argparse.Namespace, screen: Screen) -> int:
    """Show the migration, and carry it out if that was asked for."""
    places = find_places(os.path.abspath(options.cwd or os.getcwd()))
    plan = make_plan(_sources(options, places), places)
    written = _write(plan) if options.write else None
    if options.json:
        screen.document(plan_document(plan, written, again=_again(options)))
    else:
        show_plan(screen, plan, written, again=_again(options))
        _tell_others(screen, plan, places)
    return 0


def _again(options: argparse.Namespace) -> str:
    """The command that carries out what was shown."""
    import shlex

    words = ["hookline", "migrate", "--write"]
    words += [] if options.agent == "auto" else ["--from", options.agent]
    words += ["--only", options.only] if options.only else []
    words += ["--cwd", options.cwd] if options.cwd else []
    words += [word for file in options.settings or () for word in ("--settings", file)]
    return shlex.join(words)


def _tell_others(screen: Screen, plan: Plan, places: Places) -> None:
    """Settings that were left aside, because they need no migration."""
    agents = {source.agent for source in plan.sources}
    for source in find_sources(places, ("gemini",)) if agents == {"claude"} else ():
        screen.line(f"{shown(source.file)} is read as it is; --from gemini moves it all the same")


def _sources(options: argparse.Namespace, places: Places) -> list[Source]:
    if options.settings:
        return [
            given_source(file, _agent_of(file, options.agent), places) for file in options.settings
        ]
    found = find_sources(places, _AGENTS[options.agent])
    if options.only:
        found = [source for source in found if source.layer == options.only]
    if options.agent == "auto":
        # The others' files are read as they are, so they are moved only where that is all there is.
        found = [source for source in found if source.agent == "claude"] or found
    return found


def _agent_of(file: str, asked: str) -> Agent:
    """Whose settings a file holds, told by its events where nobody says so."""
    if asked != "auto":
        return cast(Agent, asked)
    value = read_settings_text(os.path.abspath(file)).document.value
    hooks = value.get("hooks")
    named = set(hooks) if isinstance(hooks, Mapping) else set()
    return "gemini" if named & set(HookEventName) - set(EVENTS) else "claude"


def _write(plan: Plan) -> list[Updated]:
    written: list[Updated] = []
    for target in plan.targets:
        try:
            written.append(_add(target))
        except SettingsFileError as error:
            done = [each.file for each in written if each.changed]
            before = f" ({', '.join(done)} was written before)" if done else ""
            raise CommandError(f"{error}{before}") from None
    return written


def _add(target: Target) -> Updated:
    def choose(value: Mapping[str, Any]) -> Mapping[str, Any]:
        return additions(value, target.moves, target.disabled)[0]

    if not target.new and not target.disabled:
        return Updated(file=target.file, created=False, changed=False)
    return add_to_settings(target.file, choose)
