"""A turn of a conversation: BeforeAgent with the user's message, AfterAgent with the answer; for a
sub-agent its start and its end.

A prompt that hooks refuse is not stored, and the note stored in its place is rewound, so no model
reads it. To send an agent back, its answer is made to look unfinished to ADK's own loop.
"""

from collections.abc import Sequence

from google.adk.agents.base_agent import BaseAgent
from google.adk.agents.invocation_context import InvocationContext
from google.adk.agents.llm_agent import LlmAgent
from google.adk.events.event import Event
from google.adk.events.event_actions import EventActions
from google.adk.models.llm_request import LlmRequest
from google.genai import types

from hookline.adapters.adk.runs import (
    MARK,
    Run,
    Subagent,
    name_turn,
    read_marks,
    show_text,
)
from hookline.wire.events import SessionStartSource

_FORGOTTEN = "[A hook refused this prompt.]"
_UNFINISHED = types.Part(
    code_execution_result=types.CodeExecutionResult(outcome=types.Outcome.OUTCOME_OK)
)


async def begin_turn(
    run: Run, context: InvocationContext, prompt: str | None, events: Sequence[Event]
) -> None:
    """Begin with the user's prompt, after these events of the session; with None the turn goes
    on."""
    run.is_open = True
    is_known = any(event.author != "user" for event in events)
    await run.start(SessionStartSource.RESUME if is_known else SessionStartSource.STARTUP)
    run_id = context.invocation_id
    if not run.is_subagent:
        run.turn_id = name_turn(events, run_id, is_new=prompt is not None)
    own = [event for event in events if event.invocation_id == run_id]
    if prompt is None:
        sent_back = sum(bool(read_marks(event).get("sent_back")) for event in own)
        first = next((event for event in own if event.author == "user"), None)
        text = show_text(first.content if first is not None else context.user_content)
        await run.open_turn(text, goes_on=True, sent_back=sent_back)
        return
    start = await run.open_turn(prompt)
    run.texts = start.texts
    if start.refusal is not None:
        run.rejection = start.refusal
        run.forgets_prompt = not start.stop
        # A message can continue a task of an earlier run, which must not be rewound with it.
        run.rewinds_prompt = run.forgets_prompt and all(event.author == "user" for event in own)


async def begin_subagent(state: Subagent, events: Sequence[Event], branch: str | None) -> None:
    """Fire SubagentStart, unless the agent goes on after it has waited for the user."""
    name = state.agent.name
    goes_on = any(event.author == name and event.branch == branch for event in events)
    for text in (await state.open_turn("", goes_on=goes_on)).texts:
        state.keep(text)


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
    """End the turn with an answer. If hooks send the agent back, mark its event as unfinished, and
    return the event to show instead."""
    if not await _close_turn(run, text):
        return None
    content = event.content
    assert content is not None
    shown = content.model_copy(update={"parts": [*(content.parts or [])]})
    content.parts = [*(content.parts or []), _UNFINISHED]
    return event.model_copy(update={"content": shown})


async def end_single_turn(state: Subagent, text: str) -> None:
    """Fire SubagentStop for an agent whose first answer ADK takes for the result."""
    end = await state.close_turn(text)
    if end.send_back is not None:
        state.face.warn(
            f"SubagentStop hooks sent {state.agent.name} back, but ADK takes the first answer of "
            f"an agent in single_turn mode; use an AgentTool instead: {end.send_back}"
        )


async def end_run(run: Run, context: InvocationContext) -> None:
    """End the turn if no answer was known to be the last before the run was over."""
    if not run.is_paused and run.answer is not None and await _close_turn(run, run.answer):
        run.face.warn(
            "AfterAgent hooks sent the turn back, but ADK can only do that for a root LlmAgent "
            f"and its sub-agents; the turn ends: {run.next_prompt}"
        )
    if run.clears_context and context.session.events:
        await _clear_history(context)


async def _close_turn(run: Run, text: str) -> bool:
    """Fire the end of a turn; return True if hooks want the agent to go on."""
    run.answer = None
    end = await run.close_turn(text)
    run.clears_context, run.next_prompt = end.clear_context, end.send_back
    return end.send_back is not None


async def go_on(run: Run, context: InvocationContext, request: LlmRequest) -> None:
    """Add the prompt that hooks sent back to the next request and to the session."""
    assert run.next_prompt is not None
    content, run.next_prompt = say_as_user(run.next_prompt), None
    if run.clears_context:
        run.clears_context = False
        request.contents = []
        await _clear_history(context)
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
