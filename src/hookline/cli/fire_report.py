"""What a fired event came to, for people and as a document."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from hookline.cli.document import fire_document, view_of
from hookline.cli.screen import Screen
from hookline.cli.verdict import ROLES, verdict_of
from hookline.notices import Notice
from hookline.pipeline.processing import process_common_hook_output_fields
from hookline.wire.events import EVENTS, HookEventName
from hookline.wire.results import (
    ProcessedHookResult,
    build_failure_envelope,
    make_empty_success_result,
)
from hookline.wire.validators import own_field

if TYPE_CHECKING:
    from hookline.translate import HookTranslator


class FireReport:
    """One event, what hooks said to it, and what that means; None where no hook may run."""

    def __init__(
        self,
        event: HookEventName,
        payload: Mapping[str, Any],
        processed: ProcessedHookResult | None,
        translator: "HookTranslator",
    ) -> None:
        self._event = event
        self._payload = payload
        self._processed = processed or ProcessedHookResult(make_empty_success_result())
        self._translator = translator
        self._view = view_of(event, self._processed, payload, translator)
        self._verdict = verdict_of(self._processed, event)

    @property
    def status(self) -> int:
        """What the command exits with."""
        return self._verdict.status

    def show(self, screen: Screen, *, as_json: bool) -> None:
        """The hooks and what they changed, or all of it as one document."""
        if as_json:
            screen.document(fire_document(self._event.value, self._processed, self._view))
            return
        from hookline.cli.report import show_changes, show_hooks

        target, plan = EVENTS[self._event].target, self._processed.plan
        name = own_field(self._payload, target) if target else None
        order = "  one after the other" if plan and plan.sequential else ""
        screen.line(
            (self._event.value, "title"),
            (f"  {name}" if name else "", "matcher"),
            (order, "faint"),
        )
        show_hooks(screen, self._processed)
        show_changes(screen, self._processed, self._view, self._payload, self._translator)

    def tell(self, screen: Screen, warnings: Iterable[str]) -> None:
        """What the engine warned of; a failed event's own sentence is its verdict."""
        for warning in warnings:
            is_verdict = isinstance(warning, Notice) and warning.kind == "event-failed"
            if self._verdict.word != "failed" or not is_verdict:
                screen.warning(warning)

    def conclude(self, screen: Screen, *, quiet: bool) -> None:
        """The last line; a reason not to go on is for stderr, where a caller looks for it."""
        verdict = self._verdict
        word = (verdict.word, ROLES[verdict.word])
        spans = (word, f": {verdict.reason}") if verdict.reason is not None else (word,)
        if verdict.status:
            screen.note(*spans)
        elif not quiet:
            screen.line(*spans)


def refusal_document(event_name: str, error: Exception) -> dict[str, Any]:
    """The document for an event that could not even be fired."""
    from hookline.translate.genai import GenAITranslator

    envelope = process_common_hook_output_fields(build_failure_envelope(error, "validation"))
    view = view_of(None, envelope, {}, GenAITranslator())
    return fire_document(event_name, envelope, view)
