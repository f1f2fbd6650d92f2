"""The public names: a name that comes or goes is a decision, made here."""

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import hookline

PUBLIC = [
    "AfterAgentHookOutput",
    "AfterModelHookOutput",
    "AggregatedHookResult",
    "BeforeModelHookOutput",
    "BeforeToolHookOutput",
    "BeforeToolSelectionHookOutput",
    "BlockingError",
    "CommandHook",
    "Config",
    "DebugLogger",
    "DefaultHookOutput",
    "FailureMeta",
    "GenAITranslator",
    "GenerateContentParameters",
    "HookAggregator",
    "HookConfig",
    "HookError",
    "HookEventHandler",
    "HookEventName",
    "HookExecutionPlan",
    "HookExecutionRequest",
    "HookExecutionResponse",
    "HookExecutionResult",
    "HookPlanner",
    "HookRegistry",
    "HookRegistryEntry",
    "HookRegistryNotInitializedError",
    "HookRunner",
    "HookSource",
    "HookSystem",
    "HookSystemNotInitializedError",
    "HookSystemStatus",
    "HookTranslator",
    "HooklineError",
    "InProcessMessageBus",
    "InvalidHookError",
    "InvalidPayloadError",
    "JsonLinesSink",
    "MessageBus",
    "MessageBusMessage",
    "MessageBusType",
    "PayloadEncodingError",
    "PreCompressTrigger",
    "ProcessedHookResult",
    "Redaction",
    "ReloadReport",
    "RunLimits",
    "RuntimeHook",
    "SessionEndReason",
    "SessionStartSource",
    "TranslationError",
    "UnknownEventError",
    "__version__",
    "build_failure_envelope",
    "create_hook_output",
    "make_empty_success_result",
    "process_common_hook_output_fields",
    "request_hook_execution",
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
]
# What a program that only names hookline must not pay for.
HEAVY = ["asyncio", "google", "msgspec", "nats", "platformdirs", "pydantic", "regex", "rich"]


def test_the_public_names_are_these() -> None:
    assert sorted(vars(hookline)["__all__"]) == PUBLIC
    assert sorted(dir(hookline)) == PUBLIC


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_can_be_imported(name: str) -> None:
    assert getattr(hookline, name) is not None
    assert getattr(hookline, name) is getattr(hookline, name)


def test_a_name_that_is_not_public_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'no_such_name'"):
        hookline.no_such_name  # type: ignore[attr-defined]  # noqa: B018
    with pytest.raises(ImportError):
        importlib.import_module("hookline.no_such_module")


def test_type_checkers_are_told_the_same_names() -> None:
    stub = Path(hookline.__file__).with_suffix(".pyi")
    imports = [n for n in ast.parse(stub.read_text()).body if isinstance(n, ast.ImportFrom)]
    assert sorted(alias.asname or "" for node in imports for alias in node.names) == PUBLIC
    for node in imports:
        home = importlib.import_module(str(node.module))
        for alias in node.names:
            assert alias.asname == alias.name
            assert getattr(home, alias.name) is getattr(hookline, alias.name)


def test_every_public_name_says_what_it_is() -> None:
    mute = [
        name
        for name in PUBLIC
        if name != "MessageBusMessage" and not getattr(hookline, name).__doc__
    ]
    assert mute == []


def loaded_by(code: str) -> set[str]:
    """The top-level modules that are loaded after this code ran in a fresh interpreter."""
    report = "; import sys; print(*sorted({m.partition('.')[0] for m in sys.modules}))"
    done = subprocess.run(
        [sys.executable, "-c", code + report], capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())


def test_importing_hookline_loads_nothing_heavy() -> None:
    assert loaded_by("import hookline").isdisjoint(HEAVY)


def test_using_the_engine_loads_no_sdk_no_display_and_no_expressions() -> None:
    code = "import hookline; hookline.Config(); hookline.HookSystem; hookline.GenAITranslator()"
    assert loaded_by(code).isdisjoint({"google", "pydantic", "rich", "regex", "nats"})
