"""What an agent should do after an event, and the exit status that says so to a script."""

from typing import Literal, TypeAlias

import msgspec

from hookline.wire.events import EVENTS, HookEventName
from hookline.wire.outputs import NO_REASON, BeforeModelHookOutput, DefaultHookOutput
from hookline.wire.results import ProcessedHookResult

Word: TypeAlias = Literal["allowed", "blocked", "stop", "ask", "no hook matched", "failed"]

# Word -> exit status, and the role it is shown in.
_STATUS: dict[str, int] = {"blocked": 2, "stop": 2, "failed": 1}
ROLES: dict[str, str] = {
    "allowed": "good",
    "blocked": "bad",
    "stop": "bad",
    "ask": "care",
    "no hook matched": "faint",
    "failed": "bad",
}


class Verdict(msgspec.Struct, frozen=True):
    """One word for what to do, and why."""

    word: Word
    reason: str | None = None

    @property
    def status(self) -> int:
        """0 go on, 2 blocked or stopped, 1 the event could not be fired."""
        return _STATUS.get(self.word, 0)

    def __str__(self) -> str:
        return self.word if self.reason is None else f"{self.word}: {self.reason}"


def verdict_of(processed: ProcessedHookResult, event: HookEventName) -> Verdict:
    """The verdict on a fired event; one that cannot be blocked goes on whatever hooks say."""
    output = processed.final_output
    if processed.plan is None:
        if processed.success:
            return Verdict("no hook matched")
        return Verdict("failed", processed.errors[0].message)
    if output is None:
        return Verdict("allowed")
    if EVENTS[event].blockable:
        if processed.should_stop:
            return Verdict("stop", processed.stop_reason)
        if output.is_blocking_decision():
            return Verdict("blocked", _reason(output))
    if output.is_ask_decision():
        return Verdict("ask", output.get_effective_reason())
    return Verdict("allowed")


def _reason(output: DefaultHookOutput) -> str:
    reason = output.get_effective_reason()
    if reason == NO_REASON and isinstance(output, BeforeModelHookOutput):
        answered = output.get_synthetic_response() is not None
        return "a hook answers in the model's place" if answered else reason
    return reason
