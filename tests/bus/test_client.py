"""The caller's side: one response or a failed one in time, and nothing left of the request."""

import asyncio
import os
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from hookline.bus import InProcessMessageBus, MessageBusType, request_hook_execution
from hookline.wire.events import HookEventName
from tests.eleven import Json, command, on_every_event, started, until
from tests.harness.scratch import Project

TOOL: Json = {"tool_name": "read", "tool_input": {}}
SLEEPER = command("echo $$ > pid.part; mv pid.part pid; exec sleep 60")


def is_running(project: Project) -> bool:
    try:
        os.kill(int((project.path / "pid").read_text()), 0)
    except (ProcessLookupError, FileNotFoundError):
        return False
    return True


@pytest.mark.requirement("DELTA-HEVT-002")
@pytest.mark.parametrize("name", ["BeforeTool", HookEventName.BEFORE_TOOL])
async def test_the_response_that_matches_is_returned(tmp_path: Path, name: str) -> None:
    bus = InProcessMessageBus()
    system = await started(tmp_path / "w", message_bus=bus)
    system.register_hook("BeforeTool", lambda _document: {"decision": "ask"}, name="ask")
    response = await request_hook_execution(bus, name, TOOL, correlation_id="mine")
    assert response["correlationId"] == "mine"
    assert response["output"]["finalOutput"] == {
        "continue": True,
        "suppressOutput": False,
        "decision": "ask",
    }


async def test_many_at_once_each_get_their_own(tmp_path: Path) -> None:
    bus = InProcessMessageBus()
    system = await started(tmp_path / "w", message_bus=bus)

    async def echo(document: Json) -> Json:
        await asyncio.sleep(0.001 * (20 - int(document["tool_name"])))
        return {"reason": document["tool_name"]}

    system.register_hook("BeforeTool", echo)
    payloads = [{"tool_name": str(n), "tool_input": {}} for n in range(20)]
    responses = await asyncio.gather(
        *(request_hook_execution(bus, "BeforeTool", payload) for payload in payloads)
    )
    finals = [response["output"]["finalOutput"] or {} for response in responses]
    assert [final["reason"] for final in finals] == [str(n) for n in range(20)]


async def test_running_out_of_time_is_a_failed_response_and_ends_the_hook(
    project: Project,
) -> None:
    bus = InProcessMessageBus()
    await started(project.path, on_every_event(SLEEPER), message_bus=bus)
    before = time.monotonic()
    response = await request_hook_execution(bus, "BeforeTool", TOOL, correlation_id="c", timeout=1)
    assert time.monotonic() - before < 10
    assert (response["success"], response["correlationId"]) == (False, "c")
    assert response["error"]["code"] == "timeout"
    assert not is_running(project)


async def test_nobody_who_serves_is_a_timeout_too() -> None:
    bus = InProcessMessageBus()
    response = await request_hook_execution(bus, "BeforeTool", TOOL, timeout=0.05)
    assert response["error"] == {
        "code": "timeout",
        "message": "no response within 0.05 s",
        "details": {"stage": "response"},
    }


async def test_cancelling_the_caller_ends_the_hook(project: Project) -> None:
    bus = InProcessMessageBus()
    await started(project.path, on_every_event(SLEEPER), message_bus=bus)
    requesting = asyncio.create_task(request_hook_execution(bus, "BeforeTool", TOOL))
    await until((project.path / "pid").exists)
    requesting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await requesting
    assert not is_running(project)


async def test_a_cancellation_while_a_late_hook_is_ended_is_not_swallowed() -> None:
    bus = InProcessMessageBus()
    ending = asyncio.Event()

    async def stubborn(_message: Any) -> None:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            ending.set()
            await asyncio.sleep(0.05)

    bus.subscribe(MessageBusType.HOOK_EXECUTION_REQUEST, stubborn)
    requesting = asyncio.create_task(request_hook_execution(bus, "BeforeTool", TOOL, timeout=0.01))
    await ending.wait()
    requesting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await requesting


async def test_others_who_hear_the_request_are_not_cut_short_by_the_response(
    tmp_path: Path,
) -> None:
    bus, audited = InProcessMessageBus(), []
    await started(tmp_path / "w", message_bus=bus)

    async def audit(message: Mapping[str, Any]) -> None:
        await asyncio.sleep(0.05)
        audited.append(message["eventName"])

    bus.subscribe(MessageBusType.HOOK_EXECUTION_REQUEST, audit)
    response = await request_hook_execution(bus, "BeforeTool", TOOL)
    assert response["success"] is True
    assert audited == ["BeforeTool"]


@pytest.mark.parametrize("error", [ConnectionError("the line is dead"), asyncio.CancelledError()])
async def test_a_request_that_cannot_be_published_is_a_failed_response(
    error: BaseException,
) -> None:
    class Broken(InProcessMessageBus):
        async def publish(self, message: Mapping[str, Any]) -> None:
            assert message["eventName"] == "BeforeTool"
            raise error

    response = await request_hook_execution(Broken(), "BeforeTool", TOOL, timeout=5)
    assert response["error"]["code"] == "internal_error"
    assert response["error"]["message"].startswith("publishing failed: ")


async def test_an_event_that_does_not_exist_is_for_the_server_to_refuse(tmp_path: Path) -> None:
    bus = InProcessMessageBus()
    await started(tmp_path / "w", message_bus=bus)
    response = await request_hook_execution(bus, "BeforeTol", TOOL)
    assert response["error"]["code"] == "unsupported_event"


async def test_the_response_may_come_from_another_threads_loop() -> None:
    bus = InProcessMessageBus()

    def serve(message: Mapping[str, Any]) -> None:
        response = {
            "type": "hook-execution-response",
            "correlationId": message["correlationId"],
            "success": True,
        }
        thread = threading.Thread(target=lambda: asyncio.run(bus.publish(response)))
        thread.start()
        thread.join()

    bus.subscribe(MessageBusType.HOOK_EXECUTION_REQUEST, serve)
    response = await request_hook_execution(bus, "BeforeTool", TOOL, timeout=5)
    assert response["success"] is True


async def test_every_request_has_an_id_of_its_own() -> None:
    bus = InProcessMessageBus()
    heard: list[str] = []
    bus.subscribe(
        MessageBusType.HOOK_EXECUTION_REQUEST, lambda given: heard.append(given["correlationId"])
    )
    for _ in range(5):
        await request_hook_execution(bus, "BeforeTool", TOOL, timeout=0.01)
    assert len(heard) == len({*heard}) == 5
    assert all(len(one) == 32 for one in heard)


class LateBus:
    """Answers from another thread, after ``publish`` has returned."""

    def subscribe(self, _type: Any, handler: Any) -> Callable[[], None]:
        self._handler = handler
        return lambda: None

    async def publish(self, message: Mapping[str, Any]) -> None:
        answer = {"correlationId": message["correlationId"], "success": True}
        self.thread = threading.Timer(0.02, self._handler, [answer])
        self.thread.start()


async def test_an_answer_from_another_thread_wakes_who_waits() -> None:
    bus = LateBus()
    before = time.monotonic()
    response = await request_hook_execution(bus, "BeforeTool", {}, timeout=20)
    assert time.monotonic() - before < 10
    assert response["success"] is True
    bus.thread.join()
