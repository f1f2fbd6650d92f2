"""Events that a command fires: the input out of its options, the configuration and bus they name,
and a run of hooks that stop before the command ends, whatever ends it."""

import errno
import os
import signal
import sys
import threading
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, TypeVar

from hookline._support.files import read_bounded
from hookline.cli.failures import CommandError, Interrupted
from hookline.cli.options import Options, find_sources
from hookline.cli.screen import Screen, count
from hookline.dialects import find_named_event, read_named_event
from hookline.engine.engine import Engine
from hookline.engine.project import Project
from hookline.errors import HooklineError, InvalidPayloadError, UnknownEventError
from hookline.pipeline.answer import Answer
from hookline.runner.loop import Cancelled, PollLoop
from hookline.wire import codec
from hookline.wire.events import EVENTS, EventName
from hookline.wire.fired import FiredEvent

if TYPE_CHECKING:
    import asyncio
    from types import ModuleType

    from hookline.bus.nats import NatsMessageBus
    from hookline.cli.progress import Waiting
    from hookline.dialects.tools import ToolAlias
    from hookline.runner.loop import Loop

T = TypeVar("T")

ENDING_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_DEFAULT_HANDLERS = (signal.SIG_DFL, signal.default_int_handler)
# How many seconds hooks may take before people are shown that something happens.
_A_MOMENT = 0.3
# So often a signal is looked for while async hooks are waited for.
_LOOK_SECONDS = 0.1
# As much as a bus carries to a worker.
_MOST_INPUT = 32 * 1024 * 1024


def read_payload(name: str, options: Options) -> dict[str, Any]:
    """Read the input that the options give for the named event; raises InvalidPayloadError if it is
    not an object, or is another event's."""
    event = find_named_event(name)
    payload = {} if options.input is None else _read_json(name, "--input", options.input)
    if not isinstance(payload, dict):
        raise _make_error(name, "must be a JSON object")
    own_name = payload.get("hook_event_name")
    if own_name is not None and not _is_name_of(own_name, event, name):
        is_event = isinstance(own_name, str) and _find_event(own_name) is not None
        remedy = (
            f"fire {own_name}, or leave it out" if is_event else f"leave it out, or write {name}"
        )
        raise InvalidPayloadError(name, f"hook_event_name is {own_name!r}; {remedy}")
    fields: dict[str, Any] = {}
    if options.tool is not None:
        fields["tool_name"] = options.tool
    if options.tool_input is not None:
        fields["tool_input"] = _read_json(name, "--tool-input", options.tool_input)
    if fields and "tool_name" not in EVENTS[event].required:
        what = "--tool and --tool-input are for BeforeTool and AfterTool, or those of Claude Code's"
        raise CommandError(f"{what}; {_suggest(name)}")
    if options.session_id is not None:
        fields["session_id"] = options.session_id
    return {**payload, **fields}


def _is_name_of(own_name: object, event: EventName, name: str) -> bool:
    """True if an input may name its event so, though it is fired under another name."""
    if not isinstance(own_name, str) or _find_event(own_name) is not event:
        return False
    # Two of Claude Code's may be one of ours.
    return event.value in (own_name, name) or own_name == name


def _find_event(name: str) -> EventName | None:
    try:
        return find_named_event(name)
    except UnknownEventError:
        return None


def read_event(
    name: str, payload: dict[str, Any], tools: "Mapping[str, ToolAlias] | None" = None
) -> FiredEvent:
    """Make the event of an input, in the dialect of the event name in it, or else of ``name``;
    ``tools`` are the host's as Claude Code calls them. Raises InvalidPayloadError, with a command
    line that works, for an invalid input."""
    worded = payload.get("hook_event_name") or name
    try:
        return read_named_event(worded, payload, lambda: tools, sdk_objects=False)
    except InvalidPayloadError as error:
        raise _make_error(name, error.problem) from None
    except HooklineError as error:
        raise InvalidPayloadError(name, str(error)) from None


def load_project(options: Options, *, warm: bool = False, **further: Any) -> Project:
    """Load the project that the options name.

    A warm interpreter is of no use to a process that ends after one event.
    """
    return Project.load(options.cwd, warm=warm, **find_sources(options), **further)


def tell_copies(screen: Screen, project: Project, *, json: bool) -> None:
    """Say in the first line that what runs is a reviewed copy, where the project's files or
    settings differ from it."""
    copies = [each for each in project.get_settings().problems if each.kind == "guard-kept"]
    if not copies:
        return
    text = f"reviewed copies run, which differ from the project: {copies[0].message}"
    text += f", and {count(len(copies) - 1, 'other')}" if len(copies) > 1 else ""
    text += "; --trust runs the project's files"
    if json:
        screen.warning(text)
    else:
        screen.line((text, "care"))


def open_bus(text: str, **options: Any) -> "NatsMessageBus":
    """The bus that ``--bus`` names, not connected yet; ``@FILE`` keeps a password out of the list
    of processes."""
    nats = load_nats()
    if text.startswith("@"):
        with open(text[1:], encoding="utf-8") as file:
            text = file.read()
    try:
        bus: NatsMessageBus = nats.NatsMessageBus.from_url(text, **options)
        return bus
    except nats.BusConnectionError as error:
        raise CommandError(f"--bus: {error}") from None


def load_nats() -> "ModuleType":
    """Load the bus over NATS; raises CommandError if its extra is not installed."""
    try:
        from hookline.bus import nats
    except ImportError as error:
        raise CommandError(f"--bus: {error}") from None
    return nats


def fire(
    engine: Engine,
    fired: FiredEvent,
    *,
    progress: "Callable[[Loop], Waiting] | None" = None,
    show: Callable[[Answer], object] = lambda _answer: None,
) -> Answer:
    """Fire one event of an engine that is loaded to its end, and wait for async hooks; raises
    Interrupted, with no hook left running, on a signal.

    ``progress`` is called if hooks take more than a moment: what it shows is there until they have
    ended. ``show`` is called with the answer before async hooks are waited for.
    """
    try:
        if engine.executor.needs_asyncio(fired):
            answer = run_on_asyncio(engine.execute(fired))
        else:
            answer = run_to_end(engine.execute(fired), progress=progress)
        if not any(result.started for result in answer.results):
            show(answer)
            return answer
        # An exception out of a handler could leave a lock taken that ending the hooks needs.
        caught: list[int] = []
        with _handle_signals(lambda number, _frame: caught.append(number)):
            show(answer)
            while not caught and not engine.wait_for_background(_LOOK_SECONDS):
                pass
        if caught:
            raise Interrupted(caught[0])
        return answer
    finally:
        engine.dispose()


def run_to_end(
    work: Coroutine[Any, Any, T], *, progress: "Callable[[Loop], Waiting] | None" = None
) -> T:
    """Run command hooks to their end; raises Interrupted after a signal, when they have ended."""
    loop = PollLoop()
    received: list[int] = []
    lines: list[Waiting] = []

    def show() -> None:
        if progress is not None and not received:
            lines.append(progress(loop))

    def hide() -> None:
        while lines:
            lines.pop().end()

    def end(number: int, _frame: object) -> None:
        received.append(number)
        for line in lines:
            line.halt()
        # The loop may just have come to its end by itself.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(hide)
        loop.cancel()

    if progress is not None:
        loop.call_at(loop.time() + _A_MOMENT, show)
    with _handle_signals(end):
        try:
            result = loop.run(work)
        except Cancelled:
            raise Interrupted(received[0]) from None
        finally:
            hide()
    if received:
        # The signal arrived after the hooks ended; honour it.
        raise Interrupted(received[0])
    return result


def run_on_asyncio(work: Coroutine[Any, Any, T]) -> T:
    """Like ``run_to_end``, for work that needs asyncio, as an agent does."""
    import asyncio

    received: list[int] = []

    async def watch() -> T:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None

        def end(number: int, _frame: object) -> None:
            received.append(number)
            loop.call_soon_threadsafe(task.cancel)

        with _handle_signals(end), _wake_on_signals(loop):
            return await work

    try:
        result = asyncio.run(watch())
    except asyncio.CancelledError:
        raise Interrupted(received[0] if received else signal.SIGINT) from None
    if received:
        raise Interrupted(received[0])
    return result


@contextmanager
def _wake_on_signals(loop: "asyncio.AbstractEventLoop") -> Iterator[None]:
    """Make a signal that arrives just before the loop waits end that wait."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    reading, writing = os.pipe()
    for end in (reading, writing):
        os.set_blocking(end, False)
    loop.add_reader(reading, os.read, reading, 4096)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    try:
        yield
    finally:
        signal.set_wakeup_fd(-1)
        loop.remove_reader(reading)
        os.close(reading)
        os.close(writing)


@contextmanager
def _handle_signals(end: Callable[[int, Any], None]) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    # A signal that the parent wants ignored stays so.
    numbers = [n for n in ENDING_SIGNALS if signal.getsignal(n) in _DEFAULT_HANDLERS]
    before = {number: signal.signal(number, end) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _read_json(name: str, option: str, value: str) -> Any:
    """What an argument stands for: itself, the content of ``@FILE`` or, as ``-``, of stdin."""
    text, what = value, ""
    if value == "-" or value.startswith("@"):
        what = "stdin" if value == "-" else value[1:]
        try:
            if value != "-":
                read = read_bounded(value[1:], _MOST_INPUT)
            elif sys.stdin is None:
                raise CommandError("--input -: stdin is closed; give the JSON itself, or @FILE")
            else:
                if sys.stdin.isatty():
                    print("reading the input from the terminal; Ctrl-D ends it", file=sys.stderr)
                read = sys.stdin.buffer.read(_MOST_INPUT + 1)
                if len(read) > _MOST_INPUT:
                    raise CommandError(f"{option}: stdin has more than {_MOST_INPUT:,} bytes")
            text = read.decode("utf-8-sig")
        except OSError as error:
            remedy = "; --input - reads a pipe" if error.errno == errno.EINVAL else ""
            problem = f"cannot read {what}: {error.strerror}{remedy}"
            raise CommandError(f"{option}: {problem}") from None
        except UnicodeDecodeError as error:
            raise CommandError(f"{option}: {what} is not UTF-8 at byte {error.start}") from None
    try:
        return codec.decode(text)
    except codec.DecodeError as error:
        # Comments and trailing commas are welcome as in settings; the rest gets its place.
        from hookline.settings.jsonc import MAX_BYTES, JsoncError, parse

        if len(text) > MAX_BYTES:
            # Places take memory, many times that of the text.
            raise _make_error(name, f"{option}: {what or 'it'} is not JSON: {error}") from None
    try:
        return parse(text).value
    except JsoncError as error:
        place = f"line {error.line}, column {error.column}"
        raise _make_error(name, f"{option} is not JSON at {place}: {error.problem}") from None


def _make_error(name: str, problem: str) -> InvalidPayloadError:
    return InvalidPayloadError(name, f"{problem}; {_suggest(name)}")


def _suggest(name: str) -> str:
    from hookline.cli.samples import example

    return f"try: {example(name)}"
