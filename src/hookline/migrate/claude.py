"""Claude Code's settings: seconds, its own names for events, and kinds of hooks that we lack."""

from collections.abc import Mapping
from typing import Any

from hookline.migrate.claude_events import EVENTS, why_lost
from hookline.migrate.claude_handlers import Lost, native_hook
from hookline.migrate.claude_tools import translated
from hookline.migrate.moves import Before, Finding, Kind, Migrated, Move, name_of
from hookline.pipeline.jsonc import Document, Path
from hookline.wire.events import HookEventName

_SWITCHES = {
    "allowManagedHooksOnly": "hooks that nobody may switch off are those of the system's settings "
    'with "managed": true',
    "allowedHttpHookUrls": "there are no http hooks here",
    "httpHookAllowedEnvVars": "there are no http hooks here",
}


def migrate_claude(document: Document, file: str) -> Migrated:
    """What a settings file of Claude Code's comes to."""
    return _Reader(document, file).read()


class _Reader:
    def __init__(self, document: Document, file: str) -> None:
        self._document = document
        self._file = file
        self._moves: list[Move] = []
        self._findings: list[Finding] = []

    def read(self) -> Migrated:
        settings = self._document.value
        hooks = settings.get("hooks", {}) if isinstance(settings, Mapping) else {}
        if not isinstance(hooks, Mapping):
            self._lost(("hooks",), "hooks", "it is not an object of events")
            hooks = {}
        for key, definitions in hooks.items():
            self._event(key, definitions)
        disabled = self._switches(settings) if isinstance(settings, Mapping) else ()
        return Migrated(moves=tuple(self._moves), disabled=disabled, findings=tuple(self._findings))

    def _event(self, key: str, definitions: Any) -> None:
        event = EVENTS.get(key)
        if event is None:
            reason, remedy = why_lost(key)
            self._lost(("hooks", key), key, reason, remedy)
            return
        if not isinstance(definitions, list):
            self._lost(("hooks", key), key, "it is not a list of definitions")
            return
        for index, definition in enumerate(definitions):
            self._definition(key, event, index, definition)

    def _definition(self, key: str, event: HookEventName, index: int, definition: Any) -> None:
        path: Path = ("hooks", key, index)
        hooks = definition.get("hooks") if isinstance(definition, Mapping) else None
        written = definition.get("matcher") if isinstance(definition, Mapping) else None
        if not isinstance(hooks, list) or not isinstance(written, str | None):
            self._lost(path, key, "it is not an object with a list of hooks")
            return
        subject = f"{key} {written}" if written else key
        matcher = translated(event, written)
        if matcher.lost is not None:
            remedy = "name tools of your agent in a matcher of your own"
            self._lost((*path, "matcher"), subject, matcher.lost, remedy)
            return
        for note in matcher.notes:
            self._note((*path, "matcher"), subject, note)
        for place, config in enumerate(hooks):
            before = Before(event=key, matcher=written or None, config=config)
            self._hook(before, event, matcher.text, (*path, "hooks", place))

    def _hook(self, before: Before, event: HookEventName, matcher: str | None, path: Path) -> None:
        subject = _subject(before)
        made = native_hook(before.event, before.config)
        if isinstance(made, Lost):
            self._lost(path, subject, made.reason, made.remedy)
            return
        for note in made.notes:
            self._note(path, subject, note)
        line, column = self._document.place(path)
        self._moves.append(
            Move(
                file=self._file,
                line=line,
                column=column,
                group=(self._file, before.event, int(path[2])),
                before=before,
                event=event.value,
                matcher=matcher,
                hook=made.hook,
                changes=made.changes,
            )
        )

    def _switches(self, settings: Mapping[str, Any]) -> tuple[str, ...]:
        for key, message in _SWITCHES.items():
            if key in settings:
                self._lost((key,), key, message)
        if settings.get("disableAllHooks") is not True or not self._moves:
            return ()
        message = "all hooks are switched off there, so they come switched off"
        self._note(("disableAllHooks",), "disableAllHooks", message, "`hookline enable NAME`")
        return tuple(dict.fromkeys(name_of(move.hook) for move in self._moves))

    def _lost(self, path: Path, subject: str, message: str, remedy: str = "") -> None:
        self._find(Kind.LOST, path, subject, message, remedy)

    def _note(self, path: Path, subject: str, message: str, remedy: str = "") -> None:
        self._find(Kind.NOTE, path, subject, message, remedy)

    def _find(self, kind: Kind, path: Path, subject: str, message: str, remedy: str) -> None:
        line, column = self._document.place(path)
        self._findings.append(
            Finding(
                kind=kind,
                file=self._file,
                line=line,
                column=column,
                subject=subject,
                message=message,
                remedy=remedy,
            )
        )


def _subject(before: Before) -> str:
    """The hook, in the words of its settings."""
    parts = [before.event, before.matcher or ""]
    if isinstance(before.config, Mapping):
        told = before.config.get("command") or before.config.get("type")
        parts.append(str(told or ""))
    return " ".join(part for part in parts if part)
