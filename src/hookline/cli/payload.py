"""Makes an event's input of the command line: inline JSON, a file or stdin, and the shorthands."""

import sys
from typing import TYPE_CHECKING, Any

from hookline.cli.failures import CommandError
from hookline.errors import InvalidPayloadError
from hookline.fired import FiredEvent, read_fired_event
from hookline.wire import codec
from hookline.wire.events import HookEventName

if TYPE_CHECKING:
    import argparse

_TOOL_EVENTS = (HookEventName.BEFORE_TOOL, HookEventName.AFTER_TOOL)
_REQUEST = '"model_request": {"model": "gemini-2.5-flash", "contents": "Hello"}'
_RESPONSE = (
    '"model_response": {"candidates": [{"content": {"role": "model", "parts": [{"text": "Hi"}]}}]}'
)
# Arguments that work, for each event.
_EXAMPLES: dict[HookEventName, str] = {
    HookEventName.BEFORE_TOOL: """--tool write_file --tool-input '{"content": "hi"}'""",
    HookEventName.AFTER_TOOL: "--tool read_file --tool-input '{}' "
    """--input '{"tool_response": "hi"}'""",
    HookEventName.BEFORE_AGENT: """--input '{"prompt": "Fix the tests"}'""",
    HookEventName.AFTER_AGENT: """--input '{"prompt": "Fix it", "prompt_response": "Done"}'""",
    HookEventName.BEFORE_MODEL: f"--input '{{{_REQUEST}}}'",
    HookEventName.AFTER_MODEL: f"--input '{{{_REQUEST}, {_RESPONSE}}}'",
    HookEventName.BEFORE_TOOL_SELECTION: f"--input '{{{_REQUEST}}}'",
    HookEventName.SESSION_START: """--input '{"source": "startup"}'""",
    HookEventName.SESSION_END: """--input '{"reason": "exit"}'""",
    HookEventName.PRE_COMPRESS: """--input '{"trigger": "manual"}'""",
    HookEventName.NOTIFICATION: """--input '{"message": "Build finished"}'""",
}


def example(event: HookEventName) -> str:
    """A command line that fires the event."""
    return f"hookline fire {event.value} {_EXAMPLES[event]}"


def read_payload(event: HookEventName, options: "argparse.Namespace") -> dict[str, Any]:
    """The input that the options describe; raises InvalidPayloadError for what is no object."""
    payload = {} if options.input is None else _read(event, "--input", options.input)
    if not isinstance(payload, dict):
        raise _invalid(event, "must be a JSON object")
    return {**payload, **_shorthands(event, options)}


def read_event(event: HookEventName, payload: dict[str, Any]) -> FiredEvent:
    """The event of an input; raises InvalidPayloadError, with a command line that works, for an
    input that is none."""
    try:
        return read_fired_event(event, payload)
    except InvalidPayloadError as error:
        raise _invalid(event, error.problem) from None


def _shorthands(event: HookEventName, options: "argparse.Namespace") -> dict[str, Any]:
    given: dict[str, Any] = {}
    if options.tool is not None:
        given["tool_name"] = options.tool
    if options.tool_input is not None:
        given["tool_input"] = _read(event, "--tool-input", options.tool_input)
    if given and event not in _TOOL_EVENTS:
        raise CommandError(
            f"--tool and --tool-input are for BeforeTool and AfterTool; try: {example(event)}"
        )
    if options.session_id is not None:
        given["session_id"] = options.session_id
    return given


def _read(event: HookEventName, option: str, value: str) -> Any:
    text = _text(option, value)
    try:
        return codec.decode(text)
    except codec.DecodeError:
        return _read_leniently(event, option, text)


def _text(option: str, value: str) -> str:
    """What an argument stands for: itself, ``@FILE`` or, as ``-``, stdin."""
    if value != "-" and not value.startswith("@"):
        return value
    try:
        content = _stdin() if value == "-" else _file(value[1:])
        return content.decode("utf-8-sig")
    except OSError as error:
        raise CommandError(f"{option}: cannot read {value[1:]}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        what = "stdin" if value == "-" else value[1:]
        raise CommandError(f"{option}: {what} is not UTF-8 at byte {error.start}") from None


def _file(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def _stdin() -> bytes:
    if sys.stdin is None:
        raise CommandError("--input -: stdin is closed; give the JSON itself, or @FILE")
    if sys.stdin.isatty():
        print("reading the input from the terminal; Ctrl-D ends it", file=sys.stderr)
    return sys.stdin.buffer.read()


def _read_leniently(event: HookEventName, option: str, text: str) -> Any:
    """Comments and trailing commas are welcome as in settings; the rest gets its place."""
    from hookline.pipeline.jsonc import JsoncError, parse

    try:
        return parse(text).value
    except JsoncError as error:
        place = f"line {error.line}, column {error.column}"
        problem = f"{option} is not JSON at {place}: {error.problem}"
        raise _invalid(event, problem) from None


def _invalid(event: HookEventName, problem: str) -> InvalidPayloadError:
    return InvalidPayloadError(event.value, f"{problem}; try: {example(event)}")
