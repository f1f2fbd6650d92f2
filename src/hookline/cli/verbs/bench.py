"""``hookline bench``: how long one hook takes, and how much of it is only starting."""

import argparse
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import msgspec

from hookline.cli.bench_runs import Runs, Times, run_in_turn
from hookline.cli.bench_startup import Baseline, baseline_of
from hookline.cli.failures import CommandError
from hookline.cli.firing import load_config
from hookline.cli.layout import Column, Row
from hookline.cli.parsing import add_event_arguments
from hookline.cli.payload import read_payload
from hookline.cli.progress import Progress
from hookline.cli.screen import Screen
from hookline.cli.text import count
from hookline.config import Config
from hookline.debuglog import DebugLogger
from hookline.notices import heard_warnings
from hookline.pipeline.matcher import MatchTimeout
from hookline.pipeline.programs import hook_variables
from hookline.pipeline.registry import HookRegistryEntry
from hookline.wire.events import EVENTS, narrow_event
from hookline.wire.hooks import CommandHook

EXAMPLES = (
    "hookline demo --keep try-hookline",
    "hookline bench secret-scan --cwd try-hookline --trust --runs 10",
    "hookline bench secret-scan --cwd try-hookline --trust --runs 10 --json",
)

_START = "start-up"
# What a warm hook may take of a cold one's time for it to be worth a setting.
_WORTH_IT = 0.8
_REQUEST = {"model": "gemini-2.5-flash", "contents": "Hello"}
_RESPONSE = {"candidates": [{"content": {"role": "model", "parts": [{"text": "Hi"}]}}]}
# Field -> a value for events that are given none.
_VALUES: dict[str, Any] = {
    "tool_input": {"file_path": "README.md", "content": "Hello\n", "command": "ls"},
    "tool_response": {"llmContent": "done"},
    "prompt": "Fix the tests",
    "prompt_response": "Done",
    "stop_hook_active": False,
    "llm_request": _REQUEST,
    "llm_response": _RESPONSE,
    "message": "Build finished",
}
_TARGETS = ("write_file", "read_file", "run_shell_command", "replace", "startup", "exit", "manual")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what is bench's own."""
    parser.add_argument("name", metavar="NAME", help="the hook; hookline list shows the names")
    parser.add_argument("--runs", metavar="N", type=_number, help="how often (default: about 50)")
    parser.add_argument("--event", metavar="EVENT", help="which, of a hook that has several")
    add_event_arguments(parser, fields="the event's fields (default: made up)")
    parser.add_argument(
        "--trust", action="store_true", default=None, help="run it even if nobody has reviewed it"
    )


def run(options: argparse.Namespace, screen: Screen) -> int:
    """Measure the hook; 0 even if it blocks or fails, which is told."""
    # What is measured is no part of what happened.
    config = load_config(options, warm=True, debug_logger=DebugLogger(), trusted=options.trust)
    entry = _entry(config, options, screen)
    hook = entry.hook
    assert isinstance(hook, CommandHook)
    payload = _payload(entry, options)
    baseline = baseline_of(hook, _variables(config, entry, hook), cwd=config.get_working_dir())
    with Progress(sys.stderr) as progress, heard_warnings():
        found = run_in_turn(
            config,
            entry,
            {**_ways(hook, baseline), _START: baseline.hook},
            payload,
            runs=options.runs,
            tell=lambda done, all: progress.show(f"{hook.name}: {done} of {all} runs"),
        )
    startup = found.pop(_START)
    if options.json:
        screen.document(_document(entry, payload, found, startup, baseline))
    else:
        _show(screen, entry, payload, found, startup, baseline)
    _warn(screen, hook.name, found)
    return 0


def _number(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a number from 1 on, not {text!r}")
    return int(text)


def _entry(config: Config, options: argparse.Namespace, screen: Screen) -> HookRegistryEntry:
    entries = [e for e in config.get_settings().entries if isinstance(e.hook, CommandHook)]
    named = [entry for entry in entries if entry.name == options.name]
    if not named:
        from hookline.cli.problems import tell_problems, unknown_hook

        is_broken = tell_problems(screen, config.get_settings().problems)
        known = [entry.name for entry in entries]
        raise unknown_hook(options.name, known, is_broken=is_broken)
    if options.event is not None:
        event = narrow_event(options.event)
        named = [entry for entry in named if entry.event is event] or named
        if named[0].event is not event:
            raise CommandError(f"{options.name} is not for {event.value} but for {_events(named)}")
    if len({entry.event for entry in named}) > 1:
        raise CommandError(f"{options.name} is for {_events(named)}; name one of them by --event")
    if not named[0].trusted:
        raise CommandError(
            f"{options.name} is not trusted, so it does not run; "
            "review it with `hookline trust`, or pass --trust"
        )
    return named[0]


def _events(entries: Sequence[HookRegistryEntry]) -> str:
    return " and ".join(dict.fromkeys(entry.event.value for entry in entries))


def _payload(entry: HookRegistryEntry, options: argparse.Namespace) -> dict[str, Any]:
    if options.input or options.tool or options.tool_input:
        return read_payload(entry.event, options)
    spec = EVENTS[entry.event]
    payload = {name: _VALUES[name] for name in spec.required if name in _VALUES}
    if spec.target in spec.required:
        payload[str(spec.target)] = _target(entry)
    return payload | ({"session_id": options.session_id} if options.session_id else {})


def _target(entry: HookRegistryEntry) -> str:
    """A name that the hook's matcher matches: one it holds, or a common one."""
    import re

    trigger = EVENTS[entry.event].trigger
    likely: list[str] = [*re.findall(r"[\w-]+", str(entry.matcher or "")), *_TARGETS]
    known = [name for name in likely if trigger is None or name in [t.value for t in trigger]]
    for name in known:
        with suppress(MatchTimeout):
            if entry.matches(name):
                return name
    raise CommandError(
        f"no name comes to mind that {entry.matcher!r} matches; give the event's fields by --input"
    )


def _variables(config: Config, entry: HookRegistryEntry, hook: CommandHook) -> dict[str, str]:
    variables = hook_variables(
        project_dir=config.get_project_dir(),
        cwd=config.get_working_dir(),
        session_id=config.get_session_id(),
        event=entry.event.value,
    )
    return {**variables, **hook.env}


def _ways(hook: CommandHook, baseline: Baseline) -> dict[str, CommandHook]:
    if not baseline.is_python:
        return {"hook": hook}
    ways = {"cold": {"warm": False}, "warm": {"warm": True}}
    return {name: msgspec.structs.replace(hook, **way) for name, way in ways.items()}


def _share(runs: Runs, startup: Runs) -> float:
    return min(startup.times.p50 / runs.times.p50, 1.0)


def _show(
    screen: Screen,
    entry: HookRegistryEntry,
    payload: Mapping[str, Any],
    found: Mapping[str, Runs],
    startup: Runs,
    baseline: Baseline,
) -> None:
    target = payload.get(EVENTS[entry.event].target or "")
    on = f"{entry.event.value} {target}" if target else entry.event.value
    runs = len(startup.durations)
    screen.line((entry.name, "name"), f"  {on}  ", (count(runs, "run"), "faint"))
    fields = Times.__struct_fields__
    rows: list[Row] = [("", *((field, "faint") for field in fields), "")]
    for name, each in {**found, _START: startup}.items():
        times = [_milliseconds(getattr(each.times, field)) for field in fields]
        rows.append(((name, "name"), *times, ""))
    columns: list[Column] = ["keep", "right", "right", "right", "right", "right"]
    screen.table(rows, columns)
    first = next(iter(found.values()))
    screen.line(
        f"{_share(first, startup):.0%} of its time is start-up, measured as ",
        (baseline.words, "matcher"),
        " run in turn with it, by p50",
    )
    if "warm" in found:
        ratio = found["warm"].times.p50 / found["cold"].times.p50
        is_warm = isinstance(entry.hook, CommandHook) and entry.hook.warm
        advice = (
            "" if is_warm or ratio > _WORTH_IT else '; "warm": true in its settings turns it on'
        )
        screen.line(f"warm it takes {ratio:.0%} of what it takes cold{advice}")


def _milliseconds(value: float) -> str:
    return f"{value:.3g} ms" if value < 1000 else f"{value:.0f} ms"


def _document(
    entry: HookRegistryEntry,
    payload: Mapping[str, Any],
    found: Mapping[str, Runs],
    startup: Runs,
    baseline: Baseline,
) -> dict[str, Any]:
    first = next(iter(found.values()))
    return {
        "hook": entry.name,
        "event": entry.event.value,
        "input": payload,
        "runs": len(startup.durations),
        "unit": "ms",
        "times": {name: _described(runs) for name, runs in found.items()},
        "startup": {
            "measured_as": baseline.words,
            **_described(startup),
            "share": round(_share(first, startup), 4),
        },
    }


def _described(runs: Runs) -> dict[str, Any]:
    times = {name: round(value, 3) for name, value in msgspec.structs.asdict(runs.times).items()}
    failed = sum(runs.errors.values())
    return {**times, "failed_runs": failed} | ({"errors": runs.errors} if failed else {})


def _warn(screen: Screen, name: str, found: Mapping[str, Runs]) -> None:
    for runs in found.values():
        for error, times in runs.errors.items():
            of = count(len(runs.durations), "run")
            screen.warning(f"{name} failed in {times} of {of}, so its times say little: {error}")
        for warning in runs.warnings:
            screen.warning(f"{name}: {warning}")
