"""What people and callers are told of a worker's answer: every failure and every warning."""

from pathlib import Path
from typing import Any

import pytest

from hookline.bus import InProcessMessageBus
from hookline.engine.remote import RemoteFiring, remote_firing
from hookline.pipeline.answer import Answer
from hookline.trace.records import DebugLogger
from tests.eleven import Json, started
from tests.engine.test_remote_blocking import answering_bus, completed, fire


async def told(tmp_path: Path, said: Json, **options: Any) -> tuple[Answer, list[Json]]:
    """The answer of an agent whose worker says this, and the warnings of its log."""
    records: list[Json] = []
    log = DebugLogger(records.append, warn=lambda _text: None)
    agent = await started(tmp_path, remote_bus=answering_bus(said), debug_logger=log, **options)
    agent.register_hook("BeforeTool", lambda _input: {"reason": "here"}, name="here")
    answer = await agent.get_event_handler().fire_before_tool_event("shell", {})
    return answer, [record for record in records if record["kind"] not in ("hook", "batch")]


async def test_a_failed_hook_of_a_worker_is_named_with_its_reason(tmp_path: Path) -> None:
    why = "scan failed: exited with code 1"
    errors = [
        {"code": "odd", "message": "something else", "stage": "execution"},
        {"code": "hook_failed", "message": why, "stage": "execution", "hook": "scan"},
    ]
    answer, records = await told(tmp_path, completed(errors=errors))
    assert [error.code for error in answer.errors] == ["odd", "hook_failed"]
    messages = [record["message"] for record in records]
    assert messages == [
        "a worker answered to BeforeTool: something else",
        "hook 'scan' of a worker failed on BeforeTool: exited with code 1",
    ]
    assert [record["code"] for record in records] == ["odd", "hook_failed"]
    assert records[1]["hook"] == "scan"


async def test_a_warning_about_a_hook_of_a_worker_is_shown_here(tmp_path: Path) -> None:
    said = {**completed(), "warnings": [{"hook": "scan", "message": "a key twice"}]}
    answer, [record] = await told(tmp_path, said)
    assert answer.success
    assert record["message"] == "hook 'scan' of a worker on BeforeTool: a key twice"
    assert record["hook"] == "scan"


async def test_an_error_of_the_engine_stays_one_where_an_outage_means_allow(tmp_path: Path) -> None:
    details = {"stage": "planning"}
    failure = {"code": "planning_failed", "message": "why", "details": details}
    answer, [record] = await told(tmp_path, {"success": False, "error": failure})
    assert [(error.code, error.details) for error in answer.errors] == [("planning_failed", None)]
    assert (answer.success, answer.blocked) == (False, False)
    assert record["message"] == "BeforeTool failed at planning: why"
    assert record["code"] == "planning_failed"


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("execution_failed", "the hooks of a worker did not decide on BeforeTool: why; "),
        ("policy_changed", "the hooks of a worker did not decide on BeforeTool: why; "),
        ("response_failed", "the hooks of a worker did not decide on BeforeTool: why; "),
        ("unavailable", "no worker answered BeforeTool: why; "),
    ],
)
async def test_an_outage_says_whether_a_worker_answered(
    tmp_path: Path, code: str, said: str
) -> None:
    failed = {"success": False, "error": {"code": code, "message": "why"}}
    answer, [record] = await told(tmp_path, failed)
    assert record["message"] == f"{said}it goes on without hooks"
    assert (record["code"], record["on_unavailable"]) == (code, "allow")
    assert answer.errors[0].details == {"onUnavailable": "allow"}


TOO_LARGE = "was asked: the request is larger than the bus takes (why)"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, f"no hook {TOO_LARGE}; it goes on unchecked"),
        ({"on_unavailable": "block"}, f"no hook {TOO_LARGE}; it is blocked"),
        (
            {"on_unavailable": "local"},
            f"no hook of a worker {TOO_LARGE}; the hooks here run instead",
        ),
        (
            {"execution": "local+remote"},
            f"no hook of a worker {TOO_LARGE}; the hooks here run instead",
        ),
    ],
)
async def test_a_request_that_is_too_large_says_what_that_means(
    tmp_path: Path, options: Json, said: str
) -> None:
    failed = {"success": False, "error": {"code": "request_too_large", "message": "why"}}
    answer, records = await told(tmp_path, failed, **options)
    [record] = [record for record in records if record.get("code") == "request_too_large"]
    assert record["message"] == f"BeforeTool: {said}"
    assert answer.errors[0].message == said
    assert answer.blocked is (options.get("on_unavailable") == "block")


@pytest.mark.parametrize("execution", ["remote", "local+remote"])
async def test_a_denial_of_what_cannot_be_denied_is_told(execution: Any) -> None:
    records: list[Json] = []
    log = DebugLogger(records.append, warn=lambda _text: None)
    output = {"decision": "deny", "reason": "no"}
    bus = answering_bus(completed(finalOutput=output, allOutputs=[output]))
    await fire(bus, "SessionStart", execution=execution, debug_logger=log)
    said = "a hook tried to block or stop SessionStart, which has no effect: no"
    assert [record.get("message") for record in records].count(said) == 1


async def test_hooks_here_and_there_are_one_answer_with_all_errors_and_both_times(
    tmp_path: Path,
) -> None:
    failed = {"code": "hook_failed", "message": "m", "stage": "execution", "hook": "scan"}
    said = completed(errors=[failed], success=False, totalDuration=50.0)
    answer, _ = await told(tmp_path, said, execution="local+remote")
    assert [output.get("reason") for output in answer.all_outputs] == ["here", None]
    assert [error.code for error in answer.errors] == ["hook_failed"]
    assert answer.success is False
    assert 50.0 < answer.total_duration < 5000
    assert [result.hook.name for result in answer.results] == ["here"]
    good, _ = await told(tmp_path, completed(), execution="local+remote")
    assert good.success is True


async def test_an_outage_beside_hooks_here_is_added_to_their_answer(tmp_path: Path) -> None:
    failed = {"success": False, "error": {"code": "unavailable", "message": "why"}}
    answer, [record] = await told(tmp_path, failed, execution="local+remote")
    assert (answer.success, answer.all_outputs) == (False, [{"reason": "here"}])
    assert [error.code for error in answer.errors] == ["unavailable"]
    assert record["message"].endswith("the hooks here run instead")
    assert record["on_unavailable"] == "allow"


def test_a_bus_means_remote_firing_unless_execution_says_otherwise() -> None:
    bus = InProcessMessageBus()

    def firing(execution: str | None, bus: Any = bus) -> RemoteFiring | None:
        return remote_firing(bus, execution=execution, on_unavailable="local", timeout=0.5)

    assert firing(None, None) is firing("local") is firing("local", None) is None
    remote, both = firing(None), firing("local+remote")
    assert remote is not None
    assert both is not None
    assert (remote.besides_local, both.besides_local) == (False, True)
    assert (remote.bus, remote.on_unavailable, remote.timeout) == (bus, "local", 0.5)
