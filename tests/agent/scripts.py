"""Shell commands that answer as a hook does, and an agent to try them on."""

import json
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hookline import Config
from hookline.agent import Agent, ScriptedProvider, Tool, Turn


def say(output: dict[str, Any]) -> str:
    """A command that prints an answer."""
    return f"printf '%s' {shlex.quote(json.dumps(output))}"


def specific(**fields: Any) -> str:
    """A command that prints an event-specific answer."""
    return say({"hookSpecificOutput": fields})


def hooks(event: str, *commands: str, matcher: str | None = None, **fields: Any) -> dict[str, Any]:
    """Settings with these commands on one event."""
    entries = [
        {"type": "command", "name": f"{event}-{number}", "command": command, **fields}
        for number, command in enumerate(commands)
    ]
    definition: dict[str, Any] = {"hooks": entries}
    if matcher is not None:
        definition["matcher"] = matcher
    return {event: [definition]}


class Bench:
    """An agent with one tool, ``note``, that keeps what it was called with."""

    def __init__(self, settings: dict[str, Any], replies: Sequence[Any], **options: Any) -> None:
        self.notes: list[Any] = []
        self.shown: list[str] = []
        self.provider = ScriptedProvider(replies)
        tools = [
            Tool(name="note", run=self._note),
            Tool(name="other", run=lambda given: f"other {given}"),
            *options.pop("tools", ()),
        ]
        self.config = Config(working_dir=Path.cwd(), hooks=settings)
        self.agent = Agent(self.config, self.provider, tools, show=self._show, **options)

    async def run(self, *prompts: str) -> Any:
        async with self.agent as agent:
            results = [await agent.run(prompt) for prompt in prompts or ("go",)]
        return results[-1]

    @property
    def history(self) -> list[Turn]:
        return self.agent.chat.history

    def sent(self, call: int = -1) -> str:
        """Everything the model was sent in one call, as text."""
        return json.dumps(self.provider.requests[call], ensure_ascii=False)

    def _note(self, given: dict[str, Any]) -> str:
        self.notes.append(given)
        return f"noted {given.get('text')}"

    def _show(self, response: Any) -> None:
        text = self.provider.conversation.text(response)
        if text:
            self.shown.append(text)
