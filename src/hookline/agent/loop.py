"""The agent: a session of turns that fires all eleven events and applies every answer."""

import uuid
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing, suppress
from contextvars import ContextVar
from functools import partial
from inspect import isawaitable
from os import PathLike
from typing import Any, TypeAlias

import msgspec

from hookline.agent.chat import Chat, Display
from hookline.agent.providers import ModelProvider, ask_of
from hookline.agent.scheduler import OnStatus, Publish, ToolScheduler
from hookline.agent.tools import Tool
from hookline.agent.turns import (
    CallResult,
    FunctionCall,
    Text,
    Turn,
    name_call,
    result_of,
    text_turn,
)
from hookline.calls.question import tool_notification
from hookline.calls.subagent import SubagentGate, make_agent_id, name_model_error
from hookline.calls.tool import Confirm, ConfirmationRequest
from hookline.contract import Config
from hookline.dialects.transcript import TranscriptWriter
from hookline.errors import describe
from hookline.hooks import HookSession, hooks_of
from hookline.pipeline.answer import Answer, most_sent_back
from hookline.wire.events import PreCompressTrigger, SessionEndReason, SessionStartSource
from hookline.wire.fired import Actor, RunningAgent

Show: TypeAlias = Callable[[Any], None]
Notify: TypeAlias = Callable[[str], Awaitable[None] | None]

# The agent whose tools are running in this context: an agent that one of them runs is its
# sub-agent.
_CALLING: ContextVar["Agent | None"] = ContextVar("hookline_calling_agent", default=None)


class TurnResult(msgspec.Struct, frozen=True, kw_only=True):
    """How a turn ended: ``refused`` by a hook before it began, ``stop_reason`` when a hook ended
    the loop, ``blocked`` when a hook kept the model from answering."""

    text: str = ""
    refused: bool = False
    blocked: bool = False
    reason: str | None = None
    stop_reason: str | None = None


class Agent:
    """A model, its tools and its hooks. ``async with`` is the session: it fires SessionStart at its
    beginning and SessionEnd at its end, each exactly once, also when it fails.

    ``notify``, plain or async, gets each system message of a hook that the user should see.
    ``history`` is that of an earlier session, with any provider. ``transcript`` is a file that
    the conversation is written to, for hooks to read. ``exports`` are the
    variables that SessionStart hooks set for the session's commands: a tool that runs commands
    adds them to their environment. Prompt hooks ask the provider, unless the hooks were given a
    judge. ``name`` is what hooks read of an agent that another agent's tool runs: it is a
    sub-agent, and its turn is part of the other's.
    """

    def __init__(
        self,
        hooks: HookSession | Config,
        provider: ModelProvider,
        tools: Iterable[Tool] = (),
        *,
        model_config: Any = None,
        display: Display = "live",
        show: Show | None = None,
        notify: Notify | None = None,
        confirm: Confirm | None = None,
        on_status: OnStatus | None = None,
        publish: Publish | None = None,
        compress_above: int | None = None,
        keep_turns: int = 2,
        max_model_calls: int = 100,
        source: SessionStartSource = SessionStartSource.STARTUP,
        history: Sequence[Turn] = (),
        transcript: str | PathLike[str] | None = None,
        name: str = "agent",
    ) -> None:
        self._hooks = hooks_of(hooks)
        view = self._hooks.view
        view.engine.project.offer_judge(ask_of(provider))
        self._name, self._agent_id = name, make_agent_id()
        # Why a hook ended the loop of an agent that a tool of this one runs.
        self._inner_stop: str | None = None
        self._effort = _find_effort(model_config)
        self._actor = Actor(agent=RunningAgent(name), effort=self._effort)
        self._transcript: TranscriptWriter | None = None
        if transcript is not None:
            project = view.engine.project
            session_id = project.get_session_id() if view.session_id is None else view.session_id
            self._transcript = TranscriptWriter(
                transcript, session_id=session_id, cwd=project.working_dir
            )
            view = msgspec.structs.replace(view, transcript_path=self._transcript.path)
        if notify is not None:
            view = view.heard_by(partial(self._show_message, notify))
        view = msgspec.structs.replace(view, get_actor=lambda: self._actor)
        self._hooks = HookSession(view.heard)
        self._max_model_calls = max_model_calls
        self._tools = {tool.name: tool for tool in tools}
        self._show = show
        self._ask = confirm
        self._compress_above = compress_above
        self._keep_turns = max(1, keep_turns)
        self._source = source
        self._started = False
        self._ended = False
        self._opening: list[str] = []
        self.exports: dict[str, str] = {}
        self.chat: Chat = Chat(
            self._hooks,
            provider,
            tools=tuple(self._tools.values()),
            model_config=model_config,
            display=display,
            history=history,
        )
        self._scheduler = ToolScheduler(
            self._hooks,
            self._tools,
            confirm=self._confirm if confirm is not None else None,
            on_status=on_status,
            publish=publish,
        )

    async def __aenter__(self) -> "Agent":
        try:
            await self.start()
        except BaseException:
            await self.end(SessionEndReason.OTHER)
            raise
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *_exception: object) -> None:
        await self.end(SessionEndReason.EXIT if kind is None else SessionEndReason.OTHER)

    async def start(self) -> None:
        """Begin the session, once."""
        if not self._started:
            self._started = True
            self._actor = self._find_actor()
            await self._start_session(self._source)
            if self._transcript is not None:
                with suppress(Exception):  # the first event reported it
                    self._transcript.tools = self._hooks.view.engine.project.get_tools()

    async def end(self, reason: SessionEndReason = SessionEndReason.EXIT) -> None:
        """End the session, once; a session that never began does not end."""
        if self._started and not self._ended:
            self._ended = True
            await self._hooks.session_end(reason)

    async def run(self, prompt: str) -> TurnResult:
        """Run one turn: the prompt, then the model and its tools until the model is done, with
        hooks around all of it."""
        await self.start()
        self._actor = self._find_actor(turn_id=uuid.uuid4().hex)
        self._inner_stop = None
        try:
            result = await self._run_turn(prompt)
        except Exception as error:
            await self._tell_failure(error)
            raise
        outer = _CALLING.get()
        if outer is not None and outer._hooks.view.engine is self._hooks.view.engine:
            # The same hooks guard both: what they stop is the user's whole turn.
            outer._inner_stop = outer._inner_stop or result.stop_reason
        return result

    async def _run_turn(self, prompt: str) -> TurnResult:
        history = self.chat.history
        # A turn that was stopped or cancelled may have left calls without the results that model
        # APIs require.
        open_calls = history[-1].calls if history else ()
        if open_calls:
            answer = "This call was not carried out."
            results = [CallResult(call, answer, is_error=True) for call in open_calls]
            history.append(Turn("user", tuple(results)))
        # What another agent's tool asks for is no new turn: a sub-agent has events of its own.
        if self._is_subagent:
            subagent = SubagentGate(self._hooks.view.fire_extra, self._name, self._agent_id)
            return await self._run_subagent(subagent, prompt)
        before = await self._hooks.before_agent(prompt)
        if before.stopped:
            history.append(text_turn("user", prompt))
            return TurnResult(reason=before.reason, stop_reason=before.reason)
        if before.denied:
            return TurnResult(refused=True, reason=before.reason)
        questions = [prompt, *before.texts_for_model]
        most = most_sent_back()
        for sent_back in range(most + 1):
            result = await self._converse(questions)
            after = await self._hooks.after_agent(
                prompt, result.text, stop_hook_active=sent_back > 0
            )
            if after.clear_context:
                history.clear()
            if after.message:
                self._opening.append(f"[System] {after.message}")
            if result.stop_reason is not None:
                return result
            if after.stopped:
                stop = after.reason
                return msgspec.structs.replace(result, reason=stop, stop_reason=stop)
            if after.send_back is None:
                return result
            prompt = after.send_back
            questions = [prompt]
        self._hooks.warn(
            f"AfterAgent hooks sent the turn back {most} times; it ends here: {prompt}"
        )
        return msgspec.structs.replace(result, reason=prompt)

    async def _run_subagent(self, gate: SubagentGate, prompt: str) -> TurnResult:
        """Run what another agent's tool asks for, between SubagentStart and SubagentStop."""
        questions = [prompt, *await gate.open()]
        path = "" if self._transcript is None else self._transcript.path
        while True:
            result = await self._converse(questions)
            if result.stop_reason is not None:
                return result
            end = await gate.close(result.text, transcript_path=path)
            if end.stop is not None:
                return msgspec.structs.replace(result, reason=end.stop, stop_reason=end.stop)
            if end.send_back is None:
                return result
            questions = [end.send_back]

    async def compress(self, trigger: PreCompressTrigger = PreCompressTrigger.MANUAL) -> None:
        """Replace all but the last turns of the history with a summary, unless hooks forbid it."""
        if (await self._hooks.pre_compress(trigger)).keep_history:
            return
        old, kept = self._split_history()
        if len(old) < 2:
            return
        summary = await self.chat.summarize(old)
        if summary is None:
            return
        self.chat.history[:] = [text_turn("user", f"[Summary] {summary}"), *kept]
        fields = {"trigger": str(trigger), "compact_summary": summary}
        await self._hooks.view.fire_extra("PostCompact", str(trigger), fields)
        await self._start_session(SessionStartSource.COMPRESS)

    @property
    def _is_subagent(self) -> bool:
        return self._actor.agent is not None and self._actor.agent.depth > 0

    def _find_actor(self, turn_id: str | None = None) -> Actor:
        """Return who fires this agent's events: a sub-agent if a tool of another agent runs it."""
        agent, calling = RunningAgent(self._name), _CALLING.get()
        outer = None if calling is None else calling._actor
        if outer is not None and outer.agent is not None:
            parent = outer.agent
            agent = RunningAgent(self._name, self._agent_id, parent.name, parent.depth + 1)
            turn_id = outer.turn_id
        return Actor(turn_id, agent, self._effort)

    async def _tell_failure(self, error: Exception) -> None:
        """Fire StopFailure: the turn ended because the model could not be called."""
        kind, text = name_model_error(error), describe(error)
        fields = {"error": kind, "error_details": text, "last_assistant_message": text}
        await self._hooks.view.fire_extra("StopFailure", kind, fields)

    async def _start_session(self, source: SessionStartSource) -> None:
        answer = await self._hooks.session_start(source)
        self._opening += answer.texts_for_model
        self.exports |= answer.exports

    async def _converse(self, asked: Sequence[str]) -> TurnResult:
        """Call the model and the tools it asks for, until it asks for none."""
        unsent = len(self._opening)
        added = [text_turn("user", "\n\n".join([*self._opening, *asked]))]
        chat = self.chat
        for _ in range(self._max_model_calls):
            above = self._compress_above
            is_large = above is not None and len(chat.history) > above
            if is_large and len(self._split_history()[0]) > 1:
                await self.compress(PreCompressTrigger.AUTO)
            known = len(chat.history)
            async with aclosing(chat.stream(*added)) as responses:
                async for response in responses:
                    if self._show is not None:
                        self._show(response)
            # Only now: a stream that breaks leaves them for the next turn.
            del self._opening[:unsent]
            unsent, added = 0, []
            self._record(chat.history[known:])
            assert chat.last_turn is not None
            turn = chat.last_turn
            if turn.stop_reason is not None or turn.blocked or not turn.calls:
                return TurnResult(
                    text=turn.text,
                    blocked=turn.blocked,
                    reason=turn.reason,
                    stop_reason=turn.stop_reason,
                )
            calling = _CALLING.set(self)
            try:
                done = await self._scheduler.run(turn.calls, allowed=turn.allowed_tools)
            finally:
                _CALLING.reset(calling)
            results = [
                result_of(
                    finished.call,
                    finished.result.llm_content,
                    is_error=finished.result.error is not None,
                )
                for finished in done
            ]
            # At once: these tools did run, even if the next model call fails.
            chat.history.append(Turn("user", tuple(results)))
            self._record(chat.history[-1:])
            stops = [finished.result.stop_reason for finished in done]
            stopped = next(filter(None, [*stops, self._inner_stop]), None)
            if stopped is not None:
                return TurnResult(text=turn.text, reason=stopped, stop_reason=stopped)
        reason = f"the turn ended after {self._max_model_calls} model calls"
        return TurnResult(text=turn.text, reason=reason)

    def _record(self, turns: Iterable[Turn]) -> None:
        """Write turns into the transcript."""
        transcript = self._transcript
        if transcript is None:
            return
        for part, role in ((part, turn.role) for turn in turns for part in turn.parts):
            if isinstance(part, Text):
                transcript.add_text("assistant" if role == "model" else "user", part.text)
            elif isinstance(part, FunctionCall):
                transcript.add_call(name_call(part), part.name, part.args)
            elif isinstance(part, CallResult):
                transcript.add_result(name_call(part.call), part.text, is_error=part.is_error)

    async def _confirm(self, request: ConfirmationRequest) -> bool:
        """Fire Notification, then ask the user."""
        assert self._ask is not None
        tool = self._tools.get(request.tool_name)
        if tool is not None:
            told = tool_notification(tool.confirmation(request.tool_input))
            await self._hooks.notification(
                told.message, notification_type=told.notification_type, details=told.details
            )
        answer = self._ask(request)
        return await answer if isawaitable(answer) else answer

    async def _show_message(self, notify: Notify, answer: Answer) -> None:
        if answer.system_message is None:
            return
        try:
            told = notify(answer.system_message)
            if isawaitable(told):
                await told
        except Exception as error:
            self._hooks.warn(f"the notify callback raised: {describe(error)}")

    def _split_history(self) -> tuple[list[Turn], list[Turn]]:
        """Return what to summarize, and the last turns, which stay; each turn begins with a user's
        text."""
        history = self.chat.history
        begins = [
            place
            for place, turn in enumerate(history)
            if turn.role == "user" and any(isinstance(part, Text) for part in turn.parts)
        ]
        place = begins[-self._keep_turns] if len(begins) >= self._keep_turns else 0
        return history[:place], history[place:]


def _find_effort(config: Any) -> str | None:
    """Return how hard the model is to think, as any of the APIs is told; None if it is not told."""
    if not isinstance(config, Mapping):
        return None
    nested = (config.get(name) for name in ("reasoning", "output_config"))
    named = [each.get("effort") for each in nested if isinstance(each, Mapping)]
    found = next(filter(None, (config.get("reasoning_effort"), *named)), None)
    return found if isinstance(found, str) else None
