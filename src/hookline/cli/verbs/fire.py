"""``hookline fire``: one event through the configured hooks, as a gate that any script can use."""

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from hookline.cli.failures import CommandError
from hookline.cli.firing import fire, load_config
from hookline.cli.payload import read_event, read_payload
from hookline.cli.plain import PlainOptions
from hookline.cli.screen import Screen
from hookline.cli.text import count
from hookline.config import Config
from hookline.errors import InvalidPayloadError, UnknownEventError
from hookline.fired import FiredEvent
from hookline.notices import heard_warnings
from hookline.wire.events import HookEventName, narrow_event

if TYPE_CHECKING:
    import argparse

    from hookline.cli.waiting import Waiting
    from hookline.pipeline.runner.loop import Loop
    from hookline.pipeline.runner.runner import RunningHook
    from hookline.system import HookSystem

EXAMPLES = (
    """hookline fire SessionStart --input '{"source": "startup"}'""",
    """hookline fire BeforeTool --tool write_file --tool-input '{"content": "hi"}'""",
    """echo '{"prompt": "Fix the tests"}' | hookline fire BeforeAgent --input - --json""",
    """hookline fire BeforeAgent --input '{"prompt": "Hi"}' --bus nats://localhost:4222""",
)

# What argparse makes of it, for the command lines that loops are full of.
PLAIN = PlainOptions(
    argument="event",
    defaults={
        **dict.fromkeys(("input", "tool", "tool_input", "session_id", "bus", "trust", "cwd")),
        "settings": None,
        "json": False,
        "on_unavailable": "allow",
    },
    texts={
        "--input": "input",
        "--tool": "tool",
        "--tool-input": "tool_input",
        "--session-id": "session_id",
        "--cwd": "cwd",
    },
    lists={"--settings": "settings"},
    flags={"--json": ("json", True), "--trust": ("trust", True), "--no-trust": ("trust", False)},
)


def add_arguments(parser: "argparse.ArgumentParser") -> None:
    """Declare what is fire's own."""
    from hookline.cli.parsing import add_event_arguments, add_trust_arguments

    parser.add_argument("event", metavar="EVENT", help=", ".join(HookEventName))
    add_event_arguments(parser, fields="the event's fields; - reads them from stdin")
    parser.add_argument(
        "--bus", metavar="URL|@FILE", help="let a worker on this bus run its hooks, instead of here"
    )
    parser.add_argument(
        "--on-unavailable",
        choices=("allow", "block", "local"),
        default="allow",
        help="what it means that no worker answers (default: allow)",
    )
    add_trust_arguments(parser)


def run(options: "argparse.Namespace", screen: Screen) -> int:
    """Fire the event; 0 go on, 2 blocked or stopped, 1 it could not be fired."""
    try:
        event = narrow_event(options.event)
        fired = read_event(event, read_payload(event, options))
    except (UnknownEventError, InvalidPayloadError) as error:
        raise _refused(error, options, screen) from None
    if options.bus is not None:
        return _run_over_bus(options, screen, fired)
    config = load_config(options, trusted=options.trust)
    return _fire(options, screen, config, fired)


def _fire(
    options: "argparse.Namespace",
    screen: Screen,
    config: Config,
    fired: FiredEvent,
) -> int:
    system = _prepare(config, screen)
    load_report = _load_document if options.json else _load_report
    with heard_warnings() as heard:
        answer = None
        if system is not None:
            line = _live_line(system) if screen.is_terminal and not options.json else None
            answer = fire(system, fired, meanwhile=load_report, progress=line)
        from hookline.cli.fire_report import FireReport

        # Only the events of a model are shown by way of a translator, which takes long to load.
        translator = config.get_translator() if fired.spec.model else None
        report = FireReport(fired, answer, translator)  # type: ignore[arg-type]
    report.show(screen, as_json=options.json)
    report.tell(screen, heard)
    _tell_untrusted(config, screen)
    report.conclude(screen, quiet=options.json)
    return report.status


def _run_over_bus(options: "argparse.Namespace", screen: Screen, fired: FiredEvent) -> int:
    from hookline.cli.buses import open_bus

    bus = open_bus(options.bus, name="hookline fire")
    config = load_config(
        options, trusted=options.trust, remote_bus=bus, on_unavailable=options.on_unavailable
    )
    try:
        return _fire(options, screen, config, fired)
    finally:
        bus.close_blocking()


def _live_line(system: "HookSystem") -> "Callable[[Loop], Waiting]":
    """What shows which hooks are running; it is loaded when one has taken its time."""
    running: list[RunningHook] = []
    system.follow(running)

    def show(loop: "Loop") -> "Waiting":
        from hookline.cli.waiting import Waiting

        return Waiting(sys.stderr, loop, running)

    return show


def _load_document() -> None:
    """What shows the answer is loaded while the hooks are at it, on the time of another core."""
    import hookline.cli.fire_report  # noqa: F401


def _load_report() -> None:
    _load_document()
    import hookline.cli.report  # noqa: F401


def _refused(
    error: UnknownEventError | InvalidPayloadError, options: "argparse.Namespace", screen: Screen
) -> CommandError:
    if options.json:
        from hookline.cli.fire_report import refusal_document

        screen.document(refusal_document(options.event, error))
    if isinstance(error, UnknownEventError) and not error.nearest:
        return CommandError(f"{error}; the events are {', '.join(HookEventName)}")
    return CommandError(str(error))


def _prepare(config: Config, screen: Screen) -> "HookSystem | None":
    """The system, loaded; what is wrong in the settings is told before a hook can hang."""
    problems = config.get_settings().problems
    if any(problem.kind != "untrusted" for problem in problems):
        from hookline.cli.problems import tell_problems

        tell_problems(screen, problems)
    system = config.get_hook_system()
    if system is None:
        screen.warning("hooks are disabled in the user's or the system's settings, so none ran")
        return None
    with heard_warnings():
        system.initialize_blocking()
    return system


def _tell_untrusted(config: Config, screen: Screen) -> None:
    held_back = [e for e in config.get_settings().entries if e.enabled and not e.trusted]
    if held_back and config.get_remote_firing() is None:
        are, them = ("is", "it") if len(held_back) == 1 else ("are", "them")
        screen.warning(
            f"{count(len(held_back), 'project hook')} {are} not trusted and did not run; "
            f"review {them} with `hookline trust`"
        )
