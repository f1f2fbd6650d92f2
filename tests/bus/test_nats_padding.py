"""What is too large for the bus, in either direction: no denial gets lost by it, and what was not
checked is said to be so."""

import json
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from hookline.bus import request_hook_execution
from hookline.bus.nats import NatsMessageBus, ServingOptions
from hookline.trace.records import DebugLogger
from tests.bus.test_nats_hostile import answer_to, listen
from tests.bus.test_nats_serving import raw
from tests.eleven import REQUEST as MODEL_REQUEST
from tests.eleven import Json, answering, command, on_every_event, started
from tests.engine.test_remote_blocking import completed, fire

PADDING = "x" * 1_100_000
DENY = answering('{"decision":"deny","reason":"here"}')


@pytest.fixture
async def bus(nats_url: str, prefix: str) -> AsyncIterator[NatsMessageBus]:
    async with NatsMessageBus(nats_url, prefix=prefix) as bus:
        yield bus


@pytest.mark.parametrize(
    ("meaning", "execution", "decision", "told"),
    [
        ("allow", "remote", "allow", "no hook was asked: {}; it goes on unchecked"),
        ("block", "remote", "deny", "no hook was asked: {}; it is blocked"),
        (
            "local",
            "remote",
            "deny",
            "no hook of a worker was asked: {}; the hooks here run instead",
        ),
        ("allow", "local+remote", "deny", "no hook of a worker was asked: {}; the hooks here run"),
    ],
)
async def test_a_padded_input_is_said_to_be_unchecked(
    tmp_path: Path, bus: NatsMessageBus, meaning: Any, execution: Any, decision: str, told: str
) -> None:
    records: list[Json] = []
    worker = await started(tmp_path / "w", on_every_event(DENY), message_bus=bus)
    agent = await started(
        tmp_path / "a",
        on_every_event(DENY),
        remote_bus=bus,
        on_unavailable=meaning,
        execution=execution,
        debug_logger=DebugLogger(records.append, warn=lambda _text: None),
    )
    answer = await agent.get_event_handler().fire_before_tool_event("shell", {"padding": PADDING})
    worker.dispose()
    before, after = told.split("{}")
    message = answer.errors[-1].message
    assert answer.decision == decision
    assert answer.errors[-1].code == "request_too_large"
    assert message.startswith(f"{before}the request is larger than the bus takes (")
    assert after in message
    assert any(message in record.get("message", "") for record in records)
    # With a block nothing goes on, and with "local" the hooks here decide.
    unchecked = {"request_too_large": 1} if meaning == "allow" else {}
    assert agent.get_status().unchecked == unchecked


async def test_each_large_request_that_goes_on_is_told_with_its_size_and_counted(
    tmp_path: Path, bus: NatsMessageBus
) -> None:
    told: list[str] = []
    worker = await started(tmp_path / "w", on_every_event(DENY), message_bus=bus)
    log = DebugLogger(warn=told.append)
    agent = await started(tmp_path / "a", remote_bus=bus, debug_logger=log)
    handler = agent.get_event_handler()
    for _ in range(3):
        answer = await handler.fire_before_tool_event("shell", {"padding": "x" * 1_200_000})
        assert not answer.blocked
    assert (await handler.fire_before_tool_event("shell", {})).blocked
    worker.dispose()
    assert agent.get_status().unchecked == {"request_too_large": 3}
    assert len(told) == 3
    for text in told:
        assert re.search(r"has 12\d{5} bytes, and the NATS server takes 1048576", text)
        assert text.endswith("it goes on unchecked")


async def test_a_worker_that_takes_less_than_the_server_says_so_too(
    tmp_path: Path, nats_url: str, prefix: str
) -> None:
    serving = ServingOptions(max_request_bytes=1000)
    worker_bus = NatsMessageBus(nats_url, prefix=prefix, serving=serving)
    await started(tmp_path, on_every_event(DENY), message_bus=worker_bus)
    async with worker_bus, NatsMessageBus(nats_url, prefix=prefix) as bus:
        agent = await started(tmp_path, remote_bus=bus)
        answer = await agent.get_event_handler().fire_before_tool_event("shell", {"x": "x" * 2000})
    assert answer.errors[0].message.endswith("; it goes on unchecked")


def printing(output: str) -> str:
    """A command that prints this, an expression of Python's, as JSON."""
    return f"python3 -c 'import json; print(json.dumps({output}))'"


REASONS: dict[str, str] = {
    # As those that guard content do; the reason is in a response twice.
    "quotes its input": "cat >&2; exit 2",
    "denies at length": printing('{"decision": "deny", "reason": "x" * 2000000}'),
    "stops at length": printing('{"continue": False, "stopReason": "x" * 900000}'),
    "pads what it adds": printing(
        '{"decision": "deny", "hookSpecificOutput": {"additionalContext": "x" * 900000}}'
    ),
}


@pytest.mark.parametrize("reason", REASONS)
async def test_a_denial_that_is_too_long_to_send_is_sent_shorter(
    tmp_path: Path, bus: NatsMessageBus, reason: str
) -> None:
    hooks = on_every_event(command(REASONS[reason], name="guard"))
    worker = await started(tmp_path, hooks, message_bus=bus)
    agent = await started(tmp_path / "a", remote_bus=bus)
    padded = {"content": "x" * 700_000}
    answer = await agent.get_event_handler().fire_before_tool_event("shell", padded)
    worker.dispose()
    assert answer.blocked
    assert answer.reason
    assert "too long to send" in str(answer.errors)


async def test_a_shortened_denial_still_names_the_policy(
    tmp_path: Path, bus: NatsMessageBus
) -> None:
    hooks = on_every_event(command(REASONS["stops at length"], name="guard"))
    worker = await started(tmp_path, hooks, message_bus=bus)
    answer = await fire(bus, required=["guard"], policy=worker.engine.get_policy_digest())
    worker.dispose()
    assert answer.stopped


async def test_an_answer_that_is_too_long_and_allows_is_an_outage(
    tmp_path: Path, bus: NatsMessageBus
) -> None:
    said = printing('{"hookSpecificOutput": {"additionalContext": "x" * 900000}}')
    worker = await started(tmp_path, on_every_event(command(said)), message_bus=bus)
    answer = await fire(bus, on_unavailable="block")
    worker.dispose()
    assert answer.decision == "deny"
    assert answer.errors[0].code == "response_failed"


async def test_a_denial_with_half_a_character_arrives(tmp_path: Path, bus: NatsMessageBus) -> None:
    said = """printf '%s' '{"decision":"deny","reason":"\\ud800 no"}'"""
    worker = await started(tmp_path, on_every_event(command(said)), message_bus=bus)
    answer = await fire(bus, on_unavailable="allow")
    worker.dispose()
    assert answer.decision == "deny"


async def test_an_answer_in_the_models_place_that_is_too_long_keeps_the_model_from_being_asked(
    tmp_path: Path, bus: NatsMessageBus
) -> None:
    part = '{"content": {"role": "model", "parts": ["x" * 1100000]}}'
    said = printing('{"hookSpecificOutput": {"llm_response": {"candidates": [' + part + "]}}}")
    worker = await started(tmp_path, on_every_event(command(said)), message_bus=bus)
    agent = await started(tmp_path / "a", remote_bus=bus)
    answer = await agent.get_event_handler().fire_before_model_event(MODEL_REQUEST)
    worker.dispose()
    assert answer.denied
    assert "too long to send" in (answer.reason or "")


@pytest.mark.parametrize("subject", ["response", "inbox.of-somebody-else", "stats"])
async def test_a_response_by_another_subject_is_no_response(
    bus: NatsMessageBus, nats_url: str, prefix: str, subject: str
) -> None:
    async with raw(nats_url) as me:

        async def answer_elsewhere(message: Any) -> None:
            said = answer_to(json.loads(message.data), **completed())
            await me.publish(f"{prefix}.{subject}", json.dumps(said).encode())

        await listen(me, f"{prefix}.request.*", answer_elsewhere)
        answer = await fire(bus, remote_timeout=0.5)
    assert answer.decision == "deny"
    assert answer.errors[0].code == "timeout"


@pytest.mark.parametrize(
    "said",
    [
        {"correlationId": "of another"},
        {"correlationId": None},
        {"success": "true"},
        {"success": "true", "correlationId": "of another"},
        {"type": "hook-execution-request"},
        {"output": {}},
    ],
    ids=str,
)
async def test_a_responder_that_lies_over_nats_blocks(
    bus: NatsMessageBus, nats_url: str, prefix: str, said: Json
) -> None:
    async with raw(nats_url) as me:

        async def lie(message: Any) -> None:
            asked = json.loads(message.data)
            await message.respond(json.dumps({**answer_to(asked, **completed()), **said}).encode())

        await listen(me, f"{prefix}.request.*", lie)
        answer = await fire(bus)
    assert answer.decision == "deny"
    assert answer.errors[0].code == "invalid_response"


async def test_a_responder_that_is_busy_for_ever_is_an_outage_at_the_deadline(
    bus: NatsMessageBus, nats_url: str, prefix: str
) -> None:
    async with raw(nats_url) as me:

        async def put_off(message: Any) -> None:
            asked = json.loads(message.data)
            busy = {"success": False, "error": {"code": "busy", "message": "later"}}
            await message.respond(json.dumps(answer_to(asked, **busy)).encode())

        await listen(me, f"{prefix}.request.*", put_off)
        answer = await fire(bus, remote_timeout=0.5)
        response = await request_hook_execution(bus, "BeforeAgent", {"prompt": "p"}, timeout=0.2)
    assert answer.decision == "deny"
    assert response["error"]["code"] == "timeout"


async def test_a_second_response_changes_nothing(
    bus: NatsMessageBus, nats_url: str, prefix: str
) -> None:
    denial = {"finalOutput": {"decision": "deny", "reason": "no"}, "allOutputs": []}
    async with raw(nats_url) as me:

        async def answer_twice(message: Any) -> None:
            asked = json.loads(message.data)
            for said in (completed(**denial), completed()):
                await message.respond(json.dumps(answer_to(asked, **said)).encode())

        await listen(me, f"{prefix}.request.*", answer_twice)
        answers = [await fire(bus) for _ in range(3)]
    assert [answer.reason for answer in answers] == ["no"] * 3
