"""Which URLs http hooks have, which patterns allow them, and which addresses are public."""

import ipaddress
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookline._support.address import AddressError
from hookline.runner.addresses import Reach, fits, is_named, is_public, read_target


@pytest.mark.parametrize(
    ("url", "host", "port", "netloc", "path"),
    [
        ("https://H.example.", "h.example", 443, "h.example", "/"),
        ("http://localhost:8080/a?b=c#d", "localhost", 8080, "localhost:8080", "/a?b=c"),
        ("https://[2001:DB8:0::1]:1/", "2001:db8::1", 1, "[2001:db8::1]:1", "/"),
        ("https://h?x", "h", 443, "h", "/?x"),
    ],
)
def test_a_url_is_read_into_what_a_request_needs(
    url: str, host: str, port: int, netloc: str, path: str
) -> None:
    target = read_target(url)
    assert (target.host, target.port, target.netloc, target.path) == (host, port, netloc, path)
    assert "?" not in target.shown


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("https://name:word@h/", "has a name or a password"),
        ("https://name@h/", "has a name or a password"),
        ("https://:word@h/", "has a name or a password"),
        ("https://@h/", "has a name or a password"),
        ("https://h/a/../b", "has . or .. in its path"),
        ("https://h/.", "has . or .. in its path"),
        ("https://h/a%2f..%5cb", "has . or .. in its path"),
        ("https://h/..;x/b", "has . or .. in its path"),
        ("https://a%41/", "cannot be looked up"),
        ("https://-h/", "cannot be looked up"),
        ("https://h-/", "cannot be looked up"),
        ("ftp://h/", "neither https://HOST/PATH nor http://"),
    ],
)
def test_a_url_that_no_hook_is_sent_to_says_why(url: str, problem: str) -> None:
    with pytest.raises(AddressError, match=re.escape(problem)):
        read_target(url)


@pytest.mark.parametrize("path", ["/...", "/a..b", "/.well-known/x", "/a;.."])
def test_dots_that_are_part_of_a_name_are_fine(path: str) -> None:
    assert read_target(f"https://h{path}").path == path


@pytest.mark.parametrize(
    ("pattern", "url", "expected"),
    [
        ("*", "https://h.example/x?y", True),
        ("https://*", "https://h.example/x", True),
        ("https://*", "http://h.example/x", False),
        ("https://h.example/*", "https://h.example/x/y", True),
        ("https://h.example/*", "https://h.example", True),
        ("https://h.example/*", "https://h.example.evil/x", False),
        ("https://h.example", "https://h.example/", True),
        ("https://h.example", "https://h.example/x", False),
        ("HTTPS://H.Example/*", "https://h.EXAMPLE/x", True),
        ("https://h.example/X", "https://h.example/x", False),
        ("https://*.example/*", "https://a.b.example/x", True),
        ("https://*a*.example/*", "https://b.a.example/x", True),
        ("https://*a*.example/*", "https://b.c.example/x", False),
        ("https://*b*a*.example/*", "https://a.b.example/x", False),
        ("*https*://h.example/*", "https://h.example/x", True),
        ("https://h*h/*", "https://h/x", False),
        ("https://*.example/*", "https://evil/x.example/", False),
        ("https://*.example/*", "https://evil?x.example/", False),
        ("*.example/*", "https://evil/x.example/", False),
        ("*.example/*", "https://a.example/x", True),
        ("http://localhost:*", "http://localhost:8080/x?y", True),
        ("http://localhost:*", "http://localhost/x", False),
        ("http://localhost:*/hook", "http://localhost:1/hook", True),
        ("http://localhost:*/hook", "http://localhost:1/a/hook", False),
        ("https://h/*/b/*", "https://h/a/b/c", True),
        ("https://h/a*a", "https://h/a", False),
        ("https://h/[a-z]?", "https://h/b1", False),
        ("https://*/*", "https://h/https://evil/", True),
        ("", "https://h/", False),
    ],
)
def test_a_pattern_allows_what_it_says_and_no_other_host(
    pattern: str, url: str, expected: bool
) -> None:
    assert fits(read_target(url), ["https://nobody/", pattern]) is expected
    assert not fits(read_target(url), [])


def test_no_pattern_takes_long() -> None:
    target = read_target("https://h/" + "a" * 50_000)
    assert not fits(target, ["https://h/" + "*a" * 2_000 + "*b"])


@pytest.mark.parametrize(
    "address",
    ["8.8.8.8", "93.184.216.34", "172.32.0.1", "100.128.0.1", "2606:4700::1111", "2a00:1450::1"],
)
def test_addresses_of_the_internet_are_public(address: str) -> None:
    assert is_public(ipaddress.ip_address(address))


@given(st.ip_addresses())
def test_what_python_knows_to_be_no_public_address_is_none(
    address: ipaddress.IPv4Address | ipaddress.IPv6Address,
) -> None:
    if address.is_private or address.is_multicast or address.is_reserved or address.is_link_local:
        assert not is_public(address)
    assert Reach.ANYWHERE.includes(address)
    assert Reach.THIS_MACHINE.includes(address) is address.is_loopback


@given(st.ip_addresses(v=4))
def test_an_ipv4_address_in_the_form_of_ipv6_is_not_public(address: ipaddress.IPv4Address) -> None:
    for network in ("::ffff:0:0", "64:ff9b::", "::"):
        inside = ipaddress.IPv6Address(int(ipaddress.IPv6Address(network)) + int(address))
        assert not is_public(inside)
        assert not Reach.THIS_MACHINE.includes(inside) or inside.compressed == "::1"


def test_hosts_are_compared_however_they_are_written() -> None:
    assert is_named("h.example", ("other", " H.Example. "))
    assert is_named("::1", ("[::1]",))
    assert not is_named("h.example", ("example", "*.example", ""))
