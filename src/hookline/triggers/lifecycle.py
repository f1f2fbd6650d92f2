"""Triggers for what happens around the turns of a session; the agent applies their answers."""

from collections.abc import Mapping
from typing import Any

from hookline.config import Config
from hookline.front import Hooks
from hookline.wire.confirmation import tool_notification
from hookline.wire.events import PreCompressTrigger, SessionEndReason, SessionStartSource
from hookline.wire.outputs import DefaultHookOutput


async def fire_session_start_hook(
    config: Config, source: SessionStartSource
) -> DefaultHookOutput | None:
    """A session starts, or goes on after its context was cleared or compressed."""
    return (await Hooks.of(config).session_start(source)).final_output


async def fire_session_end_hook(
    config: Config, reason: SessionEndReason
) -> DefaultHookOutput | None:
    """A session ends."""
    return (await Hooks.of(config).session_end(reason)).final_output


async def fire_before_agent_hook(config: Config, prompt: str) -> DefaultHookOutput | None:
    """A turn is about to begin."""
    return (await Hooks.of(config).before_agent(prompt)).final_output


async def fire_after_agent_hook(
    config: Config, prompt: str, prompt_response: str, stop_hook_active: bool = False
) -> DefaultHookOutput | None:
    """A turn is over."""
    answer = await Hooks.of(config).after_agent(
        prompt, prompt_response, stop_hook_active=stop_hook_active
    )
    return answer.final_output


async def fire_pre_compress_hook(
    config: Config, trigger: PreCompressTrigger
) -> DefaultHookOutput | None:
    """The history is about to be compressed."""
    return (await Hooks.of(config).pre_compress(trigger)).final_output


async def fire_notification_hook(
    config: Config,
    message: str,
    *,
    notification_type: str | None = None,
    level: str | None = None,
    details: dict[str, Any] | None = None,
) -> DefaultHookOutput | None:
    """The user should be told something."""
    answer = await Hooks.of(config).notification(
        message, notification_type=notification_type, level=level, details=details
    )
    return answer.final_output


async def fire_tool_notification_hook(
    config: Config, confirmation: Mapping[str, Any]
) -> DefaultHookOutput | None:
    """The user is about to be asked about a tool call, ``{type, title, …}``."""
    notification = tool_notification(confirmation)
    return await fire_notification_hook(
        config,
        notification.message,
        notification_type=notification.notification_type,
        details=notification.details,
    )
