"""One conversation with a model, in which hooks have their say before and after every call.

What a hook changes in a response is what the conversation holds and feeds back. What was already
streamed to a display is out of reach, so a chat can hold the display back until hooks answered.
"""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Any, Literal, TypeAlias

import msgspec

from hookline.agent.providers import FunctionCall, ModelProvider
from hookline.config import Config
from hookline.triggers.model import (
    BeforeModelHookResult,
    fire_after_model_hook,
    fire_before_model_hook,
    fire_before_tool_selection_hook,
)

Display: TypeAlias = Literal["live", "after_hooks"]


class ModelTurn(msgspec.Struct, frozen=True, kw_only=True):
    """What came of one model call: the response as hooks left it, and what it asks for.

    ``blocked``: a hook kept the call from happening or rejected its response. ``stop_reason``: a
    hook asked for the end of the agent loop. ``allowed_tools``: what tool selection left, None for
    all.
    """

    response: Any
    text: str = ""
    calls: tuple[FunctionCall, ...] = ()
    blocked: bool = False
    reason: str | None = None
    stop_reason: str | None = None
    allowed_tools: frozenset[str] | None = None


class Chat:
    """A history, and the calls that extend it. ``display="after_hooks"`` yields a response only
    once AfterModel hooks have answered; ``"live"`` yields it as it streams."""

    def __init__(
        self,
        config: Config,
        provider: ModelProvider,
        *,
        model_config: Any = None,
        display: Display = "live",
        history: Sequence[Any] = (),
    ) -> None:
        self._config = config
        self._provider = provider
        self._model_config = model_config
        self._display = display
        self.history: list[Any] = list(history)
        self.last_turn: ModelTurn | None = None
        self._pending_messages: list[str] = []

    async def send(self, *contents: Any) -> ModelTurn:
        """Make one call with these messages added, for callers who need no display."""
        async with aclosing(self.stream(*contents)) as shown:
            async for _ in shown:
                pass
        assert self.last_turn is not None
        return self.last_turn

    async def stream(self, *contents: Any) -> AsyncGenerator[Any, None]:
        """Make one call with these messages (texts are the user's) added; yields what to display.

        A stream that breaks raises, fires no AfterModel, and leaves the history as it was. What
        came of the call is in ``last_turn`` afterwards.
        """
        self.last_turn = None
        added = [self._content(content) for content in contents]
        # At the end, since nothing may stand between a tool call and its answer.
        added += [self._system_content(text) for text in self._pending_messages]
        call = _ModelCall(self._config, self._provider, self._display)
        request = self._provider.conversation.request(
            self._provider.model, [*self.history, *added], self._model_config
        )
        async with aclosing(call.stream(request, self._system_content)) as shown:
            async for response in shown:
                yield response
        assert call.turn is not None
        self._pending_messages = [call.system_message] if call.system_message else []
        self.history += added
        answer = self._provider.conversation.content_of(call.turn.response)
        if answer is not None:
            self.history.append(answer)
        self.last_turn = call.turn

    def _content(self, content: Any) -> Any:
        if isinstance(content, str):
            return self._provider.conversation.text_content("user", content)
        return content

    def _system_content(self, message: str) -> Any:
        conversation = self._provider.conversation
        if self._provider.system_role:
            return conversation.text_content("system", message)
        return conversation.text_content("user", f"[System] {message}")


class _ModelCall:
    """One call: tool selection, before the model, the stream, after the model."""

    def __init__(self, config: Config, provider: ModelProvider, display: Display) -> None:
        self._config = config
        self._provider = provider
        self._display = display
        self.turn: ModelTurn | None = None
        self.system_message: str | None = None

    async def stream(self, request: Any, system_content: Any) -> AsyncGenerator[Any, None]:
        selection = await fire_before_tool_selection_hook(self._config, request)
        if selection.should_stop:
            self.turn = self._stopped(request, selection.stop_reason or "")
            return
        allowed = self._provider.conversation.allowed_names(selection.tool_config)
        if selection.tool_config is not None:
            request = self._provider.conversation.with_tool_config(request, selection.tool_config)
        before = await fire_before_model_hook(self._config, request)
        if before.blocked:
            self.turn = self._answered(request, before, allowed)
            yield self.turn.response
            return
        if before.modified_request is not None:
            request = before.modified_request
        if before.system_message:
            content = system_content(before.system_message)
            request = self._provider.conversation.with_content(request, content)
        chunks: list[Any] = []
        async with aclosing(self._provider.stream(request)) as stream:
            async for chunk in stream:
                chunks.append(chunk)
                if self._display == "live":
                    yield chunk
        is_shown = await self._finish(request, chunks, allowed)
        if self._display == "after_hooks" and is_shown:
            assert self.turn is not None
            yield self.turn.response

    async def _finish(
        self, request: Any, chunks: list[Any], allowed: frozenset[str] | None
    ) -> bool:
        """Have AfterModel hooks answer; whether the response may be displayed."""
        conversation = self._provider.conversation
        after = await fire_after_model_hook(self._config, request, conversation.merged(chunks))
        self.system_message = after.system_message
        self.turn = ModelTurn(
            response=after.response,
            text=conversation.text(after.response),
            calls=() if after.blocked else tuple(conversation.calls(after.response)),
            blocked=after.blocked,
            reason=after.reason,
            stop_reason=after.stop_reason,
            allowed_tools=allowed,
        )
        return not after.suppress_output

    def _answered(
        self, request: Any, before: BeforeModelHookResult, allowed: frozenset[str] | None
    ) -> ModelTurn:
        """The turn of a call that hooks answered or forbade."""
        conversation = self._provider.conversation
        response = before.synthetic_response
        if response is None:
            translator = self._config.get_translator()
            response = translator.empty_response(before.reason or "", like=request)
        synthetic = before.synthetic_response is not None
        self.system_message = before.system_message
        return ModelTurn(
            response=response,
            text=conversation.text(response),
            calls=tuple(conversation.calls(response)) if synthetic else (),
            blocked=not synthetic,
            reason=before.reason,
            stop_reason=before.reason if before.should_stop else None,
            allowed_tools=allowed,
        )

    def _stopped(self, request: Any, reason: str) -> ModelTurn:
        response = self._config.get_translator().empty_response(reason, like=request)
        return ModelTurn(response=response, blocked=True, reason=reason, stop_reason=reason)
