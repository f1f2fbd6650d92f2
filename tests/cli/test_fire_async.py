"""``hookline fire`` with hooks that nobody waits for: the decision first, then how each ended."""

import contextlib
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import pytest

from tests.cli.command import HOOKLINE, answer, command_hook, hookline, settings, timeless
from tests.cli.test_interruptions import is_gone, wait_for
from tests.harness.scratch import Project

WRITE = ("fire", "BeforeTool", "--tool", "write_file", "--tool-input", "{}")
WAITS = "echo $$ > leader; until [ -e go ]; do sleep 0.01; done; "


def later(command: str, **fields: Any) -> dict[str, Any]:
    return command_hook(command, **{"async": True, **fields})


def rules(project: Project, *hooks: dict[str, Any]) -> tuple[str, str]:
    return "--settings", str(project.settings(settings("BeforeTool", *hooks), file="rules.json"))


@contextlib.contextmanager
def firing(project: Project, *hooks: dict[str, Any]) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [*HOOKLINE, *WRITE, *rules(project, *hooks)],
        cwd=project.path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def stdout_of(process: subprocess.Popen[str]) -> IO[str]:
    assert process.stdout is not None
    return process.stdout


def test_the_decision_is_there_while_the_hook_still_runs(project: Project) -> None:
    guard = command_hook(answer(decision="allow", reason="fine"), name="guard")
    with firing(project, later(WAITS, name="lint"), guard) as process:
        shown = [stdout_of(process).readline() for _ in range(4)]
        assert [" ".join(timeless(line).split()) for line in shown] == [
            "BeforeTool write_file",
            "lint user async started",
            "guard user 0 ms allow fine",
            "allowed",
        ]
        (project.path / "go").touch()
        out, err = process.communicate(timeout=30)
    assert (timeless(out), err, process.returncode) == ("lint  user  async, 0 ms  ok\n", "", 0)


def test_the_status_is_that_of_the_decision(project: Project) -> None:
    guard = command_hook("echo no >&2; exit 2", name="guard")
    late = later("cat >/dev/null; echo oh dear >&2; exit 3", name="late")
    done = hookline(*WRITE, *rules(project, guard, late), cwd=project.path)
    assert done.status == 2
    assert timeless(done.out).endswith("late  user  async, 0 ms  failed  exit 3\n")
    assert done.err.startswith("blocked: no\n") or "\nblocked: no\n" in done.err
    assert "hook 'late' on BeforeTool failed: exited with code 3: oh dear" in done.err


def test_json_lists_what_was_started_and_stderr_says_how_it_ended(project: Project) -> None:
    late = later(answer(decision="deny", reason="late"), name="late")
    done = hookline(*WRITE, *rules(project, late), "--json", cwd=project.path)
    document = done.document
    assert (done.status, document["plan"]["hooks"], document["all_outputs"]) == (0, ["late"], [])
    assert document["results"] == [
        {
            "hook": "late",
            "type": "command",
            "source": "user",
            "success": True,
            "duration_ms": 0.0,
            "stdout": "",
            "stderr": "",
            "started": True,
        }
    ]
    assert timeless(done.err) == (
        "late  user  async, 0 ms  deny  late\n"
        "warning: hook 'late' on BeforeTool: its decision 'deny' (late) was ignored: "
        "nobody waits for an async hook\n"
    )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_hooks_that_are_waited_for(
    project: Project, number: signal.Signals
) -> None:
    with firing(project, later(WAITS, name="lint")) as process:
        while stdout_of(process).readline() != "allowed\n":
            pass
        wait_for(project.path / "leader")
        process.send_signal(number)
        process.communicate(timeout=30)
    assert process.returncode == 128 + number
    assert is_gone(int((project.path / "leader").read_text()))


def test_the_trace_shows_how_an_async_hook_ended(project: Project, tmp_path: Path) -> None:
    late = later("cat >/dev/null; exit 3", name="late")
    hookline(*WRITE, *rules(project, late), cwd=project.path, HOOKLINE_TRACE="1")
    listed = hookline("trace", "--json", HOOKLINE_TRACE="1").document["events"]
    (end,) = (event for event in listed if event["decision"] == "async")
    assert (end["event"], end["target"]) == ("BeforeTool", "write_file")
    assert [(run["hook"], run["failed"], run["async"]) for run in end["hooks"]] == [
        ("late", "exit", True)
    ]
    shown = hookline("trace", end["id"], HOOKLINE_TRACE="1").out
    assert "late  user, async, 0 ms, exit 3  failed: exit 3" in timeless(shown)
    stats = hookline("trace", "--stats", "--json", HOOKLINE_TRACE="1").document["hooks"]
    assert [(row["hook"], row["runs"], row["failures"]) for row in stats] == [("late", 1, 1)]
    page = tmp_path / "trace.html"
    hookline("trace", "--html", str(page), HOOKLINE_TRACE="1")
    assert '"async":true' in page.read_text()
