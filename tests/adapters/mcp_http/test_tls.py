"""A server is who its URL says, or nothing is said to it."""

import ssl
from pathlib import Path

import pytest

from hookline.service.mcp.http import HttpServer
from tests.adapters.certificates import make_certificate
from tests.adapters.mcp_http.rawserver import RawServer, serve
from tests.adapters.mcp_http.wire import ask


def serve_tls(file: Path) -> RawServer:
    raw = serve()
    raw.tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    raw.tls.load_cert_chain(file)
    return raw


async def test_an_authority_of_this_system_is_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = make_certificate(tmp_path, "127.0.0.1")
    monkeypatch.setenv("SSL_CERT_FILE", str(file))
    headers = {"Authorization": "Bearer hush"}
    async with serve_tls(file) as raw, HttpServer(raw.url, headers=headers) as server:
        assert (await ask(server, "ping", 1))["result"] == {"ok": "ping"}
        assert raw.requests[0].headers["authorization"] == "Bearer hush"


@pytest.mark.parametrize("address", ["127.0.0.1", "127.0.0.2"])
async def test_a_server_that_nobody_vouches_for_hears_nothing(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = make_certificate(tmp_path, address)
    if address == "127.0.0.2":  # it is trusted, but as another
        monkeypatch.setenv("SSL_CERT_FILE", str(file))
    async with serve_tls(file) as raw, HttpServer(raw.url) as server:
        answer = await ask(server, "ping", 1)
        assert "certificate" in answer["error"]["message"]
        assert raw.requests == []
