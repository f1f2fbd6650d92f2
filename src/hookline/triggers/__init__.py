"""What an agent loop calls: each function fires one event and hands back what to do about it.

They are the contract's names over ``hookline.Hooks``. None of them raises; where anything in the
engine fails they answer with a safe default.
"""

from hookline.toolcall import ConfirmationRequest, ToolError, ToolResult
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
from hookline.triggers.tool import (
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
