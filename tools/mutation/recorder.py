"""Notes which functions are entered; copied into an environment, and imported as Python starts.

The functions themselves tell: their compiled files begin with a call of ``__reach__`` (see
``reach.py``). A process keeps a set of numbers, and writes it as it ends, so that nothing is open
in between. As a plugin of pytest it keeps a set for each test, with those of its child processes.
"""

import atexit
import builtins
import json
import os
import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    import pytest

FOLDER = os.path.join(sys.prefix, "reach")
_hits: set[int] = set()
_exit = os._exit
_tests: dict[str, dict[str, Any]] = {}


def _write() -> None:
    if not _hits:
        return
    try:
        name = os.path.join(FOLDER, f"{os.getpid()}-{time.monotonic_ns()}")
        descriptor = os.open(f"{name}.new", os.O_WRONLY | os.O_CREAT, 0o600)
        os.write(descriptor, " ".join(map(str, _hits)).encode())
        os.close(descriptor)
        os.rename(f"{name}.new", f"{name}.hits")
    except OSError:
        pass  # what is not recorded is looked for in other ways


def _write_and_exit(status: int) -> NoReturn:
    _write()
    _exit(status)


def start() -> None:
    """Count from now on, in this process and in those that it forks."""
    builtins.__reach__ = _hits.add  # type: ignore[attr-defined]
    os._exit = _write_and_exit
    atexit.register(_write)


def pytest_runtest_protocol(item: "pytest.Item") -> None:
    _hits.clear()
    _read_children()
    _tests.setdefault(_name(item.nodeid), {"seconds": 0.0, "hits": [], "passed": True})


def pytest_runtest_logreport(report: "pytest.TestReport") -> None:
    test = _tests[_name(report.nodeid)]
    test["seconds"] += report.duration
    test["passed"] &= report.outcome != "failed"
    if report.when == "teardown":
        test["hits"] = sorted({*test["hits"], *_hits, *_read_children()})


def pytest_sessionfinish() -> None:
    _hits.clear()
    with open(os.path.join(FOLDER, "tests.json"), "w") as file:
        json.dump(_tests, file)


def _name(nodeid: str) -> str:
    """The test without its parameters, which may be called otherwise tomorrow."""
    return nodeid.partition("[")[0]


def _read_children() -> Iterator[int]:
    numbers: list[int] = []
    for name in os.listdir(FOLDER):
        if name.endswith(".hits"):
            path = os.path.join(FOLDER, name)
            with open(path) as file:
                numbers += map(int, file.read().split())
            os.remove(path)
    return iter(numbers)
