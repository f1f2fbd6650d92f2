"""A document is a program: its blocks run from top to bottom in one project, as a reader would.

| block | what happens |
|---|---|
| `python` | runs as a file of its own, as `python FILE` does (tests/harness/interpreter.py) |
| `output` | is what the python block before it printed |
| `console` | what follows `$ ` (and then `> `) runs in bash; the lines below are what it prints |
| `sh` | runs as a script and succeeds |
| `json`, `jsonc`, `toml` | parses |
| `yaml` | parses, where there is a parser for it |
| `text` | is only shown |

Words after the kind: `file=PATH` writes the block there instead of running it, `in=repository`
runs it in a copy of this tree, its files and examples, and `norun=REASON` leaves it out.
`env=adapters` is for a block that needs a framework: it runs in that environment (tests/adapters),
where only such blocks do, after the files of the document were written.  Of `make` lines only the
target is looked up.  A port of 127.0.0.1 stands for one that is free here, the same wherever it is
named.
"""

import ast
import contextlib
import importlib
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from hookline.settings import jsonc
from tests.harness import console
from tests.harness.interpreter import Interpreter

REPOSITORY = Path(__file__).parents[2]
DOCUMENTS = [
    REPOSITORY / "README.md",
    REPOSITORY / "CONTRIBUTING.md",
    *sorted((REPOSITORY / "docs").glob("**/*.md")),
    *sorted((REPOSITORY / "examples").glob("**/README.md")),
]
ADAPTERS = "adapters"
_FENCE = re.compile(r"(?P<indent> *)(?P<fence>`{3,}|~{3,})(?P<info>.*)")
_LOCAL_PORT = re.compile(r"(?<=127\.0\.0\.1:)\d+")
_WORDS = frozenset({"env", "file", "in", "norun"})
_NOT_COPIED = shutil.ignore_patterns("__pycache__", ".*_cache")


class DocumentError(AssertionError):
    def __init__(self, document: Path, line: int, problem: str) -> None:
        super().__init__(f"{document.name}:{line}: {problem}")


class Block(NamedTuple):
    kind: str
    words: Mapping[str, str]
    text: str
    line: int

    @property
    def environment(self) -> str:
        """Where it runs: "" but for what needs a framework."""
        return self.words.get("env", "")


def read_blocks(text: str) -> Iterator[Block]:
    lines = enumerate(text.splitlines(keepends=True), start=1)
    for number, line in lines:
        if fence := _FENCE.match(line):
            kind, *words = fence["info"].split() or [""]
            body = "".join(_until_closed(lines, fence["fence"], indent=fence["indent"]))
            yield Block(kind, dict(map(_key_and_value, words)), body, number)


def check_types(
    documents: Iterable[Path], directory: Path, *, environment: str = "", options: Iterable[str]
) -> int:
    """Check every Python snippet of an environment as a file of its own, those that do not run
    included; gives how many there are. Raises AssertionError with what mypy found."""
    for document in documents:
        name = "_".join(document.relative_to(REPOSITORY).with_suffix("").parts)
        for block in read_blocks(document.read_text(encoding="utf-8")):
            if block.kind != "python":
                continue
            if "file" in block.words:
                _write(directory / "files" / block.words["file"], block.text)
            if block.environment == environment:
                snippet = directory / f"{name.replace('-', '_')}_{block.line}.py"
                snippet.write_text("\n" * block.line + block.text, encoding="utf-8")
    snippets = sorted(map(str, directory.glob("*.py")))
    if snippets:
        checked = subprocess.run(
            [sys.executable, "-m", "mypy", "--strict", *options, *snippets],
            cwd=REPOSITORY,
            capture_output=True,
            text=True,
            # Snippets of a document may import the files that it has them write.
            env={**os.environ, "MYPYPATH": f"src{os.pathsep}{directory / 'files'}"},
        )
        assert checked.returncode == 0, checked.stdout + checked.stderr
    return len(snippets)


def with_free_ports(text: str) -> str:
    """The text for a machine on which others may read the same document at the same time."""
    named = sorted({*_LOCAL_PORT.findall(text)})
    with contextlib.ExitStack() as held:
        # All are held until all are chosen, so that no two are the same.
        sockets = [held.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in named]
        free = {port: str(one.getsockname()[1]) for port, one in zip(named, sockets, strict=True)}
    return _LOCAL_PORT.sub(lambda port: free[port[0]], text)


def _until_closed(lines: Iterator[tuple[int, str]], fence: str, *, indent: str) -> Iterator[str]:
    for _, line in lines:
        if line.strip().startswith(fence) and not line.strip(f"{fence[0]} \n"):
            return
        yield line.removeprefix(indent)


def _key_and_value(word: str) -> tuple[str, str]:
    key, _, value = word.partition("=")
    return key, value


def _check_yaml(text: str) -> None:
    with contextlib.suppress(ModuleNotFoundError):
        importlib.import_module("yaml").safe_load(text)


_CHECKS: Mapping[str, Callable[[str], object]] = {
    "python": ast.parse,
    "json": json.loads,
    "jsonc": jsonc.parse,
    "toml": tomllib.loads,
    "yaml": _check_yaml,
}


class Reader:
    """Runs one document; ``home`` is what it calls `~`, and its project is `~/project`."""

    def __init__(
        self, document: Path, interpreter: Interpreter, *, home: Path, environment: str = ""
    ) -> None:
        self._document = document
        self._interpreter = interpreter
        self._home = home
        self._environment = environment
        # What the last python block printed, None if it did not run here.
        self._printed: str | None = ""
        self._runs: Mapping[str, Callable[[Block], None]] = {
            "python": self._run_python,
            "console": self._run_console,
            "sh": self._run_script,
        }

    def run(self) -> int:
        """Run every block; gives how many there were."""
        text = with_free_ports(self._document.read_text(encoding="utf-8"))
        blocks = list(read_blocks(text))
        project = self._home / "project"
        project.mkdir(parents=True)
        with contextlib.chdir(project):
            for block in blocks:
                self._read(block)
        return len(blocks)

    def _read(self, block: Block) -> None:
        try:
            self._check(block)
            if "norun" in block.words:
                return
            if "file" in block.words:
                _write(Path(block.words["file"]), block.text)
            elif block.kind == "output":
                self._compare_output(block)
            elif block.kind in self._runs and block.environment == self._environment:
                self._runs[block.kind](block)
            elif block.kind == "python":
                self._printed = None
        except Exception as error:
            problem = f"{type(error).__name__}: {error}"
            raise DocumentError(self._document, block.line, problem) from error

    def _check(self, block: Block) -> None:
        if block.kind not in {*self._runs, *_CHECKS, "output", "text"}:
            raise ValueError(f"no kind of block is called {block.kind!r}")
        for word, value in block.words.items():
            if word not in _WORDS or not value:
                known = "env=adapters, file=PATH, in=repository, norun=REASON"
                raise ValueError(f"{word!r} is none of {known}")
        if block.environment not in ("", ADAPTERS):
            raise ValueError(f"there is no environment {block.environment!r}, only {ADAPTERS!r}")
        if check := _CHECKS.get(block.kind):
            check(block.text)

    def _run_python(self, block: Block) -> None:
        path = Path(f"snippet_{block.line}.py")
        # The empty lines make tracebacks point into the document.
        path.write_text("\n" * block.line + block.text, encoding="utf-8")
        done = self._interpreter.run(path)
        path.unlink()
        if done.returncode or done.stderr:
            raise AssertionError(f"it ended with {done.returncode}:\n{done.stderr}")
        self._printed = done.stdout

    def _compare_output(self, block: Block) -> None:
        if self._printed is not None:
            console.compare(block.text, self._printed, home=self._home, of="the python block above")

    def _run_console(self, block: Block) -> None:
        console.run_transcript(block.text, cwd=self._place(block), home=self._home)

    def _run_script(self, block: Block) -> None:
        console.run_script(block.text, cwd=self._place(block))

    def _place(self, block: Block) -> Path:
        if "in" not in block.words:
            return Path.cwd()
        copy = self._home / "hookline"
        if not copy.exists():
            shutil.copytree(REPOSITORY / "examples", copy / "examples", ignore=_NOT_COPIED)
            for file in filter(Path.is_file, REPOSITORY.iterdir()):
                shutil.copy(file, copy)
        return copy


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
