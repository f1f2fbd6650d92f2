"""Scripted models of ADK's, and what came of the runs of their agents."""

from collections.abc import AsyncGenerator, Sequence
from typing import Any, Self, TypeAlias

import pytest
from google.adk.agents import LlmAgent
from google.adk.agents._streaming_mode import StreamingMode
from google.adk.agents.run_config import RunConfig
from google.adk.apps import App
from google.adk.events.event import Event
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.genai import types
from pydantic import PrivateAttr

# AgentTool itself makes its runner in a way that ADK warns of.
INNER_RUNNER = pytest.mark.filterwarnings("ignore:The `plugins` argument:DeprecationWarning")
DEPRECATED = pytest.mark.filterwarnings("ignore:.*Agent is deprecated:DeprecationWarning")
EXPERIMENTAL = pytest.mark.filterwarnings("ignore:.EXPERIMENTAL.:UserWarning")

Reply: TypeAlias = str | types.Part | Sequence[str | types.Part]


def call(name: str, id: str | None = None, /, **args: Any) -> types.Part:
    return types.Part(function_call=types.FunctionCall(id=id, name=name, args=args))


def parts_of(reply: Reply) -> list[types.Part]:
    listed = [reply] if isinstance(reply, str | types.Part) else reply
    return [types.Part(text=part) if isinstance(part, str) else part for part in listed]


class Script(BaseLlm):
    """A model that replies one after the other; ``requests`` is what it was sent. In a stream,
    texts come in pieces of four letters before the whole."""

    model: str = "script"
    _replies: list[Reply] = PrivateAttr()
    _requests: list[LlmRequest] = PrivateAttr(default_factory=list)

    def __init__(self, *replies: Reply, **fields: Any) -> None:
        super().__init__(**fields)
        self._replies = [*replies]

    @classmethod
    def of(cls, *replies: Reply) -> Self:
        """A model of a subclass, whose own ``__init__`` is not known to type checkers."""
        return cls(*replies)

    @property
    def requests(self) -> list[LlmRequest]:
        return self._requests

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        self._requests.append(llm_request.model_copy(deep=False))
        parts = parts_of(self._replies.pop(0) if self._replies else "Nothing more.")
        if stream:
            for part in parts:
                for at in range(0, len(part.text or ""), 4):
                    piece = types.Part(text=(part.text or "")[at : at + 4], thought=part.thought)
                    content = types.Content(role="model", parts=[piece])
                    yield LlmResponse(content=content, partial=True)
        content = types.Content(role="model", parts=parts)
        yield LlmResponse(content=content, partial=False, finish_reason=types.FinishReason.STOP)

    def sent(self, number: int = -1) -> str:
        """All texts and results that the model was sent in a call."""
        return "\n".join(
            show(part) for c in self.requests[number].contents for part in c.parts or []
        )


def show(part: types.Part) -> str:
    if part.function_response is not None:
        return f"{part.function_response.name}: {part.function_response.response}"
    if part.function_call is not None:
        return f"{part.function_call.name}({part.function_call.args})"
    return part.text or ""


class Chat:
    """A conversation with an app's root agent."""

    def __init__(
        self,
        root: Any,
        *plugins: BasePlugin,
        stream: bool = False,
        session: str = "chat",
        service: Any = None,
        **app: Any,
    ) -> None:
        self.service = service or InMemorySessionService()
        self.app = App(name="app", root_agent=root, plugins=[*plugins], **app)
        self.runner = Runner(app=self.app, session_service=self.service, auto_create_session=True)
        self.session_id = session
        self.config = RunConfig(streaming_mode=StreamingMode.SSE if stream else StreamingMode.NONE)

    async def say(self, message: str | types.Part, *more: types.Part) -> list[Event]:
        """Send a message; the events that come of it."""
        first = types.Part(text=message) if isinstance(message, str) else message
        content = types.Content(role="user", parts=[first, *more])
        return [
            event
            async for event in self.runner.run_async(
                user_id="user",
                session_id=self.session_id,
                new_message=content,
                run_config=self.config,
            )
        ]

    async def state(self) -> dict[str, Any]:
        """The state of the session."""
        session = await self.service.get_session(
            app_name="app", user_id="user", session_id=self.session_id
        )
        assert session is not None
        return dict(session.state)

    async def events(self) -> list[Event]:
        """What the session's service has stored."""
        session = await self.service.get_session(
            app_name="app", user_id="user", session_id=self.session_id
        )
        assert session is not None
        return [*session.events]

    async def stored(self) -> str:
        """All that the session's service has stored, as text."""
        return "\n".join(event.model_dump_json() for event in await self.events())


class Shell:
    """A tool that notes the commands it ran."""

    def __init__(self) -> None:
        self.ran: list[str] = []

        async def shell(command: str) -> str:
            """Run a command."""
            self.ran.append(command)
            return f"output of {command}"

        self.tool = shell


def noting(seen: list[Any], field: str, answer: Any) -> Any:
    """A hook that notes a field of its events, and answers."""

    def hook(event: dict[str, Any]) -> Any:
        seen.append(event[field])
        return answer(event) if callable(answer) else answer

    return hook


def texts(events: Sequence[LlmResponse]) -> list[str]:
    return [
        part.text
        for event in events
        for part in (event.content and event.content.parts) or []
        if part.text and not part.thought
    ]


def results(events: Sequence[Event]) -> list[Any]:
    return [r.response for event in events for r in event.get_function_responses()]


def question(events: Sequence[Event]) -> types.FunctionCall:
    """The one question that the user is asked."""
    [found] = [
        call
        for event in events
        for call in event.get_function_calls()
        if call.name == "adk_request_confirmation"
    ]
    return found


def answer(asked: types.FunctionCall, *, confirmed: bool) -> types.Part:
    response = types.FunctionResponse(
        id=asked.id, name=asked.name, response={"confirmed": confirmed}
    )
    return types.Part(function_response=response)


def agent(model: BaseLlm, *tools: Any, **options: Any) -> LlmAgent:
    return LlmAgent(**{"name": "root", "model": model, "tools": [*tools], **options})
