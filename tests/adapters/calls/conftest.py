"""A guarded call of each API's client, synchronous and asynchronous, streamed and not."""

import asyncio
from typing import Any

import pytest

from hookline import Hooks
from tests.adapters.calls.apis import APIS, Api
from tests.adapters.calls.service import ModelService


@pytest.fixture(params=APIS, ids=lambda api: api.name)
def api(request: pytest.FixtureRequest) -> Api:
    given: Api = request.param
    return given


@pytest.fixture(params=["sync", "async"])
def caller(request: pytest.FixtureRequest, api: Api) -> "Caller":
    return Caller(api, is_async=request.param == "async")


class Caller:
    """Calls a model through hooks with the client that fits; a stream's chunks come as a list."""

    def __init__(self, api: Api, *, is_async: bool) -> None:
        self.api = api
        self._is_async = is_async

    def call(self, hooks: Hooks, service: ModelService, *requests: Any, stream: bool) -> list[Any]:
        """The answers to requests, one after the other; a function makes a request of the answers
        so far."""
        streaming = {"stream": True} if stream else {}
        answers: list[Any] = []

        def made(request: Any) -> dict[str, Any]:
            return {**(request(answers) if callable(request) else request), **streaming}

        async def call_async() -> None:
            async with self.api.async_client(service.url) as client:
                for request in requests:
                    create = self.api.create(client)
                    answer = await hooks.model_call(create, **made(request))
                    answers.append([chunk async for chunk in answer] if stream else answer)

        if self._is_async:
            asyncio.run(call_async())
            return answers
        with self.api.client(service.url) as client:
            for request in requests:
                answer = hooks.sync.model_call(self.api.create(client), **made(request))
                answers.append(list(answer) if stream else answer)
        return answers

    def answer(self, answers: Any, stream: bool) -> Any:
        """A complete response, however it came."""
        return self.api.collect(answers) if stream else answers
