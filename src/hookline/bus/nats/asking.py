"""The caller's side: one wildcard subscription for all answers, and a request that has exactly one
owner until it is answered.

A request goes to the workers that are free. A worker that got it and has no place for it says so,
and has not touched it; then it is sent again, and where no worker is free at all it goes to those
that queue. It is sent again only after the word that nobody has it: so it is executed once at most.
When no worker is there, the server says so at once.
"""

import asyncio
import os
import time
from collections.abc import Mapping
from typing import Any, NamedTuple

from hookline.bus.messages import HookExecutionResponse, unanswered_response
from hookline.bus.nats.connection import Connection
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

# How long a request waits for a connection that was lost, from the moment it was.
_GRACE_SECONDS = 2.0
_NO_RESPONDERS = "503"
_RETURN_SECONDS = 0.05
# How many workers must be found to have no room before that is the answer.
_OVERLOADED_WORKERS = 3


class _Question(NamedTuple):
    """A message that is to be answered; None is the answer that nobody was there to hear it."""

    request: Mapping[str, Any]
    timeout: float
    answered: "asyncio.Future[HookExecutionResponse | None]"

    def settle(self, response: HookExecutionResponse | None) -> None:
        if not self.answered.done():
            self.answered.set_result(response)

    def fail(self, code: str, message: str) -> None:
        self.settle(unanswered_response(self.request, code, message))

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
            code = getattr(error, "code", "internal_error")
            return unanswered_response(message, code, message_of(error))

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
        body = encode_request(message)
        grace = min(_GRACE_SECONDS, timeout)
        if not self._connection.is_connected and not await self._connection.wait_connected(
            grace, since_lost=True
        ):
            raise RequestFailed("disconnected", "the connection to the bus is lost")
        free, queue = self._subjects.asked(message.get("eventName"))
        subject, attempt, overloaded = free, 0, 0
        while True:
            headers = encode_headers(until, attempt)
            self._check_size(len(headers) + len(body))
            question = _Question(message, timeout, asyncio.Future())
            response = await self._exchange(question, subject, body, headers, deadline)
            if response is None and subject is free:
                subject = queue
            elif response is None:
                if not self._connection.returned_within(_GRACE_SECONDS):
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

    def _check_size(self, size: int) -> None:
        most = self._connection.max_payload
        if size > most:
            raise RequestFailed(
                "request_too_large",
                f"the request has {size} bytes, more than the {most} the NATS server takes; "
                "its max_payload says how many",
            )

    async def _exchange(
        self, question: _Question, subject: str, body: bytes, headers: bytes, deadline: float
    ) -> HookExecutionResponse | None:
        """The first answer to a message; a failure when it does not come in time."""
        # A caller can have a worker answer to any inbox, so nobody may guess this one.
        token = os.urandom(8).hex()
        self._asked[token] = question
        # Cheaper than a timeout of asyncio's, which would take a good part of a round trip.
        alarm = asyncio.get_running_loop().call_at(deadline, question.expire)
        try:
            await self._connection.publish(
                subject, body, reply=f"{self._inbox}.{token}", headers=headers, until=deadline
            )
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
            question.settle(read_response(answer.data, question.request))
        except RequestFailed as error:
            question.fail(error.code, str(error))


def _is_nobody_there(answer: Incoming) -> bool:
    return answer.headers is not None and answer.headers["Status"] == _NO_RESPONDERS
