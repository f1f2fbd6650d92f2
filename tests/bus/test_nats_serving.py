"""A bus that serves: what it refuses, how it steps aside when it is full, and how it ends."""

import asyncio
import json
import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import nats
import pytest
from nats.aio.client import Client

from hookline.bus import MessageBusType, request_hook_execution
from hookline.bus.nats import BusConnectionError, NatsMessageBus, ServingOptions
from tests.bus.answers import request
from tests.eleven import Json, command, on_every_event, started, until
from tests.harness.scratch import Project

TOOL: Json = {"tool_name": "read", "tool_input": {}}
REQUEST = MessageBusType.HOOK_EXECUTION_REQUEST
RESPONSE = MessageBusType.HOOK_EXECUTION_RESPONSE


@asynccontextmanager
async def raw(url: str) -> AsyncIterator[Client]:
    """Somebody who speaks NATS and may send anything."""
    client = await nats.connect(url)
    try:
        yield client
    finally:
        tasks = [client._reading_task, client._ping_interval_task, client._flusher_task]
        tasks += [sub._wait_for_msgs_task for sub in client._subs.values()]
        await client.close()
        await asyncio.wait([task for task in tasks if task is not None])


async def ask_raw(client: Client, subject: str, body: bytes, **headers: str) -> Json:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    answer = await client.request(subject, body, timeout=10, headers=named or None)
    return dict(json.loads(answer.data))


class Gate:
    """A handler that holds each request until it is let go, and then answers it."""

    def __init__(self, bus: NatsMessageBus) -> None:
        self._bus = bus
        self.held: list[str] = []
        self.open = asyncio.Event()
        bus.subscribe(REQUEST, self.handle)

    async def handle(self, message: Json) -> None:
        self.held.append(message["correlationId"])
        await self.open.wait()
        await self._bus.publish(
            {"type": RESPONSE.value, "correlationId": message["correlationId"], "success": True}
        )


def limited(concurrency: int, **options: Any) -> ServingOptions:
    return ServingOptions(concurrency=concurrency, **options)


@pytest.mark.parametrize(
    ("body", "headers", "code"),
    [
        (b"{", {}, "invalid_request"),
        (b"[]", {}, "invalid_request"),
        (b"\xff", {}, "invalid_request"),
        (json.dumps(request("BeforeTool", TOOL, correlationId=5)).encode(), {}, "invalid_request"),
        (json.dumps(request("BeforeTool", [])).encode(), {}, "invalid_request"),
        (json.dumps(request(["BeforeTool"], TOOL)).encode(), {}, "invalid_request"),
        (json.dumps(request("BeforeTol", TOOL)).encode(), {}, "unsupported_event"),
        (json.dumps(request("BeforeTool", {})).encode(), {}, "invalid_payload"),
        (
            json.dumps(request("BeforeTool", TOOL)).encode(),
            {"Hookline_Deadline": "1700000000000"},
            "deadline_exceeded",
        ),
        (
            json.dumps(request("BeforeTool", TOOL)).encode(),
            {"Hookline_Deadline": "soon"},
            "invalid_request",
        ),
        (b'{"input": "' + b"x" * 5000 + b'"}', {}, "request_too_large"),
    ],
)
async def test_what_is_no_request_is_refused_with_a_code_and_no_hook_runs(
    nats_url: str, prefix: str, tmp_path: Path, body: bytes, headers: dict[str, str], code: str
) -> None:
    serving = ServingOptions(max_request_bytes=5000)
    async with NatsMessageBus(nats_url, prefix=prefix, serving=serving) as bus, raw(nats_url) as me:
        system = await started(tmp_path / "w", message_bus=bus)
        seen: list[Any] = []
        system.register_hook("BeforeTool", seen.append)
        await bus.connect()
        await until_served(me, prefix)
        answer = await ask_raw(me, f"{prefix}.request.BeforeTool", body, **headers)
        system.dispose()
    assert (answer["success"], answer["error"]["code"]) == (False, code)
    assert seen == []


async def until_served(client: Client, prefix: str, *, event: str = "other") -> None:
    async with asyncio.timeout(20):
        while True:
            try:
                await client.request(f"{prefix}.request.{event}", b"{}", timeout=10)
                return
            except nats.errors.NoRespondersError:
                await asyncio.sleep(0.005)


@pytest.mark.parametrize("queue", ["", "a b", "a\r\nb", "*", ">"])
def test_a_queue_that_would_not_share_its_requests_is_refused(queue: str) -> None:
    with pytest.raises(BusConnectionError, match="cannot be the name of a queue"):
        ServingOptions(queue=queue)


async def test_a_request_seen_before_is_refused_and_its_copy_is_answered_once(
    nats_url: str, prefix: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with NatsMessageBus(nats_url, prefix=prefix) as bus, raw(nats_url) as me:
        system = await started(tmp_path / "w", message_bus=bus)
        seen: list[Any] = []
        system.register_hook("BeforeTool", seen.append)
        await until_served(me, prefix)
        body = json.dumps(request("BeforeTool", TOOL)).encode()
        subject = f"{prefix}.request.BeforeTool"
        first = await ask_raw(me, subject, body)
        second = await ask_raw(me, subject, body)
        answers = await me.subscribe(f"{prefix}-mine")
        other = json.dumps(request("BeforeTool", TOOL, correlationId="id-2")).encode()
        for _ in range(2):
            await me.publish(subject, other, reply=f"{prefix}-mine")
        await until(lambda: bus.serving_status()["refused"].get("copy") == 1)
        await until(lambda: answers.pending_msgs == 1)
        await answers.unsubscribe()
        system.dispose()
    assert first["success"] is True
    assert second["error"]["code"] == "duplicate_request"
    assert len(seen) == 2
    assert "the request 'id-2' was delivered twice; the copy is dropped" in caplog.text


async def test_a_full_worker_hands_on_what_it_has_no_place_for(nats_url: str, prefix: str) -> None:
    one = NatsMessageBus(nats_url, prefix=prefix, serving=limited(1))
    two = NatsMessageBus(nats_url, prefix=prefix, serving=limited(3))
    gates = [Gate(one), Gate(two)]
    async with one, two, NatsMessageBus(nats_url, prefix=prefix) as asking:
        work = [
            asyncio.create_task(request_hook_execution(asking, "BeforeTool", TOOL))
            for _ in range(4)
        ]
        # Wherever NATS puts them: the four find the four places there are.
        await until(lambda: [len(gate.held) for gate in gates] == [1, 3])
        for gate in gates:
            gate.open.set()
        responses = await asyncio.gather(*work)
    assert all(response["success"] for response in responses)


async def test_when_all_are_full_requests_wait_and_none_is_lost_or_carried_out_twice(
    nats_url: str, prefix: str
) -> None:
    buses = [NatsMessageBus(nats_url, prefix=prefix, serving=limited(2)) for _ in range(2)]
    gates = [Gate(bus) for bus in buses]
    async with buses[0], buses[1], NatsMessageBus(nats_url, prefix=prefix) as asking:
        work = [
            asyncio.create_task(request_hook_execution(asking, "BeforeTool", TOOL))
            for _ in range(50)
        ]
        await until(
            lambda: (
                sum(bus.serving_status()["waiting"] for bus in buses) == 46
                and [len(gate.held) for gate in gates] == [2, 2]
            )
        )
        for gate in gates:
            gate.open.set()
        responses = await asyncio.gather(*work)
    held = [*gates[0].held, *gates[1].held]
    assert all(response["success"] for response in responses)
    assert sorted(held) == sorted({response["correlationId"] for response in responses})


async def test_a_full_backlog_is_an_explicit_failure(nats_url: str, prefix: str) -> None:
    bus = NatsMessageBus(nats_url, prefix=prefix, serving=limited(1, backlog=1))
    gate = Gate(bus)
    async with bus, NatsMessageBus(nats_url, prefix=prefix) as asking:
        work = [
            asyncio.create_task(request_hook_execution(asking, "BeforeTool", TOOL))
            for _ in range(3)
        ]
        done, _ = await asyncio.wait(work, return_when=asyncio.FIRST_COMPLETED)
        gate.open.set()
        responses = await asyncio.gather(*work)
    assert [task.result()["error"]["code"] for task in done] == ["overloaded"]
    assert sorted(response["success"] for response in responses) == [False, True, True]


async def test_what_waits_past_its_deadline_is_not_carried_out(nats_url: str, prefix: str) -> None:
    bus = NatsMessageBus(nats_url, prefix=prefix, serving=limited(1))
    gate = Gate(bus)
    async with bus, NatsMessageBus(nats_url, prefix=prefix) as asking:
        first = asyncio.create_task(request_hook_execution(asking, "BeforeTool", TOOL))
        await until(lambda: len(gate.held) == 1)
        late = await request_hook_execution(asking, "BeforeTool", TOOL, timeout=0.05)
        gate.open.set()
        assert (await first)["success"] is True
        await until(lambda: bus.serving_status()["refused"] == {"deadline_exceeded": 1})
    assert late["error"]["code"] == "timeout"
    assert len(gate.held) == 1


async def test_a_worker_of_some_events_serves_no_others(nats_url: str, prefix: str) -> None:
    serving = ServingOptions(events=("BeforeTool",))
    bus = NatsMessageBus(nats_url, prefix=prefix, serving=serving)
    Gate(bus).open.set()
    async with bus, NatsMessageBus(nats_url, prefix=prefix) as asking:
        served = await request_hook_execution(asking, "BeforeTool", TOOL)
        other = await request_hook_execution(asking, "BeforeAgent", {"prompt": "p"})
    assert served["success"] is True
    assert other["error"]["code"] == "unavailable"


async def test_a_worker_of_all_events_and_one_of_some_share_their_requests(
    nats_url: str, prefix: str
) -> None:
    some = NatsMessageBus(nats_url, prefix=prefix, serving=ServingOptions(events=("BeforeTool",)))
    every = NatsMessageBus(nats_url, prefix=prefix)
    gates = [Gate(some), Gate(every)]
    for gate in gates:
        gate.open.set()
    async with some, every, NatsMessageBus(nats_url, prefix=prefix) as asking:
        for _ in range(40):
            await request_hook_execution(asking, "BeforeTool", TOOL)
    counts = [len(gate.held) for gate in gates]
    assert sum(counts) == 40
    assert all(counts)


async def test_draining_finishes_its_whole_backlog_and_takes_nothing_new(
    nats_url: str, prefix: str
) -> None:
    bus = NatsMessageBus(nats_url, prefix=prefix, serving=limited(1))
    gate = Gate(bus)
    async with bus, NatsMessageBus(nats_url, prefix=prefix) as asking:
        held = [
            asyncio.create_task(request_hook_execution(asking, "BeforeTool", TOOL))
            for _ in range(3)
        ]
        await asyncio.sleep(0.5)  # those that came before the worker stepped aside come again
        await until(lambda: bus.serving_status()["waiting"] == 2)
        draining = asyncio.create_task(bus.drain())
        late = await until_unavailable(asking)
        # Past the time after which a worker that does not drain hands back what waits.
        await asyncio.sleep(0.3)
        gate.open.set()
        await draining
        responses = await asyncio.gather(*held)
    assert late["error"]["code"] == "unavailable"
    assert [response["success"] for response in responses] == [True, True, True]
    assert sorted(gate.held) == sorted(response["correlationId"] for response in responses)


async def until_unavailable(bus: NatsMessageBus) -> Any:
    async with asyncio.timeout(20):
        while True:
            response = await request_hook_execution(bus, "BeforeAgent", {}, timeout=0.05)
            if response["error"]["code"] == "unavailable":
                return response


async def test_the_deadline_of_who_asked_ends_the_hooks_of_the_worker(
    nats_url: str, prefix: str, project: Project
) -> None:
    hooks = on_every_event(command("echo $$ > pid.part; mv pid.part pid; exec sleep 60"))
    async with NatsMessageBus(nats_url, prefix=prefix) as bus:
        system = await started(project.path, hooks, message_bus=bus)
        before = time.monotonic()
        response = await request_hook_execution(bus, "BeforeTool", TOOL, timeout=1)
        assert time.monotonic() - before < 10
        pid = int((project.path / "pid").read_text())
        await until(lambda: not is_running(pid))
        system.dispose()
    assert response["error"]["code"] == "timeout"


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def test_closing_ends_the_hooks_and_answers_that_it_did(
    nats_url: str, prefix: str, project: Project
) -> None:
    hooks = on_every_event(command("echo $$ > pid.part; mv pid.part pid; exec sleep 60"))
    async with NatsMessageBus(nats_url, prefix=prefix) as asking:
        bus = NatsMessageBus(nats_url, prefix=prefix)
        system = await started(project.path, hooks, message_bus=bus)
        await bus.connect()
        work = asyncio.create_task(request_hook_execution(asking, "BeforeTool", TOOL))
        await until((project.path / "pid").exists)
        await bus.close()
        response = await work
        system.dispose()
    assert response["error"]["code"] == "execution_failed"
    assert "cancelled" in response["error"]["message"]
    assert not is_running(int((project.path / "pid").read_text()))


async def test_nothing_in_a_request_names_what_is_run_or_where(
    nats_url: str, prefix: str, project: Project, tmp_path: Path
) -> None:
    hook = command('cat > stdin.json; printf \'{"reason":"%s %s"}\' "$PWD" "$EVIL"')
    evil: Json = {
        "cwd": str(tmp_path),
        "hook_event_name": "Forged",
        "command": "touch evil",
        "args": ["evil"],
        "env": {"EVIL": "1"},
        "hooks": {"BeforeTool": [{"hooks": [command("touch evil")]}]},
        "project_dir": str(tmp_path),
        "transcript_path": "/etc/passwd",
    }
    async with NatsMessageBus(nats_url, prefix=prefix) as bus:
        system = await started(project.path, on_every_event(hook), message_bus=bus)
        response = await request_hook_execution(bus, "BeforeTool", {**TOOL, **evil})
        system.dispose()
    final = response["output"]["finalOutput"] or {}
    read = json.loads((project.path / "stdin.json").read_text())
    assert final["reason"] == f"{project.path} "
    assert (read["cwd"], read["hook_event_name"]) == (str(project.path), "BeforeTool")
    assert (read["command"], read["env"]) == ("touch evil", {"EVIL": "1"})
    assert [path.name for path in project.path.iterdir()] == ["stdin.json"]


async def test_a_handler_that_answers_twice_sends_the_caller_its_first_answer_alone(
    nats_url: str, prefix: str
) -> None:
    async with NatsMessageBus(nats_url, prefix=prefix) as bus, raw(nats_url) as me:

        async def answer_twice(message: Json) -> None:
            answer = {"type": RESPONSE.value, "correlationId": message["correlationId"]}
            for number in (1, 2):
                await bus.publish({**answer, "success": True, "output": {"totalDuration": number}})

        bus.subscribe(REQUEST, answer_twice)
        await until_served(me, prefix)
        inbox = await me.subscribe(f"{prefix}-mine")
        stray = await me.subscribe(f"{prefix}.response")
        body = json.dumps(request("BeforeTool", TOOL)).encode()
        await me.publish(f"{prefix}.request.BeforeTool", body, reply=f"{prefix}-mine")
        second = json.loads((await stray.next_msg(10)).data)
        first = json.loads((await inbox.next_msg(10)).data)
        assert inbox.pending_msgs == 0
        assert bus.serving_status()["answered"] == 1
        for subscription in (inbox, stray):
            await subscription.unsubscribe()
    assert [answer["output"]["totalDuration"] for answer in (first, second)] == [1, 2]


@pytest.mark.parametrize("remembered", [1, 2])
async def test_a_worker_remembers_the_ids_of_so_many_requests(
    nats_url: str, prefix: str, remembered: int
) -> None:
    serving = ServingOptions(remembered_ids=remembered)
    async with NatsMessageBus(nats_url, prefix=prefix, serving=serving) as bus, raw(nats_url) as me:
        Gate(bus).open.set()
        await until_served(me, prefix)
        codes = []
        for name in ("a", "b", "a"):
            body = json.dumps(request("BeforeTool", TOOL, correlationId=name)).encode()
            answer = await ask_raw(me, f"{prefix}.request.BeforeTool", body)
            codes.append(answer.get("error", {}).get("code"))
    assert codes == [None, None, None if remembered == 1 else "duplicate_request"]


@pytest.mark.parametrize("backlog", [0, 2])
async def test_a_backlog_takes_exactly_so_many_requests(
    nats_url: str, prefix: str, backlog: int
) -> None:
    bus = NatsMessageBus(nats_url, prefix=prefix, serving=limited(1, backlog=backlog))
    gate = Gate(bus)
    async with bus, raw(nats_url) as me:
        inbox = await me.subscribe(f"{prefix}-mine")
        for number in range(backlog + 2):
            body = json.dumps(request("BeforeTool", TOOL, correlationId=f"{number}")).encode()
            headers = {"Hookline-Attempt": "10"}
            subject = f"{prefix}.wait.BeforeTool"
            await me.publish(subject, body, reply=f"{prefix}-mine", headers=headers)
        refused = json.loads((await inbox.next_msg(10)).data)
        assert (bus.serving_status()["waiting"], len(gate.held)) == (backlog, 1)
        gate.open.set()
        await until(lambda: bus.serving_status()["answered"] == backlog + 1)
        await inbox.unsubscribe()
    assert refused["error"]["code"] == "overloaded"
    assert refused["correlationId"] == f"{backlog + 1}"
    assert bus.serving_status()["handed_back"] == 1
