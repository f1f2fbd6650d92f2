"""No text of a hook, a project or a request passes for a line of ours, or steers a terminal."""

import asyncio
import json
import logging
import re
from pathlib import Path
from typing import Any

import pytest

from hookline._support.notices import warn
from hookline.bus import InProcessMessageBus
from hookline.bus.messages import MessageBusType
from hookline.trace.events import read_entries
from hookline.trace.html import page
from hookline.trace.log import TraceLog
from hookline.trace.records import default_trace_file
from tests.cli.command import Done, hookline, on_terminal, settings
from tests.harness.scratch import Project
from tests.service.workers import worker
from tests.trace.logs import fired, ran, written

pytestmark = pytest.mark.slow

FORGED = "allowed: forged"
# Each character that may end a line, a terminal's sequences in seven and in eight bits, and text
# that runs the other way.
EVIL = "".join(("evil", *(f"{end}{FORGED}" for end in "\n\r\v\f\x85\u2028\u2029")))
EVIL += "\x1b[2J\x1b]0;x\x07\x9b2J\x7f\u061c\u200e\u200f\u202a\u202e\u2066\u2069"
# And text that nobody sees, so that one name passes for another.
EVIL += "a\u200bb\u200cc\u200dd\u2060e\ufefff\u034fg\u3164h\ufe0fi\U000e0041"
_TURNING = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
_UNSEEN = "\u034f\u200b-\u200d\u2060\u3164\ufe0f\ufeff\U000e0041"
STEERING = re.compile(f"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029{_TURNING}{_UNSEEN}]")


def assert_harmless(done: Done) -> None:
    for text in (done.out, done.err):
        assert not STEERING.search(text), text
        for line in text.splitlines():
            # What has several lines on purpose is indented.
            assert not line.startswith(FORGED), text


@pytest.fixture
def evil(project: Project) -> Project:
    project.script("say.sh", f"#!/bin/sh\nprintf '%s' '{EVIL}' >&2\nexit 2\n")
    project.script("fail.sh", f"#!/bin/sh\nprintf '%s' '{EVIL}' >&2\nexit 7\n")
    project.script("run.sh", "#!/bin/sh\ntrue\r\n")
    answer = {"decision": "deny", "reason": EVIL, "systemMessage": EVIL}
    project.write("answer.json", json.dumps(answer))
    hooks: list[dict[str, Any]] = [
        {"type": "command", "name": EVIL, "command": "cat answer.json", "description": EVIL},
        {"type": "command", "name": f"{EVIL}2", "command": "./say.sh"},
        {"type": "command", "name": f"{EVIL}3", "command": "./fail.sh"},
        {"type": "command", "name": "missing", "command": f"'./{EVIL}'"},
        {"type": "command", "name": "run", "command": "./run.sh", EVIL: 1},
    ]
    project.settings(
        {
            **settings("BeforeTool", *hooks, matcher=f"write|{EVIL}"),
            EVIL: 1,
            "hooksConfig": {"disabled": [EVIL + "no"]},
        }
    )
    test = {"event": "BeforeTool", "tool": "write", "tool_input": {}}
    tests = [{**test, "name": EVIL, "expect": {"reason": EVIL + "!"}}, {EVIL: 1}]
    project.write(".hookline/tests/t.hooktest.json", json.dumps(tests))
    (project.path / f"{EVIL}.hooktest.json").write_text("{")
    return project


TOOL_INPUT = json.dumps({"content": EVIL})
CALLS = (
    ("fire", "BeforeTool", "--trust", "--tool", "write", "--tool-input", TOOL_INPUT),
    ("fire", "BeforeTool", "--trust", "--tool", EVIL, "--tool-input", "{}"),
    ("fire", "BeforeTool", "--tool", "write", "--tool-input", "{}", "--session-id", EVIL[:30]),
    ("fire", EVIL),
    (EVIL,),
    ("list",),
    ("check",),
    ("test", "--trust"),
    ("enable", EVIL),
    ("bench", EVIL, "--trust", "--runs", "1"),
    ("trace", EVIL),
)


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call[0][:5])
def test_no_screen_shows_a_forged_line_or_steers_a_terminal(
    evil: Project, call: tuple[str, ...]
) -> None:
    assert_harmless(hookline(*call, cwd=evil.path))
    shown = on_terminal(*call, cwd=evil.path, NO_COLOR="1", COLUMNS="400")
    rows = "\n".join(line.rpartition("\r")[2] for line in shown.out.split("\n"))
    assert_harmless(Done(shown.status, rows, ""))


IN_JSON = ("fire", "list", "check", "test", "bench", "enable", "trust")


@pytest.mark.parametrize("verb", IN_JSON)
def test_no_json_steers_a_terminal_or_hides_a_character(evil: Project, verb: str) -> None:
    call = next((call for call in CALLS if call[0] == verb), (verb,))
    done = hookline(*call, "--json", cwd=evil.path)
    assert_harmless(done)
    assert json.loads(done.out)


@pytest.mark.parametrize("call", [(), ("evil22",), ("--slow",), ("--hook", EVIL[:40])])
def test_a_trace_shows_no_forged_line(call: tuple[str, ...]) -> None:
    run = ran(EVIL, output={"decision": "deny", "reason": EVIL}, stderr=EVIL, error=EVIL)
    written(default_trace_file(), fired("evil22", "14:00:00", "BeforeTool", run, target=EVIL))
    assert_harmless(hookline("trace", *call))
    assert_harmless(hookline("trace", *call, "--json"))


def test_the_page_of_a_trace_shows_what_would_turn_its_text_around(tmp_path: Path) -> None:
    run = ran("turned\u202eor", stderr="\u2066x")
    written(tmp_path / "trace.jsonl", fired("evil22", "14:00:00", "BeforeTool", run))
    log = TraceLog(tmp_path / "trace.jsonl")
    events = [entry.event for entry in read_entries(log.poll())]
    log.close()
    shown = page(events, total=1).decode()
    assert not re.search("[\u202e\u2066]", shown)
    assert r"turned\\u202eor" in shown


def test_a_worker_logs_what_hooks_say_in_one_line_each(
    evil: Project, nats_url: str, prefix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORKER_TOKEN", 'the"secret"token')
    leak = "import json, os, sys; sys.exit(json.dumps(dict(os.environ)))"
    hooks = json.loads((evil.path / ".hookline/settings.json").read_text())["hooks"]["BeforeTool"]
    hooks[0]["hooks"].append({"type": "command", "command": "python3", "args": ["-c", leak]})
    evil.settings({"hooks": {"BeforeTool": hooks}})
    url = f"{nats_url}?prefix={prefix}"
    with worker(evil.path, url) as working:
        input = json.dumps({"tool_name": "write", "tool_input": {}, "session_id": EVIL})
        hookline("fire", "BeforeTool", "--input", input, "--bus", url)
        hookline("fire", "BeforeAgent", "--input", input, "--bus", url)
        assert working.end() == 0
    assert "failed" in working.said
    assert not STEERING.search(working.said)
    for line in working.said.splitlines():
        assert re.match(r"20\d\d-\d\d-\d\d \d\d:\d\d:\d\d,\d\d\d ", line), working.said
    assert "secret" not in working.said.replace("secret-", "")


def test_a_warning_in_pythons_log_is_one_line(caplog: pytest.LogCaptureFixture) -> None:
    warn(f"a request was refused: {EVIL}")
    (record,) = caplog.records
    assert not STEERING.search(record.getMessage())
    assert "\n" not in record.getMessage()


def test_what_an_error_says_forges_no_line_behind_its_traceback() -> None:
    """A handler of the in-process bus raised with the text of a request in it."""
    lines: list[str] = []

    class Kept(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append(self.format(record))

    async def publish() -> None:
        bus = InProcessMessageBus()

        def fail(_message: object) -> None:
            try:
                raise KeyError(EVIL)
            except KeyError:
                raise ValueError(f"malformed: {EVIL}") from None

        bus.subscribe(MessageBusType.HOOK_EXECUTION_REQUEST, fail)
        await bus.publish({"type": MessageBusType.HOOK_EXECUTION_REQUEST.value, "payload": {}})
        await bus.publish({"type": EVIL})

    handler = Kept()
    logging.getLogger("hookline").addHandler(handler)
    try:
        asyncio.run(publish())
    finally:
        logging.getLogger("hookline").removeHandler(handler)
    failed, unknown = lines
    assert "\n" not in unknown
    assert "Traceback" in failed
    assert f"ValueError: malformed: evil\\n{FORGED}" in failed
    for line in failed.split("\n"):
        assert not STEERING.search(line)
        assert not line.startswith(FORGED)
