"""What a type checker knows of user code; checked, never run.

``assert_type`` fails under mypy where the type is another, and a ``type: ignore`` that is not
needed fails too, so what must be refused is shown by one.
"""

from collections.abc import Callable
from typing import Any, assert_type

import hookline
from hookline import (
    AggregatedHookResult,
    Answer,
    Config,
    HookError,
    HookEventHandler,
    HookEventName,
    HookExecutionResult,
    HookSystem,
    InProcessMessageBus,
    MessageBus,
    PreCompressTrigger,
    ProcessedHookResult,
    SessionEndReason,
    SessionStartSource,
)
from hookline.bus import HookExecutionResponse, request_hook_execution
from hookline.contract import HookSystemStatus
from hookline.pipeline.answer import process_common_hook_output_fields
from hookline.pipeline.registry import HookRegistryEntry
from hookline.wire.inputs import (
    AfterAgentInput,
    AfterModelInput,
    AfterToolInput,
    BeforeAgentInput,
    BeforeModelInput,
    BeforeToolInput,
    BeforeToolSelectionInput,
    NotificationInput,
    PreCompressInput,
    SessionEndInput,
    SessionStartInput,
)
from hookline.wire.outputs import (
    BeforeModelHookOutput,
    BeforeToolHookOutput,
    BlockingError,
    DefaultHookOutput,
    create_hook_output,
)
from hookline.wire.results import build_failure_envelope, make_empty_success_result
from hookline.wire.validators import (
    validate_after_agent_input,
    validate_after_model_input,
    validate_after_tool_input,
    validate_before_agent_input,
    validate_before_model_input,
    validate_before_tool_input,
    validate_before_tool_selection_input,
    validate_notification_input,
    validate_pre_compress_input,
    validate_session_end_input,
    validate_session_start_input,
)


def validators_narrow(value: object) -> None:
    if validate_before_tool_input(value):
        assert_type(value, BeforeToolInput)
        assert_type(value["tool_name"], str)
        assert_type(value["tool_input"], dict[str, Any])
        value["novel"]  # type: ignore[typeddict-item]
    if validate_after_tool_input(value):
        assert_type(value, AfterToolInput)
    if validate_before_agent_input(value):
        assert_type(value, BeforeAgentInput)
    if validate_after_agent_input(value):
        assert_type(value, AfterAgentInput)
    if validate_before_model_input(value):
        assert_type(value, BeforeModelInput)
    if validate_after_model_input(value):
        assert_type(value, AfterModelInput)


def validators_narrow_the_others_too(value: object) -> None:
    if validate_before_tool_selection_input(value):
        assert_type(value, BeforeToolSelectionInput)
    if validate_session_start_input(value):
        assert_type(value, SessionStartInput)
    if validate_session_end_input(value):
        assert_type(value, SessionEndInput)
    if validate_pre_compress_input(value):
        assert_type(value, PreCompressInput)
    if validate_notification_input(value):
        assert_type(value, NotificationInput)
        assert_type(value["message"], str)


def validators_narrow_both_ways(value: BeforeToolInput | None) -> None:
    if not validate_before_tool_input(value):
        assert_type(value, None)


def decorated_functions_keep_their_type(system: HookSystem) -> None:
    @system.hook("BeforeTool", matcher="write_file", timeout=500)
    def guard(event: dict[str, Any]) -> dict[str, Any] | None:
        return {"decision": "deny"} if event["tool_name"] == "rm" else None

    @system.hook(HookEventName.AFTER_AGENT, name="again", sequential=True)
    async def again(event: dict[str, Any]) -> DefaultHookOutput:
        return DefaultHookOutput(decision="block", reason=event["prompt"])

    assert_type(guard({}), dict[str, Any] | None)
    assert_type(system.register_hook("Notification", guard), Callable[[], None])
    system.hook("BeforeTool")(7)  # type: ignore[type-var]


async def fire_methods_return_processed_results(handler: HookEventHandler) -> None:
    result = await handler.fire_before_tool_event("read", {"path": "a"})
    assert_type(result, Answer)
    assert_type(await handler.fire("BeforeAgent", {"prompt": "p"}), Answer)
    assert_type(await handler.fire_notification_event("m", level="info"), Answer)
    assert_type(await handler.fire_before_model_event(object()), Answer)
    await handler.fire_before_tool_event("read")  # type: ignore[call-arg]
    await handler.fire_before_tool_event("read", {}, {})  # type: ignore[call-arg]


async def session_events_take_their_enums(handler: HookEventHandler) -> None:
    await handler.fire_session_start_event(SessionStartSource.STARTUP)
    await handler.fire_session_end_event(SessionEndReason.EXIT)
    await handler.fire_pre_compress_event(PreCompressTrigger.AUTO)
    await handler.fire_session_start_event("startup")  # type: ignore[arg-type]
    await handler.fire_session_end_event(SessionStartSource.CLEAR)  # type: ignore[arg-type]
    await handler.fire_pre_compress_event("auto")  # type: ignore[arg-type]


def results_are_typed_and_frozen(result: ProcessedHookResult) -> None:
    assert_type(result.should_stop, bool)
    assert_type(result.stop_reason, str | None)
    assert_type(result.system_message, str | None)
    assert_type(result.suppress_output, bool)
    assert_type(result.aggregated, AggregatedHookResult)
    assert_type(result.final_output, DefaultHookOutput | None)
    assert_type(result.errors, list[HookError])
    assert_type(result.results, tuple[HookExecutionResult, ...])
    result.should_stop = True  # type: ignore[misc]


def outputs_answer_questions(output: DefaultHookOutput | None) -> None:
    if output is None:
        return
    assert_type(output.is_blocking_decision(), bool)
    assert_type(output.get_effective_reason(), str)
    assert_type(output.get_blocking_error(), BlockingError)
    assert_type(output.get_additional_context(), str | None)
    if isinstance(output, BeforeToolHookOutput):
        assert_type(output.get_modified_tool_input(), dict[str, Any] | None)
    if isinstance(output, BeforeModelHookOutput):
        output.get_modified_tool_input()  # type: ignore[attr-defined]


def factories() -> None:
    assert_type(make_empty_success_result(), AggregatedHookResult)
    failure = build_failure_envelope(ValueError("x"), "planning")
    assert_type(failure, AggregatedHookResult)
    assert_type(process_common_hook_output_fields(failure), Answer)
    assert_type(create_hook_output(HookEventName.BEFORE_TOOL, {}), DefaultHookOutput)
    create_hook_output("BeforeTool", {})  # type: ignore[arg-type]


async def systems_and_buses(bus: MessageBus) -> None:
    config = Config.load(".", trusted=True)
    assert_type(config, Config)
    assert_type(config.get_hook_system(), HookSystem | None)
    async with HookSystem(config, message_bus=bus) as system:
        assert_type(system, HookSystem)
        assert_type(system.get_status(), HookSystemStatus)
        assert_type(system.get_all_hooks(), tuple[HookRegistryEntry, ...])
        assert_type(system.set_hook_enabled("n", False), int)
        assert_type(system.fire_blocking("BeforeAgent", {"prompt": "p"}), Answer)
    shared: MessageBus = InProcessMessageBus()
    response = await request_hook_execution(shared, HookEventName.BEFORE_AGENT, {"prompt": "p"})
    assert_type(response, HookExecutionResponse)


def the_package_names_are_typed() -> None:
    assert_type(hookline.__version__, str)
    hookline.no_such_name  # type: ignore[attr-defined]  # noqa: B018
