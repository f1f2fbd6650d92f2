"""Triggers for what happens around the turns of a session; the agent applies their answers."""

from collections.abc import Mapping
from typing import Any

from hookline.config import Config
from hookline.triggers.engine import fire_through
from hookline.wire.confirmation import tool_notification
from hookline.wire.events import PreCompressTrigger, SessionEndReason, SessionStartSource
from hookline.wire.outputs import DefaultHookOutput


async def fire_session_start_hook(
    config: Config, source: SessionStartSource
) -> DefaultHookOutput | None:
    """A session starts, or goes on after its context was cleared or compressed."""
    return await fire_through(config, lambda handler: handler.fire_session_start_event(source))


async def fire_session_end_hook(
    config: Config, reason: SessionEndReason
) -> DefaultHookOutput | None:
    """A session ends."""
    return await fire_through(config, lambda handler: handler.fire_session_end_event(reason))


async def fire_before_agent_hook(config: Config, prompt: str) -> DefaultHookOutput | None:
    """A turn is about to begin."""
    return await fire_through(config, lambda handler: handler.fire_before_agent_event(prompt))


async def fire_after_agent_hook(
    config: Config, prompt: str, prompt_response: str, stop_hook_active: bool = False
) -> DefaultHookOutput | None:
    """A turn is over."""
    return await fire_through(
        config,
        lambda handler: handler.fire_after_agent_event(prompt, prompt_response, stop_hook_active),
    )


async def fire_pre_compress_hook(
    config: Config, trigger: PreCompressTrigger
) -> DefaultHookOutput | None:
    """The history is about to be compressed."""
    return await fire_through(config, lambda handler: handler.fire_pre_compress_event(trigger))


async def fire_notification_hook(
    config: Config,
    message: str,
    *,
    notification_type: str | None = None,
    level: str | None = None,
    details: dict[str, Any] | None = None,
) -> DefaultHookOutput | None:
    """The user should be told something."""
    return await fire_through(
        config,
        lambda handler: handler.fire_notification_event(
            message, notification_type=notification_type, level=level, details=details
        ),
    )


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
