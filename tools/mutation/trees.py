"""Copies of the tree, each with light environments of its own, in which the tests run.

The checkout is only read. What a test run starts is ended with it: the process group first, then
every process whose environment or working directory names the copy.
"""

import contextlib
import functools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

PACKAGE = "src/hookline"
PLAIN, ADAPTERS = ".venv", ".venv-adapters"
# Without the parameters of a test: they may hold anything, also what looks like the end of them.
_FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+?\.py(?:::[^\s\[]+)?)", re.M)
_PYTEST = ("-x", "-q", "--no-header", "--tb=no", "-p", "no:cacheprovider", "-n", "0")


@functools.cache
def contain() -> tuple[str, ...]:
    """Return the words in front of a command that let it see and signal no process but its own.

    A bug in the code that ends processes may stop or kill any other process of the machine. bash is
    there to reap orphans, as the system's first process does. Without the right to make such a
    namespace the words are none, and a warning says so.
    """
    for rights in ((), ("--user", "--map-root-user")):
        words = ("unshare", *rights, "--pid", "--fork", "--kill-child", "--mount-proc")
        with contextlib.suppress(OSError):
            if subprocess.run([*words, "bash", "-c", ":"], capture_output=True).returncode == 0:
                # A session of its own inside, too: the one it is started in has no number there.
                return (*words, "bash", "-c", 'setsid --wait "$@"; exit $?', "contained")
    print(
        "mutate: unshare cannot make a process namespace here, so a bug may signal other processes;"
        " run this in a container or as root",
        file=sys.stderr,
    )
    return ()


def environment_of(test: str) -> str:
    """The environment that a test, named by its file or its id, runs in."""
    return ADAPTERS if test.startswith("tests/adapters/") else PLAIN


@dataclass(frozen=True)
class Run:
    """How one run of pytest ended."""

    failed: str | None  # the first test that failed
    finished: bool  # False if it was ended because its time was up
    output: str

    @property
    def passed(self) -> bool:
        return self.finished and self.failed is None


class Closed(Exception):
    """The copy is about to be removed."""


class Tree:
    """One copy of the checkout; one test run at a time."""

    def __init__(self, checkout: Path, place: Path) -> None:
        self.root = place / "r"
        self._temporary = place / "t"
        self._temporary.mkdir(parents=True)
        self._checkout = checkout
        self._running: subprocess.Popen[bytes] | None = None
        self._written = 0
        self._closed = False
        for name in _files(checkout):
            target = self.root / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(checkout / name, target, follow_symlinks=False)
        self.environments = [e for e in (PLAIN, ADAPTERS) if (checkout / e / "bin/python").exists()]
        for environment in self.environments:
            self._make_environment(environment)
        compiling = ("-m", "compileall", "-q", "src", "tests")
        subprocess.run(["nice", self.python(PLAIN), *compiling], cwd=self.root, check=False)

    def python(self, environment: str) -> str:
        return str(self.root / environment / "bin" / "python")

    def site(self, environment: str) -> Path:
        return next((self.root / environment / "lib").glob("python3*/site-packages"))

    def write(self, module: str, source: bytes) -> None:
        """Give a module another text, with a time that no compiled file has seen yet."""
        path = self.root / PACKAGE / module
        path.write_bytes(source)
        self._written += 1
        moment = 1_000_000_000 + self._written
        os.utime(path, (moment, moment))

    def run(self, environment: str, arguments: Sequence[str], *, seconds: float) -> Run:
        """Run pytest with the arguments, for so many seconds at most."""
        pytest = ["nice", self.python(environment), "-m", "pytest", *_PYTEST, *arguments]
        command = [*contain(), *pytest]
        variables = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
        if self._closed:
            raise Closed
        # A file, not a pipe, which a process that a test left behind would keep open.
        with open(self.root.parent / "output", "w+", errors="replace") as output:
            process = self._running = subprocess.Popen(
                command,
                cwd=self.root,
                env=variables | {"TMPDIR": str(self._temporary)},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            finished = True
            try:
                process.wait(seconds)
            except subprocess.TimeoutExpired:
                finished = False
            finally:
                self.end_processes()
                process.wait()
            output.seek(0)
            text = output.read()
        if self._closed:
            raise Closed
        if not finished:
            return Run(None, False, text)
        # Without a test to name it is still a failure: the module cannot be imported any more.
        failed = _FAILED.search(text)
        name = failed[1] if failed else f"exit {process.returncode}"
        return Run(name if process.returncode else None, True, text)

    def end_processes(self) -> None:
        """End what the run started, whatever session it moved to."""
        if self._running is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._running.pid, signal.SIGKILL)
        for pid in _processes_naming(str(self.root.parent)):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def close(self) -> None:
        self._closed = True
        self.end_processes()

    def _make_environment(self, name: str) -> None:
        """A venv that imports the copy's source, and everything else from the real environment."""
        real, light = self._checkout / name, self.root / name
        asked = "import json, sys; print(json.dumps(sys.path))"
        python = str(real / "bin" / "python")
        answer = subprocess.run([python, "-c", asked], check=True, capture_output=True, text=True)
        subprocess.run([python, "-m", "venv", "--without-pip", str(light)], check=True)
        packages = [path for path in json.loads(answer.stdout) if path.endswith("site-packages")]
        lines = [str(self.root / "src"), *packages]
        (self.site(name) / "_tree.pth").write_text("".join(f"{line}\n" for line in lines))
        for script in (real / "bin").iterdir():
            copy = light / "bin" / script.name
            if copy.exists() or not script.is_file() or script.name.startswith("python"):
                continue
            content = script.read_bytes()
            first, newline, rest = content.partition(b"\n")
            if first.startswith(b"#!"):
                first = first.replace(os.fsencode(real), os.fsencode(light))
            copy.write_bytes(first + newline + rest)
            copy.chmod(script.stat().st_mode)


@contextlib.contextmanager
def copies(checkout: Path, number: int) -> Iterator[list[Tree]]:
    """So many copies of the checkout, which are gone at the end with all of their processes."""
    # Short, since the paths of sockets below it must be.
    scratch = Path(tempfile.mkdtemp(prefix="hm-"))
    trees: list[Tree] = []
    try:
        for index in range(number):
            trees.append(Tree(checkout, scratch / str(index)))  # noqa: PERF401 - closed if one fails
        yield trees
    finally:
        for tree in trees:
            tree.close()
        _remove(scratch)


def _remove(scratch: Path) -> None:
    """Delete what tests may have made unreadable, and what a dying process still adds to."""
    for _ in range(5):
        for folder, _folders, _names in os.walk(scratch):
            with contextlib.suppress(OSError):
                os.chmod(folder, 0o700)
        shutil.rmtree(scratch, ignore_errors=True)
        if not scratch.exists():
            return
        time.sleep(0.2)
    print(f"mutate: could not remove {scratch}; delete it by hand", file=sys.stderr)


def _files(checkout: Path) -> Iterable[str]:
    """The files that git knows or would add, as they are now."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    done = subprocess.run(command, cwd=checkout, check=True, capture_output=True, text=True)
    names = filter(None, done.stdout.split("\0"))
    return [n for n in names if (checkout / n).is_symlink() or (checkout / n).is_file()]


def _processes_naming(place: str) -> Iterator[int]:
    """The processes whose working directory or environment is in the place."""
    inside = os.fsencode(place) + b"/"
    for folder in Path("/proc").iterdir():
        if not folder.name.isdecimal() or int(folder.name) == os.getpid():
            continue
        with contextlib.suppress(OSError):
            where = os.fsencode(os.readlink(folder / "cwd")) + b"/"
            if where.startswith(inside) or inside in (folder / "environ").read_bytes():
                yield int(folder.name)
