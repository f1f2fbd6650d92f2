"""How connections are made and kept: TLS is verified, and a lost machine is noticed."""

import socket
import ssl

try:
    import httpx
except ImportError as error:
    raise ImportError("HTTP needs httpx; run pip install 'hookline[http]'") from error

# Shorter than the five seconds after which most servers close an idle connection.
IDLE_SECONDS = 3.0
# Idle connections that are kept.
MOST_IDLE = 10


def keep_alive_options() -> list[tuple[int, int, int]]:
    """Return socket options without which TCP notices a lost machine only when it sends."""
    options = [(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)]
    idle = getattr(socket, "TCP_KEEPIDLE", None) or getattr(socket, "TCP_KEEPALIVE", None)
    for option, seconds in ((idle, 60), (getattr(socket, "TCP_KEEPINTVL", None), 15)):
        if option is not None:
            options.append((socket.IPPROTO_TCP, option, seconds))
    return options


def load_authorities() -> ssl.SSLContext:
    """Load the certificate authorities of httpx and of this system."""
    context: ssl.SSLContext = httpx.create_ssl_context(trust_env=False)
    context.load_default_certs()
    return context
