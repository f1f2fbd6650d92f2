"""One connection to NATS in one event loop: it reconnects by itself, and leaves nothing behind.

nats-py does the protocol, the parsing and the sign-in. This module adds what it lacks: growing
waits between attempts to reconnect, and states that others can follow.
"""

import asyncio
import contextlib
import errno
import os
import random
import re
import socket
import ssl
from collections.abc import Callable
from enum import StrEnum
from typing import Any

from hookline._support.notices import warn
from hookline.bus.nats.client import NatsClient, nats_errors
from hookline.bus.nats.options import BusConnectionError, ConnectionOptions
from hookline.errors import message_of

_FLUSH_SECONDS = 2
_UNREACHABLE = {errno.ECONNREFUSED, errno.EHOSTUNREACH, errno.ENETUNREACH, errno.ETIMEDOUT}


class ConnectionState(StrEnum):
    """The states of a connection."""

    CLOSED = "closed"
    CONNECTING = "connecting"
    CONNECTED = "connected"
    RECONNECTING = "reconnecting"


class NatsConnection:
    """A connection that, once made, is kept until ``close()``.

    ``changed`` is called with each new state, in the loop of the connection. Messages published
    while it is lost are kept, and sent after it is back.
    """

    def __init__(
        self, options: ConnectionOptions, changed: Callable[[ConnectionState], None]
    ) -> None:
        self._options = options
        self._changed = changed
        self._client = client = NatsClient()
        self.publish, self.subscribe, self.unsubscribe = client.send, client.hear, client.forget
        self.pause, self.resume = client.pause, client.resume
        self._connected = asyncio.Event()
        self._lost_at = 0.0
        self._returned_at = float("-inf")
        self._trouble: Exception | None = None
        self._attempts = 0
        self._closing = False
        self.state = ConnectionState.CLOSED

    @property
    def max_payload(self) -> int:
        """The most bytes that the server takes in one message."""
        return self._client.max_payload

    @property
    def is_connected(self) -> bool:
        """True if the connection is up."""
        return self.state is ConnectionState.CONNECTED

    @property
    def reconnects(self) -> int:
        """How often the connection was lost and came back."""
        return int(self._client.stats["reconnects"])

    async def open(self) -> None:
        """Connect; raises BusConnectionError with the reason."""
        self._set_state(ConnectionState.CONNECTING)
        options = self._options
        arguments: dict[str, Any] = {
            "servers": list(options.servers),
            "name": options.name,
            "user": options.user,
            "password": options.password,
            "token": options.token,
            "nkeys_seed": options.nkey,
            "user_credentials": options.credentials,
            "tls": options.tls,
            "tls_hostname": options.tls_hostname,
            "connect_timeout": options.connect_timeout,
            "ping_interval": options.ping_interval,
            "max_outstanding_pings": 2,
            # For the first connection only: a second attempt, at once.
            "max_reconnect_attempts": 1,
            "reconnect_time_wait": 0.05,
            "reconnect_to_server_handler": self._choose_server,
            "error_cb": self._handle_error,
            "disconnected_cb": self._handle_disconnect,
            "reconnected_cb": self._handle_reconnect,
            "closed_cb": self._handle_end,
        }
        try:
            await self._client.connect(
                **{name: value for name, value in arguments.items() if value is not None}
            )
        except BaseException as error:
            await self.close()
            if not isinstance(error, Exception):
                raise
            if isinstance(error, ImportError):
                problem = "nkeys and credentials need nkeys; run pip install 'hookline[nats]'"
                raise BusConnectionError(problem) from None
            # NoServersError does not say what was wrong with the servers.
            cause = self._trouble if isinstance(error, nats_errors.NoServersError) else error
            reason = explain_failure(cause or error)
            raise BusConnectionError(f"cannot connect to {options.shown}: {reason}") from None
        # From now on, reconnect for as long as it takes.
        self._client.options["max_reconnect_attempts"] = -1
        self._connected.set()
        self._set_state(ConnectionState.CONNECTED)

    def returned_within(self, seconds: float) -> bool:
        """Return True if a lost connection came back within the last so many seconds."""
        return asyncio.get_running_loop().time() < self._returned_at + seconds

    async def wait_connected(self, seconds: float, *, since_lost: bool = False) -> bool:
        """Wait for a lost connection, so many seconds from now or from when it was lost; return
        True if it is back."""
        if since_lost:
            seconds += self._lost_at - asyncio.get_running_loop().time()
        if self.state is not ConnectionState.CLOSED and seconds > 0:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._connected.wait()
        return self._connected.is_set()

    async def flush(self) -> None:
        """Wait, but not long, for the server to confirm everything sent so far."""
        with contextlib.suppress(nats_errors.Error, OSError):
            await self._client.flush(timeout=_FLUSH_SECONDS)

    async def close(self) -> None:
        """Disconnect for good; leaves no task and no descriptor behind."""
        self._closing = True
        self._connected.clear()
        try:
            await self._client.end()
        except Exception as error:
            warn(f"closing the connection to {self._options.shown} failed: {message_of(error)}")
        self._set_state(ConnectionState.CLOSED)

    def _choose_server(self, servers: list[Any], _info: dict[str, Any]) -> tuple[Any, float]:
        """Return the server to try next, and the seconds to wait before."""
        attempt, self._attempts = self._attempts, self._attempts + 1
        wait = self._options.reconnect_wait * 2 ** min(attempt // len(servers), 16)
        # Clients that lost the same server must not all reconnect at the same moment.
        spread = 0.5 + random.random() / 2
        return servers[attempt % len(servers)], min(wait, self._options.max_reconnect_wait) * spread

    async def _handle_error(self, error: Exception) -> None:
        message = message_of(error)
        if "permissions violation" in message.lower() or isinstance(
            error, nats_errors.SlowConsumerError
        ):
            warn(f"the bus at {self._options.shown} says: {message}")
        # A server that refuses then hangs up: keep its reason, not the hang-up.
        if not (isinstance(error, OSError) and isinstance(self._trouble, nats_errors.Error)):
            self._trouble = error
        if isinstance(error, ssl.SSLError) and self.state is ConnectionState.CONNECTING:
            # nats-py would wait forever for the end of a connection that was never made.
            self._client.hang_up()
            raise BusConnectionError(message)

    async def _handle_disconnect(self) -> None:
        self._connected.clear()
        if self._closing or self.state is not ConnectionState.CONNECTED:
            return
        self._lost_at = asyncio.get_running_loop().time()
        self._attempts = 0
        warn(f"the connection to {self._options.shown} is lost; trying to reconnect")
        self._set_state(ConnectionState.RECONNECTING)

    async def _handle_reconnect(self) -> None:
        self._connected.set()
        self._returned_at = asyncio.get_running_loop().time()
        warn(f"the connection to {self._options.shown} is back")
        self._set_state(ConnectionState.CONNECTED)

    async def _handle_end(self) -> None:
        self._connected.clear()
        if not self._closing and self.state is not ConnectionState.CONNECTING:
            reason = message_of(self._client.last_error or "it was closed")
            warn(f"the connection to {self._options.shown} has ended: {reason}")
            self._set_state(ConnectionState.CLOSED)

    def _set_state(self, state: ConnectionState) -> None:
        if state is not self.state:
            self.state = state
            self._changed(state)


def explain_failure(error: Exception) -> str:
    """Say why the connection failed, and what to do where that is clear."""
    message = message_of(error).removeprefix("nats: ").strip("'")
    if isinstance(error, socket.gaierror):
        return f"{(error.strerror or message).lower()}; correct the address"
    # For a host with several addresses asyncio puts all failures into one text, without an errno.
    numbers = [int(number) for number in re.findall(r"\[Errno (\d+)\]", message)]
    if not isinstance(error, OSError) or not _UNREACHABLE.issuperset(numbers) or not numbers:
        return message
    reasons = ", ".join(dict.fromkeys(os.strerror(number).lower() for number in numbers))
    return f"{reasons}; start the NATS server there, or correct the address"
