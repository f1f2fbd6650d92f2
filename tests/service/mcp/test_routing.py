"""The headers of a POST say what its bytes say; tests/adapters has the server's own checks."""

from typing import Any

import pytest

from hookline.service.mcp.messages import Message, make_message
from hookline.service.mcp.routes import (
    begins_listing,
    build_routing_headers,
    encode_value,
    find_mirrored_arguments,
)

META = {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}


def message(method: str, **params: Any) -> Message:
    return make_message(id=1, method=method, params=params)


def headers(message: Message, schema: Any = None) -> dict[str, str]:
    tools = find_mirrored_arguments({"tools": [{"name": "t", "inputSchema": schema}, 5]})
    return build_routing_headers(message, tools)


def test_a_message_of_the_handshakes_generation_has_no_such_headers() -> None:
    assert headers(message("tools/call", name="t", arguments={})) == {}
    assert headers(make_message(id=1, result={})) == {}
    assert headers(make_message(id=1, method="x", params=[1])) == {}


@pytest.mark.parametrize(
    ("method", "params", "name"),
    [
        ("tools/call", {"name": "t"}, "t"),
        ("prompts/get", {"name": "p q"}, "p q"),
        ("resources/read", {"uri": "file:///ü"}, "=?base64?ZmlsZTovLy/DvA==?="),
    ],
)
def test_version_method_and_name_are_those_of_the_message(
    method: str, params: dict[str, Any], name: str
) -> None:
    assert headers(message(method, _meta=META, **params)) == {
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": method,
        "mcp-name": name,
    }


def test_no_name_for_what_has_none() -> None:
    assert "mcp-name" not in headers(message("tools/list", _meta=META, name="x"))
    assert "mcp-name" not in headers(message("tools/call", _meta=META, name=3))


@pytest.mark.parametrize("value", ["x\r\nEvil: 1", "", " x", "ü"])
def test_no_message_makes_a_header_of_its_own(value: str) -> None:
    assert "mcp-method" not in headers(message(value, _meta=META))
    assert headers(message("ping", _meta={next(iter(META)): value})) == {}
    assert encode_value(value).isascii()
    assert encode_value(value).isprintable()


def test_arguments_that_the_tool_wants_in_headers_are_there() -> None:
    schema = {
        "properties": {
            "region": {"type": "string", "x-mcp-header": "Region"},
            "deep": {"properties": {"n": {"type": "integer", "x-mcp-header": "N"}}},
            "flag": {"type": "boolean", "x-mcp-header": "Flag"},
            "none": {"type": "string", "x-mcp-header": "None"},
            "rate": {"type": "number", "x-mcp-header": "Rate"},
            "odd": {"type": "string", "x-mcp-header": "a b"},
        }
    }
    arguments = {"region": "eu ", "deep": {"n": 3.0}, "flag": True, "rate": 1.5, "odd": "x"}
    found = headers(message("tools/call", _meta=META, name="t", arguments=arguments), schema)
    assert {name: value for name, value in found.items() if name.startswith("mcp-param")} == {
        "mcp-param-region": "=?base64?ZXUg?=",
        "mcp-param-n": "3",
        "mcp-param-flag": "true",
    }


def test_two_arguments_in_one_header_are_in_none() -> None:
    twice = {"type": "string", "x-mcp-header": "A"}
    schema = {"properties": {"a": twice, "b": {**twice, "x-mcp-header": "a"}}}
    data = message("tools/call", _meta=META, name="t", arguments={"a": "1", "b": "2"})
    assert not [name for name in headers(data, schema) if name.startswith("mcp-param")]


def test_a_value_that_looks_encoded_is_encoded() -> None:
    assert encode_value("=?base64?eA==?=") == "=?base64?PT9iYXNlNjQ/ZUE9PT89?="


def test_a_listing_begins_without_a_cursor() -> None:
    assert begins_listing(message("tools/list"))
    assert not begins_listing(message("tools/list", cursor="2"))
    assert not begins_listing(message("tools/call"))
