from hookline._version import __version__ as __version__
from hookline.answer import Answer as Answer
from hookline.bus import (
    InProcessMessageBus as InProcessMessageBus,
    MessageBus as MessageBus,
)
from hookline.config import Config as Config
from hookline.debuglog import DebugLogger as DebugLogger
from hookline.errors import (
    BlockedByHook as BlockedByHook,
    HooklineError as HooklineError,
    HookSystemNotInitializedError as HookSystemNotInitializedError,
    InvalidHookError as InvalidHookError,
    InvalidPayloadError as InvalidPayloadError,
    StoppedByHook as StoppedByHook,
    TranslationError as TranslationError,
    UnknownEventError as UnknownEventError,
)
from hookline.front import (
    Hooks as Hooks,
    HookSession as HookSession,
    SyncHooks as SyncHooks,
)
from hookline.handler import HookEventHandler as HookEventHandler
from hookline.pipeline.redaction import Redaction as Redaction
from hookline.pipeline.runner.context import RunLimits as RunLimits
from hookline.replies import (
    add_context as add_context,
    allow as allow,
    ask as ask,
    combine as combine,
    deny as deny,
    message as message,
    replace_result as replace_result,
    rewrite as rewrite,
    stop as stop,
)
from hookline.system import HookSystem as HookSystem
from hookline.toolcall import (
    Deferred as Deferred,
    ToolGate as ToolGate,
    ToolResult as ToolResult,
)
from hookline.translate import HookTranslator as HookTranslator
from hookline.wire.events import (
    HookEventName as HookEventName,
    PreCompressTrigger as PreCompressTrigger,
    SessionEndReason as SessionEndReason,
    SessionStartSource as SessionStartSource,
)
from hookline.wire.results import (
    AggregatedHookResult as AggregatedHookResult,
    HookError as HookError,
    HookExecutionResult as HookExecutionResult,
    ProcessedHookResult as ProcessedHookResult,
)
