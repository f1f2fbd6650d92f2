"""How a bus reaches its servers and signs in; URLs that are shown contain no password."""

import os
import ssl
from collections.abc import Sequence
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit, urlunsplit

import msgspec

from hookline.errors import HooklineError

SCHEMES = ("nats", "tls", "ws", "wss")
_IN_URLS = frozenset(
    {"prefix", "inbox_prefix", "credentials", "nkey", "name", "tls_ca", "tls_cert", "tls_key"}
)


class BusConnectionError(HooklineError):
    """The bus cannot be reached, or refuses the sign-in."""

    code = "disconnected"


class ConnectionOptions(msgspec.Struct, frozen=True, kw_only=True):
    """All times are in seconds.

    ``nkey`` is a file with a seed, ``credentials`` a file with a JWT and its seed. The wait between
    attempts to reconnect begins with ``reconnect_wait`` and doubles up to ``max_reconnect_wait``.
    A server that is silent for about three times ``ping_interval`` counts as lost.
    """

    servers: tuple[str, ...]
    name: str = "hookline"
    user: str | None = None
    password: str | None = None
    token: str | None = None
    nkey: str | None = None
    credentials: str | None = None
    tls: ssl.SSLContext | None = None
    tls_hostname: str | None = None
    connect_timeout: float = 2.0
    reconnect_wait: float = 0.1
    max_reconnect_wait: float = 5.0
    ping_interval: float = 5.0

    @property
    def shown(self) -> str:
        """The servers, without credentials."""
        return ", ".join(self.servers)


def make_connection_options(servers: str | Sequence[str], **options: Any) -> ConnectionOptions:
    """Make the options from URLs and keywords; raises BusConnectionError for a bad one.

    A URL may contain credentials: ``nats://user:password@host``, ``nats://token@host``.
    """
    urls = servers.split(",") if isinstance(servers, str) else list(servers)
    bare = []
    for url in map(str.strip, urls):
        login, without = _split_url(url)
        options = {**login, **{name: value for name, value in options.items() if value is not None}}
        bare.append(without)
    if not bare:
        raise BusConnectionError("no server is named; write nats://HOST:4222")
    if options.get("tls") is None and any(url.startswith(("tls:", "wss:")) for url in bare):
        options["tls"] = ssl.create_default_context()
    for kind in ("nkey", "credentials"):
        if options.get(kind) is not None:
            options[kind] = os.fspath(options[kind])
    seed = options.get("nkey")
    if seed is not None and not _read_file("nkey", seed).strip().startswith(b"SU"):
        raise BusConnectionError(
            f"{seed} has no seed of a user, which begins with SU; `nk -gen user` writes one"
        )
    if options.get("credentials") is not None:
        check_credentials(options["credentials"])
    return ConnectionOptions(servers=tuple(bare), **options)


def read_url_options(text: str) -> tuple[str, dict[str, Any]]:
    """Split ``nats://host?credentials=FILE&tls_ca=FILE&prefix=team`` into the servers and the
    options of ``NatsMessageBus``; raises BusConnectionError."""
    servers, _, query = text.strip().partition("?")
    if "@" in query and "@" not in servers.rpartition("//")[2]:
        raise _make_url_error("it has a ? before the @")
    fields = dict(parse_qsl(query, keep_blank_values=True))
    if unknown := [name for name in fields if name not in _IN_URLS]:
        raise BusConnectionError(
            f"unknown option in the URL of the bus: {', '.join(unknown)}; "
            f"use {', '.join(sorted(_IN_URLS))}"
        )
    files = {name: fields.pop(f"tls_{name}", None) for name in ("ca", "cert", "key")}
    options: dict[str, Any] = dict(fields)
    if any(files.values()):
        options["tls"] = tls_context(ca=files["ca"], certificate=files["cert"], key=files["key"])
    return servers, options


def tls_context(
    *, ca: str | None = None, certificate: str | None = None, key: str | None = None
) -> ssl.SSLContext:
    """Make a context that verifies the server with ``ca`` (without it, with what the system trusts)
    and presents ``certificate``, if there is one; raises BusConnectionError."""
    if key is not None and certificate is None:
        raise BusConnectionError(
            f"TLS cannot use the key {key} without its certificate; add tls_cert"
        )
    try:
        context = ssl.create_default_context(cafile=ca)
        if certificate is not None:
            context.load_cert_chain(certificate, key)
    except (OSError, ssl.SSLError) as error:
        files = ", ".join(file for file in (ca, certificate, key) if file)
        raise BusConnectionError(f"TLS cannot be set up with {files}: {error}") from None
    return context


def check_credentials(file: str) -> None:
    """Check that a file has a JWT and its seed; raises BusConnectionError."""
    content = _read_file("credentials", file)
    if b"BEGIN NATS USER JWT" not in content or b"BEGIN USER NKEY SEED" not in content:
        raise BusConnectionError(
            f"{file} has no JWT with its seed; `nsc generate creds` writes such a file"
        )


def _read_file(kind: str, file: str) -> bytes:
    try:
        with open(file, "rb") as opened:
            return opened.read()
    except FileNotFoundError:
        raise BusConnectionError(f"there is no {kind} file {file}") from None
    except OSError as error:
        raise BusConnectionError(f"the {kind} file {file} cannot be read: {error}") from None


def _split_url(url: str) -> tuple[dict[str, str], str]:
    try:
        parts = urlsplit(url if "://" in url else f"nats://{url}")
        port = parts.port
    except ValueError:
        # urllib's own message may contain a piece of a password.
        raise _make_url_error("its port is not a number below 65536") from None
    if parts.scheme not in SCHEMES or not parts.hostname:
        address = parts.netloc.rpartition("@")[2]
        raise BusConnectionError(f"{address!r} is not the URL of a bus; write nats://HOST:4222")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    place = host if port is None else f"{host}:{port}"
    login: dict[str, str] = {}
    if parts.password is not None:
        login = {"user": unquote(parts.username or ""), "password": unquote(parts.password)}
    elif parts.username:
        login = {"token": unquote(parts.username)}
    return login, urlunsplit((parts.scheme, place, parts.path, parts.query, ""))


def _make_url_error(problem: str) -> BusConnectionError:
    return BusConnectionError(
        f"the URL of the bus cannot be read: {problem}; write / ? # @ , and % in a password "
        "as %2F %3F %23 %40 %2C and %25"
    )
