"""Rules for the fields of settings: keys that nothing reads, and values that are probably wrong.

A key may be misspelt, in the wrong object, or another program's; the engine may accept a value that
does not do what it looks like. Hooks may be disabled or written twice, and settings may affect no
hook.
"""

import os
import re
from collections.abc import Collection, Iterator, Mapping

import msgspec

from hookline._support.nearest import ask_which, only_one
from hookline._support.problem import Problem
from hookline.check.findings import Finding, Fix, Severity, TextEdit
from hookline.check.material import (
    Checked,
    CheckedFile,
    HookSite,
    RawHook,
    find_definitions,
    find_event_keys,
    find_raw_hooks,
)
from hookline.settings.jsonc import Path, spoken
from hookline.settings.layers import may_disable
from hookline.settings.mistakes import find_slip, speak_of
from hookline.settings.reader import find_disabled_names, find_switch_values
from hookline.settings.schema import COMMENTS, list_foreign_names
from hookline.settings.types import (
    Definition,
    HooksSection,
    Settings,
    ToolsSection,
    find_sections,
)
from hookline.shell.arguments import code_in
from hookline.shell.programs import directory_names, hook_variables
from hookline.shell.tokens import NAME, VARIABLE
from hookline.wire import codec
from hookline.wire.events import HookEventName
from hookline.wire.hooks import (
    KINDS,
    CommandHook,
    HookConfig,
    HookSource,
    keys_of,
)

# The objects of native settings that have keys of their own, by their path.
_OBJECTS: dict[Path, type[msgspec.Struct]] = {(): Settings, **dict(find_sections())}
_DEFINITION = frozenset(keys_of(Definition))
# The keys of hooks of any type, and type -> its further keys.
_COMMON = frozenset({"type", *keys_of(HookConfig)})
_OF_TYPE = {name: frozenset(keys_of(kind)) - _COMMON for name, kind in KINDS.items()}
_HOOK = _COMMON.union(*_OF_TYPE.values())
_EVENTS = [event.value for event in HookEventName]
# Keys in the wrong object: the message and the remedy for each.
_AT_THE_TOP = dict.fromkeys(
    _EVENTS, ("is outside of hooks, where nothing reads it", 'move it into "hooks"')
)
_OF_A_HOOK = (
    "belongs to a hook and has no effect beside the list of hooks",
    'move it into each object of "hooks"',
)
_OF_A_DEFINITION = (
    "belongs to the definition and has no effect inside a hook",
    'move it up, beside "hooks"',
)
_CLAUDES = (
    "is a key of Claude Code's and has no effect here",
    "remove it, and do it in the script",
)
_IN_DEFINITION = dict.fromkeys(_HOOK - _DEFINITION, _OF_A_HOOK)
# Up to this, a timeout was meant in seconds: no process surely ends in so few milliseconds.
_SURELY_SECONDS = 60
# Round numbers of seconds; in milliseconds they are odd, but possible.
_ROUND_SECONDS = frozenset({90, 120, 180, 240, 300, 600, 900})
_HOUR = 3_600_000
# From here on, a timeout in seconds was meant in milliseconds.
_SURELY_MILLISECONDS = 1_000

# Arguments that only a shell would act on.
_SHELL_WORDS = r"[|&;<>]+|\d?>.*|<.+|&>.*|~(?:/.*)?|.*(?:\$\(|`).*"
_GLOB = r"[^=\\]*(?:\*|\?)[^\\]*"


def check_unknown_events(checked: Checked) -> Iterator[Finding]:
    """Find keys of ``hooks`` that name no event."""
    for file in checked.files:
        for name, path in find_event_keys(file):
            if file.dialect.event_for(name) is not None:
                continue
            fixes: tuple[Fix, ...] = ()
            severity = Severity.ERROR
            foreign = list_foreign_names()
            # Our event -> the other dialect's name; the first is meant.
            theirs = {ours.value: name for name, ours in reversed([*foreign.items()])}
            if name in foreign and not file.is_claude:
                message = f"{name} is Claude Code's name of an event, so its hooks never run"
                remedy = f"write {foreign[name]}, and timeouts in milliseconds"
            elif name in theirs and file.is_claude:
                message = f"{name} is not an event of Claude Code's, so its hooks never run"
                remedy = f"write {theirs[name]}, and timeouts in seconds"
            else:
                events = file.dialect.event_names()
                names = [*events, *file.dialect.reserved_keys]
                message = f"{name!r} is not a hook event, so its hooks never run"
                slip = None if file.is_claude else find_slip(name, HooksSection)
                remedy = ask_which(name, names)
                if slip is not None:
                    message = f"{name!r} {slip.message}, so {slip.consequence}"
                    remedy = slip.remedy
                if not remedy:
                    fired = [
                        e for e in events if isinstance(file.dialect.event_for(e), HookEventName)
                    ]
                    remedy = f"the events are {', '.join(fired)}"
                    # A newer Claude Code may have more events.
                    severity = Severity.WARNING if file.is_claude else Severity.ERROR
                if one := only_one(name, names):
                    fixes = file.rename_key(path, one)
                    if not fixes:
                        remedy = f"move its hooks into {one}, which is there too"
            yield file.finding(
                "unknown-event", severity, path, message, remedy, at_key=True, fixes=fixes
            )


def check_unknown_keys(checked: Checked) -> Iterator[Finding]:
    """Find keys of the settings that have no meaning where they are."""
    for file in checked.files:
        if not file.is_claude:
            for path, kind in _OBJECTS.items():
                misplaced = {} if path else _AT_THE_TOP
                shared = not file.is_own
                yield from _check_keys(
                    file, path, keys_of(kind), kind, misplaced=misplaced, is_shared=shared
                )
            yield from _check_keys(
                file, ("tools",), keys_of(ToolsSection), ToolsSection, is_shared=True
            )
        elif not file.is_plugin:
            from hookline.dialects.claude.settings import ClaudeSettings

            yield from _check_keys(
                file, (), keys_of(ClaudeSettings), ClaudeSettings, is_shared=True
            )
        for _, path, definition in find_definitions(file):
            if "hooks" in definition or "command" not in definition:
                keys = _DEFINITION | _HOOK
                yield from _check_keys(file, path, keys, Definition, misplaced=_IN_DEFINITION)
                continue
            yield file.finding(
                "flat-definition",
                Severity.ERROR,
                path,
                "the command is in the definition itself, so the definition is skipped",
                'move it into a list: {"matcher": …, "hooks": [{"type": "command", "command": …}]}',
            )
        for raw in find_raw_hooks(file):
            keys, misplaced = _find_keys_for(raw)
            yield from _check_keys(file, raw.path, keys, HookConfig, misplaced=misplaced)


def _find_keys_for(raw: RawHook) -> tuple[frozenset[str], dict[str, tuple[str, str]]]:
    """Find the keys that a hook of its type may have, and the messages for other known keys."""
    from hookline.dialects.claude.settings import HOOK_KEYS, KEYS_OF_KIND

    is_claude, kind = raw.file.is_claude, str(raw.config.get("type"))
    claude_common = frozenset[str].intersection(*KEYS_OF_KIND.values())
    common = claude_common if is_claude else _COMMON
    by_type = _OF_TYPE
    if is_claude:
        by_type = {name: keys - common for name, keys in KEYS_OF_KIND.items()}
    # A hook of an unknown type may have any key.
    is_known = kind in KEYS_OF_KIND
    own = by_type.get(kind, frozenset()) if is_known else frozenset().union(*by_type.values())
    misplaced = dict.fromkeys(_DEFINITION - _COMMON, _OF_A_DEFINITION)
    for other, keys in by_type.items():
        for name in keys - own:
            what = f"is for {other} hooks and has no effect in one of type {kind}"
            misplaced.setdefault(name, (what, f'remove it, or write "type": "{other}"'))
    if not is_claude:
        misplaced |= dict.fromkeys(HOOK_KEYS - _HOOK, _CLAUDES)
    return common | own, misplaced


def _check_keys(
    file: CheckedFile,
    path: Path,
    keys: Collection[str],
    kind: type[msgspec.Struct],
    *,
    misplaced: Mapping[str, tuple[str, str]] = {},
    is_shared: bool = False,
) -> Iterator[Finding]:
    """Find keys of an object that have no meaning in it; ``misplaced`` has messages for those that
    belong elsewhere. A key that was meant to decide policy is an error, as the policy is not in
    force. In an object that ``is_shared`` with other programs, other keys are theirs."""
    value = file.value(path)
    for name in value if isinstance(value, Mapping) else ():
        if (name in keys and name not in misplaced) or re.match(COMMENTS, name):
            continue
        here, about = (*path, name), {}
        fixes: tuple[Fix, ...] = ()
        slip = find_slip(name, kind, is_foreign=file.is_claude)
        if slip is None and is_shared:
            continue
        if slip is not None:
            rule, severity = "misplaced-key", Severity.ERROR
            remedy = slip.remedy
            what = f"{name!r} {slip.message}, so {slip.consequence}"
            if slip.is_here:
                rule, fixes = "unknown-key", file.rename_key(here, slip.target)
        elif name in misplaced:
            rule, severity = "misplaced-key", Severity.WARNING
            what, remedy = misplaced[name]
            what = f"{name} {what}"
            # A hook with a misplaced key still runs; an event outside of hooks does not.
            if not path:
                severity, about = Severity.ERROR, {"event": name}
        else:
            rule = "unknown-key"
            what = f"{name!r} is not a key of {speak_of(kind)} and has no effect"
            severity = Severity.WARNING
            one, question = only_one(name, keys), ask_which(name, keys)
            remedy = question or f"the keys are {', '.join(sorted(keys))}"
            fixes = file.rename_key(here, one) if one else ()
            if one and (declared := keys_of(kind).get(one)) and declared.rules.loss:
                severity = Severity.ERROR
            elif not question and file.is_claude:
                # Claude Code's files have keys for other programs too.
                severity = Severity.HINT
        yield file.finding(rule, severity, here, what, remedy, at_key=True, fixes=fixes, **about)


def check_types(checked: Checked) -> Iterator[Finding]:
    """Find hooks with a command and no valid type."""
    for raw in (raw for file in checked.files for raw in find_raw_hooks(file)):
        kind, at = raw.config.get("type"), (*raw.path, "type")
        if kind == "command" or not isinstance(raw.config.get("command"), str):
            continue
        fixes: tuple[Fix, ...]
        if "type" not in raw.config:
            what, remedy = "the hook has no type and is skipped", 'add "type": "command"'
            # The first key keeps its indentation.
            text = raw.file.document.text
            span = raw.file.document.span((*raw.path, next(iter(raw.config))))
            assert span is not None
            before = text[text.rfind("\n", 0, span.key) + 1 : span.key]
            newline = "\r\n" if "\r\n" in text else "\n"
            end = newline + before if not before.strip() else " "
            fixes = (TextEdit(raw.file.path, span.key, span.key, f'"type": "command",{end}'),)
        elif isinstance(kind, str) and only_one(kind, ["command"]):
            what = f"the type {kind!r} is unknown, so the hook is skipped"
            remedy, fixes = 'write "command"', raw.file.replace_value(at, "command")
        else:
            continue
        yield raw.file.finding(
            "type", Severity.ERROR, raw.path, what, remedy, at=at, fixes=fixes, event=raw.key
        )


def check_failure_words(checked: Checked) -> Iterator[Finding]:
    """Find hooks whose ``onFailure`` is not a known word, so that they fail open."""
    for raw in (raw for file in checked.files for raw in find_raw_hooks(file)):
        value, words = raw.config.get("onFailure"), raw.file.dialect.failure_words
        if "onFailure" not in raw.config or (isinstance(value, str) and value in words):
            continue
        one = only_one(value, words) if isinstance(value, str) else None
        at = (*raw.path, "onFailure")
        quoted = codec.encode(value).decode(errors="replace")
        what = f"onFailure cannot be {quoted}, so a failure of the hook lets the agent go on"
        remedy = "write " + " or ".join(f'"{word}"' for word in ([one] if one else words))
        fixes = raw.file.replace_value(at, one) if one else ()
        yield raw.file.finding(
            "failure-word", Severity.ERROR, at, what, remedy, fixes=fixes, event=raw.key
        )


def check_timeouts(checked: Checked) -> Iterator[Finding]:
    """Find timeouts that were probably meant in another unit."""
    for site in checked.hooks:
        value = site.raw.config.get("timeout")
        if isinstance(value, bool) or not isinstance(value, int | float):
            continue
        if site.file.is_claude:
            if value >= _SURELY_MILLISECONDS:
                what = f"timeout {value:g} is in seconds, but looks like milliseconds"
                remedy = f"write {value / 1000:g} for {value / 1000:g} s"
                where = ("timeout",)
                yield site.finding("timeout-milliseconds", Severity.WARNING, where, what, remedy)
        elif 0 < value < 100 or value in _ROUND_SECONDS:
            thousandfold = round(value * 1000)
            is_sure = value <= _SURELY_SECONDS
            at = (*site.raw.path, "timeout")
            yield site.finding(
                "timeout-seconds",
                Severity.WARNING if value < 100 else Severity.HINT,
                ("timeout",),
                f"timeout {value:g} is in milliseconds, but looks like seconds",
                f"write {thousandfold} for {value:g} s",
                fixes=site.file.replace_value(at, thousandfold) if is_sure else (),
            )
        elif value > _HOUR:
            hours = value / _HOUR
            what = f"timeout {value} is in milliseconds, which is {hours:.3g} hours"
            remedy = "write a shorter one: the agent waits that long for its hook"
            yield site.finding("timeout-long", Severity.HINT, ("timeout",), what, remedy)


def check_environments(checked: Checked) -> Iterator[Finding]:
    """Find variables that get another value than it looks like, or that a shell cannot read."""
    ours = hook_variables(project_dir="", cwd="", session_id="", event="", hook_state="")
    for site in checked.commands:
        raw_env = site.raw.config.get("env")
        # A hook of Claude Code's also gets the variables of its settings.
        own_env = raw_env if isinstance(raw_env, Mapping) else {}
        for name, value in site.hook.env.items():
            if name not in own_env:
                continue
            if not re.fullmatch(NAME, name):
                what = f"no shell can read a variable called {name!r}"
                remedy = "use letters, digits and underscores"
            elif name in ours:
                what = f"hookline sets {name} for every hook, and this hook gets another value"
                remedy = "choose another name"
            elif variable := re.search(VARIABLE, value):
                what = f"{name} gets the text {variable[0]}: values of env are not expanded"
                remedy = "set it in the script, or in the command"
            elif value.startswith("~/"):
                what = f"{name} gets the text ~: values of env are not expanded"
                remedy = "write the whole path"
            else:
                continue
            severity = Severity.HINT if not re.fullmatch(NAME, name) else Severity.WARNING
            yield site.finding("env", severity, ("env", name), what, remedy)


def check_arguments(checked: Checked) -> Iterator[Finding]:
    """Find ``args`` that only a shell would expand: with ``args`` there is no shell."""
    ours = hook_variables(project_dir="", cwd="", session_id="", event="", hook_state="")
    of_events = {name for name in ours if name.endswith(("_SESSION_ID", "_EVENT"))}
    for site in checked.commands:
        code = code_in((site.hook.command, *(site.hook.args or ())))
        directories = directory_names(site.hook)
        for index, word in enumerate(site.hook.args or ()):
            if index + 1 in code:
                continue
            variables = re.finditer(VARIABLE, word)
            remedy = "leave args out and write the whole line as the command"
            if variable := next((v for v in variables if (v[1] or v[2]) not in directories), None):
                what, why = variable[0], "with args only variables of directories are replaced"
                if (variable[1] or variable[2]) in of_events:
                    why = "variables of an event are not replaced"
                    remedy = "read it from the environment"
            elif re.fullmatch(_SHELL_WORDS, word, re.DOTALL):
                what, why = repr(word), "with args there is no shell"
            elif re.fullmatch(_GLOB, word) and ("/" in word or word.startswith("*.")):
                what, why = repr(word), "with args there is no shell to find files"
            else:
                continue
            message = f"{what} is not expanded: {why}"
            yield site.finding("args-shell", Severity.WARNING, ("args", index), message, remedy)


def check_switches(checked: Checked) -> Iterator[Finding]:
    """Find files that disable all hooks, and say how many that affects."""
    for file in _list_native_files(checked):
        for path, is_on in find_switch_values(file.document.value):
            if is_on:
                continue
            reached = [site for site in checked.hooks if may_disable(file.source, site.hook)]
            if file.source is HookSource.PROJECT and checked.hooks and not reached:
                what = f"{spoken(path)} of a project disables only its own hooks, and it has none"
                remedy = "disable the others in the user's settings"
                yield file.finding("disables-others", Severity.WARNING, path, what, remedy)
                continue
            what, number = "this disables hooks", len(reached)
            if reached:
                what += ": 1 hook does not run" if number == 1 else f": {number} hooks do not run"
            yield file.finding("disabled", Severity.HINT, path, what, "remove it to enable them")


def check_disabled_names(checked: Checked) -> Iterator[Finding]:
    """Find names in the list of disabled hooks that disable no hook."""
    for file in _list_native_files(checked):
        for path, name in find_disabled_names(file.document.value):
            namesakes = [site for site in checked.hooks if site.hook.name == name]
            if any(may_disable(file.source, site.hook) for site in namesakes):
                continue
            fixes: tuple[Fix, ...] = ()
            rule, severity = "disables-others", Severity.WARNING
            if namesakes and namesakes[0].hook.managed:
                what = f"the system's settings manage {name!r}, so this cannot disable it"
                remedy = "ask the administrator of this machine"
            elif namesakes:
                whose = namesakes[0].hook.source.value
                what = f"{name!r} is a hook of the {whose}, which a project cannot disable"
                remedy = "disable it in the user's settings"
            else:
                hook_names = {
                    site.hook.name for site in checked.hooks if may_disable(file.source, site.hook)
                }
                one, rule = only_one(name, hook_names), "disabled-unknown"
                what = f"no hook is called {name!r}"
                remedy = ask_which(name, hook_names) or "remove it"
                if file.source is HookSource.PROJECT:
                    fixes = file.replace_value(path, one) if one else ()
                else:
                    what += " here"
                if file.source is not HookSource.PROJECT and not one:
                    # The user may have disabled a hook of another project.
                    severity, remedy = Severity.HINT, "keep it if it is a hook of another project"
            yield file.finding(rule, severity, path, what, remedy, fixes=fixes, hook=name)


def _list_native_files(checked: Checked) -> Iterator[CheckedFile]:
    return (file for file in checked.files if not file.is_claude)


def check_disabled_hooks(checked: Checked) -> Iterator[Finding]:
    """Find hooks that are disabled by name, and the place that disables them."""
    places: dict[str, list[tuple[CheckedFile, int]]] = {}
    for file in _list_native_files(checked):
        for path, name in find_disabled_names(file.document.value):
            places.setdefault(name, []).append((file, file.document.place(path)[0]))
    for site in checked.hooks:
        for file, line in places.get(site.hook.name, ()) if not site.entry.enabled else ():
            if may_disable(file.source, site.hook):
                place = f"line {line}" if file is site.file else f"{file.path}:{line}"
                what = f"the hook is disabled in {place} and does not run"
                remedy = "remove its name there to enable it"
                yield site.finding("disabled", Severity.HINT, (), what, remedy)
                break


def check_unused(checked: Checked) -> Iterator[Finding]:
    """Find what the engine leaves aside: keys that are not for their layer to set, and hooks that
    only Claude Code runs."""
    for problem in checked.problems:
        if problem.kind == "overreach":
            yield _warn_of(problem, "overreach", Severity.WARNING)
        elif problem.kind == "not-run":
            yield _warn_of(problem, "not-supported", Severity.WARNING)


def _warn_of(problem: Problem, rule: str, severity: Severity) -> Finding:
    return Finding(
        kind=rule,
        severity=severity,
        message="; ".join(filter(None, (problem.message, problem.consequence))),
        remedy=problem.remedy,
        file=problem.file,
        line=problem.line or 1,
        column=problem.column or 1,
        path=problem.path,
        settings=problem.file,
    )


def check_prompts(checked: Checked) -> Iterator[Finding]:
    """Find hooks that ask a model, which only the agent can provide."""
    for file in checked.files:
        for raw in find_raw_hooks(file):
            if raw.config.get("type") == "prompt":
                otherwise = "blocks" if raw.config.get("onFailure") == "block" else "is not run"
                what = f"the hook asks a model, and {otherwise} if the agent provides none"
                remedy = "provide one with Hooks(judge=…)"
                where = (*raw.path, "type")
                yield file.finding("prompt", Severity.HINT, where, what, remedy)


def check_duplicates(checked: Checked) -> Iterator[Finding]:
    """Find hooks that start the same on the same event and for the same names as another."""
    first: dict[object, HookSite] = {}
    for site in checked.hooks:
        hook, matcher = site.hook, site.entry.matcher
        names = matcher.strip() if isinstance(matcher, str) else ""
        names = "" if names == "*" else names
        # Without the names: the same command under two names is a duplicate too.
        unnamed = msgspec.structs.replace(hook, name="")
        words: object = unnamed.identity()
        if isinstance(hook, CommandHook) and not hook.dialect_event:
            words = (hook.command, hook.args, tuple(sorted(hook.env.items())))
        identity = (site.event, names, words)
        earlier = first.setdefault(identity, site)
        if earlier is site:
            continue
        place, in_one = f"on line {earlier.entry.line}", earlier.file is site.file
        if not in_one:
            folder, file = os.path.split(earlier.file.path)
            place = f"in {os.path.basename(folder)}/{file}:{earlier.entry.line}"
        runs = "runs once" if earlier.hook.name == hook.name else "runs twice"
        what = f"the same hook is {place} too, and {runs}"
        # Settings of several hosts side by side are often copies.
        severity = Severity.WARNING if in_one else Severity.HINT
        yield site.finding("duplicate", severity, (), what, "remove one of them")
