"""Who may connect: every way to sign in that NATS has, and TLS that cannot be talked out of."""

import base64
import datetime
import ipaddress
import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import nkeys  # type: ignore[import-untyped]
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from hookline.bus import request_hook_execution
from hookline.bus.nats import BusConnectionError, ConnectionState, NatsMessageBus, tls_context
from tests.natsserver import NatsServer, nats_server

PASSWORD = 'authorization { user: "me", password: "p@ss/word" }\n'
TOKEN = 'authorization { token: "s3cret" }\n'


async def connects(bus: NatsMessageBus) -> None:
    """A request over it gets as far as there being no worker."""
    async with bus:
        response = await request_hook_execution(bus, "BeforeAgent", {"prompt": "p"}, timeout=5)
    assert response["error"]["code"] == "unavailable"


async def test_a_user_signs_in_with_a_password(tmp_path: Path) -> None:
    with nats_server(tmp_path / "nats", PASSWORD) as server:
        await connects(NatsMessageBus(server.url, user="me", password="p@ss/word"))
        host = server.url.removeprefix("nats://")
        await connects(NatsMessageBus(f"nats://me:p%40ss%2Fword@{host}"))
        with pytest.raises(BusConnectionError, match="Authorization Violation"):
            await NatsMessageBus(server.url, user="me", password="wrong").connect()


async def test_a_token_signs_in(tmp_path: Path) -> None:
    with nats_server(tmp_path / "nats", TOKEN) as server:
        await connects(NatsMessageBus(server.url, token="s3cret"))
        await connects(NatsMessageBus(server.url.replace("//", "//s3cret@")))
        with pytest.raises(BusConnectionError, match="Authorization Violation"):
            await NatsMessageBus(server.url).connect()


async def test_an_nkey_signs_in(tmp_path: Path) -> None:
    seed = nkeys.encode_seed(b"7" * 32, nkeys.PREFIX_BYTE_USER)
    public = nkeys.from_seed(bytearray(seed)).public_key.decode()
    file = tmp_path / "user.nk"
    file.write_bytes(seed)
    config = f'authorization {{ users: [ {{ nkey: "{public}" }} ] }}\n'
    with nats_server(tmp_path / "nats", config) as server:
        await connects(NatsMessageBus(server.url, nkey=file))
        with pytest.raises(BusConnectionError, match="Authorization Violation"):
            await NatsMessageBus(server.url).connect()


class Identity:
    """An nkey that signs the claims of others, as operators, accounts and users have one."""

    def __init__(self, number: int, kind: int) -> None:
        self.seed = nkeys.encode_seed(bytes([number]) * 32, kind)
        self._pair = nkeys.from_seed(bytearray(self.seed))
        self.public = self._pair.public_key.decode()

    def vouches_for(self, other: "Identity", claims: dict[str, object]) -> str:
        header = {"typ": "JWT", "alg": "ed25519-nkey"}
        body = {"iat": 0, "iss": self.public, "sub": other.public, "name": "n", "jti": "j"}
        said = f"{_coded(header)}.{_coded({**body, 'nats': {'version': 2, **claims}})}"
        return f"{said}.{_base64(self._pair.sign(said.encode()))}"


def _coded(value: object) -> str:
    return _base64(json.dumps(value).encode())


def _base64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


async def test_a_credentials_file_signs_in(tmp_path: Path) -> None:
    operator = Identity(1, nkeys.PREFIX_BYTE_OPERATOR)
    account = Identity(2, nkeys.PREFIX_BYTE_ACCOUNT)
    user = Identity(3, nkeys.PREFIX_BYTE_USER)
    limits = {"subs": -1, "data": -1, "payload": -1}
    more = {"conn": -1, "leaf": -1, "imports": -1, "exports": -1, "wildcards": True}
    claims = operator.vouches_for(account, {"type": "account", "limits": {**limits, **more}})
    config = (
        f"operator: {operator.vouches_for(operator, {'type': 'operator'})}\n"
        f"resolver: MEMORY\nresolver_preload: {{ {account.public}: {claims} }}\n"
    )
    token = account.vouches_for(user, {"type": "user", **limits})
    file = tmp_path / "user.creds"
    file.write_text(
        f"-----BEGIN NATS USER JWT-----\n{token}\n------END NATS USER JWT------\n"
        f"-----BEGIN USER NKEY SEED-----\n{user.seed.decode()}\n------END USER NKEY SEED------\n"
    )
    with nats_server(tmp_path / "nats", config) as server:
        await connects(NatsMessageBus.from_url(f"{server.url}?credentials={file}"))
        with pytest.raises(BusConnectionError, match="Authorization Violation"):
            await NatsMessageBus(server.url).connect()


@pytest.mark.parametrize("kind", ["nkey", "credentials"])
@pytest.mark.parametrize("content", ["", "hello", "-----BEGIN USER NKEY SEED-----\nSUxyz\n"])
def test_a_file_that_cannot_sign_in_is_refused_with_the_remedy(
    tmp_path: Path, kind: str, content: str
) -> None:
    file = tmp_path / "mine"
    file.write_text(content)
    with pytest.raises(BusConnectionError, match=r"mine has no .*; .*`n\w+ .*` writes"):
        NatsMessageBus.from_url(f"nats://127.0.0.1:1?{kind}={file}")


async def test_permissions_that_are_missing_are_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    config = (
        'authorization { users: [ { user: "a", password: "b", '
        'permissions: { publish: ["other.>"], subscribe: ["hookline.inbox.>"] } } ] }\n'
    )
    with nats_server(tmp_path / "nats", config) as server:
        async with NatsMessageBus(server.url, user="a", password="b") as bus:
            response = await request_hook_execution(bus, "BeforeAgent", {"prompt": "p"}, timeout=1)
    assert response["error"]["code"] == "timeout"
    assert 'permissions violation for publish to "hookline.request.beforeagent"' in caplog.text


class Certificates(NamedTuple):
    ca: str
    cert: str
    key: str


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    """An authority, and a certificate of it that serves for either side."""
    directory = tmp_path_factory.mktemp("certificates")
    authority = ec.generate_private_key(ec.SECP256R1())
    own = ec.generate_private_key(ec.SECP256R1())
    ca = _certificate("authority", authority.public_key(), "authority", authority, ca=True)
    cert = _certificate("localhost", own.public_key(), "authority", authority, ca=False)
    key = own.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    made = Certificates(*(str(directory / name) for name in ("ca.pem", "cert.pem", "key.pem")))
    for path, content in zip(made, (ca, cert, key), strict=True):
        Path(path).write_bytes(content)
    return made


def _certificate(
    name: str,
    public: ec.EllipticCurvePublicKey,
    issuer: str,
    signer: ec.EllipticCurvePrivateKey,
    *,
    ca: bool,
) -> bytes:
    now = datetime.datetime.now(datetime.UTC)
    local = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
    identifier = x509.SubjectKeyIdentifier.from_public_key(public)
    authority = x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key())
    usage = x509.KeyUsage(True, False, False, False, False, ca, ca, False, False)
    built = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]))
        .issuer_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, issuer)]))
        .public_key(public)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=2))
        .add_extension(x509.BasicConstraints(ca=ca, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName([local]), critical=False)
        .add_extension(identifier, critical=False)
        .add_extension(authority, critical=False)
        .add_extension(usage, critical=True)
        .sign(signer, hashes.SHA256())
    )
    return built.public_bytes(serialization.Encoding.PEM)


@pytest.fixture
def secured(tmp_path: Path, certificates: Certificates) -> Iterator[NatsServer]:
    ca, cert, key = certificates
    tls = f'tls {{ cert_file: "{cert}", key_file: "{key}", ca_file: "{ca}", verify: true }}\n'
    with nats_server(tmp_path / "nats", tls) as server:
        yield server


async def test_tls_proves_both_sides(secured: NatsServer, certificates: Certificates) -> None:
    ca, cert, key = certificates
    await connects(NatsMessageBus(secured.url, tls=tls_context(ca=ca, certificate=cert, key=key)))
    url = f"{secured.url}?tls_ca={ca}&tls_cert={cert}&tls_key={key}"
    await connects(NatsMessageBus.from_url(url))


@pytest.mark.parametrize("trusting", [True, False])
async def test_who_cannot_prove_itself_over_tls_is_refused(
    secured: NatsServer, certificates: Certificates, trusting: bool
) -> None:
    bus = NatsMessageBus(secured.url, tls=tls_context(ca=certificates.ca if trusting else None))
    with pytest.raises(BusConnectionError, match="cannot connect to nats://"):
        await bus.connect()
    assert bus.state is ConnectionState.CLOSED


async def test_who_wants_tls_never_signs_in_without_it(
    tmp_path: Path, certificates: Certificates
) -> None:
    with nats_server(tmp_path / "nats", PASSWORD) as server:
        options = {"user": "me", "password": "p@ss/word", "tls": tls_context(ca=certificates.ca)}
        with pytest.raises(BusConnectionError, match="secure connection not available"):
            await NatsMessageBus(server.url, **options).connect()  # type: ignore[arg-type]
