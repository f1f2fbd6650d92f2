"""What happens on the wire: the real SDK against a server on loopback, and odd transports."""

import asyncio
import gc
import gzip
import json
import ssl
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import pytest
from google import genai
from google.auth.credentials import Credentials
from google.genai import errors, types
from google.genai.chats import Chat

from hookline import Hooks, deny, message
from hookline.adapters.genai import hooked
from hookline.adapters.genai.rest import find_way_around, read_target
from hookline.errors import HooklineError
from tests.adapters.genai.playing import (
    HTTPX,
    MODEL,
    PLAYS,
    Event,
    Script,
    call,
    note,
    pieces,
    play_async_models,
    play_async_stream,
    play_models,
    play_models_stream,
    reply,
    sse,
    text_of,
)
from tests.harness.loopback import LoopbackServer

SECRET = "swordfish"
BOTH = pytest.mark.parametrize("play", [play_models, play_async_models], ids=["sync", "async"])
STREAMS = pytest.mark.parametrize(
    "play", [play_models_stream, play_async_stream], ids=["sync", "async"]
)


class Server(LoopbackServer):
    """Answers one after the other."""

    def __init__(self, *answers: Any) -> None:
        super().__init__()
        self._answers = iter(answers)

    def answer(self, _body: Any, path: str) -> Any:
        said = next(self._answers)
        return pieces(said) if "stream" in path and isinstance(said, dict) else said

    def client(self, hooks: Any, **options: Any) -> genai.Client:
        http_options = types.HttpOptions(base_url=self.url, **options)
        return hooked(genai.Client, hooks=hooks, api_key="none", http_options=http_options)


def redact(event: Event) -> dict[str, Any]:
    text = event["llm_response"].get("text", "").replace(SECRET, "[hidden]")
    return {"hookSpecificOutput": {"llm_response": {"text": text}}}


def hooks_that_redact() -> Hooks:
    hooks = Hooks()
    hooks.on("AfterModel")(redact)
    return hooks


async def close(client: genai.Client) -> None:
    await client.aio.aclose()
    client.close()


@pytest.mark.parametrize("play", PLAYS.values(), ids=PLAYS)
async def test_hooks_stand_between_the_real_client_and_a_server(play: Any) -> None:
    def look() -> str:
        """Look."""
        return "there"

    hooks = hooks_that_redact()
    seen = note(hooks, "BeforeModel", "BeforeTool", "AfterTool", "AfterModel")
    with Server(reply("Well.", call("look")), reply(f"It is {SECRET}.")) as server:
        client = server.client(hooks)
        played = await play(client, "Where?", {"tools": [look]})
        await close(client)
    assert played.text.endswith("It is [hidden].")
    assert SECRET not in played.everything
    assert [event["hook_event_name"] for event in seen] == [
        *("BeforeModel", "AfterModel", "BeforeTool", "AfterTool", "BeforeModel", "AfterModel"),
    ]


class Slow(Server):
    """Says the last chunk when it is told to."""

    def __init__(self, *answers: Any) -> None:
        super().__init__(*answers)
        self.go_on = threading.Event()

    def answer(self, _body: Any, _path: str) -> Any:
        return _Waiting(pieces(reply("One. Two.")), self.go_on)


class _Waiting(list[Any]):
    def __init__(self, chunks: list[Any], go_on: threading.Event) -> None:
        super().__init__(chunks)
        self._go_on = go_on

    def __iter__(self) -> Iterator[Any]:
        for place, chunk in enumerate(super().__iter__()):
            if place:
                assert self._go_on.wait(10)
            yield chunk


async def test_a_stream_flows_where_no_after_model_hook_looks_at_it() -> None:
    """The first chunk is here before the server has said the last."""
    hooks = Hooks()
    hooks.on("BeforeModel")(lambda _event: None)
    chosen = {"hookSpecificOutput": {"toolConfig": {"mode": "NONE"}}}
    for restricts in (False, True):
        if restricts:
            hooks.on("BeforeToolSelection")(lambda _event: chosen)
        for is_async in (False, True):
            with Slow() as server:
                client = server.client(hooks)
                asked: Any = {"model": MODEL, "contents": "Hi"}
                if is_async:
                    later = await client.aio.models.generate_content_stream(**asked)
                    came = [text_of(await anext(later))]
                    server.go_on.set()
                    came += [text_of(chunk) async for chunk in later]
                else:
                    chunks = client.models.generate_content_stream(**asked)
                    came = [text_of(next(chunks))]
                    server.go_on.set()
                    came += [text_of(chunk) for chunk in chunks]
                await close(client)
            assert came == ["One. T", "wo."]


@STREAMS
async def test_a_stream_that_is_cut_fires_no_after_model_and_shows_nothing(play: Any) -> None:
    hooks = hooks_that_redact()
    seen = note(hooks, "AfterModel")
    first = pieces(reply(f"It is {SECRET}, and so on."))[:2]
    with Server([*first, "break"]) as server:
        client = server.client(hooks)
        with pytest.raises(Exception, match=r"peer closed|incomplete"):
            await play(client, "Hi")
        await close(client)
    assert seen == []


@STREAMS
async def test_an_error_in_a_stream_is_the_sdks_own(play: Any) -> None:
    hooks = hooks_that_redact()
    seen = note(hooks, "AfterModel")
    failed = {"error": {"code": 503, "message": "overloaded", "status": "UNAVAILABLE"}}
    with Server([*pieces(reply(SECRET)), failed]) as server:
        client = server.client(hooks)
        with pytest.raises(errors.ServerError, match="overloaded"):
            await play(client, "Hi")
        await close(client)
    assert seen == []


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
async def test_a_stream_that_is_left_is_closed(is_async: bool) -> None:
    hooks = Hooks()
    chosen = {"hookSpecificOutput": {"toolConfig": {"mode": "NONE"}}}
    hooks.on("BeforeToolSelection")(lambda _event: chosen)
    with Server([*pieces(reply("One.")), "wait"]) as server:
        client = server.client(hooks)
        asked: Any = {"model": MODEL, "contents": "Hi"}
        if is_async:
            later: Any = await client.aio.models.generate_content_stream(**asked)
            assert text_of(await anext(later)) == "One."
            await later.aclose()
        else:
            chunks: Any = client.models.generate_content_stream(**asked)
            assert text_of(next(chunks)) == "One."
            chunks.close()
        await close(client)
        assert await asyncio.to_thread(server.left.wait, 5)


@pytest.mark.parametrize("play", PLAYS.values(), ids=PLAYS)
async def test_errors_of_the_server_pass_as_they_are(play: Any) -> None:
    hooks = hooks_that_redact()
    seen = note(hooks, "AfterModel")
    with Server((400, {"error": {"code": 400, "message": "bad request", "status": "X"}})) as server:
        client = server.client(hooks)
        with pytest.raises(errors.ClientError, match="bad request") as raised:
            await play(client, "Hi")
        await close(client)
    assert raised.value.code == 400
    assert seen == []


@pytest.mark.parametrize("play", PLAYS.values(), ids=PLAYS)
async def test_a_request_that_is_tried_again_fires_before_model_once(play: Any) -> None:
    hooks = hooks_that_redact()
    seen = note(hooks, "BeforeToolSelection", "BeforeModel", "AfterModel")

    @hooks.on("BeforeModel")
    def count(event: Event) -> dict[str, Any]:
        asked = [*event["llm_request"]["messages"], {"role": "user", "content": f"{len(seen)}"}]
        return {"hookSpecificOutput": {"llm_request": {"messages": asked}}}

    busy = (503, {"error": {"code": 503, "message": "busy", "status": "UNAVAILABLE"}})
    retry = types.HttpRetryOptions(attempts=3, initial_delay=0.01, max_delay=0.01, jitter=0)
    with Server(busy, busy, reply(f"{SECRET}.")) as server:
        client = server.client(hooks, retry_options=retry)
        played = await play(client, "Hi")
        await close(client)
    assert played.text == "[hidden]."
    assert [event["hook_event_name"] for event in seen] == [
        *("BeforeToolSelection", "BeforeModel", "AfterModel"),
    ]
    assert len(server.bodies) == 3
    assert server.bodies[0] == server.bodies[1] == server.bodies[2]


class Silent(Server):
    """Does not answer while anybody waits."""

    def answer(self, _body: Any, _path: str) -> Any:
        self._closing.wait(20)
        return reply("Too late.")


@BOTH
async def test_timeouts_are_the_clients_own(play: Any) -> None:
    hooks = hooks_that_redact()
    seen = note(hooks, "AfterModel")
    with Silent() as server:
        client = server.client(hooks, timeout=100)
        with pytest.raises(HTTPX.ReadTimeout):
            await play(client, "Hi")
        await close(client)
    assert seen == []


async def test_messages_of_hooks_are_sent_with_every_try_of_a_request() -> None:
    hooks = Hooks()
    hooks.on("BeforeModel")(lambda _event: message("be brief"))
    busy = (503, {"error": {"code": 503, "message": "busy", "status": "UNAVAILABLE"}})
    retry = types.HttpRetryOptions(attempts=2, initial_delay=0.01, max_delay=0.01, jitter=0)
    with Server(busy, reply("Hi.")) as server:
        client = server.client(hooks, retry_options=retry)
        await play_models(client, "Hi")
        await close(client)
    assert ["be brief" in json.dumps(body) for body in server.bodies] == [True, True]


@pytest.mark.parametrize("play", PLAYS.values(), ids=PLAYS)
async def test_compressed_answers_are_read_and_rewritten(play: Any) -> None:
    def answer(request: Any) -> Any:
        said = reply(f"It is {SECRET}.")
        is_stream = "stream" in request.url.path
        content = gzip.compress(sse(pieces(said)) if is_stream else json.dumps(said).encode())
        headers = {"content-encoding": "gzip", "content-type": "application/json", "x-own": "1"}
        return HTTPX.Response(200, headers=headers, content=content)

    for hooks, wanted in ((hooks_that_redact(), "[hidden]"), (Hooks(), SECRET)):
        script = Script(answer)
        with script.client(hooks) as client:
            played = await play(client, "Hi")
        assert played.text == f"It is {wanted}."
        raw = played.responses[-1].sdk_http_response
        assert raw is not None
        assert raw.headers is not None
        assert raw.headers["x-own"] == "1"
        if wanted != SECRET:
            assert "content-encoding" not in raw.headers


def cut(data: bytes, size: int) -> Callable[[bool], Any]:
    parts = [data[at : at + size] for at in range(0, len(data), size)]

    async def later() -> AsyncIterator[bytes]:
        for part in parts:
            yield part

    return lambda is_async: later() if is_async else iter(parts)


@pytest.mark.parametrize("size", [1, 7, 100])
@STREAMS
async def test_events_may_be_cut_anywhere(play: Any, size: int) -> None:
    is_async = play is play_async_stream
    said = reply("Größe ", call("mail", to="me"), f"{SECRET} ✓")
    restricted = Hooks()
    chosen = {"hookSpecificOutput": {"toolConfig": {"mode": "NONE"}}}
    restricted.on("BeforeToolSelection")(lambda _event: chosen)
    for hooks, wanted in ((hooks_that_redact(), "[hidden] ✓"), (restricted, f"{SECRET} ✓")):
        for end in (b"\r\n", b"\n"):
            body = cut(sse(pieces(said)).replace(b"\r\n", end), size)
            script = Script(lambda _r, body=body: HTTPX.Response(200, content=body(is_async)))
            with script.client(hooks) as client:
                played = await play(client, "Hi")
            assert played.text.startswith("Größe ")
            assert played.text.endswith(wanted)


async def test_the_raw_response_is_what_hooks_left() -> None:
    script = Script(reply(f"It is {SECRET}."))
    with script.client(hooks_that_redact()) as client:
        played = await play_models(client, "Hi", {"should_return_http_response": True})
    raw = played.responses[0].sdk_http_response
    assert raw is not None
    assert SECRET not in (raw.body or "")
    assert "[hidden]" in (raw.body or "")


@pytest.mark.parametrize("play", PLAYS.values(), ids=PLAYS)
async def test_vertex_is_guarded_too(play: Any) -> None:
    class Fake(Credentials):
        def refresh(self, _request: Any) -> None:
            self.token = "fake"

        @property
        def expired(self) -> bool:
            return False

    hooks = hooks_that_redact()
    seen = note(hooks, "BeforeModel")
    credentials = Fake()  # type: ignore[no-untyped-call]
    credentials.token = "fake"
    with Server(reply(f"It is {SECRET}.")) as server:
        client = hooked(
            genai.Client,
            hooks=hooks,
            vertexai=True,
            project="p",
            location="l",
            credentials=credentials,
            http_options={"base_url": server.url},
        )
        played = await play(client, "Hi")
        await close(client)
    assert played.text == "It is [hidden]."
    assert (
        server.paths[0]
        .partition("?")[0]
        .rpartition(":")[0]
        .endswith(f"/projects/p/locations/l/publishers/google/models/{MODEL}")
    )
    assert seen[0]["llm_request"]["model"] == MODEL


async def test_a_tuned_model_keeps_its_name() -> None:
    hooks = Hooks()
    seen = note(hooks, "BeforeModel")
    script = Script(reply("Hi."))
    with script.client(hooks) as client:
        client.models.generate_content(model="tunedModels/mine", contents="Hi")
    assert seen[0]["llm_request"]["model"] == "tunedModels/mine"


@pytest.mark.parametrize("package", [name for name in ("httpx", "httpx2") if find_spec(name)])
@pytest.mark.parametrize("play", PLAYS.values(), ids=PLAYS)
async def test_clients_of_the_programs_own_stay_its_own(play: Any, package: str) -> None:
    httpx: Any = import_module(package)
    asked: list[Any] = []

    def handle(request: Any) -> Any:
        asked.append(request)
        said = reply(f"It is {SECRET}.")
        is_stream = "stream" in request.url.path
        return httpx.Response(200, content=sse(pieces(said)) if is_stream else json.dumps(said))

    given: dict[str, Any] = {"transport": httpx.MockTransport(handle), "headers": {"x-own": "1"}}
    own, own_async = httpx.Client(**given), httpx.AsyncClient(**given)
    options = types.HttpOptions(httpx_client=own, httpx_async_client=own_async)
    with hooked(
        genai.Client, hooks=hooks_that_redact(), api_key="none", http_options=options
    ) as client:
        assert (await play(client, "Hi")).text == "It is [hidden]."
        await client.aio.aclose()
    assert asked[0].headers["x-own"] == "1"
    # They are used elsewhere without hooks, and are the program's to close.
    assert SECRET in own.post(f"http://x/v1/models/{MODEL}:generateContent", json={}).text
    assert not own_async.is_closed
    own.close()
    await own_async.aclose()


@BOTH
async def test_arguments_for_the_http_client_are_kept(play: Any) -> None:
    """Also a proxy and mounts, which would go around a transport."""
    script = Script(reply(f"It is {SECRET}."))
    args = {
        "mounts": {"all://": HTTPX.MockTransport(script.handle)},
        "headers": {"x-own": "1"},
        "unknown_to_httpx": True,
    }
    options = types.HttpOptions(client_args=args, async_client_args=args)
    with hooked(
        genai.Client, hooks=hooks_that_redact(), api_key="none", http_options=options
    ) as client:
        played = await play(client, "Hi")
        await client.aio.aclose()
    assert played.text == "It is [hidden]."


class Asked(ssl.SSLContext):
    """Trusts nobody, and knows that it was asked."""

    was_asked = False

    def _refuse(self, *_args: Any, **_kwargs: Any) -> Any:
        self.was_asked = True
        raise ssl.SSLError("nobody")

    wrap_socket = wrap_bio = _refuse


@BOTH
@pytest.mark.parametrize("name", ["client_args", "async_client_args"])
async def test_certificates_for_one_client_are_for_both(play: Any, name: str) -> None:
    """As in the SDK: a program that gave its own for plain calls may await calls too."""
    trusted = Asked(ssl.PROTOCOL_TLS_CLIENT)
    with Server() as server:
        url = server.url.replace("http:", "https:")
        options = types.HttpOptions.model_validate({"base_url": url, name: {"verify": trusted}})
        client = hooked(genai.Client, hooks=Hooks(), api_key="none", http_options=options)
        with pytest.raises(HTTPX.ConnectError):
            await play(client, "Hi")
        await close(client)
    assert trusted.was_asked


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_a_client_serves_one_event_loop_after_the_other() -> None:
    """Also where a program does not close it in between."""
    with Server(*[reply("Hi.")] * 3) as server:
        client = server.client(Hooks())
        for _ in range(3):
            assert asyncio.run(play_async_models(client, "Hi")).text == "Hi."
        client.close()
        gc.collect()


async def test_a_clients_options_are_not_changed() -> None:
    script = Script(reply("Hi."))
    options = script.options
    with hooked(genai.Client, hooks=Hooks(), api_key="none", http_options=options) as client:
        await play_models(client, "Hi")
    assert options.httpx_client is None


@BOTH
async def test_options_of_a_single_request_keep_the_hooks(play: Any) -> None:
    hooks = hooks_that_redact()
    with Server(reply(f"It is {SECRET}.")) as server:
        elsewhere = hooked(
            genai.Client,
            hooks=hooks,
            api_key="none",
            http_options={"base_url": "http://127.0.0.1:1"},
        )
        own = types.HttpOptions(base_url=server.url, headers={"x-own": "1"})
        played = await play(elsewhere, "Hi", {"http_options": own})
        await close(elsewhere)
    assert played.text == "It is [hidden]."


def test_a_client_of_aiohttp_is_refused() -> None:
    options = types.HttpOptions.model_construct(aiohttp_client=object())
    with pytest.raises(ValueError, match="aiohttp_client"):
        hooked(genai.Client, hooks=Hooks(), api_key="none", http_options=options)


async def test_where_aiohttp_is_installed_hooks_still_see_async_calls(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("google.genai._api_client.has_aiohttp", True)
    script = Script(reply(f"It is {SECRET}."))
    with script.client(hooks_that_redact()) as client:
        assert (await play_async_models(client, "Hi")).text == "It is [hidden]."


async def test_a_client_that_fails_to_be_made_leaves_nothing_open(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("GOOGLE_API_KEY", "GEMINI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ValueError, match="API key"):
        hooked(genai.Client, hooks=Hooks())


@pytest.mark.parametrize(
    ("path", "target", "around"),
    [
        ("/v1/models/m:generateContent", ("m", False), None),
        ("/v1/models/m:streamGenerateContent", ("m", True), None),
        ("/v1/projects/p/locations/l/endpoints/7:generateContent", ("endpoints/7", False), None),
        ("/v1/models/m:countTokens", None, None),
        ("/v1/models/m:batchGenerateContent", None, "batchGenerateContent"),
        ("/v1/projects/p/locations/l/batchPredictionJobs", None, "batchPredictionJobs"),
        ("/v1/interactions", None, "interactions"),
        ("/v1/triggers/t/executions", None, "executions"),
        ("/v1/interactions/i/cancel", None, None),
    ],
)
def test_paths_say_what_is_asked(path: str, target: Any, around: str | None) -> None:
    assert read_target("POST", path) == target
    assert find_way_around("POST", path) == around
    assert (read_target("GET", path), find_way_around("GET", path)) == (None, None)


def talk_by_hand(client: genai.Client) -> Any:
    """Calls its tools itself, and asks ``client.models`` alone."""

    def look() -> str:
        """Look."""
        return "there"

    tools = types.GenerateContentConfig(tools=[look])
    return Chat(modules=client.models, model=MODEL, config=tools, history=[]).send_message("Hi")


AROUND: dict[str, Callable[[genai.Client], Any]] = {
    "batchGenerateContent": lambda client: client.batches.create(
        model=MODEL, src=[types.InlinedRequest(contents=[types.Content(parts=[])])]
    ),
    "interactions": lambda client: client.interactions.create(model=MODEL, input="Hi"),
    "live": lambda client: client.aio.live,
    "the tools of a Chat": talk_by_hand,
}


@pytest.mark.parametrize("name", AROUND)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_ways_around_the_hooks_are_told(name: str, caplog: pytest.LogCaptureFixture) -> None:
    script = Script(*[{"name": "batches/x", "id": "x", "status": "completed"}] * 2)
    with script.client(Hooks()) as client:
        AROUND[name](client)
        AROUND[name](client)
    told = [record.message for record in caplog.records if "hooks do not see" in record.message]
    assert [name in message for message in told] == [True]


@pytest.mark.parametrize("name", AROUND)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_ways_around_the_hooks_are_refused_in_strict_mode(name: str) -> None:
    script = Script()
    with script.client(Hooks(strict=True)) as client:
        for _ in range(2):
            with pytest.raises(HooklineError, match=f"do not see {name}.*strict mode"):
                AROUND[name](client)
    assert script.bodies == []


@BOTH
async def test_servers_whose_tools_the_sdk_would_call_itself_are_refused(play: Any) -> None:
    server = types.Tool.model_validate({"mcp_servers": [{"name": "toolset"}]})
    script = Script(reply("Hi."))
    client = hooked(
        genai.Client, hooks=Hooks(), vertexai=True, api_key="none", http_options=script.options
    )
    with client:
        config = types.GenerateContentConfig(tools=[server])
        if play is play_async_models:
            with pytest.raises(HooklineError, match="ClientSession"):
                await play(client, "Hi", config)


async def test_a_request_that_hooks_never_see_is_told() -> None:
    """As when a program replaces what sends the requests."""
    for is_strict in (False, True):
        script = Script()
        hooks = Hooks(strict=is_strict)
        client = script.client(hooks)
        plain = genai.Client(api_key="none", http_options=Script(reply("Hi.")).options)
        client.models._api_client = plain._api_client
        with client, plain:
            if is_strict:
                with pytest.raises(HooklineError, match="not sent over HTTP"):
                    await play_models(client, "Hi")
            else:
                assert (await play_models(client, "Hi")).text == "Hi."


async def test_denials_hold_for_a_client_that_was_copied_from() -> None:
    """A chat or the models that were had before are guarded as well as later ones."""
    hooks = Hooks()
    hooks.on("BeforeModel")(lambda _event: deny("no"))
    script = Script()
    with script.client(hooks) as client:
        models, chat = client.models, client.chats.create(model=MODEL)
        assert models.generate_content(model=MODEL, contents="Hi").text == "no"
        assert chat.send_message("Hi").text == "no"
    assert script.bodies == []
