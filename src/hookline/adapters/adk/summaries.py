"""ADK's compaction of a session's events, with its own hooks and those of its model call."""

from collections.abc import AsyncGenerator, Sequence
from contextvars import ContextVar
from typing import Protocol

from google.adk.apps.base_events_summarizer import BaseEventsSummarizer
from google.adk.apps.llm_event_summarizer import LlmEventSummarizer
from google.adk.events.event import Event
from google.adk.events.event_actions import EventActions
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse

from hookline.adapters.adk.modelcalls import close_call, open_call
from hookline.adapters.adk.runs import AdkModelCall
from hookline.adapters.conversations import Conversation
from hookline.adapters.steps import RunState
from hookline.wire.events import SessionStartSource


class KnowsConversations(Protocol):
    """Finds the conversation of events."""

    def find_conversation_of(self, events: Sequence[Event]) -> Conversation:
        """Return the conversation that these events belong to."""
        ...


class HookedSummarizer(BaseEventsSummarizer):
    """A summarizer for ``EventsCompactionConfig`` that fires PreCompress before it summarizes, and
    SessionStart with source ``compress`` after it.

    Give it a model, whose call then goes through the hooks of model calls, or another summarizer,
    whose model hooks do not see. ``hooks`` is the app's ``HooklinePlugin``.
    """

    def __init__(
        self, summarizer: BaseLlm | BaseEventsSummarizer, *, hooks: KnowsConversations
    ) -> None:
        self.guards_model = isinstance(summarizer, BaseLlm)
        if isinstance(summarizer, BaseLlm):
            summarizer = LlmEventSummarizer(_GuardedLlm(model=summarizer.model, llm=summarizer))
        self._summarizer = summarizer
        self._hookline = hooks

    async def maybe_summarize_events(self, *, events: list[Event]) -> Event | None:
        """Summarize events, with PreCompress before and SessionStart after."""
        if not events:
            return None
        conversation = self._hookline.find_conversation_of(events)
        face = conversation.face
        before = await face.pre_compress("auto")
        for text in before.texts_for_model:
            conversation.keep(text)
        if before.keep_history:
            return None
        token = _compressed.set(conversation)
        try:
            summary = await self._summarizer.maybe_summarize_events(events=events)
        finally:
            _compressed.reset(token)
        if summary is not None:
            for text in (await face.session_start(SessionStartSource.COMPRESS)).texts_for_model:
                conversation.keep(text)
        return summary


_compressed: ContextVar[Conversation] = ContextVar("hookline_adk_compressed")


class _SummaryRun(RunState):
    """The model call of a summarizer: a stop ends it alone, and what waits for the agent's model
    goes on waiting."""

    def take_texts(self) -> list[str]:
        return []


class _GuardedLlm(BaseLlm):
    """The model of a summarizer behind hooks: the history holds what they take out of requests."""

    llm: BaseLlm

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        call = AdkModelCall(_SummaryRun(_compressed.get()), EventActions(), llm_request)
        call.is_structured = True
        response = await open_call(call)
        if response is not None:
            # A response without content makes no summary, so the history stays.
            yield response
            return
        async for response in self.llm.generate_content_async(llm_request, stream=False):
            await close_call(call, response)
            yield response
