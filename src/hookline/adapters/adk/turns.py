"""A turn of a conversation: BeforeAgent with the user's message, AfterAgent with the answer.

A prompt that hooks refuse is not stored, and what stands in its place is rewound, so that no model
reads it. To send an agent back, its answer is made to look unfinished to ADK's own loop.
"""

from google.adk.agents.base_agent import BaseAgent
from google.adk.agents.invocation_context import InvocationContext
from google.adk.agents.llm_agent import LlmAgent
from google.adk.events.event import Event
from google.adk.events.event_actions import EventActions
from google.adk.models.llm_request import LlmRequest
from google.genai import types

from hookline.adapters.adk.runs import MARK, Run, read_marks, show_text
from hookline.adapters.gates import TurnGate
from hookline.wire.events import SessionStartSource

_FORGOTTEN = "[A hook refused this prompt.]"
_UNFINISHED = types.Part(
    code_execution_result=types.CodeExecutionResult(outcome=types.Outcome.OUTCOME_OK)
)


def read_prompt(content: types.Content) -> str | None:
    """The text of a user's message; None for one that only answers what the agent waits for."""
    parts = content.parts or []
    text = "\n\n".join(part.text for part in parts if part.text)
    if not text and any(part.function_response for part in parts):
        return None
    return text


async def begin_turn(run: Run, context: InvocationContext, prompt: str | None) -> None:
    """Fire SessionStart with the first turn, and BeforeAgent if the turn is a new one."""
    run.is_open = True
    events = context.session.events
    is_known = any(event.author != "user" for event in events)
    source = SessionStartSource.RESUME if is_known else SessionStartSource.STARTUP
    await run.conversation.start(run.face, source)
    own = [event for event in events if event.invocation_id == context.invocation_id]
    if prompt is None:
        sent_back = sum(bool(read_marks(event).get("sent_back")) for event in own)
        first = next((event for event in own if event.author == "user"), None)
        text = show_text(first.content if first is not None else context.user_content)
        run.turn = TurnGate(run.conversation, text, sent_back=sent_back)
        return
    run.turn = TurnGate(run.conversation, prompt)
    start = await run.turn.open(run.face)
    if start.refusal is None:
        run.texts = start.texts
        return
    run.turn = None
    run.refusal = start.refusal
    run.forgets_prompt = not start.stop
    # A message can join a task of an earlier run, which must not be rewound with it.
    run.rewinds_prompt = run.forgets_prompt and all(event.author == "user" for event in own)


def forget_prompt(run: Run) -> types.Content | None:
    """What is stored in the place of a prompt that hooks refused."""
    if not run.forgets_prompt:
        return None
    return say_as_user(_FORGOTTEN)


async def add_texts(run: Run, context: InvocationContext) -> None:
    """Put what hooks say beside the prompt into the session."""
    texts, run.texts = run.texts, ()
    if texts:
        await append(context, say_as_user("\n\n".join(texts)), {"context": True})


async def end_turn(run: Run, event: Event, text: str) -> Event | None:
    """Fire AfterAgent with an answer; the event in the place of the agent's own where hooks send
    it back, and the agent's own is marked as unfinished."""
    if not await _close(run, text):
        return None
    content = event.content
    assert content is not None
    shown = content.model_copy(update={"parts": [*(content.parts or [])]})
    content.parts = [*(content.parts or []), _UNFINISHED]
    return event.model_copy(update={"content": shown})


async def end_run(run: Run, context: InvocationContext) -> None:
    """Fire AfterAgent where no answer could be told from others before the run was over."""
    is_over = run.turn is not None and not run.is_paused
    if is_over and run.answer is not None and await _close(run, run.answer):
        run.face.warn(
            "AfterAgent hooks sent the turn back, which is possible for agents of a root "
            f"LlmAgent alone: {run.send_back}"
        )
    if run.clears_context and context.session.events:
        await _clear(context)


async def _close(run: Run, text: str) -> bool:
    """Fire AfterAgent; True if hooks want the agent to go on."""
    assert run.turn is not None
    run.answer = None
    end = await run.turn.close(run.face, text)
    for kept in end.texts:
        run.conversation.keep(kept)
    run.clears_context = end.clear_context
    run.send_back = end.send_back if run.stop is None else None
    return run.send_back is not None


async def go_on(run: Run, context: InvocationContext, request: LlmRequest) -> None:
    """Put what hooks sent back to the agent into its next request, and into the session."""
    assert run.send_back is not None
    text, run.send_back = run.send_back, None
    if run.clears_context:
        run.clears_context = False
        request.contents = []
        await _clear(context)
    content = say_as_user(text)
    await append(context, content, {"sent_back": True})
    request.contents = [*request.contents, content]


def say_as_user(text: str) -> types.Content:
    """A text as the user would write it."""
    return types.Content(role="user", parts=[types.Part(text=text)])


async def append(
    context: InvocationContext, content: types.Content, marks: dict[str, bool]
) -> None:
    """Put a message into the session."""
    event = Event(
        invocation_id=context.invocation_id,
        author="user",
        branch=context.branch,
        content=content,
        custom_metadata={MARK: marks},
    )
    assert context.session_service is not None
    await context.session_service.append_event(session=context.session, event=event)


async def _clear(context: InvocationContext) -> None:
    """Have no model read what the session holds so far."""
    first = context.session.events[0].invocation_id
    event = Event(
        invocation_id=context.invocation_id,
        author="user",
        actions=EventActions(rewind_before_invocation_id=first),
    )
    await context.session_service.append_event(session=context.session, event=event)


def is_chat_agent(context: InvocationContext, name: str) -> bool:
    """Whether an agent of this name talks to the user: the root, or one it was transferred to."""
    running = context.agent
    if not isinstance(running, BaseAgent):
        return False
    agent = running.root_agent.find_agent(name)
    if agent is None:
        return False
    while agent is not None:
        if not isinstance(agent, LlmAgent) or agent.mode not in (None, "chat"):
            return False
        agent = agent.parent_agent
    return True
