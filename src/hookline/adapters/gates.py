"""The gates of adapters that are not written on ``hookline.adapters.steps`` yet; the last of them
takes this file with it."""

import msgspec

from hookline.adapters.conversations import Conversation as Conversation
from hookline.adapters.conversations import Conversations as Conversations
from hookline.adapters.conversations import Given as Given
from hookline.adapters.conversations import check_version as check_version
from hookline.adapters.steps import CallKey as CallKey
from hookline.adapters.steps import TurnStart as TurnStart
from hookline.adapters.steps import announce_question as announce_question
from hookline.adapters.steps import complete as complete
from hookline.adapters.steps import describe_refused_call as describe_refused_call
from hookline.adapters.steps import key_call as key_call
from hookline.adapters.steps import split_json as split_json
from hookline.adapters.steps import write_input as write_input
from hookline.calls.model import ModelGate as ModelGate
from hookline.calls.model import ModelOutcome as ModelOutcome
from hookline.calls.tool import ToolGate as ToolGate
from hookline.calls.tool import ToolOutcome as ToolOutcome
from hookline.hooks import Face
from hookline.pipeline.answer import most_sent_back


class TurnEnd(msgspec.Struct, frozen=True, kw_only=True):
    """What to do at the end of a turn: ``send_back`` is the next prompt, where hooks want the
    agent to go on; ``stop`` why the loop should end; ``clear_context`` says that the conversation
    so far is to be forgotten. ``texts`` are for the model to read with its next request."""

    send_back: str | None = None
    stop: str | None = None
    clear_context: bool = False
    texts: tuple[str, ...] = ()


class TurnGate:
    """A turn from BeforeAgent to AfterAgent, and the turns that follow when hooks send it back."""

    def __init__(self, conversation: Conversation, prompt: str, *, sent_back: int = 0) -> None:
        self._conversation = conversation
        self.prompt = prompt
        self.sent_back = sent_back

    async def open(self, face: Face) -> TurnStart:
        """Fire SessionStart if this is the first turn, then BeforeAgent."""
        await self._conversation.start(face)
        before = await face.before_agent(self.prompt)
        if before.blocked:
            return TurnStart(refusal=before.reason or "", stop=before.stopped)
        return TurnStart(texts=(*self._conversation.take(), *before.texts_for_model))

    async def close(self, face: Face, text: str) -> TurnEnd:
        """Fire AfterAgent with what the agent answered. Hooks can send a turn back a few times
        at most; after that the user is warned, and the turn ends."""
        after = await face.after_agent(self.prompt, text, stop_hook_active=self.sent_back > 0)
        send_back = stop = None
        if after.stopped:
            stop = after.reason or ""
        elif after.send_back is not None and self.sent_back >= most_sent_back():
            face.warn(
                f"AfterAgent hooks sent the turn back {self.sent_back} times; it ends here: "
                f"{after.send_back}"
            )
        elif after.send_back is not None:
            self.sent_back += 1
            self.prompt = send_back = after.send_back
        return TurnEnd(
            send_back=send_back,
            stop=stop,
            clear_context=after.clear_context,
            texts=(f"[System] {after.message}",) if after.message else (),
        )
