"""The same tool call in an agent of LangChain, from its tool node through the middleware."""

from collections.abc import Callable
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import wrap_tool_call
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage, ToolCall
from langchain_core.tools import tool

from hookline import Hooks
from hookline.adapters.langchain import HooklineMiddleware
from hookline.replies import Reply
from hookline.wire.inputs import BeforeToolEvent
from tools.walks import walking


class FakeModel(GenericFakeChatModel):
    """LangChain's own fake, which takes tools."""

    def bind_tools(self, *_args: Any, **_options: Any) -> Any:
        return self


@tool
def shell(command: str) -> str:
    """Run a command."""
    return f"ran {command}"


@wrap_tool_call
def watched(request: Any, handler: Callable[[Any], Any]) -> Any:
    """Walk from here: the middleware that comes next in the list runs inside."""
    with walking():
        return handler(request)


hooks = Hooks()


@hooks.on("BeforeTool", matcher="shell")
def guard(event: BeforeToolEvent) -> Reply:
    return {"decision": "deny" if "push" in event["tool_input"]["command"] else "allow"}


call = ToolCall(name="shell", args={"command": "ls"}, id="1")
model = FakeModel(messages=iter([AIMessage("", tool_calls=[call]), AIMessage("Done.")]))
agent = create_agent(model, [shell], middleware=[watched, HooklineMiddleware(hooks)])
for message in agent.invoke({"messages": [HumanMessage("List the files.")]})["messages"]:
    print(message.text)
