"""``hookline schema``: one JSON Schema on stdout, for an editor's file or for a program."""

import json
import re
from pathlib import Path

import pytest

from hookline.hooktests.schema import hooktest_schema
from hookline.settings import schema
from tests.cli.command import hookline, on_terminal
from tests.cli.conftest import Call
from tests.cli.test_imports import loaded
from tests.harness.scratch import Project


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ((), schema.settings_schema()),
        (("settings",), schema.settings_schema()),
        (("hooktest",), hooktest_schema()),
        (("event", "BeforeTool"), schema.event_schema("BeforeTool")),
        (("event", "PreToolUse"), schema.event_schema("BeforeTool")),
        (("event", "Stop"), schema.event_schema("AfterAgent")),
    ],
)
def test_the_schema_is_printed_in_lines_and_with_json_in_one(
    call: Call, words: tuple[str, ...], expected: schema.Schema
) -> None:
    done = call("schema", *words)
    assert (done.status, done.err, done.document) == (0, "", expected)
    assert done.out.count("\n") > 50
    piped = call("schema", *words, "--json")
    assert (piped.document, piped.out.count("\n")) == (expected, 1)


def test_every_locale_and_terminal_can_have_it(tmp_path: Path) -> None:
    done = hookline("schema", "hooktest", cwd=tmp_path, PYTHONIOENCODING="ascii", LC_ALL="C")
    assert (done.status, done.err, done.document) == (0, "", hooktest_schema())
    shown = on_terminal("schema", cwd=tmp_path)
    assert json.loads(shown.out) == schema.settings_schema()


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["setings"], "there is no schema 'setings'; did you mean settings?"),
        (["hook-test"], "there is no schema 'hook-test'; did you mean hooktest?"),
        (["x"], "there is no schema 'x'; there are settings, hooktest, event"),
        (["PreToolUse"], "PreToolUse is an event; write `hookline schema event PreToolUse`"),
        (["event", "BeforTool"], "'BeforTool' is not a hook event; did you mean BeforeTool or"),
        (["event", "PreTolUse"], "'PreTolUse' is not a hook event; did you mean PreToolUse"),
        (
            ["event", "Elicitation"],
            "Elicitation is only Claude Code's and has no schema; the events",
        ),
        (["event"], "name an event after `hookline schema event`; the events are BeforeTool, A"),
        (["settings", "more"], "name one schema; `hookline schema --help` shows how"),
        (["event", "Stop", "more"], "name one schema; `hookline schema --help` shows how"),
    ],
)
def test_another_word_is_an_error_with_the_nearest(
    call: Call, words: list[str], error: str
) -> None:
    done = call("schema", *words)
    assert (done.status, done.out) == (1, "")
    assert done.err.startswith(f"hookline: {error}")


def test_to_fire_an_event_no_schema_is_loaded(project: Project) -> None:
    modules = loaded(project, "fire", "SessionStart", "--input", '{"source": "startup"}')
    assert not {name for name in modules if name.startswith("hookline.settings.schema")}
    assert "hookline.settings.schema" in loaded(project, "schema")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_completes_what_there_is(call: Call, shell: str) -> None:
    script = call("completion", shell).out
    assert re.search(r"settings\W+hooktest\W+event\W+BeforeTool\W+AfterTool", script)
