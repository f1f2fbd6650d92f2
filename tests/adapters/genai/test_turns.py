"""Turns and sessions of google-genai."""

import json
import threading
from collections.abc import Callable
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import pytest
from google import genai
from google.genai import types

from hookline import Hooks, add_context, deny, message
from hookline.adapters.genai import hooked
from tests.adapters.genai.playing import (
    HTTPX,
    MODEL,
    PLAYS,
    Event,
    Script,
    answer_with,
    call,
    note,
    pieces,
    play_async_chat,
    play_async_chat_stream,
    play_async_models,
    play_async_stream,
    play_chat,
    play_chat_stream,
    play_models,
    play_models_stream,
    reply,
    sse,
)
from tests.eleven import command
from tests.kit.adapters import check_sessions

CHATS = {name: play for name, play in PLAYS.items() if "chat" in name}
MODELS = {name: play for name, play in PLAYS.items() if "models" in name}
TURN_EVENTS = ("BeforeAgent", "AfterAgent")
every_play = pytest.mark.parametrize("play", PLAYS.values(), ids=PLAYS)
every_chat = pytest.mark.parametrize("play", CHATS.values(), ids=CHATS)
every_model = pytest.mark.parametrize("play", MODELS.values(), ids=MODELS)


def french(event: Event) -> Any:
    return None if event["stop_hook_active"] else deny("say it in French")


@every_model
async def test_a_bare_generate_content_is_no_turn(play: Any) -> None:
    hooks = Hooks()
    seen = note(hooks, *TURN_EVENTS)
    with Script(reply("Hi.")).client(hooks) as client:
        await play(client, "Hello.")
    assert seen == []


@every_play
async def test_turns_say_what_was_asked_and_answered(play: Any) -> None:
    hooks = Hooks()
    seen = note(hooks, *TURN_EVENTS)
    script = Script(reply("Well. ", call("look")), reply("It is ", "there."))

    def look() -> str:
        """Look."""
        return "there"

    with script.client(hooks, turns=True) as client:
        await play(client, ["Where is it?"], {"tools": [look]})
    before, after = seen
    assert (before["prompt"], after["prompt"]) == ("Where is it?", "Where is it?")
    assert after["prompt_response"] == "It is there."


@every_chat
async def test_chats_have_turns_unless_they_are_switched_off(play: Any) -> None:
    hooks = Hooks()
    seen = note(hooks, *TURN_EVENTS)
    with Script(reply("Hi.")).client(hooks) as client:
        await play(client, "Hello.")
    with Script(reply("Hi.")).client(hooks, turns=False) as client:
        await play(client, "Hello.")
    assert [event["hook_event_name"] for event in seen] == [*TURN_EVENTS]


@every_play
async def test_a_refused_turn_calls_no_model_and_no_chat_keeps_it(play: Any) -> None:
    hooks = Hooks()
    hooks.on("BeforeAgent")(lambda _event: deny("no passwords here"))
    script = Script()
    with script.client(hooks, turns=True) as client:
        played = await play(client, "It is swordfish.")
    assert played.text == "no passwords here"
    assert script.bodies == []
    assert played.history == []


@every_chat
async def test_what_hooks_add_to_a_turn_stays_in_the_chat(play: Any) -> None:
    hooks = Hooks()
    hooks.on("BeforeAgent")(lambda _event: add_context("today is Monday"))
    script = Script(reply("Hi."))
    with script.client(hooks) as client:
        played = await play(client, "Hello.")
    assert "today is Monday" in json.dumps(script.bodies)
    assert "today is Monday" in played.everything


@every_play
async def test_a_turn_can_be_sent_back(play: Any) -> None:
    hooks = Hooks()
    hooks.on("AfterAgent")(french)
    script = Script(reply("Hello."), reply("Bonjour."))
    with script.client(hooks, turns=True) as client:
        played = await play(client, "Greet me.")
    assert played.text.endswith("Bonjour.")
    contents = script.bodies[1]["contents"]
    assert [part["text"] for content in contents for part in content["parts"]][-1] == (
        "say it in French"
    )
    assert "Greet me." in json.dumps(contents)
    assert "Hello." in "".join(p["text"] for c in contents for p in c["parts"])


async def test_a_turn_is_sent_back_with_what_its_tools_did() -> None:
    hooks = Hooks()
    hooks.on("AfterAgent")(french)

    def look() -> str:
        """Look."""
        return "found it"

    for play in (play_models, play_models_stream):
        script = Script(reply(call("look")), reply("Hello."), reply("Bonjour."))
        with script.client(hooks, turns=True) as client:
            await play(client, "Look.", {"tools": [look]})
        assert script.results() == [{"result": "found it"}]
        said = [p.get("text") for c in script.bodies[2]["contents"] for p in c["parts"]]
        assert "".join(text or "" for text in said) == "Look.Hello.say it in French"


async def test_hooks_can_have_a_chat_forget_what_was_said() -> None:
    hooks = Hooks()

    @hooks.on("AfterAgent")
    def forget(_event: Event) -> dict[str, Any]:
        return {"hookSpecificOutput": {"clearContext": True}}

    script = Script(reply("Hello."), reply("Bonjour."))
    with script.client(hooks) as client:
        chat = client.chats.create(model=MODEL)
        chat.send_message("One.")
        assert chat.get_history() == chat.get_history(curated=True) == []
        chat.send_message("Two.")
    assert len(script.bodies[1]["contents"]) == 1


async def test_messages_of_after_agent_are_for_the_next_request() -> None:
    hooks = Hooks()
    hooks.on("AfterAgent")(lambda _event: message("speak up"))
    script = Script(reply("Hi."), reply("Hi."))
    with script.client(hooks) as client:
        chat = client.chats.create(model=MODEL)
        chat.send_message("One.")
        chat.send_message("Two.")
    assert ["speak up" in json.dumps(body) for body in script.bodies] == [False, True]


@pytest.mark.parametrize("is_chat", [True, False], ids=["chat", "models"])
async def test_results_that_a_program_brings_go_on_with_the_turn(is_chat: bool) -> None:
    hooks = Hooks()
    seen = note(hooks, *TURN_EVENTS)
    disabled = types.AutomaticFunctionCallingConfig(disable=True)
    config = types.GenerateContentConfig(automatic_function_calling=disabled)
    brought = types.Part.from_function_response(name="look", response={"result": "there"})
    script = Script(reply(call("look")), reply("It is there."))
    with script.client(hooks, turns=True) as client:
        if is_chat:
            chat = client.chats.create(model=MODEL, config=config)
            chat.send_message("Where?")
            chat.send_message(brought)
        else:
            ask = client.models.generate_content
            calling = ask(model=MODEL, contents="Where?", config=config)
            assert calling.candidates
            contents: Any = ["Where?", calling.candidates[0].content, brought]
            ask(model=MODEL, contents=contents, config=config)
    assert [(event["hook_event_name"], event["prompt"]) for event in seen] == [
        ("BeforeAgent", "Where?"),
        ("AfterAgent", "Where?"),
    ]


RESULT = types.Part.from_function_response(name="look", response={"result": "there"})


@pytest.mark.parametrize("message", [["And now?", RESULT], [RESULT, "And now?"]])
async def test_words_beside_results_are_a_turn_of_their_own(message: Any) -> None:
    hooks = Hooks()
    hooks.on("BeforeAgent")(lambda event: deny("no") if event["prompt"] == "And now?" else None)
    script = Script()
    with script.client(hooks, turns=True) as client:
        assert client.chats.create(model=MODEL).send_message(message).text == "no"
        parts = [RESULT, types.Part.from_text(text="And now?")]
        for contents in (message, [parts], types.Content(role="user", parts=parts)):
            asked: Any = contents
            assert client.models.generate_content(model=MODEL, contents=asked).text == "no"
    assert script.bodies == []


@pytest.mark.parametrize("play", [play_chat_stream, play_async_chat_stream])
@pytest.mark.parametrize("is_automatic", [True, False], ids=["automatic", "by hand"])
async def test_a_turn_is_not_over_while_a_stream_has_calls_to_run(
    play: Any, is_automatic: bool
) -> None:
    """The API ends many streams with a chunk that says nothing, after the one with the calls."""
    hooks = Hooks()
    seen = note(hooks, "AfterAgent")
    chunks = [*pieces(reply("Well.", call("look"))), *pieces(reply(""))]
    script = Script(
        lambda _request: HTTPX.Response(200, content=sse(chunks)),
        lambda _request: HTTPX.Response(200, content=sse(pieces(reply("It is there.")))),
    )

    def look() -> str:
        """Look."""
        return "there"

    calling = types.AutomaticFunctionCallingConfig(disable=not is_automatic)
    config = types.GenerateContentConfig(tools=[look], automatic_function_calling=calling)
    with script.client(hooks) as client:
        await play(client, "Where?", config)
    assert [e["prompt_response"] for e in seen] == (["It is there."] if is_automatic else [])


async def test_a_session_starts_with_its_first_call_and_ends_with_the_client() -> None:
    for ends_async in (False, True):
        hooks = Hooks()
        seen = note(hooks, "SessionStart", "SessionEnd", "BeforeModel")
        client = Script().client(hooks, session_id="chat-7")
        await play_models(client, "One.")
        await play_async_models(client, "Two.")
        if ends_async:
            await client.aio.aclose()
        client.close()
        client.close()
        assert [event["hook_event_name"] for event in seen] == [
            *("SessionStart", "BeforeModel", "BeforeModel", "SessionEnd"),
        ]
        assert {event["session_id"] for event in seen} == {"chat-7"}


async def test_a_session_can_be_named_call_by_call() -> None:
    hooks, names = Hooks(), iter(("a", "b"))
    seen = note(hooks, "BeforeModel", "BeforeTool")

    def look() -> str:
        """Look."""
        return "there"

    script = Script(reply(call("look")), reply("Ok."), reply("Ok."))
    with script.client(hooks, session_id=lambda: next(names)) as client:
        await play_models(client, "One.", {"tools": [look]})
        await play_async_stream(client, "Two.")
    assert [event["session_id"] for event in seen] == ["a", "a", "a", "b"]


async def test_one_client_keeps_fifty_conversations_apart() -> None:
    """Each names itself in a variable of its own context."""
    hooks, name = Hooks(), ContextVar[str]("name")
    lock, told = threading.Lock(), set[str]()

    def handle(request: Any) -> Any:
        asked = request.content.decode()
        id = next(id for id in (*told,) if id in asked)
        is_first = "functionResponse" not in asked
        said = reply(call("echo", text=id)) if is_first else reply(f"bye {id}")
        return HTTPX.Response(200, content=json.dumps(said).encode())

    def echo(text: str) -> str:
        """Say it again."""
        return text

    client = hooked(
        genai.Client,
        hooks=hooks,
        session_id=name.get,
        turns=True,
        api_key="none",
        http_options=answer_with(handle),
    )
    config: Any = {"tools": [echo]}

    def introduce(id: str) -> str:
        name.set(id)
        with lock:
            told.add(id)
        return f"I am {id}"

    def talk(id: str) -> None:
        chat = client.chats.create(model=MODEL, config=config)
        assert chat.send_message(introduce(id)).text == f"bye {id}"

    async def talk_async(id: str) -> None:
        ask = client.aio.models.generate_content
        response = await ask(model=MODEL, contents=introduce(id), config=config)
        assert response.text == f"bye {id}"

    events = ["SessionStart", *TURN_EVENTS, "BeforeModel", "AfterModel", "BeforeTool", "AfterTool"]
    await check_sessions(hooks, events, talk=talk, talk_async=talk_async)
    await client.aio.aclose()
    client.close()


@pytest.mark.parametrize("make", [lambda hooks: hooks, lambda hooks: hooks.session("chat-7")])
async def test_hooks_may_be_a_session(make: Callable[[Hooks], Any]) -> None:
    hooks = Hooks()
    seen = note(hooks, "BeforeModel")
    given = make(hooks)
    with Script().client(given) as client:
        await play_models(client, "One.")
    assert (seen[0]["session_id"] == "chat-7") == (given is not hooks)


async def test_hooks_may_be_a_directory(tmp_path: Path) -> None:
    settings = tmp_path / ".hookline" / "settings.json"
    settings.parent.mkdir()
    settings.write_text("{}")
    with Script(reply("Hi.")).client(tmp_path) as client:
        assert (await play_models(client, "One.")).text == "Hi."


def test_what_is_no_class_of_a_client_is_refused() -> None:
    script = Script()
    with script.client(Hooks()) as client, pytest.raises(TypeError, match="takes the class"):
        hooked(client)  # type: ignore[arg-type]


async def test_a_class_of_ones_own_keeps_what_it_is() -> None:
    class Mine(genai.Client):
        def __init__(self, **options: Any) -> None:
            super().__init__(**options)
            self.chat = self.chats.create(model=MODEL)

        def greet(self) -> str:
            return self.chat.send_message("Hi").text or ""

    hooks = Hooks()
    hooks.on("BeforeModel")(lambda _event: deny("no"))
    script = Script()
    made = hooked(Mine, hooks=hooks, api_key="none", http_options=script.options)
    with made as client:
        assert isinstance(client, Mine)
        assert client.models is client.models
        assert client.aio is client.aio
        assert made.greet() == "no"


@pytest.mark.parametrize("play", [play_chat, play_async_chat])
async def test_a_chat_remembers_over_its_turns(play: Any) -> None:
    hooks = Hooks()
    hooks.on("AfterModel")(lambda _event: None)
    script = Script(reply("One."), reply("Two."))
    with script.client(hooks) as client:
        if play is play_chat:
            chat = client.chats.create(model=MODEL, history=[GREETING])
            chat.send_message("A")
            chat.send_message("B")
        else:
            later = client.aio.chats.create(model=MODEL, history=[GREETING])
            await later.send_message("A")
            await later.send_message("B")
    said = [part["text"] for content in script.bodies[1]["contents"] for part in content["parts"]]
    assert said == ["Hello.", "A", "One.", "B"]


GREETING = types.Content(role="user", parts=[types.Part(text="Hello.")])


async def test_each_message_of_a_chat_is_a_turn_and_results_of_tools_go_on_with_it() -> None:
    hooks = Hooks()
    events = note(hooks, "BeforeAgent", "BeforeModel", "AfterModel", "AfterAgent")
    declared = types.FunctionDeclaration(name="shell")
    config = types.GenerateContentConfig(tools=[types.Tool(function_declarations=[declared])])
    script = Script(reply(call("shell")), reply("Done."), reply("Hello."))
    with script.client(hooks.session("s", labels={"user": "ada"})) as client:
        chat = client.chats.create(model=MODEL, config=config)
        chat.send_message("Go on.")
        chat.send_message(types.Part.from_function_response(name="shell", response={"a": 1}))
        chat.send_message("Hi")
    turns = [event["turn_id"] for event in events]
    assert (len(turns), len({*turns[:6]}), len({*turns})) == (10, 1, 2)
    assert all(event["labels"] == {"user": "ada"} for event in events)


@pytest.mark.parametrize("is_async", [True, False])
def test_only_a_hook_that_may_change_the_text_holds_a_stream(
    is_async: bool, tmp_path: Path
) -> None:
    more: Any = {"async": True} if is_async else {}
    observer = command("cat > seen", **more)
    hooks = Hooks(working_dir=tmp_path, hooks={"AfterModel": [{"hooks": [observer]}]})
    with Script(reply("One two three four five.")).client(hooks) as client:
        chunks = client.models.generate_content_stream(model=MODEL, contents="Hi")
        seen_first = [(tmp_path / "seen").exists() for _ in chunks]
    assert len(seen_first) > 1
    assert seen_first[0] is not is_async
    assert hooks.config.engine.wait_for_background(30)
    assert "One two three" in (tmp_path / "seen").read_text("utf-8")
    hooks.close()
