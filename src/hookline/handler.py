"""The engine under the names of its contract: one method an event, and the entry from a bus.

No method raises but for cancellation, which kills what is running.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from hookline.answer import Answer
from hookline.errors import HooklineError, message_of
from hookline.executor import Executor, LocalExecutor
from hookline.fired import FiredEvent, read_fired_event
from hookline.wire.events import (
    EVENTS,
    HookEventName,
    PreCompressTrigger,
    SessionEndReason,
    SessionStartSource,
    narrow_event,
    narrow_trigger,
)
from hookline.wire.results import HookError

# What it takes to serve a bus is loaded with the first request.
if TYPE_CHECKING:
    from hookline.bus.messages import HookExecutionResponse, MessageBus


class Policy(Protocol):
    """What callers on a bus may ask about the hooks here."""

    def get_policy_digest(self) -> str:
        """A digest of all hooks that are in force."""
        ...

    def explain_missing(self, names: Iterable[str]) -> dict[str, str]:
        """Those of the named hooks that are not in force, each with why it is not."""
        ...


class PolicyChangedError(HooklineError):
    """The hooks that answered are not those that were reviewed, or that the response names."""

    code = "policy_changed"


class HookEventHandler:
    """Fires events through ``executor``, or else ``local``, the executor of this machine.

    Requests of ``message_bus`` are carried out by ``local``; ``ready`` is awaited before one is
    planned, until it has succeeded once, and ``policy`` says what is in force.
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
        """Before a tool runs."""
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
        """After a tool ran; ``original_tool_input`` is what it was before a hook rewrote it."""
        values = (
            *(tool_name, tool_input, tool_response),
            *(original_tool_input, mcp_context, original_request_name),
        )
        return await self._executor.execute(FiredEvent(HookEventName.AFTER_TOOL, tool_name, values))

    async def fire_before_agent_event(self, prompt: str) -> Answer:
        """Before a turn begins."""
        return await self._executor.execute(FiredEvent(HookEventName.BEFORE_AGENT, "", (prompt,)))

    async def fire_after_agent_event(
        self, prompt: str, prompt_response: str, stop_hook_active: bool = False
    ) -> Answer:
        """After a turn; ``stop_hook_active`` when it was a hook that asked for this one."""
        values = (prompt, prompt_response, stop_hook_active)
        return await self._executor.execute(FiredEvent(HookEventName.AFTER_AGENT, "", values))

    async def fire_session_start_event(self, source: SessionStartSource) -> Answer:
        """When a session starts."""
        return await self._fire_trigger(HookEventName.SESSION_START, source)

    async def fire_session_end_event(self, reason: SessionEndReason) -> Answer:
        """When a session ends."""
        return await self._fire_trigger(HookEventName.SESSION_END, reason)

    async def fire_pre_compress_event(self, trigger: PreCompressTrigger) -> Answer:
        """Before the history is compressed."""
        return await self._fire_trigger(HookEventName.PRE_COMPRESS, trigger)

    async def fire_before_model_event(self, llm_request: Any) -> Answer:
        """Before a request goes to the model; the request is the SDK's."""
        return await self._executor.execute(
            FiredEvent(HookEventName.BEFORE_MODEL, "", (llm_request,))
        )

    async def fire_after_model_event(self, llm_request: Any, llm_response: Any) -> Answer:
        """After the model answered; request and response are the SDK's."""
        values = (llm_request, llm_response)
        return await self._executor.execute(FiredEvent(HookEventName.AFTER_MODEL, "", values))

    async def fire_before_tool_selection_event(
        self, llm_request: Any, available_tools: list[str] | None = None
    ) -> Answer:
        """Before the model is offered its tools; the names default to the request's own."""
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
        """When the user should be told something."""
        values = (message, notification_type, level, details)
        return await self._executor.execute(
            FiredEvent(HookEventName.NOTIFICATION, notification_type or "", values)
        )

    async def fire(self, event_name: str | HookEventName, input: Mapping[str, Any]) -> Answer:
        """Fire an event whose name and fields are at hand as data."""
        read = self._local.read_event(event_name, input)
        if isinstance(read, Answer):
            return self._executor.judge_failure(read)
        return await self._executor.execute(read)

    async def handle_hook_execution_request(self, message: object) -> None:
        """Carry out one request of a bus and publish its one response, whatever happens; after
        ``dispose()`` do nothing."""
        if not self._disposed:
            await self._serve_request(message)

    def dispose(self) -> None:
        """Serve the bus no longer; calls under way finish."""
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
        """Carry out one request and publish its one response, whatever happens."""
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
            self._warn(f"a hook request failed for a reason nobody foresaw: {said}")
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
                # A denial stands, whatever else there is to say.
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
            self._warn("a hook request was answered, but there is no bus to answer on")
            return
        try:
            await self._bus.publish(response)
        except Exception as error:
            self._warn(f"a hook response could not be published: {message_of(error)}")


def _check_reviewed(answer: Answer) -> None:
    """Raises PolicyChangedError if a hook did not run because nobody has reviewed it as it is now:
    what it would have said is not known, so this is no completed execution."""
    held_back = [result.hook.name for result in answer.results if result.failed == "untrusted"]
    if held_back:
        names = ", ".join(map(repr, held_back))
        raise PolicyChangedError(
            f"not run, as nobody has reviewed it as it is now: {names}; "
            "run `hookline trust` on the worker"
        )
