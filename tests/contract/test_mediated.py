"""Requests of a bus: each is answered exactly once, under its own id, whatever becomes of it."""

import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, get_type_hints

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookline.bus import (
    HookExecutionRequest,
    HookExecutionResponse,
    InProcessMessageBus,
    MessageBusMessage,
    MessageBusType,
)
from hookline.contract import Config, HookSystem
from hookline.pipeline.aggregator import HookAggregator
from hookline.settings.reader import EffectiveSettings
from hookline.trace.records import DebugLogger
from hookline.wire import codec
from hookline.wire.events import HookEventName
from hookline.wire.results import AggregatedHookResult
from tests.arbitrary import JSON, JSON_PAYLOADS, TEXT
from tests.bus.answers import Answers, new_answers, request
from tests.eleven import (
    FIRINGS,
    ONE_EACH,
    REQUEST,
    SHOWN_REQUEST,
    Firing,
    Json,
    command,
    handler_of,
    label,
    on_every_event,
    started,
)
from tests.harness.scratch import Project

TOOL: Json = {"tool_name": "read", "tool_input": {}}


@pytest.fixture
def answers() -> Iterator[Answers]:
    yield from new_answers()


def is_uuid4(text: str) -> bool:
    return str(uuid.UUID(text, version=4)) == text


@pytest.mark.requirement("DELTA-HEVT-001", "DELTA-HEVT-002", "DELTA-HBUS-001")
@pytest.mark.parametrize("firing", FIRINGS, ids=label)
async def test_a_request_for_each_event_is_routed_to_its_hooks_and_answered(
    tmp_path: Path, answers: Answers, firing: Firing
) -> None:
    system = await started(tmp_path / "w", message_bus=answers.bus)
    seen: list[Json] = []
    system.register_hook(firing.event, seen.append, name="see")
    answer = await answers.to(request(firing.event.value, firing.payload))
    duration = answer["output"].pop("totalDuration")
    assert duration > 0
    output: Json = {"success": True, "finalOutput": None, "allOutputs": [], "errors": []}
    assert answer == {
        "type": "hook-execution-response",
        "correlationId": "id-1",
        "success": True,
        "output": output,
    }
    assert {name: seen[0][name] for name in list(seen[0])[5:]} == firing.own


@pytest.mark.requirement("DELTA-HBUS-001")
def test_the_messages_are_typed_as_the_contract_says() -> None:
    assert [member.value for member in MessageBusType] == [
        "hook-execution-request",
        "hook-execution-response",
    ]
    assert HookExecutionRequest | HookExecutionResponse == MessageBusMessage
    assert get_type_hints(HookExecutionRequest)["eventName"] is HookEventName
    assert HookExecutionRequest.__required_keys__ == {
        *("type", "eventName", "input", "correlationId"),
    }
    assert HookExecutionResponse.__required_keys__ == {"type", "correlationId", "success"}
    assert HookExecutionRequest.__optional_keys__ == {"required"}
    assert HookExecutionResponse.__optional_keys__ == {
        *("output", "error", "policy", "required", "missing", "warnings"),
    }


@pytest.mark.requirement("DELTA-HEVT-002")
@pytest.mark.parametrize(
    ("hook", "success", "final", "errors"),
    [
        (command("echo no >&2; exit 2"), False, {"decision": "deny", "reason": "no"}, 0),
        (command('printf \'{"decision":"block"}\''), True, {"decision": "block"}, 0),
        (command("exit 1"), False, None, 1),
        (command("sleep 9", timeout=50), False, None, 1),
    ],
    ids=["exit-2", "block", "exit-1", "timeout"],
)
async def test_a_hook_that_blocks_or_fails_is_a_completed_execution(
    tmp_path: Path, answers: Answers, hook: Json, success: bool, final: Json | None, errors: int
) -> None:
    await started(tmp_path / "w", on_every_event(hook), message_bus=answers.bus)
    answer = await answers.to(request("BeforeTool", TOOL))
    output = answer["output"]
    assert (answer["success"], output["success"], len(output["errors"])) == (True, success, errors)
    if final is None:
        assert output["finalOutput"] is None
        assert output["errors"][0].items() >= {"hook": "h", "eventName": "BeforeTool"}.items()
    else:
        assert output["finalOutput"].items() >= final.items()
    assert codec.decode(codec.encode(answer)) == answer


@pytest.mark.requirement("DELTA-HBUS-003")
@pytest.mark.parametrize("given_id", [None, "", 5, ["x"]])
async def test_an_id_that_is_missing_is_made(
    tmp_path: Path, answers: Answers, given_id: Any
) -> None:
    await started(tmp_path / "w", message_bus=answers.bus)
    message = request("BeforeTool", TOOL, correlationId=given_id)
    first, second = await answers.to(message), await answers.to(message)
    del message["correlationId"]
    third = await answers.to(message)
    ids = {answer["correlationId"] for answer in (first, second, third)}
    assert len(ids) == 3
    assert all(map(is_uuid4, ids))
    assert third["success"] is True
    assert first["success"] is (not isinstance(given_id, int | list))


@pytest.mark.requirement("DELTA-HEVT-003", "DELTA-HFAIL-002")
@pytest.mark.parametrize("name", ["BeforeTol", "", "beforetool", "Stop"])
async def test_a_request_for_no_event_gets_a_failed_response(
    tmp_path: Path, answers: Answers, name: str
) -> None:
    await started(tmp_path / "w", message_bus=answers.bus)
    answer = await answers.to(request(name, TOOL, correlationId=" Ünï/1 "))
    assert (answer["success"], answer["correlationId"]) == (False, " Ünï/1 ")
    assert answer["error"]["code"] == "unsupported_event"
    assert repr(name) in answer["error"]["message"]


@pytest.mark.requirement("DELTA-HFAIL-002")
@pytest.mark.parametrize(
    "change",
    [
        {"type": "hook-execution-response"},
        {"eventName": 1},
        {"eventName": None},
        {"input": None},
        {"input": []},
        {"correlationId": 7},
    ],
    ids=str,
)
async def test_a_message_that_is_no_request_is_answered_all_the_same(
    tmp_path: Path, answers: Answers, change: Json
) -> None:
    system = await started(tmp_path / "w")
    handler = handler_of(system, message_bus=answers.bus)
    await handler.handle_hook_execution_request({**request("BeforeTool", TOOL), **change})
    [answer] = answers.all
    assert (answer["success"], answer["error"]["code"]) == (False, "invalid_request")
    assert answer["error"]["details"]["stage"] == "envelope"
    assert (answer["correlationId"] == "id-1") is ("correlationId" not in change)


BAD_PAYLOADS = {
    "BeforeTool": {"tool_name": "x", "tool_input": "not an object"},
    "AfterTool": {"tool_name": "x", "tool_input": {}},
    "BeforeAgent": {"prompt": 1},
    "AfterAgent": {"prompt": "p", "prompt_response": None},
    "BeforeModel": {"model_request": "text"},
    "AfterModel": {"model_request": REQUEST},
    "BeforeToolSelection": {"model_request": REQUEST, "available_tools": "all"},
    "SessionStart": {"source": "yesterday"},
    "SessionEnd": {"reason": ""},
    "PreCompress": {"trigger": None},
    "Notification": {"message": "m", "details": []},
}


class Untouchable:
    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"{name} was used")


@pytest.mark.requirement("DELTA-HPAY-001", "DELTA-HPAY-002")
@pytest.mark.parametrize("event", list(HookEventName))
async def test_a_payload_that_fails_its_validator_reaches_neither_planner_nor_runner(
    tmp_path: Path, answers: Answers, event: HookEventName
) -> None:
    system = await started(tmp_path / "w")
    off = Untouchable()
    handler_of(system, planner=off, runner=off, aggregator=off, message_bus=answers.bus)
    answer = await answers.to(request(event.value, BAD_PAYLOADS[event.value]))
    assert (answer["success"], answer["error"]["code"]) == (False, "invalid_payload")
    assert answer["error"]["details"] == {"stage": "validation", "eventName": event.value}
    assert answer["error"]["message"].startswith(f"{event.value} input: ")


class Broken:
    """Any part of the engine, failing at whatever it is asked."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def fail(*_arguments: object, **_options: object) -> Any:
            raise LookupError(f"{name} is out of order")

        return fail


class Forgetful(HookAggregator):
    """Gives back a result that nothing can be made of."""

    def __init__(self, result: Any) -> None:
        self._result = result

    def aggregate_results(self, *_arguments: Any, **_options: Any) -> AggregatedHookResult:
        result: AggregatedHookResult = self._result
        return result


def unready(_settings: EffectiveSettings) -> str | None:
    raise LookupError("the settings are out of order")


@pytest.mark.requirement("DELTA-HFAIL-002", "DELTA-HPAY-004", "DELTA-HFAIL-001")
@pytest.mark.parametrize(
    ("parts", "code", "stage"),
    [
        ({"planner": Broken()}, "planning_failed", "planning"),
        ({"accept": unready}, "planning_failed", "planning"),
        ({"translator": Broken()}, "translation_failed", "translation"),
        ({"runner": Broken()}, "execution_failed", "execution"),
        ({"aggregator": Broken()}, "aggregation_failed", "aggregation"),
        (
            {"aggregator": Forgetful(AggregatedHookResult(True, None, [], [object()]))},  # type: ignore[list-item]
            "response_failed",
            "response",
        ),
        ({"aggregator": Forgetful(AggregatedHookResult(False))}, "internal_error", "execution"),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else str(value),
)
async def test_a_failure_at_any_stage_is_one_failed_response_that_names_it(
    tmp_path: Path, answers: Answers, parts: Json, code: str, stage: str
) -> None:
    system = await started(tmp_path / "w", on_every_event(command("true")))
    handler_of(system, message_bus=answers.bus, **parts)
    answer = await answers.to(request("BeforeModel", {"model_request": REQUEST}))
    assert (answer["success"], answer["correlationId"]) == (False, "id-1")
    assert "output" not in answer
    error = answer["error"]
    assert (error["code"], error["details"]["stage"]) == (code, stage)
    assert error["message"]


async def test_an_internal_error_is_warned_of_besides(tmp_path: Path, answers: Answers) -> None:
    warnings: list[str] = []
    system = await started(tmp_path / "w", on_every_event(command("true")))
    handler_of(
        system,
        message_bus=answers.bus,
        aggregator=Forgetful(AggregatedHookResult(False)),
        debug_logger=DebugLogger(warn=warnings.append),
    )
    await answers.to(request("BeforeModel", {"model_request": REQUEST}))
    (warning,) = warnings
    assert warning.startswith("a hook request failed with an internal error, please report it: ")


async def test_a_request_that_cannot_be_translated_says_why(
    tmp_path: Path, answers: Answers
) -> None:
    await started(tmp_path / "w", on_every_event(command("true")), message_bus=answers.bus)
    answer = await answers.to(request("BeforeModel", {"model_request": {"contents": [7]}}))
    assert answer["error"]["code"] == "translation_failed"
    assert answer["error"]["details"] == {"stage": "translation", "eventName": "BeforeModel"}


async def deny(_document: Json) -> Json:
    return {"decision": "deny"}


@pytest.mark.requirement("DELTA-HEVT-002", "DELTA-HFAIL-002", "DELTA-HBUS-003")
@given(
    message=JSON
    | st.fixed_dictionaries(
        {},
        optional={
            "type": st.just("hook-execution-request") | JSON,
            "eventName": st.sampled_from([*HookEventName, "Nothing"]).map(str) | JSON,
            "input": JSON_PAYLOADS,
            "correlationId": TEXT | JSON,
        },
    )
)
async def test_any_message_gets_exactly_one_response(message: Any) -> None:
    answers = Answers(InProcessMessageBus())
    config = Config(working_dir="/", debug_logger=DebugLogger(warn=lambda _message: None))
    system = HookSystem(config)
    for name in HookEventName:
        system.register_hook(name, deny)
    await system.initialize()
    handler = handler_of(system, message_bus=answers.bus, debug_logger=config.get_debug_logger())
    await handler.handle_hook_execution_request(message)
    [answer] = answers.all
    found = message.get("correlationId") if isinstance(message, dict) else None
    if isinstance(found, str) and found:
        assert answer["correlationId"] == found
    else:
        assert is_uuid4(answer["correlationId"])
    assert ("output" in answer) is answer["success"] is not ("error" in answer)
    msgspec.convert(answer, HookExecutionResponse)


async def test_base_fields_that_identify_a_session_are_taken_over_and_the_others_are_ours(
    project: Project, answers: Answers
) -> None:
    show = command('cat > stdin.json; printf \'{"reason":"%s"}\' $HOOKLINE_SESSION_ID')
    await started(project.path, on_every_event(show), message_bus=answers.bus)
    theirs = {"session_id": "theirs", "transcript_path": "/their.json"}
    ours = {"cwd": "/etc", "timestamp": "1999", "hook_event_name": "Nothing"}
    answer = await answers.to(request("BeforeTool", {**ours, **theirs, **TOOL, "more": [1]}))
    read = codec.decode((project.path / "stdin.json").read_bytes())
    assert list(read) == [
        *("session_id", "transcript_path", "cwd", "hook_event_name", "timestamp"),
        *("tool_name", "tool_input", "more"),
    ]
    assert read.items() >= theirs.items()
    assert (read["cwd"], read["hook_event_name"]) == (str(project.path), "BeforeTool")
    assert read["timestamp"] > "2000"
    assert answer["output"]["finalOutput"]["reason"] == "theirs"


async def test_base_fields_of_the_wrong_type_are_ours(tmp_path: Path, answers: Answers) -> None:
    system = await started(tmp_path / "w", message_bus=answers.bus)
    seen: list[Json] = []
    system.register_hook("BeforeTool", seen.append)
    await answers.to(request("BeforeTool", {**TOOL, "session_id": 5, "transcript_path": None}))
    assert (seen[0]["session_id"], seen[0]["transcript_path"]) == ("s-1", "")


@pytest.mark.requirement("DELTA-HPAY-003")
@pytest.mark.parametrize("name", ["model_request", "llm_request"])
async def test_model_requests_come_under_either_name_and_hooks_read_one(
    tmp_path: Path, answers: Answers, name: str
) -> None:
    system = await started(tmp_path / "w", message_bus=answers.bus)
    seen: list[Json] = []
    system.register_hook("BeforeModel", seen.append)
    await answers.to(request("BeforeModel", {name: REQUEST}))
    await answers.to(request("BeforeModel", {"model_request": REQUEST, "llm_request": {}}))
    assert [document["llm_request"] for document in seen] == [SHOWN_REQUEST, SHOWN_REQUEST]
    assert "model_request" not in seen[0].keys() | seen[1].keys()


def test_every_event_has_a_payload_its_validator_refuses() -> None:
    assert set(BAD_PAYLOADS) == {firing.event.value for firing in ONE_EACH}
