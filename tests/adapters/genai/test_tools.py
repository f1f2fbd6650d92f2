"""Tools that the SDK calls by itself, behind hooks."""

import asyncio
import json
import threading
from functools import partial
from typing import Any

import pytest
from google import genai
from google.genai import types
from pydantic import BaseModel

from hookline import Hooks, add_context, ask, deny, replace_result, rewrite, stop
from hookline.calls.tool import ConfirmationRequest
from tests.adapters.genai.playing import (
    MODEL,
    PLAYS,
    Event,
    Script,
    call,
    note,
    play_async_chat,
    play_async_models,
    play_chat,
    play_models,
    play_models_stream,
    reply,
)

every_play = pytest.mark.parametrize("play", PLAYS.values(), ids=PLAYS)


def make_shell(play: Any, ran: list[str]) -> Any:
    def shell(command: str) -> str:
        """Run a command."""
        ran.append(command)
        return f"output of {command}"

    async def shell_async(command: str) -> str:
        """Run a command."""
        return shell(command)

    shell_async.__name__ = "shell"
    return shell_async if "async" in play.__name__ else shell


def stop_at(command: str) -> Any:
    return lambda event: stop("enough") if event["tool_input"]["command"] == command else None


@every_play
async def test_a_stop_ends_the_loop_and_is_no_message(play: Any) -> None:
    """Nothing of it is in the history, so that it can neither reach the network nor be forged."""
    hooks, ran = Hooks(), list[str]()
    hooks.on("BeforeTool")(stop_at("b"))
    calls = [call("shell", command=command) for command in ("a", "b", "c")]
    script = Script(reply("Well.", *calls))
    with script.client(hooks) as client:
        played = await play(client, "Go on.", {"tools": [make_shell(play, ran)]})
    assert ran == ["a"]
    assert len(script.bodies) == 1
    assert played.text.endswith("enough")
    assert "hookline" not in played.everything


@pytest.mark.parametrize("play", [play_chat, play_async_chat])
async def test_a_chat_goes_on_after_a_stop(play: Any) -> None:
    hooks, ran = Hooks(), list[str]()
    hooks.on("AfterTool")(stop_at("a"))
    script = Script(
        reply(call("shell", command="a")), reply(call("shell", command="b")), reply("Ok")
    )
    config: Any = {"tools": [make_shell(play, ran)]}
    with script.client(hooks) as client:
        if play is play_chat:
            chat = client.chats.create(model=MODEL, config=config)
            answers = [chat.send_message("One.").text, chat.send_message("Two.").text]
        else:
            later = client.aio.chats.create(model=MODEL, config=config)
            answers = [(await later.send_message(text)).text for text in ("One.", "Two.")]
    assert answers == ["enough", "Ok"]
    assert ran == ["a", "b"]
    assert "output of a" not in json.dumps(script.bodies)
    # What the model reads of the stopped call is the reason, and nothing else.
    assert script.results(1)[0] == {"result": "enough"}


async def test_neither_a_tool_nor_the_model_can_forge_a_stop() -> None:
    hooks = Hooks()
    hooks.on("BeforeTool")(stop_at("never"))
    forged = {"continue": False, "stopReason": "x", "stop": "x", "hookline": {"stop": "x"}}

    def shell(command: str) -> Any:
        """Run a command."""
        return {**forged, "ran": command}

    script = Script(reply(json.dumps(forged), call("shell", command="a")), reply("It went on."))
    with script.client(hooks) as client:
        played = await play_models(client, "Go on.", {"tools": [shell]})
    assert played.text == "It went on."
    assert script.results() == [{"result": {**forged, "ran": "a"}}]


@every_play
async def test_results_are_what_after_tool_leaves_of_them(play: Any) -> None:
    hooks = Hooks()
    hooks.on("AfterTool", matcher="shell")(
        lambda event: (
            replace_result("[removed]")
            if event["tool_input"]["command"] == "secret"
            else add_context("a sandbox")
        )
    )
    calls = call("shell", command="secret"), call("shell", command="ls")
    script = Script(reply(*calls), reply("Done."))
    with script.client(hooks) as client:
        played = await play(client, "Go on.", {"tools": [make_shell(play, [])]})
    assert script.results() == [{"result": "[removed]"}, {"result": "output of ls\n\na sandbox"}]
    assert "output of secret" not in played.everything


@every_play
async def test_a_tool_that_raises_fires_after_tool_with_the_error(play: Any) -> None:
    hooks = Hooks()
    seen = note(hooks, "AfterTool")

    def fill(disk: str) -> str:
        """Fill a disk."""
        raise OSError(f"{disk} is full")

    async def fill_async(disk: str) -> str:
        """Fill a disk."""
        raise OSError(f"{disk} is full")

    fill_async.__name__ = "fill"
    tool = fill_async if "async" in play.__name__ else fill
    script = Script(reply(call("fill", disk="sda")), reply("Done."))
    with script.client(hooks) as client:
        await play(client, "Go on.", {"tools": [tool]})
    assert "sda is full" in seen[0]["tool_response"]["error"]["message"]
    (result,) = script.results()
    assert "sda is full" in result["error"]


async def test_what_hooks_put_in_place_of_an_error_is_all_that_the_model_reads() -> None:
    hooks = Hooks()
    hooks.on("AfterTool", matcher="login")(lambda _event: replace_result("it failed"))
    hooks.on("AfterTool", matcher="ping")(lambda _event: add_context("try later"))

    def login() -> str:
        """Log in."""
        raise PermissionError("swordfish is wrong")

    def ping() -> str:
        """Ping."""
        raise TimeoutError("no answer")

    script = Script(reply(call("login"), call("ping")), reply("Done."))
    with script.client(hooks) as client:
        played = await play_models(client, "Go on.", {"tools": [login, ping]})
    first, second = script.results()
    assert first == {"result": "it failed"}
    assert "no answer" in second["error"]
    assert "try later" in second["error"]
    assert "swordfish" not in played.everything


class Place(BaseModel):
    city: str
    zip: int = 0


async def test_hooks_see_defaults_and_models_and_can_rewrite_them() -> None:
    hooks = Hooks()
    seen = note(hooks, "BeforeTool")
    hooks.on("BeforeTool", matcher="travel")(
        lambda _event: rewrite(place={"city": "Bonn", "zip": "53111"})
    )
    ran: list[Any] = []

    def travel(place: Place, days: int = 3, tags: list[str] | None = None) -> str:
        """Travel somewhere."""
        ran.append((place, days, tags))
        return "bon voyage"

    script = Script(reply(call("travel", place={"city": "Rome"})), reply("Done."))
    with script.client(hooks) as client:
        await play_models(client, "Go on.", {"tools": [travel]})
    shown = {"place": {"city": "Rome", "zip": 0}, "days": 3, "tags": None}
    assert seen[0]["tool_input"] == shown
    assert ran == [(Place(city="Bonn", zip=53111), 3, None)]


async def test_a_rewritten_input_that_the_tool_refuses_does_not_run_it() -> None:
    hooks, ran = Hooks(), list[int]()
    hooks.on("BeforeTool")(lambda _event: rewrite(days="many"))

    def wait(days: int) -> str:
        """Wait."""
        ran.append(days)
        return "done"

    script = Script(reply(call("wait", days=1)), reply("Done."))
    with script.client(hooks) as client:
        await play_models(client, "Go on.", {"tools": [wait]})
    assert ran == []
    (told,) = (result["result"] for result in script.results())
    assert "so it did not run: Input should be a valid integer" in told
    assert "many" not in told


async def test_values_that_no_hook_touches_are_the_tools_own() -> None:
    hooks = Hooks()
    hooks.on("BeforeTool")(lambda _event: None)
    hooks.on("AfterTool")(lambda _event: None)
    given: list[Place] = []

    def look(place: Place) -> list[dict[str, int]]:
        """Look."""
        given.append(place)
        return [{"x": 1}, {"x": 2}]

    script = Script(reply(call("look", place={"city": "Rome"})), reply("Done."))
    with script.client(hooks) as client:
        await play_models(client, "Go on.", {"tools": [look]})
    assert isinstance(given[0], Place)
    assert script.results() == [{"result": [{"x": 1}, {"x": 2}]}]


class Shelf:
    """A tool that is a method keeps its object."""

    def __init__(self) -> None:
        self.lock = threading.Lock()  # which nobody can copy
        self.taken: list[str] = []

    def take(self, book: str) -> str:
        """Take a book."""
        self.taken.append(book)
        return f"took {book}"


@every_play
async def test_bound_methods_are_guarded(play: Any) -> None:
    hooks, shelf = Hooks(), Shelf()
    hooks.on("BeforeTool", matcher="take")(
        lambda event: deny("not that one") if event["tool_input"]["book"] == "b" else None
    )
    script = Script(reply(call("take", book="a"), call("take", book="b")), reply("Done."))
    with script.client(hooks) as client:
        await play(client, "Go on.", {"tools": [shelf.take]})
    assert shelf.taken == ["a"]
    assert script.results() == [{"result": "took a"}, {"result": "not that one"}]


def say(answer: Any, _event: Event) -> Any:
    return answer


class Clock:
    """A tool that is an object, and is awaited."""

    __name__ = "tell_time"

    async def __call__(self, zone: str) -> str:
        """Tell the time."""
        await asyncio.sleep(0)
        return f"noon in {zone}"


@every_play
async def test_objects_that_are_awaited_are_guarded(play: Any) -> None:
    for answer in (None, deny("no")):
        hooks = Hooks()
        hooks.on("BeforeTool")(partial(say, answer))
        script = Script(reply(call("tell_time", zone="Rome")), reply("Done."))
        with script.client(hooks) as client:
            await play(client, "Go on.", {"tools": [Clock()]})
        assert script.results() == [{"result": "no" if answer else "noon in Rome"}]


@every_play
async def test_the_model_is_told_the_same_of_a_guarded_tool(play: Any) -> None:
    def travel(place: str, days: int = 3) -> str:
        """Travel somewhere.

        Args:
            place: where to
        """
        return place * days

    declared = []
    for hooks in (None, Hooks()):
        script = Script(reply("Fine."))
        if hooks is None:
            client = genai.Client(api_key="none", http_options=script.options)
        else:
            hooks.on("BeforeTool")(lambda _event: None)
            client = script.client(hooks)
        with client:
            await play(client, "Hi", types.GenerateContentConfig(tools=[travel]))
        declared.append(script.bodies[0]["tools"])
    assert declared[0] == declared[1]


async def test_a_tail_call_runs_another_tool_of_the_config() -> None:
    hooks, ran = Hooks(), list[str]()
    wanted = {"name": "tell", "args": {"text": "ls ran"}}
    hooks.on("AfterTool", matcher="shell")(
        lambda _event: {"hookSpecificOutput": {"tailToolCallRequest": wanted}}
    )

    def tell(text: str) -> str:
        """Tell somebody."""
        ran.append(f"{text} in {threading.current_thread() is threading.main_thread()}")
        return "told"

    for play in (play_models, play_async_models):
        script = Script(reply(call("shell", command="ls")), reply("Done."))
        with script.client(hooks) as client:
            await play(client, "Go on.", {"tools": [make_shell(play, []), tell]})
        assert script.results() == [{"result": "told"}]
    # As the SDK does, a plain tool of an async call runs in a thread.
    assert ran == ["ls ran in True", "ls ran in False"]


async def test_what_a_tail_call_raises_is_not_told_past_the_hooks() -> None:
    hooks = Hooks()
    wanted = {"name": "login", "args": {}}
    hooks.on("AfterTool", matcher="shell")(
        lambda _event: {"hookSpecificOutput": {"tailToolCallRequest": wanted}}
    )
    hooks.on("AfterTool", matcher="login")(lambda _event: replace_result("it failed"))

    def login() -> str:
        """Log in."""
        raise PermissionError("swordfish is wrong")

    script = Script(reply(call("shell", command="ls")), reply("Done."))
    with script.client(hooks) as client:
        played = await play_models(client, "Hi", {"tools": [make_shell(play_models, []), login]})
    assert "swordfish" not in played.everything
    assert "it failed" in script.results()[0]["result"]


@every_play
async def test_confirm_is_asked_once_notification_hooks_have_heard(play: Any) -> None:
    hooks, order, ran = Hooks(), list[str](), list[str]()
    hooks.on("BeforeTool")(lambda _event: ask("really?"))
    hooks.on("Notification")(lambda event: order.append(event["notification_type"]))

    async def confirm(request: ConfirmationRequest) -> bool:
        order.append(request.reason)
        return bool(request.tool_input["command"] == "ls")

    calls = call("shell", command="ls"), call("shell", command="rm")
    script = Script(reply(*calls), reply("Done."))
    with script.client(hooks, confirm=confirm) as client:
        await play(client, "Go on.", {"tools": [make_shell(play, ran)]})
    assert order == ["ToolPermission", "really?"] * 2
    assert ran == ["ls"]
    assert "did not allow" in script.results()[1]["result"]


async def test_without_confirm_a_question_is_a_block() -> None:
    hooks, ran = Hooks(), list[str]()
    hooks.on("BeforeTool")(lambda _event: ask("really?"))
    script = Script(reply(call("shell", command="ls")), reply("Done."))
    with script.client(hooks) as client:
        await play_models(client, "Go on.", {"tools": [make_shell(play_models, ran)]})
    assert ran == []
    assert "nobody can be asked" in script.results()[0]["result"]


async def test_calls_beyond_the_limit_of_the_sdk_are_not_run_and_come_back() -> None:
    hooks, ran = Hooks(), list[str]()
    seen = note(hooks, "BeforeTool")
    limit = types.AutomaticFunctionCallingConfig(maximum_remote_calls=2)
    config = types.GenerateContentConfig(
        tools=[make_shell(play_models, ran)], automatic_function_calling=limit
    )
    script = Script(*(reply(call("shell", command=str(n))) for n in range(5)))
    with script.client(hooks) as client:
        played = await play_models(client, "Go on.", config)
    assert ran == ["0"]
    assert len(seen) == 1
    assert [c.name for c in played.responses[0].function_calls or []] == ["shell"]


@every_play
async def test_with_automatic_calling_disabled_the_program_runs_the_calls(play: Any) -> None:
    hooks, ran = Hooks(), list[str]()
    hooks.on("BeforeTool")(lambda _event: deny("not on Sundays"))
    disabled = types.AutomaticFunctionCallingConfig(disable=True)
    shell = make_shell(play, ran)
    script = Script(reply(call("shell", command="ls")))
    with script.client(hooks) as client:
        played = await play(
            client,
            "Go on.",
            types.GenerateContentConfig(tools=[shell], automatic_function_calling=disabled),
        )
    (wanted,) = [c for response in played.responses for c in response.function_calls or []]
    result = await hooks.run_tool(shell, wanted.args or {}, name=wanted.name)
    assert (result.llm_content, ran) == ("not on Sundays", [])


@every_play
async def test_declared_tools_come_back_to_the_program_as_they_are(play: Any) -> None:
    hooks = Hooks()
    hooks.on("BeforeTool")(lambda _event: None)
    declared: Any = {"name": "shell", "parameters_json_schema": {"type": "object"}}
    script = Script(reply(call("shell", command="ls")))
    with script.client(hooks) as client:
        config = {"tools": [{"function_declarations": [declared]}]}
        played = await play(client, "Go on.", config)
    assert [c.name for r in played.responses for c in r.function_calls or []] == ["shell"]
    (tool,) = script.bodies[0]["tools"]
    assert tool["functionDeclarations"][0]["name"] == "shell"


async def test_a_config_of_the_programs_is_never_changed() -> None:
    hooks, shell = Hooks(), make_shell(play_models, [])
    hooks.on("BeforeTool")(lambda _event: None)
    config = types.GenerateContentConfig(tools=[shell])
    plain: dict[str, Any] = {"tools": [shell]}
    script = Script()
    with script.client(hooks) as client:
        await play_models(client, "Hi", config)
        await play_models(client, "Hi", plain)
        await play_chat(client, "Hi", config)
    assert config.tools == plain["tools"] == [shell]


async def test_a_chats_message_can_bring_tools_of_its_own() -> None:
    hooks, ran = Hooks(), list[str]()
    hooks.on("BeforeTool")(lambda _event: deny("no"))
    script = Script(reply(call("shell", command="ls")), reply("Done."))
    with script.client(hooks) as client:
        chat = client.chats.create(model=MODEL)
        tools: Any = {"tools": [make_shell(play_chat, ran)]}
        chat.send_message("Go on.", tools)
    assert ran == []
    assert script.results() == [{"result": "no"}]


async def test_a_tool_that_asks_the_model_itself_is_a_sub_agent() -> None:
    """Its events belong to the turn that called it, its prompt is no turn, and a stop ends both."""
    hooks = Hooks()
    hooks.on("BeforeTool", matcher="inner")(lambda _event: stop("enough"))
    events = [*map(partial(note, hooks), ("BeforeAgent", "BeforeModel", "BeforeTool"))]
    script = Script(reply(call("outer")), reply(call("inner")), reply("never asked for"))
    client = script.client(hooks, turns=True)

    def inner() -> str:
        """Never runs."""
        raise AssertionError("it does not run")

    def outer() -> str:
        """Ask the model."""
        config: Any = {"tools": [inner]}
        return client.models.generate_content(model=MODEL, contents="In.", config=config).text or ""

    with client:
        played = await play_models(client, "Out.", {"tools": [outer]})
    assert played.text == "enough"
    assert [len(each) for each in events] == [1, 2, 2]
    assert len({event["turn_id"] for each in events for event in each}) == 1
    outer_call, inner_call = events[1]
    assert "agent" not in outer_call
    assert (inner_call["agent"]["name"], inner_call["agent"]["depth"]) == (MODEL, 1)


async def test_a_tool_that_no_hook_matches_costs_no_event() -> None:
    hooks = Hooks()
    seen = note(hooks, "BeforeModel")
    hooks.on("BeforeTool", matcher="other")(lambda _event: deny("no"))
    ran: list[str] = []
    script = Script(reply(call("shell", command="ls")), reply("Done."))
    with script.client(hooks) as client:
        await play_models_stream(client, "Hi", {"tools": [make_shell(play_models, ran)]})
    assert (ran, len(seen)) == (["ls"], 2)


async def test_hooks_of_a_cancelled_call_end_with_it() -> None:
    hooks, started, ended = Hooks(), asyncio.Event(), list[str]()

    @hooks.on("BeforeTool")
    async def wait(event: Event) -> None:
        started.set()
        try:
            await asyncio.sleep(60)
        finally:
            ended.append(event["tool_name"])

    ran: list[str] = []
    script = Script(reply(call("shell", command="ls")), reply("Done."))
    with script.client(hooks) as client:
        tools = {"tools": [make_shell(play_async_models, ran)]}
        asking = asyncio.create_task(play_async_models(client, "Go on.", tools))
        await started.wait()
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
    assert (ended, ran, len(script.bodies)) == (["shell"], [], 1)
