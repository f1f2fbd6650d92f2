"""Whatever goes wrong inside the engine is an envelope that says so, and never an exception."""

import ast
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hookline
from hookline.contract import Config, HookSystem
from hookline.pipeline.answer import ProcessedHookResult
from hookline.trace.records import DebugLogger
from hookline.wire.events import HookEventName
from tests.arbitrary import PAYLOADS, TEXT
from tests.eleven import REQUEST, Json, command, handler_of, on_every_event, started
from tests.harness.scratch import Project

TAP = command("cat > stdin.json")
TOOL: Json = {"tool_name": "read", "tool_input": {}}


def only_error(processed: ProcessedHookResult) -> tuple[str, str]:
    """The code and stage of a failure envelope, which has nothing else in it."""
    assert processed.success is False
    assert (processed.all_outputs, processed.results) == ([], ())
    assert processed.final_output is None
    assert processed.should_stop is False
    [error] = processed.errors
    assert error.message
    return error.code, error.stage


class Broken:
    """Any part of the engine, failing at whatever it is asked."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def fail(*_arguments: object, **_options: object) -> Any:
            raise LookupError(f"{name} is out of order")

        return fail


@pytest.mark.requirement("DELTA-HFAIL-001", "DELTA-HPAY-004", "INV-5", "GUAR-2")
@pytest.mark.parametrize(
    ("part", "code", "stage"),
    [
        ("planner", "planning_failed", "planning"),
        ("translator", "translation_failed", "translation"),
        ("runner", "execution_failed", "execution"),
        ("aggregator", "aggregation_failed", "aggregation"),
    ],
)
async def test_a_broken_part_gives_a_failure_envelope_of_its_stage(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, part: str, code: str, stage: str
) -> None:
    system = await started(tmp_path / "w", on_every_event(command("true")))
    parts: dict[str, Any] = {part: Broken()}
    handler = handler_of(system, **parts)
    processed = await handler.fire_before_model_event(REQUEST)
    assert only_error(processed) == (code, stage)
    assert processed.errors[0].event_name is HookEventName.BEFORE_MODEL
    assert "is out of order" in processed.errors[0].message
    assert "BeforeModel failed at" in caplog.text


def cycle() -> Json:
    value: Json = {}
    value["itself"] = value
    return value


@pytest.mark.parametrize(
    ("value", "read", "told"),
    [
        (
            cycle(),
            {"itself": "… (contains itself)"},
            "not get the whole input of BeforeTool: it con",
        ),
        ({"x": range(3)}, {"x": "range(0, 3)"}, "only the repr of a value on BeforeTool: range"),
        ({"x": {1j: 2}}, {"x": {"1j": 2}}, "only the repr of a value on BeforeTool: complex"),
    ],
    ids=["cycle", "object", "key"],
)
@pytest.mark.parametrize("by_name", [False, True])
async def test_a_payload_without_a_json_form_is_shown_to_hooks_as_text(
    project: Project,
    value: Json,
    read: Json,
    told: str,
    by_name: bool,
    caplog: pytest.LogCaptureFixture,
) -> None:
    handler = (await started(project.path, on_every_event(TAP))).get_event_handler()
    if by_name:
        answer = await handler.fire("BeforeTool", {"tool_name": "x", "tool_input": value})
    else:
        answer = await handler.fire_before_tool_event("x", value)
    assert answer.success
    document = json.loads((project.path / "stdin.json").read_text())
    assert document["tool_input"] == read
    assert told in caplog.text


@pytest.mark.requirement("DELTA-HFAIL-005")
@pytest.mark.parametrize("name", ["BeforeTol", "before_tool", "", None, 7, [], "Halt"])
async def test_a_name_of_no_event_gives_a_failure_envelope(tmp_path: Path, name: Any) -> None:
    handler = (await started(tmp_path / "w")).get_event_handler()
    processed = await handler.fire(name, TOOL)
    assert only_error(processed) == ("unsupported_event", "validation")
    if name == "BeforeTol":
        assert "did you mean BeforeTool" in processed.errors[0].message


class Unspeakable:
    def __repr__(self) -> str:
        raise RuntimeError("not even a name")


@pytest.mark.requirement("DELTA-HPAY-006", "DELTA-HFAIL-005")
@pytest.mark.parametrize("value", ["sometime", "", None, 3, ["startup"], Unspeakable()], ids=type)
async def test_a_trigger_of_no_enum_gives_a_failure_envelope(tmp_path: Path, value: Any) -> None:
    handler = (await started(tmp_path / "w")).get_event_handler()
    for fire in (
        handler.fire_session_start_event,
        handler.fire_session_end_event,
        handler.fire_pre_compress_event,
    ):
        processed = await fire(value)
        assert only_error(processed)[1] == "validation"
        assert processed.errors[0].event_name is not None


@pytest.mark.requirement("DELTA-HFAIL-005")
@pytest.mark.parametrize(
    ("event", "payload", "problem"),
    [
        ("BeforeTool", {"tool_name": "x"}, "tool_input is missing"),
        ("BeforeTool", {"tool_name": 1, "tool_input": {}}, "tool_name must be a string"),
        ("SessionStart", {"source": "never"}, "source must be one of startup, resume"),
        ("BeforeModel", {}, "model_request (or llm_request) is missing"),
        ("BeforeAgent", ["prompt"], "must be an object, not list"),
    ],
)
async def test_fields_that_are_missing_or_wrong_are_named(
    tmp_path: Path, event: str, payload: Any, problem: str
) -> None:
    handler = (await started(tmp_path / "w")).get_event_handler()
    processed = await handler.fire(event, payload)
    assert only_error(processed) == ("invalid_payload", "validation")
    assert problem in processed.errors[0].message
    assert processed.errors[0].event_name == event


@pytest.mark.requirement("GUAR-2", "DELTA-HFAIL-001")
@given(event=st.sampled_from(list(HookEventName)) | TEXT, payload=PAYLOADS)
async def test_fire_answers_anything_and_never_raises(event: str, payload: Any) -> None:
    async def count(document: Json) -> Json:
        return {"reason": str(len(document))}

    config = Config(working_dir="/", debug_logger=DebugLogger(warn=lambda _message: None))
    async with HookSystem(config) as system:
        for name in HookEventName:
            system.register_hook(name, count)
        processed = await system.get_event_handler().fire(event, payload)
    assert isinstance(processed, ProcessedHookResult)
    assert processed.success is (processed.plan is not None)
    assert processed.success is not bool(processed.errors)


def test_no_except_in_the_package_answers_with_an_empty_success() -> None:
    for path in Path(hookline.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ExceptHandler):
                assert "make_empty" not in ast.unparse(node), path


async def test_a_failing_log_fails_no_event(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    class Mute(DebugLogger):
        enabled = True

        def event(self, *_arguments: Any, **_fields: Any) -> None:
            raise OSError("no space left")

    system = await started(tmp_path / "w")
    handler = handler_of(system, debug_logger=Mute())
    assert (await handler.fire_before_agent_event("p")).success is True
    system.register_hook("BeforeAgent", lambda _document: {"decision": "deny"}, name="no")
    processed = await handler.fire_before_agent_event("p")
    assert processed.final_output is not None
    assert processed.final_output.is_blocking_decision()
    assert "cannot log what hooks did on BeforeAgent" in caplog.text
