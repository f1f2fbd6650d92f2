"""What a type checker knows of the front; checked, never run."""

from collections.abc import Callable, Coroutine, Mapping
from typing import Any, assert_type

from hookline import (
    AfterModelEvent,
    Answer,
    BeforeToolEvent,
    Hooks,
    HookSession,
    Reply,
    SessionStartEvent,
    SyncHooks,
    ToolGate,
    ToolResult,
    deny,
)
from hookline.hooks import SyncToolGate
from hookline.wire.model import LLMResponse


def a_literal_name_gives_the_event_its_type(hooks: Hooks) -> None:
    @hooks.on("BeforeTool", matcher="shell")
    def guard(event: BeforeToolEvent) -> Reply | None:
        assert_type(event["tool_input"], dict[str, Any])
        assert_type(event["session_id"], str)
        event["prompt"]  # type: ignore[typeddict-item]
        return deny("no")

    @hooks.on("AfterModel", timeout=500, on_failure="block")
    async def redact(event: AfterModelEvent) -> None:
        assert_type(event["llm_response"], LLMResponse)

    @hooks.on("BeforeAgent")
    def anything(event: Mapping[str, Any]) -> None:
        assert event["prompt"]

    @hooks.on("BeforeAgent")
    def by_dict(event: dict[str, Any]) -> dict[str, Any]:
        return event

    seen: list[str] = []
    hooks.on("SessionStart")(lambda event: seen.append(event["source"]))
    hooks.on("SessionStart")(lambda event: str(event["source"]))  # type: ignore[type-var]
    hooks.on("BeforeTool")(wrong)  # type: ignore[arg-type]
    hooks.on("BeforeTool", on_failure="sometimes")  # type: ignore[call-overload]


def a_misspelt_reply_is_refused(hooks: Hooks) -> None:
    @hooks.on("BeforeTool")
    def field(_event: BeforeToolEvent) -> Reply:
        return {"descision": "deny"}  # type: ignore[typeddict-unknown-key]

    @hooks.on("BeforeTool")
    def word(_event: BeforeToolEvent) -> Reply:
        return {"decision": "denied"}  # type: ignore[typeddict-item]

    @hooks.on("AfterTool")
    def specific(_event: object) -> Reply:
        return {"hookSpecificOutput": {"toolOutput": "x"}}  # type: ignore[typeddict-unknown-key]

    @hooks.on("BeforeTool")  # type: ignore[type-var]
    def text(_event: BeforeToolEvent) -> str:
        return "deny"

    @hooks.on("BeforeTool")  # type: ignore[type-var]
    async def later(_event: BeforeToolEvent) -> bool:
        return True

    hooks.session("chat", labels={"user": 7})  # type: ignore[dict-item]


def decorated_functions_keep_their_type(hooks: Hooks, event: BeforeToolEvent) -> None:
    @hooks.on("BeforeTool")
    def guard(event: BeforeToolEvent) -> Reply:
        return deny(event["tool_name"])

    assert_type(guard(event), Reply)


def wrong(event: SessionStartEvent) -> None:
    assert event["source"]


async def methods_answer_an_answer(hooks: Hooks) -> None:
    answer = await hooks.before_tool("shell", {"command": "ls"})
    assert_type(answer, Answer)
    assert_type(answer.blocked, bool)
    assert_type(answer.reason, str | None)
    assert_type(answer.tools, frozenset[str] | None)
    assert_type(await hooks.session_start("resume"), Answer)
    assert_type(await hooks.run_tool(len, {"obj": "x"}), ToolResult)
    assert_type(await hooks.tool_gate("shell", {}), ToolGate)
    await hooks.before_tool("shell")  # type: ignore[call-arg]


def the_synchronous_front_has_the_same_signatures(hooks: Hooks) -> None:
    assert_type(hooks.sync, SyncHooks)
    assert_type(hooks.sync.before_tool("shell", {"command": "ls"}), Answer)
    assert_type(hooks.sync.run_tool(len, {"obj": "x"}), ToolResult)
    assert_type(hooks.sync.tool_gate("shell", {}), SyncToolGate)
    hooks.sync.before_tool("shell")  # type: ignore[call-arg]
    hooks.sync.before_agent(7)  # type: ignore[arg-type]


async def ask_model(question: str) -> str:
    return question


def sessions_and_options(hooks: Hooks) -> None:
    assert_type(hooks.session("chat"), HookSession)
    assert_type(hooks.session("chat").sync, SyncHooks)
    assert_type(Hooks.load(".", trusted=True, warm=False, session_id="s"), Hooks)
    Hooks(working_dir=".", hooks={}, on_unavailable="block")
    Hooks(work_dir=".")  # type: ignore[call-arg]
    Hooks(judge=ask_model)
    Hooks(judge=lambda question: question)
    Hooks(judge=lambda: "")  # type: ignore[arg-type]
    Hooks.load(".", on_unavailable="never")  # type: ignore[arg-type]


def wrapped_functions_keep_their_type(hooks: Hooks) -> None:
    @hooks.wrap
    def shell(command: str) -> int:
        return len(command)

    @hooks.wrap(on_block="return", name="fetch")
    async def fetch(url: str) -> str:
        return url

    assert_type(shell("ls"), int)
    shell(7)  # type: ignore[arg-type]
    kept: Callable[[str], Coroutine[Any, Any, str]] = fetch
    assert kept is fetch
