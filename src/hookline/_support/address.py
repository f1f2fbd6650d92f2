"""Checks URLs and headers of requests; its error messages contain no secrets."""

import re
from urllib.parse import SplitResult, urlsplit

from hookline.errors import HooklineError

_HEADER_NAME = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_HEADER_VALUE = re.compile(r"[\x20-\x7e\t]*")
# The transport sets these, or they would change how a message is encoded.
TRANSPORT_HEADERS = frozenset(
    {
        "accept",
        "accept-encoding",
        "connection",
        "content-encoding",
        "content-length",
        "content-type",
        "expect",
        "host",
        "keep-alive",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)


class AddressError(HooklineError):
    """A URL or header that cannot be used; the message contains no secret."""


def split_url(url: str) -> SplitResult | None:
    """Split the URL of an HTTP server; None for any other text."""
    try:
        parts = urlsplit(url)
        has_place = bool(parts.hostname) and parts.port != 0
    except ValueError:
        return None
    is_plain = url.isascii() and url.isprintable() and " " not in url
    return parts if parts.scheme in ("http", "https") and has_place and is_plain else None


def netloc_of(host: str, port: int | None) -> str:
    """Return a host and port as a URL has them."""
    netloc = f"[{host}]" if ":" in host else host
    return netloc if port is None else f"{netloc}:{port}"


def check_header(name: str, value: str) -> tuple[str, str]:
    """Return a header as it is sent; raises ``AddressError`` for one that HTTP does not allow."""
    if not _HEADER_NAME.fullmatch(name):
        raise AddressError("the name of a header must have letters, digits and hyphens only")
    if not _HEADER_VALUE.fullmatch(value):
        raise AddressError(f"the header {name} has a character that HTTP does not allow; remove it")
    return name, value.strip()
