"""Triggers around a model call; requests and responses are the SDK's, in and out."""

from typing import Any

import msgspec

from hookline.config import Config
from hookline.front import Hooks
from hookline.wire.outputs import BeforeToolSelectionHookOutput


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
    answer = await Hooks.of(config).before_model(llm_request)
    if answer.final_output is None:
        return BeforeModelHookResult()
    if answer.blocked:
        return BeforeModelHookResult(
            blocked=True,
            reason=answer.final_output.get_effective_reason(),
            synthetic_response=answer.response if answer.is_synthetic else None,
            should_stop=answer.stopped,
            system_message=answer.message,
        )
    return BeforeModelHookResult(modified_request=answer.request, system_message=answer.message)


async def fire_after_model_hook(
    config: Config, llm_request: Any, llm_response: Any
) -> AfterModelHookResult:
    """The model has answered in full."""
    answer = await Hooks.of(config).after_model(llm_request, llm_response)
    if answer.final_output is None:
        return AfterModelHookResult(llm_response)
    return AfterModelHookResult(
        answer.response,
        blocked=answer.denied,
        reason=answer.reason if answer.denied else None,
        should_stop=answer.stopped,
        stop_reason=answer.reason if answer.stopped else None,
        system_message=answer.message,
        suppress_output=answer.suppressed,
    )


async def fire_before_tool_selection_hook(
    config: Config, llm_request: Any
) -> BeforeToolSelectionHookResult:
    """The model is about to be offered the tools of a request."""
    answer = await Hooks.of(config).before_tool_selection(llm_request)
    output = answer.final_output
    if not isinstance(output, BeforeToolSelectionHookOutput):
        return BeforeToolSelectionHookResult()
    selection = output.select_tools(llm_request)
    return BeforeToolSelectionHookResult(
        selection.tool_config,
        selection.tools,
        answer.stopped,
        answer.reason if answer.stopped else None,
    )
