"""Real shells that complete for somebody who types, with the real command on their path."""

import contextlib
import os
import pty
import re
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

_SEQUENCES = re.compile(r"\x1b(\[[0-9;?>=]*[a-zA-Z]|\][^\x07]*\x07|[=>])")
_START = {
    "bash": ["bash", "--norc", "--noprofile", "-i"],
    "zsh": ["zsh", "-f", "-i"],
}
_QUIET = {"bash": ["bash", "--norc", "--noprofile"], "fish": ["fish", "--no-config"]}
_SETUP = {
    "bash": 'eval "$(hookline completion bash)"',
    "zsh": 'autoload -U compinit; compinit -D; eval "$(hookline completion zsh)"',
}


def need(shell: str) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"needs {shell}")


def environment(tmp_path: Path) -> dict[str, str]:
    """An environment in which ``hookline`` is a program."""
    folder = tmp_path / "bin"
    folder.mkdir(exist_ok=True)
    program = folder / "hookline"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m hookline "$@"\n')
    program.chmod(0o755)
    path = f"{folder}{os.pathsep}{os.environ['PATH']}"
    return os.environ | {"PATH": path, "TERM": "xterm", "PS1": "> ", "HISTFILE": ""}


class Typist:
    """Somebody at a shell, who sees what the terminal shows."""

    def __init__(self, master: int) -> None:
        self._master = master
        self._seen = ""

    def type(self, text: str) -> None:
        os.write(self._master, text.encode())

    def wait_for(self, text: str) -> str:
        """What was shown since the last time, up to a text that must come."""
        end = time.monotonic() + 50
        while text not in self._seen:
            left = end - time.monotonic()
            assert left > 0, f"{text!r} never came: {self._seen!r}"
            if select.select([self._master], [], [], left)[0]:
                shown = os.read(self._master, 65536).decode(errors="replace")
                self._seen = _SEQUENCES.sub("", self._seen + shown)
        before, _, self._seen = self._seen.partition(text)
        return before


@contextlib.contextmanager
def typing(shell: str, *, cwd: Path, env: dict[str, str]) -> Iterator[Typist]:
    """A shell that has read its completion."""
    need(shell)
    master, slave = pty.openpty()
    process = subprocess.Popen(
        _START[shell], cwd=cwd, env=env, stdin=slave, stdout=slave, stderr=slave
    )
    os.close(slave)
    try:
        typist = Typist(master)
        # In two parts, so that the echo of the command is not taken for its output.
        typist.type(f"{_SETUP[shell]}; echo rea''dy\n")
        typist.wait_for("ready")
        yield typist
    finally:
        process.kill()
        process.wait()
        os.close(master)


def run(shell: str, script: str, *, cwd: Path, env: dict[str, str]) -> list[str]:
    """The lines that a script prints; it must say nothing on stderr."""
    need(shell)
    done = subprocess.run(
        [*_QUIET[shell], "-c", script],
        cwd=cwd,
        env=env,
        capture_output=True,
        encoding="utf-8",
        timeout=50,
    )
    assert done.stderr == ""
    return done.stdout.splitlines()
