from hookline._version import __version__
from hookline.bus import (
    InProcessMessageBus,
    MessageBus,
)
from hookline.calls.tool import (
    Deferred,
    ToolError,
    ToolGate,
    ToolResult,
)
from hookline.contract import Config, HookEventHandler, HookSystem
from hookline.dialects.tools import ToolAlias
from hookline.dialects.transcript import TranscriptWriter
from hookline.errors import (
    BlockedByHook,
    HooklineError,
    HookSystemNotInitializedError,
    InvalidHookError,
    InvalidPayloadError,
    NoFolderError,
    StoppedByHook,
    TranslationError,
    UnknownEventError,
)
from hookline.hooks import (
    Hooks,
    HookSession,
    SyncHooks,
)
from hookline.pipeline.answer import Answer, ProcessedHookResult
from hookline.replies import (
    Reply,
    add_context,
    allow,
    ask,
    combine,
    deny,
    map_text,
    message,
    only_tools,
    replace_answer,
    replace_result,
    rewrite,
    stop,
)
from hookline.runner.context import Judge, RunLimits
from hookline.trace.records import DebugLogger
from hookline.translate import HookTranslator
from hookline.wire.events import (
    HookEventName,
    PreCompressTrigger,
    SessionEndReason,
    SessionStartSource,
)
from hookline.wire.hooks import Redaction
from hookline.wire.inputs import (
    AfterAgentEvent,
    AfterModelEvent,
    AfterToolEvent,
    BeforeAgentEvent,
    BeforeModelEvent,
    BeforeToolEvent,
    BeforeToolSelectionEvent,
    NotificationEvent,
    PreCompressEvent,
    SessionEndEvent,
    SessionStartEvent,
)
from hookline.wire.results import (
    AggregatedHookResult,
    HookError,
    HookExecutionResult,
)

__all__ = [
    "AfterAgentEvent",
    "AfterModelEvent",
    "AfterToolEvent",
    "AggregatedHookResult",
    "Answer",
    "BeforeAgentEvent",
    "BeforeModelEvent",
    "BeforeToolEvent",
    "BeforeToolSelectionEvent",
    "BlockedByHook",
    "Config",
    "DebugLogger",
    "Deferred",
    "HookError",
    "HookEventHandler",
    "HookEventName",
    "HookExecutionResult",
    "HookSession",
    "HookSystem",
    "HookSystemNotInitializedError",
    "HookTranslator",
    "HooklineError",
    "Hooks",
    "InProcessMessageBus",
    "InvalidHookError",
    "InvalidPayloadError",
    "Judge",
    "MessageBus",
    "NoFolderError",
    "NotificationEvent",
    "PreCompressEvent",
    "PreCompressTrigger",
    "ProcessedHookResult",
    "Redaction",
    "Reply",
    "RunLimits",
    "SessionEndEvent",
    "SessionEndReason",
    "SessionStartEvent",
    "SessionStartSource",
    "StoppedByHook",
    "SyncHooks",
    "ToolAlias",
    "ToolError",
    "ToolGate",
    "ToolResult",
    "TranscriptWriter",
    "TranslationError",
    "UnknownEventError",
    "__version__",
    "add_context",
    "allow",
    "ask",
    "combine",
    "deny",
    "map_text",
    "message",
    "only_tools",
    "replace_answer",
    "replace_result",
    "rewrite",
    "stop",
]
