"""ADK in the table, with a model of ADK's own kind that is scripted."""

import asyncio
import warnings
from collections.abc import AsyncGenerator, Iterator
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.agents._streaming_mode import StreamingMode
from google.adk.agents.run_config import RunConfig
from google.adk.apps import App
from google.adk.apps.app import EventsCompactionConfig
from google.adk.apps.base_events_summarizer import BaseEventsSummarizer
from google.adk.events.event import Event
from google.adk.events.event_actions import EventActions, EventCompaction
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.adk.tools.agent_tool import AgentTool
from google.adk.tools.tool_context import ToolContext
from google.genai import types

from hookline.adapters.adk import HookedSummarizer, HooklinePlugin
from tests.kit.adapters import DELEGATE, HELPER, Harness, Limit, Message, Run


class _Model(BaseLlm):
    model: str = "table"
    run: Any

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        names = [
            declaration.name
            for tool in llm_request.config.tools or []
            for declaration in getattr(tool, "function_declarations", None) or []
        ]
        reply = self.run.next_reply([*_messages(llm_request)], names)
        for piece in reply.pieces if stream else ():
            content = types.Content(role="model", parts=[types.Part(text=piece)])
            yield LlmResponse(content=content, partial=True)
        calls = [
            types.Part(function_call=types.FunctionCall(id=call.id, name=call.name, args=call.args))
            for call in reply.calls
        ]
        text = [types.Part(text=reply.text)] if reply.text else []
        content = types.Content(role="model", parts=[*text, *calls])
        yield LlmResponse(content=content, partial=False, finish_reason=types.FinishReason.STOP)


def _messages(request: LlmRequest) -> Iterator[Message]:
    if request.config.system_instruction:
        yield Message("system", str(request.config.system_instruction))
    for content in request.contents:
        for part in content.parts or []:
            if part.function_response is not None:
                yield Message("tool", str(part.function_response.response))
            elif part.text:
                yield Message("model" if content.role == "model" else "user", part.text)


class _Summarizer(BaseEventsSummarizer):
    def __init__(self) -> None:
        """Not the base's own, which warns that it is experimental."""

    async def maybe_summarize_events(self, *, events: list[Event]) -> Event | None:
        said = types.Content(role="model", parts=[types.Part(text="They talked.")])
        compaction = EventCompaction(
            start_timestamp=events[0].timestamp,
            end_timestamp=events[-1].timestamp,
            compacted_content=said,
        )
        return Event(author="user", actions=EventActions(compaction=compaction))


class _Delegate(AgentTool):
    """A tool that runs the helper."""

    async def run_async(self, *, args: dict[str, Any], tool_context: ToolContext) -> Any:
        with warnings.catch_warnings(action="ignore"):  # ADK warns of its own way to make a runner
            return await super().run_async(args=args, tool_context=tool_context)


async def run(run: Run) -> None:
    plugin = HooklinePlugin(run.hooks)
    compaction = None
    if run.compresses:
        summarizer = HookedSummarizer(_Summarizer(), hooks=plugin)
        with warnings.catch_warnings(action="ignore"):  # it is experimental
            compaction = EventsCompactionConfig(
                summarizer=summarizer, compaction_interval=2, overlap_size=0
            )
    is_async = "async" in run.mode
    tools: list[Any] = [tool.coroutine if is_async else tool.function for tool in run.tools]
    if run.delegates:
        delegate = _Delegate(LlmAgent(name=HELPER, model=_Model(run=run), tools=[*tools]))
        delegate.name = DELEGATE
        tools.append(delegate)
    root = LlmAgent(name="root", model=_Model(run=run), tools=tools)
    app = App(name="table", root_agent=root, plugins=[plugin], events_compaction_config=compaction)
    service = InMemorySessionService()
    runner = Runner(app=app, session_service=service)
    await service.create_session(app_name="table", user_id="u", session_id=run.session_id)
    async with runner:
        for prompt in run.prompts:
            message = types.Content(role="user", parts=[types.Part(text=prompt)])
            text, asked = await _play(run, runner, message)
            while asked:
                parts = [_answer(run, call) for call in asked]
                text, asked = await _play(run, runner, types.Content(role="user", parts=parts))
            run.finish(text)


def _answer(run: Run, call: types.FunctionCall) -> types.Part:
    args = call.args or {}
    hint = args["toolConfirmation"]["hint"]
    is_approved = run.approve(f"{args['originalFunctionCall']['name']}: {hint}")
    response = types.FunctionResponse(
        id=call.id, name=call.name, response={"confirmed": is_approved}
    )
    return types.Part(function_response=response)


async def _play(
    run: Run, runner: Runner, message: types.Content
) -> tuple[str, list[types.FunctionCall]]:
    mode = StreamingMode.SSE if run.streams else StreamingMode.NONE
    config = RunConfig(streaming_mode=mode)
    given: Any = {"user_id": "u", "session_id": run.session_id, "new_message": message}
    if "run_async" not in run.mode:
        events = await asyncio.to_thread(lambda: [*runner.run(run_config=config, **given)])
    else:
        events = [event async for event in runner.run_async(run_config=config, **given)]
    answer, asked = "", list[types.FunctionCall]()
    has_pieces = False
    for event in events:
        text = "".join(part.text or "" for part in (event.content and event.content.parts) or [])
        # The whole of what came in pieces is no further piece.
        if text and not (has_pieces and not event.partial):
            run.show(text)
        has_pieces = bool(event.partial)
        if text and event.is_final_response():
            answer = text
        asked += [c for c in event.get_function_calls() if c.name == "adk_request_confirmation"]
    return answer, asked


HARNESS = Harness(
    name="adk",
    title="ADK 2.13",
    modes=("run", "run_async", "run, stream", "run_async, stream"),
    delegates=True,
    limits={
        "ask": Limit("✓", note="request_confirmation"),
        "BeforeAgent block": Limit(
            "◐",
            note="a placeholder stays",
            why="the session keeps an event that says that a prompt was refused, and its refusal, "
            "which no model reads",
        ),
        "AfterAgent send back": Limit(
            "◐",
            note="root LlmAgent",
            why="of a workflow, or a sequence of agents, only the run's end tells the last answer",
        ),
        "SessionStart": Limit(
            "◐", note="first use", why="a session begins with its first run in this process"
        ),
        "SessionEnd": Limit(
            "◐", note="close()", why="ADK does not know that a conversation is over"
        ),
        "PreCompress": Limit("✓", note="HookedSummarizer"),
    },
    run=run,
)
