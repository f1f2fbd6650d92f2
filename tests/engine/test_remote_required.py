"""Required hooks and a required policy, over a bus: who lacks them may not decide."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from hookline.bus import InProcessMessageBus, request_hook_execution
from hookline.bus.nats import NatsMessageBus
from hookline.contract import Config, HookSystem
from hookline.trace.records import DebugLogger
from tests.bus.answers import request
from tests.eleven import Json, answering, command, started
from tests.engine.test_remote_blocking import COMPLETED, answering_bus, completed, fire

pytestmark = pytest.mark.leaves("task")

SCAN = answering('{"decision":"allow"}', name="secret-scan")
TOOL: Json = {"tool_name": "shell", "tool_input": {"command": "ls"}}


def on_tools(*hooks: Json) -> Json:
    return {"BeforeTool": [{"hooks": list(hooks)}]}


@pytest.fixture
async def bus(nats_url: str, prefix: str) -> AsyncIterator[NatsMessageBus]:
    async with NatsMessageBus(nats_url, prefix=prefix) as bus:
        yield bus


async def test_a_worker_that_has_the_required_hooks_in_force_decides(
    tmp_path: Path, bus: NatsMessageBus
) -> None:
    worker = await started(tmp_path, on_tools(SCAN), message_bus=bus)
    both = ["secret-scan", "project:secret-scan"]
    answer = await fire(bus, required=both, on_unavailable="allow")
    response = await request_hook_execution(bus, "BeforeTool", TOOL, required=both)
    worker.dispose()
    assert (answer.decision, answer.success) == ("allow", True)
    assert response["policy"] == worker.engine.get_policy_digest()
    assert (response["required"], response["missing"]) == (both, {})


@pytest.mark.parametrize("meaning", ["allow", "block", "local"])
@pytest.mark.parametrize("execution", ["remote", "local+remote"])
@pytest.mark.parametrize(
    ("required", "lack", "why"),
    [
        ("secret-scan", {"disabled": ["secret-scan"]}, "it is disabled"),
        ("secret-scan", {"trusted": False}, "nobody has reviewed it"),
        ("user:secret-scan", {}, "it must be in the settings of user, and is in those of project"),
        ("other", {}, "no settings have it"),
    ],
)
async def test_a_worker_without_a_required_hook_does_not_decide(
    tmp_path: Path,
    bus: NatsMessageBus,
    required: str,
    lack: Json,
    why: str,
    execution: Any,
    meaning: Any,
) -> None:
    worker = await started(tmp_path, on_tools(SCAN), message_bus=bus, **lack)
    options = {"required": [required], "on_unavailable": meaning, "execution": execution}
    answer = await fire(bus, **options)
    worker.dispose()
    assert answer.decision == "deny"
    assert (answer.reason or "").startswith(
        f"required hook {required!r} is not in force on the worker: {why}"
    )
    assert answer.errors[-1].code == "required_hook_missing"


@pytest.mark.parametrize(
    "said",
    [{}, {"required": []}, {"required": ["secret-scan-2"]}, {"required": "secret-scan"}],
    ids=str,
)
async def test_a_worker_that_does_not_name_a_required_hook_lacks_it(said: Json) -> None:
    """One of an older version does not read what is required of it."""
    bus = answering_bus({**completed(), "policy": "sha256:1", **said})
    answer = await fire(bus, required=["secret-scan"], on_unavailable="allow")
    assert answer.decision == "deny"
    assert "secret-scan" in (answer.reason or "") or "malformed" in (answer.reason or "")


async def test_where_a_hook_is_required_no_worker_at_all_blocks(bus: NatsMessageBus) -> None:
    for meaning in ("allow", "local"):
        answer = await fire(bus, required=["secret-scan"], on_unavailable=meaning)
        assert answer.decision == "deny"
        assert "no worker serves BeforeTool" in (answer.reason or "")


async def test_what_is_required_and_in_force_here_is_not_asked_of_a_worker(tmp_path: Path) -> None:
    asked: list[Json] = []
    bus = answering_bus({**completed(), "policy": "p", "required": ["there"]}, asked)
    agent = await started(
        tmp_path,
        on_tools(SCAN),
        remote_bus=bus,
        execution="local+remote",
        required=["secret-scan", "there"],
    )
    answer = await agent.get_event_handler().fire_before_tool_event("shell", {})
    assert asked[0]["required"] == ["there"]
    assert answer.decision == "allow"


@pytest.mark.parametrize("here", [True, False])
async def test_those_here_run_instead_only_if_they_are_what_is_required(
    tmp_path: Path, bus: NatsMessageBus, here: bool
) -> None:
    agent = await started(
        tmp_path,
        on_tools(SCAN) if here else None,
        remote_bus=bus,
        on_unavailable="local",
        required=["secret-scan"],
    )
    answer = await agent.get_event_handler().fire_before_tool_event("shell", {})
    assert answer.decision == ("allow" if here else "deny")


@pytest.mark.parametrize("execution", ["remote", "local+remote"])
async def test_the_denial_of_a_worker_that_lacks_a_hook_is_a_denial(
    tmp_path: Path, bus: NatsMessageBus, execution: Any
) -> None:
    """Hooks here that run instead must not be asked to overrule it."""
    worker = await started(
        tmp_path / "w", on_tools(answering('{"decision":"deny","reason":"no"}')), message_bus=bus
    )
    agent = await started(
        tmp_path / "a",
        on_tools(SCAN),
        remote_bus=bus,
        on_unavailable="local",
        execution=execution,
        required=["secret-scan"],
    )
    answer = await agent.get_event_handler().fire_before_tool_event("shell", {})
    worker.dispose()
    assert (answer.decision, answer.reason) == ("deny", "no")


async def test_only_the_accepted_policy_decides(tmp_path: Path, bus: NatsMessageBus) -> None:
    worker = await started(tmp_path, on_tools(SCAN), message_bus=bus)
    policy = worker.engine.get_policy_digest()
    accepted = await fire(bus, policy=policy, on_unavailable="allow")
    worker.register_hook("AfterTool", lambda _input: None, name="more")
    other = worker.engine.get_policy_digest()
    refused = [await fire(bus, policy=policy, on_unavailable=m) for m in ("allow", "local")]
    worker.dispose()
    assert policy.startswith("sha256:")
    assert other != policy
    assert accepted.decision == "allow"
    for answer in refused:
        assert answer.decision == "deny"
        assert answer.reason == (f"the policy of the worker is {other}; only {policy} is accepted")


@pytest.mark.parametrize("said", [{}, {"policy": None}, {"policy": ""}, {"policy": ["p"]}], ids=str)
async def test_a_worker_that_does_not_name_its_policy_does_not_decide(said: Json) -> None:
    bus = answering_bus({**completed(), "required": [], **said})
    assert (await fire(bus, policy="p", on_unavailable="allow")).decision == "deny"


async def test_on_an_event_that_cannot_be_blocked_a_lack_is_a_warning() -> None:
    records: list[Json] = []
    log = DebugLogger(records.append, warn=lambda _text: None)
    message = {"continue": True, "suppressOutput": False, "systemMessage": "hello"}
    output = {**COMPLETED, "finalOutput": message}
    answer = await fire(
        answering_bus({"success": True, "output": output}),
        "SessionStart",
        required=["secret-scan"],
        debug_logger=log,
    )
    assert answer.message == "hello"
    assert "'secret-scan' is not in force on the worker" in str(records)


async def test_who_requires_nothing_sends_and_gets_what_there_was_before(tmp_path: Path) -> None:
    bus, sent = InProcessMessageBus(), list[Any]()
    for kind in ("hook-execution-request", "hook-execution-response"):
        bus.subscribe(kind, sent.append)  # type: ignore[arg-type]
    await started(tmp_path, on_tools(SCAN), message_bus=bus)
    assert (await fire(bus)).success
    assert [{*message} for message in sent] == [
        {"type", "eventName", "input", "correlationId"},
        {"type", "correlationId", "success", "output"},
    ]


@pytest.mark.parametrize("required", ["secret-scan", {"secret-scan": True}, [1], [["a"]], 5])
async def test_a_list_that_is_none_is_refused_before_any_hook_runs(
    tmp_path: Path, required: Any
) -> None:
    bus, answers = InProcessMessageBus(), list[Any]()
    bus.subscribe("hook-execution-response", answers.append)  # type: ignore[arg-type]
    await started(tmp_path, on_tools(command("touch ran")), message_bus=bus)
    await bus.publish(request("BeforeTool", TOOL, required=required))
    assert answers[0]["error"]["code"] == "invalid_request"
    assert not (tmp_path / "ran").exists()


async def test_a_policy_that_is_replaced_while_it_answers_does_not_decide(tmp_path: Path) -> None:
    bus = InProcessMessageBus()
    worker = await started(tmp_path, message_bus=bus)

    def replace(_input: Json) -> None:
        worker.register_hook("BeforeTool", lambda _input: {"decision": "deny"}, name="new")

    worker.register_hook("BeforeTool", replace, name="old")
    answer = await fire(bus, required=["old"], on_unavailable="allow")
    assert answer.decision == "deny"
    assert answer.errors[0].code == "policy_changed"


@pytest.mark.parametrize("meaning", ["allow", "block"])
@pytest.mark.parametrize("fails", ["allow", "block"])
async def test_a_hook_that_is_no_longer_trusted_is_no_completed_execution(
    tmp_path: Path, meaning: Any, fails: Any
) -> None:
    """An edited script on a worker must not be an allowance for all who ask it."""
    bus, trusted = InProcessMessageBus(), [True]
    scan = {**SCAN, "onFailure": fails}
    config = Config(
        working_dir=tmp_path,
        hooks=on_tools(scan),
        message_bus=bus,
        trusted=lambda: trusted[0],
    )
    async with HookSystem(config):
        before = await fire(bus, on_unavailable=meaning)
        trusted[0] = False
        after = await fire(bus, on_unavailable=meaning)
    assert before.success
    assert not after.success
    assert after.blocked is ("block" in (meaning, fails))
    if fails == "allow":
        assert after.errors[0].code == "policy_changed"
        assert "'secret-scan'; run `hookline trust` on the worker" in after.errors[0].message


async def test_a_denial_beside_a_hook_that_is_no_longer_trusted_stands(tmp_path: Path) -> None:
    bus, trusted = InProcessMessageBus(), [True]
    config = Config(
        working_dir=tmp_path, hooks=on_tools(SCAN), message_bus=bus, trusted=lambda: trusted[0]
    )
    async with HookSystem(config) as worker:
        worker.register_hook("BeforeTool", lambda _input: {"decision": "deny", "reason": "no"})
        trusted[0] = False
        answer = await fire(bus, on_unavailable="allow")
    assert (answer.decision, answer.reason) == ("deny", "no")
