"""Where ``hookline fire`` takes an event's input from, and what it says of one it cannot use."""

import json
import shlex
from typing import Any

import pytest

from hookline.wire.events import HookEventName
from tests.cli.command import command_hook, hookline, settings
from tests.cli.conftest import Call
from tests.harness.scratch import Project

EVENTS = [event.value for event in HookEventName]


def received(project: Project, event: str, *arguments: str, stdin: str | None = None) -> Any:
    """What a hook read on its stdin."""
    file = project.settings(settings(event, command_hook("cat > got.json")), file="rules.json")
    done = hookline(
        "fire", event, *arguments, "--settings", str(file), cwd=project.path, stdin=stdin
    )
    assert (done.status, done.err) == (0, "")
    return json.loads((project.path / "got.json").read_text())


@pytest.mark.parametrize("way", ["argument", "file", "stdin", "file with a BOM"])
def test_the_input_comes_inline_from_a_file_or_from_stdin(project: Project, way: str) -> None:
    text = '{"prompt": "grüße \\ud83d\\ude00"}'
    project.write("input.json", "\ufeff" * (way == "file with a BOM") + text)
    argument = {"argument": text, "stdin": "-"}.get(way, "@input.json")
    stdin = text if way == "stdin" else None
    got = received(project, "BeforeAgent", "--input", argument, stdin=stdin)
    assert got["prompt"] == "grüße 😀"


def test_comments_and_trailing_commas_are_welcome_as_in_settings(project: Project) -> None:
    got = received(project, "BeforeAgent", "--input", '{"prompt": "x", /* why not */}')
    assert got["prompt"] == "x"


def test_the_tool_options_replace_fields_of_the_input(project: Project) -> None:
    fields = {"tool_name": "a", "tool_input": {"old": 1}, "tool_response": {"r": 1}, "more": [2]}
    options = ["--tool", "b", "--tool-input", '{"new": 2}', "--session-id", "s-7"]
    got = received(project, "AfterTool", "--input", json.dumps(fields), *options)
    assert (got["tool_name"], got["tool_input"]) == ("b", {"new": 2})
    assert (got["tool_response"], got["more"], got["session_id"]) == ({"r": 1}, [2], "s-7")


@pytest.mark.parametrize("name", ['"BeforeAgent"', "null"])
def test_an_input_may_name_its_own_event(project: Project, name: str) -> None:
    fields = f'{{"prompt": "x", "hook_event_name": {name}}}'
    got = received(project, "BeforeAgent", "--input", fields)
    assert got["hook_event_name"] == "BeforeAgent"


@pytest.mark.parametrize("event", EVENTS)
def test_a_missing_field_is_named_with_a_command_line_that_works(call: Call, event: str) -> None:
    done = call("fire", event)
    assert (done.status, done.out) == (1, "")
    assert done.err.startswith(f"hookline: {event} input: ")
    assert " is missing; try: hookline fire " in done.err
    command = shlex.split(done.err.partition("try: hookline ")[2])
    again = call(*command)
    assert (again.status, again.err) == (0, "")
    assert again.out.endswith("no hook matched\n")


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('{"prompt": }', "line 1, column 12: expected a value, found '}'"),
        ('{\n "prompt": "a"\n "b": 1}', "line 3, column 2: expected ',' or '}'"),
        ("prompt", "line 1, column 1: expected a value, found 'p'"),
        ('{"prompt": NaN}', "line 1, column 12: expected a value, found 'N'"),
        ("", "line 1, column 1: the file ends here"),
    ],
)
def test_input_that_is_not_json_is_told_with_its_place(call: Call, text: str, place: str) -> None:
    done = call("fire", "BeforeAgent", "--input", text)
    assert (done.status, done.out) == (1, "")
    assert f"BeforeAgent input: --input is not JSON at {place}" in done.err
    assert "; try: hookline fire BeforeAgent --input '" in done.err


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["BeforTool"], "'BeforTool' is not a hook event; did you mean BeforeTool"),
        (["session_start"], "'session_start' is not a hook event; did you mean SessionStart"),
        (["xyzzy"], "'xyzzy' is not a hook event; the events are BeforeTool, AfterTool"),
        (["BeforeAgent", "--input", "[1]"], "BeforeAgent input: must be a JSON object; try: "),
        (["BeforeAgent", "--input", '{"prompt": 1}'], "prompt must be a string; try: "),
        (
            ["BeforeAgent", "--input", '{"prompt": "", "hook_event_name": "AfterAgent"}'],
            "BeforeAgent input: hook_event_name is 'AfterAgent'; fire AfterAgent, or leave",
        ),
        (
            ["BeforeAgent", "--input", '{"prompt": "", "hook_event_name": "PreToolUse"}'],
            "BeforeAgent input: hook_event_name is 'PreToolUse'; fire PreToolUse, or leave",
        ),
        (
            ["BeforeAgent", "--input", '{"prompt": "", "hook_event_name": "OnPrompt"}'],
            "BeforeAgent input: hook_event_name is 'OnPrompt'; leave it out, or write",
        ),
        (
            ["BeforeAgent", "--input", '{"prompt": "", "hook_event_name": 5}'],
            "BeforeAgent input: hook_event_name is 5; leave it out, or write",
        ),
        (["SessionEnd", "--input", '{"reason": "tired"}'], "reason must be one of exit, clear"),
        (["BeforeTool", "--tool", "x", "--tool-input", "1"], "tool_input must be an object"),
        (["BeforeTool", "--tool", "x", "--tool-input", "{"], "--tool-input is not JSON at line 1"),
        (["BeforeAgent", "--tool", "x"], "--tool and --tool-input are for BeforeTool and AfterT"),
        (["BeforeAgent", "--input", "@no.json"], "--input: cannot read no.json: No such file"),
    ],
)
def test_an_event_that_cannot_be_fired_exits_1_and_says_what_to_do(
    call: Call, arguments: list[str], sentence: str
) -> None:
    done = call("fire", *arguments)
    assert (done.status, done.out) == (1, "")
    assert sentence in done.err
    assert done.err.count("\n") == 1


def test_a_file_that_is_not_utf_8_is_told_with_the_byte(project: Project) -> None:
    (project.path / "latin.json").write_bytes(b'{"prompt": "caf\xe9"}')
    done = hookline("fire", "BeforeAgent", "--input", "@latin.json", cwd=project.path)
    assert done == (1, "", "hookline: --input: latin.json is not UTF-8 at byte 15\n")


def test_a_lone_surrogate_survives_the_way_through(project: Project) -> None:
    got = received(project, "BeforeAgent", "--input", '{"prompt": "a\\ud800b"}')
    assert got["prompt"] == "a\ud800b"
