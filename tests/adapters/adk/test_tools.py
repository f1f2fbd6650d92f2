"""What hooks say about a tool call of an ADK agent is what becomes of it."""

import asyncio
import base64
import sys
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents import LoopAgent, SequentialAgent
from google.adk.agents.run_config import RunConfig, ToolThreadPoolConfig
from google.adk.tools.agent_tool import AgentTool
from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.long_running_tool import LongRunningFunctionTool
from google.adk.tools.mcp_tool.mcp_session_manager import StdioConnectionParams
from google.adk.tools.mcp_tool.mcp_toolset import McpToolset
from google.adk.tools.tool_context import ToolContext
from google.adk.workflow import Workflow
from google.genai import types
from mcp import StdioServerParameters

from hookline import (
    Hooks,
    add_context,
    ask,
    combine,
    deny,
    message,
    replace_result,
    rewrite,
    stop,
)
from hookline.adapters.adk import HooklinePlugin
from tests.adapters.adk.models import (
    DEPRECATED,
    INNER_RUNNER,
    Chat,
    Script,
    Shell,
    agent,
    call,
    results,
    texts,
)

LS = call("shell", command="ls")


def watch(hooks: Hooks, *events: str) -> list[dict[str, Any]]:
    seen: list[dict[str, Any]] = []
    for event in events:
        hooks.on(event)(seen.append)
    return seen


async def test_a_blocked_tool_does_not_run_and_after_tool_does_not_fire() -> None:
    hooks, shell = Hooks(), Shell()
    hooks.on("BeforeTool")(lambda _: deny("not on Sundays"))
    after = watch(hooks, "AfterTool")
    model = Script(LS, "Done.")
    events = await Chat(agent(model, shell.tool), HooklinePlugin(hooks)).say("Go on.")
    assert results(events) == [{"error": "not on Sundays"}]
    assert (shell.ran, after) == ([], [])
    assert "not on Sundays" in model.sent()
    assert texts(events) == ["Done."]


@pytest.mark.parametrize("kind", ["async", "sync", "thread pool"])
async def test_functions_of_every_kind_run_with_what_hooks_rewrote(kind: str) -> None:
    hooks, ran = Hooks(), list[str]()
    hooks.on("BeforeTool")(lambda _: rewrite(command="ls -l"))
    after = watch(hooks, "AfterTool")

    def shell(command: str) -> str:
        """Run a command."""
        ran.append(command)
        return f"output of {command}"

    async def shell_async(command: str) -> str:
        """Run a command."""
        return shell(command)

    shell_async.__name__ = "shell"
    model = Script(call("shell", command="ls"), "Done.")
    chat = Chat(agent(model, shell_async if kind == "async" else shell), HooklinePlugin(hooks))
    if kind == "thread pool":
        chat.config = RunConfig(tool_thread_pool_config=ToolThreadPoolConfig())
    await chat.say("Go on.")
    assert ran == ["ls -l"]
    assert "output of ls -l" in model.sent()
    assert after[0]["tool_input"] == {"command": "ls -l"}
    assert after[0]["original_tool_input"] == {"command": "ls"}


async def test_a_function_does_not_get_an_argument_that_hooks_remove() -> None:
    hooks, ran = Hooks(), list[tuple[str, str]]()
    hooks.on("BeforeTool")(lambda _: {"hookSpecificOutput": {"removeToolInput": ["mode"]}})

    def shell(command: str, mode: str = "careful") -> str:
        """Run a command."""
        ran.append((command, mode))
        return "done"

    model = Script(call("shell", command="ls", mode="fast"), "Done.")
    await Chat(agent(model, shell), HooklinePlugin(hooks)).say("Go on.")
    assert ran == [("ls", "careful")]


async def test_an_input_that_a_tool_refuses_is_told_to_the_model() -> None:
    hooks, shell = Hooks(), Shell()
    hooks.on("BeforeTool")(lambda _: {"hookSpecificOutput": {"tool_input": {"command": None}}})
    model = Script(call("shell", command="ls"), "Done.")
    events = await Chat(agent(model, shell.tool), HooklinePlugin(hooks)).say("Go on.")
    assert texts(events) == ["Done."]


async def test_calls_in_parallel_each_get_their_own_answer() -> None:
    hooks, shell = Hooks(), Shell()

    async def guard(event: dict[str, Any]) -> Any:
        command = event["tool_input"]["command"]
        await asyncio.sleep(0.02 if command == "date" else 0)
        return {"rm": deny("never"), "ls": rewrite(command="ls -l")}.get(command)

    hooks.on("BeforeTool")(guard)
    hooks.on("AfterTool")(lambda event: add_context(f"after {event['tool_input']['command']}"))
    model = Script([call("shell", command=c) for c in ("date", "ls", "rm")], "Done.")
    events = await Chat(agent(model, shell.tool), HooklinePlugin(hooks)).say("Go on.")
    assert results(events) == [
        {"result": "output of date\n\nafter date"},
        {"result": "output of ls -l\n\nafter ls -l"},
        {"error": "never"},
    ]
    assert sorted(shell.ran) == ["date", "ls -l"]


async def test_calls_that_share_an_id_are_told_apart() -> None:
    hooks, shell = Hooks(), Shell()
    hooks.on("BeforeTool")(
        lambda event: deny("never") if event["tool_input"]["command"] == "rm" else None
    )
    model = Script([call("shell", "x", command="rm"), call("shell", "x", command="ls")], "Done.")
    events = await Chat(agent(model, shell.tool), HooklinePlugin(hooks)).say("Go on.")
    assert shell.ran == ["ls"]
    assert results(events) == [{"error": "never"}, {"result": "output of ls"}]


@pytest.mark.parametrize("event", ["BeforeTool", "AfterTool"])
async def test_a_stop_ends_the_loop_with_its_reason(event: str) -> None:
    hooks, shell = Hooks(), Shell()
    hooks.on(event)(lambda _: stop("enough for today"))
    model = Script([LS, call("shell", command="date")], "Done.")
    chat = Chat(agent(model, shell.tool), HooklinePlugin(hooks))
    events = await chat.say("Go on.")
    assert texts(events) == ["enough for today"]
    assert len(model.requests) == 1
    assert "output of" not in str(results(events)[0])
    assert len(shell.ran) <= (0 if event == "BeforeTool" else 2)
    await chat.say("Again.")
    assert len(model.requests) == 2, "a stop outlived its turn"


@DEPRECATED
async def test_a_stop_ends_a_loop_agent_that_has_no_end() -> None:
    hooks, shell = Hooks(), Shell()
    hooks.on("BeforeTool")(lambda _: stop("enough for today"))
    worker = agent(Script(*[LS] * 50), shell.tool, name="worker")
    root = LoopAgent(name="root", sub_agents=[worker])
    async with asyncio.timeout(10):
        events = await Chat(root, HooklinePlugin(hooks)).say("Go on.")
    assert texts(events) == ["enough for today"]


@INNER_RUNNER
async def test_a_stop_inside_an_agent_that_is_a_tool_ends_all() -> None:
    hooks, shell = Hooks(), Shell()
    hooks.on("BeforeTool", matcher="shell")(lambda _: stop("enough for today"))
    inner, outer = Script(LS, "Helped."), Script(call("helper", request="look"), "Done.")
    helper = agent(inner, shell.tool, name="helper")
    chat = Chat(agent(outer, AgentTool(helper)), HooklinePlugin(hooks))
    assert texts(await chat.say("Go on.")) == ["enough for today"]
    assert (len(inner.requests), len(outer.requests), shell.ran) == (1, 1, [])


@INNER_RUNNER
async def test_hooks_hold_inside_an_agent_that_is_a_tool_under_the_same_session() -> None:
    hooks, shell = Hooks(), Shell()
    seen = watch(
        hooks,
        *("SessionStart", "BeforeAgent", "BeforeModel", "BeforeTool", "AfterTool", "AfterModel"),
        "AfterAgent",
    )
    hooks.on("BeforeTool", matcher="shell")(lambda _: rewrite(command="ls -l"))
    inner = Script(LS, "Helped.")
    helper = agent(inner, shell.tool, name="helper")
    root = agent(Script(call("helper", request="look"), "Done."), AgentTool(helper))
    await Chat(root, HooklinePlugin(hooks)).say("Go on.")
    assert shell.ran == ["ls -l"]
    assert {event["session_id"] for event in seen} == {"chat"}
    assert [event["hook_event_name"] for event in seen] == [
        *("SessionStart", "BeforeAgent", "BeforeModel", "AfterModel", "BeforeTool"),
        *("BeforeModel", "AfterModel", "BeforeTool", "AfterTool", "BeforeModel", "AfterModel"),
        *("AfterTool", "BeforeModel", "AfterModel", "AfterAgent"),
    ]


@pytest.mark.parametrize("strict", [False, True])
async def test_an_agent_tool_without_plugins_is_warned_of_and_refused_in_strict_mode(
    strict: bool, caplog: pytest.LogCaptureFixture
) -> None:
    hooks, shell = Hooks(strict=strict), Shell()
    hooks.on("BeforeTool", matcher="shell")(lambda _: deny("never"))
    helper = agent(Script(LS, "Helped."), shell.tool, name="helper")
    tool = AgentTool(helper, include_plugins=False)
    root = agent(Script(call("helper", request="look"), "Done."), tool)
    await Chat(root, HooklinePlugin(hooks)).say("Go on.")
    assert shell.ran == ([] if strict else ["ls"])
    assert "hooks do not see what the agent helper does" in caplog.text


async def test_a_sub_agent_is_guarded_and_so_is_the_way_to_it() -> None:
    hooks, shell = Hooks(), Shell()
    seen = watch(hooks, "BeforeTool")
    hooks.on("BeforeTool", matcher="shell")(lambda _: deny("never"))
    helper = agent(Script(LS, "I may not."), shell.tool, name="helper")
    root = agent(Script(call("transfer_to_agent", agent_name="helper")), sub_agents=[helper])
    events = await Chat(root, HooklinePlugin(hooks)).say("Go on.")
    assert [event["tool_name"] for event in seen] == ["transfer_to_agent", "shell"]
    assert shell.ran == []
    assert texts(events) == ["I may not."]
    assert events[-1].author == "helper"


async def test_a_transfer_can_be_blocked() -> None:
    hooks = Hooks()
    hooks.on("BeforeTool", matcher="transfer_to_agent")(lambda _: deny("stay here"))
    helper = agent(Script("Helped."), name="helper")
    model = Script(call("transfer_to_agent", agent_name="helper"), "Staying.")
    events = await Chat(agent(model, sub_agents=[helper]), HooklinePlugin(hooks)).say("Go on.")
    assert texts(events) == ["Staying."]


@pytest.mark.parametrize("mode", ["single_turn", "task"])
@pytest.mark.parametrize("said", [deny("never"), ask("never"), stop("never")])
async def test_a_task_is_not_handed_to_an_agent_if_hooks_refuse(mode: str, said: Any) -> None:
    hooks = Hooks()
    hooks.on("BeforeTool", matcher="helper")(lambda _: said)
    inner = Script("I helped.")
    model = Script(call("helper", request="look"), "Alone, then.")
    root = agent(model, sub_agents=[agent(inner, name="helper", mode=mode)])
    events = await Chat(root, HooklinePlugin(hooks, confirm=lambda _: False)).say("Go on.")
    assert not inner.requests
    told = "The user did not allow this call of helper: never"
    assert results(events) == [{"error": told if said == ask("never") else "never"}]
    assert texts(events) == ["never" if said == stop("never") else "Alone, then."]


@pytest.mark.parametrize("beside", [[], [LS]], ids=["alone", "beside another call"])
async def test_a_task_that_an_agent_is_handed_has_the_hooks_of_a_tool(beside: Any) -> None:
    hooks, shell = Hooks(), Shell()
    seen = watch(hooks, "BeforeTool", "AfterTool")
    hooks.on("BeforeTool", matcher="helper")(lambda _: rewrite(request="look twice"))
    hooks.on("AfterTool", matcher="helper")(lambda _: replace_result("[removed]"))
    inner = Script(call("finish_task", result="swordfish"))
    task = call("helper", request="look")
    model = Script([*beside, task], "Done.")
    root = agent(model, shell.tool, sub_agents=[agent(inner, name="helper", mode="task")])
    events = await Chat(root, HooklinePlugin(hooks)).say("Go on.")
    assert texts(events) == ["Done."]
    assert inner.sent() == '{"request": "look twice"}'
    assert "helper: {'result': '[removed]'}" in model.sent()
    assert "swordfish" not in model.sent()
    fired = [event["hook_event_name"] for event in seen if event["tool_name"] == "helper"]
    assert fired == ["BeforeTool", "AfterTool"]
    assert task.function_call is not None
    assert task.function_call.args == {"request": "look"}, "the model's own reply was changed"


@DEPRECATED
async def test_agents_in_sequence_are_guarded_each() -> None:
    hooks, shell = Hooks(), Shell()
    hooks.on("BeforeTool")(lambda _: rewrite(command="ls -l"))
    agents = [agent(Script(LS, f"{n} is done."), shell.tool, name=n) for n in ("one", "two")]
    root = SequentialAgent(name="root", sub_agents=[*agents])
    events = await Chat(root, HooklinePlugin(hooks)).say("Go on.")
    assert shell.ran == ["ls -l", "ls -l"]
    assert texts(events) == ["one is done.", "two is done."]


@pytest.mark.parametrize(
    ("reply", "ran", "output"),
    [
        (deny("never"), [], {"error": "never"}),
        (ask("really?"), [], {"error": "really? (nobody can be asked to confirm it)"}),
        (rewrite(command="ls -l"), ["ls -l"], {"result": "[removed]"}),
    ],
)
async def test_a_tool_that_is_a_node_of_a_workflow_is_guarded(
    reply: Any, ran: list[str], output: Any
) -> None:
    hooks, shell = Hooks(), Shell()
    hooks.on("BeforeTool")(lambda _: reply)
    hooks.on("AfterTool")(lambda _: replace_result("[removed]"))
    root = Workflow(name="root", edges=[("START", FunctionTool(shell.tool))])
    events = await Chat(root, HooklinePlugin(hooks)).say('{"command": "ls"}')
    assert (shell.ran, events[-1].output) == (ran, output)


async def test_a_result_is_replaced_and_a_context_stands_beside_any_result() -> None:
    hooks = Hooks()
    answers = {
        "text": combine(add_context("a sandbox"), message("take care")),
        "table": add_context("a sandbox"),
        "secret": replace_result("[removed]"),
    }
    hooks.on("AfterTool")(lambda event: answers[event["tool_name"]])
    kept = {"rows": [1, 2]}

    def text() -> str:
        """A text."""
        return "hello"

    def table() -> dict[str, Any]:
        """A table."""
        return kept

    def secret() -> list[str]:
        """A secret."""
        return ["swordfish"]

    model = Script([call("text"), call("table"), call("secret")], "Done.")
    chat = Chat(agent(model, text, table, secret), HooklinePlugin(hooks))
    events = await chat.say("Go on.")
    assert results(events) == [
        {"result": "hello\n\na sandbox\n\n[System] take care"},
        {"rows": [1, 2], "additional_context": "a sandbox"},
        {"result": "[removed]"},
    ]
    assert kept == {"rows": [1, 2]}, "the tool's own object was edited"
    assert "swordfish" not in await chat.stored()
    assert "swordfish" not in model.sent()


async def test_an_image_is_shown_as_one_and_survives() -> None:
    hooks = Hooks()
    seen = watch(hooks, "AfterTool")
    hooks.on("AfterTool")(lambda _: add_context("a cat"))
    pixels = base64.b64decode("iVBORw0KGgo=")

    def photo() -> list[Any]:
        """Take a photo."""
        return [types.Part.from_bytes(data=pixels, mime_type="image/png"), "a photo"]

    model = Script(call("photo"), "Done.")
    await Chat(agent(model, photo), HooklinePlugin(hooks)).say("Go on.")
    shown = seen[0]["tool_response"]["llmContent"]
    assert shown == [{"type": "media", "mimeType": "image/png"}, {"text": "a photo"}]
    [response] = [
        part.function_response
        for content in model.requests[-1].contents
        for part in content.parts or []
        if part.function_response
    ]
    assert (response.response or {})["additional_context"] == "a cat"
    assert len(response.parts or []) == 1


async def test_a_call_that_hooks_want_to_follow_runs_through_their_hooks_too() -> None:
    hooks, shell, sent = Hooks(), Shell(), list[str]()

    def mail(to: str) -> str:
        """Send a mail."""
        sent.append(to)
        return f"sent to {to}"

    tail = {"hookSpecificOutput": {"tailToolCallRequest": {"name": "mail", "args": {"to": "log"}}}}
    hooks.on("AfterTool", matcher="shell")(lambda _: tail)
    hooks.on("BeforeTool", matcher="mail")(lambda _: rewrite(to="archive"))
    after = watch(hooks, "AfterTool")
    model = Script(LS, "Done.")
    events = await Chat(agent(model, shell.tool, mail), HooklinePlugin(hooks)).say("Go on.")
    assert (shell.ran, sent) == (["ls"], ["archive"])
    assert results(events) == [{"result": "sent to archive"}]
    assert after[-1]["original_request_name"] == "shell"


@pytest.mark.parametrize(
    ("needs_confirmation", "said"),
    [
        (True, "mail needs the user's confirmation first, so it did not run"),
        (False, "no server for log"),
    ],
)
async def test_a_tail_call_that_fails_or_needs_the_user_is_an_error_that_the_model_reads(
    needs_confirmation: bool, said: str, caplog: pytest.LogCaptureFixture
) -> None:
    def mail(to: str) -> str:
        """Send a mail."""
        raise OSError(f"no server for {to}")

    hooks = Hooks()
    tail = {"hookSpecificOutput": {"tailToolCallRequest": {"name": "mail", "args": {"to": "log"}}}}
    hooks.on("AfterTool", matcher="shell")(lambda _: tail)
    tool = FunctionTool(mail, require_confirmation=needs_confirmation)
    model = Script(LS, "Done.")
    events = await Chat(agent(model, Shell().tool, tool), HooklinePlugin(hooks)).say("Go on.")
    assert results(events) == [{"error": said}]
    told = "a hook called mail, which raised: no server for log"
    assert (told in caplog.text) is not needs_confirmation


async def test_a_tool_that_raises_fires_after_tool_with_its_error_and_goes_on_raising() -> None:
    hooks = Hooks()
    after = watch(hooks, "AfterTool")

    def fill() -> str:
        """Fill the disk."""
        raise OSError("the disk is full")

    with pytest.raises(OSError, match="the disk is full"):
        await Chat(agent(Script(call("fill")), fill), HooklinePlugin(hooks)).say("Go on.")
    [event] = after
    assert event["tool_response"]["error"]["message"] == "OSError: the disk is full"


@pytest.mark.parametrize("reply", [replace_result("[removed]"), stop("enough")])
async def test_hooks_may_put_a_result_in_the_place_of_an_exception(reply: Any) -> None:
    hooks = Hooks()
    hooks.on("AfterTool")(lambda _: reply)
    after = watch(hooks, "AfterTool")

    def fill() -> str:
        """Fill the disk."""
        raise OSError("swordfish")

    model = Script(call("fill"), "Done.")
    chat = Chat(agent(model, fill), HooklinePlugin(hooks))
    events = await chat.say("Go on.")
    assert len(after) == 1
    assert "swordfish" not in await chat.stored()
    assert texts(events)[-1] in ("Done.", "enough")


async def test_a_tool_that_is_not_there_is_told_to_hooks_and_breaks_nothing() -> None:
    hooks = Hooks()
    seen = watch(hooks, "BeforeTool", "AfterTool")
    model = Script(call("gone"), "Done.")
    events = await Chat(agent(model, Shell().tool), HooklinePlugin(hooks)).say("Go on.")
    assert texts(events) == ["Done."]
    assert [event["tool_name"] for event in seen] == ["gone", "gone"]
    assert "error" in seen[1]["tool_response"]


async def test_a_cancelled_run_leaves_no_call_behind() -> None:
    hooks, started = Hooks(), asyncio.Event()
    after = watch(hooks, "AfterTool")

    async def wait() -> str:
        """Wait."""
        started.set()
        await asyncio.sleep(60)
        return "late"

    plugin = HooklinePlugin(hooks)
    running = asyncio.create_task(Chat(agent(Script(call("wait")), wait), plugin).say("Go on."))
    await started.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert not after


async def test_a_long_running_tool_fires_after_tool_with_what_it_answers_and_what_comes_later() -> (
    None
):
    hooks = Hooks()
    hooks.on("AfterTool")(
        lambda event: replace_result("[removed]") if "swordfish" in str(event) else None
    )
    seen = watch(hooks, "AfterTool")

    def approve(what: str) -> dict[str, str] | None:
        """Have something approved."""
        return {"status": "pending"} if what == "leave" else None

    model = Script(call("approve", "call-1", what="leave"), "Waiting.", "Done.")
    chat = Chat(agent(model, LongRunningFunctionTool(approve)), HooklinePlugin(hooks))
    await chat.say("Go on.")
    assert len(seen) == 1
    response = types.FunctionResponse(id="call-1", name="approve", response={"by": "swordfish"})
    await chat.say(types.Part(function_response=response))
    assert len(seen) == 2
    assert seen[1]["tool_input"] == {"what": "leave"}
    assert "[removed]" in model.sent()
    assert "swordfish" not in await chat.stored()


async def test_a_long_running_tool_that_has_nothing_yet_fires_nothing() -> None:
    hooks = Hooks()
    seen = watch(hooks, "AfterTool")

    def approve() -> None:
        """Have something approved."""

    chat = Chat(
        agent(Script(call("approve")), LongRunningFunctionTool(approve)), HooklinePlugin(hooks)
    )
    await chat.say("Go on.")
    assert not seen


async def test_what_a_tool_writes_into_the_state_stays() -> None:
    hooks = Hooks()
    hooks.on("BeforeTool")(lambda _: rewrite(whom="Ann"))
    hooks.on("AfterTool")(lambda _: replace_result("[removed]"))

    def remember(whom: str, tool_context: ToolContext) -> str:
        """Remember a name."""
        tool_context.state["name"] = whom
        return whom

    model = Script(call("remember", whom="Bob"), "Done.")
    chat = Chat(agent(model, remember), HooklinePlugin(hooks))
    await chat.say("Go on.")
    assert (await chat.state())["name"] == "Ann"


SERVER = """
from mcp.server import MCPServer
server = MCPServer("files")
@server.tool()
def read(path: str) -> str:
    return f"content of {path}"
server.run()
"""


async def test_tools_of_an_mcp_server_are_guarded_and_hooks_know_the_server(tmp_path: Path) -> None:
    hooks = Hooks()
    hooks.on("BeforeTool")(
        lambda event: deny("never") if event["tool_input"]["path"] == "key" else None
    )
    hooks.on("AfterTool")(lambda _: add_context("a sandbox"))
    seen = watch(hooks, "BeforeTool", "AfterTool")
    path = tmp_path / "server.py"
    path.write_text(SERVER)
    parameters = StdioServerParameters(command=sys.executable, args=[str(path)])
    toolset = McpToolset(
        connection_params=StdioConnectionParams(server_params=parameters, timeout=60)
    )
    model = Script([call("read", path="a.txt"), call("read", path="key")], "Done.")
    chat = Chat(agent(model, toolset), HooklinePlugin(hooks))
    try:
        events = await chat.say("Go on.")
    finally:
        await chat.runner.close()
    content, blocked = results(events)
    assert blocked == {"error": "never"}
    assert "content of a.txt" in str(content)
    assert content["additional_context"] == "a sandbox"
    context = seen[0]["mcp_context"]
    assert (context["tool_name"], context["command"]) == ("read", sys.executable)
    assert context["args"] == [str(path)]
    [after] = [event for event in seen if event["hook_event_name"] == "AfterTool"]
    assert after["tool_response"]["llmContent"][0]["text"] == "content of a.txt"


async def test_run_in_a_thread_and_run_async_are_guarded_alike() -> None:
    hooks, shell = Hooks(), Shell()
    hooks.on("BeforeTool")(lambda _: rewrite(command="ls -l"))
    chat = Chat(agent(Script(LS, "Done."), shell.tool), HooklinePlugin(hooks))
    await chat.service.create_session(app_name="app", user_id="user", session_id="chat")
    content = types.Content(role="user", parts=[types.Part(text="Go on.")])
    run = chat.runner.run
    given: Any = {"user_id": "user", "session_id": "chat", "new_message": content}
    events = await asyncio.to_thread(lambda: [*run(**given)])
    assert (shell.ran, texts(events)) == (["ls -l"], ["Done."])


@pytest.mark.parametrize("fails_closed", [True, False])
async def test_a_hook_that_fails_closed_blocks_and_one_that_fails_open_does_not(
    fails_closed: bool,
) -> None:
    hooks, shell = Hooks(), Shell()

    @hooks.on("BeforeTool", on_failure="block" if fails_closed else "allow")
    def broken(_event: Any) -> None:
        raise LookupError("lost")

    chat = Chat(agent(Script(LS, "Done."), shell.tool), HooklinePlugin(hooks))
    assert texts(await chat.say("Go on.")) == ["Done."]
    assert shell.ran == ([] if fails_closed else ["ls"])
