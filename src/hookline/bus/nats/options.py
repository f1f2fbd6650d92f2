"""How a bus reaches its servers and proves who it is; a password is never part of a shown URL."""

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
    """The bus cannot be reached, or does not let us in."""

    code = "disconnected"


class ConnectionOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds wherever a time is meant.

    ``nkey`` and ``credentials`` are files, of a seed and of a JWT with its seed. Between attempts
    to reconnect it waits ``reconnect_wait``, twice as long each time up to ``max_reconnect_wait``.
    A server that is silent for about three times ``ping_interval`` is taken for lost.
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
        """The servers as they may be shown to anybody."""
        return ", ".join(self.servers)


def connection_options(servers: str | Sequence[str], **options: Any) -> ConnectionOptions:
    """The options with what the URLs say of them; raises BusConnectionError for a bad one.

    Who the user is may be said in a URL: ``nats://user:password@host``, ``nats://token@host``.
    """
    urls = servers.split(",") if isinstance(servers, str) else list(servers)
    bare = []
    for url in map(str.strip, urls):
        said, without = _split(url)
        options = {**said, **{name: value for name, value in options.items() if value is not None}}
        bare.append(without)
    if not bare:
        raise BusConnectionError("no server was named; write nats://HOST:4222")
    if options.get("tls") is None and any(url.startswith(("tls:", "wss:")) for url in bare):
        options["tls"] = ssl.create_default_context()
    for kind in ("nkey", "credentials"):
        if options.get(kind) is not None:
            options[kind] = os.fspath(options[kind])
    seed = options.get("nkey")
    if seed is not None and not _content_of("nkey", seed).strip().startswith(b"SU"):
        raise BusConnectionError(
            f"{seed} holds no seed of a user, which begins with SU; `nk -gen user` writes one"
        )
    if options.get("credentials") is not None:
        check_credentials(options["credentials"])
    return ConnectionOptions(servers=tuple(bare), **options)


def url_options(text: str) -> tuple[str, dict[str, Any]]:
    """The servers that a text names, and the options behind its ``?``, as ``NatsMessageBus`` takes
    them: ``nats://host?credentials=FILE&tls_ca=FILE&prefix=team``; raises BusConnectionError."""
    servers, _, query = text.strip().partition("?")
    if "@" in query and "@" not in servers.rpartition("//")[2]:
        raise _unreadable("it has a ? before the @")
    given = dict(parse_qsl(query, keep_blank_values=True))
    if unknown := [name for name in given if name not in _IN_URLS]:
        raise BusConnectionError(
            f"{', '.join(unknown)}: no option of a bus; there are {', '.join(sorted(_IN_URLS))}"
        )
    files = {name: given.pop(f"tls_{name}", None) for name in ("ca", "cert", "key")}
    options: dict[str, Any] = dict(given)
    if any(files.values()):
        options["tls"] = tls_context(ca=files["ca"], certificate=files["cert"], key=files["key"])
    return servers, options


def tls_context(
    *, ca: str | None = None, certificate: str | None = None, key: str | None = None
) -> ssl.SSLContext:
    """A context that checks the server against ``ca`` (without it, what the system trusts) and
    shows it our certificate, if we have one; raises BusConnectionError."""
    if key is not None and certificate is None:
        raise BusConnectionError(f"TLS cannot use the key {key} without its certificate (tls_cert)")
    try:
        context = ssl.create_default_context(cafile=ca)
        if certificate is not None:
            context.load_cert_chain(certificate, key)
    except (OSError, ssl.SSLError) as error:
        files = ", ".join(file for file in (ca, certificate, key) if file)
        raise BusConnectionError(f"TLS cannot be set up with {files}: {error}") from None
    return context


def check_credentials(file: str) -> None:
    """Whether a file has a JWT and the seed that goes with it; raises BusConnectionError."""
    content = _content_of("credentials", file)
    if b"BEGIN NATS USER JWT" not in content or b"BEGIN USER NKEY SEED" not in content:
        raise BusConnectionError(
            f"{file} holds no JWT with its seed; credentials are what `nsc generate creds` writes"
        )


def _content_of(kind: str, file: str) -> bytes:
    try:
        with open(file, "rb") as opened:
            return opened.read()
    except FileNotFoundError:
        raise BusConnectionError(f"there is no {kind} file {file}") from None
    except OSError as error:
        raise BusConnectionError(f"the {kind} file {file} cannot be read: {error}") from None


def _split(url: str) -> tuple[dict[str, str], str]:
    try:
        parts = urlsplit(url if "://" in url else f"nats://{url}")
        port = parts.port
    except ValueError:
        # What urllib says of it may be a piece of a password.
        raise _unreadable("its port is no number below 65536") from None
    if parts.scheme not in SCHEMES or not parts.hostname:
        shown = parts.netloc.rpartition("@")[2]
        raise BusConnectionError(f"{shown!r} is no bus; write nats://HOST:4222")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    place = host if port is None else f"{host}:{port}"
    said: dict[str, str] = {}
    if parts.password is not None:
        said = {"user": unquote(parts.username or ""), "password": unquote(parts.password)}
    elif parts.username:
        said = {"token": unquote(parts.username)}
    return said, urlunsplit((parts.scheme, place, parts.path, parts.query, ""))


def _unreadable(problem: str) -> BusConnectionError:
    return BusConnectionError(
        f"the URL of the bus cannot be read: {problem}; write / ? # @ , and % in a password "
        "as %2F %3F %23 %40 %2C and %25"
    )
