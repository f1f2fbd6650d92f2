"""Other plugins and callbacks beside the hooks: neither side silences the other."""

from typing import Any

import pytest
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.plugins.reflect_retry_tool_plugin import ReflectAndRetryToolPlugin
from google.adk.tools.agent_tool import AgentTool
from google.adk.tools.long_running_tool import LongRunningFunctionTool
from google.adk.workflow import START, Workflow
from google.genai import types

from hookline import Hooks, add_context, deny, rewrite, stop
from hookline.adapters.adk import HooklinePlugin
from tests.adapters.adk.models import (
    INNER_RUNNER,
    Chat,
    Script,
    Shell,
    agent,
    call,
    noting,
    results,
    texts,
)

SECRET = "swordfish"
LS = call("shell", command="ls")
NAMES = (
    *("on_user_message", "before_run", "after_run", "before_agent", "after_agent"),
    *("before_model", "after_model", "before_tool", "after_tool", "on_event"),
)


def say(text: str) -> LlmResponse:
    return LlmResponse(content=types.Content(role="model", parts=[types.Part(text=text)]))


class Other(BasePlugin):
    """Notes which of its callbacks ran, and returns what it is told to."""

    def __init__(self, **returned: Any) -> None:
        super().__init__("other")
        self.ran: list[str] = []
        self.seen: list[Any] = []
        for name in NAMES:
            setattr(self, f"{name}_callback", self._make(name, returned.get(name)))

    def _make(self, name: str, returned: Any) -> Any:
        async def run(**given: Any) -> Any:
            self.ran.append(name)
            self.seen.append((name, str(given)))
            return returned(given) if callable(returned) else returned

        return run


def order(ours: BasePlugin, other: BasePlugin, place: str) -> list[BasePlugin]:
    return [ours, other] if place == "first" else [other, ours]


either_place = pytest.mark.parametrize("place", ["first", "last"])


def redact(event: dict[str, Any]) -> Any:
    text = event["llm_response"].get("text", "").replace(SECRET, "[hidden]")
    return {"hookSpecificOutput": {"llm_response": {"text": text}}} if text else None


@either_place
async def test_callbacks_of_another_plugin_run_where_hooks_block_nothing(place: str) -> None:
    hooks, shell, other = Hooks(), Shell(), Other()
    hooks.on("BeforeAgent")(lambda _: add_context("today is Monday"))
    hooks.on("BeforeTool")(lambda _: rewrite(command="ls -l"))
    hooks.on("BeforeModel")(lambda _: {"hookSpecificOutput": {"llm_request": {"model": "small"}}})
    hooks.on("AfterModel")(redact)
    hooks.on("AfterTool")(lambda _: None)
    model = Script([f"I know {SECRET}.", LS], "Done.")
    chat = Chat(agent(model, shell.tool), *order(HooklinePlugin(hooks), other, place))
    events = await chat.say("Go on.")
    assert set(other.ran) == set(NAMES)
    assert other.ran.count("before_model") == other.ran.count("after_model") == 2
    assert shell.ran == ["ls -l"]
    assert texts(events) == ["I know [hidden].", "Done."]
    assert "today is Monday" in model.sent()
    if place == "first":
        assert SECRET not in str(other.seen), "a plugin behind the hooks sees what they took out"


@either_place
async def test_a_tool_result_of_another_plugin_is_seen_by_after_tool(place: str) -> None:
    """An answer before the tool, and one in the place of the tool's own."""
    for name in ("before_tool", "after_tool"):
        hooks, shell = Hooks(), Shell()
        hooks.on("AfterTool")(
            lambda event: deny("[removed]") if SECRET in str(event["tool_response"]) else None
        )
        other = Other(**{name: {"found": SECRET}})
        model = Script(LS, "Done.")
        chat = Chat(agent(model, shell.tool), *order(HooklinePlugin(hooks), other, place))
        events = await chat.say("Go on.")
        assert "[removed]" in model.sent(), name
        assert SECRET not in model.sent()
        assert SECRET not in await chat.stored()
        assert SECRET not in str(results(events))


@either_place
@pytest.mark.parametrize("name", ["before_model", "after_model"])
async def test_a_response_of_another_plugin_is_seen_by_after_model(place: str, name: str) -> None:
    hooks, shell = Hooks(), Shell()
    hooks.on("AfterModel")(redact)
    other = Other(**{name: lambda _: say(f"Cached: {SECRET}.")})
    root = agent(Script("Hello.", "Bye."), shell.tool, output_key="said")
    chat = Chat(root, *order(HooklinePlugin(hooks), other, place))
    events = await chat.say("Go on.")
    assert texts(events) == ["Cached: [hidden]."]
    assert await chat.state() == {"said": "Cached: [hidden]."}
    assert "swor" not in await chat.stored()


@either_place
async def test_a_denied_response_of_another_plugin_runs_no_call(place: str) -> None:
    hooks, shell = Hooks(), Shell()
    hooks.on("AfterModel")(lambda _: deny("not that"))
    answer = LlmResponse(content=types.Content(role="model", parts=[LS]))
    other = Other(before_model=lambda _: answer)
    chat = Chat(agent(Script(), shell.tool), *order(HooklinePlugin(hooks), other, place))
    assert texts(await chat.say("Go on.")) == ["not that"]
    assert shell.ran == []


async def test_callbacks_of_the_agent_itself_come_after_the_hooks_and_are_seen() -> None:
    hooks, shell = Hooks(), Shell()
    hooks.on("AfterModel")(redact)
    hooks.on("AfterTool")(
        lambda event: deny("[removed]") if SECRET in str(event["tool_response"]) else None
    )

    def after_tool(**_given: Any) -> dict[str, Any]:
        return {"found": SECRET}

    def after_model(callback_context: Any, llm_response: LlmResponse) -> LlmResponse | None:  # noqa: ARG001
        if texts([llm_response]) == ["Done."]:
            return None
        assert llm_response.content is not None
        parts = [types.Part(text=f"I say {SECRET}. "), *(llm_response.content.parts or [])]
        return LlmResponse(content=types.Content(role="model", parts=parts))

    model = Script(LS, "Done.")
    root = agent(
        model,
        shell.tool,
        after_tool_callback=after_tool,
        after_model_callback=after_model,
        output_key="said",
    )
    chat = Chat(root, HooklinePlugin(hooks))
    assert texts(await chat.say("Go on.")) == ["I say [hidden]. ", "Done."]
    assert await chat.state() == {"said": "I say [hidden]. Done."}
    assert "swor" not in await chat.stored()
    assert "[removed]" in model.sent()


async def test_an_answer_that_the_next_node_of_a_workflow_has_read_is_warned_of(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Strict mode ends the run before the next model is called."""
    for strict in (False, True):
        hooks = Hooks(strict=strict)
        hooks.on("AfterModel")(redact)
        one = agent(
            Script("Hello."), name="one", after_model_callback=lambda **_: say(f"It is {SECRET}.")
        )
        two = agent(Script("Bye."), name="two")
        chat = Chat(Workflow(name="both", edges=[(START, one, two)]), HooklinePlugin(hooks))
        events = await chat.say("Go on.")
        assert texts(events)[0] == "It is [hidden]."
        assert "swor" not in await chat.stored()
        assert isinstance(two.model, Script)
        assert bool(two.model.requests) is not strict
    assert "the next node of the workflow reads the unchanged answer" in caplog.text


@either_place
async def test_an_event_that_another_plugin_replaces_was_seen_before(place: str) -> None:
    hooks = Hooks()
    hooks.on("AfterModel")(redact)
    other = Other(on_event=lambda given: given["event"].model_copy())
    chat = Chat(agent(Script(f"It is {SECRET}.")), *order(HooklinePlugin(hooks), other, place))
    assert texts(await chat.say("Go on.")) == ["It is [hidden]."]


@either_place
async def test_a_message_that_another_plugin_changes_is_what_before_agent_sees(place: str) -> None:
    hooks, prompts = Hooks(), list[str]()
    hooks.on("BeforeAgent")(noting(prompts, "prompt", deny("refused")))
    changed = types.Content(role="user", parts=[types.Part(text="changed")])
    other = Other(on_user_message=changed)
    model = Script("Hello.", "Bye.")
    chat = Chat(agent(model), *order(HooklinePlugin(hooks), other, place))
    assert texts(await chat.say("Hi")) == ["refused"]
    assert prompts == (["Hi"] if place == "first" else ["changed"])
    assert not model.requests


@either_place
async def test_a_later_result_in_a_message_that_another_plugin_changes_is_seen(place: str) -> None:
    hooks = Hooks()
    hooks.on("AfterTool")(
        lambda event: deny("[removed]") if SECRET in str(event["tool_response"]) else None
    )

    def approve() -> dict[str, str]:
        """Have something approved."""
        return {"status": "pending"}

    model = Script(call("approve", "call-1"), "Waiting.", "Done.")
    other = Other(on_user_message=lambda given: given["user_message"].model_copy())
    root = agent(model, LongRunningFunctionTool(approve))
    chat = Chat(root, *order(HooklinePlugin(hooks), other, place))
    await chat.say("Go on.")
    response = types.FunctionResponse(id="call-1", name="approve", response={"by": SECRET})
    for message in (types.Part(function_response=response), "Who was it?"):
        await chat.say(message)
        assert "[removed]" in model.sent()
        assert SECRET not in model.sent()


@either_place
async def test_a_tool_that_another_plugin_has_tried_again_fires_after_tool_each_time(
    place: str,
) -> None:
    hooks, tries = Hooks(), list[int]()
    seen: list[Any] = []
    hooks.on("AfterTool")(lambda event: seen.append(event["tool_response"]))

    def flaky() -> str:
        """Try."""
        tries.append(1)
        if len(tries) == 1:
            raise OSError("the disk is full")
        return "done"

    model = Script(call("flaky"), call("flaky"), "Done.")
    other = ReflectAndRetryToolPlugin(max_retries=2)
    chat = Chat(agent(model, flaky), *order(HooklinePlugin(hooks), other, place))
    assert texts(await chat.say("Go on.")) == ["Done."]
    assert "the disk is full" in str(seen[0])
    assert seen[-1]["llmContent"] == "done"


async def test_a_request_that_another_plugin_changes_is_what_hooks_see() -> None:
    hooks = Hooks()
    hooks.on("BeforeModel")(
        lambda event: deny("not that") if SECRET in str(event["llm_request"]) else None
    )

    def add(given: dict[str, Any]) -> None:
        request: LlmRequest = given["llm_request"]
        content = types.Content(role="user", parts=[types.Part(text=SECRET)])
        request.contents.append(content)

    chat = Chat(agent(Script("Hello.")), Other(before_model=add), HooklinePlugin(hooks))
    assert texts(await chat.say("Go on.")) == ["not that"]


async def test_two_plugins_of_hooks_both_hold() -> None:
    one, two, shell = Hooks(), Hooks(), Shell()
    one.on("BeforeTool")(
        lambda event: deny("one") if event["tool_input"]["command"] == "ls" else None
    )
    two.on("BeforeTool")(lambda _: deny("two"))
    model = Script([LS, call("shell", command="date")], "Done.")
    plugins = [HooklinePlugin(one), HooklinePlugin(two, name="second")]
    events = await Chat(agent(model, shell.tool), *plugins).say("Go on.")
    assert results(events) == [{"error": "one"}, {"error": "two"}]


@either_place
async def test_one_plugin_of_hooks_sends_back_what_the_other_has_seen(place: str) -> None:
    one, two = Hooks(), Hooks()
    one.on("AfterModel")(redact)
    two.on("AfterAgent")(lambda event: None if event["stop_hook_active"] else deny("again"))
    root = agent(Script("One.", "Two."), after_model_callback=lambda **_: say(f"It is {SECRET}."))
    plugins = order(HooklinePlugin(one), HooklinePlugin(two, name="second"), place)
    chat = Chat(root, *plugins)
    assert texts(await chat.say("Go on.")) == ["It is [hidden]."] * 2
    assert SECRET not in await chat.stored()


@INNER_RUNNER
async def test_a_stop_of_one_plugin_of_hooks_inside_an_agent_that_is_a_tool_ends_all() -> None:
    one, two, shell, prompts = Hooks(), Hooks(), Shell(), list[str]()
    one.on("BeforeAgent")(noting(prompts, "prompt", None))
    one.on("BeforeTool", matcher="shell")(lambda _: stop("enough for today"))
    helper = agent(Script(LS, "I may not."), shell.tool, name="helper")
    model = Script(call("helper", request="look"), "Done.")
    plugins = [HooklinePlugin(one), HooklinePlugin(two, name="second")]
    events = await Chat(agent(model, AgentTool(helper)), *plugins).say("Go on.")
    assert texts(events) == ["enough for today"]
    assert prompts == ["Go on."]


async def test_a_plugin_can_be_made_of_its_name_alone() -> None:
    plugin = HooklinePlugin(name="hookline.adapters.adk.HooklinePlugin")
    assert plugin.name == "hookline.adapters.adk.HooklinePlugin"
    await plugin.close()
