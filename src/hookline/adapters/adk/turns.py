"""A turn of a conversation: BeforeAgent with the user's message, AfterAgent with the answer.

A prompt that hooks refuse is not stored, and the note stored in its place is rewound, so no model
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
    """Return the text of a user's message; None for one that holds only function responses."""
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
    # A message can continue a task of an earlier run, which must not be rewound with it.
    run.rewinds_prompt = run.forgets_prompt and all(event.author == "user" for event in own)


def forget_prompt(run: Run) -> types.Content | None:
    """Return what to store in place of a prompt that hooks refused."""
    if not run.forgets_prompt:
        return None
    return say_as_user(_FORGOTTEN)


async def add_texts(run: Run, context: InvocationContext) -> None:
    """Add what hooks say beside the prompt to the session."""
    texts, run.texts = run.texts, ()
    if texts:
        await append(context, say_as_user("\n\n".join(texts)), {"context": True})


async def end_turn(run: Run, event: Event, text: str) -> Event | None:
    """Fire AfterAgent with an answer. If hooks send the agent back, mark its event as unfinished,
    and return the event to show instead."""
    if not await _fire_after_agent(run, text):
        return None
    content = event.content
    assert content is not None
    shown = content.model_copy(update={"parts": [*(content.parts or [])]})
    content.parts = [*(content.parts or []), _UNFINISHED]
    return event.model_copy(update={"content": shown})


async def end_run(run: Run, context: InvocationContext) -> None:
    """Fire AfterAgent if no answer was known to be the last before the run was over."""
    is_over = run.turn is not None and not run.is_paused
    if is_over and run.answer is not None and await _fire_after_agent(run, run.answer):
        run.face.warn(
            "AfterAgent hooks sent the turn back, but ADK can only do that for a root LlmAgent "
            f"and its sub-agents; the turn ends: {run.send_back}"
        )
    if run.clears_context and context.session.events:
        await _clear_history(context)


async def _fire_after_agent(run: Run, text: str) -> bool:
    """Fire AfterAgent; return True if hooks want the agent to go on."""
    assert run.turn is not None
    run.answer = None
    end = await run.turn.close(run.face, text)
    for kept in end.texts:
        run.conversation.keep(kept)
    run.clears_context = end.clear_context
    run.send_back = end.send_back if run.stop is None else None
    return run.send_back is not None


async def go_on(run: Run, context: InvocationContext, request: LlmRequest) -> None:
    """Add the prompt that hooks sent back to the next request and to the session."""
    assert run.send_back is not None
    text, run.send_back = run.send_back, None
    if run.clears_context:
        run.clears_context = False
        request.contents = []
        await _clear_history(context)
    content = say_as_user(text)
    await append(context, content, {"sent_back": True})
    request.contents = [*request.contents, content]


def say_as_user(text: str) -> types.Content:
    """Make a user's message of a text."""
    return types.Content(role="user", parts=[types.Part(text=text)])


async def append(
    context: InvocationContext, content: types.Content, marks: dict[str, bool]
) -> None:
    """Add a message to the session."""
    event = Event(
        invocation_id=context.invocation_id,
        author="user",
        branch=context.branch,
        content=content,
        custom_metadata={MARK: marks},
    )
    assert context.session_service is not None
    await context.session_service.append_event(session=context.session, event=event)


async def _clear_history(context: InvocationContext) -> None:
    """Rewind the session, so that no model reads what it holds so far."""
    first = context.session.events[0].invocation_id
    event = Event(
        invocation_id=context.invocation_id,
        author="user",
        actions=EventActions(rewind_before_invocation_id=first),
    )
    await context.session_service.append_event(session=context.session, event=event)


def is_chat_agent(context: InvocationContext, name: str) -> bool:
    """True if an agent of this name talks to the user: the root, or one it can transfer to."""
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
