"""Gemini CLI's and LLxprt Code's settings, which are ours but for the folder they are in."""

from collections.abc import Mapping

from hookline.migrate.moves import Before, Draft, Finding, Kind, Migrated
from hookline.pipeline.definitions import Origin, parse_hooks
from hookline.pipeline.jsonc import Document, Path, spoken, value_at
from hookline.pipeline.settings import SWITCHES, find_disabled_names
from hookline.wire.events import HookEventName
from hookline.wire.hooks import HookSource

_HOOK_KEYS = frozenset(
    {"type", "command", "args", "name", "description", "timeout", "env", "onFailure", "warm"}
)
_EVENTS = frozenset(event.value for event in HookEventName)


def migrate_gemini(document: Document, file: str) -> Migrated:
    """What a settings file of Gemini CLI's or LLxprt Code's comes to."""
    draft = Draft(document, file)
    hooks = document.value.get("hooks") if isinstance(document.value, Mapping) else None
    for key, definitions in hooks.items() if isinstance(hooks, Mapping) else ():
        is_event = key in _EVENTS and isinstance(definitions, list)
        for index, definition in enumerate(definitions if is_event else ()):
            listed, matcher = value_at(definition, ("hooks",)), value_at(definition, ("matcher",))
            is_definition = isinstance(listed, list) and isinstance(matcher, str | None)
            for place, config in enumerate(listed if is_definition else ()):
                command = value_at(config, ("command",))
                is_command = isinstance(command, str) and value_at(config, ("type",)) == "command"
                if not is_command or not command.strip():
                    continue
                path: Path = ("hooks", key, index, "hooks", place)
                strangers = sorted(set(config) - _HOOK_KEYS)
                if strangers:
                    message = f"{', '.join(strangers)} means nothing here and was left out"
                    draft.find(Kind.NOTE, path, message)
                draft.move(
                    path,
                    Before(event=key, matcher=matcher, config=config),
                    key,
                    matcher=matcher or None,
                    hook={name: value for name, value in config.items() if name in _HOOK_KEYS},
                    sequential=definition.get("sequential") is True,
                )
    if draft.moves:
        message = "hookline reads this file as it is, so its hooks run without being moved"
        remedy = "moved, each runs once as long as both files have it"
        line = draft.moves[0].line
        draft.findings.append(Finding(Kind.NOTE, file, line, 1, message, remedy=remedy))
    # What the engine says about entries that are no hooks, for it reads these files too.
    origin = Origin(file, document, ("hooks",))
    for problem in parse_hooks(hooks, source=HookSource.USER, origin=origin).problems:
        kind = Kind.LOST if problem.skipped else Kind.NOTE
        at = problem.line or 1, problem.column or 1
        draft.findings.append(Finding(kind, file, *at, problem.text))
    for path in SWITCHES:
        if value_at(document.value, path) is False:
            message = f"{spoken(path)} is false, so hooks stay off until it is not"
            draft.find(Kind.NOTE, path, message)
    return draft.finished(dict.fromkeys(name for _, name in find_disabled_names(document.value)))
