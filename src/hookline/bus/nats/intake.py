"""The worker's side: runs as many requests as it has places for, and steps aside when full.

NATS gives a request to any member of a queue group, busy or not. So a worker without a free place
pauses its subscription to ``request``: the server sends no more, and the worker still receives what
was sent before. When the server has confirmed the pause, the worker hands each surplus request back
to its caller (code ``busy``), which sends it again, to a worker that is free. If none is free, the
server tells the caller, which sends the request to ``wait``: all workers subscribe to that, and
queue the requests they have no place for, up to ``backlog``. As another worker may be free sooner,
a worker hands a queued request back after a moment, which doubles with each attempt.

No request is lost: at any time it belongs to its caller, to the server, or to a worker that will
answer it; a worker that ends first finishes what it holds. No request runs twice: only its caller
sends it again, and only after it heard that no worker has it. A worker remembers the ids of the
last requests it took: it refuses a repeated one, and drops a copy of a message that it is already
answering. It forgets the ids of those it hands back.
"""

import asyncio
import time
from collections import Counter, deque
from collections.abc import Callable, Coroutine
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from hookline._support.notices import warn
from hookline.bus.messages import correlation_of, failure_response
from hookline.bus.nats.connection import NatsConnection
from hookline.bus.nats.protocol import (
    BUSY,
    OVERLOADED,
    HeldRequest,
    Incoming,
    RequestFailed,
    Subjects,
    check_name,
    read_request,
)
from hookline.bus.responses import shorten_denial
from hookline.errors import HooklineError, message_of
from hookline.wire import codec
from hookline.wire.results import HookError

if TYPE_CHECKING:
    from nats.aio.subscription import Subscription

_KINDS = ("request", "wait")
# Seconds that a request waits here before it is handed back: the first time, and at most.
FIRST_STAY = 0.1
_LONGEST_STAY = 3.0
SWEEP_SECONDS = 0.1
RETURN_SECONDS = 0.5
_RECENT_ANSWERS = 2_048


class ServingOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How a bus serves: ``events`` None means all, ``concurrency`` None means no limit, ``backlog``
    is how many requests may wait for a place."""

    queue: str = "hookline"
    events: tuple[str, ...] | None = None
    concurrency: int | None = None
    backlog: int = 1_000
    max_request_bytes: int = 1024 * 1024
    remembered_ids: int = 100_000

    def __post_init__(self) -> None:
        # Without a queue name every worker would run every request.
        check_name(self.queue, "the name of a queue")


class Counters:
    """Counts of a worker since its start; ``refused`` and ``failed`` are by code."""

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
        """Count a response, sent so many seconds after its request came."""
        self.answered += 1
        self._durations.append(seconds)
        if response.get("success") is not True:
            self.failed[str((response.get("error") or {}).get("code"))] += 1
        elif (response.get("output") or {}).get("errors"):
            self.hook_failures += 1

    def snapshot(self) -> dict[str, Any]:
        """Return all counts as JSON; times in milliseconds, of the last two thousand responses."""
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
    """Takes requests from one connection; ``execute`` runs one, ``is_wanted`` says whether there is
    a handler to run it."""

    def __init__(
        self,
        connection: NatsConnection,
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
        # By id, the hash of the reply subject, which may be long and is only compared.
        self._taken: dict[str, int] = {}
        self._subscriptions: dict[str, list[Subscription]] = {kind: [] for kind in _KINDS}
        self._heard_by_server = (False, False)
        self._settling: asyncio.Task[None] | None = None
        self._tasks: dict[asyncio.Task[None], HeldRequest] = {}
        self._sweeping: asyncio.TimerHandle | None = None
        self._sending: set[asyncio.Task[None]] = set()
        self._unanswered: dict[str, HeldRequest] = {}
        self._backlog: deque[HeldRequest] = deque()
        self._surplus: deque[HeldRequest] = deque()
        self._draining = self._stopped = False
        self._idle = asyncio.Event()

    @property
    def running(self) -> int:
        """How many requests run now."""
        return len(self._tasks)

    @property
    def waiting(self) -> int:
        """How many requests wait for a place."""
        return len(self._backlog) + len(self._surplus)

    async def update(self) -> None:
        """Tell the server which requests to send now; returns when it knows."""
        self._update_server()
        if self._settling is not None:
            await asyncio.shield(self._settling)

    def use(self, connection: NatsConnection) -> None:
        """Go on over a new connection, after the previous one ended for good."""
        self._connection = connection
        self._subscriptions = {kind: [] for kind in _KINDS}
        self.reconnected()

    def reconnected(self) -> None:
        """Pause again what was paused: nats-py told the new server of every subscription."""
        request, wait = self._subscriptions.values()
        self._heard_by_server = (bool(request), bool(wait))
        self._update_server()

    async def drain(self) -> None:
        """Take no new request, and finish and answer all that are held."""
        self._draining = True
        await self.update()
        while self._tasks or self.waiting:
            self._idle.clear()
            await self._idle.wait()

    async def stop(self) -> None:
        """Cancel the requests that run, with their hooks; each is answered as failed."""
        self._draining = self._stopped = True
        if self._sweeping is not None:
            self._sweeping.cancel()
        if self._settling is not None:
            self._settling.cancel()
            await asyncio.wait({self._settling})
        if any(self._heard_by_server) and self._connection.is_connected:
            # Requests that the server has sent by now would be lost on their way.
            await self._tell_server((False, False))
        while waiting := self._backlog or self._surplus:
            await self._hand_back(waiting.popleft())
        for task in self._tasks:
            task.cancel()
        while tasks := {*self._tasks, *self._sending}:
            await asyncio.wait(tasks)

    def claim(self, correlation_id: str) -> HeldRequest | None:
        """Return the request that a response belongs to; it can be claimed once."""
        return self._unanswered.pop(correlation_id, None)

    async def answer(self, request: HeldRequest, response: Any) -> None:
        """Send the response to the caller; if it is too long, send its denial alone, or a failed
        response."""
        try:
            body = codec.encode(response)
            if len(body) > self._connection.max_payload:
                problem = f"the response is too long to send: it has {len(body)} bytes"
                raise HooklineError(problem)
        except HooklineError as error:
            problem = message_of(error)
            warn(f"the response to {request.correlation_id!r} cannot be sent whole: {problem}")
            denial = shorten_denial(response, request.message.get("eventName"), problem)
            failure = _make_failure(request.correlation_id, "response_failed", problem)
            response = failure if denial is None else denial
            body = codec.encode(response)
        now = asyncio.get_running_loop().time()
        self._counters.answer(response, now - request.arrived)
        if not self._stopped:
            await self._wait_for_callers(request.expires - now)
        if request.reply:
            await self._connection.publish(request.reply, body)

    async def _wait_for_callers(self, seconds: float) -> bool:
        """If the server was lost, wait at most so long for it, and a moment longer for the callers:
        they lost it too, and must be back to receive anything. Return True if it is there."""
        is_back = self._connection.is_connected or await self._connection.wait_connected(seconds)
        if is_back and self._connection.returned_within(RETURN_SECONDS):
            await asyncio.sleep(RETURN_SECONDS)
        return is_back

    def _receive_request(self, incoming: Incoming, *, may_wait: bool) -> None:
        self._counters.received += 1
        loop, options = asyncio.get_running_loop(), self._options
        try:
            request = read_request(incoming, max_bytes=options.max_request_bytes, now=loop.time())
            correlation_id, reply = request.correlation_id, hash(request.reply)
            if self._taken.get(correlation_id) == reply:
                self._counters.refused["copy"] += 1
                warn(f"the request {correlation_id!r} was delivered twice; the copy is dropped")
                return
            if correlation_id in self._taken:
                problem = "this worker already took a request with this id; send a new id"
                raise RequestFailed("duplicate_request", problem, request.message)
        except RequestFailed as error:
            self._start_task(self._refuse_request(error, incoming.reply))
            return
        self._taken[correlation_id] = reply
        if len(self._taken) > options.remembered_ids:
            # Dictionaries keep their order: the first is the oldest.
            del self._taken[next(iter(self._taken))]
        if self._start_request(request):
            return

        def hand_back_later() -> None:
            # A worker that drains finishes what it holds: there may be no other worker.
            if request in self._backlog and not self._draining:
                self._backlog.remove(request)
                self._surplus.append(request)
                self._update_server()

        if self._stopped or (may_wait and not self._is_wanted()):
            self._start_task(self._hand_back(request))
        elif not may_wait:
            self._surplus.append(request)
            self._update_server()
        elif len(self._backlog) < options.backlog:
            self._backlog.append(request)
            stay = min(FIRST_STAY * 2 ** min(request.attempt, 10), _LONGEST_STAY)
            loop.call_later(stay, hand_back_later)
            self._update_server()
        else:
            self._start_task(self._hand_back(request, OVERLOADED, "this worker's queue is full"))

    async def _refuse_request(self, error: RequestFailed, reply: str) -> None:
        self._counters.refused[error.code] += 1
        warn(f"a request was refused: {error}")
        correlation_id = correlation_of(error.request)
        await self._send_response(reply, _make_failure(correlation_id, error.code, str(error)))

    async def _hand_back(
        self, request: HeldRequest, code: str = BUSY, problem: str = "this worker has no free place"
    ) -> None:
        self._counters.handed_back += 1
        self._taken.pop(request.correlation_id, None)
        await self._send_response(
            request.reply, _make_failure(request.correlation_id, code, problem)
        )

    def _start_task(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._sending.add(task)
        task.add_done_callback(self._sending.discard)

    def _has_place(self) -> bool:
        limit = self._options.concurrency
        return (limit is None or len(self._tasks) < limit) and self._is_wanted()

    def _start_request(self, request: HeldRequest) -> bool:
        """Run a request if there is a free place; return True if there was."""
        if not self._has_place() or self._stopped:
            return False
        loop = asyncio.get_running_loop()

        async def give_up() -> None:
            self.claim(request.correlation_id)
            problem = "no place became free before its deadline"
            late = RequestFailed("deadline_exceeded", problem, request.message)
            await self._refuse_request(late, request.reply)

        self._unanswered[request.correlation_id] = request
        work = give_up() if request.expires <= loop.time() else self._execute(request.message)
        task = loop.create_task(work, name="hookline request")
        self._tasks[task] = request
        task.add_done_callback(self._finish_request)
        if self._sweeping is None:
            self._sweeping = loop.call_later(SWEEP_SECONDS, self._cancel_expired)
        if not self._has_place():
            self._update_server()
        return True

    def _cancel_expired(self) -> None:
        """Cancel requests past their deadline; one look at all is cheaper than a timer for each."""
        loop = asyncio.get_running_loop()
        for task, request in self._tasks.items():
            # Only once: a second cancel would cut short the ending of its hooks.
            if request.expires <= loop.time() and not task.cancelling():
                task.cancel()
        again = bool(self._tasks) and not self._stopped
        self._sweeping = loop.call_later(SWEEP_SECONDS, self._cancel_expired) if again else None

    def _finish_request(self, task: "asyncio.Task[None]") -> None:
        request, loop = self._tasks.pop(task), asyncio.get_running_loop()
        if not task.cancelled() and (error := task.exception()) is not None:
            warn(f"a request failed: {message_of(error)}")
        if request.correlation_id in self._unanswered:
            if task.cancelled() or self._stopped:
                # Its handler was cancelled before it began, or no longer serves.
                del self._unanswered[request.correlation_id]
                problem = "the worker ended before it ran the hooks"
                failure = _make_failure(request.correlation_id, "execution_failed", problem)
                self._counters.answer(failure, loop.time() - request.arrived)
                self._start_task(self._send_response(request.reply, failure))
            else:
                # A handler may answer later, from elsewhere, but not after the deadline.
                loop.call_at(request.expires, self._unanswered.pop, request.correlation_id, None)
        while (waiting := self._backlog or self._surplus) and self._start_request(waiting[0]):
            waiting.popleft()
        if not all(self._heard_by_server):
            # If the server sends both kinds already, a free place changes nothing.
            self._update_server()
        self._idle.set()

    def _choose_kinds(self) -> tuple[bool, bool]:
        """Return for each of _KINDS whether the server should send it."""
        serving = self._is_wanted() and not self._draining
        return serving and not self._backlog and self._has_place(), serving

    def _update_server(self) -> None:
        """Start telling the server what to send, unless it knows or is being told."""
        if self._settling is not None or self._stopped:
            return

        async def settle() -> None:
            """Repeat until the server knows: what to send may change in the meantime."""
            try:
                while True:
                    if (wanted := self._choose_kinds()) != self._heard_by_server:
                        await self._tell_server(wanted)
                    elif not self._surplus or not await self._wait_for_callers(_LONGEST_STAY):
                        break
                    elif self._surplus and not self._start_request(
                        request := self._surplus.popleft()
                    ):
                        await self._hand_back(request)
            except HooklineError as error:
                warn(f"this worker cannot take requests: {message_of(error)}")
            finally:
                self._settling = None
                self._idle.set()

        if self._surplus or self._choose_kinds() != self._heard_by_server:
            self._settling = asyncio.get_running_loop().create_task(settle())

    async def _tell_server(self, wanted: tuple[bool, bool]) -> None:
        for kind, want, is_heard in zip(_KINDS, wanted, self._heard_by_server, strict=True):
            subscriptions = self._subscriptions[kind]
            if want is is_heard:
                continue
            if want and not subscriptions:
                receive = partial(self._receive_request, may_wait=kind == "wait")
                for subject in self._subjects.subscriptions_for(kind, self._options.events):
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

    async def _send_response(self, reply: str, response: Any) -> None:
        if not reply:
            return
        try:
            await self._connection.publish(reply, codec.encode(response))
        except HooklineError as error:
            warn(f"a response could not be sent: {message_of(error)}")


def _make_failure(correlation_id: str, code: str, problem: str) -> Any:
    return failure_response(correlation_id, HookError(code=code, message=problem, stage="envelope"))
