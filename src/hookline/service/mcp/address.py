"""The URL of an MCP server and its credentials, which are sent to that server only."""

import base64
import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import SplitResult, unquote

from hookline._support.address import (
    TRANSPORT_HEADERS,
    AddressError,
    check_header,
    netloc_of,
    split_url,
)

__all__ = ["Address", "AddressError", "read_address"]

# In addition to those of every request.
_RESERVED = TRANSPORT_HEADERS | {"last-event-id"}


@dataclass(frozen=True)
class Address:
    """``url`` and ``headers`` are for requests; ``shown`` is for people, without secrets."""

    url: str = field(repr=False)
    headers: tuple[tuple[str, str], ...] = field(repr=False)
    shown: str

    @property
    def is_https(self) -> bool:
        return self.url.startswith("https:")


def read_address(
    url: str, headers: Mapping[str, str] | None = None, *, allow_http: bool = False
) -> Address:
    """Read a URL and headers; raises ``AddressError``.

    Plain HTTP is for this machine; with ``allow_http`` for others too, but without headers and
    passwords, which others on the network could read.
    """
    parts = split_url(url)
    if parts is None:
        raise AddressError(
            "write the URL of an MCP server as https://HOST/PATH, or http:// on localhost"
        )
    host = parts.hostname or ""
    netloc = netloc_of(host, parts.port)
    shown = f"{parts.scheme}://{netloc}{parts.path}"
    checked = [_check_header(name, value) for name, value in (headers or {}).items()]
    checked += _make_basic_auth(parts, checked)
    if parts.scheme == "http" and not _is_loopback(host):
        if not allow_http:
            raise AddressError(
                f"{shown} is plain HTTP to another machine: others on the network can read and "
                "change it; use https, or --allow-http if you trust the network"
            )
        if checked:
            raise AddressError(
                f"{shown} is plain HTTP to another machine: headers and passwords are sent over "
                "https only; use https, or leave them out"
            )
    return Address(parts._replace(netloc=netloc, fragment="").geturl(), tuple(checked), shown)


def _check_header(name: str, value: str) -> tuple[str, str]:
    header = check_header(name, value)
    if name.lower() in _RESERVED or name.lower().startswith("mcp-"):
        raise AddressError(f"the header {name} is set by hookline itself; leave it out")
    return header


def _make_basic_auth(parts: SplitResult, headers: list[tuple[str, str]]) -> list[tuple[str, str]]:
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
