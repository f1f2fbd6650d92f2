"""``hookline fire``: one event through the configured hooks, as a gate that any script can use."""

import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from hookline._support.notices import Notice, heard_warnings
from hookline.cli.events import fire, load_project, open_bus, read_event, read_payload
from hookline.cli.failures import ASKS, BLOCKED, CHECK_HINT, FAILED, CommandError, tell_problems
from hookline.cli.options import (
    SOURCES,
    STRICTNESS,
    TRUST,
    Option,
    Options,
    event_options,
    explain_unknown_event,
)
from hookline.cli.screen import Row, Screen, Span, count, duration, shorten_place
from hookline.engine.engine import Engine
from hookline.engine.project import Project
from hookline.errors import InvalidPayloadError, TranslationError, UnknownEventError
from hookline.pipeline.answer import (
    TONES,
    Answer,
    describe_hook,
    make_empty_answer,
    process_common_hook_output_fields,
)
from hookline.wire import codec
from hookline.wire.events import HookEventName
from hookline.wire.fired import FiredEvent
from hookline.wire.results import HookExecutionResult, build_failure_envelope

if TYPE_CHECKING:
    from hookline.cli.progress import Waiting
    from hookline.cli.stderr import Excerpt
    from hookline.runner.loop import Loop
    from hookline.runner.runner import RunningHook
    from hookline.translate import HookTranslator

EXAMPLES = (
    """hookline fire SessionStart --input '{"source": "startup"}'""",
    """hookline fire BeforeTool --tool write_file --tool-input '{"content": "hi"}'""",
    """echo '{"prompt": "Fix the tests"}' | hookline fire BeforeAgent --input - --json""",
    """hookline fire PreToolUse --claude --tool Bash --tool-input '{"command": "ls"}'""",
    """hookline fire BeforeAgent --input '{"prompt": "Hi"}' --bus nats://localhost:4222""",
)
OPTIONS = (
    Option(
        "event",
        "EVENT",
        f"{', '.join(HookEventName)}; or one of Claude Code's, such as PreToolUse. "
        "Exit status: 0 go on, 2 blocked or stopped, 3 a hook asks, 1 the event was not fired",
    ),
    *event_options("the event's fields; - reads them from stdin"),
    Option(
        "--on-ask",
        "",
        "exit with 2 (block) or 0 (allow) instead of 3 when a hook asks for confirmation, for "
        "callers that cannot ask",
        choices=("block", "allow"),
    ),
    *STRICTNESS,
    Option("--bus", "URL|@FILE", "have a worker on this message bus run the hooks"),
    Option(
        "--on-unavailable",
        "",
        "what to do when no worker answers: go on (default), block, or run the hooks here",
        choices=("allow", "block", "local"),
        default="allow",
    ),
    *TRUST,
    *SOURCES,
)

# Word -> exit status; all others are 0. ``--on-ask`` replaces that of "ask".
_STATUS: dict[str, int] = {"blocked": BLOCKED, "stop": BLOCKED, "ask": ASKS, "failed": FAILED}
_ON_ASK = {"block": BLOCKED, "allow": 0}
# What a shell exits with for a command that it cannot start: not executable, not found.
_NOT_STARTED = (126, 127)
# Characters of a reason that need no second look.
_LONG_REASON = 400
# Where all of what an async hook wrote is: its event's document is printed before it ends.
_IN_TRACE = "HOOKLINE_TRACE=1 keeps them"


def run(options: Options, screen: Screen) -> int:
    """Fire the event; 0 go on, 2 blocked or stopped, 3 a hook asks, 1 it could not be fired."""
    try:
        payload = read_payload(options.event, options)
    except (UnknownEventError, InvalidPayloadError) as error:
        raise _refuse(options, screen, error) from None
    if options.bus is None:
        project = load_project(
            options, trusted=options.trust, strict=options.strict, required=options.require or ()
        )
        return _fire(options, screen, project, payload)
    bus = open_bus(options.bus, name="hookline fire")
    try:
        project = load_project(
            options,
            trusted=options.trust,
            strict=options.strict,
            required=options.require or (),
            remote_bus=bus,
            on_unavailable=options.on_unavailable,
        )
        return _fire(options, screen, project, payload)
    finally:
        bus.close_blocking()


def _refuse(
    options: Options, screen: Screen, error: UnknownEventError | InvalidPayloadError
) -> CommandError:
    """Return the error that ends the command; ``--json`` prints it as a failed event first."""
    if options.json:
        envelope = build_failure_envelope(error, "validation")
        answer = process_common_hook_output_fields(envelope)
        screen.document(answer.document(options.event))
    if isinstance(error, UnknownEventError):
        return CommandError(explain_unknown_event(error))
    return CommandError(str(error))


def _fire(options: Options, screen: Screen, project: Project, payload: dict[str, Any]) -> int:
    settings = project.get_settings()
    try:
        fired = read_event(options.event, payload, settings.tools)
    except InvalidPayloadError as error:
        raise _refuse(options, screen, error) from None
    if settings.problems:
        # What is wrong in the settings is told before a hook can hang.
        tell_problems(screen, settings.problems)
    engine = Engine(project)
    notices: list[str] = []
    running: list[RunningHook] = []
    ended: list[HookExecutionResult] = []

    def show_running(loop: "Loop") -> "Waiting":
        # It is loaded only when a hook takes long.
        from hookline.cli.progress import Waiting

        return Waiting(sys.stderr, loop, running)

    if project.is_off():
        screen.warning("hooks are disabled in the user's or the system's settings, so none ran")
        return _tell(options, screen, project, fired, make_empty_answer(fired), notices)
    with heard_warnings():
        engine.load()
    is_watched = screen.is_terminal and not options.json
    if is_watched:
        engine.runner.follow(running)
    engine.follow_background(ended)
    status = 0

    def show(answer: Answer) -> None:
        nonlocal status
        warnings, notices[:] = [*notices], []
        status = _tell(options, screen, project, fired, answer, warnings)
        started = [result.hook.name for result in answer.results if result.started]
        if started and is_watched:
            screen.line((f"waiting for {', '.join(started)}", "faint"))
        screen.flush()

    with heard_warnings() as notices:
        fire(engine, fired, progress=show_running if is_watched else None, show=show)
    # Beside the document of --json there is room on stderr alone.
    say = screen.note if options.json else screen.line
    for result in ended:
        name, source, took, word, why = hook_row(result, is_late=True)
        say(name, "  ", source, "  async, ", took, "  ", word, f"  {why}" if why else "")
        for title, (lines, left_out, _) in _find_stderr([result]):
            more = [f"{count(left_out, 'more line')}; {_IN_TRACE}"] if left_out else []
            say(title, *(f"\n{line}" for line in (*lines, *more)))
    for warning in notices:
        screen.warning(_cut_warning(warning, project, ended))
    return status


def _tell(
    options: Options,
    screen: Screen,
    project: Project,
    fired: FiredEvent,
    answer: Answer,
    notices: Sequence[str],
) -> int:
    """Show the result of the event, the decision last; return the exit status."""
    translator = project.get_translator() if fired.spec.model else None
    if options.json:
        screen.document(answer.document(fired.event.value, translator))
    else:
        _show(screen, fired, answer, [*_find_changes(answer, fired, translator)])
    for warning in notices:
        kind = warning.kind if isinstance(warning, Notice) else ""
        # A failed event's own sentence is its last line.
        if kind != "event-failed" or (answer.word != "failed" and str(answer.why) not in warning):
            screen.warning(_cut_warning(warning, project, answer.results, answer))
    untrusted = [
        entry
        for entry in project.get_settings().entries
        if entry.enabled and not entry.trusted and entry.hook.type != "withheld"
    ]
    if untrusted and not project.in_force.strict and project.options.remote_bus is None:
        hooks = count(len(untrusted), "project hook is", "project hooks are")
        them = "it" if len(untrusted) == 1 else "them"
        screen.warning(f"{hooks} not trusted and did not run; review {them} with `hookline trust`")
    word, status = answer.word, _STATUS.get(answer.word, 0)
    if word == "ask" and options.on_ask is not None:
        status = _ON_ASK[options.on_ask]
    verdict = (
        (str(word), str(TONES[word])),
        f": {_find_why(answer)}" if answer.why is not None else "",
    )
    if status:
        # A reason not to go on is for stderr, where a caller looks for it.
        screen.note(*verdict)
    elif not options.json:
        screen.line(*verdict)
    return status


def _show(
    screen: Screen, fired: FiredEvent, answer: Answer, changes: list[tuple[str, str]]
) -> None:
    """The hooks, what they wrote to stderr, and what they add to the event or change in it."""
    order = "  one after the other" if answer.plan and answer.plan.sequential else ""
    target = (f"  {fired.target}" if fired.target else "", "matcher")
    screen.line((fired.event.value, "title"), target, (order, "faint"))
    if answer.results:
        rows = [(*row, _cut_reason(why)) for *row, why in map(hook_row, answer.results)]
        screen.table(rows, ("cut", "keep", "right", "keep"))
    for title, (lines, left_out, _) in _find_stderr(answer.results):
        screen.line(title, indent=2)
        for line in lines:
            screen.quote(line)
        if left_out:
            more = count(left_out, "more line")
            screen.line((f"{more}; --json has them all", "faint"), indent=4)
    if answer.system_message is not None:
        changes.append(("message", answer.system_message))
    if answer.suppress_output:
        changes.append(("output", "not to be shown"))
    if changes:
        table: list[Row] = [((f"{what}:", "change"), text) for what, text in changes]
        screen.table(table, ("keep",))


def _cut_reason(why: Span) -> Span:
    """A few lines of a reason: the decision below has all of it, or ``--json``."""
    if not isinstance(why, str) or ("\n" not in why and len(why) < _LONG_REASON):
        return why
    from hookline.cli.stderr import shorten_reason

    return shorten_reason(why)


def _find_stderr(
    results: Sequence[HookExecutionResult],
) -> Iterator[tuple[Span, "Excerpt"]]:
    """Yield a title and the relevant part of each hook's stderr, unless that is shown already as
    the hook's reason or failure."""
    wrote = [
        (result, text)
        for result in results
        if (text := result.stderr.strip())
        and text != decide(result)[1].strip()
        and not (result.error or "").endswith(f": {text}")
    ]
    for result, text in wrote:
        # It is loaded when there is something to show.
        from hookline.cli.stderr import take_first, take_what_matters

        is_ok = result.failed is None
        excerpt = take_first(text, among=len(wrote)) if is_ok else take_what_matters(text)
        yield (f"stderr of {result.hook.name}:", "faint"), excerpt


def _cut_warning(
    warning: str,
    project: Project,
    results: Sequence[HookExecutionResult],
    answer: Answer | None = None,
) -> str:
    """A warning as it is; if it is that a hook failed, in what matters, with where the hook is set
    up, what that means for the event, and what to do. ``answer`` is None after the event."""
    if not isinstance(warning, Notice) or not warning.kind.endswith("hook-failed"):
        return warning
    from hookline.cli.stderr import cut_failure

    is_here = warning.kind == "hook-failed"
    failed = next((r for r in results if r.failed and r.hook.name == warning.hook), None)
    # An async hook may have failed while the others ran.
    is_late = answer is None or (is_here and failed is None)
    then = []
    if answer is not None and answer.event is not None and not is_late:
        event = answer.event.value
        if not answer.blocked:
            then.append(f"{event} goes on without it")
        # A worker does not tell its hooks' settings; the reason of a block tells who failed closed.
        elif any(e.hook == warning.hook and e.message in str(answer.why) for e in answer.errors):
            then.append(f"it fails closed, so {event} is blocked")
        else:
            then.append(f"{event} is decided without it")
    if failed is not None and failed.failed == "timeout":
        then.append('a longer "timeout" in its settings gives it more time')
    if failed is not None and failed.exit_code in _NOT_STARTED:
        then.append(CHECK_HINT)
    if not is_here:
        then.append("fix it where the worker runs")
    entries = project.get_settings().entries if is_here else ()
    places = [shorten_place(each.file, each.line) for each in entries if each.name == warning.hook]
    failure = cut_failure(warning, rest=_IN_TRACE if is_late else "--json has them all")
    last = ": ".join(filter(None, (*places[:1], "; ".join(then))))
    return f"{failure}\n{last}" if last else failure


def _find_why(answer: Answer) -> str:
    """Why the event came to what it did; where a hook failed closed, what matters of its words."""
    why = str(answer.why)
    for error in answer.errors:
        if "\n" in error.message and error.message in why:
            from hookline.cli.stderr import cut_failure

            why = why.replace(error.message, cut_failure(error.message))
    return why


def hook_row(result: HookExecutionResult, *, is_late: bool = False) -> tuple[Span, ...]:
    """One hook's name, source, time, decision and reason, each in its role; ``is_late`` is for the
    end of an async hook."""
    word, why = decide(result, is_late=is_late)
    return (
        (result.hook.name, "name"),
        (result.hook.source.value, "faint"),
        ("async" if result.started else duration(result.duration), "faint"),
        (word, str(TONES[word])),
        why,
    )


def decide(result: HookExecutionResult, *, is_late: bool = False) -> tuple[str, str]:
    """What a hook did, in a word, and its reason; stderr has a failure in full."""
    if result.started:
        return "started", ""
    word, why, _ = describe_hook(
        result.event_name,
        result.output,
        failed=result.failed,
        exit_code=result.exit_code,
        signal=result.signal,
        is_late=is_late,
    )
    return word, why


def _find_changes(
    answer: Answer, fired: FiredEvent, translator: "HookTranslator | None"
) -> Iterator[tuple[str, str]]:
    try:
        view = answer.view(translator)
    except TranslationError:
        # No hook saw a request that cannot be read; the answer's errors say so.
        return
    if view.get("tool_input"):
        yield "tool input", _encode(view["tool_input"])
    if view.get("removed_tool_input"):
        yield "taken out of the input", ", ".join(view["removed_tool_input"])
    if view.get("tool_output") is not None:
        yield "result", view["tool_output"]
    if view.get("exports"):
        yield "variables", ", ".join(view["exports"])
    if view.get("keep_history"):
        yield "history", "kept as it is"
    if view.get("additional_context"):
        yield "context added", view["additional_context"]
    if translator is not None:
        before = fired.field("llm_request")
        for what, name in (("answer", "synthetic_response"), ("response", "modified_response")):
            if view.get(name) is not None:
                text = translator.to_hook_llm_response(view[name]).get("text", "(no text)")
                yield what, str(text)
        if (request := view.get("modified_request")) is not None:
            changed = _find_changed_fields(before, request)
            if changed:
                yield "request", f"{', '.join(changed)} changed"
        config = (view.get("tool_selection") or {}).get("toolConfig")
        if config is not None and config != translator.tool_selection(before)[0]:
            tool_config = translator.to_hook_tool_config(config)
            allowed = tool_config.get("allowedFunctionNames")
            only = f", only {', '.join(allowed)}" if allowed else ""
            yield "tools", f"mode {tool_config.get('mode', 'AUTO')}{only}"
    if view.get("tail_tool_call"):
        call = view["tail_tool_call"]
        yield "tool call to follow", f"{call['name']} {_encode(call['args'])}"
    if view.get("clear_context"):
        yield "context", "cleared"


def _find_changed_fields(before: Any, after: Any, path: str = "") -> list[str]:
    """The names of the fields that differ, those of ``config`` one by one."""
    changed_fields: list[str] = []
    for name in [name for name in {**before, **after} if before.get(name) != after.get(name)]:
        old, new = before.get(name) or {}, after.get(name) or {}
        nested = name == "config" and isinstance(old, dict) and isinstance(new, dict)
        changed_fields += _find_changed_fields(old, new, f"{name}.") if nested else [path + name]
    return changed_fields


def _encode(value: object) -> str:
    return codec.encode(value).decode("utf-8")
