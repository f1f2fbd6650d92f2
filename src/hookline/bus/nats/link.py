"""A connection for callers and for a worker, in the event loop in which it was opened.

One wildcard subscription receives all responses, and a request has exactly one owner until it is
answered. The caller sends it to the workers that are free. A worker without a free place hands it
back untouched, and the caller sends it again; if no worker is free, it goes to the workers' queues.
The caller sends it again only after it heard that no worker has it, so it runs once at most. If
there is no worker at all, the server says so at once.
"""

import asyncio
import os
import time
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, NamedTuple

from hookline.bus.messages import HookExecutionResponse, unanswered_response
from hookline.bus.nats.client import Receive
from hookline.bus.nats.connection import ConnectionState, NatsConnection
from hookline.bus.nats.intake import Counters, Intake, ServingOptions
from hookline.bus.nats.options import BusConnectionError, ConnectionOptions
from hookline.bus.nats.protocol import (
    BUSY,
    LONGEST_SECONDS,
    OVERLOADED,
    Incoming,
    RequestFailed,
    Subjects,
    encode_headers,
    encode_request,
    read_response,
)
from hookline.errors import HooklineError, message_of

# How long after a failed attempt the next request fails at once instead of trying again.
_FIRST_REST = 0.5
_LONGEST_REST = 5.0
# How long a request waits for a lost connection, from the moment of the loss.
GRACE_SECONDS = 2.0
_NO_RESPONDERS = "503"
_RETURN_SECONDS = 0.05
# How many workers must answer "overloaded" before the caller gets that answer.
_OVERLOADED_WORKERS = 3


class _OpenRequest(NamedTuple):
    """A request that waits for its response; None as a response means that no worker got it."""

    request: Mapping[str, Any]
    answered: "asyncio.Future[HookExecutionResponse | None]"

    def settle(self, response: HookExecutionResponse | None) -> None:
        if not self.answered.done():
            self.answered.set_result(response)

    def fail(self, code: str, message: str) -> None:
        self.settle(unanswered_response(self.request, code, message))


class Link:
    """Lives in one event loop; call every method there."""

    def __init__(
        self,
        options: ConnectionOptions,
        subjects: Subjects,
        *,
        changed: Callable[[ConnectionState], None],
    ) -> None:
        self.loop = asyncio.get_running_loop()
        self._options = options
        self._subjects = subjects
        self._changed = changed
        self._opening = asyncio.Lock()
        self._rest, self._retry_at, self._trouble = _FIRST_REST, 0.0, ""
        self._connection: NatsConnection | None = None
        self._inbox = subjects.new_inbox()
        self._asked: dict[str, _OpenRequest] = {}
        self._heard: list[tuple[str, Receive]] = [(f"{self._inbox}.*", self._receive_response)]
        self._closed = False
        self.intake: Intake | None = None

    @property
    def state(self) -> ConnectionState:
        """The state of the connection."""
        return self._connection.state if self._connection else ConnectionState.CLOSED

    @property
    def reconnects(self) -> int:
        """How often the connection was lost and came back."""
        return self._connection.reconnects if self._connection else 0

    async def open(self) -> None:
        """Connect, and subscribe to responses; raises BusConnectionError."""

        def become(state: ConnectionState) -> None:
            if state is ConnectionState.CONNECTED and self.intake is not None:
                self.intake.reconnected()
            self._changed(state)

        connection = NatsConnection(self._options, become)
        await connection.open()
        try:
            for subject, receive in self._heard:
                await connection.subscribe(subject, receive)
            if self._closed:
                raise BusConnectionError("the bus was closed")
        except BaseException:
            await connection.close()
            raise
        self._connection = connection
        if self.intake is not None:
            self.intake.use(connection)

    async def ask(self, message: Mapping[str, Any], *, timeout: float) -> HookExecutionResponse:
        """Return the response to a request; if none comes, return a failed one."""
        try:
            if self.state is ConnectionState.CLOSED:
                deadline = self.loop.time() + timeout
                await self._ensure_connection(timeout)
                timeout = deadline - self.loop.time()
            return await self._send_request(self._get_open_connection(), message, timeout)
        except HooklineError as error:
            code = getattr(error, "code", "internal_error")
            return unanswered_response(message, code, message_of(error))

    async def ask_all(self, subject: str, *, wait: float, silence: float) -> list[bytes]:
        """Return the answers of all subscribers of a subject: those that come until ``silence``
        seconds pass without one, or ``wait`` seconds in all. Raises BusConnectionError."""
        connection = await self._ensure_connection(wait)
        incoming: asyncio.Queue[Incoming] = asyncio.Queue()
        inbox, answers = self._subjects.new_inbox(), list[bytes]()
        subscription = await connection.subscribe(inbox, incoming.put_nowait)
        try:
            await connection.publish(subject, b"", reply=inbox)
            async with asyncio.timeout(wait):
                while True:
                    async with asyncio.timeout(silence if answers else wait):
                        answer = await incoming.get()
                    if _has_no_responders(answer):
                        return []
                    answers.append(answer.data)
        except TimeoutError:
            return answers
        finally:
            await connection.unsubscribe(subscription)

    async def publish(self, subject: str, body: bytes) -> None:
        """Send one message; raises BusConnectionError."""
        await self._get_open_connection().publish(subject, body)

    async def hear(self, subject: str, receive: Receive) -> None:
        """Subscribe to a subject until the link is closed; raises BusConnectionError."""
        connection = self._get_open_connection()
        self._heard.append((subject, receive))
        await connection.subscribe(subject, receive)

    def hears(self, subject: str) -> bool:
        """Return True if the link subscribes to a subject, on this connection and the next."""
        return any(subject == other for other, _ in self._heard)

    def serve(
        self,
        options: ServingOptions,
        counters: Counters,
        *,
        execute: Callable[[dict[str, Any]], Coroutine[Any, Any, None]],
        is_wanted: Callable[[], bool],
    ) -> None:
        """Begin to take requests, as soon as there is a handler for them."""
        connection = self._get_open_connection()
        self.intake = Intake(
            connection, self._subjects, options, counters, execute=execute, is_wanted=is_wanted
        )

    async def drain(self) -> None:
        """Take no more requests, and return when all accepted ones are answered."""
        if self.intake is not None:
            await self.intake.drain()
        await self.flush()

    async def flush(self) -> None:
        """Return when the server has everything that was sent."""
        if self._connection is not None:
            await self._connection.flush()

    async def close(self) -> None:
        """Cancel the requests that run here, fail the callers that wait, and disconnect."""
        self._closed = True
        if self.intake is not None:
            await self.intake.stop()
        for question in self._asked.values():
            question.fail("disconnected", "the bus was closed")
        if self._connection is not None:
            await self._connection.close()

    def _get_open_connection(self) -> NatsConnection:
        if self._connection is None or self.state is ConnectionState.CLOSED:
            raise BusConnectionError(f"there is no connection to {self._options.shown}")
        return self._connection

    async def _ensure_connection(self, seconds: float) -> NatsConnection:
        """Return the connection; open one within that time if there is none."""
        if self._connection is not None and self.state is not ConnectionState.CLOSED:
            return self._connection
        try:
            async with asyncio.timeout(seconds), self._opening:
                if self.state is ConnectionState.CLOSED:
                    if self.loop.time() < self._retry_at:
                        raise BusConnectionError(self._trouble)
                    try:
                        await self.open()
                    except BusConnectionError as error:
                        self._trouble = message_of(error)
                        self._retry_at = self.loop.time() + self._rest
                        self._rest = min(self._rest * 2, _LONGEST_REST)
                        raise
                    self._rest = _FIRST_REST
                return self._get_open_connection()
        except TimeoutError:
            raise BusConnectionError(
                f"cannot connect to {self._options.shown} within {seconds:g} s; "
                "start the NATS server there, or correct the address"
            ) from None

    async def _send_request(
        self, connection: NatsConnection, message: Mapping[str, Any], timeout: float
    ) -> HookExecutionResponse:
        # In this order, NaN becomes the longest time too.
        timeout = min(LONGEST_SECONDS, timeout)
        deadline = self.loop.time() + timeout
        until = int((time.time() + timeout) * 1000)
        body = encode_request(message)
        grace = min(GRACE_SECONDS, timeout)
        if not connection.is_connected and not await connection.wait_connected(
            grace, since_lost=True
        ):
            raise RequestFailed("disconnected", "the connection to the bus is lost")
        free, queue = self._subjects.subjects_for(message.get("eventName"))
        subject, attempt, overloaded = free, 0, 0
        while True:
            headers = encode_headers(until, attempt)
            size, most = len(headers) + len(body), connection.max_payload
            if size > most:
                raise RequestFailed(
                    "request_too_large",
                    f"the request has {size} bytes, and the NATS server takes {most}; send less, "
                    "or raise its max_payload",
                )
            question = _OpenRequest(message, asyncio.Future())
            # Any caller can make a worker answer to any inbox, so this one must not be guessable.
            token = os.urandom(8).hex()
            self._asked[token] = question
            # Cheaper than asyncio.timeout, which would take a good part of a round trip.
            alarm = self.loop.call_at(
                deadline, question.fail, "timeout", f"no response within {timeout:g} s"
            )
            try:
                await connection.publish(
                    subject, body, reply=f"{self._inbox}.{token}", headers=headers, until=deadline
                )
                response = await question.answered
            finally:
                alarm.cancel()
                del self._asked[token]
            if response is None and subject is free:
                subject = queue
            elif response is None:
                if not connection.returned_within(GRACE_SECONDS):
                    problem = f"no worker serves {message.get('eventName')} on this bus"
                    raise RequestFailed("unavailable", problem)
                # The workers lost the server too, and may not be back yet.
                await asyncio.sleep(_RETURN_SECONDS)
                subject = free
            else:
                failed = response["success"] is not True
                code = response.get("error", {}).get("code") if failed else None
                overloaded += code == OVERLOADED
                if code not in (BUSY, OVERLOADED) or overloaded == _OVERLOADED_WORKERS:
                    return response
                attempt += 1
                subject = queue if code == OVERLOADED else free

    def _receive_response(self, answer: Incoming) -> None:
        question = self._asked.get(answer.subject.rpartition(".")[2])
        if question is None:
            return
        if _has_no_responders(answer):
            question.settle(None)
            return
        try:
            question.settle(read_response(answer.data, question.request))
        except RequestFailed as error:
            question.fail(error.code, str(error))


def _has_no_responders(answer: Incoming) -> bool:
    return answer.headers is not None and answer.headers["Status"] == _NO_RESPONDERS
