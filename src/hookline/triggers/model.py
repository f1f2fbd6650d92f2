"""Triggers around a model call; requests and responses are the SDK's, in and out."""

from typing import Any

import msgspec

from hookline.config import Config
from hookline.triggers.engine import fire_through
from hookline.wire.outputs import (
    AfterModelHookOutput,
    BeforeModelHookOutput,
    BeforeToolSelectionHookOutput,
)


class BeforeModelHookResult(msgspec.Struct, frozen=True):
    """What to do about a request. ``blocked``: do not call the model; answer with
    ``synthetic_response`` if there is one, else with the reason. ``modified_request`` is the very
    same object when the hooks changed nothing in it."""

    blocked: bool = False
    reason: str | None = None
    synthetic_response: Any = None
    modified_request: Any = None
    should_stop: bool = False
    system_message: str | None = None


class AfterModelHookResult(msgspec.Struct, frozen=True):
    """What to do about a response. ``response`` is the one to keep; after a block it is empty but
    for the reason."""

    response: Any
    blocked: bool = False
    reason: str | None = None
    should_stop: bool = False
    stop_reason: str | None = None
    system_message: str | None = None
    suppress_output: bool = False


class BeforeToolSelectionHookResult(msgspec.Struct, frozen=True):
    """Which tools a call may use; None where the hooks said nothing."""

    tool_config: Any = None
    tools: Any = None
    should_stop: bool = False
    stop_reason: str | None = None


async def fire_before_model_hook(config: Config, llm_request: Any) -> BeforeModelHookResult:
    """A request is about to go to the model."""
    output = await fire_through(
        config, lambda handler: handler.fire_before_model_event(llm_request)
    )
    if not isinstance(output, BeforeModelHookOutput):
        return BeforeModelHookResult()
    should_stop = output.should_stop_execution()
    if should_stop or output.is_blocking_decision():
        return BeforeModelHookResult(
            blocked=True,
            reason=output.get_effective_reason(),
            synthetic_response=output.get_synthetic_response(),
            should_stop=should_stop,
            system_message=output.system_message,
        )
    return BeforeModelHookResult(
        modified_request=output.apply_llm_request_modifications(llm_request),
        system_message=output.system_message,
    )


async def fire_after_model_hook(
    config: Config, llm_request: Any, llm_response: Any
) -> AfterModelHookResult:
    """The model has answered in full."""
    output = await fire_through(
        config, lambda handler: handler.fire_after_model_event(llm_request, llm_response)
    )
    if not isinstance(output, AfterModelHookOutput):
        return AfterModelHookResult(llm_response)
    blocked, should_stop = output.is_blocking_decision(), output.should_stop_execution()
    reason = output.get_effective_reason()
    if blocked:
        response = config.get_translator().empty_response(reason, like=llm_response)
    else:
        response = output.get_modified_response(llm_response) or llm_response
    return AfterModelHookResult(
        response,
        blocked=blocked,
        reason=reason if blocked else None,
        should_stop=should_stop,
        stop_reason=reason if should_stop else None,
        system_message=output.system_message,
        suppress_output=output.suppress_output is True,
    )


async def fire_before_tool_selection_hook(
    config: Config, llm_request: Any
) -> BeforeToolSelectionHookResult:
    """The model is about to be offered the tools of a request."""
    output = await fire_through(
        config, lambda handler: handler.fire_before_tool_selection_event(llm_request)
    )
    if not isinstance(output, BeforeToolSelectionHookOutput):
        return BeforeToolSelectionHookResult()
    own_config, own_tools = config.get_translator().tool_selection(llm_request)
    selection = output.apply_tool_config_modifications(own_config, own_tools)
    should_stop = output.should_stop_execution()
    return BeforeToolSelectionHookResult(
        selection.tool_config,
        selection.tools,
        should_stop,
        output.get_effective_reason() if should_stop else None,
    )
