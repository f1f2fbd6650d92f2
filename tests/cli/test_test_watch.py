"""``hookline test --watch``: again after every change that matters."""

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.command import HOOKLINE, command_hook, settings
from tests.harness.scratch import Project

pytest.importorskip("watchfiles")

TEST = '{"event": "BeforeAgent", "input": {"prompt": ""}, "expect": {"decision": "DECISION"}}'


class Watching:
    """The command at work, and what it has printed so far."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self._lines: list[str] = []
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        self._lines.extend(iter(self._process.stdout.readline, ""))

    def printed(self, text: str, times: int) -> str:
        """Everything so far, once a text was printed so often."""
        end = time.monotonic() + 30
        while (so_far := "".join(self._lines)).count(text) < times:
            assert time.monotonic() < end, so_far
            time.sleep(0.02)
        return so_far

    def end(self) -> int:
        self._process.send_signal(signal.SIGINT)
        status = self._process.wait(30)
        self._reader.join()
        return status


@contextlib.contextmanager
def watching(project: Path) -> Iterator[Watching]:
    process = subprocess.Popen(
        [*HOOKLINE, "test", "--trust", "--watch"],
        cwd=project,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=os.environ | {"PYTHONUNBUFFERED": "1"},
        text=True,
    )
    command = Watching(process)
    try:
        yield command
    finally:
        command.end()
        assert process.stdout is not None
        process.stdout.close()


def replace(project: Project, name: str, text: str) -> None:
    """Change a file in one step: half of it would be a change of its own."""
    new = project.script("new", text)
    os.replace(new, project.path / name)


def test_a_change_of_a_script_or_a_test_runs_the_tests_again(project: Project) -> None:
    project.script("hooks/h.sh", "#!/bin/sh\nexit 2\n")
    project.settings(settings("BeforeAgent", command_hook("hooks/h.sh", name="h")))
    project.write("t.hooktest.json", TEST.replace("DECISION", "allow"))
    with watching(project.path) as command:
        command.printed("waiting for a change", 1)
        project.write("notes.txt", "nothing of a test's")
        replace(project, "hooks/h.sh", "#!/bin/sh\nexit 0\n")
        out = command.printed("1 passed", 1)
        assert out.index("1 failed") < out.index("changed: hooks/h.sh\n") < out.index("1 passed")
        replace(project, "t.hooktest.json", "{")
        out = command.printed("error: t.hooktest.json:1:2: is not valid JSON", 1)
        assert "notes.txt" not in out
        assert command.end() == 130
