"""Where hooks may be sent: the address that is connected to counts, whatever a name says."""

import asyncio
import socket
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hookline.wire.hooks import HookSource
from tests.adapters.certificates import make_certificate
from tests.adapters.http_hooks.asked import answer, ask, http_hook
from tests.adapters.mcp_http.rawserver import RawServer
from tests.runner.planned import run_one

PROJECT = HookSource.PROJECT
DENY = {"decision": "deny"}
Resolver = Callable[[str], list[str]]


@pytest.fixture
def resolve(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    """Says which addresses names have, one answer after the other; gives the names asked for."""

    def use(*answers: list[str]) -> list[str]:
        asked: list[str] = []

        def look_up(host: str, port: int, **_options: Any) -> list[Any]:
            found = answers[min(len(asked), len(answers) - 1)]
            asked.append(host)
            if not found:
                raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
            return [
                (socket.AF_INET6 if ":" in each else socket.AF_INET, 1, 6, "", (each, port))
                for each in found
            ]

        monkeypatch.setattr(socket, "getaddrinfo", look_up)
        return asked

    return use


@pytest.fixture
def connected(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The addresses that a connection was asked for; all of them lead to this machine."""
    addresses: list[str] = []
    connect = asyncio.BaseEventLoop.create_connection

    async def connect_here(self: Any, protocol: Any, host: str, *rest: Any, **options: Any) -> Any:
        addresses.append(host)
        return await connect(self, protocol, "127.0.0.1", *rest, **options)

    monkeypatch.setattr(asyncio.BaseEventLoop, "create_connection", connect_here)
    return addresses


def serve_tls(directory: Path, host: str, monkeypatch: pytest.MonkeyPatch) -> RawServer:
    """A server whose certificate is trusted, for a host."""
    file = make_certificate(directory, host)
    monkeypatch.setenv("SSL_CERT_FILE", str(file))
    server = RawServer(answer(DENY))
    server.tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    server.tls.load_cert_chain(file)
    return server


def named(server: RawServer, host: str) -> str:
    return server.url.replace("127.0.0.1", host)


async def test_a_hook_of_the_user_reaches_this_machine_by_plain_http() -> None:
    async with RawServer(answer(DENY)) as server:
        for url in (server.url, named(server, "localhost"), named(server, "127.1")):
            assert (await run_one(http_hook(url))).output == DENY


async def test_a_localhost_that_leads_elsewhere_is_refused(
    resolve: Any, connected: list[str]
) -> None:
    for addresses in (["10.1.2.3"], ["127.0.0.1", "10.1.2.3"], ["0.0.0.0"], ["93.184.216.34"]):
        resolve(addresses)
        result = await run_one(http_hook("http://localhost:1/"))
        assert result.failed == "error"
        assert f"localhost resolves to {addresses[-1]}, which is not this machine" in str(
            result.error
        )
    assert connected == []


async def test_plain_http_to_another_machine_is_refused(connected: list[str]) -> None:
    for url in ("http://10.1.2.3/", "http://93.184.216.34/", "http://[2606:4700::1]/"):
        result = await run_one(http_hook(url))
        assert "plain http reaches no other; use https" in str(result.error)
    assert connected == []


PRIVATE = [
    *("127.0.0.1", "127.9.9.9", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1"),
    *("169.254.169.254", "0.0.0.0", "0.1.2.3", "100.64.0.1", "100.127.255.255", "224.0.0.1"),
    *("239.1.1.1", "240.0.0.1", "255.255.255.255", "192.0.0.8", "192.0.2.1", "198.18.0.1"),
    *("198.19.255.1", "203.0.113.9", "192.88.99.1", "::", "::1", "::ffff:127.0.0.1"),
    *("::ffff:8.8.8.8", "::7f00:1", "64:ff9b::7f00:1", "64:ff9b::808:808", "64:ff9b:1::1"),
    *("fe80::1", "fec0::1", "fc00::1", "fd12::1", "ff02::1", "2002:7f00:1::", "2001::1"),
    *("2001:db8::1", "3fff::1", "100::1", "5f00::1"),
]


async def test_a_hook_of_the_project_reaches_no_address_that_is_not_public(
    resolve: Any, connected: list[str]
) -> None:
    for address in PRIVATE:
        url_host = f"[{address}]" if ":" in address else address
        literal = await run_one(http_hook(f"https://{url_host}/", source=PROJECT))
        for addresses in ([address], ["93.184.216.34", address]):
            resolve(addresses)
            result = await run_one(http_hook("https://hook.example/", source=PROJECT))
            for refused in (result, literal):
                assert refused.failed == "error", address
                assert "not a public address" in str(refused.error)
                assert "security.privateHookHosts" in str(refused.error)
    assert connected == []


@pytest.mark.parametrize("host", ["2130706433", "0x7f000001", "0177.0.0.1", "127.1", "localhost"])
async def test_other_spellings_of_an_address_lead_to_the_same(
    host: str, connected: list[str]
) -> None:
    result = await run_one(http_hook(f"https://{host}:9/", source=PROJECT))
    assert "not a public address" in str(result.error)
    assert connected == []


async def test_plain_http_of_the_project_needs_leave_too() -> None:
    async with RawServer(answer(DENY)) as server:
        hook = http_hook(server.url, source=PROJECT)
        refused = await run_one(hook)
        assert refused.failed == "error"
        assert "settings list 127.0.0.1 in security.privateHookHosts" in str(refused.error)
        assert server.requests == []
        assert (await run_one(hook, private_hosts=("127.0.0.1",))).output == DENY
        other = await run_one(hook, private_hosts=("127.0.0.2", "localhost"))
        assert other.failed == "error"


@pytest.mark.parametrize("written", ["hook.example", "HOOK.example.", " hook.example"])
async def test_user_or_system_settings_allow_a_host_by_name(
    written: str, tmp_path: Path, resolve: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    resolve(["127.0.0.1"])
    async with serve_tls(tmp_path, "hook.example", monkeypatch) as server:
        hook = http_hook(named(server, "hook.example"), source=PROJECT)
        assert (await run_one(hook)).failed == "error"
        assert (await run_one(hook, private_hosts=(written,))).output == DENY
    assert len(server.requests) == 1


async def test_a_name_is_looked_up_once_and_what_was_looked_up_is_connected_to(
    tmp_path: Path, resolve: Any, connected: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = resolve(["93.184.216.34"], ["127.0.0.1"])
    async with serve_tls(tmp_path, "hook.example", monkeypatch) as server:
        result = await run_one(http_hook(named(server, "hook.example"), source=PROJECT))
    assert result.output == DENY
    assert (asked, connected) == (["hook.example"], ["93.184.216.34"])
    # The name is what the certificate and the request are about.
    assert server.requests[0].headers["host"] == named(server, "hook.example").split("/")[2]


async def test_a_connection_of_the_user_is_not_used_for_the_project(
    tmp_path: Path, resolve: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.runner.planned import run

    resolve(["127.0.0.1"])
    async with serve_tls(tmp_path, "hook.example", monkeypatch) as server:
        url = named(server, "hook.example")
        mine, theirs = await run(http_hook(url), http_hook(url, source=PROJECT), sequential=True)
    assert (mine.output, theirs.failed) == (DENY, "error")
    assert len(server.requests) == 1


async def test_a_server_that_nobody_vouches_for_is_sent_nothing(
    tmp_path: Path, resolve: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    resolve(["127.0.0.1"])
    async with serve_tls(tmp_path, "hook.example", monkeypatch) as server:
        other = await run_one(http_hook(named(server, "other.example")))
        monkeypatch.delenv("SSL_CERT_FILE")
        unknown = await run_one(http_hook(named(server, "hook.example")))
    for result in (other, unknown):
        assert result.failed == "spawn"
        assert "certificate" in str(result.error)
    assert server.requests == []


async def test_a_name_that_leads_nowhere_is_a_failure(resolve: Any) -> None:
    resolve([])
    result = await run_one(http_hook("https://hook.example/"))
    assert result.failed == "spawn"
    assert "the host hook.example cannot be found" in str(result.error)


async def test_of_several_addresses_the_first_that_answers_is_used(resolve: Any) -> None:
    resolve(["::1", "127.0.0.1"])
    async with RawServer(answer(DENY)) as server:
        assert (await run_one(http_hook(named(server, "localhost")))).output == DENY


@pytest.mark.parametrize(("deaf", "is_reached"), [(7, True), (8, False)])
async def test_eight_addresses_of_a_name_are_tried(
    resolve: Any, deaf: int, is_reached: bool
) -> None:
    async with RawServer(answer(DENY)) as server:
        resolve([*(f"127.0.0.{last}" for last in range(2, 2 + deaf)), "127.0.0.1"])
        result = await run_one(http_hook(named(server, "localhost")))
    assert (result.output == DENY) is is_reached


async def test_nobody_listening_is_a_failure() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        result = await run_one(http_hook(f"http://127.0.0.1:{port}/"))
    assert result.failed == "spawn"
    assert "cannot be reached: Connect" in str(result.error)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_is_not_followed_and_its_host_is_named(status: int) -> None:
    async with RawServer(answer(DENY)) as elsewhere:
        location = f"location: {elsewhere.url}?token=hush\r\n"
        result = await ask(answer(DENY, status=status, extra=location))
    assert elsewhere.requests == []
    assert result.failed == "error"
    assert "a redirect to 127.0.0.1; " in str(result.error)
    assert "hush" not in str(result.error)


@pytest.mark.parametrize(("status", "is_redirect"), [(300, True), (399, True), (400, False)])
async def test_only_a_status_of_redirects_is_called_one(status: int, is_redirect: bool) -> None:
    extra = "location: https://other.example/\r\n"
    result = await ask(answer(DENY, status=status, extra=extra))
    assert ("a redirect to other.example" in str(result.error)) is is_redirect


async def test_a_redirect_to_another_path_stays_on_the_same_host() -> None:
    result = await ask(answer(DENY, status=302, extra="location: /elsewhere\r\n"))
    assert "a redirect to the same host; " in str(result.error)


@pytest.mark.parametrize(
    "location", ["", "/elsewhere", "https://[bad", "https://\x1b[31mred/", "x" * 9_000]
)
async def test_any_location_of_a_redirect_is_survived(location: str) -> None:
    extra = f"location: {location}\r\n" if location else ""
    result = await ask(answer(DENY, status=302, extra=extra))
    assert result.failed == "error"
    assert str(result.error).isprintable()
    assert len(str(result.error)) < 400
    assert ("a redirect to" in str(result.error)) is bool(location)


async def test_proxies_and_netrc_of_the_environment_are_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    netrc = tmp_path / ".netrc"
    netrc.write_text("machine 127.0.0.1 login me password hush-hush\n")
    netrc.chmod(0o600)
    monkeypatch.setenv("NETRC", str(netrc))
    monkeypatch.setenv("HOME", str(tmp_path))
    async with RawServer(answer({})) as proxy, RawServer(answer(DENY)) as server:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy", "HTTPS_PROXY"):
            monkeypatch.setenv(name, proxy.url)
        assert (await run_one(http_hook(server.url))).output == DENY
    assert proxy.requests == []
    assert "authorization" not in server.requests[0].headers


async def test_only_urls_that_fit_a_pattern_are_called() -> None:
    async with RawServer(answer(DENY)) as server:
        url = f"{server.url}?key=hush&x=.example.com/"
        for lists, is_called in [
            ((), True),
            (((),), False),
            ((("https://*",),), False),
            ((("http://127.0.0.1:*",),), True),
            (((server.url,),), False),
            ((("https://*", "http://127.0.0.1:*"), ("*",)), True),
            ((("*",), ("http://*.example.com/*",)), False),
        ]:
            result = await run_one(http_hook(url, allowed_urls=lists))
            assert (result.output == DENY) is is_called, lists
            if not is_called:
                assert result.failed == "error"
                assert f"{server.url} matches no URL in allowedHttpHookUrls" in str(result.error)
                assert "hush" not in str(result.error)


@pytest.mark.parametrize(
    "url",
    ["ftp://127.0.0.1/", "file:///etc/passwd", "127.0.0.1/", "http://", "http:///x", "//h/x",
     "unix:///run/docker.sock", "http+unix://%2Frun%2Fdocker.sock/x", "http://[::1", "http://h:0/",
     "http://h:99999/", "http://h:x/", "http://h /", "http://h/\r\nx", "http://h/\tx", " http://h/",
     "http://exämple.com/", "http://%31%32%37.0.0.1/", "http://a%00b/", "http://-/",
     "http://[fe80::1%25eth0]/", "http://h/a/../b", "http://h/%2e%2E/b", "http://h/a/..%2fb",
     "http://h/a/..\\b", "http://h/a/..;/b", "http://h/a%5C.%2e/b", "javascript:alert(1)",
     "http://me:hush@127.0.0.1/", "http://hush@127.0.0.1/", "http://:hush@127.0.0.1/"],
)  # fmt: skip
async def test_what_is_no_url_of_a_hook_fails_clearly(url: str, connected: list[str]) -> None:
    result = await run_one(http_hook(url))
    assert result.failed == "error"
    assert str(result.error).startswith("its url ")
    assert "hush" not in str(result.error)
    assert connected == []
