"""Where an MCP server may be, and that its secrets are shown to nobody."""

import pytest

from hookline.service.mcp.address import AddressError, read_address

TOKEN = {"Authorization": "Bearer hush"}


@pytest.mark.parametrize(
    "url",
    ["https://example.com/mcp", "http://localhost:80/mcp", "http://127.8.9.1/", "http://[::1]:9/m"],
)
def test_https_and_plain_http_on_this_machine_are_taken(url: str) -> None:
    address = read_address(url, TOKEN)
    assert address.url == url
    assert dict(address.headers) == TOKEN


@pytest.mark.parametrize(
    "url", ["http://example.com/mcp", "http://10.0.0.1/", "http://localhost.example.com/"]
)
def test_plain_http_to_another_machine_is_a_choice(url: str) -> None:
    with pytest.raises(AddressError, match="--allow-http"):
        read_address(url)
    assert read_address(url, allow_http=True).url == url


@pytest.mark.parametrize(
    ("url", "headers"),
    [("http://example.com/", TOKEN), ("http://example.com/", {"X-Api-Key": "hush"})],
)
def test_no_credentials_go_over_plain_http_to_another_machine(
    url: str, headers: dict[str, str]
) -> None:
    with pytest.raises(AddressError, match="over https only") as caught:
        read_address(url, headers, allow_http=True)
    assert "hush" not in str(caught.value)


def test_a_password_in_the_url_is_a_header_and_neither_shown_nor_in_the_url() -> None:
    with pytest.raises(AddressError, match="over https only"):
        read_address("http://me:hush@example.com/", allow_http=True)
    address = read_address("https://me:hu%73h@example.com:8443/mcp?key=hush#part")
    assert address.headers == (("Authorization", "Basic bWU6aHVzaA=="),)
    assert address.url == "https://example.com:8443/mcp?key=hush"
    assert address.shown == "https://example.com:8443/mcp"
    assert "hush" not in repr(address)
    assert "bWU6" not in repr(address)


def test_credentials_are_given_once() -> None:
    with pytest.raises(AddressError, match="not in both"):
        read_address("https://me:x@example.com/", TOKEN)


@pytest.mark.parametrize(
    "url",
    ["ftp://example.com/", "example.com/mcp", "https://", "https://[::1/", "https://h:99999/", "",
     "https://exa mple.com/", "https://h/\nx", "file:///etc/passwd", "https://exämple.com/"],
)  # fmt: skip
def test_what_is_no_url_of_a_server_is_refused(url: str) -> None:
    with pytest.raises(AddressError, match="URL"):
        read_address(url)


@pytest.mark.parametrize(
    ("name", "value"),
    [("X-A\r\nEvil", "hush"), ("", "hush"), ("X-A", "hush\r\nEvil: 1"), ("X-A", "hush\u2028ü")],
)
def test_a_header_that_would_be_more_than_one_is_refused_without_its_value(
    name: str, value: str
) -> None:
    with pytest.raises(AddressError) as caught:
        read_address("https://example.com/", {name: value})
    assert "hush" not in str(caught.value)


@pytest.mark.parametrize("name", ["Host", "mcp-session-id", "Content-Type", "Accept-Encoding"])
def test_headers_of_the_transport_are_not_the_users_to_set(name: str) -> None:
    with pytest.raises(AddressError, match="set by hookline itself"):
        read_address("https://example.com/", {name: "x"})
