"""A Messages API on loopback, which plays what the model says, and a clean environment for the
command line that the SDK brings along."""

import json
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from tests.harness.loopback import LoopbackServer
from tests.kit.adapters import Call, Message, Reply

_SUMMARIZE = "Your task is to create a detailed summary"


class MessagesApi(LoopbackServer):
    """``reply(messages, tools)`` is asked for what the model says to each request. Requests for a
    summary of the history have an answer of their own."""

    def __init__(self, reply: Callable[[Sequence[Message], Sequence[str]], Reply]) -> None:
        super().__init__()
        self._reply = reply
        self._calls = 0

    def answer(self, body: Any, path: str) -> Any:
        if not path.startswith("/v1/messages") or "count_tokens" in path:
            return {"input_tokens": 1}
        messages = [*read_messages(body)]
        if any(_SUMMARIZE in message.text for message in messages):
            reply = Reply("<summary>They talked.</summary>")
        else:
            reply = self._reply(messages, [tool["name"] for tool in body.get("tools", ())])
        blocks = [*self._make_blocks(reply)]
        reason = "tool_use" if reply.calls else "end_turn"
        message = {
            "id": f"msg_{len(self.bodies)}",
            "type": "message",
            "role": "assistant",
            "model": body["model"],
            "content": blocks,
            "stop_reason": reason,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }
        return [*_stream(message, reply)] if body.get("stream") else message

    def _make_blocks(self, reply: Reply) -> Iterator[dict[str, Any]]:
        if reply.text:
            yield {"type": "text", "text": reply.text}
        for call in reply.calls:
            self._calls += 1
            id = f"toolu_{self._calls:04}"
            yield {"type": "tool_use", "id": id, "name": call.name, "input": call.args}


def _stream(message: dict[str, Any], reply: Reply) -> Iterator[dict[str, Any]]:
    yield {"type": "message_start", "message": {**message, "content": [], "stop_reason": None}}
    for index, block in enumerate(message["content"]):
        if block["type"] == "text":
            start: dict[str, Any] = {"type": "text", "text": ""}
            deltas = [{"type": "text_delta", "text": piece} for piece in reply.pieces]
        else:
            start = {**block, "input": {}}
            deltas = [{"type": "input_json_delta", "partial_json": json.dumps(block["input"])}]
        yield {"type": "content_block_start", "index": index, "content_block": start}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    ending = {"stop_reason": message["stop_reason"]}
    yield {"type": "message_delta", "delta": ending, "usage": {"output_tokens": 1}}
    yield {"type": "message_stop"}


def read_messages(body: Any) -> Iterator[Message]:
    """What the model was sent, but for what Claude Code itself says to it."""
    roles = {"user": "user", "assistant": "model", "system": "system"}
    for message in body["messages"]:
        content = message["content"]
        for block in [{"type": "text", "text": content}] if isinstance(content, str) else content:
            if block["type"] == "text":
                yield Message(roles[message["role"]], block["text"])
            elif block["type"] == "tool_result":
                yield Message("tool", read_result(block["content"]))


def read_result(content: Any) -> str:
    if isinstance(content, str) or content is None:
        return content or ""
    return "\n".join(block["text"] for block in content if block["type"] == "text")


def say(*replies: str | Reply) -> Callable[[Sequence[Message], Sequence[str]], Reply]:
    """A model that says these, one after the other, and then that there is nothing more."""
    left = iter(replies)

    def reply(_messages: Sequence[Message], _tools: Sequence[str]) -> Reply:
        said = next(left, "Nothing.")
        return Reply(said) if isinstance(said, str) else said

    return reply


def call(name: str, **args: Any) -> Reply:
    """A tool call."""
    return Reply(calls=(Call(name, args),))


def clean_environment(api: MessagesApi, home: Path) -> dict[str, str]:
    """Nothing of this machine's Claude Code, and nobody else to talk to than the loopback."""
    inherited = (name for name in os.environ if name.startswith(("ANTHROPIC", "CLAUDE")))
    return {
        **dict.fromkeys(inherited, ""),
        "HOME": str(home),
        "CLAUDE_CONFIG_DIR": str(home / ".claude"),
        "ANTHROPIC_BASE_URL": api.url,
        "ANTHROPIC_API_KEY": "none",
        "DISABLE_TELEMETRY": "1",
        "DISABLE_ERROR_REPORTING": "1",
        "DISABLE_AUTOUPDATER": "1",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        # Root may then use every permission mode.
        "IS_SANDBOX": "1",
    }
