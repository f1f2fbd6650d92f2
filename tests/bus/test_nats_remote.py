"""Firing over NATS when it does not go well: what the agent is told, and what its log has of it."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from hookline.bus import InProcessMessageBus
from hookline.bus.nats import NatsMessageBus
from hookline.contract import Config
from hookline.engine.remote import RemoteFiringError
from hookline.trace.records import DebugLogger
from tests.eleven import Json, command, on_every_event, started, until
from tests.harness.scratch import Project


@pytest.mark.parametrize("seconds", [0, -1, float("nan"), "70", None])
def test_a_time_to_wait_that_is_none_is_refused(seconds: Any) -> None:
    with pytest.raises(RemoteFiringError, match="remote_timeout must be more than 0 seconds"):
        Config(remote_bus=InProcessMessageBus(), remote_timeout=seconds)


@pytest.mark.parametrize("meaning", ["allow", "block"])
async def test_a_worker_that_is_ended_while_its_hooks_run_is_an_outage(
    nats_url: str, prefix: str, project: Project, meaning: Any
) -> None:
    hooks = on_every_event(command("echo > began; exec sleep 60"))
    worker_bus = NatsMessageBus(nats_url, prefix=prefix)
    worker = await started(project.path, hooks, message_bus=worker_bus)
    await worker_bus.connect()
    async with NatsMessageBus(nats_url, prefix=prefix) as bus:
        agent = await started(project.path, remote_bus=bus, on_unavailable=meaning)
        firing = asyncio.create_task(agent.get_event_handler().fire_before_tool_event("read", {}))
        await until((project.path / "began").exists)
        worker.dispose()
        await worker_bus.close()
        result = await firing
    assert result.errors[0].code == "execution_failed"
    assert result.errors[0].details == {"onUnavailable": meaning}
    blocked = result.final_output is not None and result.final_output.is_blocking_decision()
    assert blocked is (meaning == "block")


@pytest.mark.parametrize("meaning", ["allow", "block", "local"])
@pytest.mark.parametrize("served", [True, False])
async def test_what_runs_here_besides_a_worker_is_in_the_log_once(
    nats_url: str, prefix: str, tmp_path: Path, served: bool, meaning: Any
) -> None:
    records: list[Json] = []
    async with NatsMessageBus(nats_url, prefix=prefix) as bus:
        worker = await started(tmp_path / "w", message_bus=bus if served else None)
        worker.register_hook("BeforeTool", lambda _input: {"decision": "ask"}, name="there")
        agent = await started(
            tmp_path / "a",
            remote_bus=bus,
            execution="local+remote",
            on_unavailable=meaning,
            debug_logger=DebugLogger(records.append),
        )
        agent.register_hook("BeforeTool", lambda _input: {"reason": "here"}, name="here")
        await bus.connect()
        await agent.get_event_handler().fire_before_tool_event("read", {})
        worker.dispose()
    kinds = [record["kind"] for record in records]
    assert [kinds.count(kind) for kind in ("hook", "batch")] == [1, 1]
    assert kinds.count("warning") == (not served)
