"""What a hook reads, what the caller gets, and what becomes of everything that goes wrong."""

import asyncio
import json
import os
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from google.genai import types

from hookline.pipeline.answer import ProcessedHookResult
from hookline.runner.context import RunLimits
from hookline.translate.genai import GenerateContentParameters
from hookline.wire.events import HookEventName
from tests.eleven import (
    FIRINGS,
    ONE_EACH,
    REQUEST,
    RESPONSE,
    Firing,
    Json,
    answering,
    command,
    handler_of,
    label,
    on_every_event,
    started,
    until,
)
from tests.harness.scratch import Project

TIME = re.compile(rb'"timestamp":"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)"')
TAP = command("cat > stdin.json")
TOOL: Json = {"tool_name": "read", "tool_input": {}}


def compact(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


@pytest.mark.requirement("DELTA-HPAY-003", "INV-4")
@pytest.mark.parametrize("firing", FIRINGS, ids=label)
async def test_a_hook_reads_exactly_these_bytes(project: Project, firing: Firing) -> None:
    system = await started(project.path, on_every_event(TAP), transcript_path="/t.json")
    before = datetime.now(UTC)
    processed = await firing.direct(system.get_event_handler())
    assert [result.success for result in processed.results] == [True]
    read = (project.path / "stdin.json").read_bytes()
    written = datetime.fromisoformat(TIME.findall(read)[0].decode())
    assert -0.002 < (written - before).total_seconds() < 30
    base = {
        "session_id": "s-1",
        "transcript_path": "/t.json",
        "cwd": str(project.path),
        "hook_event_name": firing.event.value,
        "timestamp": "T",
    }
    assert TIME.sub(b'"timestamp":"T"', read) == compact({**base, **firing.own})


def test_the_table_has_all_eleven_events() -> None:
    assert {firing.event for firing in FIRINGS} == set(HookEventName)
    assert len(ONE_EACH) == 11


async def test_hooks_run_in_the_working_directory_and_never_hear_of_the_target(
    project: Project,
) -> None:
    show = command('cat > stdin.json; printf \'{"reason":"%s"}\' "$PWD"')
    target = project.path.parent / "target"
    system = await started(project.path, on_every_event(show), target_dir=target)
    processed = await system.get_event_handler().fire_before_agent_event("p")
    assert processed.all_outputs == [{"reason": str(project.path)}]
    assert str(target).encode() not in (project.path / "stdin.json").read_bytes()


async def test_typed_sdk_objects_are_shown_to_hooks_as_their_json_is(tmp_path: Path) -> None:
    system = await started(tmp_path / "w")
    seen: list[Json] = []
    system.register_hook("AfterModel", seen.append, name="see")
    handler = system.get_event_handler()
    config = types.GenerateContentConfig(temperature=0.5, system_instruction="be brief")
    content = types.Content(role="user", parts=[types.Part(text="hello")])
    request = GenerateContentParameters("model-a", [content], config)
    response = types.GenerateContentResponse.model_validate(RESPONSE)
    await handler.fire_after_model_event(request, response)
    await handler.fire("AfterModel", {"model_request": request, "model_response": response})
    await handler.fire_after_model_event(REQUEST, RESPONSE)
    for document in seen:
        del document["timestamp"]
    assert seen[0] == seen[1] == seen[2]


@pytest.mark.parametrize("sequential", [False, True])
async def test_what_a_hook_does_to_its_input_nobody_else_sees(
    tmp_path: Path, sequential: bool
) -> None:
    system = await started(tmp_path / "w")
    seen: list[Json] = []

    async def spoil(document: Json) -> None:
        seen.append(dict(document["tool_input"]))
        document["tool_input"].clear()
        document.clear()

    for name in ("first", "second"):
        system.register_hook("BeforeTool", spoil, name=name, sequential=sequential)
    system.register_hook("BeforeTool", lambda d: seen.append(d["tool_input"]), name="third")
    tool_input = {"path": "a"}
    await system.get_event_handler().fire_before_tool_event("read", tool_input)
    assert seen == [{"path": "a"}] * 3
    assert tool_input == {"path": "a"}


@pytest.mark.requirement("DELTA-HFAIL-003", "DELTA-HPAY-003")
@pytest.mark.parametrize("firing", ONE_EACH, ids=label)
async def test_an_event_without_hooks_is_an_empty_success_and_nothing_is_awaited(
    tmp_path: Path, firing: Firing
) -> None:
    class Refusing:
        def __getattr__(self, name: str) -> Any:
            raise AssertionError(f"{name} was used")

    handler = handler_of(await started(tmp_path / "w"), translator=Refusing(), session=Refusing())
    coroutine = firing.direct(handler).__await__()
    with pytest.raises(StopIteration) as done:
        next(coroutine)
    processed: ProcessedHookResult = done.value.value
    assert (processed.success, processed.final_output, processed.plan) == (True, None, None)
    assert (processed.all_outputs, processed.errors, processed.total_duration) == ([], [], 0)


async def test_no_two_empty_results_share_anything_a_caller_could_change(tmp_path: Path) -> None:
    handler = (await started(tmp_path / "w")).get_event_handler()
    first, second = [await handler.fire_before_agent_event("p") for _ in range(2)]
    first.all_outputs.append({"decision": "deny"})
    first.errors.clear()
    assert second.all_outputs == []
    assert first.errors is not second.errors


FAILING: Mapping[str, Json] = {
    "exit": command('echo \'{"decision":"deny"}\'; echo no >&2; exit 3'),
    "signal": command("kill -9 $$"),
    "timeout": command("sleep 30", timeout=60),
    "spawn": command("/no/such/program", args=[]),
    "output_limit": command("head -c 5000 /dev/zero"),
    "malformed": command("""echo "{'decision': 'deny'}" """),
}


@pytest.mark.requirement("GUAR-1", "GUAR-2", "INV-5")
@pytest.mark.parametrize("kind", FAILING)
@pytest.mark.parametrize("event", ["BeforeTool", "BeforeModel"])
async def test_a_hook_that_fails_neither_blocks_nor_raises(
    tmp_path: Path, kind: str, event: str
) -> None:
    limits = RunLimits(max_stdout=1000)
    hooks = on_every_event(FAILING[kind], answering('{"systemMessage":"fine"}', name="good"))
    system = await started(tmp_path / "w", hooks, limits=limits)
    payload = TOOL if event == "BeforeTool" else {"model_request": REQUEST}
    processed = await system.get_event_handler().fire(event, payload)
    assert [result.failed for result in processed.results] == [kind, None]
    assert (processed.success, len(processed.errors)) == (False, 1)
    assert processed.final_output is not None
    assert processed.final_output.is_blocking_decision() is False
    assert (processed.should_stop, processed.system_message) == (False, "fine")


@pytest.mark.requirement("GUAR-1")
@pytest.mark.parametrize("event", list(HookEventName))
async def test_an_exception_of_an_in_process_hook_is_that_hooks_failure(
    tmp_path: Path, event: HookEventName
) -> None:
    system = await started(tmp_path / "w")

    def fail(_document: Json) -> None:
        raise OSError("disk full")

    system.register_hook(event, fail)
    [firing] = [firing for firing in ONE_EACH if firing.event is event]
    processed = await firing.direct(system.get_event_handler())
    assert processed.results[0].failed == "error"
    assert "disk full" in processed.errors[0].message
    assert (processed.final_output, processed.should_stop) == (None, False)


@pytest.mark.requirement("DELTA-HAPP-001", "DELTA-HAPP-002", "INV-4")
@pytest.mark.parametrize("firing", ONE_EACH, ids=label)
async def test_stop_message_and_suppression_mean_the_same_on_every_event(
    tmp_path: Path, firing: Firing
) -> None:
    system = await started(tmp_path / "w")
    said: Json = {"continue": False, "stopReason": "enough", "systemMessage": "look"}
    system.register_hook(firing.event, lambda _document: said, name="stop")
    handler = system.get_event_handler()
    processed = await firing.direct(handler)
    assert (processed.should_stop, processed.stop_reason) == (True, "enough")
    assert (processed.system_message, processed.suppress_output) == ("look", False)
    assert processed.aggregated.final_output is processed.final_output
    said |= {"decision": "deny", "reason": "no"}
    del said["stopReason"]
    processed = await firing.direct(handler)
    assert (processed.should_stop, processed.stop_reason) == (True, "no")


@pytest.mark.parametrize("output", [{"decision": "deny"}, {"continue": False}], ids=str)
@pytest.mark.parametrize("event", ["SessionStart", "SessionEnd", "PreCompress", "Notification"])
async def test_a_block_where_nothing_can_be_blocked_is_warned_of(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, event: str, output: Json
) -> None:
    system = await started(tmp_path / "w")
    system.register_hook(event, lambda _document: {**output, "reason": "mine"}, name="guard")
    [firing] = [firing for firing in ONE_EACH if firing.event == event]
    await firing.direct(system.get_event_handler())
    assert f"tried to block or stop {event}, which has no effect: mine" in caplog.text


@pytest.mark.parametrize("sequential", [False, True])
@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.requirement("GUAR-2")
async def test_cancelling_an_event_ends_its_processes_and_propagates(
    project: Project, sequential: bool, count: int
) -> None:
    hooks = [command(f"echo $$ > pid{n}; exec sleep 60", name=f"h{n}") for n in range(count)]
    system = await started(project.path, on_every_event(*hooks, sequential=sequential))
    firing = asyncio.create_task(system.get_event_handler().fire_before_agent_event("p"))
    expected = 1 if sequential else count
    await until(lambda: len(pids(project.path)) == expected)
    firing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await firing
    assert len(pids(project.path)) == expected
    assert not [pid for pid in pids(project.path) if is_running(pid)]


def pids(directory: Path) -> list[int]:
    texts = [path.read_text() for path in directory.glob("pid*")]
    return [int(text) for text in texts if text.strip()]


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
