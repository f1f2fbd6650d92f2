"""A model of Pydantic AI behind hooks."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, NamedTuple

import msgspec
from pydantic_ai import RunContext
from pydantic_ai.exceptions import UserError
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, UserPromptPart
from pydantic_ai.models import (
    CompletedStreamedResponse,
    Model,
    ModelRequestParameters,
    StreamedResponse,
)
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.settings import ModelSettings
from pydantic_ai.usage import RequestUsage

from hookline.adapters.pydantic_ai.outputs import put_outputs, show_outputs
from hookline.adapters.steps import ModelStep, Replace, Reply, RunState, Send, SendBack
from hookline.errors import HooklineError
from hookline.translate.pydantic_ai import PydanticAICall, PydanticAITranslator
from hookline.translate.values import are_same

# Output modes in which a text can be the final answer.
_TEXT_MODES = ("text", "tool", "tool_or_text")
_HIDDEN = {"hookline": {"suppressed": True}}
_TRANSLATOR = PydanticAITranslator()


class OpenCall(NamedTuple):
    """A model call that may be made: its step, what the framework sends, and what hooks make of
    it."""

    step: ModelStep
    call: PydanticAICall
    send: Send

    @property
    def arguments(self) -> tuple[Any, Any, Any]:
        """What the model is called with."""
        request = self.send.request
        return request.messages, request.settings, request.parameters


class ModelCalls:
    """The model calls of a run. ``error`` is what to raise if the framework rejects the reply that
    hooks gave in the model's place."""

    def __init__(self, run: RunState) -> None:
        self._run = run
        self.error: HooklineError | None = None

    async def open(self, call: PydanticAICall) -> OpenCall | ModelResponse:
        """Return a call that may be made, or the reply in its place."""
        if self.error is not None:
            raise self.error
        step = ModelStep(self._run)
        opening = await step.open(lambda texts: _add_texts(call, texts))
        if isinstance(opening, Send):
            return OpenCall(step, call, opening)
        assert isinstance(opening, Reply)
        return self._reply(call, opening)

    async def close(self, open_call: OpenCall, response: ModelResponse) -> ModelResponse:
        """Return the response as AfterModel hooks leave it."""
        step, call, _ = open_call
        shown = show_outputs(response, call.parameters)
        closing = await step.close(shown)
        if isinstance(closing, Reply):
            reply = self._reply(call, closing)
            # The model call used tokens, even if hooks rejected its response.
            return replace(reply, usage=response.usage, model_name=response.model_name)
        assert not isinstance(closing, SendBack)
        if isinstance(closing, Replace):
            response = put_outputs(closing.response, shown, response)
        return _hide(response) if closing.hidden else response

    async def observe(self, open_call: OpenCall, response: ModelResponse) -> None:
        """Show the response of a stream that was passed on to hooks that cannot change it."""
        is_complete = response.state == "complete"
        shown = show_outputs(response, open_call.call.parameters) if is_complete else None
        await open_call.step.observe(shown)

    def _reply(self, call: PydanticAICall, reply: Reply) -> ModelResponse:
        """Make a reply that ends the run; raise its error if the run's output cannot be a text."""
        parameters = call.parameters
        assert parameters is not None
        if not parameters.allow_text_output or parameters.output_mode not in _TEXT_MODES:
            raise reply.error
        self.error = reply.error
        response: ModelResponse = (
            _TRANSLATOR.empty_response(reply.text, like=call)
            if reply.response is None
            else reply.response
        )
        return _hide(response) if reply.hidden else response


class GuardedModel(WrapperModel):
    """A model whose calls go through hooks."""

    def __init__(self, wrapped: Model, calls: ModelCalls) -> None:
        super().__init__(wrapped)
        self._calls = calls
        # The call whose tokens were counted last, and what hooks answered about it.
        self._counted: tuple[PydanticAICall, OpenCall | ModelResponse] | None = None

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        """Call the model between its hooks."""
        _, opened = await self._open(messages, model_settings, model_request_parameters)
        if isinstance(opened, ModelResponse):
            return opened
        response = await self.wrapped.request(*opened.arguments)
        return await self._calls.close(opened, response)

    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: RunContext[Any] | None = None,
    ) -> AsyncGenerator[StreamedResponse]:
        """Stream the model's response, as it comes if no hook can change it."""
        _, opened = await self._open(messages, model_settings, model_request_parameters)
        if isinstance(opened, ModelResponse):
            yield _replay(opened, model_request_parameters)
            return
        streaming = self.wrapped.request_stream(*opened.arguments, run_context)
        if not opened.send.holds_back:
            async with streaming as stream:
                yield stream
            await self._calls.observe(opened, stream.get())
            return
        async with streaming as stream:
            events = [event async for event in stream]
            response = stream.get()
        left = await self._calls.close(opened, response)
        # The stream's own parameters, since the model may have changed them for its output mode.
        parameters = stream.model_request_parameters
        if left is response:
            yield CompletedStreamedResponse(
                response, model_request_parameters=parameters, replay_events=events
            )
        else:
            yield _replay(left, parameters)

    async def count_tokens(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> RequestUsage:
        """Count the request as hooks leave it, which is what the provider gets."""
        self._counted = await self._open(messages, model_settings, model_request_parameters)
        opened = self._counted[1]
        if isinstance(opened, ModelResponse):
            return RequestUsage()
        return await self.wrapped.count_tokens(*opened.arguments)

    async def batch_encode(self, request: Any) -> Any:
        """Refuse a batch, which hooks would not see."""
        raise UserError(
            "hooks do not see model calls through a provider's batch API; remove "
            "BatchModelRequests from the agent's capabilities, or the hooks of model events"
        )

    async def _open(
        self,
        messages: list[ModelMessage],
        settings: ModelSettings | None,
        parameters: ModelRequestParameters,
    ) -> tuple[PydanticAICall, OpenCall | ModelResponse]:
        """Return the call as the framework makes it, and as hooks leave it or the reply in its
        place. Hooks run once for a request that is counted and then made."""
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
        return call, await self._calls.open(call)


def _add_texts(call: PydanticAICall, texts: list[str]) -> PydanticAICall:
    """Add what hooks want the model to read to the request, not to the history."""
    if not texts:
        return call
    part = UserPromptPart("\n\n".join(texts))
    *earlier, last = call.messages
    # In the last request, as the agent's instructions stand there.
    if isinstance(last, ModelRequest):
        messages = [*earlier, replace(last, parts=[*last.parts, part])]
    else:
        messages = [*call.messages, ModelRequest(parts=[part])]
    return msgspec.structs.replace(call, messages=messages)


def _hide(response: ModelResponse) -> ModelResponse:
    """Mark a response that hooks do not want displayed."""
    return replace(response, metadata={**(response.metadata or {}), **_HIDDEN})


def _replay(response: ModelResponse, parameters: ModelRequestParameters) -> StreamedResponse:
    return CompletedStreamedResponse(
        response, model_request_parameters=parameters, replay_events=True
    )
