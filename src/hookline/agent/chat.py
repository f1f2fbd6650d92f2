"""One conversation with a model, with hooks before and after every call.

The history holds each response as hooks left it. Hooks cannot change what a display has already
shown, so a chat can hold the display back until they have answered.
"""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Any, Literal, TypeAlias

import msgspec

from hookline.agent.providers import SUMMARIZE, ModelProvider
from hookline.agent.tools import Tool
from hookline.agent.turns import FunctionCall, Turn, text_turn, transcribe
from hookline.contract import Config
from hookline.hooks import HookSession, hooks_of

Display: TypeAlias = Literal["live", "after_hooks"]


class ModelTurn(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of one model call: the response as hooks left it, and the tools it calls.

    ``blocked``: a hook blocked the call or rejected its response. ``stop_reason``: why a hook
    ended the agent loop. ``allowed_tools``: the tools that tool selection left, None for all.
    """

    response: Any
    text: str = ""
    calls: tuple[FunctionCall, ...] = ()
    blocked: bool = False
    reason: str | None = None
    stop_reason: str | None = None
    allowed_tools: frozenset[str] | None = None


class Chat:
    """A history, and the calls that extend it. ``display="after_hooks"`` yields a response that
    AfterModel hooks may change only once they have answered, any other as it streams; ``"live"``
    yields every one as it streams. ``model_config`` is in
    the form of the provider's API."""

    def __init__(
        self,
        hooks: HookSession | Config,
        provider: ModelProvider,
        *,
        tools: Sequence[Tool] = (),
        model_config: Any = None,
        display: Display = "live",
        history: Sequence[Turn] = (),
    ) -> None:
        self._hooks = hooks_of(hooks)
        self.provider: ModelProvider = provider
        self._model_config = model_config
        self._tools = tools
        self._display = display
        self.history: list[Turn] = list(history)
        self.last_turn: ModelTurn | None = None
        self._pending_messages: list[str] = []

    def switch(self, provider: ModelProvider, *, model_config: Any = None) -> None:
        """Go on with another model; it reads the history in its own API's form."""
        self.provider, self._model_config = provider, model_config

    async def send(self, *turns: str | Turn) -> ModelTurn:
        """Make one call with these turns added, for callers that need no display."""
        async with aclosing(self.stream(*turns)) as shown:
            async for _ in shown:
                pass
        assert self.last_turn is not None
        return self.last_turn

    async def stream(self, *turns: str | Turn) -> AsyncGenerator[Any, None]:
        """Make one call with these turns (texts are the user's) added; yields what to display.

        A stream that breaks raises, fires no AfterModel, and leaves the history as it was.
        Afterwards ``last_turn`` has the outcome of the call.
        """
        self.last_turn = None
        provider, conversation = self.provider, self.provider.conversation
        added = [text_turn("user", turn) if isinstance(turn, str) else turn for turn in turns]
        # At the end, since nothing may stand between a tool call and its result.
        added += [text_turn("system", message) for message in self._pending_messages]
        request = conversation.request(
            provider.model,
            [*self.history, *added],
            config=self._model_config,
            tools=self._tools,
        )
        gate = await self._hooks.model_gate(request)
        outcome = gate.outcome
        if outcome is not None:
            yield outcome.response
        else:
            chunks: list[Any] = []
            is_held = self._display == "after_hooks" and gate.holds_back
            async with aclosing(provider.stream(gate.request)) as stream:
                async for chunk in stream:
                    chunks.append(chunk)
                    if not is_held:
                        yield chunk
            outcome = await gate.finish(conversation.merged(chunks))
            if is_held and not outcome.suppressed:
                yield outcome.response
        self._pending_messages = [outcome.message] if outcome.message else []
        self.history += added
        said = conversation.read(outcome.response)
        if said is not None:
            self.history.append(said)
        self.last_turn = ModelTurn(
            response=outcome.response,
            text=said.text if said is not None else "",
            calls=() if outcome.blocked or said is None else said.calls,
            blocked=outcome.blocked,
            reason=outcome.reason,
            stop_reason=outcome.stop,
            allowed_tools=gate.allowed,
        )

    async def summarize(self, turns: Sequence[Turn]) -> str | None:
        """Have the model summarize these turns, with hooks around the call; None if hooks forbid
        it.

        The turns may hold what BeforeModel hooks take out of every other request, so this request
        goes through them too.
        """
        provider, conversation = self.provider, self.provider.conversation
        asked = [*transcribe(turns), text_turn("user", SUMMARIZE)]
        request = conversation.request(provider.model, asked)
        gate = await self._hooks.model_gate(request)
        outcome = gate.outcome
        if outcome is None:
            if gate.request is request:
                response = gate.make_response(await provider.summarize(turns))
            else:
                async with aclosing(provider.stream(gate.request)) as stream:
                    response = conversation.merged([chunk async for chunk in stream])
            outcome = await gate.finish(response)
        if outcome.blocked or outcome.stop is not None:
            why = outcome.stop or outcome.reason
            self._hooks.warn(
                f"hooks do not let the model summarize the conversation, so it is kept whole: {why}"
            )
            return None
        return conversation.text(outcome.response)
