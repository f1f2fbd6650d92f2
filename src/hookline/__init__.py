"""Real hooks for any LLM agent: scripts that block, rewrite, redact and restrict what it does.

The public names are imported on first use, so that ``import hookline`` costs next to nothing and
loads no SDK.
"""

# Module -> the public names it has.
_HOMES = {
    "hookline._version": ("__version__",),
    "hookline.pipeline.answer": ("Answer", "ProcessedHookResult"),
    "hookline.bus": (
        "InProcessMessageBus",
        "MessageBus",
    ),
    "hookline.contract": ("Config", "HookEventHandler", "HookSystem"),
    "hookline.trace.records": ("DebugLogger",),
    "hookline.errors": (
        "BlockedByHook",
        "HookSystemNotInitializedError",
        "HooklineError",
        "InvalidHookError",
        "InvalidPayloadError",
        "NoFolderError",
        "StoppedByHook",
        "TranslationError",
        "UnknownEventError",
    ),
    "hookline.hooks": (
        "HookSession",
        "Hooks",
        "SyncHooks",
    ),
    "hookline.dialects.tools": ("ToolAlias",),
    "hookline.runner.context": ("Judge", "RunLimits"),
    "hookline.replies": (
        "Reply",
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
    ),
    "hookline.calls.tool": (
        "Deferred",
        "ToolError",
        "ToolGate",
        "ToolResult",
    ),
    "hookline.dialects.transcript": ("TranscriptWriter",),
    "hookline.translate": ("HookTranslator",),
    "hookline.wire.events": (
        "HookEventName",
        "PreCompressTrigger",
        "SessionEndReason",
        "SessionStartSource",
    ),
    "hookline.wire.hooks": ("Redaction",),
    "hookline.wire.inputs": (
        "AfterAgentEvent",
        "AfterModelEvent",
        "AfterToolEvent",
        "BeforeAgentEvent",
        "BeforeModelEvent",
        "BeforeToolEvent",
        "BeforeToolSelectionEvent",
        "NotificationEvent",
        "PreCompressEvent",
        "SessionEndEvent",
        "SessionStartEvent",
    ),
    "hookline.wire.results": (
        "AggregatedHookResult",
        "HookError",
        "HookExecutionResult",
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
