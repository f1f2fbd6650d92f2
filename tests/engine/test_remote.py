"""Events fired over a bus: the agent's code is the same, and so is what it gets back."""

import asyncio
import re
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from hookline.bus import InProcessMessageBus
from hookline.bus.messages import success_response
from hookline.bus.nats import NatsMessageBus
from hookline.config import Config
from hookline.engine.remote import RemoteFiringError, reduce_request, reduce_response
from hookline.pipeline.answer import ProcessedHookResult
from hookline.system import HookSystem
from hookline.trace.records import DebugLogger
from hookline.translate.genai import GenAITranslator, GenerateContentParameters
from hookline.triggers import fire_before_model_hook, fire_before_tool_hook
from hookline.wire import codec
from tests.eleven import (
    FIRINGS,
    ONE_EACH,
    REQUEST,
    Firing,
    Json,
    answering,
    command,
    label,
    on_every_event,
    started,
)
from tests.harness.scratch import Project
from tests.test_parity import HOOKS
from tests.translate import strategies

# The fixture closes its bus, and with it the tasks, when the test has ended.
pytestmark = pytest.mark.leaves("task")

TIME = re.compile(rb'"timestamp":"[^"]*"')
DURATION = re.compile(rb'"totalDuration":[\d.e-]+')


def written(processed: ProcessedHookResult) -> tuple[bytes, object]:
    """Everything a caller can read of a result, but for how long it took."""
    output = success_response("", processed.aggregated)["output"]
    views = (processed.should_stop, processed.stop_reason, processed.system_message)
    kind = type(processed.final_output)
    return DURATION.sub(b"", codec.encode(output)), (*views, processed.suppress_output, kind)


@pytest.fixture
async def bus(nats_url: str, prefix: str) -> AsyncIterator[NatsMessageBus]:
    async with NatsMessageBus(nats_url, prefix=prefix) as bus:
        yield bus


async def agent_of(work: Path, bus: Any, hooks: Json | None = None, **options: Any) -> HookSystem:
    return await started(work, hooks, remote_bus=bus, remote_timeout=20, **options)


@pytest.mark.parametrize("firing", FIRINGS, ids=label)
async def test_remote_hooks_read_the_same_bytes_as_those_here(
    project: Project, bus: NatsMessageBus, firing: Firing
) -> None:
    worker = await started(project.path, on_every_event(*HOOKS["silent"]), message_bus=bus)
    agent = await agent_of(project.path, bus)
    read: set[bytes] = set()
    for system in (worker, agent):
        await firing.direct(system.get_event_handler())
        await system.get_event_handler().fire(firing.event, firing.payload)
        read |= set(TIME.sub(b"", (project.path / "stdin.json").read_bytes()).split(b"}{"))
        (project.path / "stdin.json").unlink()
    worker.dispose()
    assert len(read) == 2  # the first and the second in one file


@pytest.mark.parametrize("kind", list(HOOKS)[1:])
@pytest.mark.parametrize("firing", ONE_EACH, ids=label)
async def test_remote_answers_are_those_of_firing_here(
    project: Project, bus: NatsMessageBus, firing: Firing, kind: str
) -> None:
    worker = await started(project.path, on_every_event(*HOOKS[kind]), message_bus=bus)
    agent = await agent_of(project.path, bus)
    here = await firing.direct(worker.get_event_handler())
    there = await firing.direct(agent.get_event_handler())
    worker.dispose()
    assert written(there) == written(here)


async def test_triggers_go_remote_without_the_agent_knowing(
    tmp_path: Path, bus: NatsMessageBus
) -> None:
    worker = await started(tmp_path, message_bus=bus)
    rewritten = {"hookSpecificOutput": {"llm_request": {"model": "model-b"}}}
    worker.register_hook("BeforeTool", lambda _input: {"decision": "deny", "reason": "no"})
    worker.register_hook("BeforeModel", lambda _input: rewritten)
    config = Config(working_dir=tmp_path, remote_bus=bus)
    output = await fire_before_tool_hook(config, "write", {})
    request = GenerateContentParameters(model="model-a", contents="hi", config={"tools": [print]})
    result = await fire_before_model_hook(config, request)
    worker.dispose()
    assert output is not None
    assert output.get_blocking_error().reason == "no"
    assert result.modified_request.model == "model-b"
    assert result.modified_request.config is request.config


async def test_what_no_hook_is_shown_is_not_sent(tmp_path: Path) -> None:
    bus, sent = InProcessMessageBus(), list[Any]()
    bus.subscribe("hook-execution-request", sent.append)  # type: ignore[arg-type]
    agent = await started(tmp_path, remote_bus=bus, remote_timeout=0.05)
    image = {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}
    secret = {"contents": [{"role": "user", "parts": [{"text": "look"}, image]}]}
    await agent.get_event_handler().fire_before_model_event({**REQUEST, **secret})
    assert sent[0]["input"]["model_request"] == {
        "model": "model-a",
        "contents": [{"role": "user", "parts": [{"text": "look"}]}],
        "config": {"temperature": 0.5},
    }


@given(request=strategies.requests(), response=strategies.responses)
def test_what_is_sent_shows_hooks_exactly_what_is_at_hand(request: Json, response: Json) -> None:
    translator = GenAITranslator()
    asked = reduce_request(translator, request)
    answered = reduce_response(translator, response)
    assert translator.to_hook_llm_request(asked) == translator.to_hook_llm_request(request)
    assert translator.to_hook_llm_response(answered) == translator.to_hook_llm_response(response)


@pytest.mark.parametrize(
    ("meaning", "decision", "word"),
    [
        ("allow", None, "it goes on without hooks"),
        ("block", "deny", "it is blocked"),
        ("local", "ask", "the hooks here run instead"),
    ],
)
@pytest.mark.parametrize("firing", ONE_EACH, ids=label)
async def test_what_an_outage_means_is_configured_and_told(
    tmp_path: Path, bus: NatsMessageBus, firing: Firing, meaning: Any, decision: Any, word: str
) -> None:
    records: list[Json] = []
    agent = await started(
        tmp_path,
        on_every_event(answering('{"decision":"ask"}')),
        remote_bus=bus,
        on_unavailable=meaning,
        debug_logger=DebugLogger(records.append, warn=lambda _text: None),
    )
    result = await firing.direct(agent.get_event_handler())
    output = result.final_output
    told = [record for record in records if record.get("code") == "unavailable"]
    assert [error.code for error in result.errors] == ["unavailable"]
    assert result.errors[0].details == {"onUnavailable": meaning}
    assert (result.success, len(told), word in told[0]["message"]) == (False, 1, True)
    if firing.event.value != "BeforeToolSelection" or meaning != "local":
        assert (output.decision if output is not None else None) == decision


@pytest.mark.parametrize("code", ["unavailable", "timeout", "disconnected"])
async def test_whatever_keeps_an_answer_from_coming_is_an_outage(
    tmp_path: Path, nats_url: str, prefix: str, code: str
) -> None:
    url = "nats://127.0.0.1:1" if code == "disconnected" else nats_url
    bus = NatsMessageBus(url, prefix=prefix)
    if code != "disconnected":
        await bus.connect()
    if code == "timeout":
        bus.subscribe("hook-execution-request", lambda _message: None)  # type: ignore[arg-type]
    # An answer that says that nobody is there must not lose a race against the time for it.
    seconds = 30 if code == "unavailable" else 0.5
    agent = await started(tmp_path, remote_bus=bus, remote_timeout=seconds, on_unavailable="block")
    before = time.monotonic()
    result = await agent.get_event_handler().fire_before_tool_event("read", {})
    assert time.monotonic() - before < 10
    await bus.close()
    assert result.errors[0].code == code
    assert result.final_output is not None
    assert result.final_output.is_blocking_decision()


async def test_local_and_remote_hooks_are_merged_as_if_they_were_in_one_plan(
    tmp_path: Path, bus: NatsMessageBus
) -> None:
    worker = await started(tmp_path, message_bus=bus)
    worker.register_hook("BeforeTool", lambda _input: {"decision": "deny", "reason": "there"})
    hooks = on_every_event(answering('{"decision":"allow","reason":"here"}'))
    agent = await agent_of(tmp_path, bus, hooks, execution="local+remote")
    result = await agent.get_event_handler().fire_before_tool_event("read", {})
    worker.dispose()
    assert result.final_output is not None
    assert (result.final_output.decision, result.final_output.reason) == ("deny", "here\nthere")
    assert [output["reason"] for output in result.all_outputs] == ["here", "there"]
    assert result.success is True


@pytest.mark.parametrize(("meaning", "decision"), [("allow", "ask"), ("block", "deny")])
async def test_an_outage_leaves_the_local_hooks_of_both(
    tmp_path: Path, bus: NatsMessageBus, meaning: Any, decision: str
) -> None:
    agent = await agent_of(
        tmp_path,
        bus,
        on_every_event(answering('{"decision":"ask"}')),
        execution="local+remote",
        on_unavailable=meaning,
    )
    result = await agent.get_event_handler().fire_before_tool_event("read", {})
    assert result.final_output is not None
    assert result.final_output.decision == decision
    assert [error.code for error in result.errors] == ["unavailable"]


async def test_an_agent_that_fires_remotely_carries_out_here_what_it_serves(
    tmp_path: Path, bus: NatsMessageBus
) -> None:
    served = InProcessMessageBus()
    middle = await agent_of(tmp_path, bus, message_bus=served)
    middle.register_hook("BeforeTool", lambda _input: {"decision": "ask"})
    agent = await agent_of(tmp_path, served)
    result = await agent.get_event_handler().fire_before_tool_event("read", {})
    assert result.final_output is not None
    assert result.final_output.is_ask_decision()


async def test_cancelling_the_caller_ends_its_request(tmp_path: Path, bus: NatsMessageBus) -> None:
    held: list[Any] = []
    bus.subscribe("hook-execution-request", held.append)  # type: ignore[arg-type]
    agent = await agent_of(tmp_path, bus)
    firing = asyncio.create_task(agent.get_event_handler().fire_before_agent_event("p"))
    async with asyncio.timeout(20):
        while not held:
            await asyncio.sleep(0.005)
    firing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await firing


def test_synchronous_code_fires_remotely_too(tmp_path: Path, nats_url: str, prefix: str) -> None:
    bus = NatsMessageBus(nats_url, prefix=prefix)
    hooks = on_every_event(command("exit 2"))
    config = Config(working_dir=tmp_path, hooks=hooks, remote_bus=bus, on_unavailable="local")
    system = HookSystem(config)
    results = [system.fire_blocking("BeforeAgent", {"prompt": "p"}) for _ in range(2)]
    bus.close_blocking()
    system.dispose()
    assert [result.errors[0].code for result in results] == ["unavailable"] * 2
    assert all(result.final_output for result in results)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"execution": "remote"}, "needs a remote_bus"),
        ({"execution": "elsewhere"}, 'execution must be "local", "remote" or "local+remote"'),
        ({"on_unavailable": "panic"}, 'on_unavailable must be "allow", "block" or "local"'),
        *(
            ({"remote_bus": InProcessMessageBus(), "remote_timeout": seconds}, f"not {seconds!r}")
            for seconds in (0, -1.0, float("nan"), "1")
        ),
    ],
)
def test_a_configuration_that_contradicts_itself_is_refused(options: Any, said: str) -> None:
    with pytest.raises(RemoteFiringError) as caught:
        Config(**options)
    assert said in str(caught.value)


async def test_execution_may_stay_local_beside_a_bus(tmp_path: Path) -> None:
    agent = await started(tmp_path, remote_bus=InProcessMessageBus(), execution="local")
    agent.register_hook("BeforeAgent", lambda _input: {"decision": "deny"})
    result = await agent.get_event_handler().fire_before_agent_event("p")
    assert result.plan is not None


@pytest.mark.parametrize("on_unavailable", ["block", "allow"])
async def test_what_a_worker_cannot_be_shown_whole_blocks_where_an_outage_does(
    on_unavailable: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """A model can nest what it wants to hide deeper than hooks are shown."""
    bus = InProcessMessageBus()
    async with HookSystem(Config(), message_bus=bus) as worker:
        worker.register_hook("BeforeTool", lambda _event: {"decision": "allow"}, name="guard")
        config = Config(remote_bus=bus, on_unavailable=on_unavailable)
        async with HookSystem(config) as agent:
            deep: Any = "rm -rf /"
            for _ in range(300):
                deep = [deep]
            handler = agent.get_event_handler()
            hidden = await handler.fire_before_tool_event("shell", {"command": deep})
            plain = await handler.fire_before_tool_event("shell", {"command": "ls"})
    assert hidden.blocked is (on_unavailable == "block")
    assert not plain.blocked
    assert "whole" in caplog.text
    assert "it is nested too deeply" in caplog.text
