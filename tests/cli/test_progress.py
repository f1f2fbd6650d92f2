"""The line that people see while hooks take their time."""

import contextlib
import io
import json
import os
import pty
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import TextIO

import pytest

from hookline.cli.progress import Progress, Waiting, describe
from hookline.runner.loop import PollLoop
from hookline.wire.hooks import CommandHook
from tests.cli.command import (
    ESCAPE,
    HOOKLINE,
    Done,
    command_hook,
    hookline,
    on_terminal,
    read_rest,
    settings,
    timeless,
)
from tests.cli.test_interruptions import is_gone, wait_for
from tests.harness.scratch import Project

WRITE = ("fire", "BeforeTool", "--tool", "write_file", "--tool-input", "{}")
FRAME = re.compile(r"[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏|/\\-] ")


@contextlib.contextmanager
def terminal() -> Iterator[tuple[int, io.TextIOWrapper]]:
    """A terminal of this test's own: what to read from, and what to write to."""
    master, slave = pty.openpty()
    with open(slave, "w", encoding="utf-8") as stream:
        yield master, stream
    os.close(master)


def hook(name: str) -> CommandHook:
    return CommandHook(name=name, command="true")


def slow(project: Project) -> tuple[str, str]:
    """Settings with a hook that takes long enough to be waited for."""
    data = settings("BeforeTool", command_hook("sleep 0.5", name="scan"))
    return "--settings", str(project.settings(data, file="slow.json"))


def held(project: Project, *names: str, sequential: bool = False) -> tuple[str, str]:
    """Settings with hooks that go on until somebody lets them go."""
    hooks = [
        command_hook(f"until [ -e '{project.path}/go-{name}' ]; do sleep 0.02; done", name=name)
        for name in names
    ]
    data = settings("BeforeTool", *hooks)
    data["hooks"]["BeforeTool"][0]["sequential"] = sequential
    return "--settings", str(project.settings(data, file="held.json"))


def letting_go(project: Project, **seen: str) -> Callable[[str], None]:
    """Lets each hook go when a text has been shown."""

    def look(shown: str) -> None:
        for name, text in seen.items():
            if text in shown:
                (project.path / f"go-{name}").touch()

    return look


def lines_over(done: Done) -> list[str]:
    """What stood on the one line after the other, times left out; the last is what stays."""
    texts = [timeless(FRAME.sub("", text)).strip() for text in ESCAPE.sub("", done.out).split("\r")]
    return [text for at, text in enumerate(texts) if text and text != texts[at - 1]]


def test_a_hook_that_takes_long_is_named_until_the_result_is_there(project: Project) -> None:
    done = on_terminal(*WRITE, *held(project, "scan"), look=letting_go(project, scan="scan"))
    waited, shown = lines_over(done)
    assert (done.status, waited) == (0, "0 ms of 0 ms  scan")
    assert shown == "BeforeTool  write_file\n  scan  user 0 ms  ok\nallowed"
    assert re.search(r"\r +\r[^\r]*$", done.out), "the line was not erased"


def test_those_are_named_that_are_still_running(project: Project) -> None:
    rules = held(project, "first", "second", sequential=True)
    look = letting_go(project, first="first", second="second")
    one_by_one = on_terminal(*WRITE, *rules, look=look)
    assert [line.split()[-1] for line in lines_over(one_by_one)[:2]] == ["first", "second"]
    look = letting_go(project, **dict.fromkeys("abcde", "and 2 more"))
    at_once = on_terminal(*WRITE, *held(project, *"abcde"), look=look)
    assert "0 ms  a, b, c and 2 more" in lines_over(at_once)


def test_a_fast_hook_is_not_worth_a_line_nor_what_it_takes_to_draw_it(project: Project) -> None:
    file = project.settings(settings("BeforeTool", command_hook("true")), file="fast.json")
    done = on_terminal(*WRITE, "--settings", str(file))
    # On a machine that is very busy no hook is fast.
    assert "\r" not in done.out or not re.search(r"\b\d\d? ms\b", done.out)
    code = "import sys; from hookline.cli import main; main(sys.argv[1:]); "
    code += "print('hookline.cli.progress' in sys.modules)"
    command = [sys.executable, "-c", code, *WRITE, "--settings", str(file)]
    assert subprocess.run(command, capture_output=True, text=True).stdout.endswith("False\n")


@pytest.mark.parametrize("as_json", [True, False])
def test_a_pipe_and_a_document_get_none_of_it(project: Project, as_json: bool) -> None:
    rules = slow(project)
    if as_json:
        assert "\r" not in on_terminal(*WRITE, *rules, "--json").out
    done = hookline(*WRITE, *rules, *(["--json"] if as_json else []))
    assert done.err == ""
    assert "\r" not in done.out


# A benchmark says how many runs are over, so the first must be.
NOT_AT_FIRST = "[ -e begun ] || { touch begun; exit; }; "


@pytest.mark.parametrize(
    ("verb", "before"),
    [(WRITE, ""), (("bench", "slow"), NOT_AT_FIRST), (("test", "."), "")],
    ids=["fire", "bench", "test"],
)
def test_after_an_interrupt_the_line_is_gone_and_comes_no_more(
    project: Project, verb: tuple[str, ...], before: str
) -> None:
    # It takes a while to end, in which nothing may be drawn.
    command = "trap 'sleep 0.3; exit' TERM; echo $$ > leader; while :; do sleep 0.05; done"
    command = before + command
    file = project.settings(settings("BeforeTool", command_hook(command, name="slow")), file="s")
    event = {"event": "BeforeTool", "input": {"tool_name": "a", "tool_input": {}}}
    project.write("slow.hooktest.json", json.dumps({**event, "name": "slow", "expect": {}}))
    with terminal() as (master, stream):
        process = subprocess.Popen(
            [*HOOKLINE, *verb, "--settings", str(file)],
            cwd=project.path,
            stdin=stream,
            stdout=stream,
            stderr=stream,
            start_new_session=True,
        )
        wait_for(project.path / "leader")
        shown = b""
        while "slow" not in shown.decode(errors="ignore"):
            shown += os.read(master, 4096)
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 130
        shown += read_rest(master, stream.fileno())
    assert re.search(r"slow[^\r]*\r +\r$", shown.decode())
    assert is_gone(int((project.path / "leader").read_text()))


def test_the_line_says_how_long_and_who() -> None:
    assert describe([(hook("scan"), 10.0)], now=11.25) == "1.2 s of 60 s  scan"
    assert describe([(hook("a"), 0.0), (hook("b"), 5.0)], now=12.0) == "12 s  a, b"


def draw(stream: TextIO, name: str) -> None:
    """Show the line once, and take it away."""
    loop = PollLoop()

    async def work() -> None:
        Waiting(stream, loop, [(hook(name), 0.0)]).end()

    loop.run(work())


def test_a_name_cannot_steer_the_terminal_nor_wrap_its_line() -> None:
    with terminal() as (master, stream):
        draw(stream, "\x1b[2J\n" + "x" * 200)
        shown = read_rest(master, stream.fileno()).decode()
    assert not set("\x1b\n") & set(shown)
    assert max(map(len, shown.split("\r"))) < 80


def test_a_terminal_that_has_gone_is_no_reason_to_fail() -> None:
    master, slave = pty.openpty()
    os.close(master)
    is_drawn = False
    # What it holds back cannot be written when it is closed either.
    with contextlib.suppress(OSError), open(slave, "w", encoding="utf-8") as stream:
        draw(stream, "scan")
        is_drawn = True
    assert is_drawn


def test_nothing_is_shown_where_there_is_no_terminal() -> None:
    stream = io.StringIO()
    for progress in (Progress(stream), Progress(None)):
        progress.show("working")
        progress.clear()
    assert stream.getvalue() == ""


def test_a_shorter_text_leaves_nothing_of_the_longer_one() -> None:
    with terminal() as (master, stream):
        progress = Progress(stream)
        progress.show("longer")
        progress.show("short")
        progress.clear()
        progress.clear()
        shown = read_rest(master, stream.fileno()).decode()
    assert shown == "\rlonger\rshort \r       \r"


def test_a_terminal_without_unicode_is_cleared_whole() -> None:
    shown = on_terminal_stream("ascii", "a test …")
    assert shown == "\ra test ?\r          \r"


def on_terminal_stream(encoding: str, text: str) -> str:
    """What a terminal of an encoding is sent for a text that is shown and cleared."""
    master, slave = pty.openpty()
    with open(slave, "w", encoding=encoding, errors="backslashreplace") as stream:
        line = Progress(stream)
        line.show(text)
        line.clear()
        sent = read_rest(master, stream.fileno())
    os.close(master)
    return sent.decode(encoding)
