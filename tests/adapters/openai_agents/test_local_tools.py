"""Tools that are no functions and run on this machine, and those that run elsewhere."""

from typing import Any

import pytest
from agents import (
    Agent,
    ApplyPatchTool,
    AsyncComputer,
    ComputerTool,
    CustomTool,
    LocalShellTool,
    RunConfig,
    Runner,
    RunState,
    ShellCallOutcome,
    ShellCommandOutput,
    ShellResult,
    ShellTool,
    WebSearchTool,
    function_tool,
)
from agents.editor import ApplyPatchOperation, ApplyPatchResult
from agents.run import AgentRunner, get_default_agent_runner, set_default_agent_runner
from openai.types.responses import (
    ResponseApplyPatchToolCall,
    ResponseComputerToolCall,
    ResponseCustomToolCall,
    ResponseFunctionShellToolCall,
)
from openai.types.responses.response_output_item import LocalShellCall

from hookline import Hooks, add_context, ask, combine, deny, replace_result, rewrite, stop
from hookline.adapters.openai_agents import hooked, read_question
from hookline.errors import HooklineError
from tests.adapters.openai_agents.playing import call, note, script

SHELL = ResponseFunctionShellToolCall.model_validate(
    {
        "type": "shell_call",
        "id": "sh",
        "call_id": "1",
        "status": "completed",
        "action": {"commands": ["ls"], "max_output_length": None, "timeout_ms": 5},
    }
)
LOCAL = LocalShellCall.model_validate(
    {
        "type": "local_shell_call",
        "id": "lsh",
        "call_id": "1",
        "status": "completed",
        "action": {"type": "exec", "command": ["ls"], "env": {}},
    }
)
CUSTOM = ResponseCustomToolCall(type="custom_tool_call", call_id="1", name="poem", input="sea")
PATCH = ResponseApplyPatchToolCall.model_validate(
    {
        "type": "apply_patch_call",
        "id": "ap",
        "call_id": "1",
        "status": "completed",
        "operation": {"type": "create_file", "path": "a.txt", "diff": "+a"},
    }
)


class Recorder:
    """A tool of each kind; ``ran`` is what they were called with."""

    def __init__(self) -> None:
        self.ran: list[Any] = []

    def make(self, kind: str) -> Any:
        def shell(request: Any) -> ShellResult:
            self.ran.append(request.data.action.commands)
            outcome = ShellCallOutcome(type="exit", exit_code=0)
            return ShellResult([ShellCommandOutput(stdout="fine", outcome=outcome)])

        def local_shell(request: Any) -> str:
            self.ran.append(request.data.action.command)
            return "fine"

        async def custom(_ctx: Any, text: str) -> str:
            self.ran.append(text)
            return "fine"

        tools = {
            "shell": ShellTool(executor=shell),
            "local_shell": LocalShellTool(executor=local_shell),
            "poem": CustomTool(name="poem", description="", on_invoke_tool=custom),
            "apply_patch": ApplyPatchTool(editor=self),
        }
        return tools[kind]

    def create_file(self, operation: ApplyPatchOperation) -> ApplyPatchResult:
        self.ran.append(operation.path)
        return ApplyPatchResult(status="completed", output="fine")

    update_file = delete_file = create_file


CALLS: dict[str, Any] = {
    "shell": (SHELL, {"commands": ["ls"], "timeout_ms": 5}, {"commands": ["ls -l"]}, ["ls -l"]),
    "local_shell": (LOCAL, {"command": ["ls"], "env": {}}, {"command": ["ls", "-l"]}, ["ls", "-l"]),
    "poem": (CUSTOM, {"input": "sea"}, {"input": "sky"}, "sky"),
    "apply_patch": (
        PATCH,
        {"type": "create_file", "path": "a.txt", "diff": "+a"},
        {"path": "b.txt"},
        "b.txt",
    ),
}
each_kind = pytest.mark.parametrize("kind", CALLS)


def play(kind: str, hooks: Hooks) -> tuple[Recorder, Any, Any]:
    recorder, model = Recorder(), script(CALLS[kind][0], "Done.")
    agent = hooked(Agent(name="a", model=model, tools=[recorder.make(kind)]), hooks)
    return recorder, model, agent


def read(model: Any) -> str:
    """What the model read of the call."""
    return str([item for item in model.calls[-1].input if "output" in item.get("type", "")])


@each_kind
async def test_before_and_after_tool_see_it(kind: str) -> None:
    hooks = Hooks()
    seen = note(hooks, "BeforeTool", "AfterTool")
    recorder, model, agent = play(kind, hooks)
    assert (await Runner.run(agent, "Go on.")).final_output == "Done."
    before, after = seen
    assert (before["tool_name"], before["tool_input"]) == (kind, CALLS[kind][1])
    assert after["tool_response"]["llmContent"] == "fine"
    assert len(recorder.ran) == 1
    assert "fine" in read(model)


@each_kind
async def test_it_is_denied_rewritten_replaced_added_to_and_stopped(kind: str) -> None:
    hooks = Hooks()
    hooks.on("BeforeTool")(lambda _event: deny("not here"))
    recorder, model, agent = play(kind, hooks)
    await Runner.run(agent, "Go on.")
    assert recorder.ran == []
    assert "not here" in read(model)

    hooks = Hooks()
    hooks.on("BeforeTool")(lambda _event: rewrite(**CALLS[kind][2]))
    hooks.on("AfterTool")(lambda _event: add_context("a sandbox"))
    recorder, model, agent = play(kind, hooks)
    await Runner.run(agent, "Go on.")
    assert recorder.ran == [CALLS[kind][3]]
    assert "fine" in read(model)
    assert "a sandbox" in read(model)

    hooks = Hooks()
    hooks.on("AfterTool")(lambda _event: replace_result("[removed]"))
    recorder, model, agent = play(kind, hooks)
    await Runner.run(agent, "Go on.")
    assert "[removed]" in read(model)
    assert "fine" not in read(model)

    hooks = Hooks()
    hooks.on("BeforeTool")(lambda _event: stop("enough"))
    recorder, model, agent = play(kind, hooks)
    assert (await Runner.run(agent, "Go on.")).final_output == "enough"
    assert recorder.ran == []


@pytest.mark.parametrize("approved", [True, False])
@each_kind
async def test_it_is_asked_about_once_or_blocked_where_the_sdk_cannot_ask(
    kind: str, approved: bool
) -> None:
    hooks = Hooks()
    hooks.on("BeforeTool")(lambda _event: combine(ask("really?"), rewrite(**CALLS[kind][2])))
    before = note(hooks, "BeforeTool")
    recorder, model, agent = play(kind, hooks)
    result = await Runner.run(agent, "Go on.")
    assert recorder.ran == []
    if kind == "local_shell":
        assert "nobody can be asked" in read(model)
        return
    state = await RunState.from_string(agent, result.to_state().to_string())
    (item,) = state.get_interruptions()
    question = read_question(item)
    assert question is not None
    assert question.tool_input == {**CALLS[kind][1], **CALLS[kind][2]}
    if approved:
        state.approve(item)
    else:
        state.reject(item)
    assert (await Runner.run(agent, state)).final_output == "Done."
    assert recorder.ran == ([CALLS[kind][3]] if approved else [])
    assert len(before) == 1


async def test_a_model_cannot_forge_what_hooks_answered_to_a_shell() -> None:
    given = CALLS["shell"][1]
    mark = {"tool_name": "shell", "tool_input": given, "answered": {}}
    forged = SHELL.model_copy(update={"hookline": mark})
    hooks = Hooks()
    # No hook has a say in the model: its response goes past them.
    hooks.on("BeforeTool", matcher="shell")(lambda _event: rewrite(commands=["ls -l"]))
    recorder, model = Recorder(), script(forged, "Done.")
    tool = recorder.make("shell")
    tool.needs_approval = True
    agent = hooked(Agent(name="a", model=model, tools=[tool]), hooks)
    result = await Runner.run(agent, "Go on.")
    state = await RunState.from_string(agent, result.to_state().to_string())
    state.approve(state.get_interruptions()[0])
    await Runner.run(agent, state)
    assert recorder.ran == [["ls -l"]]


async def test_what_hooks_add_to_a_shell_that_printed_nothing_is_read() -> None:
    hooks = Hooks()
    hooks.on("AfterTool")(lambda _event: add_context("a sandbox"))
    model, tool = script(SHELL, "Done."), ShellTool(executor=lambda _request: ShellResult([]))
    await Runner.run(hooked(Agent(name="a", model=model, tools=[tool]), hooks), "Go on.")
    assert "'stdout': 'a sandbox'" in read(model)


async def test_hooks_read_all_that_a_shell_prints_and_add_to_the_last_of_it() -> None:
    hooks = Hooks()
    hooks.on("AfterTool")(lambda _event: add_context("a sandbox"))
    after = note(hooks, "AfterTool")
    printed = [
        ShellCommandOutput(stdout="first"),
        ShellCommandOutput(stdout="second", stderr="oh"),
    ]
    model, tool = script(SHELL, "Done."), ShellTool(executor=lambda _request: ShellResult(printed))
    await Runner.run(hooked(Agent(name="a", model=model, tools=[tool]), hooks), "Go on.")
    assert after[0]["tool_response"]["llmContent"] == "first\nsecond\noh"
    assert read(model).count("'stdout': 'first'") == 1
    assert "'stdout': 'second\\n\\na sandbox'" in read(model)


@pytest.mark.parametrize("answer", [None, replace_result("[removed]")])
async def test_after_tool_reads_the_error_of_a_shell_and_may_replace_it(answer: Any) -> None:
    def fail(_request: Any) -> ShellResult:
        raise OSError("the disk is full")

    hooks = Hooks()
    hooks.on("AfterTool")(lambda _event: answer)
    after = note(hooks, "AfterTool")
    model = script(SHELL, "Done.")
    agent = hooked(Agent(name="a", model=model, tools=[ShellTool(executor=fail)]), hooks)
    assert (await Runner.run(agent, "Go on.")).final_output == "Done."
    assert "the disk is full" in after[0]["tool_response"]["error"]["message"]
    assert ("the disk is full" in read(model)) == (answer is None)
    assert ("[removed]" in read(model)) == (answer is not None)


@pytest.mark.parametrize(
    ("event", "answer", "status"),
    [
        ("BeforeTool", deny("not here"), "failed"),
        ("AfterTool", add_context("a sandbox"), "completed"),
        ("AfterTool", replace_result("[removed]"), "failed"),
    ],
)
async def test_a_patch_is_completed_unless_hooks_refuse_it(
    event: str, answer: Any, status: str
) -> None:
    hooks = Hooks()
    hooks.on(event)(lambda _event: answer)
    _recorder, model, agent = play("apply_patch", hooks)
    await Runner.run(agent, "Go on.")
    assert f"'status': '{status}'" in read(model)


@each_kind
async def test_a_run_that_another_runner_began_is_noticed_where_hooks_do_not_see_its_model(
    kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    hooks = Hooks()
    seen = note(hooks, "BeforeTool")
    _, model, agent = play(kind, hooks)
    before = get_default_agent_runner()
    set_default_agent_runner(AgentRunner())
    try:
        await Runner.run(agent, "Go on.", run_config=RunConfig(model=model))
    finally:
        set_default_agent_runner(before)
    assert caplog.text.count("did not begin with hookline's runner") == 1
    assert len(seen) == 1


@each_kind
async def test_it_is_refused_where_hooks_restrict_the_tools(kind: str) -> None:
    hooks = Hooks()
    chosen = {"toolConfig": {"mode": "NONE"}}
    hooks.on("BeforeToolSelection")(lambda _event: {"hookSpecificOutput": chosen})
    recorder, model, agent = play(kind, hooks)
    await Runner.run(agent, "Go on.")
    assert recorder.ran == []
    assert model.calls[0].tools == []
    assert f"The tool {kind} is not allowed" in read(model)


class Screen(AsyncComputer):
    async def screenshot(self) -> str:
        return ""

    async def click(self, *_args: Any) -> None: ...
    async def double_click(self, *_args: Any) -> None: ...
    async def scroll(self, *_args: Any) -> None: ...
    async def type(self, *_args: Any) -> None: ...
    async def wait(self) -> None: ...
    async def move(self, *_args: Any) -> None: ...
    async def keypress(self, *_args: Any) -> None: ...
    async def drag(self, *_args: Any) -> None: ...


@pytest.mark.parametrize("strict", [False, True])
async def test_a_computer_is_warned_of_and_refused_in_strict_mode(
    strict: bool, caplog: pytest.LogCaptureFixture
) -> None:
    def run(matcher: str, event: str = "BeforeTool") -> Any:
        hooks = Hooks(strict=strict)
        hooks.on(event, matcher=matcher)(lambda _event: None)
        tools: list[Any] = [ComputerTool(computer=Screen())]
        return Runner.run(hooked(Agent(name="a", model=script("Hi."), tools=tools), hooks), "Hi.")

    assert (await run("shell")).final_output == "Hi."
    assert "ComputerTool" not in caplog.text
    for number, event in enumerate(("BeforeTool", "AfterTool"), start=1):
        if strict:
            with pytest.raises(HooklineError, match="ComputerTool"):
                await run(".*", event)
        else:
            assert (await run(".*", event)).final_output == "Hi."
            assert caplog.text.count("remove ComputerTool from the agent") == number


CLICK = ResponseComputerToolCall.model_validate(
    {
        "type": "computer_call",
        "id": "c",
        "call_id": "1",
        "status": "completed",
        "action": {"type": "screenshot"},
        "pending_safety_checks": [],
    }
)


async def test_a_computer_is_not_used_where_hooks_restrict_the_tools_or_stop_beside_it() -> None:
    hooks = Hooks()
    chosen = {"toolConfig": {"mode": "NONE"}}
    hooks.on("BeforeToolSelection")(lambda _event: {"hookSpecificOutput": chosen})
    tools: list[Any] = [ComputerTool(computer=Screen())]
    agent: Agent[Any] = Agent(name="a", model=script(CLICK), tools=tools)
    result = await Runner.run(hooked(agent, hooks), "Hi.")
    assert result.final_output == "The tool computer_use_preview is not allowed in this call."

    hooks = Hooks()
    hooks.on("BeforeTool", matcher="look")(lambda _event: stop("enough"))
    tools.append(function_tool(lambda: "ok", name_override="look"))
    agent = Agent(name="a", model=script([CLICK, call("look")]), tools=tools)
    result = await Runner.run(hooked(agent, hooks), "Hi.")
    assert result.final_output == "enough"
    assert [item["type"] for item in result.to_input_list()[1:]] == ["message"]


async def test_what_the_provider_runs_itself_is_offered_unless_hooks_take_it_away() -> None:
    hooks = Hooks()
    seen = note(hooks, "BeforeTool", "BeforeToolSelection")
    model = script("Done.")
    agent: Agent[Any] = Agent(name="a", model=model, tools=[WebSearchTool()])
    await Runner.run(hooked(agent, hooks), "Hi.")
    assert [e["hook_event_name"] for e in seen] == ["BeforeToolSelection"]
    assert [tool.name for tool in model.calls[0].tools] == ["web_search"]
