"""Which URLs and headers a request may have."""

import pytest

from hookline._support.address import AddressError, check_header, netloc_of, split_url


@pytest.mark.parametrize(
    ("url", "is_url"),
    [
        ("http://host", True),
        ("https://u:p@host:65535/path?q#f", True),
        ("http://[::1]:1/", True),
        ("http://host:0/", False),
        ("http://host:65536/", False),
        ("http:///path", False),
        ("ftp://host", False),
        ("http://ho st", False),
        ("http://host/\t", False),
        ("http://höst", False),
        ("host", False),
        ("", False),
    ],
)
def test_a_url_of_a_server_has_a_scheme_a_host_and_plain_characters(url: str, is_url: bool) -> None:
    assert (split_url(url) is not None) is is_url


def test_an_address_of_ipv6_stands_in_brackets() -> None:
    assert netloc_of("host", None) == "host"
    assert netloc_of("host", 80) == "host:80"
    assert netloc_of("::1", None) == "[::1]"
    assert netloc_of("::1", 0) == "[::1]:0"


def test_a_header_is_one_line_of_ascii_without_blanks_around_it() -> None:
    assert check_header("X-a_1!", " \tv w\t ") == ("X-a_1!", "v w")
    assert check_header("X", "") == ("X", "")
    for name in ("", "a b", "a:", "ä", "a\n"):
        with pytest.raises(AddressError, match="name of a header"):
            check_header(name, "hush")
    for value in ("hush\n", "hush\0", "hush\x7f", "hushé"):
        with pytest.raises(AddressError, match="the header X has a character") as caught:
            check_header("X", value)
        assert "hush" not in str(caught.value)
