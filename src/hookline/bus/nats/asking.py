"""The side of who asks: one wildcard subscription for all answers, and a request that has exactly
one owner until it is answered.

A request goes to the workers that are free. A worker that got it and has no place for it says so,
and has not touched it; then it is sent again, and where nobody is free at all it goes to those who
queue. It is sent again only after the word that nobody has it: so it is executed once at most. When
no worker is there, the server says so at once.
"""

import asyncio
import contextlib
import os
import time
from collections.abc import Coroutine, Mapping
from typing import Any, NamedTuple, cast

from hookline.bus.messages import HookExecutionResponse, correlation_of, failure_response
from hookline.bus.nats.client import Incoming
from hookline.bus.nats.connection import Connection
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
# Nobody waits longer than that, whatever is asked for.
LONGEST_SECONDS = 3600.0
# Ids are remembered, and names of events shown to people: neither may be of any length.
LONGEST_NAME = 256
# How long those who ask wait for a connection that was lost, from the moment it was.
GRACE_SECONDS = 2.0
_NO_RESPONDERS = "503"
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


class _Question(NamedTuple):
    """A message that is to be answered; None is the answer that nobody was there to hear it."""

    request: Mapping[str, Any]
    timeout: float
    answered: "asyncio.Future[HookExecutionResponse | None]"

    def settle(self, response: HookExecutionResponse | None) -> None:
        if not self.answered.done():
            self.answered.set_result(response)

    def fail(self, code: str, said: str) -> None:
        self.settle(failed(self.request, code, said))

    def expire(self) -> None:
        self.fail("timeout", f"no response within {self.timeout:g} s")


class Asker:
    """Sends requests over one connection and gives each its own answer."""

    def __init__(self, connection: Connection, subjects: Subjects) -> None:
        self._connection = connection
        self._subjects = subjects
        self._inbox = subjects.new_inbox()
        self._asked: dict[str, _Question] = {}

    async def open(self) -> None:
        """Hear the answers."""
        await self._connection.subscribe(f"{self._inbox}.*", self._receive)

    def close(self) -> None:
        """Nobody will answer any more."""
        for question in self._asked.values():
            question.fail("disconnected", "the bus was closed")

    async def ask(self, message: Mapping[str, Any], *, timeout: float) -> HookExecutionResponse:
        """The response to a request; whatever keeps it from coming is a failed one."""
        try:
            return await self._ask(message, timeout)
        except HooklineError as error:
            return failed(message, getattr(error, "code", "internal_error"), message_of(error))

    async def ask_all(self, subject: str, *, wait: float, silence: float) -> list[bytes]:
        """What everybody who hears a subject answers, until for a moment nobody does; ``wait`` is
        how long that may take at most."""
        heard: asyncio.Queue[Incoming] = asyncio.Queue()
        inbox, answers = self._subjects.new_inbox(), list[bytes]()
        subscription = await self._connection.subscribe(inbox, heard.put_nowait)
        try:
            await self._connection.publish(subject, b"", reply=inbox)
            async with asyncio.timeout(wait):
                while True:
                    async with asyncio.timeout(silence if answers else wait):
                        answer = await heard.get()
                    if _is_nobody_there(answer):
                        return []
                    answers.append(answer.data)
        except TimeoutError:
            return answers
        finally:
            await self._connection.unsubscribe(subscription)

    async def _ask(self, message: Mapping[str, Any], timeout: float) -> HookExecutionResponse:
        # In this order, what is no number is the longest time too.
        timeout = min(LONGEST_SECONDS, timeout)
        deadline = asyncio.get_running_loop().time() + timeout
        until = int((time.time() + timeout) * 1000)
        body = _body_of(message)
        if not self._connection.is_connected:
            await self._check_connected(timeout)
        free, queue = self._subjects.asked(message.get("eventName"))
        subject, attempt, overloaded = free, 0, 0
        while True:
            headers = _headers(until, attempt)
            self._check_size(len(headers) + len(body))
            question = _Question(message, timeout, asyncio.Future())
            response = await self._exchange(question, subject, body, headers, deadline)
            if response is None:
                subject = queue if subject is free else await self._nobody_there(message, free)
                continue
            code = None if response["success"] is True else response.get("error", {}).get("code")
            overloaded += code == OVERLOADED
            if code not in (BUSY, OVERLOADED) or overloaded == _OVERLOADED_WORKERS:
                return response
            attempt += 1
            subject = queue if code == OVERLOADED else free

    async def _nobody_there(self, message: Mapping[str, Any], again: str) -> str:
        """Where to ask next, when not even those who queue are there."""
        if not self._connection.returned_within(GRACE_SECONDS):
            event = message.get("eventName")
            raise Unanswered("unavailable", f"no worker serves {event} on this bus")
        # The workers lost the server too, and may not be back yet.
        await asyncio.sleep(_RETURN_SECONDS)
        return again

    def _check_size(self, size: int) -> None:
        most = self._connection.max_payload
        if size > most:
            raise Unanswered(
                "request_too_large",
                f"the request has {size} bytes, more than the {most} the NATS server takes; "
                "its max_payload says how many",
            )

    async def _check_connected(self, timeout: float) -> None:
        if not await self._connection.connected_within(min(GRACE_SECONDS, timeout)):
            raise Unanswered("disconnected", "the connection to the bus is lost")

    async def _exchange(
        self, question: _Question, subject: str, body: bytes, headers: bytes, deadline: float
    ) -> HookExecutionResponse | None:
        """The first answer to a message; a failure when it does not come in time."""
        # Who may ask can have a worker answer to any inbox, so nobody may guess this one.
        token = os.urandom(8).hex()
        self._asked[token] = question
        # Cheaper than a timeout of asyncio's, which would take a good part of a round trip.
        alarm = asyncio.get_running_loop().call_at(deadline, question.expire)
        try:
            sending = self._connection.publish(
                subject, body, reply=f"{self._inbox}.{token}", headers=headers
            )
            if self._connection.is_backed_up:
                await _until(deadline, sending)
            else:
                await sending
            return await question.answered
        finally:
            alarm.cancel()
            del self._asked[token]

    def _receive(self, answer: Incoming) -> None:
        question = self._asked.get(answer.subject.rpartition(".")[2])
        if question is None:
            return
        if _is_nobody_there(answer):
            question.settle(None)
            return
        try:
            question.settle(_read(answer.data, question.request))
        except Unanswered as error:
            question.fail(error.code, str(error))


def _is_nobody_there(answer: Incoming) -> bool:
    return answer.headers is not None and answer.headers["Status"] == _NO_RESPONDERS


async def _until(deadline: float, sending: Coroutine[Any, Any, None]) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout_at(deadline):
            await sending


def _headers(until: int, attempt: int) -> bytes:
    handed_back = f"{ATTEMPT}: {attempt}\r\n" if attempt else ""
    return f"NATS/1.0\r\n{DEADLINE}: {until}\r\n{handed_back}\r\n".encode()


def _body_of(message: Mapping[str, Any]) -> bytes:
    if too_long := long_name(message):
        raise Unanswered("invalid_request", too_long)
    return codec.encode(message)


def long_name(message: Mapping[str, Any]) -> str | None:
    """What is wrong with a request whose id or event is too long for a name."""
    for field in ("correlationId", "eventName"):
        given = message.get(field)
        if isinstance(given, str) and len(given) > LONGEST_NAME:
            return f"{field} must have {LONGEST_NAME} characters at most"
    return None


def _read(data: bytes, request: Mapping[str, Any]) -> HookExecutionResponse:
    try:
        response = codec.decode(data)
    except codec.DecodeError as error:
        raise Unanswered("invalid_response", f"the response is not JSON: {error}") from None
    if not isinstance(response, dict) or response.get("type") != "hook-execution-response":
        raise Unanswered("invalid_response", "what came back is no response")
    if not isinstance(response.get("error", {}), dict) or "success" not in response:
        raise Unanswered("invalid_response", "the response says neither success nor an error")
    asked = request.get("correlationId")
    if asked and response.get("correlationId") != asked:
        if response["success"] is True:
            raise Unanswered("invalid_response", "the response belongs to another request")
        # Who refuses a request may not have been able to read its id.
        response["correlationId"] = asked
    return cast(HookExecutionResponse, response)
