"""Which tests enter which function: recorded once, and guessed from names and imports otherwise.

To record, every function of a copy is compiled with a call that notes its number; the source is
as it was. That costs next to nothing, so tests with tight timing, and those that count what a
process leaves behind, run as ever.
"""

import ast
import hashlib
import importlib.util
import json
import re
import subprocess
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from tools.mutation import recorder
from tools.mutation.bugs import Bug
from tools.mutation.trees import ADAPTERS, PACKAGE, Tree, environment_of

CACHE = ".venv/mutate-reach.json"
# They look at the repository or at a browser, or run for minutes.
NOT_ASKED = ("tests/browser/", "tests/soak/", "tests/test_mutate.py", "tests/test_harness.py")
# Run by path in a process that has no site packages, where nothing could be noted.
_NOT_NOTED = ("runner/warm/startup/", "runner/session.py")
# Where the tests of a module are, if not where its path says.
_ELSEWHERE = {
    "agent/providers/": ("tests/adapters/providers/", "tests/agent/"),
    "adapters/steps.py": ("tests/adapters/test_",),
    "settings/edit.py": ("tests/settings/edit/",),
    "calls/clients.py": ("tests/adapters/calls/", "tests/calls/test_model.py"),
    "calls/streams.py": ("tests/adapters/calls/", "tests/calls/test_model.py"),
    "dialects/claude/": ("tests/dialects/claude/", "tests/claude/"),
    "runner/http": ("tests/adapters/http_hooks/", "tests/runner/test_http"),
    "runner/addresses": ("tests/runner/", "tests/adapters/http_hooks/"),
    "service/mcp/connection.py": ("tests/adapters/mcp_http/",),
    "service/mcp/http.py": ("tests/adapters/mcp_http/", "tests/service/mcp/test_http"),
    "_support/waits.py": ("tests/adapters/test_concurrency",),
    "testing/conformance.py": ("tests/conformance/test_runner", "tests/conformance/test_cases"),
    "testing/plugin.py": ("tests/hooktests/test_plugin.py",),
    "translate/": ("tests/translate/", "tests/adapters/translators/"),
    "contract.py": ("tests/contract/",),
    "_support/transport.py": ("tests/adapters/mcp_http/", "tests/adapters/http_hooks/"),
}
# A folder or module -> the verb that shows its work, where they are not called the same.
_VERBS = {"hooktests": "test", "settings": "enable", "service": "serve", "bus": "serve"}
_BATCH = 12


@dataclass
class Record:
    """What each test entered, by test file; a file that has changed since counts as unrecorded."""

    functions: list[str] = field(default_factory=list)
    files: dict[str, dict[str, Any]] = field(default_factory=dict)

    @classmethod
    def read(cls, checkout: Path) -> "Record":
        """The checkout's own, or that of another worktree of the same repository."""
        command = ["git", "worktree", "list", "--porcelain"]
        done = subprocess.run(command, cwd=checkout, capture_output=True, text=True)
        trees = [Path(p) for p in re.findall(r"^worktree (.+)$", done.stdout, re.M)]
        others = [tree / CACHE for tree in trees if (tree / CACHE).exists()]
        own = [checkout / CACHE] if (checkout / CACHE).exists() else []
        for path in own or sorted(others, key=lambda path: -path.stat().st_size):
            return cls(**json.loads(path.read_text()))
        return cls()

    def write(self, checkout: Path) -> None:
        new = checkout / f"{CACHE}.new"
        new.write_text(json.dumps({"functions": self.functions, "files": self.files}))
        new.rename(checkout / CACHE)

    def covers(self, test: str, digest: str) -> bool:
        return self.files.get(test, {}).get("digest") == digest

    def is_complete(self, test: str, digest: str) -> bool:
        """True if every test of the file ran to its end while it was recorded."""
        tests = self.files.get(test, {}).get("tests", {})
        return (
            self.covers(test, digest) and bool(tests) and all(t["passed"] for t in tests.values())
        )

    def numbers_of(self, module: str, function: str) -> set[int]:
        """The function's number; those of all functions of its module for the module's own lines,
        and for a function that was written or renamed since."""
        if (name := f"{module}::{function}") in self._numbers:
            return {self._numbers[name]}
        return {n for name, n in self._numbers.items() if name.startswith(f"{module}::")}

    def number(self, function: str) -> int:
        if function not in self._numbers:
            self._numbers[function] = len(self.functions)
            self.functions.append(function)
        return self._numbers[function]

    def __post_init__(self) -> None:
        self._numbers = {name: number for number, name in enumerate(self.functions)}


def test_files(checkout: Path) -> dict[str, str]:
    """Each test file with the digest of its text."""
    files = sorted(
        path.relative_to(checkout).as_posix() for path in checkout.glob("tests/**/test_*.py")
    )
    asked = [name for name in files if not name.startswith(NOT_ASKED)]
    return {n: hashlib.sha256((checkout / n).read_bytes()).hexdigest()[:16] for n in asked}


# Choosing.


@dataclass(frozen=True)
class Choice:
    """The tests to run for a bug: the module's own, then others; and how long both should take."""

    own: list[str]
    wider: list[str]
    seconds: float | None  # None if not measured


def choose(bug: Bug, tree: Path, record: Record, *, budget: float) -> Choice:
    """The tests that enter the bug's function, as many as fit: the quickest of the module's own,
    then the most specific of the others."""
    files = test_files(tree)
    mirrors = set(mirror(bug.module, list(files)))
    numbers = record.numbers_of(bug.module, bug.function)
    entering: list[tuple[int, float, str]] = []
    for file, entry in record.files.items():
        if record.covers(file, files.get(file, "")):
            entering += [
                (len(test["hits"]), test["seconds"], name)
                for name, test in entry["tests"].items()
                if test["passed"] and not numbers.isdisjoint(test["hits"])
            ]
    entering.sort()
    unrecorded = {f for f in files if not record.is_complete(f, files[f])}
    if not entering:
        unrecorded = set(files)
    importing = {f for f in unrecorded if _imports(tree / f, bug.module)}
    importing |= unrecorded & set(of_verbs(bug.module, list(files)))
    by_time = sorted(entering, key=lambda test: test[1])
    own = _fitting([t for t in by_time if _file(t[2]) in mirrors], budget)
    wider = _fitting([t for t in entering if _file(t[2]) not in mirrors], budget)
    seconds = sum(test[1] for test in (*own, *wider))
    guessed = sorted(mirrors & unrecorded), sorted(importing - mirrors)
    return Choice(
        [test[2] for test in own] + guessed[0],
        [test[2] for test in wider] + guessed[1],
        None if any(guessed) else seconds,
    )


def _fitting(tests: list[tuple[int, float, str]], budget: float) -> list[tuple[int, float, str]]:
    chosen: list[tuple[int, float, str]] = []
    left = budget
    for test in tests:
        if test[1] <= left or not chosen:
            chosen.append(test)
            left -= test[1]
    return chosen


def of_verbs(module: str, files: Sequence[str]) -> list[str]:
    """The tests of the verbs of the command line that a module, or one of its folders, is for."""
    parts = module.removesuffix(".py").split("/")
    starts = tuple(f"tests/cli/test_{_VERBS.get(part, part)}" for part in parts)
    return [file for file in files if file.startswith(starts)]


def mirror(module: str, files: Sequence[str]) -> list[str]:
    """The test files of a module by its path: the file's own, or else its folder's."""
    prefixes = [
        p for start, places in _ELSEWHERE.items() if module.startswith(start) for p in places
    ]
    if not prefixes:
        folder, _, name = module.removesuffix(".py").rpartition("/")
        while not prefixes:
            beside = f"tests/{folder}/".replace("//", "/")
            if any(f.startswith(f"{beside}test_{name.strip('_')}") for f in files) and name:
                prefixes.append(f"{beside}test_{name.strip('_')}")
            elif folder and any(f.startswith(beside) for f in files):
                prefixes.append(beside)
            elif folder:
                folder, _, name = folder.rpartition("/")
            else:
                return []
    return [f for f in files if f.startswith(tuple(prefixes))]


def _imports(file: Path, module: str) -> bool:
    dotted = f"hookline.{module.removesuffix('.py').removesuffix('/__init__').replace('/', '.')}"
    package, _, name = dotted.rpartition(".")
    text = file.read_text(encoding="utf-8")
    direct = (
        rf"(from|import) {re.escape(dotted)}\b|from {re.escape(package)} import [^\n]*\b{name}\b"
    )
    return re.search(direct, text) is not None


def _file(test: str) -> str:
    return test.partition("::")[0]


# Recording.


def record_all(
    checkout: Path, trees: Sequence[Tree], record: Record, modules: Sequence[str] | None
) -> None:
    """Run the test files (of these modules, if they are given) that are new or have changed, and
    note what each test enters."""
    files = test_files(checkout)
    for gone in set(record.files) - set(files):
        del record.files[gone]
    asked = set(files)
    if modules is not None:
        asked = {file for module in modules for file in mirror(module, list(files))}
    changed = [f for f in files if f in asked and not record.covers(f, files[f])]
    for tree in trees:
        _instrument(tree, record)
    free: SimpleQueue[Tree] = SimpleQueue()
    for tree in trees:
        free.put(tree)

    def run(batch: list[str]) -> None:
        tree = free.get()
        try:
            tests = _run_batch(tree, batch)
        finally:
            free.put(tree)
        for file in batch if tests else ():
            own = {name: test for name, test in tests.items() if _file(name) == file}
            record.files[file] = {"digest": files[file], "tests": own}
        record.write(checkout)
        failed = [name for name, test in tests.items() if not test["passed"]]
        print(
            f"recorded {len(tests)} tests of {', '.join(batch)}",
            *failed,
            sep="\n  failed: ",
            flush=True,
        )

    pool = ThreadPoolExecutor(len(trees))
    try:
        list(pool.map(run, _batches(changed)))
    except BaseException:
        for tree in trees:
            tree.close()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _batches(files: Sequence[str]) -> Iterator[list[str]]:
    for adapters in (False, True):
        group = [f for f in files if (environment_of(f) == ADAPTERS) is adapters]
        yield from (group[i : i + _BATCH] for i in range(0, len(group), _BATCH))


def _run_batch(tree: Tree, batch: list[str]) -> dict[str, dict[str, Any]]:
    environment = environment_of(batch[0])
    if environment not in tree.environments:
        return {}
    notes = tree.root / environment / "reach"
    for left in notes.iterdir():
        left.unlink()
    tree.run(
        environment,
        ["-p", "_reach_plugin", "--maxfail=1000000", "--timeout=120", *batch],
        seconds=1200,
    )
    try:
        tests: dict[str, dict[str, Any]] = json.loads((notes / "tests.json").read_text())
    except OSError:
        return {}
    return tests


def _instrument(tree: Tree, record: Record) -> None:
    """Give the copy compiled files that note each function, and a recorder in each environment."""
    for environment in tree.environments:
        (tree.root / environment / "reach").mkdir()
        site = tree.site(environment)
        (site / "_reach.py").write_bytes(Path(recorder.__file__).read_bytes())
        # A plugin of its own, as pytest complains of plugins that are imported before it.
        (site / "_reach_plugin.py").write_text("from _reach import *\n")
        (site / "_reach.pth").write_text("import _reach; _reach.start()\n")
    package = tree.root / PACKAGE
    for path in package.rglob("*.py"):
        module = path.relative_to(package).as_posix()
        if not module.startswith(_NOT_NOTED):
            _compile(path, _Noting(module, record))


def _compile(path: Path, noting: "_Noting") -> None:
    tree = ast.fix_missing_locations(noting.visit(ast.parse(path.read_bytes())))
    code = compile(tree, str(path), "exec", dont_inherit=True)
    status = path.stat()
    compiled = importlib._bootstrap_external._code_to_timestamp_pyc(  # type: ignore[attr-defined]
        code, int(status.st_mtime), status.st_size & 0xFFFFFFFF
    )
    cached = Path(importlib.util.cache_from_source(str(path)))
    cached.parent.mkdir(exist_ok=True)
    cached.write_bytes(compiled)


class _Noting(ast.NodeTransformer):
    """Puts a call of ``__reach__`` with the function's number first in each function."""

    def __init__(self, module: str, record: Record) -> None:
        self._scope: list[str] = []
        self._module = module
        self._record = record

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        self._scope.append(node.name)
        self.generic_visit(node)
        self._scope.pop()
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.AST:
        self._scope.append(node.name)
        self.generic_visit(node)
        number = self._record.number(f"{self._module}::{'.'.join(self._scope)}")
        self._scope.pop()
        call = ast.Call(ast.Name("__reach__", ast.Load()), [ast.Constant(number)], [])
        after_docstring = 1 if ast.get_docstring(node) is not None else 0
        note = ast.copy_location(
            ast.Expr(call), node.body[min(after_docstring, len(node.body) - 1)]
        )
        node.body.insert(after_docstring, note)
        return node

    visit_AsyncFunctionDef = visit_FunctionDef  # noqa: N815
