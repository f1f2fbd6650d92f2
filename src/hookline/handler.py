"""The engine behind its contract's names: one method per event, and the entry from a bus.

Methods raise nothing but cancellation, which kills running hooks.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from hookline.engine.executor import Executor, LocalExecutor
from hookline.errors import HooklineError, message_of
from hookline.pipeline.answer import Answer
from hookline.wire.events import (
    EVENTS,
    HookEventName,
    PreCompressTrigger,
    SessionEndReason,
    SessionStartSource,
    narrow_event,
    narrow_trigger,
)
from hookline.wire.fired import FiredEvent, read_fired_event
from hookline.wire.results import HookError

# The modules that serve a bus are loaded with the first request.
if TYPE_CHECKING:
    from hookline.bus.messages import HookExecutionResponse, MessageBus


class Policy(Protocol):
    """What callers on a bus may ask about this process's hooks."""

    def get_policy_digest(self) -> str:
        """Return a digest of all hooks in force."""
        ...

    def explain_missing(self, names: Iterable[str]) -> dict[str, str]:
        """Return those of the named hooks that are not in force, each with the reason."""
        ...


class PolicyChangedError(HooklineError):
    """The hooks that answered are not the reviewed ones, or not those of the named policy."""

    code = "policy_changed"


class HookEventHandler:
    """Fires events through ``executor``, by default ``local``, the executor of this machine.

    ``local`` carries out the requests of ``message_bus``; ``ready`` is awaited before each request
    until it has succeeded once, and ``policy`` says which hooks are in force.
    """

    def __init__(
        self,
        local: LocalExecutor,
        *,
        executor: Executor | None = None,
        message_bus: "MessageBus | None" = None,
        warn: Callable[[str], None],
        ready: Callable[[], Awaitable[None]] | None = None,
        policy: Policy | None = None,
    ) -> None:
        self._local = local
        self._policy = policy
        self._executor: Executor = local if executor is None else executor
        self._bus = message_bus
        self._warn = warn
        self._ready = ready
        self._disposed = False
        self._unsubscribe: Callable[[], None] | None = None
        if message_bus is not None:
            from hookline.bus.messages import MessageBusType

            self._unsubscribe = message_bus.subscribe(
                MessageBusType.HOOK_EXECUTION_REQUEST, self._serve_request
            )

    async def fire_before_tool_event(
        self,
        tool_name: str,
        tool_input: dict[str, Any],
        *,
        mcp_context: dict[str, Any] | None = None,
        original_request_name: str | None = None,
    ) -> Answer:
        """Fire BeforeTool: a tool is about to run."""
        values = (tool_name, tool_input, mcp_context, original_request_name)
        return await self._executor.execute(
            FiredEvent(HookEventName.BEFORE_TOOL, tool_name, values)
        )

    async def fire_after_tool_event(
        self,
        tool_name: str,
        tool_input: dict[str, Any],
        tool_response: Any,
        *,
        original_tool_input: dict[str, Any] | None = None,
        mcp_context: dict[str, Any] | None = None,
        original_request_name: str | None = None,
    ) -> Answer:
        """Fire AfterTool: a tool has run. ``original_tool_input`` is the input before a hook
        rewrote it."""
        values = (
            *(tool_name, tool_input, tool_response),
            *(original_tool_input, mcp_context, original_request_name),
        )
        return await self._executor.execute(FiredEvent(HookEventName.AFTER_TOOL, tool_name, values))

    async def fire_before_agent_event(self, prompt: str) -> Answer:
        """Fire BeforeAgent: a turn is about to begin."""
        return await self._executor.execute(FiredEvent(HookEventName.BEFORE_AGENT, "", (prompt,)))

    async def fire_after_agent_event(
        self, prompt: str, prompt_response: str, stop_hook_active: bool = False
    ) -> Answer:
        """Fire AfterAgent: a turn is over. ``stop_hook_active`` is True if the turn went on only
        because an AfterAgent hook sent the agent back to work."""
        values = (prompt, prompt_response, stop_hook_active)
        return await self._executor.execute(FiredEvent(HookEventName.AFTER_AGENT, "", values))

    async def fire_session_start_event(self, source: SessionStartSource) -> Answer:
        """Fire SessionStart: a session starts."""
        return await self._fire_trigger(HookEventName.SESSION_START, source)

    async def fire_session_end_event(self, reason: SessionEndReason) -> Answer:
        """Fire SessionEnd: a session ends."""
        return await self._fire_trigger(HookEventName.SESSION_END, reason)

    async def fire_pre_compress_event(self, trigger: PreCompressTrigger) -> Answer:
        """Fire PreCompress: the history is about to be compressed."""
        return await self._fire_trigger(HookEventName.PRE_COMPRESS, trigger)

    async def fire_before_model_event(self, llm_request: Any) -> Answer:
        """Fire BeforeModel: a request, in the SDK's form, is about to go to the model."""
        return await self._executor.execute(
            FiredEvent(HookEventName.BEFORE_MODEL, "", (llm_request,))
        )

    async def fire_after_model_event(self, llm_request: Any, llm_response: Any) -> Answer:
        """Fire AfterModel: the model has answered; request and response are in the SDK's form."""
        values = (llm_request, llm_response)
        return await self._executor.execute(FiredEvent(HookEventName.AFTER_MODEL, "", values))

    async def fire_before_tool_selection_event(
        self, llm_request: Any, available_tools: list[str] | None = None
    ) -> Answer:
        """Fire BeforeToolSelection: the model is about to be offered its tools. Without
        ``available_tools`` hooks read the names that the request declares."""
        values = (llm_request, available_tools)
        return await self._executor.execute(
            FiredEvent(HookEventName.BEFORE_TOOL_SELECTION, "", values)
        )

    async def fire_notification_event(
        self,
        message: str,
        *,
        notification_type: str | None = None,
        level: str | None = None,
        details: dict[str, Any] | None = None,
    ) -> Answer:
        """Fire Notification: the agent tells the user something."""
        values = (message, notification_type, level, details)
        return await self._executor.execute(
            FiredEvent(HookEventName.NOTIFICATION, notification_type or "", values)
        )

    async def fire(self, event_name: str | HookEventName, input: Mapping[str, Any]) -> Answer:
        """Fire an event by its name, with its fields as a mapping."""
        read = self._local.read_event(event_name, input)
        if isinstance(read, Answer):
            return self._executor.judge_failure(read)
        return await self._executor.execute(read)

    async def handle_hook_execution_request(self, message: object) -> None:
        """Carry out one bus request and publish exactly one response; after ``dispose()`` do
        nothing."""
        if not self._disposed:
            await self._serve_request(message)

    def dispose(self) -> None:
        """Stop serving the bus; calls under way finish."""
        self._disposed = True
        unsubscribe, self._unsubscribe = self._unsubscribe, None
        if unsubscribe is not None:
            unsubscribe()

    async def _fire_trigger(self, event: HookEventName, value: object) -> Answer:
        try:
            trigger = narrow_trigger(EVENTS[event], value)
        except Exception as error:
            failed = self._local.fail(error, "validation", FiredEvent(event))
            return self._executor.judge_failure(failed)
        return await self._executor.execute(FiredEvent(event, trigger, (trigger,)))

    async def _serve_request(self, message: object) -> None:
        """Carry out one request, and publish exactly one response whatever happens."""
        import asyncio

        from hookline.bus.messages import correlation_of, failure_response

        correlation_id = correlation_of(message)
        try:
            response = await self._respond(message, correlation_id)
        except asyncio.CancelledError:
            cancelled = HooklineError("the request was cancelled before its hooks had answered")
            failed = self._local.fail(cancelled, "execution")
            await self._publish(failure_response(correlation_id, failed.errors[0]))
            raise
        except Exception as error:
            said = message_of(error)
            self._warn(f"a hook request failed with an internal error, please report it: {said}")
            failure = HookError(code="internal_error", message=said, stage="execution")
            response = failure_response(correlation_id, failure)
        await self._publish(response)

    async def _respond(self, message: object, correlation_id: str) -> "HookExecutionResponse":
        from hookline.bus.messages import failure_response, read_request, success_response

        stage, fired, named, missing = "envelope", None, "", dict[str, str]()
        try:
            name, input, required = read_request(message)
            event = narrow_event(name)
            stage, fired = "validation", FiredEvent(event, correlation_id=correlation_id)
            fired = read_fired_event(event, input, correlation_id=correlation_id)
            stage = "planning"
            if self._ready is not None:
                await self._ready()
                self._ready = None
            policy = None if required is None else self._policy
            if policy is not None:
                named, missing = policy.get_policy_digest(), policy.explain_missing(required or ())
        except Exception as error:
            failed = self._local.fail(error, stage, fired)
            return failure_response(correlation_id, failed.errors[0])
        answer = await self._local.execute(fired)
        if answer.plan is None and not answer.success:
            return failure_response(correlation_id, answer.errors[0])
        try:
            if not answer.blocked:
                # A denial stands even if the policy has changed.
                stage = "execution"
                _check_reviewed(answer)
                if policy is not None and policy.get_policy_digest() != named:
                    raise PolicyChangedError("the hooks were replaced while they answered")
            stage = "response"
            response = success_response(correlation_id, answer.aggregated)
        except Exception as error:
            failed = self._local.fail(error, stage, fired)
            return failure_response(correlation_id, failed.errors[0])
        if policy is not None and required is not None:
            response["policy"], response["missing"] = named, missing
            response["required"] = [name for name in required if name not in missing]
        return response

    async def _publish(self, response: "HookExecutionResponse") -> None:
        if self._bus is None:
            self._warn("cannot publish the response to a hook request: there is no bus")
            return
        try:
            await self._bus.publish(response)
        except Exception as error:
            self._warn(f"cannot publish a hook response: {message_of(error)}")


def _check_reviewed(answer: Answer) -> None:
    """Raise PolicyChangedError if a hook did not run because its current form was not reviewed:
    its answer is missing, so the execution is not complete."""
    held_back = [result.hook.name for result in answer.results if result.failed == "untrusted"]
    if held_back:
        names = ", ".join(map(repr, held_back))
        raise PolicyChangedError(
            f"a hook changed since its review and did not run: {names}; "
            "run `hookline trust` on the worker"
        )
