"""An agent of ADK's with the hooks of this folder; its model is scripted, so that it runs offline.

ADK's own command line finds ``app`` here too: ``adk run examples/adk``.
"""

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path

from google.adk.agents import LlmAgent
from google.adk.apps import App
from google.adk.models import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import InMemoryRunner
from google.genai import types

from hookline import Hooks
from hookline.adapters.adk import HooklinePlugin


class Scripted(BaseLlm):
    """Pushes, cleans up and reports; a real model is a line like ``model="gemini-…"``."""

    model: str = "scripted"

    async def generate_content_async(
        self,
        llm_request: LlmRequest,
        stream: bool = False,  # noqa: ARG002 - ADK's signature
    ) -> AsyncGenerator[LlmResponse, None]:
        """Go on where the results so far end."""
        parts = [part for content in llm_request.contents for part in content.parts or []]
        results = [part for part in parts if part.function_response]
        part = types.Part(text="Ask jane@example.org about the push. The build is gone.")
        if len(results) < 2:
            command = "rm -r build" if results else "git push --force"
            call = types.FunctionCall(name="shell", args={"command": command})
            part = types.Part(function_call=call)
        yield LlmResponse(content=types.Content(role="model", parts=[part]))


def shell(command: str) -> str:
    """Run a command."""
    return f"output of {command}"


# You wrote these hooks, so they are trusted; in a project of others, "hookline trust" asks.
hooks = Hooks.load(Path(__file__).parent, trusted=True)
app = App(
    name="example",
    root_agent=LlmAgent(name="clerk", model=Scripted(), tools=[shell]),
    plugins=[HooklinePlugin(hooks)],
)


async def main() -> None:
    """One turn: a call that is denied, one that is asked about, and a redacted answer."""
    message: types.Content | None = types.Content(
        role="user", parts=[types.Part(text="Push, and clean up.")]
    )
    async with InMemoryRunner(app=app) as runner:
        runner.auto_create_session = True
        while message is not None:
            said, message = message, None
            async for event in runner.run_async(user_id="u", session_id="s", new_message=said):
                for part in (event.content and event.content.parts) or []:
                    if part.text:
                        print(f"{event.author}: {part.text}")
                    elif part.function_response and not event.actions.requested_tool_confirmations:
                        print(f"result: {part.function_response.response}")
                    elif (
                        part.function_call and part.function_call.name == "adk_request_confirmation"
                    ):
                        message = approve(part.function_call)
    hooks.close()


def approve(question: types.FunctionCall) -> types.Content:
    """The user's yes to a call that hooks ask about."""
    asked = question.args or {}
    command = asked["originalFunctionCall"]["args"]["command"]
    print(f"asked: {command} ({asked['toolConfirmation']['hint']})")
    answer = types.FunctionResponse(
        id=question.id, name=question.name, response={"confirmed": True}
    )
    return types.Content(role="user", parts=[types.Part(function_response=answer)])


if __name__ == "__main__":
    asyncio.run(main())
