"""Keys that nobody reads: misspelt, in the wrong object, or another program's."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from hookline.check.findings import Finding, Severity
from hookline.check.near import only_one, question
from hookline.check.reading import Checked, CheckedFile, definitions, raw_hooks
from hookline.pipeline.definitions import RESERVED_KEYS
from hookline.pipeline.jsonc import Path
from hookline.wire.events import HookEventName

TOP_LEVEL = frozenset({"$schema", "enableHooks", "hooks", "hooksConfig", "hookline", "security"})
_SECTIONS: dict[Path, frozenset[str]] = {
    ("hooksConfig",): frozenset({"enabled", "disabled", "notifications"}),
    ("hookline",): frozenset({"trace"}),
    ("security",): frozenset({"environmentVariableRedaction"}),
    ("security", "environmentVariableRedaction"): frozenset({"enabled", "allowed", "blocked"}),
}
DEFINITION = frozenset({"matcher", "sequential", "hooks", "description"})
HOOK = frozenset(
    {
        *("type", "command", "args", "name", "description", "timeout", "env", "onFailure"),
        *("managed", "warm"),
    }
)
_OF_CLAUDE_CODE = frozenset(
    {
        *("async", "asyncRewake", "continueOnBlock", "headers", "if", "model", "once", "prompt"),
        *("shell", "statusMessage", "url"),
    }
)


def unknown_keys(checked: Checked) -> Iterator[Finding]:
    """Everything that is written in the settings and means nothing there."""
    for file in checked.files:
        if file.is_own:
            yield from _top_level(file)
            for path, known in _SECTIONS.items():
                where = f"of {'.'.join(map(str, path))}"
                yield from _unknown(file, path, file.value(path), known, where)
        for _, path, definition in definitions(file):
            yield from _in_definition(file, path, definition)
        for raw in raw_hooks(file):
            yield from _in_hook(file, raw.path, raw.config)


def _top_level(file: CheckedFile) -> Iterator[Finding]:
    events = {event.value for event in HookEventName}
    misplaced = events & file.document.value.keys()
    for name in sorted(misplaced, key=list(file.document.value).index):
        yield file.finding(
            "misplaced-key",
            Severity.ERROR,
            (name,),
            f"{name} stands outside of hooks, where nothing reads it",
            'put it into "hooks"',
            at_key=True,
            event=name,
        )
    yield from _unknown(file, (), file.document.value, TOP_LEVEL | misplaced, "of the settings")


def _in_definition(
    file: CheckedFile, path: Path, definition: Mapping[str, Any]
) -> Iterator[Finding]:
    of_hook = [name for name in definition if name in HOOK - DEFINITION]
    if "hooks" not in definition and "command" in of_hook:
        yield file.finding(
            "flat-definition",
            Severity.ERROR,
            path,
            "the command stands in the definition itself, which is skipped",
            'put it into a list: {"matcher": …, "hooks": [{"type": "command", "command": …}]}',
        )
        return
    for name in of_hook:
        yield file.finding(
            "misplaced-key",
            Severity.WARNING,
            (*path, name),
            f"{name} belongs to a hook and means nothing beside the list of them",
            'move it into each object of "hooks"',
            at_key=True,
        )
    yield from _unknown(file, path, definition, DEFINITION | HOOK, "of a definition")


def _in_hook(file: CheckedFile, path: Path, config: Mapping[str, Any]) -> Iterator[Finding]:
    for name in config:
        if name in DEFINITION - HOOK:
            remedy = 'move it up, beside "hooks"'
            what = f"{name} belongs to the definition and means nothing inside a hook"
        elif name in _OF_CLAUDE_CODE:
            remedy = "remove it, and see to it in the script"
            what = f"{name} is a key of Claude Code's and does nothing here"
        else:
            continue
        where = (*path, name)
        yield file.finding("misplaced-key", Severity.WARNING, where, what, remedy, at_key=True)
    elsewhere = DEFINITION | _OF_CLAUDE_CODE
    yield from _unknown(file, path, config, HOOK | elsewhere, "of a hook", meant=HOOK)


def _unknown(
    file: CheckedFile,
    path: Path,
    value: object,
    known: frozenset[str],
    where: str,
    meant: Iterable[str] | None = None,
) -> Iterator[Finding]:
    """Keys of an object that are not known; ``meant`` are those that could have been meant."""
    names = known if meant is None else meant
    for name in value if isinstance(value, Mapping) else ():
        if name in known or name.startswith(("//", "$comment", "_comment")):
            continue
        here = (*path, name)
        one = only_one(name, names)
        yield file.finding(
            "unknown-key",
            Severity.WARNING,
            here,
            f"{name!r} is not a key {where} and means nothing",
            question(name, names) or f"the keys are {', '.join(sorted(names))}",
            at_key=True,
            fixes=file.renamed_key(here, one) if one else (),
        )


def unknown_events(checked: Checked) -> Iterator[Finding]:
    """Keys of ``hooks`` that name no event."""
    for file in checked.files:
        hooks = file.value(("hooks",))
        for name in hooks if isinstance(hooks, Mapping) else ():
            if name not in RESERVED_KEYS and file.dialect.event_for(name) is None:
                yield _unknown_event(file, name)


# Claude Code's events that have one of ours for them.
_CLAUDE_EVENTS = {
    "PreToolUse": "BeforeTool",
    "PostToolUse": "AfterTool",
    "PostToolUseFailure": "AfterTool",
    "UserPromptSubmit": "BeforeAgent",
    "Stop": "AfterAgent",
    "PreCompact": "PreCompress",
}


def _unknown_event(file: CheckedFile, name: str) -> Finding:
    path = ("hooks", name)
    names = {*(event.value for event in HookEventName), *RESERVED_KEYS}
    one = None if name in _CLAUDE_EVENTS else only_one(name, names)
    if name in _CLAUDE_EVENTS:
        message = f"{name} is Claude Code's name of an event"
        remedy = f"call it {_CLAUDE_EVENTS[name]}, and write timeouts in milliseconds"
    else:
        message = f"{name!r} is not a hook event, so its hooks never run"
        remedy = question(name, names) or f"the events are {', '.join(HookEventName)}"
    fixes = file.renamed_key(path, one) if one else ()
    if one and not fixes:
        remedy = f"move what is in it into {one}, which is there too"
    return file.finding(
        "unknown-event", Severity.ERROR, path, message, remedy, at_key=True, fixes=fixes
    )
