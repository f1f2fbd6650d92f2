"""An event of the trace as one that could be fired again, and what its hooks said to it.

Model requests are in the trace as hooks read them, so they are turned back into the SDK's form.
"""

import os
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from hookline.answer import Answer
from hookline.config import Config
from hookline.fired import read_fired_event
from hookline.hooktests.cases import HookTestError
from hookline.trace.events import Assembler, HookRun, TracedEvent
from hookline.trace.log import TraceLog
from hookline.translate import HookTranslator
from hookline.wire.events import EVENTS, HookEventName, narrow_event
from hookline.wire.outputs import ModelCall

_BASE_FIELDS = ("session_id", "transcript_path", "cwd", "hook_event_name", "timestamp")
_CLIPPED = re.compile(r"… ?\(\+\d+ (?:characters|items)\)\Z")


class FiredBefore(NamedTuple):
    """An event that hooks have answered; ``document`` is as that of ``fire --json``."""

    event: HookEventName
    payload: dict[str, Any]
    document: dict[str, Any]
    cwd: str


def read_traced_event(id: str, *, trace_file: str | os.PathLike[str]) -> FiredBefore:
    """The event of that id, or of the one id that begins so; raises HookTestError."""
    found = [event for event in _events(trace_file) if event.id.startswith(id)]
    exact = [event for event in found if event.id == id]
    if len(found) > 1 and not exact:
        raise HookTestError(f"{len(found)} events of the trace begin with {id}; write more of it")
    if not found:
        raise HookTestError(
            f"the trace has no event {id!r}; hookline trace lists those there are, "
            "and HOOKLINE_TRACE=1 keeps them"
        )
    return _fired(exact[0] if exact else found[0])


def _events(trace_file: str | os.PathLike[str]) -> Iterator[TracedEvent]:
    log, assembler = TraceLog(trace_file), Assembler()
    try:
        for record in log.poll():
            event = assembler.add(record)
            if event is not None:
                yield event
    finally:
        log.close()


def _fired(traced: TracedEvent) -> FiredBefore:
    if not isinstance(traced.input, dict):
        raise HookTestError(f"no hook ran on {traced.id}, so its input is not in the trace")
    if _is_clipped(traced.input) or _is_clipped(traced.output):
        raise HookTestError(f"{traced.id} has values too long for the trace, so parts are missing")
    event = narrow_event(traced.event)
    translator = Config().get_translator()
    payload = _payload(event, traced.input, translator)
    cwd = traced.input.get("cwd")
    document = _document(event, traced, payload, translator)
    return FiredBefore(event, payload, document, cwd if isinstance(cwd, str) else "")


def _payload(
    event: HookEventName, read: Mapping[str, Any], translator: HookTranslator
) -> dict[str, Any]:
    own = {name: value for name, value in read.items() if name not in _BASE_FIELDS}
    if not EVENTS[event].model:
        return own
    own["model_request"] = translator.from_hook_llm_request(own.pop("llm_request"))
    if "llm_response" in own:
        own["model_response"] = translator.from_hook_llm_response(own.pop("llm_response"))
    return own


def _document(
    event: HookEventName,
    traced: TracedEvent,
    payload: Mapping[str, Any],
    translator: HookTranslator,
) -> dict[str, Any]:
    fired = read_fired_event(event, payload)
    call = ModelCall(translator, payload.get("model_request"))
    said = traced.output if isinstance(traced.output, dict) else None
    return {
        **Answer.read(fired, said, call).document(event.value, translator),
        "plan": {"sequential": traced.sequential, "hooks": [run.hook for run in traced.hooks]},
        "results": [_result(run) for run in traced.hooks],
        "success": all(run.success for run in traced.hooks),
    }


def _result(run: HookRun) -> dict[str, Any]:
    ends = {"exit_code": run.exit_code, "signal": run.signal, "failed": run.failed}
    return {"hook": run.hook, **{name: end for name, end in ends.items() if end is not None}}


def _is_clipped(value: Any) -> bool:
    if isinstance(value, str):
        return _CLIPPED.search(value) is not None
    if isinstance(value, Mapping):
        return "…" in value or any(map(_is_clipped, value.values()))
    return isinstance(value, list) and any(map(_is_clipped, value))
