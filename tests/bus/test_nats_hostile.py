"""Others on the bus that mean harm, or do not know what they do: nobody else suffers from them."""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from nats.aio.client import Client

from hookline.bus import MessageBusType, request_hook_execution
from hookline.bus.nats import NatsMessageBus, ServingOptions
from tests.bus.answers import request
from tests.bus.test_nats_serving import RESPONSE, TOOL, Gate, ask_raw, limited, raw, until_served
from tests.eleven import Json, until
from tests.natsserver import nats_server

REQUEST = MessageBusType.HOOK_EXECUTION_REQUEST


async def write_raw(url: str, commands: bytes) -> None:
    """What no client would write, straight into the server."""
    host, port = url.removeprefix("nats://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    await reader.readline()
    writer.write(b'CONNECT {"verbose":false,"headers":true}\r\n' + commands + b"PING\r\n")
    while await reader.readline() != b"PONG\r\n":
        pass
    writer.close()
    await writer.wait_closed()


async def listen(client: Client, subject: str, hear: Callable[[Any], Awaitable[None]]) -> None:
    """Returns when the server knows."""
    await client.subscribe(subject, cb=hear)
    # The first overtakes what was said before it.
    await client.flush()
    await client.flush()


@pytest.mark.parametrize(
    "names", [b"request.\xff reply", b"request.BeforeTool \xff\xfe", b"wait.\xff"]
)
async def test_a_subject_that_is_no_text_does_not_end_a_worker(
    nats_url: str, prefix: str, names: bytes
) -> None:
    bus = NatsMessageBus(nats_url, prefix=prefix)
    Gate(bus).open.set()
    async with bus, NatsMessageBus(nats_url, prefix=prefix) as asking:
        await write_raw(nats_url, b"PUB %b.%b 2\r\n{}\r\n" % (prefix.encode(), names))
        await until(lambda: bus.serving_status()["refused"] == {"invalid_request": 1})
        response = await request_hook_execution(asking, "BeforeTool", TOOL, timeout=20)
    assert response["success"] is True


async def test_the_answer_finds_a_reply_subject_that_is_no_text(nats_url: str, prefix: str) -> None:
    async with NatsMessageBus(nats_url, prefix=prefix) as bus, raw(nats_url) as me:
        Gate(bus).open.set()
        await until_served(me, prefix)
        heard = await me.subscribe(f"{prefix}-mine.*")
        subject = f"{prefix}.request.BeforeTool {prefix}-mine."
        body = json.dumps(request("BeforeTool", TOOL)).encode()
        # The client of this test cannot read such a subject: what it cannot, it is told of.
        said: list[Any] = []
        me._build_message = lambda *parts: said.append(parts)  # type: ignore[method-assign]
        await write_raw(nats_url, b"PUB %b\xff %d\r\n%b\r\n" % (subject.encode(), len(body), body))
        await until(lambda: len(said) == 1)
        await heard.unsubscribe()
    assert json.loads(said[0][3])["success"] is True


@pytest.mark.parametrize(
    "fields",
    [
        {"correlationId": "x" * 1_000_000},
        {"eventName": "x" * 1_000_000},
        {"type": "x" * 1_040_000},
        {"type": json.loads("[" * 400 + "]" * 400)},
    ],
    ids=["id", "event", "type", "deep"],
)
async def test_what_is_too_long_or_too_deep_is_refused_in_a_short_answer(
    nats_url: str, prefix: str, caplog: pytest.LogCaptureFixture, fields: Mapping[str, Any]
) -> None:
    async with NatsMessageBus(nats_url, prefix=prefix) as bus, raw(nats_url) as me:
        gate = Gate(bus)
        await until_served(me, prefix)
        body = json.dumps({**request("BeforeTool", TOOL), **fields}).encode()
        answer = await ask_raw(me, f"{prefix}.request.BeforeTool", body)
    assert answer["error"]["code"] == "invalid_request"
    assert len(json.dumps(answer)) < 500
    assert len(caplog.text) < 5_000
    assert gate.held == []


async def test_who_asks_is_told_before_sending_that_an_id_is_too_long(
    nats_url: str, prefix: str
) -> None:
    async with NatsMessageBus(nats_url, prefix=prefix) as bus:
        gate = Gate(bus)
        response = await request_hook_execution(bus, "BeforeTool", TOOL, correlation_id="x" * 257)
    assert response["error"]["code"] == "invalid_request"
    assert "256 characters" in response["error"]["message"]
    assert gate.held == []


async def test_a_request_that_a_worker_cannot_even_read_fails_with_its_code(
    nats_url: str, prefix: str
) -> None:
    serving = ServingOptions(max_request_bytes=100)
    bus = NatsMessageBus(nats_url, prefix=prefix, serving=serving)
    Gate(bus)
    async with bus, NatsMessageBus(nats_url, prefix=prefix) as asking:
        response = await request_hook_execution(asking, "BeforeTool", TOOL, correlation_id="mine")
    assert response["error"]["code"] == "request_too_large"
    assert response["correlationId"] == "mine"


@pytest.mark.parametrize(
    ("deadline", "code"),
    [
        *((text, "invalid_request") for text in ("NaN", "-5", "1e20", "", "٣", "9" * 400)),
        ("0", "deadline_exceeded"),
        ("999999999999999", None),
    ],
)
async def test_a_deadline_is_a_time_and_none_is_too_far_off(
    nats_url: str, prefix: str, deadline: str, code: str | None
) -> None:
    async with NatsMessageBus(nats_url, prefix=prefix) as bus, raw(nats_url) as me:
        gate = Gate(bus)
        gate.open.set()
        await until_served(me, prefix)
        body = json.dumps(request("BeforeTool", TOOL)).encode()
        answer = await ask_raw(me, f"{prefix}.request.BeforeTool", body, Hookline_Deadline=deadline)
    assert answer.get("error", {}).get("code") == code
    assert len(gate.held) == (code is None)


async def test_headers_without_end_are_not_read_to_the_end(nats_url: str, prefix: str) -> None:
    async with NatsMessageBus(nats_url, prefix=prefix) as bus, raw(nats_url) as me:
        gate = Gate(bus)
        gate.open.set()
        await until_served(me, prefix)
        many = {"Hookline_Deadline": str(int(time.time() * 1000) + 60_000)}
        many |= {f"h{number}": "x" for number in range(50_000)}
        body = json.dumps(request("BeforeTool", TOOL)).encode()
        answer = await ask_raw(me, f"{prefix}.request.BeforeTool", body, **many)
    assert answer["success"] is True


async def test_an_answer_that_is_sent_to_those_who_serve_goes_round_no_further(
    nats_url: str, prefix: str
) -> None:
    async with NatsMessageBus(nats_url, prefix=prefix) as bus, raw(nats_url) as me:
        gate = Gate(bus)
        gate.open.set()
        await until_served(me, prefix)
        before = bus.serving_status()["received"]
        for number, to in enumerate(("request.BeforeTool", "wait.BeforeTool", "stats", "response")):
            one = json.dumps(request("BeforeTool", TOOL, correlationId=f"id-{number}")).encode()
            await me.publish(f"{prefix}.request.BeforeTool", one, reply=f"{prefix}.{to}")
        await until(lambda: bus.serving_status()["received"] == before + 6)
        await asyncio.sleep(0.05)
        status = bus.serving_status()
    assert (status["received"], status["answered"]) == (before + 6, 4)


async def test_a_request_repeated_while_the_worker_is_full_is_carried_out_once(
    nats_url: str, prefix: str
) -> None:
    bus = NatsMessageBus(nats_url, prefix=prefix, serving=limited(1))
    gate = Gate(bus)
    async with bus, raw(nats_url) as me:
        heard = await me.subscribe(f"{prefix}-mine.*")
        subject = f"{prefix}.request.BeforeTool"
        for number, name in enumerate(("first", "twin", "twin")):
            body = json.dumps(request("BeforeTool", TOOL, correlationId=name)).encode()
            await me.publish(subject, body, reply=f"{prefix}-mine.{number}")
        gate.open.set()
        answers = [json.loads((await heard.next_msg(20)).data) for _ in range(3)]
        await heard.unsubscribe()
    codes = [answer["error"]["code"] for answer in answers if not answer["success"]]
    assert "duplicate_request" in codes
    assert gate.held.count("twin") <= 1


@pytest.mark.parametrize("events", [None, ("Notification",)])
async def test_by_the_subject_of_one_event_nobody_can_ask_for_another(
    nats_url: str, prefix: str, events: tuple[str, ...] | None
) -> None:
    serving = ServingOptions(events=events)
    bus = NatsMessageBus(nats_url, prefix=prefix, serving=serving)
    gate = Gate(bus)
    async with bus, raw(nats_url) as me:
        body = json.dumps(request("BeforeTool", TOOL)).encode()
        await until_served(me, prefix, event="Notification")
        answer = await ask_raw(me, f"{prefix}.request.Notification", body)
    assert answer["error"]["code"] == "invalid_request"
    assert "another event" in answer["error"]["message"]
    assert gate.held == []


def answer_to(asked: Mapping[str, Any], **fields: Any) -> Json:
    return {
        "type": RESPONSE.value,
        "correlationId": asked["correlationId"],
        "success": True,
        **fields,
    }


@pytest.mark.parametrize(
    "answer",
    [
        b"{",
        b"\xff",
        b"[]",
        b'{"type": "hook-execution-response"}',
        {"error": None},
        {"error": "no"},
        {"correlationId": "another"},
        {"type": "hook-execution-request"},
    ],
    ids=str,
)
async def test_an_answer_of_the_wrong_shape_is_an_invalid_response(
    nats_url: str, prefix: str, answer: Any
) -> None:
    async with NatsMessageBus(nats_url, prefix=prefix) as asking, raw(nats_url) as me:

        async def answer_badly(message: Any) -> None:
            asked = json.loads(message.data)
            said = answer if isinstance(answer, bytes) else json.dumps(answer_to(asked, **answer))
            await message.respond(said if isinstance(said, bytes) else said.encode())

        await listen(me, f"{prefix}.request.*", answer_badly)
        response = await request_hook_execution(asking, "BeforeTool", TOOL, timeout=20)
    assert response["error"]["code"] == "invalid_response"


async def test_of_two_answers_the_first_counts_and_one_after_the_deadline_is_lost(
    nats_url: str, prefix: str, caplog: pytest.LogCaptureFixture
) -> None:
    late: list[Any] = []
    async with NatsMessageBus(nats_url, prefix=prefix) as asking, raw(nats_url) as me:

        async def answer_twice(message: Any) -> None:
            asked = json.loads(message.data)
            if asked["correlationId"] == "late":
                late.append(message)
                return
            for number in (1, 2):
                await message.respond(json.dumps(answer_to(asked, output=number)).encode())

        await listen(me, f"{prefix}.request.*", answer_twice)
        first = await request_hook_execution(asking, "BeforeTool", TOOL, timeout=20)
        slow = await request_hook_execution(
            asking, "BeforeTool", TOOL, correlation_id="late", timeout=0.1
        )
        await until(lambda: len(late) == 1)
        await late[0].respond(json.dumps(answer_to({"correlationId": "late"})).encode())
        again = await request_hook_execution(asking, "BeforeTool", TOOL, timeout=20)
    assert [dict(response)["output"] for response in (first, again)] == [1, 1]
    assert slow["error"]["code"] == "timeout"
    assert caplog.text == ""


async def test_an_answer_for_nobody_and_a_second_one_leave_the_request_that_waits_alone(
    nats_url: str, prefix: str, caplog: pytest.LogCaptureFixture
) -> None:
    """The two answers come in one piece, so the first is not taken before the second is here."""
    async with NatsMessageBus(nats_url, prefix=prefix) as asking, raw(nats_url) as me:

        async def answer_twice(message: Any) -> None:
            asked = json.loads(message.data)
            inbox = message.reply.rpartition(".")[0]
            said = [json.dumps(answer_to(asked, output=number)).encode() for number in (1, 2)]
            for to, body in zip((f"{inbox}.nobody", message.reply), said, strict=True):
                await me.publish(to, body)
            await me.publish(message.reply, said[0])

        await listen(me, f"{prefix}.request.*", answer_twice)
        responses = [
            await request_hook_execution(asking, "BeforeTool", TOOL, timeout=20) for _ in range(3)
        ]
    assert [dict(response)["output"] for response in responses] == [2, 2, 2]
    assert caplog.text == ""


@pytest.mark.parametrize(
    ("codes", "went_to"),
    [
        (["overloaded"] * 5, ["request", "wait", "wait"]),
        (["busy"] * 4 + ["done"], ["request"] * 5),
        (["overloaded", "busy", "done"], ["request", "wait", "request"]),
    ],
)
async def test_what_workers_hand_back_is_sent_again_until_three_are_overloaded(
    nats_url: str, prefix: str, codes: list[str], went_to: list[str]
) -> None:
    heard: list[tuple[str, str | None]] = []
    async with NatsMessageBus(nats_url, prefix=prefix) as asking, raw(nats_url) as me:

        async def hand_back(message: Any) -> None:
            error = {"code": codes[len(heard)], "message": "m"}
            heard.append((message.subject, message.headers.get("Hookline-Attempt")))
            said = answer_to(json.loads(message.data), success=False, error=error)
            await message.respond(json.dumps(said).encode())

        for kind in ("request", "wait"):
            await listen(me, f"{prefix}.{kind}.*", hand_back)
        response = await request_hook_execution(asking, "BeforeTool", TOOL, timeout=20)
    assert response["error"]["code"] == codes[len(went_to) - 1]
    assert heard == [
        (f"{prefix}.{kind}.BeforeTool", str(attempt) if attempt else None)
        for attempt, kind in enumerate(went_to)
    ]


async def test_where_the_next_answer_is_awaited_cannot_be_guessed(
    nats_url: str, prefix: str
) -> None:
    inboxes: list[str] = []
    async with NatsMessageBus(nats_url, prefix=prefix) as asking, raw(nats_url) as me:

        async def note(message: Any) -> None:
            inboxes.append(message.reply)
            await message.respond(json.dumps(answer_to(json.loads(message.data))).encode())

        await listen(me, f"{prefix}.request.*", note)
        for _ in range(3):
            await request_hook_execution(asking, "BeforeTool", TOOL, timeout=20)
    ends = [inbox.rpartition(".")[2] for inbox in inboxes]
    assert len({*ends}) == 3
    assert {len(end) for end in ends} == {16}


@pytest.mark.parametrize("seconds", [float("inf"), float("nan"), 1e300, 0, -1])
async def test_a_time_that_is_none_is_a_failed_response(
    nats_url: str, prefix: str, seconds: float
) -> None:
    async with NatsMessageBus(nats_url, prefix=prefix) as bus:
        response = await request_hook_execution(bus, "BeforeTool", TOOL, timeout=seconds)
    assert response["error"]["code"] == ("timeout" if seconds <= 0 else "unavailable")


async def test_a_request_that_fits_only_without_its_headers_does_not_end_the_connection(
    tmp_path: Path,
) -> None:
    with nats_server(tmp_path / "nats", "max_payload: 1000\n") as server:
        async with NatsMessageBus(server.url) as bus:
            empty = len(json.dumps(request("BeforeAgent", {"prompt": ""}), separators=(",", ":")))
            codes = set()
            for more in range(1000 - empty - 60, 1000 - empty + 10, 3):
                message = request("BeforeAgent", {"prompt": "x" * more})
                response = await bus.request(message, timeout=20)
                codes.add(response["error"]["code"])
            assert bus.state == "connected"
    assert codes == {"unavailable", "request_too_large"}


async def test_a_worker_that_says_nonsense_of_itself_does_not_hide_the_others(
    nats_url: str, prefix: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with NatsMessageBus(nats_url, prefix=prefix) as bus, raw(nats_url) as me:

        async def talk(message: Any) -> None:
            await message.respond(b"{")
            await message.respond(b'{"worker": "a"}')

        await listen(me, f"{prefix}.stats", talk)
        assert await bus.ask_workers(silence=0.1) == [{"worker": "a"}]
    assert caplog.text.count("a message on the bus is not JSON: ") == 1


async def test_a_status_that_is_too_long_to_send_is_told(
    nats_url: str, prefix: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with NatsMessageBus(nats_url, prefix=prefix) as bus:
        await bus.answer_workers(lambda: {"name": "x" * 2_000_000})
        assert await bus.ask_workers(wait=0.05) == []
    assert "this worker's status could not be sent: nats: maximum payload exceeded" in caplog.text


async def test_workers_that_never_stop_talking_are_heard_for_so_long(
    nats_url: str, prefix: str
) -> None:
    async with NatsMessageBus(nats_url, prefix=prefix) as bus, raw(nats_url) as me:
        talking: list[asyncio.Task[None]] = []

        async def talk(message: Any) -> None:
            async def on_and_on() -> None:
                while True:
                    await me.publish(message.reply, b"{}")
                    await asyncio.sleep(0.01)

            talking.append(asyncio.create_task(on_and_on()))

        await listen(me, f"{prefix}.stats", talk)
        async with asyncio.timeout(20):
            assert await bus.ask_workers(wait=0.3, silence=0.2)
        talking[0].cancel()
        await asyncio.wait(talking)
