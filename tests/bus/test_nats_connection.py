"""What a connection makes of what nats-py tells it, and what it tells nats-py."""

import asyncio
import ssl
from typing import Any, cast

import pytest

from hookline.bus.nats import BusConnectionError, ConnectionState
from hookline.bus.nats.client import NatsClient, nats_errors
from hookline.bus.nats.connection import Connection
from hookline.bus.nats.link import Link
from hookline.bus.nats.options import make_connection_options
from hookline.bus.nats.protocol import Incoming, make_subjects
from tests.bus.answers import request

ADDRESS = "nats://127.0.0.1:1"
CONNECTED, RECONNECTING = ConnectionState.CONNECTED, ConnectionState.RECONNECTING


def made(state: ConnectionState, **options: Any) -> tuple[Connection, list[ConnectionState]]:
    """A connection in a state, without a server, and the states that follow."""
    states: list[ConnectionState] = []
    connection = Connection(make_connection_options(ADDRESS, **options), states.append)
    connection.state = state
    return connection, states


async def test_what_the_user_chose_reaches_the_client(nats_url: str) -> None:
    chosen = make_connection_options(nats_url, name="me", connect_timeout=7.0, ping_interval=11.0)
    connection = Connection(chosen, lambda _state: None)
    await connection.open()
    options = connection._client.options
    await connection.close()
    assert (options["name"], options["connect_timeout"], options["ping_interval"]) == ("me", 7, 11)
    assert (options["max_outstanding_pings"], options["reconnect_time_wait"]) == (2, 0.05)
    # Once connected, it never gives up.
    assert options["max_reconnect_attempts"] == -1


async def test_a_lost_connection_is_waited_for_from_now_or_from_its_loss() -> None:
    connection, _ = made(RECONNECTING)
    loop = asyncio.get_running_loop()
    connection._lost_at = loop.time() - 100
    assert await connection.wait_connected(100, since_lost=True) is False
    for seconds, since_lost in ((0.9, False), (110, True)):
        loop.call_later(0.001, connection._connected.set)
        assert await connection.wait_connected(seconds, since_lost=since_lost) is True
        connection._connected.clear()
    assert await connection.wait_connected(0.001) is False


async def test_a_connection_that_was_closed_is_not_waited_for() -> None:
    connection, states = made(CONNECTED)
    connection._connected.set()
    await connection.close()
    assert await connection.wait_connected(60) is False
    assert (connection.state, states) == ("closed", ["closed"])
    await connection._handle_disconnect()
    await connection._handle_end()
    assert states == ["closed"]


@pytest.mark.parametrize(
    ("error", "is_told"),
    [
        (nats_errors.Error("nats: 'Permissions Violation for Publish to \"a\"'"), True),
        (nats_errors.SlowConsumerError("a", "b", 1, cast(Any, None)), True),
        (nats_errors.Error("nats: 'other'"), False),
    ],
)
async def test_what_the_operator_must_know_is_told(
    error: Exception, is_told: bool, caplog: pytest.LogCaptureFixture
) -> None:
    connection, _ = made(CONNECTED)
    await connection._handle_error(error)
    assert (f"the bus at {ADDRESS} says: " in caplog.text) is is_told


async def test_the_reason_of_a_refusal_is_kept_before_the_hang_up() -> None:
    connection, _ = made(ConnectionState.CONNECTING)
    hang_up, refused, other = OSError("reset"), nats_errors.Error("no"), OSError("other")
    kept = []
    for error in (other, hang_up, refused, hang_up):
        await connection._handle_error(error)
        kept.append(connection._trouble)
    assert kept == [other, hang_up, refused, refused]


@pytest.mark.parametrize(
    ("state", "error", "is_raised"),
    [
        (ConnectionState.CONNECTING, ssl.SSLError("bad"), True),
        (RECONNECTING, ssl.SSLError("bad"), False),
        (ConnectionState.CONNECTING, OSError("bad"), False),
    ],
)
async def test_tls_that_fails_at_first_ends_the_attempt(
    state: ConnectionState, error: Exception, is_raised: bool
) -> None:
    connection, _ = made(state)
    transport = PlayedTransport()
    connection._client._transport = cast(Any, transport)
    if is_raised:
        with pytest.raises(BusConnectionError):
            await connection._handle_error(error)
    else:
        await connection._handle_error(error)
    assert transport.is_closed is is_raised


class PlayedTransport:
    """What nats-py writes to; it has no writer."""

    is_closed = False

    def __init__(self) -> None:
        self.said: list[bytes] = []
        self.write = self.said.append
        self.writelines = self.said.extend

    def close(self) -> None:
        self.is_closed = True


async def test_what_waits_to_be_sent_goes_before_the_question_whether_it_came() -> None:
    client, transport = NatsClient(), PlayedTransport()
    client._transport, client._flush_queue = cast(Any, transport), asyncio.Queue()
    for pending in ([b"PUB a"], []):
        client._pending, client._pending_data_size = list(pending), len(pending)
        await client._send_ping()
        assert transport.said == [*pending, b"PING\r\n"]
        assert client._pending == []
        transport.said.clear()


async def test_after_a_failed_attempt_requests_fail_at_once_for_a_while() -> None:
    states: list[ConnectionState] = []
    link = Link(make_connection_options(ADDRESS), make_subjects("p"), changed=states.append)
    rests, said = [], set()
    for _ in range(6):
        for _ in range(2):
            response = await link.ask(request("BeforeAgent", {"prompt": "p"}), timeout=10)
            said.add((response["error"]["code"], response["error"]["message"]))
        rests.append(link._rest)
        link._retry_at = 0.0
    # The second of each two does not try.
    assert states == ["connecting", "closed"] * 6
    assert rests == [1.0, 2.0, 4.0, 5.0, 5.0, 5.0]
    [(code, message)] = said
    assert code == "disconnected"
    assert message.startswith(f"cannot connect to {ADDRESS}: connection refused")


async def test_the_loss_and_the_return_are_told_once_connected(
    caplog: pytest.LogCaptureFixture,
) -> None:
    for state in (ConnectionState.CONNECTING, RECONNECTING):
        connection, states = made(state)
        await connection._handle_disconnect()
        assert (states, caplog.text) == ([], "")
    connection, states = made(CONNECTED)
    connection._connected.set()
    await connection._handle_disconnect()
    assert connection._connected.is_set() is False
    assert connection.returned_within(60) is False
    await connection._handle_reconnect()
    assert connection._connected.is_set() is True
    assert connection.returned_within(60) is True
    assert states == ["reconnecting", "connected"]


@pytest.mark.parametrize(
    ("error", "why"), [(None, "it was closed"), (nats_errors.Error("expired"), "expired")]
)
async def test_the_end_for_good_is_told_with_its_reason(
    error: Exception | None, why: str, caplog: pytest.LogCaptureFixture
) -> None:
    connection, states = made(ConnectionState.CONNECTING)
    await connection._handle_end()
    assert (states, caplog.text) == ([], "")
    connection, states = made(RECONNECTING)
    connection._connected.set()
    connection._client._err = error
    await connection._handle_end()
    assert states == ["closed"]
    assert connection._connected.is_set() is False
    assert f"the connection to {ADDRESS} has ended: {why}\n" in caplog.text


async def test_a_message_for_nobody_is_dropped_and_a_subject_may_be_no_text(
    caplog: pytest.LogCaptureFixture,
) -> None:
    client, heard = NatsClient(), list[Incoming]()
    client._receivers[1] = heard.append
    for number in (1, 2):
        await client._process_msg(number, b"a\xff", b"b", b"c", b"NATS/1.0 503\r\n\r\n")
    assert heard == [Incoming("a\udcff", "b", b"c", {"Status": "503"})]
    assert caplog.text == ""


async def test_a_confirmation_without_a_question_is_passed_on() -> None:
    client = NatsClient()
    await client._process_pong()
    waiting = asyncio.get_running_loop().create_future()
    client._pongs.append(waiting)
    await client._process_pong()
    assert waiting.done()
    client._pongs.append(waiting)
    client._pings_outstanding = 2
    await client._process_pong()
    assert (client._pongs, client._pings_outstanding) == ([], 0)


async def test_a_client_that_never_connected_takes_nothing() -> None:
    client = NatsClient()
    client._status = NatsClient.CLOSED
    with pytest.raises(BusConnectionError, match="connection closed"):
        await client.send("a", b"")
    with pytest.raises(BusConnectionError, match=r"^a: "):
        await client.hear("a", lambda _incoming: None)
    assert client._receivers == {}
