"""The public names: a name that comes or goes is a decision, made here."""

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import hookline

PUBLIC = [
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
    body = ast.parse(stub.read_text()).body
    imports = [node for node in body if isinstance(node, ast.ImportFrom)]
    assert sorted(alias.name for node in imports for alias in node.names) == PUBLIC
    (exported,) = (node.value for node in body if isinstance(node, ast.Assign))
    assert sorted(ast.literal_eval(exported)) == PUBLIC
    for node in imports:
        home = importlib.import_module(str(node.module))
        for alias in node.names:
            assert getattr(home, alias.name) is getattr(hookline, alias.name)


def test_every_public_name_says_what_it_is() -> None:
    mute = [name for name in PUBLIC if not getattr(hookline, name).__doc__]
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


def test_a_script_that_prints_an_answer_loads_nothing_heavy() -> None:
    code = "from hookline import deny; deny('no')"
    assert loaded_by(code).isdisjoint({*HEAVY, "typing_extensions"})


def test_using_the_engine_loads_no_sdk_no_display_and_no_expressions() -> None:
    code = "import hookline; hookline.Hooks().sync.before_agent('hi').response; hookline.HookSystem"
    assert loaded_by(code).isdisjoint({"google", "pydantic", "rich", "regex", "nats"})
