"""What a URL and keywords say of a bus, and that no password is shown."""

import ssl
from pathlib import Path

import pytest

from hookline.bus.nats import BusConnectionError
from hookline.bus.nats.options import make_connection_options, read_url_options


def test_servers_are_one_url_or_several_without_who_signs_in() -> None:
    options = make_connection_options("nats://me:p%40ss@a:4222, b ,nats://[::1]:1")
    assert options.servers == ("nats://a:4222", "nats://b", "nats://[::1]:1")
    assert options.shown == "nats://a:4222, nats://b, nats://[::1]:1"
    assert (options.user, options.password, options.token) == ("me", "p@ss", None)
    assert make_connection_options(["a", "b"]).servers == ("nats://a", "nats://b")
    with pytest.raises(BusConnectionError, match="no server is named"):
        make_connection_options([])


def test_a_name_without_a_password_is_a_token_and_keywords_go_before_the_url() -> None:
    options = make_connection_options("nats://t%2Fken@host")
    assert (options.user, options.password, options.token) == (None, None, "t/ken")
    options = make_connection_options("nats://a:b@host", user="c", password=None)
    assert (options.user, options.password) == ("c", "b")
    options = make_connection_options("nats://:b@host")
    assert (options.user, options.password) == ("", "b")


@pytest.mark.parametrize(
    ("scheme", "is_secure"), [("nats", False), ("ws", False), ("tls", True), ("wss", True)]
)
def test_a_scheme_with_tls_makes_a_context_unless_there_is_one(
    scheme: str, is_secure: bool
) -> None:
    options = make_connection_options(f"{scheme}://host")
    assert (options.tls is not None) is is_secure
    own = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    assert make_connection_options(f"{scheme}://host", tls=own).tls is own


def test_what_stands_behind_the_question_mark_are_options() -> None:
    servers, options = read_url_options(" nats://a,nats://b?prefix=team&name=&inbox_prefix=in ")
    assert servers == "nats://a,nats://b"
    assert options == {"prefix": "team", "name": "", "inbox_prefix": "in"}
    assert read_url_options("nats://u:p@a") == ("nats://u:p@a", {})
    assert read_url_options("nats://u:p@a?name=me@work")[1] == {"name": "me@work"}
    with pytest.raises(BusConnectionError, match=r"a \? before the @"):
        read_url_options("nats://u:p?x@a")


def test_a_certificate_that_cannot_be_loaded_is_named(tmp_path: Path) -> None:
    broken = tmp_path / "broken.pem"
    broken.write_text("no certificate")
    for name in ("tls_ca", "tls_cert"):
        with pytest.raises(BusConnectionError, match=f"set up with {broken}: "):
            read_url_options(f"nats://host?{name}={broken}")
