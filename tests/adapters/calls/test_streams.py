"""Streams of the real clients: held back, filtered, broken off and closed."""

import asyncio
import functools
from collections.abc import Callable
from typing import Any

import pytest

from hookline import Hooks
from tests.adapters.calls.apis import Api, Responses, pieces
from tests.adapters.calls.conftest import Caller
from tests.adapters.calls.service import ModelService
from tests.adapters.calls.test_redaction import TEXT, as_text, redact


def give(answer: Any, _body: Any) -> Any:
    return answer


def restricting(*names: str, judged: bool = False) -> Hooks:
    """Hooks that allow these tools, with or without others that judge the answer."""
    hooks = Hooks()
    config = {"mode": "AUTO", "allowedFunctionNames": list(names)}
    hooks.on("BeforeToolSelection")(lambda _e: {"hookSpecificOutput": {"toolConfig": config}})
    if judged:
        hooks.on("AfterModel")(lambda _event: None)
    return hooks


def test_the_sdks_own_stream_is_the_answer_where_hooks_have_no_say(api: Api) -> None:
    hooks = Hooks()
    hooks.on("BeforeModel")(lambda _event: None)
    with ModelService(lambda _body: api.events("hello")) as service:
        with api.client(service.url) as client:
            stream = hooks.sync.model_call(api.create(client), **api.request("q"), stream=True)
            assert type(stream).__name__ == "Stream"
            assert api.streamed_text(stream) == "hello"

        async def call_it() -> None:
            async with api.async_client(service.url) as client:
                create = api.create(client)
                stream = await hooks.model_call(create, **api.request("q"), stream=True)
                assert type(stream).__name__ == "AsyncStream"
                assert api.streamed_text([chunk async for chunk in stream]) == "hello"

        asyncio.run(call_it())


def test_chunks_that_hooks_leave_alone_are_those_that_came(caller: Caller) -> None:
    api, hooks = caller.api, Hooks()
    seen: list[str] = []
    hooks.on("AfterModel")(lambda event: seen.append(event["llm_response"]["text"]))
    with ModelService(lambda _body: api.events(TEXT, "shell")) as service:
        (held,) = caller.call(hooks, service, api.request("q"), stream=True)
        (bare,) = caller.call(Hooks(), service, api.request("q"), stream=True)
    assert held == bare
    assert seen == [TEXT]


@pytest.mark.parametrize("judged", [False, True], ids=["passing", "held"])
def test_calls_outside_what_hooks_allow_are_left_out(
    caller: Caller, judged: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """The rest is numbered so that the SDK's own accumulator puts it together."""
    api = caller.api
    request = {**api.request("q"), "tools": api.tools("shell", "read")}
    for stream in (False, True):
        make: Callable[..., Any] = api.events if stream else api.response
        answer = make("so", "shell", "read", "shell")
        with ModelService(functools.partial(give, answer)) as service:
            hooks = restricting("read", judged=judged)
            (got,) = caller.call(hooks, service, request, stream=stream)
        whole = caller.answer(got, stream)
        assert (api.text(whole), api.calls(whole)) == ("so", ["read"])
        assert "shell" not in as_text(got)
        if stream:
            assert api.streamed_text(got) == "so"
    assert "the model called shell, which hooks do not allow in this call" in caplog.text


@pytest.mark.parametrize("judged", [False, True], ids=["passing", "held"])
def test_an_answer_of_refused_calls_alone_says_so(caller: Caller, judged: bool) -> None:
    api = caller.api
    request = {**api.request("q"), "tools": api.tools("shell", "read")}
    for stream in (False, True):
        answer = api.events("", "shell") if stream else api.response("", "shell")
        with ModelService(functools.partial(give, answer)) as service:
            hooks = restricting("read", judged=judged)
            (got,) = caller.call(hooks, service, request, stream=stream)
        whole = caller.answer(got, stream)
        said = "The tool shell is not allowed in this call."
        assert (api.text(whole), api.calls(whole)) == (said, [])
        if stream:
            assert api.streamed_text(got) == said
        if api.name == "openai-chat":
            assert whole.choices[0].finish_reason == "stop"
        elif api.name == "anthropic":
            assert whole.stop_reason == "end_turn"


def test_a_stream_that_breaks_off_raises_and_shows_nothing(caller: Caller) -> None:
    api, hooks = caller.api, Hooks()
    fired: list[Any] = []
    hooks.on("AfterModel")(fired.append)
    broken = [*api.events(TEXT)[:-2], "break"]
    with (
        ModelService(lambda _body: broken) as service,
        pytest.raises(Exception, match=r"(?i)connection|peer|incomplete"),
    ):
        caller.call(hooks, service, api.request("q"), stream=True)
    assert fired == []


def test_an_error_in_the_midst_of_a_stream_is_the_callers(caller: Caller) -> None:
    api, hooks = caller.api, Hooks()
    fired: list[Any] = []
    hooks.on("AfterModel")(fired.append)
    error: dict[str, Any] = {"type": "error", "error": {"type": "overloaded", "message": "busy"}}
    if api.name == "openai-responses":
        error = {"type": "error", "code": "x", "message": "busy", "param": None}
        error["sequence_number"] = 9
    events = [*api.events(TEXT)[:6], error]
    with ModelService(lambda _body: events) as service:
        if api.name == "openai-responses":
            # This API says it with an event, and its SDK raises nothing.
            (chunks,) = caller.call(hooks, service, api.request("q"), stream=True)
            assert [(chunk.type, chunk.message) for chunk in chunks] == [("error", "busy")]
        else:
            with pytest.raises(Exception, match="busy"):
                caller.call(hooks, service, api.request("q"), stream=True)
    assert fired == []


def test_a_stream_that_ends_too_early_is_redacted_too(caller: Caller) -> None:
    """Its server says nothing wrong: hooks judge what there is."""
    api, hooks = caller.api, Hooks()
    hooks.on("AfterModel")(redact)
    events = api.events(TEXT)
    spoken = next(n for n, each in enumerate(events) if f"'{pieces(TEXT)[-1]}'" in str(each))
    with ModelService(lambda _body: events[: spoken + 1]) as service:
        (chunks,) = caller.call(hooks, service, api.request("q"), stream=True)
    assert "lovelace" not in as_text(chunks)
    assert api.streamed_text(chunks) == "Write to [e-mail], she knows."


def left(service: ModelService) -> bool:
    return service.left.wait(10)


def test_leaving_a_filtered_stream_closes_the_connection(api: Api) -> None:
    """With ``break``, ``close()`` and ``with``, while the server still sends."""
    events = [*api.events("hello")[:5], "wait"]
    request = {**api.request("q"), "tools": api.tools("read"), "stream": True}
    hooks = restricting("read")

    def leave_by_break(create: Any) -> None:
        for _ in hooks.sync.model_call(create, **request):
            break

    def leave_by_close(create: Any) -> None:
        stream = hooks.sync.model_call(create, **request)
        next(stream)
        stream.close()

    def leave_by_with(create: Any) -> None:
        with hooks.sync.model_call(create, **request) as stream:
            next(stream)
            assert stream.response.status_code == 200

    for leave in (leave_by_break, leave_by_close, leave_by_with):
        with ModelService(lambda _body: events) as service, api.client(service.url) as client:
            leave(api.create(client))
            assert left(service), leave.__name__


async def test_leaving_a_filtered_async_stream_closes_the_connection(api: Api) -> None:
    events = [*api.events("hello")[:5], "wait"]
    request = {**api.request("q"), "tools": api.tools("read"), "stream": True}
    hooks = restricting("read")

    async def leave_by_break(create: Any, _service: ModelService) -> None:
        async for _ in await hooks.model_call(create, **request):
            break

    async def leave_by_close(create: Any, _service: ModelService) -> None:
        stream = await hooks.model_call(create, **request)
        await anext(stream)
        await stream.close()

    async def leave_by_with(create: Any, _service: ModelService) -> None:
        async with await hooks.model_call(create, **request) as stream:
            await anext(stream)

    async def leave_by_cancelling(create: Any, service: ModelService) -> None:
        async def read() -> None:
            async with await hooks.model_call(create, **request) as stream:
                async for _ in stream:
                    pass

        await cancel(asyncio.create_task(read()), service)

    for leave in (leave_by_break, leave_by_close, leave_by_with, leave_by_cancelling):
        with ModelService(lambda _body: events) as service:
            async with api.async_client(service.url) as client:
                await leave(api.create(client), service)
                assert await asyncio.to_thread(left, service), leave.__name__


async def cancel(task: "asyncio.Task[Any]", service: ModelService) -> None:
    """Cancel a call whose stream has come to its pause."""
    assert await asyncio.to_thread(service.waiting.wait, 10)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_cancelling_a_held_stream_closes_the_connection(api: Api) -> None:
    hooks = Hooks()
    hooks.on("AfterModel")(lambda _event: None)
    events = [*api.events("hello")[:5], "wait"]
    with ModelService(lambda _body: events) as service:
        async with api.async_client(service.url) as client:
            request = {**api.request("q"), "stream": True}
            calling = asyncio.create_task(hooks.model_call(api.create(client), **request))
            await cancel(calling, service)
            assert await asyncio.to_thread(left, service)


async def test_a_plain_client_serves_the_awaiting_front(api: Api) -> None:
    """Its stream is read without await, held back or not."""
    hooks = Hooks()
    hooks.on("AfterModel")(redact)
    with (
        ModelService(lambda _body: api.events(TEXT)) as service,
        api.client(service.url) as client,
    ):
        stream = await hooks.model_call(api.create(client), **api.request("q"), stream=True)
        assert api.streamed_text(stream) == "Write to [e-mail], she knows."


def test_the_synchronous_front_refuses_an_async_stream(api: Api) -> None:
    async def call_it() -> None:
        async with api.async_client(service.url) as client:
            with pytest.raises(TypeError, match="cannot read a stream that must be awaited"):
                Hooks().sync.model_call(api.create(client), **api.request("q"), stream=True)

    with ModelService(lambda _body: [*api.events("hello")[:5], "wait"]) as service:
        asyncio.run(call_it())
        assert left(service)


@pytest.mark.parametrize("announced", [True, False])
def test_a_server_that_does_not_repeat_its_output_at_the_end_is_redacted_too(
    announced: bool,
) -> None:
    """Nor one that does not announce it at the start."""
    api, hooks = Responses(), Hooks()
    hooks.on("AfterModel")(redact)
    events = api.events(TEXT)
    events[-1]["response"]["output"] = []
    if not announced:
        events = [each for each in events if "output_item" not in each["type"]]
    with ModelService(lambda _body: events) as service, api.client(service.url) as client:
        stream = hooks.sync.model_call(api.create(client), **api.request("q"), stream=True)
        chunks = list(stream)
    assert "lovelace" not in as_text(chunks)
    assert api.streamed_text(chunks) == "Write to [e-mail], she knows."
