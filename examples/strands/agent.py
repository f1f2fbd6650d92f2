"""An agent of Strands' with the hooks of this folder; a fake model, so that it runs offline."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from strands import Agent, tool
from strands.models import Model

from hookline import Hooks
from hookline.adapters.strands import HooklinePlugin


class FakeModel(Model):
    """Says what it was given to say, a command as a call of ``shell``; a real one is a line like
    ``BedrockModel()``."""

    def __init__(self, *replies: str | dict[str, str]) -> None:
        self._replies = iter(enumerate(replies))

    async def stream(self, *_args: Any, **_options: Any) -> AsyncIterator[Any]:
        """The next reply, as Strands' models stream it."""
        number, reply = next(self._replies)
        yield {"messageStart": {"role": "assistant"}}
        if isinstance(reply, str):
            yield {"contentBlockDelta": {"delta": {"text": reply}}}
        else:
            call = {"name": "shell", "toolUseId": f"call-{number}"}
            yield {"contentBlockStart": {"start": {"toolUse": call}}}
            yield {"contentBlockDelta": {"delta": {"toolUse": {"input": json.dumps(reply)}}}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "end_turn" if isinstance(reply, str) else "tool_use"}}

    def structured_output(self, *_args: Any, **_options: Any) -> Any:
        """It has none."""

    def update_config(self, **_config: Any) -> None:
        """It has no settings."""

    def get_config(self) -> Any:
        """It has no settings."""


@tool
def shell(command: str) -> str:
    """Run a command."""
    return f"output of {command}"


def main() -> None:
    """One turn: a call that is denied, one that is asked about, and a redacted answer."""
    model = FakeModel({"command": "git push --force"}, {"command": "rm -r build"}, ANSWER)
    # You wrote these hooks, so they are trusted; in a project of others, "hookline trust" asks.
    hooks = Hooks.load(Path(__file__).parent, trusted=True)
    with HooklinePlugin(hooks) as plugin, hooks:
        agent = Agent(model, tools=[shell], plugins=[plugin], callback_handler=None)
        result = agent("Push, and clean up.")
        answers: list[Any] = []
        for question in result.interrupts or ():
            print(
                f"asked: {question.reason['tool_input']['command']} ({question.reason['reason']})"
            )
            answer = {"interruptId": question.id, "response": True}
            answers.append({"interruptResponse": answer})
        agent(answers)
    for message in agent.messages:
        for block in message["content"]:
            if "toolResult" in block:
                print(f"tool: {block['toolResult']['content'][0]['text']}")
            elif "text" in block:
                print(f"{message['role']}: {block['text']}")


ANSWER = "Ask jane@example.org about the push. The build is gone."

if __name__ == "__main__":
    main()
