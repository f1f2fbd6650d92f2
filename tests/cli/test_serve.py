"""``hookline serve`` and ``hookline fire --bus`` as people and scripts use them."""

import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from hookline.cli import fire, serve
from tests.cli.command import answer, command_hook, hookline, settings
from tests.cli.conftest import Call
from tests.cli.test_imports import loaded, third_party
from tests.harness.scratch import Project
from tests.service.workers import worker

pytestmark = pytest.mark.slow  # workers, each a process of its own

TOOL = ("--tool", "write", "--tool-input", "{}")


@pytest.fixture
def url(nats_url: str, prefix: str) -> str:
    return f"{nats_url}?prefix={prefix}"


@pytest.fixture
def armed(project: Project) -> Project:
    hook = command_hook(answer(decision="deny", reason="not here"), name="no")
    project.settings(settings("BeforeTool", hook, matcher="write"))
    return project


def test_fire_has_a_worker_run_its_hooks(armed: Project, tmp_path: Path, url: str) -> None:
    with worker(armed.path, url):
        blocked = hookline("fire", "BeforeTool", *TOOL, "--bus", url, cwd=tmp_path)
        other = hookline("fire", "BeforeAgent", "--input", '{"prompt": "p"}', "--bus", url)
        asked = hookline("fire", "BeforeTool", *TOOL, "--bus", url, "--json")
    assert (blocked.status, blocked.err) == (2, "blocked: not here\n")
    assert (other.status, other.out) == (0, "BeforeAgent\nno hook matched\n")
    assert asked.status == 2
    assert asked.document["final_output"]["reason"] == "not here"
    assert asked.document["view"]["blocked"] is True


_WITHOUT_NATS = """
import sys
sys.modules["nats"] = None
from hookline.cli import main
raise SystemExit(main(sys.argv[1:]))
"""


@pytest.mark.parametrize("call", [("serve",), ("serve", "--stats"), ("fire", "BeforeTool", *TOOL)])
def test_without_its_extra_a_bus_is_refused_with_the_command_that_installs_it(
    armed: Project, call: tuple[str, ...]
) -> None:
    command = [sys.executable, "-c", _WITHOUT_NATS, *call, "--bus", "nats://localhost:4222"]
    done = subprocess.run(command, cwd=armed.path, capture_output=True, text=True)
    said = "hookline: --bus: a bus over NATS needs nats-py; run pip install 'hookline[nats]'\n"
    assert (done.returncode, done.stderr) == (1, said)


def on(url: str, example: str) -> list[str]:
    """The words of an example behind ``hookline``, on another bus than it names."""
    return [word.replace("nats://localhost:4222", url) for word in shlex.split(example)[1:]]


def test_the_examples_of_the_help_work_on_a_real_bus(armed: Project, url: str) -> None:
    examples = [line for line in (*fire.EXAMPLES, *serve.EXAMPLES) if "//localhost" in line]
    serving = [on(url, line) for line in examples if "serve" in line and "--stats" not in line]
    asking = [on(url, line) for line in examples if "fire" in line or "--stats" in line]
    assert (len(serving), len(asking)) == (2, 2)
    for _verb, _bus, _url, *options in serving:
        with worker(armed.path, url, *options) as working:
            for words in asking:
                assert hookline(*words, cwd=armed.path).status == 0
            assert working.end() == 0


def test_a_failed_hook_of_a_worker_lets_the_event_go_on(project: Project, url: str) -> None:
    project.settings(settings("BeforeTool", command_hook("exit 1", name="broken")))
    with worker(project.path, url):
        done = hookline("fire", "BeforeTool", *TOOL, "--bus", url, "--json")
    assert done.status == 0
    assert [error["hook"] for error in done.document["errors"]] == ["broken"]


def test_what_goes_wrong_with_hooks_of_a_worker_is_on_the_screen(
    project: Project, tmp_path: Path, url: str
) -> None:
    crash = project.script("crash.py", "#!/usr/bin/env python3\nimport json\njson.loads('{')\n")
    hooks = [
        command_hook(str(crash), name="crash"),
        command_hook("sleep 30", name="slow", timeout=50),
        command_hook(answer(decision="allow", novel=1), name="odd"),
    ]
    project.settings(settings("BeforeTool", *hooks))
    with worker(project.path, url):
        done = hookline("fire", "BeforeTool", *TOOL, "--bus", url, cwd=tmp_path)
        asked = hookline("fire", "BeforeTool", *TOOL, "--bus", url, "--json", cwd=tmp_path)
    assert (done.status, done.out.splitlines()[-1]) == (0, "allowed")
    crashed, *_ = failed = done.err.split("warning: ")[1:]
    assert crashed.startswith(
        "hook 'crash' of a worker failed on BeforeTool: exited with code 1: "
        "json.decoder.JSONDecodeError: Expecting property name"
    )
    assert f'    File "{crash}", line 3, in <module>\n' in crashed
    assert "lib/python" not in crashed
    assert " more lines; --json has them all\n" in crashed
    assert crashed.endswith("    BeforeTool goes on without it; fix it where the worker runs\n")
    assert "hook 'slow' of a worker failed on BeforeTool: ran longer than its" in failed[1]
    assert failed[2] == (
        "hook 'odd' of a worker on BeforeTool: novel is not read at the top of an answer to "
        "BeforeTool; it has no effect\n"
    )
    assert asked.err == done.err
    assert [error["code"] for error in asked.document["errors"]] == ["hook_exit", "hook_timeout"]


def test_a_hook_of_a_worker_that_fails_closed_blocks_and_says_why(
    project: Project, tmp_path: Path, url: str
) -> None:
    hook = command_hook("seq 30 >&2; exit 1", name="scan", onFailure="block")
    project.settings(settings("BeforeTool", hook))
    with worker(project.path, url):
        done = hookline("fire", "BeforeTool", *TOOL, "--bus", url, cwd=tmp_path)
    assert done.status == 2
    ending = "; its stderr ends with\n    26\n    27\n    28\n    29\n    30\n    25 more lines; "
    assert f"'scan' of a worker failed on BeforeTool: exited with code 1{ending}" in done.err
    assert (
        "    it fails closed, so BeforeTool is blocked; fix it where the worker runs\n" in done.err
    )
    assert f"blocked: scan failed: exited with code 1{ending}--json has them all\n" in done.err


def test_a_hook_that_nobody_has_reviewed_on_the_worker_is_named(
    project: Project, tmp_path: Path, url: str
) -> None:
    script = project.script("scan.sh", "#!/bin/sh\nexit 0\n")
    project.settings(settings("BeforeTool", command_hook("./scan.sh", name="scan")))
    assert hookline("trust", "--yes", cwd=project.path).status == 0
    with worker(project.path, url, trusted=False):
        script.write_text("#!/bin/sh\nexit 0 # changed\n")
        done = hookline("fire", "BeforeTool", *TOOL, "--bus", url, cwd=tmp_path)
    assert done.status == 0
    assert done.err == (
        "warning: the hooks of a worker did not decide on BeforeTool: a hook changed since its "
        "review and did not run: 'scan'; run `hookline trust` on the worker; "
        "it goes on without hooks\n"
    )


@pytest.mark.parametrize(
    ("meaning", "status", "word"),
    [
        ("allow", 0, "it goes on without hooks"),
        ("block", 2, "it is blocked"),
        ("local", 2, "the hooks here run instead"),
    ],
)
def test_an_outage_means_what_was_asked_and_is_told(
    armed: Project, url: str, meaning: str, status: int, word: str
) -> None:
    options = ("--bus", url, "--on-unavailable", meaning, "--trust")
    done = hookline("fire", "BeforeTool", *TOOL, *options, cwd=armed.path)
    assert done.status == status
    assert f"no worker serves BeforeTool on this bus; {word}\n" in done.err


def test_a_padded_event_that_goes_on_unchecked_is_told_loudly(
    armed: Project, tmp_path: Path, url: str
) -> None:
    padded = tmp_path / "padded.json"
    padded.write_text(json.dumps({"content": "x" * 1_100_000}))
    options = ("--tool", "write", "--tool-input", f"@{padded}", "--bus", url)
    with worker(armed.path, url):
        done = hookline("fire", "BeforeTool", *options, cwd=tmp_path)
        asked = hookline("fire", "BeforeTool", *options, "--json", cwd=tmp_path)
        blocked = hookline("fire", "BeforeTool", *options, "--on-unavailable", "block")
    told = "no hook was asked: the request is larger than the bus takes ("
    assert (done.status, asked.status, blocked.status) == (0, 0, 2)
    assert told in done.err
    assert "; it goes on unchecked\n" in done.err
    assert asked.document["errors"][0]["code"] == "request_too_large"
    assert asked.document["errors"][0]["message"].startswith(told)
    assert "it goes on unchecked" in asked.err


def test_stats_show_how_the_workers_are(armed: Project, url: str) -> None:
    with worker(armed.path, url):
        hookline("fire", "BeforeTool", *TOOL, "--bus", url)
        shown = hookline("serve", "--bus", url, "--stats")
        asked = hookline("serve", "--bus", url, "--stats", "--json")
    [status] = asked.document["workers"]
    assert (shown.status, asked.status) == (0, 0)
    name, *facts = (line.split() for line in shown.out.splitlines())
    assert name[1:] == ["1", "hook"]
    titles = ["policy:", "state:", "now:", "in", "latency:"]
    assert [words[0] for words in facts] == titles
    assert facts[1][1:] == ["connected,", "0", "reconnections"]
    assert facts[2][1:] == ["0", "running,", "0", "waiting"]
    assert "1 received, 1 answered, 0 handed back" in shown.out
    assert (status["hooks"], status["answered"], status["failed"]) == (1, 1, {})
    assert set(status["latency_ms"]) == {"p50", "p95", "p99", "max"}


def test_stats_without_a_worker_fail(url: str) -> None:
    done = hookline("serve", "--bus", url, "--stats")
    assert done.status == 1
    assert done.err == ("hookline: no worker answers on this bus; start one with hookline serve\n")


def test_a_health_line_is_said_from_time_to_time(armed: Project, url: str) -> None:
    with worker(armed.path, url, "--health", "0.05") as serving:
        serving.wait_until_said("connected; 0 answered, 0 failed, 0 refused; 0 running, 0 waiting")
        assert serving.end() == 0


def test_a_document_closes_a_worker_that_was_asked_for_one(armed: Project, url: str) -> None:
    with worker(armed.path, url, "--json") as serving:
        assert serving.end() == 0
    assert "ended: " in serving.said


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--bus", "nats://x"], "the worker does not start: it has no hook to serve"),
        (
            ["--allow-empty", "--bus", "nats://127.0.0.1:1"],
            "cannot connect to nats://127.0.0.1:1: connection refused; start the NATS server there",
        ),
        (
            ["--allow-empty", "--bus", "nats://me:secret@127.0.0.1:1"],
            "cannot connect to nats://127.0.0.1:1: connection refused; start the NATS server there",
        ),
        (["--bus", "ftp://x"], "--bus: 'x' is not the URL of a bus; write nats://HOST:4222"),
        (["--bus", "nats://x?a=1"], "--bus: unknown option in the URL of the bus: a; use "),
        (["--bus", "nats://x", "--concurrency", "0"], "--concurrency: 0 is not a number"),
        (
            ["--bus", "nats://x", "--health", "0"],
            "--health: 0 is not a time to wait",
        ),
        (["--bus", "nats://x", "--events", "BeforeTol"], "did you mean BeforeTool"),
        (["--bus", "nats://x", "--events", ","], "--events: name at least one, or leave it out"),
        ([], "the following arguments are required: --bus"),
    ],
)
def test_what_cannot_be_served_is_a_sentence_and_a_1(
    project: Project, arguments: list[str], said: str
) -> None:
    done = hookline("serve", *arguments, cwd=project.path)
    assert done.status == 1
    assert said in done.err.splitlines()[-1]
    assert "secret" not in done.err


def test_the_bus_may_be_named_in_a_file(tmp_path: Path, url: str, call: Call) -> None:
    file = tmp_path / "bus"
    file.write_text(f"{url}\n")
    done = call("fire", "BeforeTool", *TOOL, "--bus", f"@{file}", "--json")
    assert done.document["errors"][0]["code"] == "unavailable"
    assert call("fire", "BeforeTool", *TOOL, "--bus", f"@{tmp_path}/none").status == 1


def test_fire_without_a_bus_loads_no_bus_and_no_event_loop(armed: Project) -> None:
    modules = loaded(armed, "fire", "BeforeTool", *TOOL, "--trust", "--json")
    assert "nats" not in third_party(modules)
    assert modules.isdisjoint(
        {"asyncio", "hookline.bus", "hookline.engine.remote", "hookline.service"}
    )


def test_the_details_of_an_outage_are_in_the_document(url: str) -> None:
    done = hookline("fire", "BeforeTool", *TOOL, "--bus", url, "--json")
    assert json.loads(done.out)["errors"] == [
        {
            "code": "unavailable",
            "message": "no worker serves BeforeTool on this bus",
            "stage": "response",
        }
    ]
