"""The HTTP clients of the SDK, httpx or httpx2, with model calls going through hooks.

A client is guarded at ``send``, which every request goes through: above redirects, compression and
proxies, below the retries of the SDK. Both packages have the same names; annotations use httpx's
for both.
"""

import os
from asyncio import AbstractEventLoop, get_running_loop
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator, Mapping
from copy import copy
from functools import cache, partial
from importlib import import_module
from importlib.util import find_spec
from inspect import signature
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from google.genai import __version__
from google.genai.types import HttpOptions

from hookline.adapters.steps import complete

if TYPE_CHECKING:
    import httpx

T = TypeVar("T")
# Headers that describe a body, to drop when the body changes.
_ABOUT_THE_BODY = (b"content-length", b"content-encoding", b"transfer-encoding")


class Exchange(Protocol):
    """Sends a request between its hooks; a blocking exchange never suspends."""

    def __call__(
        self,
        request: "httpx.Request",
        send: "Callable[[httpx.Request], Any]",
        *,
        blocking: bool,
    ) -> "Coroutine[Any, Any, httpx.Response]": ...


class HTTPClients:
    """A sync and an async client whose requests go through ``exchange``: the program's own clients,
    or new ones with the program's arguments. ``options`` holds them for the SDK."""

    def __init__(self, options: HttpOptions, exchange: Exchange) -> None:
        if options.aiohttp_client is not None:
            raise ValueError(
                "hooks cannot see the requests of aiohttp_client; pass httpx_async_client or "
                "async_client_args instead"
            )
        package = _find_package(options)
        given: Any = options.httpx_client
        given_async: Any = options.httpx_async_client
        defaults: dict[str, Any] = {"follow_redirects": True, "timeout": None}
        if given is None or given_async is None:
            defaults["verify"] = _find_certificates(package, options)
        self._own: Any = None
        if given is None:
            given = self._own = _make_client(
                package.Client, {**defaults, **(options.client_args or {})}
            )
        self._make_async: Callable[[], Any] | None = None
        self._own_async: dict[AbstractEventLoop, Any] = {}
        if given_async is None:
            args = {**defaults, **(options.async_client_args or {})}
            self._make_async = partial(_make_client, package.AsyncClient, args)
            given_async = self._make_async()
        # Copies, since a program may also use its client elsewhere, without hooks.
        plain, later = copy(given), copy(given_async)
        plain.send = partial(_send, exchange, given.send)
        later.send = partial(_send_async, exchange, partial(self._find_async, given_async))
        self.options = options.model_copy(
            update={"httpx_client": plain, "httpx_async_client": later}
        )

    def _find_async(self, given: Any) -> Any:
        """Return the client to send with. One that was made here has a twin for each event loop,
        since a connection works only in its own loop."""
        if self._make_async is None:
            return given
        loop = get_running_loop()
        if loop not in self._own_async:
            self._forget_closed_loops()
            self._own_async[loop] = self._make_async()
        return self._own_async[loop]

    def _forget_closed_loops(self) -> None:
        for loop in [loop for loop in (*self._own_async,) if loop.is_closed()]:
            self._own_async.pop(loop, None)

    def close(self) -> None:
        """Close the sync client, if it was made here."""
        self._forget_closed_loops()
        if self._own is not None:
            self._own.close()

    async def aclose(self) -> None:
        """Close the async client of this event loop, if it was made here."""
        own = self._own_async.get(get_running_loop())
        if own is not None:
            await own.aclose()


def _find_package(options: HttpOptions) -> Any:
    """Return httpx or httpx2: the package of the objects in the options, or the SDK's choice."""
    given: list[Any] = [options.httpx_client, options.httpx_async_client]
    for args in (options.client_args, options.async_client_args):
        given += (args or {}).values()
    names = [base.__module__.partition(".")[0] for one in given for base in type(one).__mro__]
    names.append(os.environ.get("GOOGLE_GENAI_HTTP_CLIENT", "").lower().strip())
    usual = ["httpx2", "httpx"] if int(__version__.partition(".")[0]) > 2 else ["httpx", "httpx2"]
    for name in [*names, *usual]:
        if name in usual and find_spec(name) is not None:
            return import_module(name)
    raise ImportError("neither httpx nor httpx2 is installed; run pip install httpx2")


def _find_certificates(package: Any, options: HttpOptions) -> Any:
    """Return how both clients verify servers. As in the SDK, it may be given for one of them."""
    args = options.client_args or options.async_client_args or {}
    verify = args.get("verify")
    return package.create_ssl_context() if verify is None else verify


def _make_client(kind: Any, args: Mapping[str, Any]) -> Any:
    """Make a client with the arguments that it takes; some are only for aiohttp."""
    taken = signature(kind).parameters
    return kind(**{name: value for name, value in args.items() if name in taken})


def _send(
    exchange: Exchange, send: Callable[..., Any], request: "httpx.Request", **options: Any
) -> Any:
    return complete(exchange(request, partial(send, **options), blocking=True))


async def _send_async(
    exchange: Exchange, find_client: Callable[[], Any], request: "httpx.Request", **options: Any
) -> Any:
    return await exchange(request, partial(find_client().send, **options), blocking=False)


@cache
def _find_package_of_class(kind: Any) -> Any:
    names = (base.__module__.partition(".")[0] for base in kind.__mro__)
    return import_module(next(name for name in names if name in ("httpx", "httpx2")))


def _find_package_of(value: object) -> Any:
    """Return the package of a request or a response."""
    kind: Any = type(value)
    return _find_package_of_class(kind)


def with_content(
    request: "httpx.Request", content: bytes, path: str | None = None
) -> "httpx.Request":
    """Return the request with another body, and another path if one is given."""
    url = request.url if path is None else request.url.copy_with(path=path)
    changed: httpx.Request = _find_package_of(request).Request(
        request.method,
        url,
        headers=_drop_body_headers(request.headers),
        content=content,
        extensions=request.extensions,
    )
    return changed


def make_response(
    request: "httpx.Request", content: Any, *, like: "httpx.Response | None" = None
) -> "httpx.Response":
    """Make a response with this body, bytes or a stream, and the headers of another response."""
    package = _find_package_of(request)
    body = {"content" if isinstance(content, bytes) else "stream": content}
    if like is None:
        headers: Any = {"content-type": "application/json"}
        return package.Response(200, headers=headers, request=request, **body)  # type: ignore[no-any-return]
    headers = _drop_body_headers(like.headers)
    return package.Response(  # type: ignore[no-any-return]
        like.status_code, headers=headers, request=request, extensions=like.extensions, **body
    )


def _drop_body_headers(headers: "httpx.Headers") -> "list[tuple[bytes, bytes]]":
    return [(name, held) for name, held in headers.raw if name.lower() not in _ABOUT_THE_BODY]


def make_stream(
    response: "httpx.Response", chunks: AsyncGenerator[bytes, None], *, blocking: bool
) -> Any:
    """Make a stream of these chunks that closes the response they come from."""
    package = _find_package_of(response)
    base = package.SyncByteStream if blocking else package.AsyncByteStream
    return _make_stream_class(base, blocking)(response, chunks)


@cache
def _make_stream_class(base: Any, blocking: bool) -> Any:
    def init(self: Any, response: Any, chunks: Any) -> None:
        self.response, self.chunks = response, chunks

    def close(self: Any) -> None:
        complete(self.chunks.aclose())
        self.response.close()

    async def aclose(self: Any) -> None:
        await self.chunks.aclose()
        await self.response.aclose()

    methods: dict[str, Any] = {"__init__": init}
    if blocking:
        methods |= {"__iter__": lambda self: drive(self.chunks), "close": close}
    else:
        methods |= {"__aiter__": lambda self: self.chunks, "aclose": aclose}
    return type("GuardedStream", (base,), methods)


def drive(items: AsyncGenerator[T, None]) -> Iterator[T]:
    """Iterate over a generator that never suspends, without await."""
    try:
        while True:
            try:
                item = complete(items.__anext__())
            except StopAsyncIteration:
                return
            yield item
    finally:
        complete(items.aclose())


async def read_bytes(response: "httpx.Response", *, blocking: bool) -> AsyncGenerator[bytes, None]:
    """Yield the decompressed bytes of a streamed response, and close it in any case."""
    try:
        if blocking:
            for data in response.iter_bytes():
                yield data
        else:
            async for data in response.aiter_bytes():
                yield data
    finally:
        if blocking:
            response.close()
        else:
            await response.aclose()
