"""One fired event for people: the hooks that ran, what each decided, and what they changed."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from hookline.answer import TONES, hook_word
from hookline.cli.layout import Column, Row, Span
from hookline.cli.screen import Screen
from hookline.cli.text import duration
from hookline.fired import FiredEvent
from hookline.wire import codec
from hookline.wire.results import HookExecutionResult, ProcessedHookResult

if TYPE_CHECKING:
    from hookline.translate import HookTranslator


def show_hooks(
    screen: Screen, processed: ProcessedHookResult, *, source: bool = True, indent: int = 2
) -> None:
    """A row for each hook: name, source, time, what it decided and why."""
    rows = [hook_row(result) for result in processed.results]
    columns: list[Column] = ["cut", "keep", "right", "keep"]
    if not source:
        del columns[1]
        rows = [(name, *rest) for name, _, *rest in rows]
    if rows:
        screen.table(rows, columns, indent=indent)


def show_changes(
    screen: Screen,
    processed: ProcessedHookResult,
    view: Mapping[str, Any],
    fired: FiredEvent,
    translator: "HookTranslator",
    *,
    indent: int = 2,
) -> None:
    """A line for each thing the hooks add to the event or change in it."""
    changes = [*_changes(view, fired, translator), *_messages(processed)]
    if changes:
        rows: list[Row] = [((f"{what}:", "change"), text) for what, text in changes]
        screen.table(rows, ("keep",), indent=indent)


def hook_row(result: HookExecutionResult) -> tuple[Span, ...]:
    """One hook's name, source, time, decision and reason, each in its role."""
    word, why = decision(result)
    return (
        (result.hook.name, "name"),
        (result.hook.source.value, "faint"),
        (duration(result.duration), "faint"),
        (word, str(TONES[word])),
        why,
    )


def decision(result: HookExecutionResult) -> tuple[str, str]:
    """A hook's own decision and its reason; what went wrong in full is told on stderr."""
    return hook_word(
        result.event_name,
        result.output,
        failed=result.failed,
        exit_code=result.exit_code,
        signal=result.signal,
    )


def _changes(
    view: Mapping[str, Any], fired: FiredEvent, translator: "HookTranslator"
) -> Iterator[tuple[str, str]]:
    if view.get("tool_input"):
        yield "tool input", _json(view["tool_input"])
    if view.get("additional_context"):
        yield "context added", view["additional_context"]
    if view.get("synthetic_response") is not None:
        yield "answer", _answer(view["synthetic_response"], translator)
    if (request := view.get("modified_request")) is not None:
        changed = _changed(fired.field("llm_request"), request)
        if changed:
            yield "request", f"{', '.join(changed)} changed"
    if view.get("modified_response") is not None:
        yield "response", _answer(view["modified_response"], translator)
    if "tool_selection" in view:
        yield from _tools(view["tool_selection"], fired.field("llm_request"), translator)
    if view.get("tail_tool_call"):
        call = view["tail_tool_call"]
        yield "tool call to follow", f"{call['name']} {_json(call['args'])}"
    if view.get("clear_context"):
        yield "context", "cleared"


def _messages(processed: ProcessedHookResult) -> Iterator[tuple[str, str]]:
    if processed.system_message is not None:
        yield "message", processed.system_message
    if processed.suppress_output:
        yield "output", "not to be shown"


def _changed(before: Any, after: Any, path: str = "") -> list[str]:
    """The names of the fields that differ, those of ``config`` one by one."""
    names = [name for name in {**before, **after} if before.get(name) != after.get(name)]
    found: list[str] = []
    for name in names:
        old, new = before.get(name) or {}, after.get(name) or {}
        nested = name == "config" and isinstance(old, dict) and isinstance(new, dict)
        found += _changed(old, new, f"{name}.") if nested else [path + name]
    return found


def _answer(response: Any, translator: "HookTranslator") -> str:
    return str(translator.to_hook_llm_response(response).get("text", "(no text)"))


def _tools(
    selection: Mapping[str, Any], request: Any, translator: "HookTranslator"
) -> Iterator[tuple[str, str]]:
    before, _ = translator.tool_selection(request)
    after = selection.get("toolConfig")
    if after == before or after is None:
        return
    shown = translator.to_hook_tool_config(after)
    allowed = shown.get("allowedFunctionNames")
    mode = shown.get("mode", "AUTO")
    yield "tools", f"mode {mode}" + (f", only {', '.join(allowed)}" if allowed else "")


def _json(value: object) -> str:
    return codec.encode(value).decode("utf-8")
