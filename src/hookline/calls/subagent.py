"""A sub-agent between its start and its end, for hooks of dialects that have events for these, and
the name of a model's failure in their words."""

import uuid
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias

import msgspec

from hookline.pipeline.answer import Answer, most_sent_back

# Fires an event by name, what its matchers are compared with, and its fields; None if no hook
# would answer it.
FireExtra: TypeAlias = Callable[[str, str, Mapping[str, Any]], Awaitable[Answer | None]]

_STATUS_NAMES = {
    400: "invalid_request",
    401: "authentication_failed",
    402: "billing_error",
    403: "authentication_failed",
    404: "model_not_found",
    429: "rate_limit",
    529: "overloaded",
}


class SubagentEnd(msgspec.Struct, frozen=True):
    """What to do at the end of a sub-agent: ``send_back`` is its next prompt, where hooks want it
    to go on; ``stop`` why the loop should end."""

    send_back: str | None = None
    stop: str | None = None


class SubagentGate:
    """A sub-agent from SubagentStart to SubagentStop, and further if hooks send it back."""

    def __init__(
        self, fire: FireExtra, name: str, agent_id: str | None = None, *, sent_back: int = 0
    ) -> None:
        self._fire = fire
        self._agent = {"agent_id": agent_id or make_agent_id(), "agent_type": name}
        self._sent_back = sent_back

    async def open(self) -> list[str]:
        """Fire SubagentStart; return the texts for the sub-agent's model to read."""
        answer = await self._fire("SubagentStart", self._agent["agent_type"], self._agent)
        return [] if answer is None else answer.texts_for_model

    async def close(self, text: str, *, transcript_path: str = "") -> SubagentEnd:
        """Fire SubagentStop with what the sub-agent answered. Hooks can send it back a few times at
        most."""
        fields = {
            "stop_hook_active": self._sent_back > 0,
            **self._agent,
            "agent_transcript_path": transcript_path,
            "last_assistant_message": text,
        }
        answer = await self._fire("SubagentStop", self._agent["agent_type"], fields)
        if answer is None or answer.stopped:
            return SubagentEnd(stop=None if answer is None else answer.reason or "")
        if answer.send_back is None or self._sent_back >= most_sent_back():
            return SubagentEnd()
        self._sent_back += 1
        return SubagentEnd(send_back=answer.send_back)


def make_agent_id() -> str:
    """Make an id for a sub-agent whose framework has none."""
    return f"agent-{uuid.uuid4().hex[:12]}"


def name_model_error(error: BaseException) -> str:
    """Return what kind of failure ended a turn, by the status that a model's API answered with."""
    status = getattr(error, "status_code", None) or getattr(error, "code", None)
    if not isinstance(status, int):
        return "unknown"
    return _STATUS_NAMES.get(status, "server_error" if status >= 500 else "unknown")
