"""Hook execution as a service: the messages, the bus they travel on, and a caller's side of it."""

from hookline.bus.client import request_hook_execution
from hookline.bus.memory import InProcessMessageBus
from hookline.bus.messages import (
    HookExecutionRequest,
    HookExecutionResponse,
    MessageBus,
    MessageBusMessage,
    MessageBusType,
)

__all__ = [
    "HookExecutionRequest",
    "HookExecutionResponse",
    "InProcessMessageBus",
    "MessageBus",
    "MessageBusMessage",
    "MessageBusType",
    "request_hook_execution",
]
