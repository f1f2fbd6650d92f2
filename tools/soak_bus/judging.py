"""What must be true of every request, whatever broke: one fate each, its hook run once at most, and
blocked if it must be."""

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
    """What came of a request: ``code`` of its failure, None when it was answered; ``said`` is who
    the answer is for; ``seconds`` is how long it took. Calm is when nothing broke meanwhile."""

    id: str
    code: str | None
    seconds: float
    said: str | None = None
    is_calm: bool = False


class Verdict(NamedTuple):
    """What came of an event that a hook must block: ``blocks`` if its agent takes an outage for a
    block, ``is_told`` if the hook gives a reason, which has the id in it."""

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
        """An agent that goes on without an answer may have got none while something was broken."""
        return self.blocks or self.is_calm


class Overheard:
    """Counts every answer that anybody is sent, by the request that it belongs to."""

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
    """Everything that was not as it must be."""
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
    """How many events a hook had to block, and how many of them were not."""
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
