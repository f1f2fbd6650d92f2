"""A model of Pydantic AI behind hooks."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any, Protocol

from pydantic_ai import RunContext
from pydantic_ai.exceptions import UserError
from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.models import (
    CompletedStreamedResponse,
    Model,
    ModelRequestParameters,
    StreamedResponse,
)
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.settings import ModelSettings
from pydantic_ai.usage import RequestUsage

from hookline.adapters.gates import ModelGate
from hookline.translate.pydantic_ai import PydanticAICall
from hookline.translate.values import are_same


class ModelHooks(Protocol):
    """The hooks of model calls."""

    async def open_model(self, call: PydanticAICall) -> ModelGate | ModelResponse:
        """Return the gate of a call that may be made, or the reply in its place."""
        ...

    async def close_model(
        self, gate: ModelGate, response: ModelResponse, call: PydanticAICall
    ) -> ModelResponse:
        """Return the response as AfterModel hooks leave it."""
        ...


class GuardedModel(WrapperModel):
    """A model whose calls go through hooks."""

    def __init__(self, wrapped: Model, hooks: ModelHooks) -> None:
        super().__init__(wrapped)
        self._model_hooks = hooks
        # The call whose tokens were counted last, and what hooks answered about it.
        self._counted: tuple[PydanticAICall, ModelGate | ModelResponse] | None = None

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        """Call the model between its hooks."""
        call, gate = await self._open_call(messages, model_settings, model_request_parameters)
        if isinstance(gate, ModelResponse):
            return gate
        response = await self.wrapped.request(*_list_arguments(gate.request))
        return await self._model_hooks.close_model(gate, response, call)

    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: RunContext[Any] | None = None,
    ) -> AsyncGenerator[StreamedResponse]:
        """Stream the model's response, as it comes if there is no AfterModel hook."""
        call, gate = await self._open_call(messages, model_settings, model_request_parameters)
        if isinstance(gate, ModelResponse):
            yield _replay(gate, model_request_parameters)
            return
        streaming = self.wrapped.request_stream(*_list_arguments(gate.request), run_context)
        if not gate.holds_back:
            async with streaming as stream:
                yield stream
            return
        async with streaming as stream:
            events = [event async for event in stream]
            response = stream.get()
        kept = await self._model_hooks.close_model(gate, response, call)
        # The stream's own parameters, since the model may have changed them for its output mode.
        parameters = stream.model_request_parameters
        if kept is response:
            yield CompletedStreamedResponse(
                response, model_request_parameters=parameters, replay_events=events
            )
        else:
            yield _replay(kept, parameters)

    async def count_tokens(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> RequestUsage:
        """Count the request as hooks leave it, which is what the provider gets."""
        self._counted = await self._open_call(messages, model_settings, model_request_parameters)
        gate = self._counted[1]
        if isinstance(gate, ModelResponse):
            return RequestUsage()
        return await self.wrapped.count_tokens(*_list_arguments(gate.request))

    async def batch_encode(self, request: Any) -> Any:
        """Refuse a batch, which hooks would not see."""
        raise UserError(
            "hooks do not see model calls through a provider's batch API; remove "
            "BatchModelRequests from the agent's capabilities, or the hooks of model events"
        )

    async def _open_call(
        self,
        messages: list[ModelMessage],
        settings: ModelSettings | None,
        parameters: ModelRequestParameters,
    ) -> tuple[PydanticAICall, ModelGate | ModelResponse]:
        """Return the call, and its gate or the reply in its place. Hooks run once for a request
        that is counted and then made."""
        counted, self._counted = self._counted, None
        if (
            counted is not None
            and are_same(counted[0].messages, messages)
            and counted[0].settings is settings
            and counted[0].parameters is parameters
        ):
            return counted
        call = PydanticAICall(
            messages=messages, settings=settings, parameters=parameters, model=self.model_name
        )
        return call, await self._model_hooks.open_model(call)


def _replay(response: ModelResponse, parameters: ModelRequestParameters) -> StreamedResponse:
    return CompletedStreamedResponse(
        response, model_request_parameters=parameters, replay_events=True
    )


def _list_arguments(call: PydanticAICall) -> tuple[Any, Any, Any]:
    return call.messages, call.settings, call.parameters
