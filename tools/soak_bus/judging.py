"""Judges every request, whatever broke: it has one outcome, its hook ran once at most, and it was
blocked if it had to be."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from hookline.bus.nats.client import Incoming
from hookline.wire import codec

# Seconds beyond its deadline that a busy machine of two cores may add to an answer.
SLACK = 2.0
# With these no hook has seen the request.
_UNTOUCHED = frozenset({"unavailable", "overloaded", "disconnected", "deadline_exceeded", "busy"})
_HANDED_BACK = frozenset({"busy", "overloaded"})


class Fate(NamedTuple):
    """The outcome of a request: ``code`` of its failure, None if it was answered; ``said`` is the
    id in the answer; ``seconds`` is its duration. It is calm if nothing broke meanwhile."""

    id: str
    code: str | None
    seconds: float
    said: str | None = None
    is_calm: bool = False


class Verdict(NamedTuple):
    """The outcome of an event that a hook must block: ``blocks`` if its agent blocks in an outage,
    ``is_told`` if the hook gives a reason, which contains the id."""

    id: str
    kind: str
    is_blocked: bool
    blocks: bool
    seconds: float
    reason: str | None = None
    is_told: bool = False
    is_calm: bool = False

    @property
    def must_block(self) -> bool:
        """True unless the agent goes on without an answer and something was broken."""
        return self.blocks or self.is_calm


class Overheard:
    """Counts every answer on the bus by its request."""

    def __init__(self) -> None:
        self.answers: Counter[str] = Counter()
        self.handed_back = 0
        self.inboxes: Counter[str] = Counter()

    def hear(self, message: Incoming) -> None:
        response: Any = codec.decode(message.data)
        self.inboxes[message.subject] += 1
        if response.get("error", {}).get("code") in _HANDED_BACK:
            self.handed_back += 1
        else:
            self.answers[response["correlationId"]] += 1


def violations(
    fates: Sequence[Fate],
    executed: Iterable[str],
    overheard: Overheard,
    *,
    timeout: float,
    verdicts: Sequence[Verdict] = (),
) -> Iterator[str]:
    """Everything that went wrong."""
    runs = Counter(executed)
    by_id = Counter([*(fate.id for fate in fates), *(verdict.id for verdict in verdicts)])
    yield from _repeated("executed {} times", runs)
    yield from _repeated("answered {} times", overheard.answers)
    yield from _repeated("sent {} answers", overheard.inboxes)
    yield from _repeated("has {} fates", by_id)
    yield from (f"{id}: executed, and never sent" for id in runs.keys() - by_id.keys())
    for fate in fates:
        yield from (f"{fate.id}: {problem}" for problem in _problems(fate, runs, timeout))
    for verdict in verdicts:
        if verdict.must_block and not verdict.is_blocked:
            yield f"{verdict.id}: a denial was lost: {verdict.kind}"
        elif verdict.is_calm and verdict.is_told and verdict.id not in (verdict.reason or ""):
            yield f"{verdict.id}: {verdict.kind}, and blocked for another reason: {verdict.reason}"
        if verdict.seconds > timeout + SLACK:
            yield f"{verdict.id}: took {verdict.seconds:.2f} s of {timeout:g} s"


def count_lost(verdicts: Iterable[Verdict]) -> tuple[int, int]:
    """The number of events that a hook had to block, and of those that were not blocked."""
    due = [verdict for verdict in verdicts if verdict.must_block]
    return len(due), sum(not verdict.is_blocked for verdict in due)


def _problems(fate: Fate, runs: Mapping[str, int], timeout: float) -> Iterator[str]:
    if fate.seconds > timeout + SLACK:
        yield f"took {fate.seconds:.2f} s of {timeout:g} s"
    if fate.code is None and fate.id not in runs:
        yield "answered, and no hook was run"
    if fate.code is None and fate.said != fate.id:
        yield f"has the answer of {fate.said}"
    if fate.code in _UNTOUCHED and fate.id in runs:
        yield f"failed with {fate.code}, and a hook was run"
    if fate.code in {"lost", "raised"}:
        yield f"{fate.code}: {fate.said}"
    elif fate.code is not None and fate.is_calm:
        yield f"failed with {fate.code} while nothing was broken: {fate.said}"


def _repeated(what: str, counts: Mapping[str, int]) -> Iterator[str]:
    yield from (f"{id}: {what.format(count)}" for id, count in counts.items() if count > 1)
