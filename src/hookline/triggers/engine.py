"""The one way from a trigger to the engine, and the one place where its failures end."""

from collections.abc import Awaitable, Callable

from hookline.config import Config
from hookline.handler import HookEventHandler
from hookline.wire.outputs import DefaultHookOutput
from hookline.wire.results import ProcessedHookResult


async def fire_through(
    config: Config, fire: Callable[[HookEventHandler], Awaitable[ProcessedHookResult]]
) -> DefaultHookOutput | None:
    """The merged answer of the hooks; None when hooks are off, none answered, or all failed."""
    system = config.get_hook_system()
    if system is None:
        return None
    try:
        await system.initialize()
        processed = await fire(system.get_event_handler())
    except Exception as error:
        config.get_debug_logger().warning(f"hooks did not run: {type(error).__name__}: {error}")
        return None
    return processed.final_output
