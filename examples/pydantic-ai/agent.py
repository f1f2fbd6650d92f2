"""A clerk of Pydantic AI whose mail and answers go through the hooks of this folder.

The model is a fake one, which tries to write to a stranger and then tells whom it wrote to.
"""

from pathlib import Path

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from hookline import Hooks
from hookline.adapters.pydantic_ai import HooklineCapability

HERE = Path(__file__).parent


def reply(messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
    """First a stranger, then a colleague, then a report."""
    if len(messages) == 1:
        return ModelResponse([ToolCallPart("send_mail", {"to": "x@elsewhere.net", "text": "Hi."})])
    if len(messages) == 3:
        return ModelResponse([ToolCallPart("send_mail", {"to": "ann@example.org", "text": "Hi."})])
    return ModelResponse([TextPart("I wrote to ann@example.org.")])


# "hookline trust" would let the hooks run; here the folder is this program's own.
with HooklineCapability(Hooks.load(HERE, trusted=True)) as capability:
    clerk = Agent(FunctionModel(reply), capabilities=[capability])

    @clerk.tool_plain
    def send_mail(to: str, text: str) -> str:
        """Send a mail."""
        print(f"sending to {to}: {text}")
        return "sent"

    print(clerk.run_sync("Say hello.").output)
