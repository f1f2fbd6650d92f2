"""Which tools a client sees, and what hooks know them and their server by."""

from typing import Any

import pytest

from hookline import Hooks
from hookline.dialects.matcher import compile_matcher
from hookline.service.mcp.calls import SERVER_INFO
from hookline.service.mcp.tools import Identity, ServerTools
from tests.service.mcp.sessions import Json

PLACE: Json = {"command": "serve"}


def make(name: str | None = "my files", pattern: str | None = None, *events: str) -> ServerTools:
    hooks = Hooks()
    for event in events:
        hooks.on(event)(lambda _event: None)
    allows = None if pattern is None else compile_matcher(pattern, search=False)[0]
    return ServerTools(hooks, Identity(name=name, fallback="fallback", place=PLACE), allows)


def test_hooks_read_the_server_in_a_name_of_letters_digits_and_underscores() -> None:
    tools = make()
    assert tools.name_for_hooks("read.all") == "mcp__my_files__read.all"
    assert tools.describe("read") == {
        "server_name": "my files",
        "tool_name": "read",
        "command": "serve",
    }


@pytest.mark.parametrize(
    ("result", "name"),
    [
        ({"serverInfo": {"name": "own"}}, "own"),
        ({"_meta": {SERVER_INFO: {"name": "own"}}}, "own"),
        ({"serverInfo": {"name": "own"}, "_meta": {SERVER_INFO: {"name": "other"}}}, "own"),
        ({"serverInfo": {"name": ""}}, "fallback"),
        ({"serverInfo": {"name": 5}}, "fallback"),
        ({"serverInfo": "own", "_meta": []}, "fallback"),
        ({}, "fallback"),
        ([], "fallback"),
    ],
)
def test_a_server_without_the_users_name_has_its_own_or_else_the_fallback(
    result: Any, name: str
) -> None:
    tools = make(None)
    assert not tools.is_named
    tools.identify(result, is_introduction=True)
    assert tools.server_name == name
    tools.identify({"serverInfo": {"name": "later"}}, is_introduction=True)
    assert tools.server_name == name
    named = make("users")
    named.identify(result, is_introduction=True)
    assert named.server_name == "users"


@pytest.mark.parametrize(
    ("tool", "is_allowed"),
    [("read", True), ("read_all", False), ("write", False), ("read\n", False), ("read\0", False)],
)
def test_a_tool_is_allowed_where_the_pattern_matches_all_of_its_name(
    tool: str, is_allowed: bool
) -> None:
    assert (make(pattern="read").find_refusal(tool) is None) is is_allowed


@pytest.mark.parametrize("character", ["\x1f", "\x7f", "\x9f", "\u2028", "\ud800"])
def test_a_control_character_is_refused_without_a_pattern_too(character: str) -> None:
    assert "control character" in str(make().find_refusal(f"a{character}"))
    assert make().find_refusal("a \xa0é") is None


def test_a_list_has_only_tools_that_are_allowed_and_is_the_same_where_all_are() -> None:
    result: Json = {"tools": [{"name": "read"}, {"name": "write"}, {"name": 5}, "odd"], "x": 1}
    assert make().narrow(result) is result
    assert make(pattern="read").narrow(result) == {"tools": [{"name": "read"}], "x": 1}
    assert make(pattern="read|write").narrow(result)["tools"] == result["tools"][:2]
    for other in ({}, {"tools": None}):
        assert make(pattern="read").narrow(other) is other


@pytest.mark.parametrize(
    ("event", "is_kept"),
    [("BeforeTool", False), ("AfterTool", False), ("BeforeAgent", True), (None, True)],
)
def test_a_schema_is_promised_where_no_hook_can_change_the_result(
    event: str | None, is_kept: bool
) -> None:
    tool = {"name": "read", "outputSchema": {}, "title": "t"}
    tools = make("files", None, *([event] if event is not None else []))
    [shown] = tools.narrow({"tools": [tool]})["tools"]
    assert ("outputSchema" in shown) is is_kept
    assert (shown["name"], shown["title"]) == ("read", "t")
