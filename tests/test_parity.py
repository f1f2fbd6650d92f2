"""Called by its method, by name or over a bus: the hook reads the same bytes and the caller gets
the same answer."""

import re
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from hookline.bus import InProcessMessageBus, request_hook_execution
from hookline.bus.messages import success_response
from hookline.pipeline.answer import ProcessedHookResult
from hookline.system import HookSystem
from hookline.wire import codec
from tests.eleven import (
    FIRINGS,
    ONE_EACH,
    Firing,
    Json,
    answering,
    command,
    label,
    on_every_event,
    started,
)
from tests.harness.scratch import Project

Way: TypeAlias = Callable[[HookSystem, InProcessMessageBus, Firing], Awaitable[bytes]]

TIME = re.compile(rb'"timestamp":"[^"]*"')
DURATION = re.compile(rb'"totalDuration":[\d.e-]+')

HOOKS: Mapping[str, list[Json]] = {
    "silent": [command("cat >> stdin.json")],
    "allowing": [answering('{"systemMessage":"fine","suppressOutput":true,"odd":[1,{"a":null}]}')],
    "denying": [answering('{"decision":"deny","reason":"no","hookSpecificOutput":{"x":1}}')],
    "stopping": [answering('{"continue":false,"stopReason":"enough","reason":"r"}')],
    "exit-2": [command("echo blocked >&2; exit 2")],
    "exit-1": [command('echo \'{"decision":"deny"}\'; echo broken >&2; exit 1')],
    "killed": [command("kill -9 $$")],
    "timing-out": [command("sleep 30", timeout=40)],
    "failing-closed": [command("exit 1", onFailure="block")],
    "garbage": [command("printf '\\377{\\nnot json'")],
    "several": [answering('{"reason":"a"}', name="a"), command("exit 4", name="b")],
}


async def directly(system: HookSystem, _bus: InProcessMessageBus, firing: Firing) -> bytes:
    return written(await firing.direct(system.get_event_handler()))


async def by_name(system: HookSystem, _bus: InProcessMessageBus, firing: Firing) -> bytes:
    return written(await system.get_event_handler().fire(firing.event.value, firing.payload))


async def over_a_bus(_system: HookSystem, bus: InProcessMessageBus, firing: Firing) -> bytes:
    response = await request_hook_execution(bus, firing.event, firing.payload)
    assert response["success"] is True
    return DURATION.sub(b"", codec.encode(response["output"]))


def written(processed: ProcessedHookResult) -> bytes:
    """A processed result as the bus would write it, but for how long it took."""
    output = success_response("", processed.aggregated)["output"]
    return DURATION.sub(b"", codec.encode(output))


WAYS: tuple[Way, ...] = (directly, by_name, over_a_bus)


async def in_all_ways(work: Path, hooks: Json, firing: Firing) -> tuple[set[bytes], set[bytes]]:
    """What the hook read and what the caller got, without the times; one of each if all agree."""
    bus = InProcessMessageBus()
    system = await started(work, hooks, message_bus=bus)
    read, got = set(), set()
    for fire in WAYS:
        got.add(await fire(system, bus, firing))
        document = work / "stdin.json"
        if document.exists():
            read.add(TIME.sub(b"", document.read_bytes()))
            document.unlink()
    return read, got


@pytest.mark.requirement("DELTA-HEVT-001", "DELTA-HPAY-003", "DELTA-HBUS-002", "INV-4")
@pytest.mark.parametrize("firing", FIRINGS, ids=label)
async def test_hooks_read_the_same_bytes_whichever_way_they_are_called(
    project: Project, firing: Firing
) -> None:
    read, got = await in_all_ways(project.path, on_every_event(*HOOKS["silent"]), firing)
    assert len(read) == len(got) == 1
    assert codec.encode(firing.own)[1:-1] in read.pop()


@pytest.mark.requirement("DELTA-HEVT-001", "DELTA-HBUS-002", "DELTA-HAPP-001")
@pytest.mark.parametrize("kind", list(HOOKS)[1:])
@pytest.mark.parametrize("firing", ONE_EACH, ids=label)
async def test_callers_get_the_same_answer_whichever_way_they_call(
    project: Project, firing: Firing, kind: str
) -> None:
    _, got = await in_all_ways(project.path, on_every_event(*HOOKS[kind]), firing)
    assert len(got) == 1
    assert codec.decode(re.sub(rb",}$", b"}", got.pop()))["success"] is (
        kind in ("allowing", "denying", "stopping", "garbage")
    )


@pytest.mark.requirement("DELTA-HFAIL-003")
@pytest.mark.parametrize("firing", ONE_EACH, ids=label)
async def test_no_match_is_the_same_empty_success_whichever_way_one_calls(
    project: Project, firing: Firing
) -> None:
    hooks: Any = {"BeforeTool": [{"matcher": "^nothing$", "hooks": HOOKS["silent"]}]}
    read, got = await in_all_ways(project.path, hooks, firing)
    assert read == set()
    assert got == {b'{"success":true,"finalOutput":null,"allOutputs":[],"errors":[],}'}
