"""Where an MCP server is and what authenticates us there; its secrets go to that server alone."""

import base64
import ipaddress
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import SplitResult, unquote, urlsplit

from hookline.errors import HooklineError

_NAME = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_VALUE = re.compile(r"[\x20-\x7e\t]*")
# The transport sets them, or they would change which bytes a message has.
_RESERVED = {
    "accept",
    "accept-encoding",
    "connection",
    "content-encoding",
    "content-length",
    "content-type",
    "host",
    "last-event-id",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
}


class AddressError(HooklineError):
    """A URL or header that cannot be used; its text has no secret."""


@dataclass(frozen=True)
class Address:
    """``url`` and ``headers`` are for requests; ``shown`` is for people, without what may be
    secret."""

    url: str = field(repr=False)
    headers: tuple[tuple[str, str], ...] = field(repr=False)
    shown: str

    @property
    def is_https(self) -> bool:
        return self.url.startswith("https:")


def read_address(
    url: str, headers: Mapping[str, str] | None = None, *, allow_http: bool = False
) -> Address:
    """Raises ``AddressError``.

    Plain HTTP goes to this machine; with ``allow_http`` to others too, but without headers and
    passwords, which anybody on the way could read.
    """
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise AddressError("the URL of the MCP server cannot be read") from None
    is_plain = url.isascii() and url.isprintable() and " " not in url
    if parts.scheme not in ("http", "https") or not host or not is_plain:
        raise AddressError("the URL of an MCP server is https://HOST/PATH, or http:// on localhost")
    netloc = f"[{host}]" if ":" in host else host
    if port is not None:
        netloc += f":{port}"
    shown = f"{parts.scheme}://{netloc}{parts.path}"
    checked = [_check_header(name, value) for name, value in (headers or {}).items()]
    checked += _basic_auth(parts, checked)
    if parts.scheme == "http" and not _is_loopback(host):
        if not allow_http:
            raise AddressError(
                f"{shown} is plain HTTP to another machine: everybody on the way can read and "
                "change what is said; use https, or --allow-http where you trust the network"
            )
        if checked:
            raise AddressError(
                f"{shown} is plain HTTP to another machine: headers and passwords are sent over "
                "https only"
            )
    return Address(parts._replace(netloc=netloc, fragment="").geturl(), tuple(checked), shown)


def _check_header(name: str, value: str) -> tuple[str, str]:
    if not _NAME.fullmatch(name):
        raise AddressError("the name of a header has letters, digits and hyphens")
    if name.lower() in _RESERVED or name.lower().startswith("mcp-"):
        raise AddressError(f"the header {name} is set by hookline itself")
    if not _VALUE.fullmatch(value):
        raise AddressError(f"the header {name} has a character that no header can have")
    return name, value.strip()


def _basic_auth(parts: SplitResult, headers: list[tuple[str, str]]) -> list[tuple[str, str]]:
    if parts.username is None and parts.password is None:
        return []
    if any(name.lower() == "authorization" for name, _ in headers):
        raise AddressError("give the credentials in the URL or in a header, not in both")
    pair = f"{unquote(parts.username or '')}:{unquote(parts.password or '')}"
    return [("Authorization", f"Basic {base64.b64encode(pair.encode()).decode('ascii')}")]


def _is_loopback(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
