"""A server is who its URL says, or nothing is said to it."""

import datetime
import ipaddress
import ssl
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from hookline.serving.mcp.http import HttpServer
from tests.adapters.mcp_http.rawserver import RawServer, serve
from tests.adapters.mcp_http.wire import ask


def make_certificate(directory: Path, address: str) -> Path:
    """A file with a key and a certificate that vouches for itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test")])
    now = datetime.datetime.now(datetime.UTC)
    names = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(address))])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(names, critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    file = directory / f"{address}.pem"
    file.write_bytes(
        key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        + certificate.public_bytes(pem)
    )
    return file


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
