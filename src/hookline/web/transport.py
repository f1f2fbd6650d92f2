"""How connections are made and kept: TLS is verified, and a machine that is gone is noticed."""

import socket
import ssl

try:
    import httpx
except ImportError as error:
    raise ImportError("HTTP needs httpx; run pip install 'hookline[http]'") from error

# Shorter than the five seconds after which most servers close a connection that nobody uses.
IDLE_SECONDS = 3.0
# Connections that are kept though nobody uses them.
MOST_IDLE = 10


def keep_alive_options() -> list[tuple[int, int, int]]:
    """Options of a socket. Without them TCP notices only when it sends that the other machine is
    gone."""
    options = [(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)]
    idle = getattr(socket, "TCP_KEEPIDLE", None) or getattr(socket, "TCP_KEEPALIVE", None)
    for option, seconds in ((idle, 60), (getattr(socket, "TCP_KEEPINTVL", None), 15)):
        if option is not None:
            options.append((socket.IPPROTO_TCP, option, seconds))
    return options


def load_authorities() -> ssl.SSLContext:
    """Those that come with httpx, and this system's."""
    context: ssl.SSLContext = httpx.create_ssl_context(trust_env=False)
    context.load_default_certs()
    return context
