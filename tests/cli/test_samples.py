"""The fields that are made up for events of Claude Code."""

import pytest

from hookline.cli.samples import sample_arguments, sample_fields
from hookline.wire.claude_events import ClaudeEventName

# A model that nobody asked for.
_MAY_BE_NONE = {"requested_model"}


@pytest.mark.parametrize("name", [event.value for event in ClaudeEventName])
def test_every_field_that_an_event_requires_has_a_sample(name: str) -> None:
    missing = {field for field, value in sample_fields(name).items() if value is None}
    assert missing <= _MAY_BE_NONE


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("Stop", """--input '{"stop_hook_active":false,"last_assistant_message":"Done"}'"""),
        ("Setup", """--input '{"trigger":"init"}'"""),
    ],
)
def test_a_sample_is_given_as_fire_takes_it(name: str, words: str) -> None:
    assert sample_arguments(name) == words


def test_a_call_of_a_tool_is_given_by_its_own_options() -> None:
    words = sample_arguments("PreToolUse")
    assert words.startswith("--tool Bash --tool-input '{")
    assert 'tool_input":' not in words
