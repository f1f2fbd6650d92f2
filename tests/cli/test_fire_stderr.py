"""What ``hookline fire`` shows of what hooks write to stderr, and of how they fail."""

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from hookline.cli.screen import width_of
from hookline.cli.stderr import cut_failure, shorten_reason, take_first, take_what_matters
from tests.cli.command import (
    ESCAPE,
    answer,
    command_hook,
    hookline,
    left_on_screen,
    on_terminal,
    settings,
)
from tests.cli.conftest import Call
from tests.harness.scratch import Project

WRITE = ("fire", "BeforeTool", "--tool", "write_file", "--tool-input", "{}")
CRASH = """\
import json, sys

def look(text):
    return json.loads(text)["tool_input"]["content"]

print("starting up", file=sys.stderr)
look({text})
"""


def rules(project: Project, *hooks: dict[str, Any]) -> tuple[str, str]:
    return "--settings", str(project.settings(settings("BeforeTool", *hooks), file="rules.json"))


def python_hook(project: Project, source: str, **fields: Any) -> tuple[Path, dict[str, Any]]:
    script = project.write("hooks/crash.py", source)
    return script, command_hook(f"{sys.executable} {script}", name="crash", **fields)


def test_the_stderr_of_each_hook_is_named_and_none_is_swallowed(
    project: Project, call: Call
) -> None:
    hooks = [
        command_hook("echo one >&2", name="a"),
        # Part of its reason is not its reason.
        command_hook("echo no >&2; " + answer(decision="deny", reason="not now"), name="b"),
        command_hook("echo stopped >&2; sleep 30", name="c", timeout=300),
        command_hook("true", name="silent"),
    ]
    done = call(*WRITE, *rules(project, *hooks))
    shown = done.out.partition("  stderr of a:\n")[2]
    assert shown == "    one\n  stderr of b:\n    no\n  stderr of c:\n    stopped\n"
    assert "silent:" not in done.out


def test_many_talkative_hooks_leave_room_for_the_decision(project: Project, call: Call) -> None:
    hooks = [command_hook("seq 40 >&2", name=f"h{number}") for number in range(12)]
    done = call(*WRITE, *rules(project, *hooks))
    assert done.out.count("stderr of h") == 12
    assert done.out.count("    35 more lines; --json has them all\n") == 12
    [result, *_] = call(*WRITE, *rules(project, *hooks), "--json").document["results"]
    assert len(result["stderr"].split()) == 40


@pytest.mark.parametrize("command", ["./plain.sh", "./missing.sh"])
def test_a_hook_that_cannot_start_is_a_case_for_check(
    project: Project, call: Call, command: str
) -> None:
    project.write("plain.sh", "#!/bin/sh\n")
    done = call(*WRITE, *rules(project, command_hook(command, name="it")))
    assert done.err.endswith("goes on without it; `hookline check` says what to fix\n")


def test_a_stack_trace_is_cut_to_the_exception_and_the_hooks_own_last_frame(
    project: Project, call: Call
) -> None:
    script, hook = python_hook(project, CRASH.format(text="'{'"))
    done = call(*WRITE, *rules(project, hook))
    first, frame, line, left_out, means = done.err.splitlines()
    assert first == (
        "warning: hook 'crash' on BeforeTool failed: exited with code 1: json.decoder."
        "JSONDecodeError: Expecting property name enclosed in double quotes: line 1 column 2 "
        "(char 1)"
    )
    assert frame == f'    File "{script}", line 4, in look'
    assert line == '      return json.loads(text)["tool_input"]["content"]'
    assert left_out.endswith(" more lines; --json has them all")
    assert means.endswith("rules.json:6: BeforeTool goes on without it")
    document = call(*WRITE, *rules(project, hook), "--json").document
    assert "Traceback (most recent" in document["results"][0]["stderr"]
    assert "decoder.py" in document["errors"][0]["message"]


def test_a_hook_that_fails_closed_blocks_with_what_matters(project: Project, call: Call) -> None:
    script, hook = python_hook(project, CRASH.format(text="'{}'"), onFailure="block")
    done = call(*WRITE, *rules(project, hook))
    assert done.status == 2
    told = f"exited with code 1: KeyError: 'tool_input'\n    File \"{script}\", line 4, in look\n"
    assert f"warning: hook 'crash' on BeforeTool failed: {told}" in done.err
    assert ": it fails closed, so BeforeTool is blocked\n" in done.err
    assert f"\nblocked: crash failed: {told}" in done.err
    assert "Traceback" not in done.err


def test_a_script_that_cannot_be_compiled_and_a_warm_one_show_their_own_line(
    project: Project, call: Call
) -> None:
    script, hook = python_hook(project, "def broken(:\n    pass\n")
    done = call(*WRITE, *rules(project, hook))
    assert f'SyntaxError: invalid syntax\n    File "{script}", line 1\n' in done.err
    assert "      def broken(:\n" in done.err
    script, hook = python_hook(project, CRASH.format(text="'{}'"), warm=True)
    done = call(*WRITE, *rules(project, hook))
    assert f"KeyError: 'tool_input'\n    File \"{script}\", line 4, in look\n" in done.err


@pytest.mark.skipif(shutil.which("node") is None, reason="there is no node here")
@pytest.mark.parametrize(
    ("source", "shown"),
    [
        (
            "function look(it) {\n  return it.a.b;\n}\nlook({});\n",
            "properties of undefined (reading 'b')\n    at look (FILE:2:15)\n",
        ),
        # The frame above the hook's own has no file.
        ("function look() {\n  JSON.parse('{');\n}\nlook();\n", "\n    at look (FILE:2:8)\n"),
        ("const a = ;\n", "SyntaxError: Unexpected token ';'\n    FILE:1\n      const a = ;\n"),
    ],
    ids=["own frame", "frame without a file", "cannot be compiled"],
)
def test_a_stack_trace_of_node_is_cut_too(
    project: Project, call: Call, source: str, shown: str
) -> None:
    script = project.write("hooks/crash.js", source)
    done = call(*WRITE, *rules(project, command_hook(f"node {script}", name="js")))
    assert shown.replace("FILE", str(script)) in done.err
    assert "node:internal" not in done.err
    assert "<anonymous>" not in done.err


def test_of_other_text_the_end_is_shown(project: Project, call: Call) -> None:
    done = call(*WRITE, *rules(project, command_hook("seq 50 >&2; exit 4", name="long")))
    assert done.err.splitlines()[:-1] == [
        "warning: hook 'long' on BeforeTool failed: exited with code 4; its stderr ends with",
        *(f"    {number}" for number in range(46, 51)),
        "    45 more lines; --json has them all",
    ]
    short = call(*WRITE, *rules(project, command_hook("seq 3 >&2; exit 4", name="short")))
    assert "exited with code 4: 1\n    2\n    3\n" in short.err
    assert "more line" not in short.err
    shot = call(*WRITE, *rules(project, command_hook("seq 50 >&2; kill -9 $$", name="shot")))
    assert "failed: was killed by SIGKILL; its stderr ends with\n    46\n" in shot.err


def test_a_timeout_says_what_gives_a_hook_more_time(project: Project, call: Call) -> None:
    hook = command_hook("echo waiting >&2; sleep 30", name="slow", timeout=400)
    done = call(*WRITE, *rules(project, hook))
    assert "  stderr of slow:\n    waiting\n" in done.out
    assert done.err.splitlines()[-1].endswith(
        'BeforeTool goes on without it; a longer "timeout" in its settings gives it more time'
    )


def test_a_hook_that_fails_beside_one_that_blocks_is_not_said_to_let_the_event_go_on(
    project: Project, call: Call
) -> None:
    hooks = [command_hook("exit 1", name="broken"), command_hook("exit 2", name="no")]
    done = call(*WRITE, *rules(project, *hooks))
    assert "BeforeTool is decided without it\n" in done.err


def test_a_failure_is_told_with_one_place_though_two_hooks_have_its_name(
    project: Project, call: Call
) -> None:
    hooks = [command_hook("exit 1", name="it"), command_hook("true", name="it")]
    done = call(*WRITE, *rules(project, *hooks))
    _, last = done.err.splitlines()
    assert last.endswith("rules.json:6: BeforeTool goes on without it")
    assert last.count("rules.json") == 1


def test_the_stderr_of_an_async_hook_is_shown_when_it_ends(project: Project) -> None:
    fields: dict[str, Any] = {"async": True}
    hook = command_hook("seq 30 >&2", name="later", **fields)
    done = hookline(*WRITE, *rules(project, hook))
    assert "stderr of later:\n    1\n    2\n" in done.out
    assert done.out.endswith("    20\n    10 more lines; HOOKLINE_TRACE=1 keeps them\n")
    asked = hookline(*WRITE, *rules(project, hook), "--json")
    assert asked.document["results"][0]["started"]
    assert "stderr of later:\n    1\n    2\n" in asked.err


def test_a_long_reason_is_whole_in_the_decision_alone(project: Project, call: Call) -> None:
    done = call(*WRITE, *rules(project, command_hook("seq 30 >&2; exit 2", name="no")))
    assert "25 more lines; --json has them all" in done.out
    assert done.err == "blocked: 1\n" + "".join(f"    {n}\n" for n in range(2, 31))


@pytest.mark.parametrize("columns", [40, 80, 120])
def test_failures_fit_a_terminal_and_steer_it_nowhere(project: Project, columns: int) -> None:
    _, hook = python_hook(project, "raise ValueError('好' * 60 + '\\x1b[2J\\nnext')\n")
    odd = answer(**{"\x1b[2J": 1, "nov" * 40: 2, "reason": "r", "hookSpecificOutput": {"": 1}})
    hooks = [hook, command_hook(odd, name="好" * 20), command_hook("printf '\\033c' >&2; exit 3")]
    done = on_terminal(*WRITE, *rules(project, *hooks), columns=columns)
    lines = ESCAPE.sub("", left_on_screen(done.out)).splitlines()
    assert [line for line in lines if width_of(line) > columns] == []
    assert "\x1b[2J" not in done.out
    assert "\x1bc" not in done.out
    assert lines[-1] == "allowed"


GROUP = """\
  + Exception Group Traceback (most recent call last):
  |   File "/p/hooks/scan.py", line 3, in <module>
  |     raise ExceptionGroup("two", [ValueError("a"), KeyError("b")])
  | ExceptionGroup: two (2 sub-exceptions)
  +-+---------------- 1 ----------------
    | ValueError: a
    +---------------- 2 ----------------
    | KeyError: 'b'
    +------------------------------------"""
CHAINED = """\
Traceback (most recent call last):
  File "/p/hooks/scan.py", line 3, in one
    one()
KeyError: 'a'

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "/p/hooks/scan.py", line 9, in two
    two()
    ~~~^^
  File "/p/.venv/lib/python3.12/site-packages/pkg/core.py", line 70, in three
    raise Wrong(
pkg.Wrong: 2 errors
  first
  second
  third"""


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (
            GROUP,
            [
                "ExceptionGroup: two (2 sub-exceptions)",
                'File "/p/hooks/scan.py", line 3, in <module>',
                '  raise ExceptionGroup("two", [ValueError("a"), KeyError("b")])',
            ],
        ),
        (
            CHAINED,
            [
                *("pkg.Wrong: 2 errors", 'File "/p/hooks/scan.py", line 9, in two', "  two()"),
                *("  first", "  second"),
            ],
        ),
        ('File "x", line 1, in y', ['File "x", line 1, in y']),
        ("at home\n   at 10:30:00", ["at home", "   at 10:30:00"]),
        ("", [""]),
    ],
)
def test_what_matters_of_a_text(text: str, lines: list[str]) -> None:
    assert take_what_matters(text).lines[: len(lines)] == lines


def test_one_endless_line_is_cut() -> None:
    for excerpt in (take_first("x" * 10_000, among=1), take_what_matters("x" * 10_000)):
        assert excerpt.lines == ["x" * 500 + "… (+9500 characters)"]
    assert len(cut_failure("exited with code 1: " + "y" * 10_000)) < 600


def test_a_failure_of_another_kind_is_whole() -> None:
    said = json.dumps({"a": 1}, indent=1)
    assert cut_failure(f"its answer cannot be read: {said}") == f"its answer cannot be read: {said}"


@pytest.mark.parametrize(
    ("number", "among", "shown"),
    [(20, 1, 20), (21, 1, 20), (40, 3, 20), (40, 4, 15), (40, 20, 3), (40, 21, 3), (1, 60, 1)],
)
def test_hooks_that_succeeded_share_the_lines_of_the_screen(
    number: int, among: int, shown: int
) -> None:
    text = "\n".join(map(str, range(number)))
    excerpt = take_first(text, among=among)
    assert excerpt.lines == text.split("\n")[:shown]
    assert (excerpt.left_out, excerpt.is_trace) == (number - shown, False)


def test_a_line_is_shortened_only_beyond_the_limit() -> None:
    assert take_first("x" * 500, among=1).lines == ["x" * 500]
    assert take_first("x" * 501, among=1).lines == ["x" * 500 + "… (+1 characters)"]


def test_of_a_text_without_a_trace_the_last_five_lines_are_taken() -> None:
    assert take_what_matters("1\n2\n3\n4\n5") == (["1", "2", "3", "4", "5"], 0, False)
    assert take_what_matters("1\n2\n3\n4\n5\n6") == (["2", "3", "4", "5", "6"], 1, False)


def test_a_failure_says_how_many_lines_are_left_out_and_where_they_are() -> None:
    whole = "scan exited with code 1: 1\n2\n3\n4\n5"
    assert cut_failure(whole) == whole
    assert cut_failure("scan exited with code 1: 0\n1\n2\n3\n4\n5") == (
        "scan exited with code 1; its stderr ends with\n1\n2\n3\n4\n5\n"
        "1 more line; --json has them all"
    )
    killed = cut_failure("scan was killed by SIGKILL: -1\n0\n1\n2\n3\n4\n5", rest="see the log")
    assert killed.endswith("\n5\n2 more lines; see the log")


def test_a_trace_follows_the_failure_at_once_even_if_lines_are_left_out() -> None:
    shown = cut_failure(f"scan exited with code 1: {CHAINED}")
    assert shown.startswith("scan exited with code 1: pkg.Wrong: 2 errors\n")
    assert shown.endswith(f"\n{len(CHAINED.splitlines()) - 5} more lines; --json has them all")


def test_a_reason_beside_its_hook_has_five_lines_at_most() -> None:
    assert shorten_reason("1\n2\n3\n4\n5") == "1\n2\n3\n4\n5"
    assert shorten_reason("1\n2\n3\n4\n5\n6") == "1\n2\n3\n4\n5\n1 more line; --json has them all"


NODE = """\
/p/hooks/scan.js:2
    throw new Error("a\\nb")
    ^

Error: a
b
c
d
    at own (/p/hooks/scan.js:2:11)
    at Module._compile (node:internal/modules/cjs/loader:1:1)"""
NODE_SYNTAX = """\
/p/hooks/scan.js:2
  let let = 1
      ^^^

SyntaxError: let is disallowed
    at wrapSafe (node:internal/modules/cjs/loader:1:1)"""


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (NODE, ["Error: a", "at own (/p/hooks/scan.js:2:11)", "b", "c"]),
        (
            NODE_SYNTAX,
            ["SyntaxError: let is disallowed", "/p/hooks/scan.js:2", "  let let = 1"],
        ),
        (
            NODE_SYNTAX.replace("/p/hooks/scan.js:2", "node:internal/x:2"),
            ["SyntaxError: let is disallowed"],
        ),
        (
            NODE_SYNTAX.replace("/p/hooks/scan.js:2", "/p/node_modules/x.js:2"),
            ["SyntaxError: let is disallowed"],
        ),
        (
            NODE_SYNTAX.replace("/p/hooks/scan.js:2", "a warning"),
            ["SyntaxError: let is disallowed"],
        ),
        ("Error: a\n    at own (/p/x.js:2:11)", ["Error: a", "at own (/p/x.js:2:11)"]),
    ],
)
def test_what_matters_of_a_trace_of_node(text: str, lines: list[str]) -> None:
    found = take_what_matters(text)
    assert (found.lines, found.is_trace) == (lines, True)
    assert found.left_out == len(text.splitlines()) - len(lines)


@pytest.mark.parametrize(
    "text",
    [
        "    at own (/p/scan.js:2:11)",
        "no error, but a place\n    at own (/p/scan.js:2:11)",
        'Traceback (most recent call last):\n  File "/p/a.py", line 1, in b\n    c()',
        'Traceback (most recent call last):\n  File "/p/a.py", line 1, in b\nno exception',
    ],
)
def test_what_only_looks_like_a_trace_is_shown_as_other_text(text: str) -> None:
    assert take_what_matters(text) == (text.split("\n"), 0, False)


def test_a_trace_without_source_shows_the_frame_alone() -> None:
    frames = 'File "/p/a.py", line 1, in b\n  File "/lib/python3.12/x.py", line 2, in y'
    text = f"Traceback (most recent call last):\n  {frames}\nValueError"
    assert take_what_matters(text).lines == ["ValueError", 'File "/p/a.py", line 1, in b']


def test_a_trace_all_in_libraries_shows_the_last_frame() -> None:
    frames = (
        'File "/lib/python3.12/x.py", line 1, in x\n  File "/lib/python3.12/y.py", line 2, in y'
    )
    text = f"Traceback (most recent call last):\n  {frames}\nValueError: z"
    last = 'File "/lib/python3.12/y.py", line 2, in y'
    assert take_what_matters(text).lines == ["ValueError: z", last]
