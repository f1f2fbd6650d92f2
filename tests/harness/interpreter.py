"""Python files run as ``python FILE`` runs them, but for the time that imports take.

One interpreter imports what nearly all of them import, and each file runs in a process that is
forked from it: with a directory, variables, streams and modules of its own.
"""

import contextlib
import gc
import importlib
import json
import os
import runpy
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any


class Interpreter:
    """Forks a process for each file, one after the other."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def run(self, path: Path) -> "subprocess.CompletedProcess[str]":
        """Run a file in the working directory, with the variables of this process."""
        with tempfile.TemporaryDirectory() as directory:
            streams = [str(Path(directory, name)) for name in ("stdout", "stderr")]
            order = {
                "path": str(path),
                "directory": os.getcwd(),
                "variables": dict(os.environ),
                "streams": streams,
            }
            assert self._process.stdin is not None
            assert self._process.stdout is not None
            print(json.dumps(order), file=self._process.stdin, flush=True)
            status = int(self._process.stdout.readline())
            texts = [Path(stream).read_text(encoding="utf-8") for stream in streams]
        return subprocess.CompletedProcess([str(path)], status, *texts)


@contextlib.contextmanager
def open_interpreter(modules: Sequence[str]) -> Iterator[Interpreter]:
    """Start an interpreter that has these modules."""
    with subprocess.Popen(
        [sys.executable, __file__, *modules],
        cwd="/",  # which no test removes
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        yield Interpreter(process)


def _serve(modules: Sequence[str]) -> None:
    """Fork for each line of stdin; return in the process that should run a file, and at the end."""
    for name in modules:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()  # what is collected in a forked process would be copied first
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            _run(json.loads(line))
            return
        _, status = os.waitpid(child, 0)
        sys.stdout.write(f"{os.waitstatus_to_exitcode(status)}\n")
        sys.stdout.flush()


def _run(order: dict[str, Any]) -> None:
    flags = os.O_WRONLY | os.O_CREAT
    opened = [os.open(os.devnull, os.O_RDONLY), *(os.open(s, flags) for s in order["streams"])]
    for number, descriptor in enumerate(opened):
        os.dup2(descriptor, number)
        os.close(descriptor)
    os.environ.clear()
    os.environ.update(order["variables"])
    os.chdir(order["directory"])
    sys.argv = [order["path"]]
    sys.path[0] = order["directory"]
    runpy.run_path(order["path"], run_name="__main__")


if __name__ == "__main__":
    _serve(sys.argv[1:])
