from hookline._version import __version__ as __version__
from hookline.answer import (
    Answer as Answer,
)
from hookline.answer import (
    process_common_hook_output_fields as process_common_hook_output_fields,
)
from hookline.bus import (
    HookExecutionRequest as HookExecutionRequest,
)
from hookline.bus import (
    HookExecutionResponse as HookExecutionResponse,
)
from hookline.bus import (
    InProcessMessageBus as InProcessMessageBus,
)
from hookline.bus import (
    MessageBus as MessageBus,
)
from hookline.bus import (
    MessageBusMessage as MessageBusMessage,
)
from hookline.bus import (
    MessageBusType as MessageBusType,
)
from hookline.bus import (
    request_hook_execution as request_hook_execution,
)
from hookline.config import Config as Config
from hookline.debuglog import (
    DebugLogger as DebugLogger,
)
from hookline.debuglog import (
    JsonLinesSink as JsonLinesSink,
)
from hookline.errors import (
    HooklineError as HooklineError,
)
from hookline.errors import (
    HookRegistryNotInitializedError as HookRegistryNotInitializedError,
)
from hookline.errors import (
    HookSystemNotInitializedError as HookSystemNotInitializedError,
)
from hookline.errors import (
    InvalidHookError as InvalidHookError,
)
from hookline.errors import (
    InvalidPayloadError as InvalidPayloadError,
)
from hookline.errors import (
    PayloadEncodingError as PayloadEncodingError,
)
from hookline.errors import (
    TranslationError as TranslationError,
)
from hookline.errors import (
    UnknownEventError as UnknownEventError,
)
from hookline.handler import HookEventHandler as HookEventHandler
from hookline.pipeline.aggregator import HookAggregator as HookAggregator
from hookline.pipeline.planner import HookPlanner as HookPlanner
from hookline.pipeline.redaction import Redaction as Redaction
from hookline.pipeline.registry import (
    HookRegistry as HookRegistry,
)
from hookline.pipeline.registry import (
    HookRegistryEntry as HookRegistryEntry,
)
from hookline.pipeline.runner.context import RunLimits as RunLimits
from hookline.pipeline.runner.runner import HookRunner as HookRunner
from hookline.system import (
    HookSystem as HookSystem,
)
from hookline.system import (
    HookSystemStatus as HookSystemStatus,
)
from hookline.system import (
    ReloadReport as ReloadReport,
)
from hookline.translate import HookTranslator as HookTranslator
from hookline.translate.genai import (
    GenAITranslator as GenAITranslator,
)
from hookline.translate.genai import (
    GenerateContentParameters as GenerateContentParameters,
)
from hookline.wire.events import (
    HookEventName as HookEventName,
)
from hookline.wire.events import (
    PreCompressTrigger as PreCompressTrigger,
)
from hookline.wire.events import (
    SessionEndReason as SessionEndReason,
)
from hookline.wire.events import (
    SessionStartSource as SessionStartSource,
)
from hookline.wire.hooks import (
    CommandHook as CommandHook,
)
from hookline.wire.hooks import (
    HookConfig as HookConfig,
)
from hookline.wire.hooks import (
    HookSource as HookSource,
)
from hookline.wire.hooks import (
    RuntimeHook as RuntimeHook,
)
from hookline.wire.outputs import (
    AfterAgentHookOutput as AfterAgentHookOutput,
)
from hookline.wire.outputs import (
    AfterModelHookOutput as AfterModelHookOutput,
)
from hookline.wire.outputs import (
    BeforeModelHookOutput as BeforeModelHookOutput,
)
from hookline.wire.outputs import (
    BeforeToolHookOutput as BeforeToolHookOutput,
)
from hookline.wire.outputs import (
    BeforeToolSelectionHookOutput as BeforeToolSelectionHookOutput,
)
from hookline.wire.outputs import (
    BlockingError as BlockingError,
)
from hookline.wire.outputs import (
    DefaultHookOutput as DefaultHookOutput,
)
from hookline.wire.outputs import (
    create_hook_output as create_hook_output,
)
from hookline.wire.results import (
    AggregatedHookResult as AggregatedHookResult,
)
from hookline.wire.results import (
    FailureMeta as FailureMeta,
)
from hookline.wire.results import (
    HookError as HookError,
)
from hookline.wire.results import (
    HookExecutionPlan as HookExecutionPlan,
)
from hookline.wire.results import (
    HookExecutionResult as HookExecutionResult,
)
from hookline.wire.results import (
    ProcessedHookResult as ProcessedHookResult,
)
from hookline.wire.results import (
    build_failure_envelope as build_failure_envelope,
)
from hookline.wire.results import (
    make_empty_success_result as make_empty_success_result,
)
from hookline.wire.validators import (
    validate_after_agent_input as validate_after_agent_input,
)
from hookline.wire.validators import (
    validate_after_model_input as validate_after_model_input,
)
from hookline.wire.validators import (
    validate_after_tool_input as validate_after_tool_input,
)
from hookline.wire.validators import (
    validate_before_agent_input as validate_before_agent_input,
)
from hookline.wire.validators import (
    validate_before_model_input as validate_before_model_input,
)
from hookline.wire.validators import (
    validate_before_tool_input as validate_before_tool_input,
)
from hookline.wire.validators import (
    validate_before_tool_selection_input as validate_before_tool_selection_input,
)
from hookline.wire.validators import (
    validate_notification_input as validate_notification_input,
)
from hookline.wire.validators import (
    validate_pre_compress_input as validate_pre_compress_input,
)
from hookline.wire.validators import (
    validate_session_end_input as validate_session_end_input,
)
from hookline.wire.validators import (
    validate_session_start_input as validate_session_start_input,
)
