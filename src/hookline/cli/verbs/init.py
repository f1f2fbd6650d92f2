"""``hookline init``: a first hook that works, its settings and its tests; it overwrites nothing."""

import argparse
import contextlib
import os
import re
from collections.abc import Mapping, Sequence
from typing import Any

from hookline.cli.failures import CommandError
from hookline.cli.first_hook import LANGUAGES, FirstHook, command_lines, first_hook
from hookline.cli.paths import shown
from hookline.cli.screen import Screen
from hookline.edit import (
    Updated,
    add_to_settings,
    read_settings_text,
    refuse_way_out,
)
from hookline.errors import UnknownEventError
from hookline.pipeline.settings import SettingsFileError, find_project_dir
from hookline.places import home_dir
from hookline.wire.events import HookEventName, narrow_event

EXAMPLES = (
    "hookline init",
    "hookline init python --name no-secrets",
    "hookline init sh --event SessionStart",
)

_INDENT = 2
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what is init's own."""
    parser.add_argument(
        "language", nargs="?", choices=tuple(LANGUAGES), default="sh", help="default: sh"
    )
    parser.add_argument("--name", metavar="NAME", help="of the hook and its files")
    parser.add_argument(
        "--event",
        metavar="EVENT",
        default=HookEventName.BEFORE_TOOL.value,
        help=f"when it runs (default: BeforeTool): {', '.join(HookEventName)}",
    )


def run(options: argparse.Namespace, screen: Screen) -> int:
    """Make the files, say what they are and what to do with them."""
    hook = first_hook(_event(options.event), options.language, _checked_name(options.name))
    project = find_project_dir(os.path.abspath(options.cwd or os.getcwd()), home_dir())
    settings = _settings_file(options, project)
    _refuse_what_exists(hook, project, settings, is_own=not options.settings)
    updated = _make(hook, project, settings)
    steps = _steps(hook, options)
    if options.json:
        screen.document(
            {
                "project": project,
                "hook": hook.name,
                "event": hook.event.value,
                "script": os.path.join(project, hook.script),
                "test": os.path.join(project, hook.test),
                "settings": {"file": settings, "created": updated.created},
                "next": [" ".join(command_lines(words, width=None)) for words, _ in steps],
            }
        )
        return 0
    _show(screen, hook, project, updated)
    screen.line()
    screen.line(("What to do next", "title"))
    for words, purpose in steps:
        room = screen.width and screen.width - _INDENT
        for line in command_lines(words, width=room):
            screen.line((line, "name"), indent=_INDENT)
        screen.line((purpose, "faint"), indent=2 * _INDENT)
    return 0


def _event(name: str) -> HookEventName:
    try:
        return narrow_event(name)
    except UnknownEventError as error:
        hint = "" if error.nearest else f"; the events are {', '.join(HookEventName)}"
        raise CommandError(f"--event: {error}{hint}") from None


def _checked_name(name: str | None) -> str | None:
    if name is not None and not _NAME.fullmatch(name):
        raise CommandError(
            f"--name: {name!r} cannot be a file's name; use letters, digits, '-', '_' and '.'"
        )
    return name


def _settings_file(options: argparse.Namespace, project: str) -> str:
    if not options.settings:
        return os.path.join(project, ".hookline", "settings.json")
    if len(options.settings) > 1:
        raise CommandError("--settings: one file is enough, the hook goes into it")
    return str(os.path.abspath(options.settings[0]))


def _refuse_what_exists(hook: FirstHook, project: str, settings: str, *, is_own: bool) -> None:
    for name in (hook.script, hook.test):
        refuse_way_out(os.path.join(project, name), project)
        if os.path.lexists(os.path.join(project, name)):
            raise CommandError(
                f"{os.path.join(project, name)} exists already; choose another name with --name"
            )
    if is_own:
        refuse_way_out(settings, project)
    if hook.name in _names(read_settings_text(settings).document.value):
        raise CommandError(
            f"{settings} has a hook {hook.name} already; choose another name with --name"
        )


def _names(value: Any) -> set[str]:
    """Every name in the settings, wherever it stands."""
    if isinstance(value, Mapping):
        own = {value["name"]} if isinstance(value.get("name"), str) else set()
        return own.union(*map(_names, value.values()))
    return set().union(*map(_names, value)) if isinstance(value, list) else set()


def _make(hook: FirstHook, project: str, settings: str) -> Updated:
    """All three files, or none of them."""
    made: list[str] = []
    try:
        for name, text, mode in (
            (hook.script, hook.script_text, 0o777),
            (hook.test, hook.test_text, 0o666),
        ):
            path = os.path.join(project, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            _create(path, text, mode, made)
        return add_to_settings(settings, lambda _: hook.additions(), backup=False)
    except (OSError, SettingsFileError):
        for path in made:
            with contextlib.suppress(OSError):
                os.unlink(path)
        raise


def _create(path: str, text: bytes, mode: int, made: list[str]) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    made.append(path)
    with open(descriptor, "wb") as file:
        file.write(text)


def _show(screen: Screen, hook: FirstHook, project: str, updated: Updated) -> None:
    verb = "made" if updated.created else "added it to"
    screen.table(
        [
            (("made", "good"), (shown(os.path.join(project, hook.script)), "name")),
            ((verb, "good"), (shown(updated.file), "name")),
            (("made", "good"), (shown(os.path.join(project, hook.test)), "name")),
        ],
        ("keep",),
        indent=0,
    )


def _steps(hook: FirstHook, options: argparse.Namespace) -> list[tuple[Sequence[str], str]]:
    """Commands that work as they stand, from here."""
    where = [] if options.cwd is None else ["--cwd", options.cwd]
    own = [option for file in options.settings or () for option in ("--settings", file)]
    # Settings that are named on the command line are the user's own.
    trust = [] if own else [(["hookline", "trust", *where], "read what will run, and let it")]
    return [
        (["hookline", "check", *where, *own], "find mistakes before they matter"),
        *trust,
        ([*hook.fire, *where, *own], "see it decide, and record it"),
        (
            ["hookline", "test", *where, *own],
            "run its tests; change the script, and run them again",
        ),
        (["hookline", "trace", *where], "look back at what was recorded"),
    ]
