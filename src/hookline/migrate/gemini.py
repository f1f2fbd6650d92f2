"""Gemini CLI's and LLxprt Code's settings, which are ours but for the folder they are in."""

from collections.abc import Mapping
from typing import Any

from hookline.migrate.moves import Before, Finding, Kind, Migrated, Move
from hookline.pipeline.definitions import RESERVED_KEYS, Origin, parse_hooks
from hookline.pipeline.jsonc import Document, Path, spoken, value_at
from hookline.pipeline.settings import DISABLED_NAMES, SWITCHES
from hookline.wire.events import HookEventName
from hookline.wire.hooks import HookSource

_HOOK_KEYS = frozenset(
    {"type", "command", "args", "name", "description", "timeout", "env", "onFailure", "warm"}
)
_EVENTS = frozenset(event.value for event in HookEventName)


def migrate_gemini(document: Document, file: str) -> Migrated:
    """What a settings file of Gemini CLI's or LLxprt Code's comes to."""
    settings = document.value if isinstance(document.value, Mapping) else {}
    reader = _Reader(document, file)
    hooks = settings.get("hooks")
    for key, definitions in hooks.items() if isinstance(hooks, Mapping) else ():
        if key not in RESERVED_KEYS and isinstance(definitions, list):
            for index, definition in enumerate(definitions):
                reader.definition(key, index, definition)
    reader.say_that_it_is_read()
    reader.report_bad_entries(hooks)
    reader.report_switches()
    return Migrated(
        moves=tuple(reader.moves),
        disabled=tuple(reader.disabled()),
        findings=tuple(reader.findings),
    )


class _Reader:
    def __init__(self, document: Document, file: str) -> None:
        self._document = document
        self._file = file
        self.moves: list[Move] = []
        self.findings: list[Finding] = []

    def definition(self, key: str, index: int, definition: Any) -> None:
        hooks = definition.get("hooks") if isinstance(definition, Mapping) else None
        matcher = definition.get("matcher") if isinstance(definition, Mapping) else None
        if key not in _EVENTS or not isinstance(hooks, list):
            return
        for place, config in enumerate(hooks):
            if not _can_run(config) or not isinstance(matcher, str | None):
                continue
            path: Path = ("hooks", key, index, "hooks", place)
            line, column = self._document.place(path)
            self._note_strangers(config, path)
            self.moves.append(
                Move(
                    file=self._file,
                    line=line,
                    column=column,
                    group=(self._file, key, index),
                    before=Before(event=key, matcher=matcher, config=config),
                    event=key,
                    matcher=matcher or None,
                    hook={name: value for name, value in config.items() if name in _HOOK_KEYS},
                    sequential=definition.get("sequential") is True,
                )
            )

    def disabled(self) -> list[str]:
        lists = [value_at(self._document.value, path) for path in DISABLED_NAMES]
        names = [name for each in lists if isinstance(each, list) for name in each]
        return [name for name in dict.fromkeys(names) if isinstance(name, str)]

    def say_that_it_is_read(self) -> None:
        if self.moves:
            message = "hookline reads this file as it is, so its hooks run without being moved"
            remedy = "moved, each runs once as long as both files have it"
            self._find(Kind.NOTE, self.moves[0].line, 1, message, remedy)

    def report_bad_entries(self, hooks: Any) -> None:
        """What the engine says about entries that are no hooks, for it reads these files too."""
        origin = Origin(self._file, self._document, ("hooks",))
        for problem in parse_hooks(hooks, source=HookSource.USER, origin=origin).problems:
            kind = Kind.LOST if problem.skipped else Kind.NOTE
            self._find(kind, problem.line or 1, problem.column or 1, problem.text)

    def report_switches(self) -> None:
        for path in SWITCHES:
            if value_at(self._document.value, path) is False:
                message = f"{spoken(path)} is false, so hooks stay off until it is not"
                self._find(Kind.NOTE, *self._document.place(path), message)

    def _note_strangers(self, config: Mapping[str, Any], path: Path) -> None:
        strangers = sorted(set(config) - _HOOK_KEYS)
        if strangers:
            message = f"{', '.join(strangers)} means nothing here and was left out"
            self._find(Kind.NOTE, *self._document.place(path), message)

    def _find(self, kind: Kind, line: int, column: int, message: str, remedy: str = "") -> None:
        self.findings.append(
            Finding(
                kind=kind,
                file=self._file,
                line=line,
                column=column,
                message=message,
                remedy=remedy,
            )
        )


def _can_run(config: Any) -> bool:
    return (
        isinstance(config, Mapping)
        and config.get("type") == "command"
        and isinstance(config.get("command"), str)
        and bool(config["command"].strip())
    )
