"""Runs the tool calls of one model turn concurrently, and publishes their results in call order.

A call that a hook blocked is a completed call: the model reads the reason and decides what to do.
"""

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from enum import StrEnum
from functools import partial
from inspect import isawaitable
from typing import Any, TypeAlias

import msgspec

from hookline.agent.tools import Tool
from hookline.agent.turns import FunctionCall, name_call
from hookline.calls.tool import Confirm, ToolError, ToolResult
from hookline.contract import Config
from hookline.errors import describe
from hookline.hooks import HookSession, hooks_of


class CallStatus(StrEnum):
    """The state of a call; blocked, failed, cancelled and finished calls are all idle again."""

    SCHEDULED = "scheduled"
    EXECUTING = "executing"
    IDLE = "idle"


class ScheduledCall(msgspec.Struct, frozen=True):
    """A call and its result, as published."""

    call: FunctionCall
    result: ToolResult

    @property
    def display(self) -> Any:
        """What to show the user: None if a hook suppressed it."""
        if self.result.suppress_display:
            return None
        shown = self.result.return_display
        return self.result.llm_content if shown is None else shown


OnStatus: TypeAlias = Callable[[FunctionCall, CallStatus], None]
Publish: TypeAlias = Callable[[ScheduledCall], None]


class ToolScheduler:
    """Runs calls of its tools, and reports to ``on_status`` and ``publish``."""

    def __init__(
        self,
        hooks: HookSession | Config,
        tools: Mapping[str, Tool],
        *,
        confirm: Confirm | None = None,
        on_status: OnStatus | None = None,
        publish: Publish | None = None,
    ) -> None:
        self._hooks = hooks_of(hooks)
        self._tools = tools
        self._confirm = confirm
        self._on_status = on_status
        self._publish = publish

    async def run(
        self, calls: Sequence[FunctionCall], *, allowed: Collection[str] | None = None
    ) -> list[ScheduledCall]:
        """Run the calls and return their results, in call order. ``allowed`` are the tools that the
        last tool selection left, None for all. Cancelling this cancels its tools and hooks."""
        waiting: list[ScheduledCall | None] = [None] * len(calls)
        published: list[ScheduledCall] = []

        def set_status(call: FunctionCall, status: CallStatus) -> None:
            if self._on_status is not None:
                self._on_status(call, status)

        async def run(place: int, call: FunctionCall) -> None:
            set_status(call, CallStatus.EXECUTING)
            try:
                waiting[place] = ScheduledCall(call, await self._run_call(call, allowed))
            finally:
                set_status(call, CallStatus.IDLE)
            # A result waits until all calls before it have theirs.
            for following in waiting[len(published) :]:
                if following is None:
                    break
                published.append(following)
                if self._publish is not None:
                    self._publish(following)

        for call in calls:
            set_status(call, CallStatus.SCHEDULED)
        async with asyncio.TaskGroup() as group:
            for place, call in enumerate(calls):
                group.create_task(run(place, call))
        return published

    async def _run_call(self, call: FunctionCall, allowed: Collection[str] | None) -> ToolResult:
        def run_by_name(name: str, tool_input: dict[str, Any]) -> Any:
            if name not in self._tools:
                return _make_refusal("unknown_tool", f"There is no tool named {name}.")
            return self._tools[name].run(tool_input)

        if allowed is not None and call.name not in allowed:
            return _make_refusal(
                "tool_not_allowed", f"The tool {call.name} is not allowed in this call."
            )
        if call.name not in self._tools:
            return _make_refusal("unknown_tool", f"There is no tool named {call.name}.")
        if call.problem is not None:
            return _make_refusal("bad_arguments", f"{call.name} was not called: {call.problem}")
        gate = await self._hooks.tool_gate(
            call.name, call.args, confirm=self._confirm, call_id=name_call(call)
        )
        if gate.refusal is not None:
            return gate.refusal
        try:
            value = self._tools[call.name].run(gate.input)
            value = await value if isawaitable(value) else value
        except Exception as error:
            # The tool failed: the model reads the error like any result, with what hooks add.
            outcome = await gate.finish(error=error)
            if outcome.stop is not None:
                return outcome.result
            if outcome.replaced:
                return msgspec.structs.replace(
                    outcome.result, error=ToolError("tool_failed", outcome.text)
                )
            failed = _make_refusal("tool_failed", f"{call.name} failed: {describe(error)}")
            return msgspec.structs.replace(
                outcome.result,
                llm_content=f"{call.name} failed: {outcome.text}",
                return_display=failed.return_display,
                error=failed.error,
            )
        try:
            outcome = await gate.finish(result=value)
            outcome = await gate.follow(
                outcome, lambda name: partial(run_by_name, name), confirm=self._confirm
            )
        except Exception as error:
            # The tool that hooks called after this one failed.
            return _make_refusal("tool_failed", f"{call.name} failed: {describe(error)}")
        return outcome.result


def _make_refusal(kind: str, message: str) -> ToolResult:
    return ToolResult(message, return_display=message, error=ToolError(kind, message))
