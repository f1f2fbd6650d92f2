"""``hookline test --record``: writes a test from an event fired now, or from the trace."""

import os
import shlex
from typing import Any

from hookline.cli.events import read_event, read_payload
from hookline.cli.failures import CommandError
from hookline.cli.options import Options, find_sources, read_event_name
from hookline.cli.screen import Screen, shorten_path
from hookline.hooktests.cases import HookTest
from hookline.hooktests.recorder import ends_of, make_recorded_test, recording_place, write_test
from hookline.hooktests.runs import Fire, HookTestRunner, NotTrusted, project_of
from hookline.wire import codec
from hookline.wire.events import HookEventName


def record(options: Options, screen: Screen, fire: Fire) -> int:
    """Write the test and show where it is."""
    for name in ("watch", "junit", "pattern", "fail_fast"):
        if getattr(options, name):
            raise CommandError(
                "--record only writes a test; pass the options for a run when you run it"
            )
    project = project_of(os.path.abspath(options.cwd or os.getcwd()), claude=options.claude)
    name, path = recording_place(options.record, project)
    if os.path.lexists(path) and not options.force:
        # Checked before any hook runs.
        raise CommandError(
            f"{shorten_path(path)} already exists; pass --force to replace it, or another name"
        )
    if options.from_trace is None:
        test = _record_live(options, fire, name, path, project)
    elif options.places or options.input or options.tool or options.tool_input:
        raise CommandError("--from-trace has the event and its input; leave the others out")
    else:
        from hookline.hooktests.recorder import read_traced_event
        from hookline.trace.records import default_trace_file

        traced = read_traced_event(options.from_trace, trace_file=default_trace_file())
        places = {"project": project} | ({"cwd": traced.cwd} if traced.cwd else {})
        test = make_recorded_test(name, *traced[:4], places)
    existed = os.path.lexists(path)
    write_test(path, test, replace=options.force)
    if options.json:
        screen.document({"file": path, "replaced": existed, "test": test})
        return 0
    screen.line(("replaced" if existed else "wrote", "good"), f" {shorten_path(path)}")
    for word, value in test["expect"].items():
        text = value if isinstance(value, str) else codec.encode(value).decode()
        screen.line((f"expects {word}: ", "name"), text, indent=2)
    trust = " --trust" if options.trust else ""
    # A test does not name plugins: their hooks would run in the name of the user.
    trust += "".join(f" --plugin {shlex.quote(folder)}" for folder in options.plugin or ())
    where = shlex.quote(path.removeprefix(os.path.join(os.getcwd(), "")))
    advice, command = "read it, keep what matters, and run it:", f"hookline test{trust} {where}"
    if screen.width is None or len(advice) + 1 + len(command) <= screen.width:
        screen.line(f"{advice} {command}")
    else:
        screen.line(advice)
        screen.command(command)
    return 0


def _record_live(
    options: Options, fire: Fire, name: str, path: str, project: str
) -> dict[str, Any]:
    if len(options.places) != 1:
        from hookline.cli.samples import example

        recording = f"hookline test --record {shlex.quote(options.record)}"
        line = example(HookEventName.BEFORE_TOOL).replace("hookline fire", recording, 1)
        raise CommandError(f"--record needs one event, as fire does; try: {line}")
    event = read_event_name("", options.places[0])
    payload = read_payload(options.places[0], options)
    read_event(options.places[0], payload)
    # The test keeps the event name under which its input was given.
    worded = payload.pop("hook_event_name", None) or options.places[0]
    runner = HookTestRunner(
        fire, cwd=options.cwd or project, trusted=options.trust, **find_sources(options)
    )
    test = HookTest(
        name=name, file=path, line=1, event=event, input=payload, expect={}, worded=worded
    )
    try:
        _, answer, _, _ = runner.fire(test)
    except NotTrusted as error:
        hint = "review the project's hooks with `hookline trust`, or pass --trust"
        raise CommandError(f"{error}; {hint}") from None
    places = {"project": project, "cwd": os.path.abspath(options.cwd or project)}
    return make_recorded_test(
        name, worded, payload, answer, ends_of(answer), places, claude=options.claude or False
    )
