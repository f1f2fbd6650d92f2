"""Plays a conversation with the real command line, and keeps what a program and the model saw."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from claude_agent_sdk import (
    ClaudeAgentOptions,
    ClaudeSDKClient,
    ResultMessage,
    SystemMessage,
    ToolResultBlock,
    UserMessage,
)

from hookline import Hooks
from hookline.adapters.claude_agent import hooked
from tests.adapters.claude_agent.messages import (
    MessagesApi,
    clean_environment,
    read_result,
    say,
)
from tests.kit.adapters import Message, Reply

Event = dict[str, Any]


class Played:
    """``requests`` is what the model was sent, each time; ``seen`` all messages of the program's;
    ``notices`` what Claude Code told the user; ``results`` the final texts."""

    def __init__(self) -> None:
        self.requests: list[list[Message]] = []
        self.seen: list[Any] = []
        self.session_id = ""

    @property
    def results(self) -> list[str]:
        return [m.result or "" for m in self.seen if isinstance(m, ResultMessage)]

    @property
    def notices(self) -> list[str]:
        told = (m.data for m in self.seen if isinstance(m, SystemMessage))
        return [data["content"] for data in told if data.get("subtype") == "informational"]

    @property
    def tool_results(self) -> list[str]:
        blocks = [
            block
            for message in self.seen
            if isinstance(message, UserMessage) and not isinstance(message.content, str)
            for block in message.content
        ]
        return [read_result(b.content) for b in blocks if isinstance(b, ToolResultBlock)]

    def sent(self, number: int = -1, role: str | None = None) -> str:
        return "\n".join(m.text for m in self.requests[number] if role in (None, m.role))


async def play(
    home: Path,
    hooks: Any,
    replies: Sequence[str | Reply],
    *,
    prompts: Sequence[str] = ("Go on.",),
    rules: dict[str, Any] | None = None,
    options: dict[str, Any] | None = None,
    hooking: dict[str, Any] | None = None,
) -> Played:
    """Talk with an agent in ``home``; ``rules`` are Claude Code's own permissions."""
    played, reply = Played(), say(*replies)

    def note(messages: Any, tools: Any) -> Reply:
        played.requests.append([*messages])
        return reply(messages, tools)

    # Beside the project, so that no tool finds what Claude Code keeps there.
    own = home.with_name(f"{home.name}-home")
    own.mkdir(exist_ok=True)
    with MessagesApi(note) as api:
        made = ClaudeAgentOptions(
            **{
                "cwd": home,
                "env": clean_environment(api, own),
                "tools": ["Bash", "Read", "Write", "Edit", "Glob", "Grep"],
                "settings": json.dumps({"permissions": rules or {}}),
                "setting_sources": [],
                "system_prompt": "You are a clerk.",
                **(options or {}),
            }
        )
        guarded = hooked(made, hooks, **(hooking or {}))
        async with ClaudeSDKClient(guarded) as client:
            for prompt in prompts:
                await client.query(prompt)
                async for message in client.receive_response():
                    played.seen.append(message)
                    if isinstance(message, ResultMessage):
                        played.session_id = message.session_id
    return played


def note(hooks: Hooks, *events: str) -> list[Event]:
    """The events of these names that hooks are given from now on."""
    noted: list[Event] = []
    for event in events:
        hooks.on(event)(noted.append)
    return noted
