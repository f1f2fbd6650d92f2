"""The eleven events, each with every way to fire it and the fields a hook then reads of it."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from hookline.bus.messages import MessageBus
from hookline.contract import Config, HookEventHandler, HookSystem
from hookline.engine.engine import Engine
from hookline.pipeline.answer import ProcessedHookResult
from hookline.pipeline.planner import HookPlanner
from hookline.runner.context import RunContext
from hookline.settings.reader import EffectiveSettings
from hookline.trace.records import DebugLogger
from hookline.translate.choice import AnyTranslator
from hookline.wire.events import (
    HookEventName,
    PreCompressTrigger,
    SessionEndReason,
    SessionStartSource,
)

Json: TypeAlias = dict[str, Any]

REQUEST: Json = {
    "model": "model-a",
    "contents": [{"role": "user", "parts": [{"text": "hello"}]}],
    "config": {"temperature": 0.5, "systemInstruction": "be brief"},
}
WITH_TOOLS: Json = {
    "model": "model-a",
    "contents": "hello",
    "config": {"tools": [{"functionDeclarations": [{"name": "read"}, {"name": "write"}]}]},
}
RESPONSE: Json = {
    "candidates": [{"content": {"role": "model", "parts": [{"text": "hi"}]}, "index": 0}],
}
SHOWN_REQUEST: Json = {
    "model": "model-a",
    "messages": [{"role": "user", "content": "hello"}],
    "config": {"temperature": 0.5},
}
SHOWN_WITH_TOOLS: Json = {**SHOWN_REQUEST, "config": {}}
SHOWN_RESPONSE: Json = {
    "text": "hi",
    "candidates": [{"content": {"role": "model", "parts": ["hi"]}, "index": 0}],
}
MCP: Json = {"server_name": "files", "tool_name": "read"}


class Firing(NamedTuple):
    """One event: by its method, and as a payload for ``fire`` and the bus; ``own`` is what hooks
    read after the base fields, in order."""

    label: str
    event: HookEventName
    direct: Callable[[HookEventHandler], Awaitable[ProcessedHookResult]]
    payload: Json
    own: Json


FIRINGS: Sequence[Firing] = (
    Firing(
        "BeforeTool",
        HookEventName.BEFORE_TOOL,
        lambda h: h.fire_before_tool_event("read", {"path": "a", "é": [1, None]}),
        {"tool_name": "read", "tool_input": {"path": "a", "é": [1, None]}},
        {"tool_name": "read", "tool_input": {"path": "a", "é": [1, None]}},
    ),
    Firing(
        "BeforeTool-full",
        HookEventName.BEFORE_TOOL,
        lambda h: h.fire_before_tool_event(
            "read", {}, mcp_context=MCP, original_request_name="grep"
        ),
        {
            "original_request_name": "grep",
            "mcp_context": MCP,
            "tool_input": {},
            "tool_name": "read",
        },
        {
            "tool_name": "read",
            "tool_input": {},
            "mcp_context": MCP,
            "original_request_name": "grep",
        },
    ),
    Firing(
        "AfterTool",
        HookEventName.AFTER_TOOL,
        lambda h: h.fire_after_tool_event("read", {"path": "a"}, {"llmContent": "text"}),
        {"tool_name": "read", "tool_input": {"path": "a"}, "tool_response": {"llmContent": "text"}},
        {"tool_name": "read", "tool_input": {"path": "a"}, "tool_response": {"llmContent": "text"}},
    ),
    Firing(
        "AfterTool-full",
        HookEventName.AFTER_TOOL,
        lambda h: h.fire_after_tool_event(
            "read",
            {"path": "b"},
            None,
            original_tool_input={"path": "a"},
            mcp_context=MCP,
            original_request_name="grep",
        ),
        {
            "tool_name": "read",
            "tool_input": {"path": "b"},
            "tool_response": None,
            "mcp_context": MCP,
            "original_request_name": "grep",
            "original_tool_input": {"path": "a"},
        },
        {
            "tool_name": "read",
            "tool_input": {"path": "b"},
            "tool_response": None,
            "original_tool_input": {"path": "a"},
            "mcp_context": MCP,
            "original_request_name": "grep",
        },
    ),
    Firing(
        "BeforeAgent",
        HookEventName.BEFORE_AGENT,
        lambda h: h.fire_before_agent_event('say "hi"\n'),
        {"prompt": 'say "hi"\n'},
        {"prompt": 'say "hi"\n'},
    ),
    Firing(
        "AfterAgent",
        HookEventName.AFTER_AGENT,
        lambda h: h.fire_after_agent_event("q", "a"),
        {"prompt": "q", "prompt_response": "a"},
        {"prompt": "q", "prompt_response": "a", "stop_hook_active": False},
    ),
    Firing(
        "AfterAgent-again",
        HookEventName.AFTER_AGENT,
        lambda h: h.fire_after_agent_event("q", "a", True),
        {"stop_hook_active": True, "prompt_response": "a", "prompt": "q"},
        {"prompt": "q", "prompt_response": "a", "stop_hook_active": True},
    ),
    Firing(
        "BeforeModel",
        HookEventName.BEFORE_MODEL,
        lambda h: h.fire_before_model_event(REQUEST),
        {"model_request": REQUEST},
        {"llm_request": SHOWN_REQUEST},
    ),
    Firing(
        "AfterModel",
        HookEventName.AFTER_MODEL,
        lambda h: h.fire_after_model_event(REQUEST, RESPONSE),
        {"model_response": RESPONSE, "model_request": REQUEST},
        {"llm_request": SHOWN_REQUEST, "llm_response": SHOWN_RESPONSE},
    ),
    Firing(
        "BeforeToolSelection-no-tools",
        HookEventName.BEFORE_TOOL_SELECTION,
        lambda h: h.fire_before_tool_selection_event(REQUEST),
        {"llm_request": REQUEST},
        {"llm_request": SHOWN_REQUEST},
    ),
    Firing(
        "BeforeToolSelection",
        HookEventName.BEFORE_TOOL_SELECTION,
        lambda h: h.fire_before_tool_selection_event(WITH_TOOLS),
        {"model_request": WITH_TOOLS},
        {"llm_request": SHOWN_WITH_TOOLS, "available_tools": ["read", "write"]},
    ),
    Firing(
        "BeforeToolSelection-given",
        HookEventName.BEFORE_TOOL_SELECTION,
        lambda h: h.fire_before_tool_selection_event(WITH_TOOLS, ["ls"]),
        {"available_tools": ["ls"], "model_request": WITH_TOOLS},
        {"llm_request": SHOWN_WITH_TOOLS, "available_tools": ["ls"]},
    ),
    Firing(
        "SessionStart",
        HookEventName.SESSION_START,
        lambda h: h.fire_session_start_event(SessionStartSource.STARTUP),
        {"source": "startup"},
        {"source": "startup"},
    ),
    Firing(
        "SessionEnd",
        HookEventName.SESSION_END,
        lambda h: h.fire_session_end_event(SessionEndReason.PROMPT_INPUT_EXIT),
        {"reason": "prompt_input_exit"},
        {"reason": "prompt_input_exit"},
    ),
    Firing(
        "PreCompress",
        HookEventName.PRE_COMPRESS,
        lambda h: h.fire_pre_compress_event(PreCompressTrigger.AUTO),
        {"trigger": "auto"},
        {"trigger": "auto"},
    ),
    Firing(
        "Notification",
        HookEventName.NOTIFICATION,
        lambda h: h.fire_notification_event("look"),
        {"message": "look"},
        {"message": "look"},
    ),
    Firing(
        "Notification-full",
        HookEventName.NOTIFICATION,
        lambda h: h.fire_notification_event(
            "look", notification_type="ToolPermission", level="info", details={"type": "edit"}
        ),
        {
            "message": "look",
            "details": {"type": "edit"},
            "level": "info",
            "notification_type": "ToolPermission",
        },
        {
            "message": "look",
            "notification_type": "ToolPermission",
            "level": "info",
            "details": {"type": "edit"},
        },
    ),
)

# The plainest of each event.
ONE_EACH: Sequence[Firing] = tuple({f.event: f for f in reversed(FIRINGS)}.values())[::-1]


def label(firing: Firing) -> str:
    return firing.label


def on_every_event(*hooks: Json, **definition: Any) -> Json:
    """A ``hooks`` object that has these hooks on all eleven events."""
    return {event.value: [{**definition, "hooks": list(hooks)}] for event in HookEventName}


def command(text: str, *, name: str = "h", **fields: Any) -> Json:
    return {"type": "command", "name": name, "command": text, **fields}


def answering(output: str, **fields: Any) -> Json:
    """A command hook that prints this JSON."""
    return command(f"cat >/dev/null; printf '%s' '{output}'", **fields)


async def until(holds: Callable[[], bool], *, seconds: float = 30) -> None:
    """Wait for what other processes and threads do."""
    async with asyncio.timeout(seconds):
        while not holds():
            await asyncio.sleep(0.005)


async def started(work: Path, hooks: Json | None = None, **options: Any) -> HookSystem:
    """An initialized system whose project hooks are these."""
    work.mkdir(exist_ok=True)
    system = HookSystem(Config(working_dir=work, session_id="s-1", hooks=hooks, **options))
    await system.initialize()
    return system


def handler_of(
    system: HookSystem,
    *,
    planner: Any = None,
    runner: Any = None,
    aggregator: Any = None,
    translator: Any = None,
    project: Any = None,
    message_bus: MessageBus | None = None,
    debug_logger: DebugLogger | None = None,
    accept: Callable[[EffectiveSettings], str | None] = lambda _settings: None,
) -> HookEventHandler:
    """A second handler over the system's hooks in which any part can be another."""
    engine = Engine(
        system.engine.project,
        message_bus=message_bus,
        debug_logger=DebugLogger() if debug_logger is None else debug_logger,
        translator=translator or AnyTranslator(),
        accept=accept,
    )
    engine.open()
    local = engine.local
    local.planner = planner or HookPlanner(system.get_registry(), warn=lambda _message: None)
    local.runner = runner or local.runner
    local.aggregator = aggregator or local.aggregator
    local.project = project or local.project
    return HookEventHandler(engine)


def rules_of(config: Config) -> RunContext:
    """The rules that the hooks of a configuration run under."""
    config.get_settings()
    return config.project.in_force.context
