"""An agent of LangChain's with the hooks of this folder; a fake model, so that it runs offline."""

from pathlib import Path
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage, ToolCall
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from hookline import Hooks
from hookline.adapters.langchain import HooklineMiddleware


class FakeModel(GenericFakeChatModel):
    """Says what it was given to say; a real one is a line like ``init_chat_model("…")``."""

    def bind_tools(self, tools: Any, **options: Any) -> Any:  # noqa: ARG002 - LangChain's signature
        """It calls tools as scripted, whatever it is offered."""
        return self


@tool
def shell(command: str) -> str:
    """Run a command."""
    return f"output of {command}"


def call(command: str, id: str) -> AIMessage:
    """A reply that runs a command."""
    return AIMessage("", tool_calls=[ToolCall(name="shell", args={"command": command}, id=id)])


def main() -> None:
    """One turn: a call that is denied, one that is asked about, and a redacted answer."""
    replies = [call("git push --force", "1"), call("rm -r build", "2"), AIMessage(ANSWER)]
    # You wrote these hooks, so they are trusted; in a project of others, "hookline trust" asks.
    hooks = Hooks.load(Path(__file__).parent, trusted=True)
    with HooklineMiddleware(hooks) as middleware, hooks:
        agent = create_agent(
            FakeModel(messages=iter(replies)),
            [shell],
            middleware=[middleware],
            checkpointer=InMemorySaver(),
        )
        chat: RunnableConfig = {"configurable": {"thread_id": "example"}}
        state = agent.invoke({"messages": [HumanMessage("Push, and clean up.")]}, chat)
        for question in state.pop("__interrupt__", ()):
            asked = question.value["action_requests"][0]
            print(f"asked: {asked['args']['command']} ({asked['description']})")
        state = agent.invoke(Command(resume={"decisions": [{"type": "approve"}]}), chat)
    for message in state["messages"]:
        if message.text:
            print(f"{message.type}: {message.text}")


ANSWER = "Ask jane@example.org about the push. The build is gone."

if __name__ == "__main__":
    main()
