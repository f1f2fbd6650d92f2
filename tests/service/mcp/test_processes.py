"""Real processes: whatever ends first, its code is told and nothing is left running."""

import asyncio
import json
import os
import signal
import sys
import time
from typing import Any

import pytest

from hookline import Hooks
from hookline.service.mcp import proxy as proxies
from hookline.service.mcp import stdio
from hookline.service.mcp.client import McpClient
from hookline.service.mcp.lines import Lines, Outlet
from hookline.service.mcp.messages import make_message
from hookline.service.mcp.proxy import Proxy
from hookline.service.mcp.server import ServerGone
from hookline.service.mcp.stdio import ServerNotStarted, StdioServer
from hookline.service.mcp.tools import Identity
from tests.cli.command import answer, command_hook, settings
from tests.harness.leaks import Watch
from tests.harness.scratch import Project
from tests.service.mcp.processes import SERVER, proxy

PYTHON = sys.executable


def wait_until_alone(watch: Watch, *, within: float) -> None:
    deadline = time.monotonic() + within
    while watch.new_processes():
        assert time.monotonic() < deadline, watch.leaks()["process"]
        time.sleep(0.02)


def text_of(reply: Any) -> str:
    return str(reply["result"]["content"][0]["text"])


def test_command_hooks_guard_a_server_that_runs_as_a_child(project: Project) -> None:
    guard = command_hook("cat > seen.json; echo not that >&2; exit 2", name="guard")
    project.settings(settings("BeforeTool", guard, matcher="__sleep$"))
    log = project.path / "log"
    with proxy(project.path, server=(PYTHON, str(SERVER), "--log", str(log))) as client:
        assert client.initialize()["result"]["serverInfo"]["name"] == "plain"
        odd = b'{"id": 3, "method": "x/y",  "n": 1.10}'
        client.send(odd)
        assert client.receive()["id"] == 3
        assert text_of(client.call(1, "echo", a=1)) == '{"a": 1}'
        refused = client.call(2, "sleep", seconds=60)
        assert refused["result"]["isError"] is True
        assert text_of(refused) == "not that"
        assert client.leave() == 0
    lines = log.read_bytes().splitlines()
    assert odd in lines
    assert not [line for line in lines if b"sleep" in line]
    seen = json.loads((project.path / "seen.json").read_text())
    assert seen["tool_name"] == "mcp__plain__sleep"
    assert seen["mcp_context"] == {
        "server_name": "plain",
        "tool_name": "sleep",
        "command": PYTHON,
        "args": [str(SERVER), "--log", str(log)],
        "cwd": str(project.path),
    }


@pytest.mark.parametrize(
    ("tool", "arguments", "code"),
    [
        ("exit", {"code": 0}, 0),
        ("exit", {"code": 5}, 5),
        ("kill", {"signal": int(signal.SIGKILL)}, 137),
        ("kill", {"signal": int(signal.SIGSEGV)}, 139),
    ],
)
def test_the_death_of_the_server_is_told_with_its_code_and_calls_are_answered_first(
    project: Project, tool: str, arguments: dict[str, int], code: int
) -> None:
    project.settings(settings("SessionEnd", command_hook("cat > end.json", name="end")))
    with proxy(project.path) as client:
        client.initialize()
        reply = client.call(1, tool, **arguments)
        assert reply["id"] == 1
        assert "the MCP server" in reply["error"]["message"]
        assert client.wait() == code
    assert json.loads((project.path / "end.json").read_text())["reason"] == "other"


def test_a_server_that_leaves_a_child_behind_is_over_all_the_same(
    project: Project, no_leaks: Watch
) -> None:
    with proxy(project.path) as client:
        client.call(1, "have_child")
        client.call(2, "exit", code=4)
        assert client.wait() == 4
        wait_until_alone(no_leaks, within=1)


def test_a_client_that_leaves_takes_all_with_it(project: Project, no_leaks: Watch) -> None:
    project.settings(settings("SessionEnd", command_hook("cat > end.json", name="end")))
    with proxy(project.path) as client:
        client.call(1, "have_child")
        assert client.leave() == 0
        wait_until_alone(no_leaks, within=1)
    assert json.loads((project.path / "end.json").read_text())["reason"] == "exit"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_ends_hooks_server_and_session(
    project: Project, number: signal.Signals, no_leaks: Watch
) -> None:
    both = settings("BeforeTool", command_hook("touch begun; sleep 600", name="slow"))
    both["hooks"] |= settings("SessionEnd", command_hook("cat > end.json", name="end"))["hooks"]
    project.settings(both)
    with proxy(project.path) as client:
        client.initialize()
        client.send_call(1, "echo")
        while not (project.path / "begun").exists():
            time.sleep(0.01)
        client.process.send_signal(number)
        assert client.wait() == 128 + number
        assert client.receive()["error"]["code"] == -32000
        wait_until_alone(no_leaks, within=1)
    assert (project.path / "end.json").exists()


def test_a_proxy_that_is_killed_leaves_no_server_behind(project: Project, no_leaks: Watch) -> None:
    with proxy(project.path) as client:
        client.call(1, "have_child")
        client.process.send_signal(signal.SIGKILL)
        client.wait()
        wait_until_alone(no_leaks, within=10)


def test_a_client_that_reads_no_more_is_gone(project: Project, no_leaks: Watch) -> None:
    with proxy(project.path) as client:
        client.call(1, "echo")
        assert client.process.stdout is not None
        client.process.stdout.close()
        client.send_call(2, "echo")
        assert client.wait() == 0
        wait_until_alone(no_leaks, within=1)


CALL = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "a\n"}}


@pytest.mark.parametrize("refused", [{"id": 1, "method": "ping"}, CALL], ids=["request", "call"])
def test_a_client_that_reads_none_of_its_refusals_is_held_up(
    project: Project, refused: dict[str, Any]
) -> None:
    lines = (json.dumps(refused) + " " * 300 + "\n").encode() * 100
    with proxy(project.path) as client:
        assert client.process.stdin is not None
        inlet, taken, since = client.process.stdin.fileno(), 0, time.monotonic()
        os.set_blocking(inlet, False)
        while time.monotonic() < since + 0.5 and taken < 20_000_000:
            try:
                taken += os.write(inlet, lines)
                since = time.monotonic()
            except BlockingIOError:
                time.sleep(0.01)
        assert taken < 20_000_000
        client.process.kill()
        client.wait()


def test_standard_error_and_the_environment_are_the_server_s_too(project: Project) -> None:
    with proxy(project.path, GREETING="hello") as client:
        client.call(1, "complain", text="I am not amused\n")
        assert text_of(client.call(2, "environment", name="GREETING")) == "hello"
        client.wait_until_said("I am not amused")
        assert client.leave() == 0


def test_a_server_may_write_garbage_and_end_within_a_line(project: Project) -> None:
    with proxy(project.path) as client:
        assert text_of(client.call(1, "say", text="starting up\n\xff\xfe\n")) != ""
        client.wait_until_said("starting up")
        client.send_call(2, "say", text='{"id":2,"result":{"content":[]}}', exit=True)
        assert client.receive()["result"] == {"content": []}
        assert client.wait() == 0
    with proxy(project.path) as client:
        client.send_call(1, "say", text='{"id":1,"resul', exit=True)
        assert client.receive()["error"]["code"] == -32000
        assert client.wait() == 0
        assert "not a message" in client.said


def test_what_a_server_writes_cannot_forge_a_line_of_the_log(project: Project) -> None:
    forged = "x\u202ey\x9b31m\u2028hookline: all is well\r"
    with proxy(project.path) as client:
        client.call(1, "say", text=f"{forged}\n".encode().decode("latin-1"))
        client.wait_until_said("all is well")
        assert client.leave() == 0
    (line,) = [line for line in client.said.split("\n") if "all is well" in line]
    assert line.startswith("hookline: the MCP server wrote a line that is not a message")
    assert line.isprintable()


def test_large_messages_and_a_client_that_writes_before_it_reads(project: Project) -> None:
    project.settings(settings("AfterTool", command_hook(answer(decision="allow"), name="see")))
    large = "x" * 2_000_000
    with proxy(project.path) as client:
        client.send_call(1, "echo", a=large)
        client.send_call(2, "flood", size=len(large))
        for _ in range(2):
            assert len(client.receive_raw()) > len(large)
        assert client.leave() == 0


def test_hooks_that_nobody_trusts_are_told_on_standard_error_alone(project: Project) -> None:
    project.settings(settings("BeforeTool", command_hook("exit 2", name="guard")))
    with proxy(project.path, trust="--no-trust") as client:
        assert text_of(client.call(1, "echo", a=1)) == '{"a": 1}'
        client.wait_until_said("trust")
        assert client.leave() == 0
    with proxy(project.path, "--strict", trust="--no-trust") as client:
        assert client.call(1, "echo", a=1)["result"]["isError"] is True
        assert client.leave() == 0


def test_what_a_library_prints_does_not_get_between_the_messages(project: Project) -> None:
    loud = project.write("site/sitecustomize.py", "import atexit; atexit.register(print, 'bye')")
    path = os.pathsep.join([str(loud.parent), *sys.path])
    with proxy(project.path, PYTHONPATH=path, server=("cat",)) as client:
        client.send({"method": "notifications/x"})
        assert client.receive() == {"method": "notifications/x"}
        assert client.leave() == 0


async def test_a_server_that_answers_when_it_has_heard_all_is_heard(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(proxies, "LAST_CALLS", 0.1)
    say = """
import sys
sys.stdin.read()
print('{"id": 1, "result": {"content": []}}')
"""
    to_proxy, from_client = os.pipe()
    to_client, from_proxy = os.pipe()
    ends = Lines(to_proxy), Outlet(from_proxy), Lines(to_client)
    identity = Identity(name="late", fallback="late", place={})
    server = StdioServer([PYTHON, "-c", say])
    running = asyncio.create_task(
        Proxy(Hooks(), server, McpClient(ends[0], ends[1]), identity=identity).run()
    )
    os.write(from_client, b'{"id": 1, "method": "x"}\n')
    os.close(from_client)
    assert await ends[2].next() == b'{"id": 1, "result": {"content": []}}'
    assert await running == 0
    for end in ends:
        end.close()


def test_standard_input_may_be_a_file(project: Project) -> None:
    import subprocess

    lines = project.write("in.jsonl", '{"id": 1, "method": "ping"}\n' * 1)
    command = [PYTHON, "-m", "hookline", "mcp", "--", PYTHON, str(SERVER)]
    with open(lines, "rb") as stdin, open(project.path / "out", "wb") as stdout:
        done = subprocess.run(command, stdin=stdin, stdout=stdout, cwd=project.path, timeout=30)
    assert done.returncode == 0
    assert json.loads((project.path / "out").read_text()) == {
        "jsonrpc": "2.0",
        "id": 1,
        "result": {},
    }


async def test_a_server_that_heeds_neither_its_input_nor_a_signal_is_killed(
    no_leaks: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("END_GRACE", "TERM_GRACE"):
        monkeypatch.setattr(stdio, name, 0.1)
    server = StdioServer([PYTHON, str(SERVER), "--stubborn"])
    await server.send(make_message(id=1, method="ping"))
    await server.receive()
    assert await server.close() == 137
    wait_until_alone(no_leaks, within=1)


async def test_a_server_that_cannot_start_leaves_no_descriptor() -> None:
    before = len(os.listdir("/dev/fd"))
    with pytest.raises(ServerNotStarted, match="cannot start '/no/such/server': "):
        StdioServer(["/no/such/server"])
    assert len(os.listdir("/dev/fd")) == before


async def test_a_server_is_closed_once_and_leaves_no_descriptor() -> None:
    before = len(os.listdir("/dev/fd"))
    server = StdioServer(["sh", "-c", "cat; exit 3"])
    message = make_message(method="x")
    await server.send(message)
    assert await server.receive() == message
    last = asyncio.create_task(server.receive())
    assert [await server.close() for _ in range(2)] == [3, 3]
    assert await last is None
    with pytest.raises(ServerGone, match="takes no more messages"):
        await server.send(message)
    assert len(os.listdir("/dev/fd")) == before
