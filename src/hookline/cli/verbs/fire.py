"""``hookline fire``: one event through the configured hooks, as a gate that any script can use."""

import argparse
from collections.abc import Mapping
from typing import Any

from hookline.cli.document import fire_document, view_of
from hookline.cli.failures import CommandError
from hookline.cli.firing import fire, heard_warnings, load_config
from hookline.cli.payload import read_payload
from hookline.cli.screen import Screen
from hookline.cli.text import count
from hookline.cli.verdict import ROLES, Verdict, verdict_of
from hookline.config import Config
from hookline.errors import InvalidPayloadError, UnknownEventError
from hookline.pipeline.processing import process_common_hook_output_fields
from hookline.system import HookSystem
from hookline.translate import HookTranslator
from hookline.translate.genai import GenAITranslator
from hookline.wire.events import EVENTS, HookEventName, narrow_event
from hookline.wire.results import (
    ProcessedHookResult,
    build_failure_envelope,
    make_empty_success_result,
)
from hookline.wire.validators import own_field

_NOTHING = ProcessedHookResult(make_empty_success_result())

EXAMPLES = (
    """hookline fire SessionStart --input '{"source": "startup"}'""",
    """hookline fire BeforeTool --tool write_file --tool-input '{"content": "hi"}'""",
    """echo '{"prompt": "Fix the tests"}' | hookline fire BeforeAgent --input - --json""",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what is fire's own."""
    parser.add_argument("event", metavar="EVENT", help=", ".join(HookEventName))
    parser.add_argument(
        "--input", metavar="JSON|@FILE|-", help="the event's fields; - reads them from stdin"
    )
    parser.add_argument("--tool", metavar="NAME", help="the tool, for BeforeTool and AfterTool")
    parser.add_argument("--tool-input", metavar="JSON", help="what the tool is called with")
    parser.add_argument("--session-id", metavar="ID", help="the session the event belongs to")
    trust = parser.add_mutually_exclusive_group()
    trust.add_argument("--trust", action="store_true", help="run the project's own hooks too")
    trust.add_argument(
        "--no-trust", dest="trust", action="store_false", help="hold them back (the default)"
    )


def run(options: argparse.Namespace, screen: Screen) -> int:
    """Fire the event; 0 go on, 2 blocked or stopped, 1 it could not be fired."""
    try:
        event = narrow_event(options.event)
        payload = read_payload(event, options)
    except (UnknownEventError, InvalidPayloadError) as error:
        raise _refused(error, options, screen) from None
    config = load_config(options, trusted=options.trust)
    system = _prepare(config, screen)
    with heard_warnings() as heard:
        processed = _NOTHING if system is None else fire(system, event, payload)
        view = view_of(event, processed, payload, config.get_translator())
    verdict = verdict_of(processed, event)
    if options.json:
        screen.document(fire_document(event.value, processed, view))
    else:
        _show(screen, event, payload, processed, view, config.get_translator())
    for warning in heard:
        # A failed event's own sentence is its verdict.
        if verdict.word != "failed" or not warning.endswith(str(verdict.reason)):
            screen.warning(warning)
    _tell_untrusted(config, screen)
    _conclude(verdict, screen, quiet=options.json)
    return verdict.status


def _refused(
    error: UnknownEventError | InvalidPayloadError, options: argparse.Namespace, screen: Screen
) -> CommandError:
    if options.json:
        envelope = process_common_hook_output_fields(build_failure_envelope(error, "validation"))
        view = view_of(None, envelope, {}, GenAITranslator())
        screen.document(fire_document(options.event, envelope, view))
    if isinstance(error, UnknownEventError) and not error.nearest:
        return CommandError(f"{error}; the events are {', '.join(HookEventName)}")
    return CommandError(str(error))


def _prepare(config: Config, screen: Screen) -> HookSystem | None:
    """The system, loaded; what is wrong in the settings is told before a hook can hang."""
    for problem in config.get_settings().problems:
        if problem.place != "trust":
            screen.warning(str(problem))
    system = config.get_hook_system()
    if system is None:
        screen.warning("hooks are disabled in the user's or the system's settings, so none ran")
        return None
    with heard_warnings():
        system.initialize_blocking()
    return system


def _tell_untrusted(config: Config, screen: Screen) -> None:
    held_back = [e for e in config.get_settings().entries if e.enabled and not e.trusted]
    if held_back:
        are, them = ("is", "it") if len(held_back) == 1 else ("are", "them")
        screen.warning(
            f"{count(len(held_back), 'project hook')} {are} not trusted and did not run; "
            f"review {them} and pass --trust to run {them}"
        )


def _show(
    screen: Screen,
    event: HookEventName,
    payload: Mapping[str, Any],
    processed: ProcessedHookResult,
    view: Mapping[str, Any],
    translator: HookTranslator,
) -> None:
    from hookline.cli.report import show_changes, show_hooks

    target = EVENTS[event].target
    name = own_field(payload, target) if target else None
    order = "  one after the other" if processed.plan and processed.plan.sequential else ""
    screen.line((event.value, "title"), (f"  {name}" if name else "", "matcher"), (order, "faint"))
    show_hooks(screen, processed)
    show_changes(screen, processed, view, payload, translator)


def _conclude(verdict: Verdict, screen: Screen, *, quiet: bool) -> None:
    """The last line; a reason not to go on is for stderr, where a caller looks for it."""
    word = (verdict.word, ROLES[verdict.word])
    spans = (word, f": {verdict.reason}") if verdict.reason is not None else (word,)
    if verdict.status:
        screen.note(*spans)
    elif not quiet:
        screen.line(*spans)
