"""What a worker tells the server, and what becomes of each request; the test is the server."""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, cast

import pytest

from hookline.bus.nats import BusConnectionError, ServingOptions, intake
from hookline.bus.nats.client import Receive
from hookline.bus.nats.connection import NatsConnection
from hookline.bus.nats.intake import Counters, Intake
from hookline.bus.nats.protocol import Incoming, make_subjects
from tests.bus.answers import request
from tests.eleven import Json, until

TOOL: Json = {"tool_name": "read", "tool_input": {}}
FREE, QUEUE = "subscribe p.request.* hookline", "subscribe p.wait.* hookline"


class PlayedConnection:
    """Keeps what the server is told (``said``) and sent; ``problem`` is what it fails with."""

    def __init__(self) -> None:
        self.max_payload = 1000
        self.is_connected = True
        self.has_returned = False
        self.problem = ""
        self.said: list[str] = []
        self.sent: list[tuple[str, Json]] = []
        self.waited: list[float] = []
        self.receivers: dict[str, Receive] = {}

    async def subscribe(self, subject: str, receive: Receive, *, queue: str) -> str:
        self._tell(f"subscribe {subject} {queue}")
        self.receivers[subject] = receive
        return subject

    async def pause(self, subject: str) -> None:
        self._tell(f"pause {subject}")

    async def resume(self, subject: str) -> None:
        self._tell(f"resume {subject}")

    async def flush(self) -> None:
        self._tell("flush")

    async def publish(self, subject: str, body: bytes) -> None:
        if self.problem:
            raise BusConnectionError(self.problem)
        self.sent.append((subject, json.loads(body)))

    async def wait_connected(self, seconds: float) -> bool:
        self.waited.append(seconds)
        return True

    def returned_within(self, _seconds: float) -> bool:
        return self.has_returned

    def _tell(self, text: str) -> None:
        if self.problem:
            raise BusConnectionError(self.problem)
        self.said.append(text)


class Played:
    """A worker; each request waits for ``gate``, and is then answered."""

    def __init__(self, **options: Any) -> None:
        self.connection = PlayedConnection()
        self.counters = Counters()
        self.began: list[str] = []
        self.gate = asyncio.Event()
        self.is_wanted = True
        self.answer: Json | None = {"success": True}
        self.intake = Intake(
            cast(NatsConnection, self.connection),
            make_subjects("p"),
            ServingOptions(**options),
            self.counters,
            execute=self._execute,
            is_wanted=lambda: self.is_wanted,
        )

    async def _execute(self, message: Json) -> None:
        self.began.append(message["correlationId"])
        await self.gate.wait()
        if self.answer is not None:
            held = self.intake.claim(message["correlationId"])
            assert held is not None
            await self.intake.answer(held, self.answer)

    def ask(
        self, id: str, kind: str = "request", *, reply: str | None = None, seconds: float = 60
    ) -> None:
        body = json.dumps(request("BeforeTool", TOOL, correlationId=id)).encode()
        headers = {"Hookline-Deadline": str(int((time.time() + seconds) * 1000))}
        answer_to = f"to.{id}" if reply is None else reply
        receive = self.connection.receivers[f"p.{kind}.*"]
        receive(Incoming(f"p.{kind}.BeforeTool", answer_to, body, headers))

    @property
    def answers(self) -> list[tuple[str, Any]]:
        """By reply subject, the code of each failure, or None."""
        return [(to, said.get("error", {}).get("code")) for to, said in self.connection.sent]


@asynccontextmanager
async def serving(**options: Any) -> AsyncIterator[Played]:
    played = Played(**options)
    await played.intake.update()
    try:
        yield played
    finally:
        played.connection.problem = ""
        await played.intake.stop()


async def settled(played: Played) -> None:
    """Wait until the worker has nothing more to say to its connection."""
    said = None
    while said != played.connection.said:
        said = [*played.connection.said]
        for _ in range(10):
            await asyncio.sleep(0)


async def test_a_worker_subscribes_to_all_it_serves_as_a_member_of_its_queue() -> None:
    async with serving() as played:
        assert played.connection.said == [FREE, QUEUE]
    async with serving(queue="q", events=("BeforeTool", "AfterTool")) as played:
        assert played.connection.said == [
            f"subscribe p.{kind}.{event} q"
            for kind in ("request", "wait")
            for event in ("AfterTool", "BeforeTool")
        ]


async def test_a_worker_without_any_place_only_queues() -> None:
    async with serving(concurrency=0) as played:
        assert played.connection.said == [QUEUE, "flush"]


async def test_a_full_worker_pauses_until_a_place_is_free() -> None:
    async with serving(concurrency=1) as played:
        played.ask("a")
        await settled(played)
        assert played.connection.said[2:] == ["pause p.request.*", "flush"]
        played.gate.set()
        await until(lambda: played.connection.said[4:] == ["resume p.request.*"])
        assert played.answers == [("to.a", None)]
        assert (played.intake.running, played.intake.waiting) == (0, 0)


async def test_what_came_before_the_pause_is_handed_back_and_may_come_again() -> None:
    async with serving(concurrency=1) as played:
        for id in ("a", "b"):
            played.ask(id)
        assert (played.intake.running, played.intake.waiting) == (1, 1)
        await until(lambda: played.answers == [("to.b", "busy")])
        assert played.counters.handed_back == 1
        played.gate.set()
        await until(lambda: played.intake.running == 0)
        played.ask("b", reply="again")
        await until(lambda: played.answers[1:] == [("to.a", None), ("again", None)])


async def test_a_request_in_the_queue_runs_next_or_is_handed_back_after_a_moment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with serving(concurrency=1) as played:
        played.ask("a")
        played.ask("next", "wait")
        played.gate.set()
        await until(lambda: played.answers == [("to.a", None), ("to.next", None)])
        monkeypatch.setattr(intake, "FIRST_STAY", 0.001)
        played.gate.clear()
        played.ask("b")
        played.ask("back", "wait")
        await until(lambda: played.answers[2:] == [("to.back", "busy")])
        assert (played.intake.running, played.intake.waiting) == (1, 0)


async def test_a_queue_of_exactly_so_many_is_full() -> None:
    async with serving(concurrency=1, backlog=2) as played:
        played.ask("a")
        for id in ("b", "c", "d"):
            played.ask(id, "wait")
        assert played.intake.waiting == 2
        await until(lambda: played.answers == [("to.d", "overloaded")])


async def test_what_nobody_here_wants_is_handed_back() -> None:
    async with serving() as played:
        played.is_wanted = False
        played.ask("a", "wait")
        played.ask("b")
        await until(lambda: played.answers == [("to.a", "busy"), ("to.b", "busy")])
        assert played.began == []
        assert played.connection.said[2:] == ["pause p.request.*", "pause p.wait.*", "flush"]


async def test_so_many_ids_are_remembered_and_the_oldest_is_forgotten() -> None:
    async with serving(remembered_ids=2) as played:
        played.gate.set()
        asked = [("a", "0"), ("b", "0"), ("a", "1"), ("c", "0"), ("a", "2")]
        for count, (id, reply) in enumerate(asked, start=1):
            played.ask(id, reply=reply)
            await until(lambda count=count: len(played.answers) == count)  # type: ignore[misc]
        assert [to for to, code in played.answers if code == "duplicate_request"] == ["1"]
        assert played.began == ["a", "b", "c", "a"]


async def test_a_worker_that_may_not_subscribe_says_so_and_tries_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    played = Played()
    played.connection.problem = "not allowed"
    await played.intake.update()
    assert "this worker cannot take requests: not allowed" in caplog.text
    played.connection.problem = ""
    await played.intake.update()
    assert played.connection.said == [FREE, QUEUE]


async def test_a_response_that_cannot_be_sent_is_told(caplog: pytest.LogCaptureFixture) -> None:
    async with serving(max_request_bytes=1) as played:
        played.connection.problem = "gone"
        played.ask("a")
        await until(lambda: "a response could not be sent: gone" in caplog.text)
        assert "a request was refused: the request has" in caplog.text


async def test_who_named_no_reply_subject_is_sent_nothing() -> None:
    async with serving() as played:
        played.gate.set()
        played.ask("a", reply="")
        played.ask("a", reply="other")
        played.ask("b", reply="")
        played.is_wanted = False
        played.ask("c", "wait", reply="")
        await until(lambda: played.counters.answered == 2)
        await settled(played)
        assert played.answers == [("other", "duplicate_request")]


async def test_a_response_of_exactly_the_most_bytes_is_sent_whole_and_a_longer_one_is_not(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with serving() as played:
        played.gate.set()
        empty = len(json.dumps({"x": ""}, separators=(",", ":")))
        for id, more in (("a", 1000 - empty), ("b", 1001 - empty)):
            played.answer = {"x": "x" * more}
            played.ask(id)
            await until(lambda: played.intake.running == 0)
        assert played.answers == [("to.a", None), ("to.b", "response_failed")]
        assert caplog.text.count("cannot be sent whole: the response is too long to send") == 1


async def test_a_response_waits_for_the_server_and_then_for_the_callers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(intake, "RETURN_SECONDS", 0.2)
    async with serving() as played:
        played.connection.is_connected, played.connection.has_returned = False, True
        played.gate.set()
        played.ask("a", seconds=50)
        await until(lambda: played.connection.waited != [])
        for _ in range(3):
            await asyncio.sleep(0)
        assert played.answers == []
        await until(lambda: played.answers == [("to.a", None)])
        assert 40 < played.connection.waited[0] <= 50


async def test_a_handler_that_fails_is_told_and_may_still_answer_until_the_deadline(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with serving() as played:
        played.answer = cast(Json, 5)  # which no response is
        played.gate.set()
        played.ask("a", reply="")
        await until(lambda: played.intake.running == 0)
        assert "a request failed: " in caplog.text
        played.answer = None
        for id, seconds in (("b", 60), ("c", 0.02)):
            played.ask(id, seconds=seconds)
        await asyncio.sleep(0.05)  # until the deadline of "c" is over
        assert played.intake.claim("c") is None
        assert played.intake.claim("b") is not None
        assert played.intake.claim("b") is None


async def test_what_runs_past_its_deadline_is_cancelled_however_long_that_takes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(intake, "SWEEP_SECONDS", 0.002)
    async with serving() as played:
        for id, seconds in (("late", 0.03), ("later", 0.05), ("never", 60)):
            played.ask(id, seconds=seconds)
        await until(lambda: played.intake.running == 1)
        failed = "execution_failed"
        assert played.answers == [("to.late", failed), ("to.later", failed)]
        assert played.counters.failed == {failed: 2}


async def test_what_waited_past_its_deadline_is_refused() -> None:
    async with serving(concurrency=1) as played:
        played.ask("a")
        played.ask("late", "wait", seconds=0.01)
        await asyncio.sleep(0.02)
        played.gate.set()
        await until(lambda: len(played.answers) == 2)
        assert played.answers == [("to.a", None), ("to.late", "deadline_exceeded")]
        assert played.began == ["a"]


@pytest.mark.parametrize("queued", [[], ["b"]])
async def test_draining_pauses_all_and_returns_when_nothing_is_held(queued: list[str]) -> None:
    async with serving(concurrency=1) as played:
        played.ask("a")
        for id in queued:
            played.ask(id, "wait")
        draining = asyncio.create_task(played.intake.drain())
        await until(lambda: "pause p.wait.*" in played.connection.said)
        await settled(played)
        await asyncio.sleep(0)
        assert (draining.done(), played.intake.waiting) == (False, len(queued))
        played.gate.set()
        await asyncio.wait_for(draining, 10)
        assert played.answers == [(f"to.{id}", None) for id in ("a", *queued)]


async def test_stopping_hands_back_what_waits_and_fails_what_runs() -> None:
    async with serving(concurrency=1) as played:
        played.ask("a")
        played.ask("b", "wait")
        played.ask("c")
        assert played.intake.waiting == 2
        await played.intake.stop()
        busy, failed = "busy", "execution_failed"
        assert played.answers == [("to.b", busy), ("to.c", busy), ("to.a", failed)]
        assert played.counters.failed == {failed: 1}
        assert played.connection.said[-3:] == ["pause p.request.*", "pause p.wait.*", "flush"]
        for kind in ("request", "wait"):
            played.ask(kind, kind)
        await until(lambda: played.answers[3:] == [("to.request", busy), ("to.wait", busy)])


async def test_a_full_worker_pauses_again_on_the_server_it_comes_back_to() -> None:
    async with serving(concurrency=1) as played:
        played.ask("a")
        await settled(played)
        del played.connection.said[:]
        played.intake.reconnected()
        await settled(played)
        assert played.connection.said == ["pause p.request.*", "flush"]


async def test_a_worker_subscribes_anew_over_a_new_connection() -> None:
    async with serving() as played:
        new = PlayedConnection()
        played.intake.use(cast(NatsConnection, new))
        await settled(played)
        assert new.said == [FREE, QUEUE]
