"""What hooks say about a tool call of a LangChain agent is what becomes of it."""

import asyncio
from collections.abc import Iterator
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import InjectedToolCallId, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.message import add_messages
from langgraph.prebuilt import ToolNode
from langgraph.types import Command, interrupt

from hookline import Hooks, add_context, deny, message, replace_result, rewrite, stop
from hookline.adapters.langchain import HooklineMiddleware, stop_reason
from tests.adapters.langchain.agents import (
    RAN,
    Way,
    answer,
    every_way,
    mail,
    make_agent,
    results,
    shell,
    talk,
)
from tests.adapters.langchain.models import Recorded, call, calls

LS = call("shell", command="ls")


@pytest.fixture
def hooks() -> Iterator[Hooks]:
    with Hooks() as hooks:
        yield hooks


@every_way
async def test_a_blocked_tool_does_not_run_and_the_model_reads_the_reason(
    hooks: Hooks, way: Way
) -> None:
    hooks.on("BeforeTool")(lambda _: deny("not on Sundays"))
    script = Recorded(LS, "Done.")
    state = await talk(make_agent(hooks, script), "Go on.", way)
    (result,) = results(state)
    assert (result.content, result.status, result.name) == ("not on Sundays", "error", "shell")
    assert result.tool_call_id == "call-1"
    assert RAN == []
    assert script.requests[1][-1].content == "not on Sundays"


@every_way
async def test_a_rewritten_input_is_what_the_tool_gets(hooks: Hooks, way: Way) -> None:
    seen: list[Any] = []
    hooks.on("BeforeTool")(lambda _: rewrite(command="ls -l"))
    hooks.on("AfterTool")(seen.append)
    state = await talk(make_agent(hooks, Recorded(LS, "Done.")), "Go on.", way)
    assert RAN == ["ls -l"]
    assert results(state)[0].content == "output of ls -l"
    assert seen[0]["tool_input"] == {"command": "ls -l"}
    assert seen[0]["original_tool_input"] == {"command": "ls"}


@every_way
async def test_a_rewrite_that_the_schema_refuses_is_an_error_for_the_model(
    hooks: Hooks, way: Way
) -> None:
    hooks.on("BeforeTool")(lambda _: rewrite(command={"not": "a text"}))
    state = await talk(make_agent(hooks, Recorded(LS, "Done.")), "Go on.", way)
    (result,) = results(state)
    assert result.status == "error"
    assert "command" in result.content
    assert "valid string" in result.content
    assert RAN == []
    assert answer(state) == "Done."


@every_way
async def test_a_result_that_hooks_leave_alone_is_the_very_object_of_the_tool(
    hooks: Hooks, way: Way
) -> None:
    made: list[ToolMessage] = []
    picture = {"type": "image", "url": "http://localhost/a.png"}

    @tool
    def draw(tool_call_id: Annotated[str, InjectedToolCallId]) -> ToolMessage:
        """Draw."""
        content: list[Any] = [{"type": "text", "text": "here"}, picture]
        made.append(ToolMessage(content, tool_call_id=tool_call_id, artifact=object()))
        return made[0]

    hooks.on("AfterTool")(lambda _: None)
    agent = make_agent(hooks, Recorded(call("draw"), "Done."), tools=[draw], saver=False)
    (result,) = results(await talk(agent, "Go on.", way))
    assert result is made[0]


async def test_artifacts_and_content_lists_survive_an_addition(hooks: Hooks) -> None:
    @tool(response_format="content_and_artifact")
    def look() -> tuple[list[Any], dict[str, int]]:
        """Look."""
        return [{"type": "text", "text": "a bird"}], {"pixels": 4}

    shown: list[Any] = []

    @hooks.on("AfterTool")
    def add(event: Any) -> Any:
        shown.append(event["tool_response"])
        return add_context("it is spring")

    state = await talk(make_agent(hooks, Recorded(call("look"), "Done."), tools=[look]), "Look.")
    (result,) = results(state)
    assert shown == [{"llmContent": [{"type": "text", "text": "a bird"}]}]
    assert result.content == [
        {"type": "text", "text": "a bird"},
        {"type": "text", "text": "it is spring"},
    ]
    assert result.artifact == {"pixels": 4}


async def test_a_replaced_result_leaves_nothing_of_the_tools_own(hooks: Hooks) -> None:
    @tool(response_format="content_and_artifact")
    def look() -> tuple[str, str]:
        """Look."""
        return "the password is swordfish", "swordfish"

    hooks.on("AfterTool")(lambda _: replace_result("[removed]"))
    script = Recorded(call("look"), "Done.")
    state = await talk(make_agent(hooks, script, tools=[look]), "Look.")
    assert results(state)[0].content == "[removed]"
    assert "swordfish" not in str(state)
    assert "swordfish" not in script.sent


@every_way
async def test_a_tail_call_runs_another_tool_and_its_result_replaces_the_first(
    hooks: Hooks, way: Way
) -> None:
    wanted = {"name": "mail", "args": {"to": "log"}}
    seen: list[Any] = []
    hooks.on("AfterTool", matcher="shell")(
        lambda _: {"hookSpecificOutput": {"tailToolCallRequest": wanted}}
    )
    hooks.on("BeforeTool", matcher="mail")(seen.append)
    state = await talk(make_agent(hooks, Recorded(LS, "Done.")), "Go on.", way)
    assert RAN == ["ls", "mail log: hello"]
    (result,) = results(state)
    assert (result.content, result.tool_call_id) == ("sent to log", "call-1")
    assert seen[0]["original_request_name"] == "shell"


async def test_a_tail_call_of_a_tool_that_the_agent_lacks_is_left_out(
    hooks: Hooks, caplog: pytest.LogCaptureFixture
) -> None:
    wanted = {"name": "fax", "args": {}}
    hooks.on("AfterTool")(lambda _: {"hookSpecificOutput": {"tailToolCallRequest": wanted}})
    state = await talk(make_agent(hooks, Recorded(LS, "Done.")), "Go on.")
    assert results(state)[0].content == "output of ls"
    assert "the tail call of 'fax'" in caplog.text


@every_way
async def test_a_raising_tool_fires_after_tool_with_its_error_and_raises_on(
    hooks: Hooks, way: Way
) -> None:
    seen: list[Any] = []
    hooks.on("AfterTool")(seen.append)
    agent = make_agent(hooks, Recorded(call("shell", command="fill"), "Done."))
    with pytest.raises(OSError, match="the disk is full"):
        await talk(agent, "Go on.", way)
    assert "the disk is full" in seen[0]["tool_response"]["error"]["message"]


@every_way
async def test_what_hooks_add_to_a_raising_tool_is_in_its_exception(hooks: Hooks, way: Way) -> None:
    hooks.on("AfterTool")(lambda _: add_context("Empty the bin."))
    agent = make_agent(hooks, Recorded(call("shell", command="fill"), "Done."))
    with pytest.raises(OSError, match=r"the disk is full\n\nEmpty the bin\."):
        await talk(agent, "Go on.", way)


def test_an_error_that_the_tool_node_handles_counts_as_an_error(hooks: Hooks) -> None:
    seen: list[Any] = []
    hooks.on("AfterTool")(seen.append)
    middleware = HooklineMiddleware(hooks)
    node = ToolNode([shell], wrap_tool_call=middleware.wrap_tool_call, handle_tool_errors=True)
    graph = build_graph(node)
    state = graph.invoke({"messages": [call("shell", command="fill")]})
    assert results(state)[0].status == "error"
    assert "the disk is full" in results(state)[0].content
    assert "the disk is full" in seen[0]["tool_response"]["error"]["message"]


def build_graph(node: ToolNode, saver: Any = None) -> Any:
    graph = StateGraph(MessagesState)
    graph.add_node("tools", node)
    graph.add_edge(START, "tools")
    return graph.compile(checkpointer=saver)


@pytest.mark.parametrize("way", ["sync", "async"])
async def test_a_tool_node_of_a_hand_built_graph_takes_the_middlewares_methods(
    hooks: Hooks, way: Way
) -> None:
    starts: list[Any] = []
    hooks.on("SessionStart")(starts.append)
    hooks.on("BeforeTool", matcher="mail")(lambda _: stop("enough for today"))
    hooks.on("AfterTool", matcher="shell")(lambda _: add_context("in a sandbox"))
    middleware = HooklineMiddleware(hooks)
    node = ToolNode(
        [shell, mail],
        wrap_tool_call=middleware.wrap_tool_call,
        awrap_tool_call=middleware.awrap_tool_call,
    )
    asked = calls(("shell", "1", {"command": "ls"}), ("mail", "2", {"to": "boss"}))
    RAN.clear()
    state = await talk(build_graph(node), {"messages": [HumanMessage("Go on."), asked]}, way)
    first, second = results(state)
    assert first.content == "output of ls\n\nin a sandbox"
    assert second.content == "enough for today"
    assert stop_reason(state) == "enough for today"
    assert RAN == ["ls"]
    assert [event["source"] for event in starts] == ["startup"]


@every_way
async def test_a_command_of_a_tool_survives_and_takes_what_hooks_add(
    hooks: Hooks, way: Way
) -> None:
    @tool
    def remember(tool_call_id: Annotated[str, InjectedToolCallId]) -> Command[Any]:
        """Remember."""
        said = ToolMessage("remembered", tool_call_id=tool_call_id)
        return Command(update={"messages": [said], "structured_response": "kept"})

    seen: list[Any] = []

    @hooks.on("AfterTool")
    def add(event: Any) -> Any:
        seen.append(event["tool_response"]["llmContent"])
        return message("be brief")

    agent = make_agent(hooks, Recorded(call("remember"), "Done."), tools=[remember])
    state = await talk(agent, "Go on.", way)
    assert seen == ["remembered"]
    assert results(state)[0].content == "remembered\n\n[System] be brief"
    assert state["structured_response"] == "kept"


@pytest.mark.parametrize("event", ["BeforeTool", "AfterTool"])
@every_way
async def test_a_stop_ends_the_loop_and_the_caller_reads_why(
    hooks: Hooks, event: str, way: Way
) -> None:
    ended: list[Any] = []
    hooks.on(event)(lambda _: stop("enough for today"))
    hooks.on("AfterAgent")(ended.append)
    script = Recorded(LS, "Done.")
    agent = make_agent(hooks, script)
    state = await talk(agent, "Go on.", way)
    assert len(script.requests) == 1
    assert answer(state) == "enough for today"
    assert stop_reason(state) == "enough for today"
    assert ("ls" in RAN) is (event == "AfterTool")
    assert results(state)[0].content == "enough for today"
    # The conversation can go on: every call has its answer.
    state = await talk(agent, "Once more.", way)
    assert answer(state) == "Done."
    assert stop_reason(state) is None
    assert [event["prompt"] for event in ended] == ["Go on.", "Once more."]


@every_way
async def test_a_stop_of_a_tool_that_ends_the_turn_itself_is_not_sent_back(
    hooks: Hooks, way: Way
) -> None:
    @tool(return_direct=True)
    def report(text: str) -> str:
        """Report."""
        return text

    hooks.on("BeforeTool")(lambda _: stop("enough for today"))
    hooks.on("AfterAgent")(lambda _: deny("try again"))
    script = Recorded(call("report", text="done"), "Done.")
    state = await talk(make_agent(hooks, script, tools=[report]), "Go on.", way)
    assert len(script.requests) == 1
    assert stop_reason(state) == "enough for today"


class OwnState(TypedDict):
    talk: Annotated[list[Any], add_messages]


def test_a_stop_in_a_hand_built_graph_holds_for_one_reply_alone(hooks: Hooks) -> None:
    """Whatever its state calls the messages."""
    hooks.on("BeforeTool", matcher="mail")(lambda _: stop("no mails"))
    middleware = HooklineMiddleware(hooks)
    graph = StateGraph(OwnState)
    graph.add_node(
        "tools",
        ToolNode([shell, mail], messages_key="talk", wrap_tool_call=middleware.wrap_tool_call),
    )
    graph.add_edge(START, "tools")
    agent: Any = graph.compile()
    RAN.clear()
    asked = calls(("mail", "1", {"to": "boss"}), ("shell", "2", {"command": "pwd"}))
    agent.invoke({"talk": [asked]}, {"max_concurrency": 1})
    assert RAN == []
    agent.invoke({"talk": [LS]})
    assert RAN == ["ls"]


async def test_after_a_stop_later_tools_of_the_same_reply_do_not_run(hooks: Hooks) -> None:
    hooks.on("BeforeTool", matcher="mail")(lambda _: stop("no mails"))
    asked = calls(
        ("mail", "1", {"to": "boss"}), *(("shell", str(n), {"command": "ls"}) for n in range(2, 6))
    )
    agent = make_agent(hooks, Recorded(asked, "Done."))
    state = await talk(agent, "Go on.", max_concurrency=1)
    assert RAN == []
    assert [result.content for result in results(state)] == ["no mails"] * 5
    assert answer(state) == "no mails"


@every_way
async def test_tools_in_parallel_get_each_their_own_answer(hooks: Hooks, way: Way) -> None:
    def decide(event: Any) -> Any:
        command = event["tool_input"]["command"]
        return deny(f"no {command}") if command == "rm" else rewrite(command=f"safe {command}")

    hooks.on("BeforeTool")(decide)
    names = [*(f"c{n}" for n in range(6)), "rm"]
    asked = calls(*(("shell", name, {"command": name}) for name in names))
    state = await talk(make_agent(hooks, Recorded(asked, "Done.")), "Go on.", way)
    found = {result.tool_call_id: result.content for result in results(state)}
    assert found == {name: f"output of safe {name}" for name in names[:-1]} | {"rm": "no rm"}
    assert sorted(RAN) == [f"safe {name}" for name in names[:-1]]


async def test_a_tool_that_interrupts_the_run_itself_fires_no_after_tool_before_it_is_done(
    hooks: Hooks,
) -> None:
    @tool
    def ask_user(question: str) -> str:
        """Ask."""
        return f"the user says {interrupt(question)}"

    seen: list[Any] = []
    hooks.on("AfterTool")(seen.append)
    script = Recorded(call("ask_user", question="Tea?"), "Done.")
    agent = make_agent(hooks, script, tools=[ask_user])
    state = await talk(agent, "Go on.", "async")
    assert state["__interrupt__"][0].value == "Tea?"
    assert seen == []
    state = await talk(agent, Command(resume="yes"), "async")
    assert results(state)[0].content == "the user says yes"
    assert len(seen) == 1


async def test_a_plain_invoke_inside_a_running_loop_runs_its_hooks(hooks: Hooks) -> None:
    async def later(_event: Any) -> Any:
        await asyncio.sleep(0)
        return deny("not on Sundays")

    hooks.on("BeforeTool")(later)
    agent = make_agent(hooks, Recorded(LS, "Done."))
    state = agent.invoke({"messages": [("user", "Go on.")]}, {"configurable": {"thread_id": "1"}})
    assert results(state)[0].content == "not on Sundays"


@every_way
async def test_a_failing_hook_blocks_only_where_it_fails_closed(hooks: Hooks, way: Way) -> None:
    def fail(_event: Any) -> Any:
        raise ValueError("broken")

    hooks.on("BeforeTool", matcher="shell")(fail)
    hooks.on("BeforeTool", matcher="mail", on_failure="block")(fail)
    asked = calls(("shell", "1", {"command": "ls"}), ("mail", "2", {"to": "boss"}))
    state = await talk(make_agent(hooks, Recorded(asked, "Done.")), "Go on.", way)
    first, second = results(state)
    assert first.content == "output of ls"
    assert "broken" in second.content
    assert RAN == ["ls"]


async def test_a_call_of_a_tool_that_is_not_there_is_the_frameworks_own_error(
    hooks: Hooks,
) -> None:
    seen: list[Any] = []
    hooks.on("AfterTool")(seen.append)
    state = await talk(make_agent(hooks, Recorded(call("fax"), "Done.")), "Go on.")
    assert "fax is not a valid tool" in results(state)[0].content
    assert "error" in seen[0]["tool_response"]


def test_the_saver_of_a_hand_built_graph_carries_a_question_as_well(hooks: Hooks) -> None:
    hooks.on("BeforeTool")(lambda _: {"decision": "ask", "reason": "really?"})
    middleware = HooklineMiddleware(hooks)
    graph = build_graph(
        ToolNode([shell], wrap_tool_call=middleware.wrap_tool_call), InMemorySaver()
    )
    config: Any = {"configurable": {"thread_id": "1"}}
    RAN.clear()
    state = graph.invoke({"messages": [LS]}, config)
    assert state["__interrupt__"][0].value["action_requests"][0]["description"] == "really?"
    state = graph.invoke(Command(resume={"decisions": [{"type": "approve"}]}), config)
    assert RAN == ["ls"]
    assert isinstance(state["messages"][0], AIMessage)
