"""``hookline init``: makes a first working hook, its settings and tests; overwrites nothing.

It also writes the schemas of settings and tests, for editors. The templates are
``hooks/<event>.sh``, ``.py`` and ``.hooktest.json``, where NAME stands for the hook's name.
"""

import contextlib
import os
import re
import shlex
from collections.abc import Mapping
from functools import partial
from typing import Any

import msgspec

from hookline._support.places import home_dir
from hookline.cli.failures import CommandError
from hookline.cli.options import Option, Options, read_event_name, repeat_options
from hookline.cli.screen import Screen, shorten_path
from hookline.hooktests.schema import hooktest_schema
from hookline.settings.edit import Updated, add_to_settings, read_settings_text, refuse_way_out
from hookline.settings.reader import SettingsFileError, find_project_dir
from hookline.settings.schema import settings_schema, write_schema
from hookline.wire import codec
from hookline.wire.events import EVENTS, HookEventName

LANGUAGES: dict[str, str] = {"sh": ".sh", "python": ".py"}
EXAMPLES = (
    "hookline init",
    "hookline init python --name no-secrets",
    "hookline init sh --event SessionStart",
)
OPTIONS = (
    Option(
        "language",
        "",
        "the language of the script (default: sh)",
        default="sh",
        choices=tuple(LANGUAGES),
        count="?",
    ),
    Option("--name", "NAME", "the name of the hook and of its files"),
    Option(
        "--event",
        "EVENT",
        f"the event that runs it (default: BeforeTool): {', '.join(HookEventName)}",
        default=HookEventName.BEFORE_TOOL.value,
    ),
)

_TEMPLATES = os.path.join(os.path.dirname(__file__), "hooks")
# Event -> the default name of its hook, and the hook's matcher.
_EVENTS: dict[HookEventName, tuple[str, str | None]] = {
    HookEventName.BEFORE_TOOL: ("guard", "run_shell_command|write_file|replace"),
    HookEventName.AFTER_TOOL: ("after-edit", "write_file|replace"),
    HookEventName.BEFORE_AGENT: ("prompt-check", None),
    HookEventName.AFTER_AGENT: ("finish", None),
    HookEventName.BEFORE_MODEL: ("request-check", None),
    HookEventName.AFTER_MODEL: ("answer-check", None),
    HookEventName.BEFORE_TOOL_SELECTION: ("read-only", None),
    HookEventName.SESSION_START: ("welcome", None),
    HookEventName.SESSION_END: ("goodbye", None),
    HookEventName.PRE_COMPRESS: ("compression", None),
    HookEventName.NOTIFICATION: ("notify", None),
}
_ANY_EVENT = "any_event"  # the templates of events without their own
# The schemas that settings and tests refer to, for editors.
_SETTINGS_SCHEMA = ".hookline/settings.schema.json"
_TEST_SCHEMA = ".hookline/hooktest.schema.json"
_INDENT = 2
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")


class FirstHook(msgspec.Struct, frozen=True, kw_only=True):
    """The hook to make; paths are relative to the project, ``fire`` is a command that runs it."""

    name: str
    event: HookEventName
    script: str
    script_text: bytes
    test: str
    test_text: bytes
    fire: tuple[str, ...]

    def additions(self, present: Mapping[str, Any], *, has_schema: bool) -> dict[str, Any]:
        """Return what to add to the settings; ``has_schema``: their schema is beside them."""
        hook = {
            "type": "command",
            "name": self.name,
            "command": f"$HOOKLINE_PROJECT_DIR/{self.script}",
            "timeout": 5000,
            # A guard that could be broken into silence would guard nothing.
            **({"onFailure": "block"} if EVENTS[self.event].blockable else {}),
            **({"warm": True} if self.script.endswith(".py") else {}),
        }
        _, matcher = _EVENTS.get(self.event, ("", None))
        definition = {"matcher": matcher} if matcher is not None else {}
        needs_schema = has_schema and "$schema" not in present
        return {
            **({"$schema": "./settings.schema.json"} if needs_schema else {}),
            "hooks": {self.event.value: [{**definition, "hooks": [hook]}]},
        }

    def next_steps(self, options: Options) -> list[tuple[list[str], str]]:
        """Return commands that can be pasted as they are, and what each is for."""
        where = repeat_options(options)
        steps = [
            (["hookline", "check", *where], "find mistakes before they matter"),
            (["hookline", "trust", *where], "read what will run, and let it"),
            ([*self.fire, *where], "see it decide, and record it"),
            (["hookline", "test", *where], "run its tests; change the script, and run them again"),
            (["hookline", "trace", *where], "look back at what was recorded"),
        ]
        if options.settings:
            # Settings named on the command line need no trust.
            del steps[1]
        return steps


def run(options: Options, screen: Screen) -> int:
    """Make the files, then show them and what to do next."""
    event = read_event_name("--event: ", options.event)
    if not isinstance(event, HookEventName):
        raise CommandError(f"--event: {event} is Claude Code's; write its hooks into .claude/")
    if options.name is not None and not _NAME.fullmatch(options.name):
        raise CommandError(
            f"--name: {options.name!r} cannot be a file's name; "
            "use letters, digits, '-', '_' and '.'"
        )
    hook = make_first_hook(event, options.language, options.name)
    here = os.path.abspath(options.cwd or os.getcwd())
    project = find_project_dir(here, home_dir())
    settings = os.path.join(project, ".hookline", "settings.json")
    if options.settings:
        if len(options.settings) > 1:
            raise CommandError("--settings: the hook goes into one file; name only one")
        settings = os.path.abspath(options.settings[0])
    if not options.settings and not options.json and project != here:
        inside = f"{shorten_path(here)} is inside the project {shorten_path(project)}"
        screen.line(
            f"{inside}, so the hook goes into ",
            (shorten_path(settings), "name"),
            "; to have hooks for this folder alone, make a .hookline folder in it first",
        )
        screen.line()
    updated, schemas = _make_files(hook, project, settings, is_own=not options.settings)
    steps = hook.next_steps(options)
    script, test = os.path.join(project, hook.script), os.path.join(project, hook.test)
    if options.json:
        screen.document(
            {
                "project": project,
                "hook": hook.name,
                "event": hook.event.value,
                "script": script,
                "test": test,
                "settings": {"file": settings, "created": updated.created},
                "schemas": schemas,
                "next": [shlex.join(words) for words, _ in steps],
            }
        )
        return 0
    added = "made" if updated.created else "added it to"
    files = [("made", script), (added, updated.file), ("made", test)]
    files += [("made", file) for file in schemas]
    rows = [((verb, "good"), (shorten_path(file), "name")) for verb, file in files]
    screen.table(rows, ("keep",), indent=0)
    screen.line()
    screen.line(("What to do next", "title"))
    for words, purpose in steps:
        screen.command(shlex.join(words), indent=_INDENT)
        screen.line((purpose, "faint"), indent=2 * _INDENT)
    return 0


def make_first_hook(event: HookEventName, language: str, name: str | None) -> FirstHook:
    """Return the first hook for an event, from its templates."""
    stem = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", event.value).lower()
    name = name or _EVENTS.get(event, (stem.replace("_", "-"),))[0]
    suffix = LANGUAGES[language]
    script, text = _read_templates(event, stem, suffix)
    text = text.replace(b'"NAME"', codec.encode(name))
    text = text.replace(b"{\n", b'{\n  "$schema": "../hooktest.schema.json",\n', 1)
    tests = codec.decode(text)
    # A command that fires the event of the first test, and traces it.
    first = {**tests, **tests.get("tests", [{}])[0]}
    fire = ["HOOKLINE_TRACE=1", "hookline", "fire", event.value]
    if "tool" in first:
        fire += [
            "--tool",
            first["tool"],
            "--tool-input",
            codec.encode(first["tool_input"]).decode(),
        ]
    payload = {**tests.get("input", {}), **first.get("input", {})}
    if payload:
        fire += ["--input", codec.encode(payload).decode()]
    return FirstHook(
        name=name,
        event=event,
        script=f".hookline/hooks/{name}{suffix}",
        script_text=script,
        test=f".hookline/tests/{name}.hooktest.json",
        test_text=text,
        fire=tuple(fire),
    )


def _read_templates(event: HookEventName, stem: str, suffix: str) -> tuple[bytes, bytes]:
    """Return the script of an event, and its tests."""
    if event in _EVENTS:
        return _read_template(stem + suffix), _read_template(f"{stem}.hooktest.json")
    from hookline.cli.samples import sample_fields

    script = _read_template(_ANY_EVENT + suffix).replace(b"EVENT", event.value.encode())
    tests = _read_template(f"{_ANY_EVENT}.hooktest.json")
    tests = tests.replace(b'{"INPUT": ""}', codec.encode(sample_fields(event.value)))
    return script, tests.replace(b"EVENT", event.value.encode())


def _read_template(name: str) -> bytes:
    with open(os.path.join(_TEMPLATES, name), "rb") as file:
        return file.read()


def _find_names(value: Any) -> set[str]:
    """Return every name in the settings, at any depth."""
    if isinstance(value, Mapping):
        own = {value["name"]} if isinstance(value.get("name"), str) else set()
        return own.union(*map(_find_names, value.values()))
    return set().union(*map(_find_names, value)) if isinstance(value, list) else set()


def _make_files(
    hook: FirstHook, project: str, settings: str, *, is_own: bool
) -> tuple[Updated, list[str]]:
    """Make all files, or none if one exists or cannot be made; return the settings' update and the
    schemas that are new."""
    files = {
        os.path.join(project, hook.script): (hook.script_text, 0o777),
        os.path.join(project, hook.test): (hook.test_text, 0o666),
    }
    for path in files:
        refuse_way_out(path, project)
        if os.path.lexists(path):
            short_path = shorten_path(path)
            raise CommandError(f"{short_path} already exists; choose another name with --name")
    if is_own:
        refuse_way_out(settings, project)
    if hook.name in _find_names(read_settings_text(settings).document.value):
        raise CommandError(
            f"{shorten_path(settings)} already has a hook {hook.name}; "
            "choose another name with --name"
        )
    paths: list[str] = []
    try:
        for path, (text, mode) in files.items():
            _make_file(path, text, mode)
            paths.append(path)
        schemas = {_SETTINGS_SCHEMA: settings_schema} if is_own else {}
        for place, describe in {**schemas, _TEST_SCHEMA: hooktest_schema}.items():
            path = os.path.join(project, place)
            refuse_way_out(path, project)
            # A schema that exists stays: it may be from another version or a parallel command.
            with contextlib.suppress(FileExistsError):
                _make_file(path, write_schema(describe()).encode(), 0o666)
                paths.append(path)
        add = partial(hook.additions, has_schema=is_own)
        updated = add_to_settings(settings, add, backup=False)
        return updated, paths[len(files) :]
    except (OSError, SettingsFileError):
        for path in paths:
            with contextlib.suppress(OSError):
                os.unlink(path)
        raise


def _make_file(path: str, text: bytes, mode: int) -> None:
    """Make a new file; delete it again if it cannot be written."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    try:
        with open(descriptor, "wb") as file:
            file.write(text)
    except OSError:
        os.unlink(path)
        raise
