"""A model of Strands that answers from a script, in chunks."""

import json
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

import msgspec
from strands.models import Model

from tests.kit.adapters import Call, Message, Reply

_USAGE = {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2}


class Sent(msgspec.Struct, frozen=True):
    """What reached the model."""

    messages: list[Any]
    tools: list[str]
    system: str
    choice: Any

    def read(self) -> list[Message]:
        """The texts of the messages, and of the system prompt."""
        read = [Message("system", self.system)] if self.system else []
        for message in self.messages:
            for block in message["content"]:
                if "text" in block:
                    role = "user" if message["role"] == "user" else "model"
                    read.append(Message(role, block["text"]))
                elif "toolResult" in block:
                    read.append(Message("tool", json.dumps(block["toolResult"]["content"])))
        return read


class ScriptedModel(Model):
    """Says what ``reply`` returns, a text in the pieces of ``Reply``."""

    def __init__(self, reply: Callable[[Sent], Reply]) -> None:
        self._reply = reply

    @classmethod
    def saying(cls, *replies: Reply | str) -> "tuple[ScriptedModel, list[Sent]]":
        """A model with a script, and the list of what it is sent."""
        sent: list[Sent] = []
        script = iter(replies)

        def reply(given: Sent) -> Reply:
            sent.append(given)
            said = next(script)
            return Reply(said) if isinstance(said, str) else said

        return cls(reply), sent

    def update_config(self, **_config: Any) -> None:
        """Take no settings."""

    def get_config(self) -> Any:
        return {"model_id": "scripted", "temperature": 0.5}

    def structured_output(self, *_args: Any, **_options: Any) -> Any:
        raise NotImplementedError

    async def stream(
        self,
        messages: Any,
        tool_specs: Any = None,
        system_prompt: str | None = None,
        *,
        tool_choice: Any = None,
        **_options: Any,
    ) -> AsyncIterator[Any]:
        names = [spec["name"] for spec in tool_specs or ()]
        reply = self._reply(Sent(list(messages), names, system_prompt or "", tool_choice))
        yield {"messageStart": {"role": "assistant"}}
        if reply.text:
            yield {"contentBlockStart": {"start": {}}}
            for piece in reply.pieces:
                yield {"contentBlockDelta": {"delta": {"text": piece}}}
            yield {"contentBlockStop": {}}
        for call in reply.calls:
            start = {"toolUse": {"name": call.name, "toolUseId": call.id or call.name}}
            yield {"contentBlockStart": {"start": start}}
            yield {"contentBlockDelta": {"delta": {"toolUse": {"input": json.dumps(call.args)}}}}
            yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "tool_use" if reply.calls else "end_turn"}}
        yield {"metadata": {"usage": _USAGE, "metrics": {"latencyMs": 1}}}


def call(name: str, id: str = "", **args: Any) -> Reply:
    """A reply that calls one tool."""
    return Reply(calls=(Call(name, args, id),))


def read_message(message: Any) -> str:
    """The text of a message."""
    content: Sequence[Any] = message["content"]
    return "".join(block.get("text", "") for block in content)
