"""The fields that are made up for events."""

from typing import Any

import pytest

from hookline.cli.samples import example, make_fields, sample_fields
from hookline.contract import Config
from hookline.dialects.claude.events import ClaudeEventName
from tests.cli.command import command_hook, settings
from tests.dialects.claude.claude import PROJECT_FILE
from tests.harness.scratch import Project

# A model that nobody asked for.
_MAY_BE_NONE = {"requested_model"}


@pytest.mark.parametrize("name", [event.value for event in ClaudeEventName])
def test_every_field_that_an_event_requires_has_a_sample(name: str) -> None:
    missing = {
        field for field, value in sample_fields(name, is_claude=True).items() if value is None
    }
    assert missing <= _MAY_BE_NONE


@pytest.mark.parametrize(
    ("name", "field", "value"),
    [
        ("PostToolUse", "tool_response", {"stdout": "README.md", "stderr": ""}),
        ("PostToolUseFailure", "error", "it failed"),
        ("UserPromptSubmit", "prompt", "Fix the tests"),
        ("SessionStart", "source", "startup"),
        ("SessionEnd", "reason", "other"),
        ("PreCompact", "trigger", "manual"),
        ("PostCompact", "trigger", "manual"),
        ("Notification", "notification_type", "permission_prompt"),
        ("ConfigChange", "source", "project_settings"),
        ("DirectoryAdded", "source", "slash_command"),
        ("SubagentStop", "stop_hook_active", False),
    ],
)
def test_a_field_has_a_value_that_its_event_may_have(name: str, field: str, value: Any) -> None:
    assert sample_fields(name, is_claude=True)[field] == value


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("Stop", """--input '{"stop_hook_active":false,"last_assistant_message":"Done"}'"""),
        ("Setup", """--input '{"trigger":"init"}'"""),
    ],
)
def test_a_sample_is_given_as_fire_takes_it(name: str, words: str) -> None:
    assert example(name) == f"hookline fire {name} {words}"


def test_a_call_of_a_tool_is_given_by_its_own_options() -> None:
    words = example("PreToolUse")
    assert words.startswith("hookline fire PreToolUse --tool Bash --tool-input '{")
    assert 'tool_input":' not in words


@pytest.mark.parametrize(
    ("event", "matcher", "expected"),
    [
        ("PreToolUse", "Edit|Write", {"tool_name": "Edit"}),
        ("SessionEnd", "log.*", {"reason": "log"}),
        ("SessionStart", "startup", {"source": "startup"}),
        ("PreToolUse", "^[0-9]+$", None),
        ("Stop", "", {"stop_hook_active": False, "last_assistant_message": "Done"}),
    ],
)
def test_an_event_is_made_up_that_a_matcher_matches(
    project: Project, event: str, matcher: str, expected: dict[str, Any] | None
) -> None:
    project.settings(settings(event, command_hook("true"), matcher=matcher), file=PROJECT_FILE)
    read = Config.load(project.path, claude=True).get_settings()
    made = make_fields(read.entries[0], read.tools)
    if event == "PreToolUse" and expected is not None:
        called = {"command": "ls", "file_path": "README.md", "content": "Hello\n"}
        expected = {**expected, "tool_input": called}
    assert made == expected
