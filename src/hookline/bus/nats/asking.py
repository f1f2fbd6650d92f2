"""The side of who asks: one wildcard subscription for all answers, and a request that has exactly
one owner until it is answered.

A request goes to the workers that are free. A worker that got it and has no place for it says so,
and has not touched it; then it is sent again, and where nobody is free at all it goes to those who
queue. It is sent again only after the word that nobody has it: so it is executed once at most. When
no worker is there, the server says so at once.
"""

import asyncio
import itertools
import time
from collections.abc import Mapping
from typing import Any, cast

from hookline.bus.messages import HookExecutionResponse, correlation_of, failure_response
from hookline.bus.nats.connection import Connection, Incoming
from hookline.bus.nats.subjects import Subjects
from hookline.errors import HooklineError, message_of
from hookline.wire import codec
from hookline.wire.results import HookError

# Unix time in milliseconds: who answers later than that answers nobody.
DEADLINE = "Hookline-Deadline"
# How often a request was handed back before.
ATTEMPT = "Hookline-Attempt"
# A worker's words for a request that it did not touch: it has no place now, it has no room at all.
BUSY = "busy"
OVERLOADED = "overloaded"
_NO_RESPONDERS = "503"
# How long those who ask wait for a connection that was lost, from the moment it was.
GRACE_SECONDS = 2.0
_RETURN_SECONDS = 0.05
# How many workers must be found to have no room before that is the answer.
_OVERLOADED_WORKERS = 3


class Unanswered(HooklineError):
    """A request that came to nothing, with the code to say so."""

    def __init__(self, code: str, message: str) -> None:
        self.code = code
        super().__init__(message)


def failed(message: Mapping[str, Any], code: str, said: str) -> HookExecutionResponse:
    """The response to a request that was not carried out."""
    failure = HookError(code=code, message=said, stage="response")
    return failure_response(correlation_of(message), failure)


class Asker:
    """Sends requests over one connection and gives each its own answer."""

    def __init__(self, connection: Connection, subjects: Subjects) -> None:
        self._connection = connection
        self._subjects = subjects
        self._inbox = subjects.new_inbox()
        self._numbers = itertools.count(1)
        self._asked: dict[str, asyncio.Future[Incoming | None]] = {}

    async def open(self) -> None:
        """Hear the answers."""
        await self._connection.subscribe(f"{self._inbox}.*", self._receive)

    def close(self) -> None:
        """Nobody will answer any more."""
        for asked in self._asked.values():
            if not asked.done():
                asked.set_exception(Unanswered("disconnected", "the bus was closed"))

    async def ask(self, message: Mapping[str, Any], *, timeout: float) -> HookExecutionResponse:
        """The response to a request; whatever keeps it from coming is a failed one."""
        try:
            return await self._ask(message, timeout)
        except HooklineError as error:
            return failed(message, getattr(error, "code", "internal_error"), message_of(error))

    async def ask_all(self, subject: str, *, wait: float, silence: float) -> list[bytes]:
        """What everybody who hears a subject answers, until for a moment nobody does."""
        heard: asyncio.Queue[Incoming] = asyncio.Queue()
        inbox, answers = self._subjects.new_inbox(), list[bytes]()
        subscription = await self._connection.subscribe(inbox, heard.put_nowait)
        await self._connection.publish(subject, b"", reply=inbox)
        try:
            while True:
                async with asyncio.timeout(silence if answers else wait):
                    answer = await heard.get()
                if _status(answer) == _NO_RESPONDERS:
                    return []
                answers.append(answer.data)
        except TimeoutError:
            return answers
        finally:
            await self._connection.unsubscribe(subscription)

    async def _ask(self, message: Mapping[str, Any], timeout: float) -> HookExecutionResponse:
        deadline = asyncio.get_running_loop().time() + timeout
        headers = {DEADLINE: str(int((time.time() + timeout) * 1000))}
        body = self._body_of(message)
        if not self._connection.is_connected:
            await self._check_connected(timeout)
        event = message.get("eventName")
        free, queue = self._subjects.asked(event)
        subject, attempt, overloaded = free, 0, 0
        while True:
            answer = await self._exchange(subject, body, headers, deadline)
            if answer is None:
                raise Unanswered("timeout", f"no response within {timeout:g} s")
            if _status(answer) == _NO_RESPONDERS:
                if subject is not queue:
                    subject = queue
                elif self._connection.returned_within(GRACE_SECONDS):
                    # The workers lost the server too, and may not be back yet.
                    await asyncio.sleep(_RETURN_SECONDS)
                    subject = free
                else:
                    raise Unanswered("unavailable", f"no worker serves {event} on this bus")
                continue
            response = _read(answer, message.get("correlationId"))
            if response.get("success") is True:
                return response
            code = response.get("error", {}).get("code")
            overloaded += code == OVERLOADED
            if code not in (BUSY, OVERLOADED) or overloaded == _OVERLOADED_WORKERS:
                return response
            attempt += 1
            headers[ATTEMPT] = str(attempt)
            subject = queue if code == OVERLOADED else free

    def _body_of(self, message: Mapping[str, Any]) -> bytes:
        body, most = codec.encode(message), self._connection.max_payload
        if len(body) > most:
            raise Unanswered(
                "request_too_large",
                f"the request has {len(body)} bytes, more than the {most} the NATS server takes; "
                "its max_payload says how many",
            )
        return body

    async def _check_connected(self, timeout: float) -> None:
        if not await self._connection.connected_within(min(GRACE_SECONDS, timeout)):
            raise Unanswered("disconnected", "the connection to the bus is lost")

    async def _exchange(
        self, subject: str, body: bytes, headers: dict[str, str], deadline: float
    ) -> Incoming | None:
        """The first answer to a message, None when it does not come in time."""
        loop = asyncio.get_running_loop()
        number = str(next(self._numbers))
        answered: asyncio.Future[Incoming | None] = loop.create_future()
        self._asked[number] = answered
        # Cheaper than a timeout of asyncio's, which would take a good part of a round trip.
        alarm = loop.call_at(deadline, _settle, answered, None)
        try:
            reply = f"{self._inbox}.{number}"
            await self._connection.publish(subject, body, reply=reply, headers=headers)
            return await answered
        finally:
            alarm.cancel()
            del self._asked[number]

    def _receive(self, answer: Incoming) -> None:
        asked = self._asked.get(answer.subject.rpartition(".")[2])
        if asked is not None:
            _settle(asked, answer)


def _settle(asked: "asyncio.Future[Incoming | None]", answer: Incoming | None) -> None:
    if not asked.done():
        asked.set_result(answer)


def _status(answer: Incoming) -> str | None:
    return answer.headers.get("Status") if answer.headers else None


def _read(answer: Incoming, correlation_id: object) -> HookExecutionResponse:
    try:
        response = codec.decode(answer.data)
    except codec.DecodeError as error:
        raise Unanswered("invalid_response", f"the response is not JSON: {error}") from None
    if not isinstance(response, dict) or response.get("type") != "hook-execution-response":
        raise Unanswered("invalid_response", "what came back is no response")
    if correlation_id and response.get("correlationId") != correlation_id:
        raise Unanswered("invalid_response", "the response belongs to another request")
    if not isinstance(response.get("error", {}), dict):
        raise Unanswered("invalid_response", "the error of the response is no object")
    return cast(HookExecutionResponse, response)
