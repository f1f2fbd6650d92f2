"""On a terminal: colour unless it is refused, and lines that fit."""

import json
import re
from typing import Any

import pytest

from hookline.cli.screen import width_of
from tests.cli.command import (
    ESCAPE,
    answer,
    command_hook,
    hookline,
    left_on_screen,
    on_terminal,
    settings,
    timeless,
)
from tests.harness.scratch import Project

WRITE = ("fire", "BeforeTool", "--tool", "write_file", "--tool-input", "{}")
LONG = "this is a rather long explanation that no single line of a terminal has room for"
WIDE = "好的" * 30
COMMAND = f"echo '{LONG}' >&2; exit 2 # and a tail"


@pytest.fixture
def rules(project: Project) -> tuple[str, str]:
    hooks = [
        command_hook(COMMAND),
        command_hook(answer(decision="allow", reason=WIDE), name="wide"),
        command_hook("exit 4", name="broken"),
    ]
    file = project.settings(settings("BeforeTool", *hooks, matcher="write_file"), file="r.json")
    return "--settings", str(file)


def shown(text: str) -> list[str]:
    return ESCAPE.sub("", left_on_screen(text)).splitlines()


def test_fire_at_80_columns(rules: tuple[str, str]) -> None:
    done = on_terminal(*WRITE, *rules)
    assert done.status == 2
    lines = [timeless(line) for line in shown(done.out)]
    assert lines[0] == "BeforeTool  write_file"
    assert lines[1].startswith("  echo 'this is a rather lo")
    assert re.search(r"…  ? ?user 0 ms  deny    this is a", lines[1])
    reasons = "".join(lines[lines.index(next(x for x in lines if x.startswith("blocked:"))) :])
    assert reasons.replace(" ", "") == f"blocked: {LONG}{WIDE}".replace(" ", "")
    assert "warning: hook 'broken' on BeforeTool failed: exited with code 4" in lines


@pytest.mark.slow
@pytest.mark.parametrize("columns", [100, 80, 40, 30])
@pytest.mark.parametrize("verb", [WRITE, ("list",), ("demo",)], ids=lambda verb: verb[0])
def test_no_line_is_wider_than_the_terminal(
    rules: tuple[str, str], verb: tuple[str, ...], columns: int
) -> None:
    done = on_terminal(*verb, *rules, columns=columns)
    assert done.status in (0, 2)
    assert [line for line in shown(done.out) if width_of(line) > columns] == []


@pytest.mark.parametrize("verb", [WRITE, ("list",), ("demo",)], ids=lambda verb: verb[0])
def test_colour_is_used_unless_it_is_refused(project: Project, verb: tuple[str, ...]) -> None:
    hook = command_hook(answer(decision="deny", reason="no"), name="h")
    file = str(project.settings(settings("BeforeTool", hook), file="r.json"))
    coloured = on_terminal(*verb, "--settings", file)
    plain = on_terminal(*verb, "--settings", file, NO_COLOR="1")
    assert ESCAPE.search(coloured.out)
    assert "\x1b" not in plain.out
    assert list(map(timeless, shown(coloured.out))) == list(map(timeless, shown(plain.out)))


def test_a_role_is_a_style_and_no_style_reaches_past_its_text(project: Project) -> None:
    hook = command_hook(answer(decision="deny", reason="no"), name="h")
    file = str(project.settings(settings("BeforeTool", hook), file="r.json"))
    head, row, last, *_ = left_on_screen(on_terminal(*WRITE, "--settings", file).out).split("\n")
    assert head == "\x1b[1mBeforeTool\x1b[0m\x1b[36m  write_file\x1b[0m"
    assert row.startswith("  \x1b[1mh\x1b[0m  \x1b[2muser\x1b[0m  ")
    assert row.endswith("  \x1b[1;31mdeny\x1b[0m  no")
    assert last == "\x1b[1;31mblocked\x1b[0m: no"


@pytest.mark.parametrize("term", ["dumb", "unknown"])
def test_a_terminal_that_knows_no_styles_gets_none(rules: tuple[str, str], term: str) -> None:
    done = on_terminal(*WRITE, *rules, columns=60, TERM=term)
    assert done.status == 2
    assert "\x1b" not in done.out
    assert [line for line in shown(done.out) if width_of(line) > 60] == []


def test_columns_in_the_environment_are_believed(rules: tuple[str, str]) -> None:
    done = on_terminal("list", *rules, columns=100, COLUMNS="50")
    assert 40 < max(map(width_of, shown(done.out))) <= 50


def test_the_document_is_pretty_on_a_terminal_and_the_same(rules: tuple[str, str]) -> None:
    done = on_terminal("list", "--json", *rules)
    assert "\x1b" not in done.out
    assert done.out.startswith('{\n  "hooks": [\n    {\n      "event": "BeforeTool",\n')
    assert json.loads(done.out) == hookline("list", "--json", *rules).document


def test_a_document_cannot_steer_the_terminal(project: Project) -> None:
    hook = command_hook(r"printf '\033[2J\302\233'", name="evil")
    file = project.settings(settings("BeforeTool", hook), file="r.json")
    done = on_terminal(*WRITE, "--json", "--settings", str(file))
    document: dict[str, Any] = json.loads(done.out)
    assert document["results"][0]["stdout"] == "\x1b[2J\x9b"
    assert not set("\x1b\x9b") & set(done.out)


def test_list_at_80_columns(project: Project) -> None:
    hooks = [command_hook("./hooks/scan.py --strict", timeout=5000), command_hook("x" * 70)]
    project.settings(settings("BeforeTool", *hooks, matcher="write_file|replace"))
    done = on_terminal("list", cwd=project.path)
    assert shown(done.out) == [
        "BeforeTool",
        "  ./hooks/scan.py --strict               not trusted  write_file|replace",
        "    command, 5 s                         project      .hookline/settings.json:6",
        "  xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…  not trusted  write_file|replace",
        "    command, 60 s                        project      .hookline/settings.json:11",
        "",
        "2 hooks: 2 not trusted",
        "review the project's hooks with `hookline trust`; they run after you trust them",
    ]


def test_an_error_wraps_between_words_and_its_command_can_be_copied() -> None:
    done = on_terminal("fire", "BeforeTool")
    assert done.out == (
        "hookline: BeforeTool input: tool_name is missing; try:\n"
        """  hookline fire BeforeTool --tool write_file --tool-input '{"content":"hi"}'\n"""
    )
    assert on_terminal("list", "--event", "Foo", columns=60).out == (
        "hookline: --event: 'Foo' is not a hook event; the events are\n"
        "BeforeTool, AfterTool, BeforeAgent, AfterAgent, BeforeModel,\n"
        "AfterModel, BeforeToolSelection, SessionStart, SessionEnd,\n"
        "PreCompress, Notification, and Claude Code's (PreToolUse, …)\n"
    )


def test_reading_from_the_terminal_says_how_to_end_it() -> None:
    done = on_terminal("fire", "BeforeAgent", "--input", "-", typed=b"{}\n\x04")
    assert "reading the input from the terminal; Ctrl-D ends it\n" in done.out
    assert "prompt is missing" in done.out
