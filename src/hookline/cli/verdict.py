"""What an agent should do after an event, and the exit status that says so to a script."""

from typing import Literal, TypeAlias

import msgspec

from hookline.decisions import event_decision
from hookline.wire.events import HookEventName
from hookline.wire.results import HookError, ProcessedHookResult

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
    if processed.plan is None and processed.final_output is None:
        if not processed.success and not all(map(_goes_on, processed.errors)):
            return Verdict("failed", processed.errors[0].message)
        # A worker does not say which hooks it ran, only how long they took.
        if processed.success and not processed.total_duration:
            return Verdict("no hook matched")
    return Verdict(*event_decision(event, processed.final_output))


def _goes_on(error: HookError) -> bool:
    """Whether an event goes on after it: one hook's failure, or an outage that was to mean that."""
    outage = error.details.get("onUnavailable") if isinstance(error.details, dict) else None
    return error.hook is not None or outage == "allow"
