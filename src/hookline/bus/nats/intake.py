"""The side of who serves: takes as many requests as it can carry out, and steps aside when full.

NATS gives a request to any member of a queue group, busy or not. So a worker whose places are all
taken pauses its subscription to ``request``: the server sends it no more, while what was sent
before is still heard. The server confirms the pause, and only then is each request that came too
many handed back to who asked (code ``busy``), who sends it again, to a worker that is free. Where
none is free, the server says so to who asked, who turns to ``wait``: every worker hears that, and
queues what it has no place for, up to ``backlog``. As another may be free sooner, it hands back
what has waited for a moment too; the moment is twice as long each time.

Nothing is lost: at any time a request belongs to who asked, to the server, or to a worker that
will answer it; a worker that ends first finishes what it holds. Nothing is executed twice: it is
sent again only by who asked, and only after the word that nobody has it; and an id that was taken
is not taken again.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

import msgspec

from hookline.bus.messages import correlation_of, failure_response
from hookline.bus.nats.admission import Admission, Copied, Held, Refused
from hookline.bus.nats.asking import BUSY, OVERLOADED
from hookline.bus.nats.client import Incoming
from hookline.bus.nats.connection import Connection
from hookline.bus.nats.counters import Counters
from hookline.bus.nats.subjects import Subjects, check_name
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
        self._admission = Admission(
            max_bytes=options.max_request_bytes, remembered=options.remembered_ids
        )
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
        self._heard_by_server = (False, False)
        self._settle()

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
            await self._tell_all((False, False))
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
        """Send the answer to who asked; one that is too long is replaced by word of that."""
        try:
            body = codec.encode(response)
            if len(body) > self._connection.max_payload:
                raise HooklineError(f"the response has {len(body)} bytes, more than NATS carries")
        except HooklineError as error:
            response = _failure(held.correlation_id, "response_failed", message_of(error))
            body = codec.encode(response)
        now = asyncio.get_running_loop().time()
        self._counters.answer(response, now - held.arrived)
        if not self._stopped:
            await self._who_asked_hears(held.expires - now)
        if held.reply:
            await self._connection.publish(held.reply, body)

    async def _who_asked_hears(self, seconds: float) -> bool:
        """Where the server was lost, wait so long at most for it, and a moment for who asked: they
        have lost it too, and must be back first to hear anything."""
        if not self._connection.is_connected and not await self._connection.connected_after(
            seconds
        ):
            return False
        if self._connection.returned_within(_RETURN_SECONDS):
            await asyncio.sleep(_RETURN_SECONDS)
        return True

    def _hear_free(self, message: Incoming) -> None:
        held = self._admitted(message)
        if held is None or self._started(held):
            return
        if self._stopped:
            self._soon(self._hand_back(held))
        else:
            self._surplus.append(held)
            self._settle()

    def _hear_waiting(self, message: Incoming) -> None:
        held = self._admitted(message)
        if held is None or self._started(held):
            return
        if not self._is_wanted() or self._stopped:
            self._soon(self._hand_back(held))
        elif len(self._backlog) < self._options.backlog:
            self._queue(held)
        else:
            self._soon(self._hand_back(held, OVERLOADED, "more requests wait here than are let"))

    def _admitted(self, message: Incoming) -> Held | None:
        self._counters.received += 1
        now = asyncio.get_running_loop().time()
        try:
            return self._admission.take(message, now=now)
        except Copied as error:
            self._counters.refused["copy"] += 1
            warn(f"{error}; it is answered once")
        except Refused as error:
            self._soon(self._refuse(error, message.reply))
        return None

    async def _refuse(self, error: Refused, reply: str) -> None:
        self._counters.refused[error.code] += 1
        warn(f"a request was refused: {error}")
        correlation_id = correlation_of(error.message)
        await self._send(reply, _failure(correlation_id, error.code, str(error)))

    async def _hand_back(
        self, held: Held, code: str = BUSY, said: str = "this worker has no place free"
    ) -> None:
        self._counters.handed_back += 1
        self._admission.forget(held)
        await self._send(held.reply, _failure(held.correlation_id, code, said))

    def _soon(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._sending.add(task)
        task.add_done_callback(self._sending.discard)

    def _queue(self, held: Held) -> None:
        self._backlog.append(held)
        stay = min(_FIRST_STAY * 2 ** min(held.attempt, 10), _LONGEST_STAY)
        asyncio.get_running_loop().call_later(stay, self._send_on, held)
        self._settle()

    def _send_on(self, held: Held) -> None:
        # A worker that is about to end finishes what it holds: there may be no other.
        if held in self._backlog and not self._draining:
            self._backlog.remove(held)
            self._surplus.append(held)
            self._settle()

    def _has_place(self) -> bool:
        limit = self._options.concurrency
        return (limit is None or len(self._tasks) < limit) and self._is_wanted()

    def _started(self, held: Held) -> bool:
        """Whether there was a place for a request; then it is being carried out."""
        if not self._has_place() or self._stopped:
            return False
        self._unanswered[held.correlation_id] = held
        loop = asyncio.get_running_loop()
        late = held.expires <= loop.time()
        work = self._give_up(held) if late else self._execute(held.message)
        task = loop.create_task(work, name="hookline request")
        self._tasks[task] = held
        task.add_done_callback(self._end)
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

    def _end(self, task: "asyncio.Task[None]") -> None:
        held = self._tasks.pop(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            warn(f"a request failed: {message_of(error)}")
        if held.correlation_id in self._unanswered:
            self._end_unanswered(held, given_up=task.cancelled() or self._stopped)
        while (waiting := self._backlog or self._surplus) and self._started(waiting[0]):
            waiting.popleft()
        if not all(self._heard_by_server):
            # Where the server sends already, one place more changes nothing.
            self._settle()
        self._idle.set()

    def _end_unanswered(self, held: Held, *, given_up: bool) -> None:
        loop = asyncio.get_running_loop()
        if not given_up:
            # A handler may answer later, from elsewhere, but not for ever.
            loop.call_at(held.expires, self._unanswered.pop, held.correlation_id, None)
            return
        # Its handler was ended before it began, or serves no longer.
        del self._unanswered[held.correlation_id]
        said = "the worker ended before it had run its hooks"
        failure = _failure(held.correlation_id, "execution_failed", said)
        self._counters.answer(failure, loop.time() - held.arrived)
        self._soon(self._send(held.reply, failure))

    async def _give_up(self, held: Held) -> None:
        """It waited here until its deadline had passed."""
        self.claim(held.correlation_id)
        late = Refused("deadline_exceeded", "no place was free before its deadline", held.message)
        await self._refuse(late, held.reply)

    def _wanted(self) -> tuple[bool, bool]:
        """Which of the kinds the server should send."""
        serving = self._is_wanted() and not self._draining
        return serving and not self._backlog and self._has_place(), serving

    def _settle(self) -> None:
        if self._settling is not None or self._stopped:
            return
        if self._surplus or self._wanted() != self._heard_by_server:
            self._settling = asyncio.get_running_loop().create_task(self._settled())

    async def _settled(self) -> None:
        """Until the server knows what is wanted, which may change in the meantime."""
        try:
            while True:
                if (wanted := self._wanted()) != self._heard_by_server:
                    await self._tell_all(wanted)
                elif not self._surplus or not await self._who_asked_hears(_LONGEST_STAY):
                    break
                elif self._surplus and not self._started(held := self._surplus.popleft()):
                    await self._hand_back(held)
        except HooklineError as error:
            warn(f"requests cannot be taken: {message_of(error)}")
        finally:
            self._settling = None
            self._idle.set()

    async def _tell_all(self, wanted: tuple[bool, bool]) -> None:
        for kind, want, known in zip(_KINDS, wanted, self._heard_by_server, strict=True):
            if want is not known:
                await self._tell(kind, want)
        self._heard_by_server = wanted
        if not all(wanted):
            await self._connection.flush()

    async def _tell(self, kind: str, want: bool) -> None:
        subscriptions = self._subscriptions[kind]
        if want and not subscriptions:
            receive = self._hear_free if kind == "request" else self._hear_waiting
            for subject in self._subjects.served(kind, self._options.events):
                subscriptions.append(
                    await self._connection.subscribe(subject, receive, queue=self._options.queue)
                )
            return
        change = self._connection.resume if want else self._connection.pause
        for subscription in subscriptions:
            await change(subscription)

    async def _send(self, reply: str, response: Any) -> None:
        if not reply:
            return
        try:
            await self._connection.publish(reply, codec.encode(response))
        except HooklineError as error:
            warn(f"a request could not be answered: {message_of(error)}")


def _failure(correlation_id: str, code: str, said: str) -> Any:
    return failure_response(correlation_id, HookError(code=code, message=said, stage="envelope"))
