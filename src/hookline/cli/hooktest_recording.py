"""``hookline test --record``: from an event that is fired now, or from one of the trace."""

import argparse
import os
from typing import Any

from hookline.cli.failures import CommandError
from hookline.cli.hooktest_report import quoted, shown_path
from hookline.cli.payload import example, read_event, read_payload
from hookline.cli.screen import Screen
from hookline.errors import UnknownEventError
from hookline.hooktests.cases import HookTest
from hookline.hooktests.recording import ends_of, recorded_test, recording_place, write_test
from hookline.hooktests.running import Fire, HookTestRunner, NotTrusted, project_of
from hookline.wire.events import HookEventName, narrow_event


def record(options: argparse.Namespace, screen: Screen, fire: Fire) -> int:
    """Write the test and say where it is."""
    for name in ("watch", "junit", "pattern", "fail_fast"):
        if getattr(options, name):
            raise CommandError("--record writes a test; run it afterwards, with what is for runs")
    start = os.path.abspath(options.cwd or os.getcwd())
    project = project_of(start)
    name, path = recording_place(options.record, project)
    if os.path.lexists(path) and not options.force:
        # Before any hook has run for nothing.
        raise CommandError(f"{path} exists already; pass --force to replace it, or another name")
    record_from = _live if options.from_trace is None else _traced
    test = record_from(options, fire, name, path, project)
    existed = os.path.lexists(path)
    write_test(path, test, replace=options.force)
    if options.json:
        screen.document({"file": path, "replaced": existed, "test": test})
        return 0
    verb = "replaced" if existed else "wrote"
    screen.line((verb, "good"), f" {shown_path(path)}")
    for word, value in test["expect"].items():
        screen.line((f"expects {word}: ", "name"), _shown(value), indent=2)
    trust = " --trust" if options.trust else ""
    screen.line(f"read it, keep what matters, and run it: hookline test{trust} ", _where(path))
    return 0


def _live(
    options: argparse.Namespace, fire: Fire, name: str, path: str, project: str
) -> dict[str, Any]:
    event = _event(options)
    payload = read_payload(event, options)
    read_event(event, payload)
    runner = HookTestRunner(
        fire,
        cwd=options.cwd or project,
        settings_files=options.settings,
        trusted=options.trust,
    )
    asked = HookTest(name=name, file=path, line=1, event=event, input=payload, expect={})
    try:
        _, answer, _, _ = runner.fire(asked)
    except NotTrusted as error:
        hint = "review the project's hooks with `hookline trust`, or pass --trust"
        raise CommandError(f"{error}; {hint}") from None
    places = {"project": project, "cwd": os.path.abspath(options.cwd or project)}
    return recorded_test(name, event, payload, answer, ends_of(answer), places)


def _traced(
    options: argparse.Namespace, _fire: Fire, name: str, _path: str, project: str
) -> dict[str, Any]:
    if options.places or options.input or options.tool or options.tool_input:
        raise CommandError("--from-trace has the event and its input; leave the others out")
    from hookline.debuglog import default_trace_file
    from hookline.hooktests.recording import read_traced_event

    traced = read_traced_event(options.from_trace, trace_file=default_trace_file())
    places = {"project": project} | ({"cwd": traced.cwd} if traced.cwd else {})
    return recorded_test(name, *traced[:4], places)


def _event(options: argparse.Namespace) -> HookEventName:
    if len(options.places) != 1:
        raise CommandError(
            f"--record needs one event, as fire does: "
            f"{_recording(options.record, example(HookEventName.BEFORE_TOOL))}"
        )
    try:
        return narrow_event(options.places[0])
    except UnknownEventError as error:
        hint = "" if error.nearest else f"; the events are {', '.join(HookEventName)}"
        raise CommandError(f"{error}{hint}") from None


def _recording(name: str, fire: str) -> str:
    return fire.replace("hookline fire", f"hookline test --record {quoted(name)}", 1)


def _where(path: str) -> str:
    return quoted(shown_path(path))


def _shown(value: Any) -> str:
    if isinstance(value, str):
        return value
    from hookline.wire import codec

    return codec.encode(value).decode()
