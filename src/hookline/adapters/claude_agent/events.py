"""The callbacks that Claude Code calls; each fires the matching event of hookline.

Claude Code runs in another process, so a tool call comes in two halves, matched by its id and its
input (by its id alone, if a callback or a user changed the input in between). What one
callback cannot answer waits for the next that can: a stop after a tool that failed ends the turn
when its batch of calls ends.
"""

from collections import OrderedDict
from collections.abc import Callable, Collection, Coroutine, Iterator, Mapping
from contextvars import ContextVar
from threading import Lock
from typing import Any, TypeAlias

import msgspec
from claude_agent_sdk import (
    CanUseTool,
    ClaudeAgentOptions,
    PermissionResult,
    PermissionResultAllow,
    PermissionResultDeny,
    ToolPermissionContext,
)

from hookline.adapters.claude_agent.outputs import (
    NOTHING,
    Output,
    block,
    deny_call,
    refuse_prompt,
    specific,
    stop,
)
from hookline.adapters.conversations import Conversation, Conversations, Given
from hookline.adapters.steps import (
    MODEL_EVENTS,
    CallKey,
    RunState,
    ToolOutcome,
    ToolStep,
    TurnStart,
    announce_question,
    key_call,
    make_turn_id,
)
from hookline.calls.tool import (
    NOBODY_TO_ASK,
    ConfirmationRequest,
    ToolError,
    ToolResult,
    may_permit,
    text_of,
)
from hookline.dialects.claude.events import NAME, ClaudeEventName
from hookline.dialects.claude.tools import show_as_host
from hookline.dialects.tools import ShownCall, read_blocks, read_mcp_context, split_mcp_name
from hookline.errors import HooklineError, describe
from hookline.hooks import Face
from hookline.pipeline.answer import Answer
from hookline.wire import codec
from hookline.wire.events import HookEventName
from hookline.wire.fired import Original, Target
from hookline.wire.hooks import HookSource

Event: TypeAlias = Mapping[str, Any]
Answering: TypeAlias = "Callable[[_Session, Event], Coroutine[Any, Any, Output]]"

_BEFORE, _AFTER = HookEventName.BEFORE_TOOL, HookEventName.AFTER_TOOL
# The modes in which Claude Code asks the user, or nobody has to be asked. In the others it denies
# what is not allowed, and a hook's question would be a way around that.
_ASKING_MODES = frozenset({"default", "acceptEdits", "bypassPermissions"})
_END_REASONS = frozenset({"clear", "logout", "prompt_input_exit", "other"})
_MOST_SESSIONS = 10_000
# How many calls are remembered: the second half of a denied call never comes.
_MOST_CALLS = 1_000
# Characters of a result that Claude Code shows the model, however long it is.
_HEAD = 1_000
# Events whose system message Claude Code shows the user; the model reads those of native hooks.
_SHOWN = frozenset(
    {
        *(_BEFORE, _AFTER, HookEventName.BEFORE_AGENT, HookEventName.AFTER_AGENT),
        HookEventName.SESSION_START,
    }
)
# Messages to the user from the hooks of the current callback.
_told: ContextVar[list[str]] = ContextVar("hookline_claude_agent_told")


class _Call(msgspec.Struct, frozen=True):
    """A tool call between its two halves; ``input`` is what the tool will run with."""

    step: ToolStep
    shown: ShownCall
    input: Mapping[str, Any]


class _Replacement(msgspec.Struct, frozen=True):
    """The first lines that the model should read of a result, and those it must not read."""

    put: list[str]
    gone: set[str]

    def is_taken(self, response: Any) -> bool:
        """True if the model reads the replacement; its lines may be numbered, indented or cut."""
        shown = response if isinstance(response, str) else "\n".join(read_blocks(response))
        lines = {line.rpartition("\t")[2].strip() for line in shown.splitlines()}
        return all(line in shown for line in self.put) and not self.gone & lines


class _Session:
    """A session of Claude Code: its turn, and the calls under way in it and in its subagents."""

    def __init__(
        self, conversation: Conversation, options: ClaudeAgentOptions, *, blocks_failures: bool
    ) -> None:
        self.conversation = conversation
        # The options of the client that has the session now.
        self.options = options
        hooks = conversation.hooks
        view = msgspec.structs.replace(hooks.view, closed=blocks_failures or hooks.view.closed)
        self._view = view.heard_by(self._tell_user)
        self.face = Face(self._view)
        # The turn of the main agent, and those that its subagents have part in, by their ids.
        self.run = self._make_run()
        self._subagents: OrderedDict[str, RunState] = OrderedDict()
        self.calls: OrderedDict[CallKey, _Call] = OrderedDict()
        # By call id, what hooks replaced the result with.
        self.replaced: OrderedDict[str, _Replacement] = OrderedDict()
        # Questions of hooks for which Notification has fired, with the hooks' answers.
        self.announced: list[tuple[tuple[str, bytes], Answer]] = []
        self._is_stop_told = False

    def _make_run(self, **options: Any) -> RunState:
        return RunState(self.conversation, agent="main", view=self._view, **options)

    def find_run(self, given: Event) -> RunState:
        """Return the run of the agent that an event comes from: the main agent or a subagent."""
        agent_id = given.get("agent_id")
        if not isinstance(agent_id, str):
            return self.run
        run = self._subagents.get(agent_id)
        if run is None:
            kind = str(given.get("agent_type") or "subagent")
            run = RunState(
                self.conversation, outer=self.run, agent=kind, agent_id=agent_id, view=self._view
            )
            _keep_newest(self._subagents, agent_id, run)
        return run

    async def _tell_user(self, answer: Answer) -> None:
        """Pass a hook's message to the user: through Claude Code where it can, else as a
        warning."""
        if answer.event in _SHOWN:
            _told.get().extend(filter(None, [answer.user_message]))
        elif isinstance(answer.event, ClaudeEventName) and answer.system_message:
            self.conversation.hooks.warn(f"a hook tells the user: {answer.system_message}")

    def end_turn(self, given: Event) -> Output:
        """Answer that ends the loop, which may be a subagent's. The user is told why once, and not
        for a subagent."""
        tell = not self._is_stop_told and "agent_id" not in given
        self._is_stop_told = self._is_stop_told or tell
        return stop(self.find_run(given).stop or "", tell=tell)

    async def open_turn(self, given: Event) -> TurnStart:
        """Fire BeforeAgent. A prompt may come during another turn, which goes on without it if
        hooks refuse it."""
        run = self._make_run(turn_id=given.get("prompt_id") or make_turn_id())
        opened = await run.open_turn(given["prompt"], original=Original(NAME, given))
        if opened.refusal is None:
            self.run, self._is_stop_told = run, False
            self.announced.clear()
        return opened

    def find_call(self, call_id: str, name: str, tool_input: Any) -> CallKey | None:
        """Return the key of a call under way; of several of this id and other inputs one whose
        hooks ask, or else the last."""
        key = key_call(call_id, name, tool_input)
        if key in self.calls:
            return key
        others = [other for other in reversed(self.calls) if other.id == call_id]
        asking = (other for other in others if self.calls[other].step.gate.asks)
        return next(asking, others[0] if others else None)

    def can_ask(self) -> bool:
        """True if Claude Code can ask the user."""
        return bool(self.options.can_use_tool or self.options.permission_prompt_tool_name)

    async def start(self, *, is_cleared: bool = False) -> None:
        """Fire SessionStart, once."""
        is_resumed = self.options.resume is not None or self.options.continue_conversation
        source = "clear" if is_cleared else "resume" if is_resumed else "startup"
        await self.conversation.start(self.face, source)


class Callback:
    """The callback of one Claude Code event, for clients with these options. It never raises."""

    def __init__(
        self, guard: "Guard", event: str, answering: Answering, options: ClaudeAgentOptions
    ) -> None:
        self.guard, self._event, self._answering = guard, event, answering
        self._options = options

    def bind(self, options: ClaudeAgentOptions) -> "Callback":
        """Return the same callback for clients with other options."""
        return Callback(self.guard, self._event, self._answering, options)

    async def __call__(self, given: Any, _tool_use_id: str | None, _context: Any) -> Any:
        told: list[str] = []
        token = _told.set(told)
        try:
            output = await self._answering(self.guard.get_session(given, self._options), given)
        except Exception as error:
            output = self.guard.fail(self._event, error)
        finally:
            _told.reset(token)
        if not told:
            return output
        told += filter(None, [output.get("systemMessage")])
        return {**output, "systemMessage": "\n".join(told)}


class Asking:
    """The user's ``can_use_tool``, with PermissionRequest hooks before it. Claude Code would call
    both at the same time and take whichever answers first."""

    def __init__(self, guard: "Guard", own: CanUseTool) -> None:
        self.guard, self.own = guard, own

    async def __call__(
        self, name: str, tool_input: dict[str, Any], context: ToolPermissionContext
    ) -> PermissionResult:
        try:
            answer = await self.guard.answer_question(name, tool_input, context)
        except Exception as error:
            why = f"hooks did not run on PermissionRequest: {describe(error)}"
            self.guard.warn(why)
            answer = PermissionResultDeny(message=why) if self.guard.must_block() else None
        return await self.own(name, tool_input, context) if answer is None else answer


class Guard:
    """The hooks of all agents made from the same options."""

    def __init__(self, hooks: Given, *, blocks_failures: bool) -> None:
        self._conversations = Conversations(hooks)
        self._hooks = self._conversations.hooks
        self._blocks_failures = blocks_failures
        self._lock = Lock()
        self._sessions: OrderedDict[str, _Session] = OrderedDict()
        # By call id, the calls that the user may be asked about: the session and its PreToolUse.
        self._asked: OrderedDict[str, tuple[_Session, Event]] = OrderedDict()

    def make_callbacks(self, options: ClaudeAgentOptions) -> Iterator[tuple[str, Callback]]:
        """Yield each event of Claude Code with the callback that answers it."""
        answering: dict[str, Answering] = {
            "PreToolUse": self._fire_before_tool,
            "PostToolUse": self._fire_after_tool,
            "PostToolUseFailure": self._fire_after_tool,
            "PostToolBatch": self._end_batch,
            "PermissionRequest": self._handle_permission_request,
            "SubagentStart": self._fire_own,
            "SubagentStop": self._fire_own,
            "UserPromptSubmit": self._fire_before_agent,
            "Stop": self._fire_after_agent,
            "SessionStart": self._start_session,
            "SessionEnd": self._end_session,
            "PreCompact": self._fire_pre_compress,
            "Notification": self._fire_notification,
        }
        # Claude Code's other events, if there are hooks for them.
        for own in ClaudeEventName:
            if own.value not in answering and self._hooks.names_of_hooks(own):
                answering[own.value] = self._fire_own
        for event, method in answering.items():
            yield event, Callback(self, event, method, options)

    def find_doubles(self, sources: Collection[str] | None) -> list[str]:
        """Return the files whose hooks Claude Code runs as well, because it reads the settings of
        these sources, or of all if None."""
        read = {"project", "local", "user"} if sources is None else {*sources}
        named = {HookSource.PROJECT: {"project", "local"}, HookSource.USER: {"user"}}
        try:
            entries = self._hooks.view.engine.project.get_settings().entries
        except Exception:
            # The first event reports it.
            return []
        own = [e for e in entries if e.hook.dialect == NAME and not e.hook.plugin_root]
        files = {(e.source, e.file) for e in own if e.file}
        return [file for source, file in sorted(files) if named.get(source, set()) & read]

    def must_block(self) -> bool:
        """True if whatever hooks could not see or decide must be blocked, also when hookline itself
        failed."""
        return self._blocks_failures or self._hooks.is_strict()

    def warn(self, message: str) -> None:
        """Warn the user."""
        self._hooks.warn(message)

    def get_session(self, given: Event, options: ClaudeAgentOptions) -> _Session:
        """Return the session of an event, with the options of the client that sent it."""
        id = given["session_id"]
        with self._lock:
            session = self._sessions.get(id)
            if session is None:
                transcript = given.get("transcript_path")
                conversation = self._conversations.of(id, transcript_path=transcript)
                session = _Session(conversation, options, blocks_failures=self._blocks_failures)
                self._sessions[id] = session
                if len(self._sessions) > _MOST_SESSIONS:
                    self._sessions.popitem(last=False)
            else:
                session.options = options
                self._sessions.move_to_end(id)
            return session

    async def end_sessions(self, *, blocking: bool) -> None:
        """Fire SessionEnd for every session, and close hooks that were loaded here."""
        with self._lock:
            self._sessions.clear()
        await self._conversations.end_all(blocking=blocking)

    def fail(self, event: str, error: Exception) -> Output:
        """Warn that hookline itself failed, and return the answer for that."""
        why = f"hooks did not run on {event}: {describe(error)}"
        self.warn(why)
        if not self.must_block():
            return NOTHING
        if event == "PreToolUse":
            return deny_call(why)
        if event == "UserPromptSubmit":
            return refuse_prompt(why)
        # The tool has run, but the turn can end.
        return stop(why) if event.startswith("PostTool") else NOTHING

    async def _fire_before_tool(self, session: _Session, given: Event) -> Output:
        run = session.find_run(given)
        if run.stop is not None:
            return {**session.end_turn(given), **deny_call(run.stop)}
        try:
            shown = show_as_host(given["tool_name"], given["tool_input"])
        except HooklineError as error:
            return deny_call(f"hooks cannot read this call, so it did not run: {error}")
        target = Target(shown.name, given["tool_name"], NAME)
        if session.options.can_use_tool is not None and self._hooks.may_answer(
            ClaudeEventName.PERMISSION_REQUEST, target
        ):
            _keep_newest(self._asked, given["tool_use_id"], (session, given))
        if self._hooks.may_skip(_BEFORE, _AFTER, target=target):
            return NOTHING
        await session.start()
        step = ToolStep(
            run,
            shown.name,
            shown.input,
            call_id=given["tool_use_id"],
            mcp_context=read_mcp_context(given),
            # Claude Code asks the user.
            defers=True,
            original=Original(NAME, given),
        )
        refused = await step.open()
        if refused is not None:
            denied = deny_call(refused.text)
            return denied if refused.stop is None else {**session.end_turn(given), **denied}
        fields: dict[str, Any] = {}
        tool_input = given["tool_input"]
        if step.is_rewritten:
            try:
                tool_input = fields["updatedInput"] = shown.restore(step.input)
            except HooklineError as error:
                return deny_call(f"hooks rewrote the call's input into an invalid one: {error}")
        if shown.name == "task" and self._hooks.may_answer(_AFTER, target):
            # The report of a background agent does not come as a tool result.
            fields["updatedInput"] = {**tool_input, "run_in_background": False}
        if step.question is not None:
            asked = await self._ask_in_claude_code(session, given, step, fields)
            if asked is not None:
                return asked
        will_run = fields.get("updatedInput", tool_input)
        key = key_call(given["tool_use_id"], given["tool_name"], will_run)
        _keep_newest(session.calls, key, _Call(step, shown, tool_input))
        return specific("PreToolUse", **fields) if fields else NOTHING

    async def _ask_in_claude_code(
        self, session: _Session, given: Event, step: ToolStep, fields: dict[str, Any]
    ) -> Output | None:
        """Make Claude Code ask the user about a call; return a denial if its mode forbids that."""
        before = step.gate.before
        reason, mode = before.reason or "", given.get("permission_mode", "default")
        if mode not in _ASKING_MODES:
            return deny_call(f"{reason} ({NOBODY_TO_ASK} in permission mode {mode})")
        if session.can_ask():
            asked = fields.get("updatedInput", given["tool_input"])
            question = (given["tool_name"], codec.encode(asked))
            session.announced.append((question, before))
            await step.announce()
        else:
            # Claude Code denies it, and the model reads this.
            reason = f"{reason} ({NOBODY_TO_ASK})"
        if before.message:
            reason = f"{reason}\n\n[System] {before.message}"
        fields |= {"permissionDecision": "ask", "permissionDecisionReason": reason}
        return None

    async def _fire_after_tool(self, session: _Session, given: Event) -> Output:
        ran = show_as_host(given["tool_name"], given["tool_input"])
        target = Target(ran.name, given["tool_name"], NAME)
        key = session.find_call(given["tool_use_id"], given["tool_name"], given["tool_input"])
        call = None if key is None else session.calls.pop(key)
        if call is None:
            if self._hooks.may_skip(_AFTER, target=target):
                return self._end_subagent(session, given)
            step = ToolStep(
                session.find_run(given),
                ran.name,
                ran.input,
                call_id=given["tool_use_id"],
                mcp_context=read_mcp_context(given),
            )
            await step.take_up()
        else:
            step = call.step
            self._note_other_input(call, ran)
            if ran.input != step.input:
                step.gate.input = ran.input
        launched = _as_mapping(given.get("tool_response")).get("status") == "async_launched"
        if (launched or given["tool_name"] == "Monitor") and self._hooks.may_answer(_AFTER, target):
            self._conversations.warn_once(
                f"AfterTool hooks do not see the background output of {given['tool_name']}: Claude "
                "Code sends it as a prompt, to BeforeAgent hooks"
            )
        outcome = await step.close(result=_read_result(given, ran), original=Original(NAME, given))
        output = self._apply_outcome(session, given, ran, outcome)
        return output | self._end_subagent(session, given)

    def _end_subagent(self, session: _Session, given: Event) -> Output:
        """Answer that ends a subagent after a stop. The main loop ends with its batch of calls:
        after a single call it would not end if the tool failed, and not tell the user why."""
        if "agent_id" not in given or session.find_run(given).stop is None:
            return NOTHING
        return session.end_turn(given)

    def _apply_outcome(
        self, session: _Session, given: Event, ran: ShownCall, outcome: ToolOutcome
    ) -> Output:
        event = given["hook_event_name"]
        if not outcome.replaced:
            return specific(event, additionalContext=outcome.added) if outcome.added else {}
        is_mcp = split_mcp_name(given["tool_name"]) is not None
        response = ran.alias.response if ran.alias is not None else None
        if event == "PostToolUse" and (is_mcp or response is not None):
            replacement = _compare_lines(text_of(outcome.value.llm_content), outcome.text)
            _keep_newest(session.replaced, given["tool_use_id"], replacement)
            written: Any = outcome.text
            if not is_mcp and response is not None:
                written = response.write(_as_mapping(given["tool_response"]), outcome.text)
            return specific(event, updatedToolOutput=written)
        if outcome.stop is not None:
            return {}
        is_error = event == "PostToolUseFailure"
        what = "an error" if is_error else f"a result of {ran.name}"
        why = f"hooks replaced {what}, which Claude Code cannot replace"
        # A declared tool's result says little more than that it is done; others may say anything.
        if self.must_block() and (is_error or ran.alias is None):
            self.warn(f"{why}: the turn ends")
            session.find_run(given).end(why)
            return {}
        self._conversations.warn_once(f"{why}: the model reads both")
        return block(outcome.text)

    def _note_other_input(self, call: _Call, ran: ShownCall) -> None:
        """Warn if a tool ran with another input than the one hooks had rewritten."""
        before, missing = call.shown.given, object()
        lost = [
            field
            for field, value in call.input.items()
            if before.get(field, missing) != value and ran.given.get(field, missing) != value
        ]
        if lost:
            self.warn(
                f"{ran.name} ran with another {', '.join(sorted(lost))} than hooks had rewritten "
                "it into: a callback or a user changed the input as well"
            )

    async def _end_batch(self, session: _Session, given: Event) -> Output:
        calls, run = given.get("tool_calls"), session.find_run(given)
        for call in calls if isinstance(calls, list) else ():
            replacement = session.replaced.pop(call.get("tool_use_id"), None)
            if replacement is None or replacement.is_taken(call.get("tool_response")):
                continue
            name = call["tool_name"]
            why = f"Claude Code did not use the result that hooks put in place of that of {name}"
            self.warn(why)
            if self.must_block():
                run.end(why)
        return NOTHING if run.stop is None else session.end_turn(given)

    async def _handle_permission_request(self, session: _Session, given: Event) -> Output:
        """Announce that Claude Code asks about a call, for its own reasons or a hook's, and answer
        in the user's place if hooks do."""
        question = (given["tool_name"], codec.encode(given["tool_input"]))
        shown = show_as_host(given["tool_name"], given["tool_input"])
        asked = next((each for each in session.announced if each[0] == question), None)
        if asked is not None:
            session.announced.remove(asked)
        else:
            reason = "Claude Code asks for permission"
            request = ConfirmationRequest(shown.name, shown.input, reason)
            await announce_question(session.find_run(given).face, request)
        if session.options.can_use_tool is not None:
            # These hooks answer in ``Asking``.
            return NOTHING
        answer = await self._answer_question(session, given, None if asked is None else asked[1])
        if answer is None:
            return NOTHING
        decision: dict[str, Any] = {"behavior": answer.behavior}
        if isinstance(answer, PermissionResultDeny):
            decision |= {"message": answer.message, "interrupt": answer.interrupt}
        elif answer.updated_input is not None:
            decision["updatedInput"] = answer.updated_input
        return specific(given["hook_event_name"], decision=decision)

    async def answer_question(
        self, name: str, tool_input: dict[str, Any], context: ToolPermissionContext
    ) -> PermissionResult | None:
        """Return what PermissionRequest hooks answer in place of ``can_use_tool``, None if
        nothing."""
        session, before = self._asked.pop(context.tool_use_id or "", (None, {}))
        if session is None:
            return None
        place = (
            "session_id",
            "transcript_path",
            "cwd",
            "permission_mode",
            "agent_id",
            "agent_type",
        )
        given = {field: before[field] for field in place if field in before}
        given |= {"tool_name": name, "tool_input": tool_input}
        if context.suggestions:
            given["permission_suggestions"] = [each.to_dict() for each in context.suggestions]
        key = session.find_call(context.tool_use_id or "", name, tool_input)
        gate = None if key is None else session.calls[key].step.gate
        asked = gate.before if gate is not None and gate.asks else None
        return await self._answer_question(session, given, asked)

    async def _answer_question(
        self, session: _Session, given: Event, asked: Answer | None
    ) -> PermissionResult | None:
        """Return what hooks answer to a question; ``asked`` is the answer of the hooks that wanted
        it, None if Claude Code asks."""
        event, tool_input = ClaudeEventName.PERMISSION_REQUEST, given["tool_input"]
        shown = show_as_host(given["tool_name"], tool_input)
        if not self._hooks.may_answer(event, Target(shown.name, given["tool_name"], NAME)):
            return None
        answer = await session.find_run(given).face.fire_claude_event(event.value, given)
        if answer.blocked:
            return PermissionResultDeny(message=answer.reason or "", interrupt=answer.stopped)
        if not may_permit(answer, asked):
            return None
        is_same = answer.tool_input is tool_input
        return PermissionResultAllow(updated_input=None if is_same else answer.tool_input)

    async def _fire_own(self, session: _Session, given: Event) -> Output:
        """Fire an event that only Claude Code has."""
        event = given["hook_event_name"]
        answer = await session.find_run(given).face.fire_claude_event(event, given)
        if answer.stopped:
            return stop(answer.reason or "")
        if answer.denied:
            return block(answer.reason or "")
        return specific(event, additionalContext=answer.context) if answer.context else NOTHING

    async def _fire_before_agent(self, session: _Session, given: Event) -> Output:
        refusal = self._refuse_model_hooks()
        if refusal is not None:
            return refuse_prompt(refusal)
        await session.start()
        opened = await session.open_turn(given)
        if opened.stop:
            # Claude Code itself tells the user why.
            return stop(opened.refusal or "", tell=False)
        if opened.refusal is not None:
            return refuse_prompt(opened.refusal)
        if not opened.texts:
            return NOTHING
        return specific("UserPromptSubmit", additionalContext="\n\n".join(opened.texts))

    def _refuse_model_hooks(self) -> str | None:
        """Warn once about hooks that do not run here; in strict mode return why no turn may
        begin."""
        names = self._hooks.names_of_hooks(*MODEL_EVENTS)
        if not names:
            return None
        told = (
            "Claude Code does not show its model's requests and responses, so hooks of "
            f"BeforeModel, AfterModel and BeforeToolSelection do not run: {', '.join(names)}"
        )
        self._conversations.warn_once(told)
        return told if self._hooks.is_strict() else None

    async def _fire_after_agent(self, session: _Session, given: Event) -> Output:
        run = session.run
        # A turn may have begun before these hooks were there.
        run.has_turn = True
        if given["stop_hook_active"]:
            run.sent_back = max(run.sent_back, 1)
        text = given.get("last_assistant_message") or ""
        closed = await run.close_turn(text, original=Original(NAME, given))
        if closed.clear_context:
            session.face.warn(
                "a hook asked to clear the context, which Claude Code does only on /clear"
            )
        if closed.stop is not None:
            return stop(closed.stop)
        return NOTHING if closed.send_back is None else block(closed.send_back)

    async def _start_session(self, session: _Session, given: Event) -> Output:
        """Fire SessionStart after the history was compressed or cleared; Claude Code has no
        callback for a session's first start."""
        if given["source"] != "compact":
            await session.start(is_cleared=given["source"] == "clear")
            return NOTHING
        texts = (await session.face.session_start("compress")).texts_for_model
        return specific("SessionStart", additionalContext="\n\n".join(texts)) if texts else NOTHING

    async def _end_session(self, session: _Session, given: Event) -> Output:
        reason = given["reason"] if given["reason"] in _END_REASONS else "other"
        await session.conversation.end(session.face, reason)
        return NOTHING

    async def _fire_pre_compress(self, session: _Session, given: Event) -> Output:
        face = session.run.word(HookEventName.PRE_COMPRESS, Original(NAME, given))
        answer = await face.pre_compress(given["trigger"])
        told = answer.system_message
        output: Output = {"systemMessage": told} if told else {}
        return output | (
            block(told or "a hook wants the history kept") if answer.keep_history else {}
        )

    async def _fire_notification(self, session: _Session, given: Event) -> Output:
        kind = given.get("notification_type")
        face = session.find_run(given).word(HookEventName.NOTIFICATION, Original(NAME, given))
        await face.notification(
            given["message"],
            notification_type="ToolPermission" if kind == "permission_prompt" else kind,
        )
        return NOTHING


def _keep_newest(kept: "OrderedDict[Any, Any]", key: str | CallKey, value: object) -> None:
    kept[key] = value
    if len(kept) > _MOST_CALLS:
        kept.popitem(last=False)


def _read_result(given: Event, ran: ShownCall) -> ToolResult:
    """Read a tool's result for hooks: the text that the model reads, where that is known."""
    if given["hook_event_name"] == "PostToolUseFailure":
        error = str(given.get("error"))
        return ToolResult(error, return_display=error, error=ToolError("tool_failed", error))
    response = given.get("tool_response")
    if ran.alias is not None and ran.alias.response is not None and isinstance(response, Mapping):
        return ToolResult(ran.alias.response.read(response))
    if isinstance(response, list):
        texts = [*read_blocks(response)]
        return ToolResult("\n".join(texts) if len(texts) == len(response) else response)
    return ToolResult("" if response is None else text_of(response))


def _as_mapping(response: Any) -> Mapping[str, Any]:
    return response if isinstance(response, Mapping) else {}


def _compare_lines(old: str, new: str) -> _Replacement:
    whole, _, _ = old[:_HEAD].rpartition("\n") if len(old) > _HEAD else (old, "", "")
    gone = {line.strip() for line in whole.splitlines()}
    gone -= {"", *(line.strip() for line in new.splitlines())}
    return _Replacement([line.strip() for line in new[:_HEAD].splitlines()], gone)
