"""Where an http hook may be sent: its URL, the patterns that allow it, and the addresses behind it.

The DNS may resolve a name to different addresses from one moment to the next. So the address that
is connected to decides, and a ``Reach`` says which addresses are allowed.
"""

import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from enum import Enum
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from urllib.parse import unquote

import msgspec

from hookline._support.address import AddressError, netloc_of, split_url
from hookline.wire.hooks import HookSource, HttpHook

_HOST_NAME = re.compile(r"[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?")
_SLASH = re.compile(r"[/\\]")
_PORTS = {"http": 80, "https": 443}

# From IANA's registries of special addresses, as Python's ``is_global`` differs from release to
# release. 192.88.99.0/24 and 2002::/16 lead through relays to any IPv4 address.
_SPECIAL_V4 = [
    ip_network(network)
    for network in (
        *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16"),
        *("172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16"),
        *("198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4"),
    )
]
# Outside of it are only loopback, link-local, private and multicast addresses, and those that stand
# for IPv4 addresses (::ffff:0:0/96, 64:ff9b::/96).
_UNICAST_V6 = ip_network("2000::/3")
_SPECIAL_V6 = [
    ip_network(network) for network in ("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20")
]


class Reach(Enum):
    """Which addresses a hook may be sent to."""

    ANYWHERE = "anywhere"
    # For plain http.
    THIS_MACHINE = "this machine"
    # For a project's hooks, which must not reach into the user's networks.
    PUBLIC = "public"

    def includes(self, address: IPv4Address | IPv6Address) -> bool:
        """Return whether a connection to that address is allowed."""
        if self is Reach.THIS_MACHINE:
            return address.is_loopback
        return self is Reach.ANYWHERE or is_public(address)

    def describe_refusal(self, host: str, address: IPv4Address | IPv6Address) -> str:
        """Say why an address of a host is not allowed, and what to do."""
        where = f"{host} resolves to {address}" if host != str(address) else host
        if self is Reach.THIS_MACHINE:
            return f"{where}, which is not this machine, and plain http reaches no other; use https"
        return (
            f"{where}, which is not a public address; for a project's hook to reach it, the user's "
            f"or the system's settings must list {host} in security.privateHookHosts"
        )


class Target(msgspec.Struct, frozen=True):
    """A URL in the parts that a request needs. ``host`` has no brackets, ``netloc`` is the Host
    header, ``path`` has the query."""

    scheme: str
    host: str
    port: int
    netloc: str
    path: str

    @property
    def shown(self) -> str:
        """The URL to show to people, without the query, which may hold secrets."""
        return f"{self.scheme}://{self.netloc}{self.path.partition('?')[0]}"


@lru_cache(maxsize=256)
def read_target(url: str) -> Target:
    """Take a URL apart; raises ``AddressError`` for one that no hook can be sent to."""
    parts = split_url(url)
    if parts is None:
        raise AddressError(
            "its url is neither https://HOST/PATH nor http:// on this machine; correct it"
        )
    if parts.username is not None or parts.password is not None:
        raise AddressError(
            "its url has a name or a password in it; put them into a header, as a variable that "
            "allowedEnvVars names"
        )
    host = (parts.hostname or "").rstrip(".")
    if ":" in host:
        with suppress(ValueError):
            host = IPv6Address(host).compressed
    if "%" in host or not (_HOST_NAME.fullmatch(host) or read_literal(host)):
        raise AddressError("its url has a host that cannot be looked up; correct it")
    # Servers undo escapes in it; some read a backslash as a slash, some stop at a semicolon.
    segments = _SLASH.split(unquote(parts.path))
    if any(segment.partition(";")[0] in (".", "..") for segment in segments):
        raise AddressError("its url has . or .. in its path; write the path that they lead to")
    path = parts.path or "/"
    return Target(
        scheme=parts.scheme,
        host=host,
        port=parts.port or _PORTS[parts.scheme],
        netloc=netloc_of(host, parts.port),
        path=f"{path}?{parts.query}" if parts.query else path,
    )


def choose_reach(hook: HttpHook, private_hosts: Sequence[str]) -> tuple[Target, Reach]:
    """Return where a hook's events go, and which addresses may be behind its host; raises
    ``AddressError`` for a hook that is never called. ``private_hosts`` are those that a project's
    hooks may reach too."""
    target = read_target(hook.url)
    if not all(fits(target, patterns) for patterns in hook.allowed_urls):
        raise AddressError(f"{target.shown} matches no URL in allowedHttpHookUrls; add it there")
    is_free = hook.source is not HookSource.PROJECT or is_named(target.host, private_hosts)
    if target.scheme == "https":
        return target, Reach.ANYWHERE if is_free else Reach.PUBLIC
    if not is_free:
        raise AddressError(
            f"{target.shown}: plain http reaches only this machine, and a project's hook may "
            f"use it only if the user's or the system's settings list {target.host} in "
            "security.privateHookHosts; use https"
        )
    return target, Reach.THIS_MACHINE


def fits(target: Target, patterns: Iterable[str]) -> bool:
    """Return whether a pattern allows the URL. ``*`` stands for anything, but before the path for
    no slash: ``https://*.example.com/*`` does not fit ``https://other/x.example.com/``."""
    head = f"{target.scheme}://{target.netloc}"
    for pattern in patterns:
        scheme, _, rest = pattern.strip().rpartition("://")
        host, slash, path = rest.partition("/")
        if not slash:
            path = "*" if host.endswith("*") else ""
        allowed = f"{scheme or '*'}://{host}".lower()
        if _matches(head, allowed) and _matches(target.path, f"/{path}"):
            return True
    return False


def _matches(text: str, pattern: str) -> bool:
    """Return whether the whole text matches the pattern. Each piece matches where it first occurs,
    without backtracking, so that no pattern takes long."""
    first, *pieces = pattern.split("*")
    if not pieces:
        return text == pattern
    *between, last = pieces
    end = len(text) - len(last)
    if not text.startswith(first) or not text.endswith(last) or end < len(first):
        return False
    at = len(first)
    for piece in between:
        found = text.find(piece, at, end)
        if found < 0:
            return False
        at = found + len(piece)
    return True


def is_named(host: str, names: Sequence[str]) -> bool:
    """Return whether a host is among names, in any spelling of them."""
    return any(name.strip().strip("[]").rstrip(".").lower() == host for name in names)


def is_public(address: IPv4Address | IPv6Address) -> bool:
    """Return whether an address is a public one of the internet."""
    if isinstance(address, IPv4Address):
        return not any(address in network for network in _SPECIAL_V4)
    # One with a scope belongs to a local network.
    if address.scope_id is not None or address not in _UNICAST_V6:
        return False
    return not any(address in network for network in _SPECIAL_V6)


def read_literal(host: str) -> IPv4Address | IPv6Address | None:
    """Return the address if a host is written as one, None for a name."""
    try:
        return ip_address(host)
    except ValueError:
        return None
