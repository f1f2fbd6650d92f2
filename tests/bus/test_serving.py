"""How long a system serves its bus, and what that does to the requests under way."""

import asyncio
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from hookline.bus import InProcessMessageBus, MessageBusType
from hookline.contract import Config
from tests.bus.answers import Answers, new_answers, request
from tests.eleven import Json, command, on_every_event, started, until
from tests.harness.scratch import Project

TOOL: Json = {"tool_name": "read", "tool_input": {}}


@pytest.fixture
def answers() -> Iterator[Answers]:
    yield from new_answers()


@pytest.mark.requirement("DELTA-HEVT-004")
async def test_after_dispose_nothing_is_handled(tmp_path: Path, answers: Answers) -> None:
    system = await started(tmp_path / "w", message_bus=answers.bus)
    handler = system.get_event_handler()
    system.dispose()
    system.dispose()
    handler.dispose()
    await answers.bus.publish(request("BeforeTool", TOOL))
    await handler.handle_hook_execution_request(request("BeforeTool", TOOL))
    assert answers.all == []
    assert (await handler.fire_before_agent_event("p")).success is True


@pytest.mark.requirement("DELTA-HEVT-004", "DELTA-HBUS-002")
async def test_without_a_bus_dispose_does_nothing_and_events_fire_as_before(
    tmp_path: Path,
) -> None:
    system = await started(tmp_path / "w")
    system.register_hook("BeforeAgent", lambda _document: {"decision": "deny"}, name="no")
    handler = system.get_event_handler()
    before = await handler.fire_before_agent_event("p")
    handler.dispose()
    after = await handler.fire_before_agent_event("p")
    assert before.final_output == after.final_output
    assert before.success is after.success is True


async def test_without_a_bus_a_request_is_carried_out_and_answered_to_nobody(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    system = await started(tmp_path / "w")
    await system.get_event_handler().handle_hook_execution_request(request("BeforeTool", TOOL))
    assert caplog.messages == ["cannot publish the response to a hook request: there is no bus"]


@pytest.mark.requirement("DELTA-HEVT-004")
async def test_a_request_under_way_when_the_system_is_disposed_is_still_answered(
    project: Project, answers: Answers
) -> None:
    slow = command("echo > began; while [ ! -e go ]; do sleep 0.01; done")
    system = await started(project.path, on_every_event(slow), message_bus=answers.bus)
    publishing = asyncio.create_task(answers.bus.publish(request("BeforeTool", TOOL)))
    await until((project.path / "began").exists)
    system.dispose()
    (project.path / "go").touch()
    await publishing
    assert [answer["success"] for answer in answers.all] == [True]


async def test_a_request_before_initialize_initializes(tmp_path: Path, answers: Answers) -> None:
    hooks = on_every_event(command('printf \'{"decision":"deny"}\''))
    config = Config(working_dir=tmp_path, hooks=hooks, message_bus=answers.bus)
    system = config.get_hook_system()
    assert system is not None
    assert system.get_status().initialized is False
    answer = await answers.to(request("BeforeTool", TOOL))
    assert answer["output"]["finalOutput"]["decision"] == "deny"
    assert system.get_status().initialized is True


async def test_a_cancelled_request_ends_its_hook_and_is_answered_too(
    project: Project, answers: Answers
) -> None:
    hooks = on_every_event(command("echo $$ > pid.part; mv pid.part pid; exec sleep 60"))
    await started(project.path, hooks, message_bus=answers.bus)
    publishing = asyncio.create_task(answers.bus.publish(request("BeforeTool", TOOL)))
    await until((project.path / "pid").exists)
    publishing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await publishing
    with pytest.raises(ProcessLookupError):
        os.kill(int((project.path / "pid").read_text()), 0)
    [answer] = answers.all
    assert answer["error"]["code"] == "execution_failed"
    assert "cancelled" in answer["error"]["message"]


async def test_a_bus_that_cannot_publish_is_reported_and_fails_nobody(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    class Deaf(InProcessMessageBus):
        async def publish(self, message: Mapping[str, Any]) -> None:
            assert message["success"] is True
            raise ConnectionError("the line is dead")

    system = await started(tmp_path / "w", message_bus=Deaf())
    await system.get_event_handler().handle_hook_execution_request(request("BeforeTool", TOOL))
    assert "cannot publish a hook response: the line is dead" in caplog.text


async def test_requests_are_carried_out_side_by_side(project: Project, answers: Answers) -> None:
    meet = command(
        "cat >/dev/null; touch $$.here; while [ $(ls *.here | wc -l) -lt 4 ]; do :; done"
    )
    hooks = on_every_event({**meet, "timeout": 20_000})
    await started(project.path, hooks, message_bus=answers.bus)
    messages = [request("BeforeTool", TOOL, correlationId=f"id-{n}") for n in range(4)]
    await asyncio.gather(*map(answers.bus.publish, messages))
    assert sorted(answer["correlationId"] for answer in answers.all) == [
        *("id-0", "id-1", "id-2", "id-3"),
    ]
    assert all(answer["output"]["success"] for answer in answers.all)


async def test_a_system_disposed_before_it_was_initialized_never_serves_its_bus(
    tmp_path: Path, answers: Answers
) -> None:
    config = Config(working_dir=tmp_path, message_bus=answers.bus)
    system = config.get_hook_system()
    assert system is not None
    assert answers.bus.hears(MessageBusType.HOOK_EXECUTION_REQUEST)
    system.dispose()
    await answers.bus.publish(request("BeforeTool", TOOL))
    assert answers.all == []
    assert not answers.bus.hears(MessageBusType.HOOK_EXECUTION_REQUEST)
