"""The worker's side: takes as many requests as it can carry out, and steps aside when full.

NATS gives a request to any member of a queue group, busy or not. So a worker whose places are all
taken pauses its subscription to ``request``: the server sends it no more, while what was sent
before is still heard. The server confirms the pause, and only then is each request that came too
many handed back to its caller (code ``busy``), who sends it again, to a worker that is free. Where
none is free, the server says so to the caller, who turns to ``wait``: every worker hears that, and
queues what it has no place for, up to ``backlog``. As another may be free sooner, it hands back
what has waited for a moment too; the moment is twice as long each time.

Nothing is lost: at any time a request belongs to its caller, to the server, or to a worker that
will answer it; a worker that ends first finishes what it holds. Nothing is executed twice: it is
sent again only by its caller, and only after the word that nobody has it. A worker remembers the
ids of the requests it took, the last so many of them: one that is repeated is refused, and a copy
of a message, which has its answer on the way already, is dropped. What it hands back it forgets.
"""

import asyncio
import time
from collections import Counter, deque
from collections.abc import Callable, Coroutine
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from hookline.bus.messages import correlation_of, failure_response
from hookline.bus.nats.connection import Connection
from hookline.bus.nats.protocol import (
    BUSY,
    OVERLOADED,
    Held,
    Incoming,
    RequestFailed,
    Subjects,
    check_name,
    read_request,
)
from hookline.bus.responses import shorten_denial
from hookline.errors import HooklineError, message_of
from hookline.notices import warn
from hookline.wire import codec
from hookline.wire.results import HookError

if TYPE_CHECKING:
    from nats.aio.subscription import Subscription

_KINDS = ("request", "wait")
# Seconds that a request waits here before it may try its luck elsewhere: the first time, at most.
_FIRST_STAY = 0.1
_LONGEST_STAY = 3.0
_SWEEP_SECONDS = 0.1
_RETURN_SECONDS = 0.5
_RECENT_ANSWERS = 2_048


class ServingOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How a bus serves: ``events`` are all that there are unless some are named, ``concurrency``
    has no limit unless one is given, ``backlog`` is how many wait for a place at most."""

    queue: str = "hookline"
    events: tuple[str, ...] | None = None
    concurrency: int | None = None
    backlog: int = 1_000
    max_request_bytes: int = 1024 * 1024
    remembered_ids: int = 100_000

    def __post_init__(self) -> None:
        # Without a queue every worker would hear, and carry out, every request.
        check_name(self.queue, "the name of a queue")


class Counters:
    """What a worker counts since its start; ``refused`` and ``failed`` by their code."""

    def __init__(self) -> None:
        self._started = time.monotonic()
        self._durations: deque[float] = deque(maxlen=_RECENT_ANSWERS)
        self.received = 0
        self.answered = 0
        self.handed_back = 0
        self.hook_failures = 0
        self.refused: Counter[str] = Counter()
        self.failed: Counter[str] = Counter()

    def answer(self, response: Any, seconds: float) -> None:
        """One request was answered, so many seconds after it came."""
        self.answered += 1
        self._durations.append(seconds)
        if response.get("success") is not True:
            self.failed[str((response.get("error") or {}).get("code"))] += 1
        elif (response.get("output") or {}).get("errors"):
            self.hook_failures += 1

    def snapshot(self) -> dict[str, Any]:
        """Everything as JSON; times in milliseconds, of the last two thousand answers."""
        times = sorted(self._durations)
        shares = {"p50": 0.5, "p95": 0.95, "p99": 0.99, "max": 1.0} if times else {}
        return {
            "uptime_s": round(time.monotonic() - self._started, 3),
            "received": self.received,
            "answered": self.answered,
            "handed_back": self.handed_back,
            "hook_failures": self.hook_failures,
            "refused": dict(self.refused),
            "failed": dict(self.failed),
            "latency_ms": {
                name: round(times[min(len(times) - 1, int(len(times) * share))] * 1000, 3)
                for name, share in shares.items()
            },
        }


class Intake:
    """Takes requests off one connection; ``execute`` carries one out, ``is_wanted`` says whether
    anybody is there to do it."""

    def __init__(
        self,
        connection: Connection,
        subjects: Subjects,
        options: ServingOptions,
        counters: Counters,
        *,
        execute: Callable[[dict[str, Any]], Coroutine[Any, Any, None]],
        is_wanted: Callable[[], bool],
    ) -> None:
        self._connection = connection
        self._subjects = subjects
        self._options = options
        self._counters = counters
        self._execute = execute
        self._is_wanted = is_wanted
        # By id. Of where to answer a number is kept: it may be long, and is compared only.
        self._taken: dict[str, int] = {}
        self._subscriptions: dict[str, list[Subscription]] = {kind: [] for kind in _KINDS}
        self._heard_by_server = (False, False)
        self._settling: asyncio.Task[None] | None = None
        self._tasks: dict[asyncio.Task[None], Held] = {}
        self._sweeping: asyncio.TimerHandle | None = None
        self._sending: set[asyncio.Task[None]] = set()
        self._unanswered: dict[str, Held] = {}
        self._backlog: deque[Held] = deque()
        self._surplus: deque[Held] = deque()
        self._draining = self._stopped = False
        self._idle = asyncio.Event()

    @property
    def running(self) -> int:
        """How many requests are being carried out."""
        return len(self._tasks)

    @property
    def waiting(self) -> int:
        """How many wait for a place."""
        return len(self._backlog) + len(self._surplus)

    async def update(self) -> None:
        """Have the server know what is wanted now; returns when it does."""
        self._settle()
        if self._settling is not None:
            await asyncio.shield(self._settling)

    def use(self, connection: Connection) -> None:
        """Go on over another connection, the one before having ended for good."""
        self._connection = connection
        self._subscriptions = {kind: [] for kind in _KINDS}
        self.reconnected()

    def reconnected(self) -> None:
        """The new server was told of every subscription, the paused ones too."""
        request, wait = self._subscriptions.values()
        self._heard_by_server = (bool(request), bool(wait))
        self._settle()

    async def drain(self) -> None:
        """Take nothing new, finish and answer what is held."""
        self._draining = True
        await self.update()
        while self._tasks or self.waiting:
            self._idle.clear()
            await self._idle.wait()

    async def stop(self) -> None:
        """End what is being carried out, its hooks too; each is answered as having failed."""
        self._draining = self._stopped = True
        if self._sweeping is not None:
            self._sweeping.cancel()
        if self._settling is not None:
            self._settling.cancel()
            await asyncio.wait({self._settling})
        if any(self._heard_by_server) and self._connection.is_connected:
            # What the server has sent until now would get lost on its way.
            await self._tell_server((False, False))
        while waiting := self._backlog or self._surplus:
            await self._hand_back(waiting.popleft())
        for task in self._tasks:
            task.cancel()
        while tasks := {*self._tasks, *self._sending}:
            await asyncio.wait(tasks)

    def claim(self, correlation_id: str) -> Held | None:
        """The request that a response belongs to, which with this has its one answer."""
        return self._unanswered.pop(correlation_id, None)

    async def answer(self, held: Held, response: Any) -> None:
        """Send the answer to the caller; of one that is too long its denial is sent, or else word
        of that."""
        try:
            body = codec.encode(response)
            if len(body) > self._connection.max_payload:
                problem = f"the response is too long to be sent: it has {len(body)} bytes"
                raise HooklineError(problem)
        except HooklineError as error:
            problem = message_of(error)
            warn(f"the answer to {held.correlation_id!r} cannot be sent as it is: {problem}")
            denial = shorten_denial(response, held.message.get("eventName"), problem)
            failure = _failure(held.correlation_id, "response_failed", problem)
            response = failure if denial is None else denial
            body = codec.encode(response)
        now = asyncio.get_running_loop().time()
        self._counters.answer(response, now - held.arrived)
        if not self._stopped:
            await self._wait_for_callers(held.expires - now)
        if held.reply:
            await self._connection.publish(held.reply, body)

    async def _wait_for_callers(self, seconds: float) -> bool:
        """Where the server was lost, wait so long at most for it, and a moment for the callers:
        they have lost it too, and must be back first to hear anything."""
        is_back = self._connection.is_connected or await self._connection.wait_connected(seconds)
        if is_back and self._connection.returned_within(_RETURN_SECONDS):
            await asyncio.sleep(_RETURN_SECONDS)
        return is_back

    def _receive(self, incoming: Incoming, *, may_wait: bool) -> None:
        self._counters.received += 1
        loop, options = asyncio.get_running_loop(), self._options
        try:
            held = read_request(incoming, max_bytes=options.max_request_bytes, now=loop.time())
            correlation_id, reply = held.correlation_id, hash(held.reply)
            if self._taken.get(correlation_id) == reply:
                self._counters.refused["copy"] += 1
                warn(f"the request {correlation_id!r} was delivered twice; it is answered once")
                return
            if correlation_id in self._taken:
                problem = "a request of this id was taken before"
                raise RequestFailed("duplicate_request", problem, held.message)
        except RequestFailed as error:
            self._soon(self._refuse(error, incoming.reply))
            return
        self._taken[correlation_id] = reply
        if len(self._taken) > options.remembered_ids:
            # Dictionaries keep their order: this is the oldest.
            del self._taken[next(iter(self._taken))]
        if self._start(held):
            return

        def send_on() -> None:
            # A worker that is about to end finishes what it holds: there may be no other.
            if held in self._backlog and not self._draining:
                self._backlog.remove(held)
                self._surplus.append(held)
                self._settle()

        if self._stopped or (may_wait and not self._is_wanted()):
            self._soon(self._hand_back(held))
        elif not may_wait:
            self._surplus.append(held)
            self._settle()
        elif len(self._backlog) < options.backlog:
            self._backlog.append(held)
            stay = min(_FIRST_STAY * 2 ** min(held.attempt, 10), _LONGEST_STAY)
            loop.call_later(stay, send_on)
            self._settle()
        else:
            self._soon(self._hand_back(held, OVERLOADED, "this worker's queue is full"))

    async def _refuse(self, error: RequestFailed, reply: str) -> None:
        self._counters.refused[error.code] += 1
        warn(f"a request was refused: {error}")
        correlation_id = correlation_of(error.request)
        await self._send(reply, _failure(correlation_id, error.code, str(error)))

    async def _hand_back(
        self, held: Held, code: str = BUSY, problem: str = "this worker has no place free"
    ) -> None:
        self._counters.handed_back += 1
        self._taken.pop(held.correlation_id, None)
        await self._send(held.reply, _failure(held.correlation_id, code, problem))

    def _soon(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._sending.add(task)
        task.add_done_callback(self._sending.discard)

    def _has_place(self) -> bool:
        limit = self._options.concurrency
        return (limit is None or len(self._tasks) < limit) and self._is_wanted()

    def _start(self, held: Held) -> bool:
        """Carry out a request, if there is a place for it; whether there was."""
        if not self._has_place() or self._stopped:
            return False
        loop = asyncio.get_running_loop()

        async def give_up() -> None:
            self.claim(held.correlation_id)
            problem = "no place was free before its deadline"
            late = RequestFailed("deadline_exceeded", problem, held.message)
            await self._refuse(late, held.reply)

        self._unanswered[held.correlation_id] = held
        work = give_up() if held.expires <= loop.time() else self._execute(held.message)
        task = loop.create_task(work, name="hookline request")
        self._tasks[task] = held
        task.add_done_callback(self._finish)
        if self._sweeping is None:
            self._sweeping = loop.call_later(_SWEEP_SECONDS, self._sweep)
        if not self._has_place():
            self._settle()
        return True

    def _sweep(self) -> None:
        """End what nobody waits for any longer; one look at all costs less than an alarm each."""
        loop = asyncio.get_running_loop()
        for task, held in self._tasks.items():
            # Once: what it takes to end its hooks must not be cut short.
            if held.expires <= loop.time() and not task.cancelling():
                task.cancel()
        again = bool(self._tasks) and not self._stopped
        self._sweeping = loop.call_later(_SWEEP_SECONDS, self._sweep) if again else None

    def _finish(self, task: "asyncio.Task[None]") -> None:
        held, loop = self._tasks.pop(task), asyncio.get_running_loop()
        if not task.cancelled() and (error := task.exception()) is not None:
            warn(f"a request failed: {message_of(error)}")
        if held.correlation_id in self._unanswered:
            if task.cancelled() or self._stopped:
                # Its handler was ended before it began, or serves no longer.
                del self._unanswered[held.correlation_id]
                problem = "the worker ended before it had run its hooks"
                failure = _failure(held.correlation_id, "execution_failed", problem)
                self._counters.answer(failure, loop.time() - held.arrived)
                self._soon(self._send(held.reply, failure))
            else:
                # A handler may answer later, from elsewhere, but not for ever.
                loop.call_at(held.expires, self._unanswered.pop, held.correlation_id, None)
        while (waiting := self._backlog or self._surplus) and self._start(waiting[0]):
            waiting.popleft()
        if not all(self._heard_by_server):
            # Where the server sends already, one place more changes nothing.
            self._settle()
        self._idle.set()

    def _wanted(self) -> tuple[bool, bool]:
        """Which of the kinds the server should send."""
        serving = self._is_wanted() and not self._draining
        return serving and not self._backlog and self._has_place(), serving

    def _settle(self) -> None:
        """Have the server know what is wanted, unless it does or is being told."""
        if self._settling is not None or self._stopped:
            return

        async def settle() -> None:
            """Until the server knows what is wanted, which may change in the meantime."""
            try:
                while True:
                    if (wanted := self._wanted()) != self._heard_by_server:
                        await self._tell_server(wanted)
                    elif not self._surplus or not await self._wait_for_callers(_LONGEST_STAY):
                        break
                    elif self._surplus and not self._start(held := self._surplus.popleft()):
                        await self._hand_back(held)
            except HooklineError as error:
                warn(f"requests cannot be taken: {message_of(error)}")
            finally:
                self._settling = None
                self._idle.set()

        if self._surplus or self._wanted() != self._heard_by_server:
            self._settling = asyncio.get_running_loop().create_task(settle())

    async def _tell_server(self, wanted: tuple[bool, bool]) -> None:
        for kind, want, known in zip(_KINDS, wanted, self._heard_by_server, strict=True):
            subscriptions = self._subscriptions[kind]
            if want is known:
                continue
            if want and not subscriptions:
                receive = partial(self._receive, may_wait=kind == "wait")
                for subject in self._subjects.served(kind, self._options.events):
                    subscriptions.append(
                        await self._connection.subscribe(
                            subject, receive, queue=self._options.queue
                        )
                    )
                continue
            change = self._connection.resume if want else self._connection.pause
            for subscription in subscriptions:
                await change(subscription)
        self._heard_by_server = wanted
        if not all(wanted):
            await self._connection.flush()

    async def _send(self, reply: str, response: Any) -> None:
        if not reply:
            return
        try:
            await self._connection.publish(reply, codec.encode(response))
        except HooklineError as error:
            warn(f"a request could not be answered: {message_of(error)}")


def _failure(correlation_id: str, code: str, problem: str) -> Any:
    return failure_response(correlation_id, HookError(code=code, message=problem, stage="envelope"))
