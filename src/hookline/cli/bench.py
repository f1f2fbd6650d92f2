"""``hookline bench``: how long one hook takes, and how much of it is only starting.

The hook runs many times, in turn with its interpreter started on no work, so both meet the same
machine, and what differs is the work of the script alone.
"""

import os
import sys
import time
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from hookline._support.notices import heard_warnings
from hookline.cli.events import (
    load_project,
    read_event,
    read_payload,
    run_to_end,
    tell_copies,
)
from hookline.cli.failures import CommandError, unknown_hook
from hookline.cli.options import SOURCES, Option, Options, event_options, flag, read_event_name
from hookline.cli.progress import Progress
from hookline.cli.screen import Column, Row, Screen, count, measure_table
from hookline.engine.engine import Engine
from hookline.engine.project import Project
from hookline.pipeline.registry import HookRegistryEntry
from hookline.shell.programs import (
    argv_of,
    find_program,
    hook_variables,
    interpreter_in,
    own_variables,
    read_shebang,
    resolve_words,
)
from hookline.trace.queries import percentile
from hookline.trace.records import DebugLogger
from hookline.wire.events import EVENTS
from hookline.wire.fired import FiredEvent
from hookline.wire.hooks import CommandHook, HookConfig, HookSource
from hookline.wire.results import HookExecutionResult

if TYPE_CHECKING:
    from hookline.dialects.tools import ToolAlias


def _read_number(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        from argparse import ArgumentTypeError

        raise ArgumentTypeError(f"must be a number from 1 on, not {text!r}")
    return int(text)


EXAMPLES = (
    "hookline demo --keep try-hookline",
    "hookline bench secret-scan --cwd try-hookline --trust --runs 10",
    "hookline bench secret-scan --cwd try-hookline --trust --runs 10 --json",
)
OPTIONS = (
    Option("name", "NAME", "the name of the hook; hookline list shows them all"),
    Option("--runs", "N", "how many times to run it (default: about 50)", type=_read_number),
    Option("--event", "EVENT", "the event to fire, if the hook is for several"),
    *event_options("the event's fields (default: made up)"),
    flag("--trust", "run it even if it is not trusted", default=None),
    *SOURCES,
)

_START = "start-up"
# What a warm hook may take of a cold one's time for it to be worth a setting.
_WORTH_IT = 0.8
# Not counted: the first finds nothing in the system's caches, and a warm hook starts for it.
_FIRST_ROUNDS = 2
# Without --runs: as many as fit into this time, within these bounds.
_DEFAULT_RUNS = 50
_LEAST_RUNS = 10
_PATIENCE_SECONDS = 10.0
# Kind of interpreter -> the arguments that give it nothing to do.
_IDLE: dict[str, tuple[str, ...]] = {
    "python": ("-c", "pass"),
    "sh": ("-c", ":"),
    "node": ("-e", "0"),
    "ruby": ("-e", "0"),
    "perl": ("-e", "0"),
}
# Those that change how Python starts, and take no argument of their own.
_FLAGS = frozenset("bBdEIOPqsSuv")


class Baseline(msgspec.Struct, frozen=True):
    """A hook that only starts, and what it is in words."""

    words: str
    hook: CommandHook
    is_python: bool = False


class Runs(msgspec.Struct, frozen=True):
    """What one way of running took each time; ``errors`` are how runs failed, and how often."""

    durations: tuple[float, ...]
    errors: Mapping[str, int]
    warnings: tuple[str, ...]

    @property
    def times(self) -> dict[str, float]:
        """The durations summed up, in milliseconds."""
        ordered = sorted(self.durations)
        percentiles = {f"p{percent}": percentile(ordered, percent) for percent in (50, 95, 99)}
        return {"min": ordered[0], "mean": sum(ordered) / len(ordered), **percentiles}


def run(options: Options, screen: Screen) -> int:
    """Measure the hook; 0 even if it blocks or fails, which is told."""
    # Runs of a benchmark do not belong in the trace.
    project = load_project(
        options, warm=True, debug_logger=DebugLogger(), trusted=options.trust, copies=True
    )
    tell_copies(screen, project, json=options.json)
    entry = _find_entry(project, options, screen)
    hook = entry.hook
    if not isinstance(hook, CommandHook):
        raise CommandError(
            f"{options.name} is a hook of type {hook.type}, which starts no process to measure; "
            "`hookline trace --stats` shows how long it took"
        )
    tools = project.get_settings().tools
    payload = _make_payload(entry, options, tools)
    fired = read_event(hook.dialect_event or entry.event, payload, tools)
    variables = hook_variables(
        project_dir=project.project_dir,
        cwd=project.working_dir,
        session_id=project.get_session_id(),
        event=entry.event.value,
        hook=hook,
    )
    baseline = baseline_of(
        hook,
        {**variables, **own_variables(hook, variables)},
        cwd=project.working_dir,
        project_dir=project.project_dir,
    )
    ways = {"hook": hook}
    if baseline.is_python:
        ways = {
            name: msgspec.structs.replace(hook, warm=name == "warm") for name in ("cold", "warm")
        }
    hooks = {**ways, _START: baseline.hook}
    with Progress(sys.stderr) as progress, heard_warnings():
        runs_by_way = _run_in_turn(project, entry, hooks, fired, options.runs, progress)
    startup = runs_by_way.pop(_START)
    share = min(startup.times["p50"] / next(iter(runs_by_way.values())).times["p50"], 1.0)
    if options.json:
        screen.document(
            {
                "hook": entry.name,
                "event": entry.event.value,
                "input": payload,
                "runs": len(startup.durations),
                "unit": "ms",
                "times": {name: _describe(runs) for name, runs in runs_by_way.items()},
                "startup": {
                    "measured_as": baseline.words,
                    **_describe(startup),
                    "share": round(share, 4),
                },
            }
        )
    else:
        target = payload.get(EVENTS[entry.event].target or "")
        event = hook.dialect_event or entry.event.value
        on = f"{event} {target}" if target else event
        number = count(len(startup.durations), "run")
        screen.line((hook.name, "name"), f"  {on}  ", (number, "faint"))
        _show_times(screen, hook, {**runs_by_way, _START: startup}, share, baseline.words)
    for runs in runs_by_way.values():
        for error, failed in runs.errors.items():
            from hookline.cli.stderr import cut_failure

            of, why = count(len(runs.durations), "run"), cut_failure(error)
            screen.warning(
                f"{hook.name} failed in {failed} of {of}, so its times say little: {why}"
            )
        for warning in runs.warnings:
            screen.warning(f"{hook.name}: {warning}")
    return 0


def _show_times(
    screen: Screen,
    hook: CommandHook,
    runs_by_way: Mapping[str, Runs],
    share: float,
    measured_as: str,
) -> None:
    fields = [*runs_by_way[_START].times]
    times = [[_show_time(value) for value in runs.times.values()] for runs in runs_by_way.values()]
    across = [["", *fields], *([name, *row] for name, row in zip(runs_by_way, times, strict=True))]
    down = [*map(list, zip(*across, strict=True))]
    for cells, head, side in ((across, "faint", "name"), (down, "name", "faint")):
        if screen.width is None or measure_table(cells) <= screen.width:
            first, *others = cells
            rows: list[Row] = [("", *((title, head) for title in first[1:]), "")]
            rows += [((title, side), *row, "") for title, *row in others]
            columns: list[Column] = ["keep"]
            columns += ["right" for _ in first[1:]]
            screen.table(rows, columns)
            break
    else:
        for name, row in zip(runs_by_way, times, strict=True):
            screen.line((name, "name"), indent=2)
            pairs = zip(fields, row, strict=True)
            screen.table([((field, "faint"), time) for field, time in pairs], ("keep",), indent=4)
    screen.line(
        f"{share:.0%} of its time (p50) is start-up, which is how long ",
        (measured_as, "matcher"),
        " takes",
    )
    if "warm" in runs_by_way:
        ratio = runs_by_way["warm"].times["p50"] / runs_by_way["cold"].times["p50"]
        is_worth_it = ratio <= _WORTH_IT and not hook.warm
        advice = '; "warm": true in its settings turns it on' if is_worth_it else ""
        screen.line(f"warm it takes {ratio:.0%} of what it takes cold{advice}")


def _show_time(milliseconds: float) -> str:
    return f"{milliseconds:.3g} ms" if milliseconds < 1000 else f"{milliseconds:.0f} ms"


def _find_entry(project: Project, options: Options, screen: Screen) -> HookRegistryEntry:
    settings = project.get_settings()
    namesakes = [entry for entry in settings.entries if entry.name == options.name]
    if not namesakes:
        raise unknown_hook(options.name, settings, screen)
    keys = [entry.hook.dialect_event or entry.event.value for entry in namesakes]
    events = " and ".join(dict.fromkeys(keys))
    if options.event is not None:
        event = read_event_name("--event: ", options.event)
        # By Claude Code's name a hook of its own must have just that.
        namesakes = [
            entry
            for entry in namesakes
            if entry.event is event
            and (event == options.event or entry.hook.dialect_event in ("", options.event))
        ]
        if not namesakes:
            raise CommandError(f"{options.name} is not for {options.event} but for {events}")
    elif len({*keys}) > 1:
        raise CommandError(f"{options.name} is for {events}; name one of them by --event")
    if not namesakes[0].trusted:
        raise CommandError(
            f"{options.name} is not trusted, so it does not run; "
            "review it with `hookline trust`, or pass --trust"
        )
    return namesakes[0]


def _make_payload(
    entry: HookRegistryEntry, options: Options, tools: "Mapping[str, ToolAlias] | None"
) -> dict[str, Any]:
    """The event as the options give it, or one made up that the hook's matcher matches, in the
    words of its dialect."""
    key = entry.hook.dialect_event
    if options.input or options.tool or options.tool_input:
        return read_payload(key or entry.event, options)
    session = {"session_id": options.session_id} if options.session_id else {}
    from hookline.cli.samples import make_fields

    payload = make_fields(entry, tools)
    if payload is None:
        raise CommandError(
            f"cannot make up a name that {entry.matcher!r} matches; "
            "give the event's fields by --input"
        )
    return payload | session


def _run_in_turn(
    project: Project,
    entry: HookRegistryEntry,
    hooks: Mapping[str, HookConfig],
    fired: FiredEvent,
    run_count: int | None,
    progress: Progress,
) -> dict[str, Runs]:
    """Run each of the hooks in the entry's place, one after the other, again and again."""
    engines = {name: Engine(project) for name in hooks}
    for name, engine in engines.items():
        engine.load()
        hook = hooks[name]
        if isinstance(hook, CommandHook):
            # What is measured is how long it takes, on whatever calls it runs and whether somebody
            # waits for it or not.
            hook = msgspec.structs.replace(hook, background=False, condition=None)
        alone = msgspec.structs.replace(entry, hook=hook, matches=lambda _: True, enabled=True)
        engine.registry.load([alone])
    results: dict[str, list[HookExecutionResult]] = {name: [] for name in engines}

    async def run_rounds() -> None:
        wanted = run_count or _DEFAULT_RUNS
        end = time.monotonic() + _PATIENCE_SECONDS
        for number in range(-_FIRST_ROUNDS, wanted):
            if run_count is None and number >= _LEAST_RUNS and time.monotonic() > end:
                break
            progress.show(f"{entry.name}: {max(number, 0)} of {wanted} runs")
            for name, engine in engines.items():
                answer = await engine.execute(fired)
                if number >= 0:
                    results[name] += answer.results

    try:
        run_to_end(run_rounds())
    finally:
        for engine in engines.values():
            engine.dispose()
    return {
        name: Runs(
            tuple(result.duration for result in hook_results),
            Counter(result.error for result in hook_results if result.error is not None),
            tuple(dict.fromkeys(text for result in hook_results for text in result.warnings)),
        )
        for name, hook_results in results.items()
    }


def baseline_of(
    hook: CommandHook, values: Mapping[str, str], *, cwd: str, project_dir: str
) -> Baseline:
    """The bare start of whatever runs a hook; ``values`` are the variables of its command."""
    words = argv_of(hook, values)
    if words is None:
        return Baseline("the shell's bare start", _replace_command(hook, ":", None))
    words = resolve_words(words, hook, cwd=cwd, project_dir=project_dir)
    if interpreter_in(words) is None:
        path = os.environ.get("PATH", os.defpath)
        file = find_program(words[0], path, cwd=cwd) or words[0]
        words = list(read_shebang(os.path.join(cwd, file)) or ())
    interpreter = interpreter_in(words)
    if interpreter is None:
        return Baseline("true", _replace_command(hook, "true", ()))
    program, flags = words[interpreter.at], []
    for option, _ in interpreter.options if interpreter.kind == "python" else ():
        if option[1:] not in _FLAGS:
            break
        flags.append(option)
    arguments = (*flags, *_IDLE[interpreter.kind])
    name = os.path.basename(program)
    command_line = " ".join([name, *arguments])
    is_python = name.startswith("python")
    return Baseline(command_line, _replace_command(hook, program, arguments), is_python)


def _replace_command(hook: CommandHook, command: str, args: tuple[str, ...] | None) -> CommandHook:
    return msgspec.structs.replace(
        hook,
        name=f"start of {hook.name}",
        command=command,
        args=args,
        warm=False,
        # It is ours, and no review of the project covers it.
        source=HookSource.USER,
    )


def _describe(runs: Runs) -> dict[str, Any]:
    times = {name: round(value, 3) for name, value in runs.times.items()}
    failed = sum(runs.errors.values())
    return {**times, "failed_runs": failed} | ({"errors": runs.errors} if failed else {})
