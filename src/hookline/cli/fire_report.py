"""What a fired event came to, for people and as a document."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from hookline.answer import TONES, Answer, make_empty_answer, process_common_hook_output_fields
from hookline.cli.screen import Screen
from hookline.fired import FiredEvent
from hookline.notices import Notice
from hookline.wire.results import build_failure_envelope

if TYPE_CHECKING:
    from hookline.translate import HookTranslator

# Word -> exit status; all others are 0.
_STATUS: dict[str, int] = {"blocked": 2, "stop": 2, "failed": 1}


class FireReport:
    """One event, what hooks said to it, and what that means; None where no hook may run."""

    def __init__(
        self,
        fired: FiredEvent,
        answer: Answer | None,
        translator: "HookTranslator",
    ) -> None:
        self._fired = fired
        self._answer = answer or make_empty_answer(fired)
        self._translator = translator

    @property
    def status(self) -> int:
        """What the command exits with."""
        return _STATUS.get(self._answer.word, 0)

    def show(self, screen: Screen, *, as_json: bool) -> None:
        """The hooks and what they changed, or all of it as one document."""
        if as_json:
            screen.document(self._answer.document(self._fired.event.value, self._translator))
            return
        from hookline.cli.report import show_changes, show_hooks

        name, plan = self._fired.target, self._answer.plan
        order = "  one after the other" if plan and plan.sequential else ""
        screen.line(
            (self._fired.event.value, "title"),
            (f"  {name}" if name else "", "matcher"),
            (order, "faint"),
        )
        show_hooks(screen, self._answer)
        view = self._answer.document(self._fired.event.value, self._translator)["view"]
        show_changes(screen, self._answer, view, self._fired, self._translator)

    def tell(self, screen: Screen, warnings: Iterable[str]) -> None:
        """What the engine warned of; a failed event's own sentence is its verdict."""
        for warning in warnings:
            is_verdict = isinstance(warning, Notice) and warning.kind == "event-failed"
            if self._answer.word != "failed" or not is_verdict:
                screen.warning(warning)

    def conclude(self, screen: Screen, *, quiet: bool) -> None:
        """The last line; a reason not to go on is for stderr, where a caller looks for it."""
        answer = self._answer
        word = (str(answer.word), str(TONES[answer.word]))
        spans = (word, f": {answer.why}") if answer.why is not None else (word,)
        if self.status:
            screen.note(*spans)
        elif not quiet:
            screen.line(*spans)


def refusal_document(event_name: str, error: Exception) -> dict[str, Any]:
    """The document for an event that could not even be fired."""
    envelope = build_failure_envelope(error, "validation")
    return process_common_hook_output_fields(envelope).document(event_name)
