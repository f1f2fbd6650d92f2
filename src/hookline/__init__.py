"""Real hooks for any LLM agent: scripts that block, rewrite, redact and restrict what it does.

The public names are imported on first use, so that ``import hookline`` costs next to nothing and
loads no SDK.
"""

# Module -> the public names it has.
_HOMES = {
    "hookline._version": ("__version__",),
    "hookline.bus": (
        "HookExecutionRequest",
        "HookExecutionResponse",
        "InProcessMessageBus",
        "MessageBus",
        "MessageBusMessage",
        "MessageBusType",
        "request_hook_execution",
    ),
    "hookline.config": ("Config",),
    "hookline.debuglog": ("DebugLogger", "JsonLinesSink"),
    "hookline.errors": (
        "HookRegistryNotInitializedError",
        "HookSystemNotInitializedError",
        "HooklineError",
        "InvalidHookError",
        "InvalidPayloadError",
        "PayloadEncodingError",
        "TranslationError",
        "UnknownEventError",
    ),
    "hookline.handler": ("HookEventHandler",),
    "hookline.pipeline.aggregator": ("HookAggregator",),
    "hookline.pipeline.planner": ("HookPlanner",),
    "hookline.answer": ("Answer", "process_common_hook_output_fields"),
    "hookline.pipeline.redaction": ("Redaction",),
    "hookline.pipeline.registry": ("HookRegistry", "HookRegistryEntry"),
    "hookline.pipeline.runner.context": ("RunLimits",),
    "hookline.pipeline.runner.runner": ("HookRunner",),
    "hookline.system": ("HookSystem", "HookSystemStatus", "ReloadReport"),
    "hookline.translate": ("HookTranslator",),
    "hookline.translate.genai": ("GenAITranslator", "GenerateContentParameters"),
    "hookline.wire.events": (
        "HookEventName",
        "PreCompressTrigger",
        "SessionEndReason",
        "SessionStartSource",
    ),
    "hookline.wire.hooks": ("CommandHook", "HookConfig", "HookSource", "RuntimeHook"),
    "hookline.wire.outputs": (
        "AfterAgentHookOutput",
        "AfterModelHookOutput",
        "BeforeModelHookOutput",
        "BeforeToolHookOutput",
        "BeforeToolSelectionHookOutput",
        "BlockingError",
        "DefaultHookOutput",
        "create_hook_output",
    ),
    "hookline.wire.results": (
        "AggregatedHookResult",
        "FailureMeta",
        "HookError",
        "HookExecutionPlan",
        "HookExecutionResult",
        "ProcessedHookResult",
        "build_failure_envelope",
        "make_empty_success_result",
    ),
    "hookline.wire.validators": (
        "validate_after_agent_input",
        "validate_after_model_input",
        "validate_after_tool_input",
        "validate_before_agent_input",
        "validate_before_model_input",
        "validate_before_tool_input",
        "validate_before_tool_selection_input",
        "validate_notification_input",
        "validate_pre_compress_input",
        "validate_session_end_input",
        "validate_session_start_input",
    ),
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [*_HOME_OF]  # type checkers read __init__.pyi


def __getattr__(name: str) -> object:
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module 'hookline' has no attribute {name!r}")
    from importlib import import_module

    value = globals()[name] = getattr(import_module(home), name)
    return value


def __dir__() -> list[str]:
    return __all__
