"""Where the limits of a message are: what is exactly at one passes, and one more does not."""

import json
import time
from pathlib import Path
from typing import Any

import pytest

from hookline.bus.nats import BusConnectionError, NatsMessageBus
from hookline.bus.nats.protocol import (
    HeldRequest,
    Incoming,
    RequestFailed,
    encode_headers,
    encode_request,
    make_subjects,
    read_request,
    read_response,
)
from tests.bus.answers import request
from tests.eleven import Json
from tests.natsserver import nats_server

TOOL: Json = {"tool_name": "read", "tool_input": {}}


def read(message: Any, *, max_bytes: int = 10_000, **headers: str) -> HeldRequest:
    body = message if isinstance(message, bytes) else json.dumps(message).encode()
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    incoming = Incoming("p.request.BeforeTool", "reply", body, named or None)
    return read_request(incoming, max_bytes=max_bytes, now=100.0)


def code_of(message: Any, **options: Any) -> str:
    with pytest.raises(RequestFailed) as caught:
        read(message, **options)
    return caught.value.code


def test_a_request_of_exactly_the_most_bytes_is_read_and_one_byte_more_is_not() -> None:
    body = json.dumps(request("BeforeTool", TOOL)).encode()
    assert read(body, max_bytes=len(body)).correlation_id == "id-1"
    with pytest.raises(RequestFailed, match=f"{len(body)} bytes") as caught:
        read(body, max_bytes=len(body) - 1)
    assert caught.value.code == "request_too_large"


@pytest.mark.parametrize("field", ["correlationId", "eventName"])
def test_a_name_has_256_characters_at_most_on_either_side(field: str) -> None:
    longest = request("BeforeTool", TOOL) | {field: "x" * 256}
    assert read(longest).message[field] == "x" * 256
    assert json.loads(encode_request(longest))[field] == "x" * 256
    longer = longest | {field: "x" * 257}
    assert code_of(longer) == "invalid_request"
    with pytest.raises(RequestFailed, match=f"{field} must have 256 characters at most"):
        encode_request(longer)


def test_a_request_without_an_id_gets_one_of_its_own() -> None:
    for given in (None, ""):
        held = read(request("BeforeTool", TOOL, correlationId=given))
        assert held.correlation_id
        assert held.message["correlationId"] == held.correlation_id
    assert code_of(request("BeforeTool", TOOL, correlationId=0)) == "invalid_request"


def test_a_request_comes_by_the_subject_of_its_event() -> None:
    held = read(request("BeforeTool", TOOL))
    assert (held.reply, held.arrived) == ("reply", 100.0)
    assert code_of(request("AfterTool", TOOL)) == "invalid_request"
    # A worker says of these that there is no such event.
    for event in ("NoSuchEvent", 5, None):
        assert read(request(event, TOOL)).message["eventName"] == event


def test_a_deadline_is_counted_from_now_and_is_an_hour_away_at_most() -> None:
    def left(deadline: float) -> float:
        text = str(int((time.time() + deadline) * 1000))
        return read(request("BeforeTool", TOOL), Hookline_Deadline=text).expires - 100

    assert 19 < left(20) <= 20
    assert left(5000) == 3600
    assert read(request("BeforeTool", TOOL)).expires == 170
    late = str(int(time.time() * 1000) - 50)
    assert code_of(request("BeforeTool", TOOL), Hookline_Deadline=late) == "deadline_exceeded"


def test_a_number_in_a_header_has_15_digits_at_most() -> None:
    message = request("BeforeTool", TOOL)
    assert read(message, Hookline_Deadline="9" * 15).expires == 3700
    assert code_of(message, Hookline_Deadline="9" * 16) == "invalid_request"
    attempts = ("3", "9" * 15, "9" * 16, "-1", "")
    read_back = [read(message, Hookline_Attempt=text).attempt for text in attempts]
    assert read_back == [3, 10**15 - 1, 0, 0, 0]


def test_headers_have_the_deadline_and_from_the_second_attempt_on_its_number() -> None:
    assert encode_headers(17, 0) == b"NATS/1.0\r\nHookline-Deadline: 17\r\n\r\n"
    assert encode_headers(17, 2) == (
        b"NATS/1.0\r\nHookline-Deadline: 17\r\nHookline-Attempt: 2\r\n\r\n"
    )


def test_a_refusal_without_the_id_of_the_request_is_its_response_and_a_success_is_not() -> None:
    def response(**fields: Any) -> bytes:
        kind = "hook-execution-response"
        return json.dumps({"type": kind, "correlationId": "another", **fields}).encode()

    refused = response(success=False, error={"code": "busy", "message": "m"})
    assert read_response(refused, {"correlationId": "mine"})["correlationId"] == "mine"
    with pytest.raises(RequestFailed, match="another request"):
        read_response(response(success=True), {"correlationId": "mine"})
    for asked in ({}, {"correlationId": "another"}):
        assert read_response(response(success=True), asked)["correlationId"] == "another"


@pytest.mark.parametrize(
    "response",
    [
        b"{",
        b"[]",
        b'{"type":"hook-execution-request","success":true}',
        b'{"type":"hook-execution-response"}',
        b'{"type":"hook-execution-response","success":false,"error":"no"}',
        b'{"type":"hook-execution-response","success":true,"error":null}',
    ],
)
def test_a_response_has_its_type_success_and_an_error_that_is_an_object(response: bytes) -> None:
    with pytest.raises(RequestFailed) as caught:
        read_response(response, {})
    assert caught.value.code == "invalid_response"


def test_subjects_begin_with_the_prefix_and_only_events_have_their_own() -> None:
    subjects = make_subjects("team.a", "inbox-b")
    assert subjects.subjects_for("BeforeTool") == (
        "team.a.request.BeforeTool",
        "team.a.wait.BeforeTool",
    )
    assert subjects.subjects_for("No.Event") == ("team.a.request.other", "team.a.wait.other")
    assert subjects.subscriptions_for("wait", None) == ["team.a.wait.*"]
    assert subjects.subscriptions_for("wait", ("B", "A")) == ["team.a.wait.A", "team.a.wait.B"]
    assert (subjects.response, subjects.stats) == ("team.a.response", "team.a.stats")
    assert subjects.new_inbox().startswith("inbox-b.")
    assert make_subjects("team").new_inbox().startswith("team.inbox.")
    for prefix, inbox in (("a.*", None), ("a", "b c")):
        with pytest.raises(BusConnectionError, match="cannot be the prefix of subjects"):
            make_subjects(prefix, inbox)


async def test_a_request_that_fills_the_servers_payload_is_sent_and_one_byte_more_is_not(
    tmp_path: Path,
) -> None:
    with nats_server(tmp_path / "nats", "max_payload: 1000\n") as server:
        async with NatsMessageBus(server.url) as bus:
            message = request("BeforeAgent", {"prompt": ""})
            until = int((time.time() + 20) * 1000)
            room = 1000 - len(encode_request(message)) - len(encode_headers(until, 0))
            codes = []
            for size in (room, room + 1):
                message["input"]["prompt"] = "x" * size
                response = await bus.request(message, timeout=20)
                codes.append(response["error"]["code"])
            assert bus.state == "connected"
    assert codes == ["unavailable", "request_too_large"]
    assert "1001 bytes, and the NATS server takes 1000" in response["error"]["message"]


async def test_a_response_that_fills_the_servers_payload_is_sent_and_one_byte_more_is_not(
    tmp_path: Path,
) -> None:
    with nats_server(tmp_path / "nats", "max_payload: 2000\n") as server:
        async with NatsMessageBus(server.url) as bus:

            async def answer(message: Json) -> None:
                said = {"type": "hook-execution-response", "success": True, "padding": ""}
                said |= {"correlationId": message["correlationId"]}
                room = message["input"]["bytes"] - len(json.dumps(said, separators=(",", ":")))
                await bus.publish({**said, "padding": "x" * room})

            bus.subscribe("hook-execution-request", answer)  # type: ignore[arg-type]
            fits = await bus.request(request("BeforeAgent", {"bytes": 2000}), timeout=20)
            again = request("BeforeAgent", {"bytes": 2001}, correlationId="id-2")
            too_long = await bus.request(again, timeout=20)
    assert fits["success"] is True
    assert too_long["error"]["code"] == "response_failed"
    assert "2001 bytes" in too_long["error"]["message"]
