"""The capability that users give their agents, and the one it makes for each run.

It is the innermost capability: hooks see what really goes to the model and the tools, and no other
capability sees what hooks take out. A run that hooks end early ends with a reply in the model's
place, so that the framework makes the result.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from inspect import isawaitable
from typing import Any, Self, TypeAlias, get_args

from pydantic import ValidationError
from pydantic_ai import CallToolsNode, PendingModelResponse, RunContext, UserPromptNode
from pydantic_ai.capabilities import AbstractCapability, CapabilityOrdering
from pydantic_ai.exceptions import (
    ApprovalRequired,
    CallDeferred,
    ModelRetry,
    SkipToolExecution,
    ToolFailed,
    ToolFailedError,
    ToolRetryError,
)
from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    TextContent,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import Model, ModelRequestContext
from pydantic_ai.tools import (
    AgentDepsT,
    DeferredToolRequests,
    DeferredToolResults,
    ToolDefinition,
    ToolDenied,
)
from pydantic_core import from_json, to_json
from pydantic_graph import End

from hookline.adapters.gates import (
    CallKey,
    Conversation,
    Conversations,
    Given,
    ModelGate,
    ToolGate,
    TurnGate,
    announce_question,
    complete,
    describe_refused_call,
    key_call,
)
from hookline.adapters.pydantic_ai.model import GuardedModel
from hookline.adapters.pydantic_ai.outputs import put_outputs, show_outputs
from hookline.adapters.pydantic_ai.results import apply_outcome, read_result
from hookline.calls.tool import (
    NOBODY_TO_ASK,
    Confirm,
    ConfirmationRequest,
    Execute,
    ToolInput,
    text_of,
)
from hookline.errors import BlockedByHook, HooklineError, StoppedByHook, describe
from hookline.hooks import Face
from hookline.translate.pydantic_ai import PydanticAICall, PydanticAITranslator
from hookline.wire.events import HookEventName, SessionStartSource

RawArgs: TypeAlias = str | dict[str, Any]

_MODEL_EVENTS = (
    HookEventName.BEFORE_TOOL_SELECTION,
    HookEventName.BEFORE_MODEL,
    HookEventName.AFTER_MODEL,
)
# Exceptions of a tool that the model reads; the run goes on.
_FOR_MODEL = (ToolRetryError, ToolFailedError, ModelRetry, ToolFailed)
# Output modes in which a text can be the final answer.
_TEXT_MODES = ("text", "tool", "tool_or_text")
_MARK = {"source": "hookline"}
_TRANSLATOR = PydanticAITranslator()


class HooklineCapability(AbstractCapability[AgentDepsT]):
    """The hooks of an agent, whatever its dependencies.

    ``hooks`` is a ``Hooks``, a ``hooks.session(id)``, a directory whose settings are loaded, or
    nothing for the working directory's. A session is a conversation of Pydantic AI's: runs that go
    on with its ``message_history`` stay in it; ``session_id(ctx)`` names it some other way.

    ``ask`` of a hook defers the call (``DeferredToolRequests``) where the agent's output types
    say that it may end so, or a capability answers it. ``confirm`` asks at once instead. ``defer``
    says whether runs may end with ``DeferredToolRequests``, where their ``output_type`` differs
    from the agent's, which is all that a capability sees.
    """

    def __init__(
        self,
        hooks: Given = None,
        *,
        session_id: Callable[[RunContext[AgentDepsT]], str | None] | None = None,
        confirm: Confirm | None = None,
        defer: bool | None = None,
    ) -> None:
        self._conversations = Conversations(hooks)
        self._session_id = session_id
        self._confirm = confirm
        self._defer = defer

    def get_ordering(self) -> CapabilityOrdering:
        """Ask for the innermost position, nearest to the model and the tools."""
        return CapabilityOrdering(position="innermost")

    async def for_run(self, ctx: RunContext[AgentDepsT]) -> AbstractCapability[AgentDepsT]:
        """Return the hooks of one run, in its session."""
        name = ctx.conversation_id if self._session_id is None else self._session_id(ctx)
        return _HookedRun(self, self._conversations.of(name))

    def close(self) -> None:
        """End the sessions: SessionEnd is fired for each. May be called again."""
        complete(self._conversations.end_all(blocking=True))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_exception: object) -> None:
        await self._conversations.end_all(blocking=False)


class _HookedRun(HooklineCapability[Any]):
    """One run: its turn, the tool calls under way, and whether hooks have ended it."""

    def __init__(self, parent: HooklineCapability[Any], conversation: Conversation) -> None:
        self._confirm = parent._confirm
        self._defer = parent._defer
        self._conversation = conversation
        self.face: Face = conversation.face
        self._turn: TurnGate | None = None
        # Why hooks refused the prompt, and why they stopped the run.
        self._refusal: str | None = None
        self._stop: str | None = None
        # What to raise if the framework rejects the reply that hooks gave in the model's place.
        self._end: HooklineError | None = None
        self._allowed: frozenset[str] | None = None
        self._gates: dict[CallKey, ToolGate] = {}
        # The inputs that hooks rewrote.
        self._rewritten: dict[CallKey, ToolInput] = {}
        # The tools whose calls are deferred here, and their kind: "external" or "unapproved".
        self._deferred: dict[str, str] = {}
        # The ids of calls that hooks made after another, whose hooks are running already.
        self._following: set[str] = set()

    async def for_run(self, ctx: RunContext[Any]) -> AbstractCapability[Any]:
        return self

    # -- the turn

    async def before_node_run(self, ctx: RunContext[Any], *, node: Any) -> Any:
        """Begin the turn with the prompt."""
        if isinstance(node, UserPromptNode):
            await self._open_turn(ctx, node)
        return node

    async def after_node_run(self, ctx: RunContext[Any], *, node: Any, result: Any) -> Any:
        """End the turn with the run's result, or send the agent back."""
        if not isinstance(result, End):
            return result
        # The framework has accepted the reply, so a later model call starts afresh.
        self._end = None
        output = result.data.output
        if self._refusal is not None:
            _forget_run(ctx)
        elif self._turn is not None and not isinstance(
            output, DeferredToolRequests | PendingModelResponse
        ):
            await self._close_turn(ctx, node, text_of(output))
        return result

    async def _open_turn(self, ctx: RunContext[Any], node: UserPromptNode[Any, Any]) -> None:
        source = SessionStartSource.RESUME if ctx.messages else SessionStartSource.STARTUP
        await self._conversation.start(self.face, source)
        prompt = node.user_prompt
        is_new = prompt is not None
        if prompt is None:
            prompt = _find_last_prompt(ctx.messages)
            is_last = prompt is not None and prompt is _find_last_prompt(ctx.messages[-1:])
            is_new = is_last and node.deferred_tool_results is None
        self._turn = TurnGate(self._conversation, _read_prompt(prompt))
        if not is_new:
            # A turn that was interrupted goes on.
            return
        start = await self._turn.open(self.face)
        if start.refusal is not None:
            self._turn = None
            if start.stop:
                self._stop = start.refusal
            else:
                self._refusal = start.refusal
        elif start.texts:
            ctx.enqueue(_mark_text(start.texts))

    async def _close_turn(self, ctx: RunContext[Any], node: Any, text: str) -> None:
        assert self._turn is not None
        end = await self._turn.close(self.face, text)
        for kept in end.texts:
            self._conversation.keep(kept)
        if end.clear_context:
            ctx.messages.clear()
        if end.send_back is None or self._stop is not None:
            return
        if isinstance(node, CallToolsNode):
            ctx.enqueue(end.send_back)
        else:
            self.face.warn(
                "AfterAgent hooks sent the turn back, but run_stream cannot go on; use run "
                f"instead: {end.send_back}"
            )

    # -- the model

    async def before_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """Add what hooks kept for this request, and remove a refused prompt from the history: at
        the end of the run it would be too late for a stream, which has copied the history."""
        if self._refusal is not None:
            # A prompt that came with the history does not have this run's id yet.
            del ctx.messages[-1:]
            _forget_run(ctx)
        elif kept := self._conversation.take():
            ctx.enqueue(_mark_text(kept))
        return request_context

    def get_wrapper_model(self, model: Model) -> Model | None:
        """Return the model behind hooks, None if no hook applies to it."""
        is_over = self._stop is not None or self._refusal is not None or self._end is not None
        if is_over or not self.face.may_skip(*_MODEL_EVENTS):
            return GuardedModel(model, self)
        self._allowed = None
        return None

    async def open_model(self, call: PydanticAICall) -> "ModelGate | ModelResponse":
        """Return the gate of a call that may be made, or the reply in its place."""
        if self._end is not None:
            # The framework rejected the reply that hooks gave.
            raise self._end
        if self._refusal is not None:
            return self._reply(call, self._refusal, BlockedByHook("the turn", self._refusal))
        if self._stop is not None:
            return self._reply(call, self._stop, StoppedByHook(self._stop))
        gate = await self.face.model_gate(call)
        self._allowed = gate.allowed
        outcome = gate.outcome
        if outcome is None:
            return gate
        if outcome.message:
            self._conversation.keep(f"[System] {outcome.message}")
        reason = outcome.reason or ""
        end: HooklineError = BlockedByHook("the model call", reason)
        if outcome.stop is not None:
            self._stop = outcome.stop
            end = StoppedByHook(outcome.stop)
        return self._reply(call, outcome.response, end)

    async def close_model(
        self, gate: ModelGate, response: ModelResponse, call: PydanticAICall
    ) -> ModelResponse:
        """Return the response as AfterModel hooks leave it."""
        shown = show_outputs(response, call.parameters)
        outcome = await gate.finish(shown)
        if outcome.message:
            self._conversation.keep(f"[System] {outcome.message}")
        if outcome.stop is not None:
            self._stop = outcome.stop
            reply = self._reply(call, outcome.stop, StoppedByHook(outcome.stop))
        elif outcome.blocked:
            end = BlockedByHook("the model's response", outcome.reason or "")
            reply = self._reply(call, outcome.response, end)
        else:
            return put_outputs(outcome.response, shown, response)
        # The model call used tokens, even if hooks rejected its response.
        return replace(reply, usage=response.usage, model_name=response.model_name)

    def _reply(
        self, call: PydanticAICall, said: "str | ModelResponse", end: HooklineError
    ) -> ModelResponse:
        """Make a reply that ends the run; raise ``end`` if the run's output cannot be a text."""
        parameters = call.parameters
        assert parameters is not None
        if not parameters.allow_text_output or parameters.output_mode not in _TEXT_MODES:
            raise end
        self._end = end
        reply: ModelResponse = (
            _TRANSLATOR.empty_response(said, like=call) if isinstance(said, str) else said
        )
        return reply

    # -- tools

    async def prepare_tools(
        self, ctx: RunContext[Any], tool_defs: list[ToolDefinition]
    ) -> list[ToolDefinition]:
        """Defer calls that need approval or run elsewhere here, after hooks have seen them:
        otherwise a stream of the framework would end with such a call before hooks see it."""
        return [self._defer_here(tool) if tool.defer else tool for tool in tool_defs]

    def _defer_here(self, tool: ToolDefinition) -> ToolDefinition:
        may_answer = self.face.may_answer
        if may_answer(HookEventName.BEFORE_TOOL, tool.name) or may_answer(
            HookEventName.BEFORE_TOOL_SELECTION
        ):
            self._deferred[tool.name] = tool.kind
            return replace(tool, kind="function")
        self._deferred.pop(tool.name, None)
        return tool

    async def before_tool_validate(
        self, ctx: RunContext[Any], *, call: ToolCallPart, tool_def: ToolDefinition, args: RawArgs
    ) -> RawArgs:
        """Fire BeforeTool; what hooks rewrite is validated by the tool's schema afterwards."""
        if call.tool_call_id in self._following:
            return args
        # Some models reuse the ids of earlier calls.
        self._gates.pop(_key(call), None)
        self._rewritten.pop(_key(call), None)
        self._check_call(call.tool_name)
        given = self._read_args(call.tool_name, args)
        if given is None:
            return args
        gate = await self._open_gate(ctx, call, given)
        if gate.input is given:
            return args
        # A schema may accept JSON less strictly than Python values.
        is_json = isinstance(args, str)
        return to_json(gate.input, serialize_unknown=True).decode() if is_json else gate.input

    async def on_tool_validate_error(
        self,
        ctx: RunContext[Any],
        *,
        call: ToolCallPart,
        tool_def: ToolDefinition,
        args: RawArgs,
        error: ValidationError | ModelRetry,
    ) -> dict[str, Any]:
        """Tell the model that the schema rejects a rewritten input. A retry would not help, since
        hooks would rewrite the input again."""
        if _key(call) not in self._rewritten:
            raise error
        raise _refuse_rewritten(call.tool_name, error) from error

    async def after_tool_validate(
        self,
        ctx: RunContext[Any],
        *,
        call: ToolCallPart,
        tool_def: ToolDefinition,
        args: dict[str, Any],
    ) -> dict[str, Any]:
        """Ask the user if hooks want that, now that the arguments are valid."""
        gate = self._gates.get(_key(call))
        if gate is not None and gate.asks and not ctx.tool_call_approved:
            await self._ask_user(ctx, gate)
        return args

    async def wrap_tool_execute(
        self,
        ctx: RunContext[Any],
        *,
        call: ToolCallPart,
        tool_def: ToolDefinition,
        args: dict[str, Any],
        handler: Any,
    ) -> Any:
        """Run the tool and fire AfterTool."""
        name = call.tool_name
        if call.tool_call_id in self._following:
            return await handler(args)
        gate = self._gates.pop(_key(call), None)
        self._check_call(name)
        if gate is None:
            given = self._read_args(name, args)
            if given is None:
                self._defer_call(ctx, call, None)
                return await handler(args)
            # Another capability skipped the validation, and BeforeTool with it, or the model's
            # arguments were not an object, but the schema accepted them.
            gate = await self._open_gate(ctx, call, given)
            self._gates.pop(_key(call))
            if gate.asks and not ctx.tool_call_approved:
                await self._ask_user(ctx, gate)
            if gate.input is not given:
                args = _validate_rewritten(ctx, name, gate.input)
        self._defer_call(ctx, call, gate)
        skip = None
        try:
            value = await handler(args)
        except SkipToolExecution as error:
            value, skip = error.result, error
        except ApprovalRequired:
            raise
        except CallDeferred:
            self._hand_out_rewritten(ctx, call)
            raise
        except Exception as error:
            await self._finish_failed(ctx, gate, error)
            raise
        outcome = await gate.finish(result=value)
        outcome = await gate.follow(outcome, self._find_tool(ctx), confirm=self._confirm)
        if outcome.stop is not None:
            self._stop = outcome.stop
        result = apply_outcome(outcome)
        if skip is not None:
            raise skip if result is value else SkipToolExecution(result)
        return result

    async def handle_deferred_tool_calls(
        self, ctx: RunContext[Any], *, requests: DeferredToolRequests
    ) -> DeferredToolResults | None:
        """Answer all open questions if a call stopped the run."""
        if self._stop is None:
            return None
        return DeferredToolResults(
            approvals={call.tool_call_id: ToolDenied(self._stop) for call in requests.approvals},
            calls={call.tool_call_id: ToolFailed(self._stop) for call in requests.calls},
        )

    def _check_call(self, name: str) -> None:
        """Raise ToolFailed for a call that must not run, before its hooks are asked."""
        end = self._refusal if self._stop is None else self._stop
        if end is not None:
            raise ToolFailed(end)
        if self._allowed is not None and name not in self._allowed:
            raise ToolFailed(describe_refused_call(name))

    def _read_args(self, name: str, args: RawArgs) -> ToolInput | None:
        """Return the input for hooks; None if no hook matches, or if it is not an object, which the
        tool's schema rejects."""
        may_answer = self.face.may_answer
        if not may_answer(HookEventName.BEFORE_TOOL, name) and not may_answer(
            HookEventName.AFTER_TOOL, name
        ):
            return None
        if isinstance(args, str):
            try:
                # The framework's own parser, so that both read the same.
                args = from_json(args or "{}")
            except ValueError:
                return None
        return args if isinstance(args, dict) else None

    async def _open_gate(
        self, ctx: RunContext[Any], call: ToolCallPart, given: ToolInput
    ) -> ToolGate:
        """Fire BeforeTool; raise ToolFailed for a call that hooks refuse."""
        gate = await self.face.tool_gate(
            call.tool_name,
            given,
            # A call can be deferred only once its arguments are valid.
            confirm=lambda _request: True,
            read=read_result,
            call_id=call.tool_call_id,
            approved=ctx.tool_call_approved,
        )
        if gate.refusal is not None:
            if gate.refusal.stop_reason is not None:
                self._stop = gate.refusal.stop_reason
            raise ToolFailed(text_of(gate.refusal.llm_content))
        self._gates[_key(call)] = gate
        if gate.input is not given:
            self._rewritten[_key(call)] = gate.input
        return gate

    async def _ask_user(self, ctx: RunContext[Any], gate: ToolGate) -> None:
        """Ask the user, now or by deferring the call; raise ToolFailed if nobody can be asked or
        the answer is no."""
        reason = gate.before.reason or ""
        request = ConfirmationRequest(gate.name, gate.input, reason, gate.before.message)
        if self._deferred.get(gate.name) == "unapproved":
            # The framework asks about every call of this tool.
            await announce_question(self.face, request)
            return
        if self._confirm is not None:
            await announce_question(self.face, request)
            try:
                answer = self._confirm(request)
                is_confirmed = (await answer if isawaitable(answer) else answer) is True
            except Exception as error:
                self.face.warn(f"cannot ask the user about {gate.name}: {describe(error)}")
                is_confirmed = False
            if not is_confirmed:
                raise ToolFailed(f"The user did not allow this call of {gate.name}: {reason}")
        elif self._can_defer(ctx):
            await announce_question(self.face, request)
            raise ApprovalRequired(_describe_question(gate))
        else:
            raise ToolFailed(f"{reason} ({NOBODY_TO_ASK})")

    def _defer_call(self, ctx: RunContext[Any], call: ToolCallPart, gate: ToolGate | None) -> None:
        """Raise what defers a call, if its tool needs approval or runs elsewhere."""
        kind = self._deferred.get(call.tool_name)
        if kind == "external":
            self._hand_out_rewritten(ctx, call)
            raise CallDeferred
        if kind == "unapproved" and not ctx.tool_call_approved:
            raise ApprovalRequired(None if gate is None else _describe_question(gate))

    def _hand_out_rewritten(self, ctx: RunContext[Any], call: ToolCallPart) -> None:
        """Put the input that hooks rewrote into a call that runs elsewhere. The framework hands out
        the call object of the model's response, so that is changed."""
        key = _key(call)
        rewritten = self._rewritten.get(key)
        if rewritten is None:
            return
        for message in reversed(ctx.messages):
            for part in message.parts:
                if isinstance(part, ToolCallPart) and _key(part) == key:
                    part.args = rewritten
                    return

    def _can_defer(self, ctx: RunContext[Any]) -> bool:
        if self._defer is not None:
            return self._defer
        if ctx.agent is not None and _has_deferred(ctx.agent.output_type):
            return True
        found: list[AbstractCapability[Any]] = []
        if ctx.root_capability is not None:
            ctx.root_capability.apply(found.append)
        own = (
            AbstractCapability.handle_deferred_tool_calls,
            _HookedRun.handle_deferred_tool_calls,
        )
        return any(type(each).handle_deferred_tool_calls not in own for each in found)

    async def _finish_failed(self, ctx: RunContext[Any], gate: ToolGate, error: Exception) -> None:
        """Fire AfterTool for a tool that raised; raise ToolFailed if hooks replace what the model
        reads."""
        is_wrapped = isinstance(error, ToolRetryError | ToolFailedError)
        cause = error.__cause__ if is_wrapped and error.__cause__ is not None else error
        outcome = await gate.finish(error=cause)
        if outcome.stop is not None:
            self._stop = outcome.stop
        if not isinstance(error, _FOR_MODEL):
            if outcome.replaced:
                self.face.warn(
                    f"hooks rejected the result of {gate.name} or stopped the run after it, but "
                    f"it raised, and the caller gets the exception: {outcome.text}"
                )
        elif outcome.replaced:
            raise ToolFailed(outcome.text) from error
        elif outcome.added:
            ctx.enqueue(outcome.added)

    def _find_tool(self, ctx: RunContext[Any]) -> Callable[[str], Execute | None]:
        """Return a function that finds another tool of the agent, to run it with its validation."""

        def find(name: str) -> Execute | None:
            manager = ctx.tool_manager
            tool = manager.tools.get(name) if manager is not None and manager.tools else None
            if tool is None or tool.tool_def.kind != "function" or name in self._deferred:
                return None
            if not ctx.is_tool_available(tool.tool_def):
                return None

            async def execute(args: ToolInput) -> Any:
                assert manager is not None
                call = ToolCallPart(name, args)
                self._following.add(call.tool_call_id)
                try:
                    return await manager.handle_call(call, wrap_validation_errors=False)
                except ValidationError as error:
                    raise ToolFailed(
                        f"hooks called {name} with an invalid input, so it did not run: {error}"
                    ) from error
                except (CallDeferred, ApprovalRequired) as error:
                    raise ToolFailed(
                        f"hooks called {name}, which needs approval or runs elsewhere, so it did "
                        "not run"
                    ) from error
                finally:
                    self._following.discard(call.tool_call_id)

            return execute

        return find


def _key(call: ToolCallPart) -> CallKey:
    return key_call(call.tool_call_id, call.tool_name, call.args)


def _validate_rewritten(ctx: RunContext[Any], name: str, rewritten: ToolInput) -> dict[str, Any]:
    """Validate the input that hooks rewrote with the tool's schema; raise ToolFailed if it is
    invalid."""
    tool = ((ctx.tool_manager and ctx.tool_manager.tools) or {}).get(name)
    if tool is None:
        return rewritten
    try:
        validated: dict[str, Any] = tool.args_validator.validate_python(
            rewritten, context=ctx.validation_context
        )
    except ValidationError as error:
        raise _refuse_rewritten(name, error) from error
    return validated


def _refuse_rewritten(name: str, error: Exception) -> ToolFailed:
    return ToolFailed(
        f"hooks rewrote the input of {name} into an invalid one, so it did not run: {error}"
    )


def _describe_question(gate: ToolGate) -> dict[str, Any]:
    """Return the metadata of a deferred call, for the person who approves it."""
    before = gate.before
    reason = before.reason if gate.asks else None
    asked = {"reason": reason, "message": before.message, "tool_input": gate.input}
    return {name: value for name, value in asked.items() if value}


def _forget_run(ctx: RunContext[Any]) -> None:
    ctx.messages[:] = [message for message in ctx.messages if message.run_id != ctx.run_id]


def _read_prompt(prompt: str | Sequence[Any] | None) -> str:
    if prompt is None or isinstance(prompt, str):
        return prompt or ""
    texts = (item for item in prompt if isinstance(item, str | TextContent))
    return "\n\n".join(item if isinstance(item, str) else item.content for item in texts)


def _mark_text(texts: Sequence[str]) -> TextContent:
    """Mark what hooks add to a prompt, so that it is not taken for one."""
    return TextContent("\n\n".join(texts), metadata=_MARK)


def _find_last_prompt(messages: Sequence[ModelMessage]) -> str | Sequence[Any] | None:
    """Return the user's last prompt in a history that a run continues."""
    for message in reversed(messages):
        # Text beside a tool's result comes from the tool.
        if any(isinstance(part, ToolReturnPart) for part in message.parts):
            continue
        for part in reversed(message.parts):
            if isinstance(part, UserPromptPart) and not _is_marked(part.content):
                return part.content
    return None


def _is_marked(content: str | Sequence[Any]) -> bool:
    return not isinstance(content, str) and all(
        isinstance(item, TextContent) and item.metadata == _MARK for item in content
    )


def _has_deferred(output_type: Any) -> bool:
    """True if DeferredToolRequests is among an agent's output types."""
    if isinstance(output_type, Sequence) and not isinstance(output_type, str):
        return any(map(_has_deferred, output_type))
    return output_type is DeferredToolRequests or any(map(_has_deferred, get_args(output_type)))
