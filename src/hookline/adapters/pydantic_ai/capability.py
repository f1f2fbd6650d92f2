"""The capability that users give their agents, and the one it makes for each run.

It is the innermost capability: hooks see what really goes to the model and the tools, and no other
capability sees what hooks take out. A run that hooks end early ends with a reply in the model's
place, so that the framework makes the result.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, Self, TypeAlias, get_args

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

from hookline.adapters.conversations import Conversations, Given
from hookline.adapters.pydantic_ai.model import GuardedModel, ModelCalls
from hookline.adapters.pydantic_ai.results import apply_outcome, read_result
from hookline.adapters.steps import (
    TOOL_EVENTS,
    CallKey,
    RunState,
    ToolStep,
    complete,
    key_call,
    outer_run,
)
from hookline.calls.tool import NOBODY_TO_ASK, Confirm, Execute, ToolInput, text_of
from hookline.wire.events import HookEventName, SessionStartSource

RawArgs: TypeAlias = str | dict[str, Any]

# Exceptions of a tool that the model reads; the run goes on.
_FOR_MODEL = (ToolRetryError, ToolFailedError, ModelRetry, ToolFailed)
_MARK = {"source": "hookline"}


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
        conversation = self._conversations.of(name)
        run = RunState(
            conversation,
            outer=outer_run(conversation),
            agent=(ctx.agent and ctx.agent.name) or "agent",
            agent_id=ctx.run_id,
            turn_id=ctx.run_id,
        )
        return _HookedRun(run, self._confirm, self._defer)

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
    """The hooks of one run: its turn, its model calls, and the tool calls under way."""

    def __init__(self, run: RunState, confirm: Confirm | None, defer: bool | None) -> None:
        self._run = run
        self._confirm = confirm
        self._defer = defer
        self._models = ModelCalls(run)
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
        self._models.error = None
        output = result.data.output
        if self._run.refusal is not None:
            _forget_run(ctx)
        elif not isinstance(output, DeferredToolRequests | PendingModelResponse):
            await self._close_turn(ctx, node, text_of(output))
        return result

    async def _open_turn(self, ctx: RunContext[Any], node: UserPromptNode[Any, Any]) -> None:
        run = self._run
        await run.start(SessionStartSource.RESUME if ctx.messages else SessionStartSource.STARTUP)
        prompt, is_new = node.user_prompt, True
        if prompt is None:
            place = _find_last_prompt(ctx.messages)
            is_last = place is not None and place.message is ctx.messages[-1]
            is_new = is_last and node.deferred_tool_results is None
            if place is not None:
                prompt = place.content
            if place is not None and not is_new and not run.is_subagent:
                # A turn that was interrupted goes on, perhaps in another process.
                run.turn_id = place.message.run_id or run.turn_id
        start = await run.open_turn(_read_prompt(prompt), goes_on=not is_new)
        if start.texts:
            ctx.enqueue(_mark_text(start.texts))

    async def _close_turn(self, ctx: RunContext[Any], node: Any, text: str) -> None:
        end = await self._run.close_turn(text)
        if end.clear_context:
            ctx.messages.clear()
        if end.send_back is None:
            self._run.is_over = True
        elif isinstance(node, CallToolsNode):
            ctx.enqueue(end.send_back)
        else:
            self._run.face.warn(
                "AfterAgent hooks sent the turn back, but run_stream cannot go on; use run "
                f"instead: {end.send_back}"
            )

    # -- the model

    async def before_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """Remove a refused prompt from the history: at the end of the run it would be too late for
        a stream, which has copied the history."""
        if self._run.refusal is not None:
            # A prompt that came with the history does not have this run's id yet.
            del ctx.messages[-1:]
            _forget_run(ctx)
        return request_context

    def get_wrapper_model(self, model: Model) -> Model | None:
        """Return the model behind hooks, None if no hook applies to it."""
        if self._models.error is None and self._run.may_skip_model():
            self._run.allowed = None
            return None
        return GuardedModel(model, self._models)

    # -- tools

    async def prepare_tools(
        self, ctx: RunContext[Any], tool_defs: list[ToolDefinition]
    ) -> list[ToolDefinition]:
        """Defer calls that need approval or run elsewhere here, after hooks have seen them:
        otherwise a stream of the framework would end with such a call before hooks see it."""
        return [self._defer_here(tool) if tool.defer else tool for tool in tool_defs]

    def _defer_here(self, tool: ToolDefinition) -> ToolDefinition:
        may_skip = self._run.may_skip
        if may_skip(HookEventName.BEFORE_TOOL, target=tool.name) and may_skip(
            HookEventName.BEFORE_TOOL_SELECTION
        ):
            self._deferred.pop(tool.name, None)
            return tool
        self._deferred[tool.name] = tool.kind
        return replace(tool, kind="function")

    async def before_tool_validate(
        self, ctx: RunContext[Any], *, call: ToolCallPart, tool_def: ToolDefinition, args: RawArgs
    ) -> RawArgs:
        """Fire BeforeTool; what hooks rewrite is validated by the tool's schema afterwards."""
        if call.tool_call_id in self._following:
            return args
        # Some models reuse the ids of earlier calls.
        self._run.calls.pop(_key(call), None)
        step = await self._open_call(ctx, call, args)
        if step is None:
            return args
        self._run.calls[_key(call)] = step
        if not step.is_rewritten:
            return args
        # A schema may accept JSON less strictly than Python values.
        is_json = isinstance(args, str)
        return to_json(step.input, serialize_unknown=True).decode() if is_json else step.input

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
        step = self._run.calls.get(_key(call))
        if step is None or not step.is_rewritten:
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
        step = self._run.calls.get(_key(call))
        if step is not None:
            await self._ask_user(ctx, step)
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
        if call.tool_call_id in self._following:
            return await handler(args)
        step = self._run.calls.pop(_key(call), None)
        if step is None:
            # No hook matches; or another capability skipped the validation, and BeforeTool with
            # it; or the model's arguments were not an object, but the schema accepted them.
            step = await self._open_call(ctx, call, args)
            if step is not None:
                await self._ask_user(ctx, step)
                if step.is_rewritten:
                    args = _validate_rewritten(ctx, call.tool_name, step.input)
        elif (refusal := self._run.find_refusal(call.tool_name)) is not None:
            # Another call of the response has stopped the run since.
            raise ToolFailed(refusal)
        self._defer_call(ctx, call, step)
        if step is None:
            with self._run.inside_tool():
                return await handler(args)
        skip = None
        try:
            with self._run.inside_tool():
                value = await handler(args)
        except SkipToolExecution as error:
            value, skip = error.result, error
        except ApprovalRequired:
            raise
        except CallDeferred:
            _hand_out_rewritten(ctx, call, step)
            raise
        except Exception as error:
            await self._close_failed(ctx, step, error)
            raise
        outcome = await step.close(result=value, find_tool=self._find_tool(ctx))
        result = apply_outcome(outcome)
        if skip is not None:
            raise skip if result is value else SkipToolExecution(result)
        return result

    async def handle_deferred_tool_calls(
        self, ctx: RunContext[Any], *, requests: DeferredToolRequests
    ) -> DeferredToolResults | None:
        """Answer all open questions if a call stopped the run."""
        stop = self._run.stop
        if stop is None:
            return None
        return DeferredToolResults(
            approvals={call.tool_call_id: ToolDenied(stop) for call in requests.approvals},
            calls={call.tool_call_id: ToolFailed(stop) for call in requests.calls},
        )

    async def _open_call(
        self, ctx: RunContext[Any], call: ToolCallPart, args: RawArgs
    ) -> ToolStep | None:
        """Fire BeforeTool; return None if no hook matches, or if the input is not an object, which
        the tool's schema rejects. Raises ToolFailed for a call that hooks refuse."""
        run, name = self._run, call.tool_name
        shown: ToolInput | None = None
        if run.find_refusal(name) is None:
            shown = None if run.may_skip(*TOOL_EVENTS, target=name) else _read_args(args)
            if shown is None:
                return None
        step = ToolStep(
            run,
            name,
            shown or {},
            call_id=call.tool_call_id,
            confirm=self._confirm,
            # The framework can be asked to defer a call only once its arguments are valid.
            asks_later=True,
            read=read_result,
        )
        refused = await step.open(approved=True if ctx.tool_call_approved else None)
        if refused is not None:
            raise ToolFailed(refused.text)
        return step

    async def _ask_user(self, ctx: RunContext[Any], step: ToolStep) -> None:
        """Ask the user about a call if hooks want that, now or by deferring the call; raise
        ToolFailed if nobody can be asked or the answer is no."""
        question = step.question
        if question is None:
            return
        if self._deferred.get(step.name) == "unapproved":
            # The framework asks about every call of this tool.
            await step.announce()
        elif self._confirm is not None:
            refused = await step.ask()
            if refused is not None:
                raise ToolFailed(refused.text)
        elif self._can_defer(ctx):
            await step.announce()
            raise ApprovalRequired(_describe_question(step))
        else:
            raise ToolFailed(f"{question.reason} ({NOBODY_TO_ASK})")

    def _defer_call(self, ctx: RunContext[Any], call: ToolCallPart, step: ToolStep | None) -> None:
        """Raise what defers a call, if its tool needs approval or runs elsewhere."""
        kind = self._deferred.get(call.tool_name)
        if kind == "external":
            _hand_out_rewritten(ctx, call, step)
            raise CallDeferred
        if kind == "unapproved" and not ctx.tool_call_approved:
            raise ApprovalRequired(None if step is None else _describe_question(step))

    def _can_defer(self, ctx: RunContext[Any]) -> bool:
        if self._defer is not None:
            return self._defer
        if ctx.agent is not None and _has_deferred(ctx.agent.output_type):
            return True
        capabilities: list[AbstractCapability[Any]] = []
        if ctx.root_capability is not None:
            ctx.root_capability.apply(capabilities.append)
        own = (
            AbstractCapability.handle_deferred_tool_calls,
            _HookedRun.handle_deferred_tool_calls,
        )
        return any(type(each).handle_deferred_tool_calls not in own for each in capabilities)

    async def _close_failed(self, ctx: RunContext[Any], step: ToolStep, error: Exception) -> None:
        """Fire AfterTool for a tool that raised; raise ToolFailed if hooks replace what the model
        reads."""
        if not isinstance(error, _FOR_MODEL):
            await step.fail(error)
            return
        is_wrapped = isinstance(error, ToolRetryError | ToolFailedError)
        cause = error.__cause__ if is_wrapped and error.__cause__ is not None else error
        outcome = await step.close(error=cause)
        if outcome.replaced:
            raise ToolFailed(outcome.text) from error
        if outcome.added:
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


def _read_args(args: RawArgs) -> ToolInput | None:
    """Return the input that hooks read, None if it is not an object."""
    if isinstance(args, str):
        try:
            # The framework's own parser, so that both read the same.
            args = from_json(args or "{}")
        except ValueError:
            return None
    return args if isinstance(args, dict) else None


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


def _hand_out_rewritten(ctx: RunContext[Any], call: ToolCallPart, step: ToolStep | None) -> None:
    """Put the input that hooks rewrote into a call that runs elsewhere. The framework hands out
    the call object of the model's response, so that is changed."""
    if step is None or not step.is_rewritten:
        return
    key = _key(call)
    for message in reversed(ctx.messages):
        for part in message.parts:
            if isinstance(part, ToolCallPart) and _key(part) == key:
                part.args = step.input
                return


def _describe_question(step: ToolStep) -> dict[str, Any]:
    """Return the metadata of a deferred call, for the person who approves it."""
    reason = None if step.question is None else step.question.reason
    fields = {"reason": reason, "message": step.gate.before.message, "tool_input": step.input}
    return {name: value for name, value in fields.items() if value}


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


class _LastPrompt(NamedTuple):
    """The user's last prompt in a history, and its message."""

    message: ModelMessage
    content: str | Sequence[Any]


def _find_last_prompt(messages: Sequence[ModelMessage]) -> _LastPrompt | None:
    """Return the user's last prompt in a history that a run continues."""
    for message in reversed(messages):
        # Text beside a tool's result comes from the tool.
        if any(isinstance(part, ToolReturnPart) for part in message.parts):
            continue
        for part in reversed(message.parts):
            if isinstance(part, UserPromptPart) and not _is_marked(part.content):
                return _LastPrompt(message, part.content)
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
