"""What hooks are told before a user is asked to confirm a tool call."""

from typing import Any

import pytest

from hookline.contract import tool_notification


@pytest.mark.parametrize(
    ("confirmation", "purpose"),
    [
        ({"type": "edit", "title": "T", "fileName": "a", "fileDiff": "d"}, "editing"),
        ({"type": "exec", "title": "T", "command": "ls", "rootCommand": "ls"}, "execution"),
        ({"type": "mcp", "title": "T", "serverName": "s", "toolName": "t"}, "MCP"),
        ({"type": "info", "title": "T", "prompt": "p", "urls": []}, "information"),
    ],
)
def test_each_kind_says_what_it_is_for_and_shows_its_fields(
    confirmation: dict[str, Any], purpose: str
) -> None:
    said = tool_notification(confirmation)
    assert said.message == f"Tool T requires {purpose}"
    assert said.notification_type == "ToolPermission"
    assert said.details == confirmation


def test_fields_that_are_not_for_hooks_are_not_shown() -> None:
    said = tool_notification({"type": "exec", "title": "T", "onConfirm": print, "secret": "x"})
    assert said.details == {"type": "exec", "title": "T"}


@pytest.mark.parametrize("kind", ["novel", None, ["edit"]])
def test_an_unknown_kind_is_an_approval_with_type_and_title_alone(kind: object) -> None:
    said = tool_notification({"type": kind, "title": "T", "command": "rm"})
    assert said.message == "Tool T requires approval"
    assert said.details == {"type": kind, "title": "T"}


def test_a_confirmation_without_a_title_is_still_announced() -> None:
    assert tool_notification({}).details == {}
