"""The recorded cases fired by an agent that has no hooks, carried out by a worker across a real
server: whatever a response carries is what firing directly gives."""

import json
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from hookline.bus.nats import NatsMessageBus
from hookline.contract import Config, HookSystem
from hookline.pipeline.answer import ProcessedHookResult
from hookline.testing import conformance
from hookline.testing.conformance import run_case
from hookline.wire.fired import FiredEvent
from tests.conformance.test_cases import CASES, read
from tests.eleven import Json

pytestmark = pytest.mark.slow  # workers, each a process of its own

SHARES = 8
# Who asks is told what the hooks answered, not which of them there were.
NOT_CARRIED = {"plan", "results"}
# A worker does not answer for a hook that nobody trusts any more: to its callers that is an outage.
FIRED = [
    path for path in CASES if "translate" not in read(path) and path.stem != "trust-lost-after-load"
]


class Agent:
    """Stands in for a case's direct firing; the case's own system serves the bus instead."""

    def __init__(self, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
        self._url = f"{url}?prefix=test-{uuid.uuid4().hex}"
        self._monkeypatch = monkeypatch
        self._answer_of = conformance.answer_of
        self._fire = conformance.fire
        self.fired: list[tuple[ProcessedHookResult, ProcessedHookResult]] = []
        monkeypatch.setattr(conformance, "answer_of", self.answer_of)

    async def answer_of(self, case: Mapping[str, Any], work: Path) -> Json:
        serving = NatsMessageBus.from_url(self._url)
        async with NatsMessageBus.from_url(self._url) as asking:
            config = _agent_config(case, work, asking)

            async def fire(handler: Any, event: str, payload: Mapping[str, Any]) -> Any:
                # Connecting returns when the server knows who serves.
                await serving.connect()
                served = _recorded(handler)
                async with HookSystem(config) as agent:
                    there = await self._fire(agent.get_event_handler(), event, payload)
                self.fired += [(here, there) for here in served]
                return there

            self._monkeypatch.setattr(conformance, "fire", fire)
            self._monkeypatch.setattr(
                conformance, "HookSystem", lambda own: HookSystem(own, message_bus=serving)
            )
            try:
                return await self._answer_of(case, work)
            finally:
                await serving.close()


def _agent_config(case: Mapping[str, Any], work: Path, bus: NatsMessageBus) -> Config:
    said = case.get("settings", {})
    return Config(
        working_dir=work.parent,
        session_id=said.get("session_id", "session-0001"),
        transcript_path=said.get("transcript_path", ""),
        remote_bus=bus,
        on_unavailable="block",
        remote_timeout=30,
    )


def _recorded(handler: Any) -> list[ProcessedHookResult]:
    """What the handler's hooks answer to requests from now on."""
    answered: list[ProcessedHookResult] = []
    executor = handler._engine.local
    execute = executor.execute

    async def record(fired: FiredEvent) -> ProcessedHookResult:
        processed: ProcessedHookResult = await execute(fired)
        answered.append(processed)
        return processed

    executor.execute = record
    return answered


def carried(processed: ProcessedHookResult) -> tuple[object, ...]:
    """What a response carries, and what is made of it."""
    final = processed.final_output
    return (
        *(processed.success, processed.errors, processed.all_outputs, processed.total_duration),
        *(type(final), final.to_wire() if final is not None else None),
        *(processed.should_stop, processed.stop_reason),
        *(processed.system_message, processed.suppress_output),
    )


@pytest.mark.parametrize("share", range(SHARES))
def test_a_worker_across_nats_answers_as_the_case_expects(
    share: int, nats_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = Agent(nats_url, monkeypatch)
    for path in FIRED[share::SHARES]:
        case, before = read(path), len(agent.fired)
        answer = json.loads(json.dumps(run_case(case)))
        times = max(1, case.get("fire_times", 1))
        assert len(agent.fired) == before + times, path.stem
        expected = {name: case["expect"][name] for name in case["expect"].keys() - NOT_CARRIED}
        assert {name: answer[name] for name in answer.keys() - NOT_CARRIED} == expected, path.stem
    assert [carried(there) for _, there in agent.fired] == [carried(h) for h, _ in agent.fired]


def test_the_whole_set_is_fired() -> None:
    assert len(FIRED) == 160
