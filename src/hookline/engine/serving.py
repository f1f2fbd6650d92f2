"""Serves the requests of a bus: each is checked, its event is carried out by the hooks here, and
exactly one response is published, whatever happens."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from hookline.errors import HooklineError, message_of
from hookline.pipeline.answer import Answer
from hookline.wire.events import narrow_event
from hookline.wire.fired import FiredEvent, read_fired_event
from hookline.wire.results import HookError

# The modules that serve a bus are loaded with the first request.
if TYPE_CHECKING:
    from hookline.bus.messages import HookExecutionResponse, MessageBus
    from hookline.engine.engine import Engine


class PolicyChangedError(HooklineError):
    """The hooks that answered are not the reviewed ones, or not those of the named policy."""

    code = "policy_changed"


class BusServer:
    """Carries out the requests of a bus with the hooks of an engine in this process."""

    def __init__(self, engine: "Engine", bus: "MessageBus | None") -> None:
        self._engine, self._bus = engine, bus
        self._local, self._warn = engine.local, engine.log.warning
        self._is_over = False
        self._unsubscribe: Callable[[], None] | None = None
        if bus is not None:
            from hookline.bus.messages import MessageBusType

            self._unsubscribe = bus.subscribe(MessageBusType.HOOK_EXECUTION_REQUEST, self._serve)

    async def handle(self, message: object) -> None:
        """Carry out one request and publish exactly one response; after ``close()`` do nothing."""
        if not self._is_over:
            await self._serve(message)

    def close(self) -> None:
        """Stop serving the bus; calls under way finish."""
        self._is_over = True
        unsubscribe, self._unsubscribe = self._unsubscribe, None
        if unsubscribe is not None:
            unsubscribe()

    async def _serve(self, message: object) -> None:
        import asyncio

        from hookline.bus.messages import correlation_of, failure_response

        correlation_id = correlation_of(message)
        try:
            response = await self._respond(message, correlation_id)
        except asyncio.CancelledError:
            cancelled = HooklineError("the request was cancelled before its hooks had answered")
            failure = self._local.fail(cancelled, "execution").errors[0]
            await self._publish(failure_response(correlation_id, failure))
            raise
        except Exception as error:
            why = message_of(error)
            self._warn(f"a hook request failed with an internal error, please report it: {why}")
            failure = HookError(code="internal_error", message=why, stage="execution")
            response = failure_response(correlation_id, failure)
        await self._publish(response)

    async def _respond(self, message: object, correlation_id: str) -> "HookExecutionResponse":
        from hookline.bus.messages import failure_response, read_request, success_response

        stage, fired, digest, missing = "envelope", None, "", dict[str, str]()
        try:
            name, input, required = read_request(message)
            event = narrow_event(name)
            stage, fired = "validation", FiredEvent(event, correlation_id=correlation_id)
            fired = read_fired_event(event, input, correlation_id=correlation_id)
            stage = "planning"
            self._engine.load()
            if required is not None:
                digest = self._engine.get_policy_digest()
                missing = self._engine.explain_missing(required)
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
                if required is not None and self._engine.get_policy_digest() != digest:
                    raise PolicyChangedError("the hooks were replaced while they answered")
            stage = "response"
            response = success_response(correlation_id, answer.aggregated)
        except Exception as error:
            failed = self._local.fail(error, stage, fired)
            return failure_response(correlation_id, failed.errors[0])
        if required is not None:
            response["policy"], response["missing"] = digest, missing
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
