"""What an agent loop calls: each function fires one event and hands back what to do about it.

None of them raises and none builds a part of the engine: they get the system from the config,
initialize it on first use, and answer with a safe default when anything in it fails.
"""

from hookline.triggers.lifecycle import (
    fire_after_agent_hook,
    fire_before_agent_hook,
    fire_notification_hook,
    fire_pre_compress_hook,
    fire_session_end_hook,
    fire_session_start_hook,
    fire_tool_notification_hook,
)
from hookline.triggers.model import (
    AfterModelHookResult,
    BeforeModelHookResult,
    BeforeToolSelectionHookResult,
    fire_after_model_hook,
    fire_before_model_hook,
    fire_before_tool_selection_hook,
)
from hookline.triggers.results import ToolError, ToolResult
from hookline.triggers.tool import (
    ConfirmationRequest,
    execute_tool_with_hooks,
    fire_after_tool_hook,
    fire_before_tool_hook,
)

__all__ = [
    "AfterModelHookResult",
    "BeforeModelHookResult",
    "BeforeToolSelectionHookResult",
    "ConfirmationRequest",
    "ToolError",
    "ToolResult",
    "execute_tool_with_hooks",
    "fire_after_agent_hook",
    "fire_after_model_hook",
    "fire_after_tool_hook",
    "fire_before_agent_hook",
    "fire_before_model_hook",
    "fire_before_tool_hook",
    "fire_before_tool_selection_hook",
    "fire_notification_hook",
    "fire_pre_compress_hook",
    "fire_session_end_hook",
    "fire_session_start_hook",
    "fire_tool_notification_hook",
]
