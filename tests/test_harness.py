"""A second pytest runs the offenders below: what they leave fails them, not their neighbours."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.harness import processes
from tests.harness.scratch import Project

# In the command of each process that is left: another worker may be running the offenders, too.
OWN = f"{os.getpid():07}125"
OFFENDERS = """
import asyncio, os, subprocess, sys, threading, time, warnings
from pathlib import Path
import pytest
from hypothesis import given, strategies as st

def test_clean(): pass

def test_child():
    subprocess.Popen(["sleep", "60.OWN"])

def test_orphan():
    subprocess.run(["sh", "-c", "setsid sleep 61.OWN >/dev/null 2>&1 &"])

def test_orphan_without_the_variable(tmp_path):
    subprocess.run(["sh", "-c", "setsid sleep 62.OWN >/dev/null 2>&1 &"], cwd=tmp_path, env={})

def test_zombie():
    os.posix_spawn("/bin/sh", ["sh", "-c", "exit 0"], {})

def test_ends_a_little_later():
    subprocess.run(["sh", "-c", "sleep 0.1 &"])

@pytest.mark.leaves("process")
def test_on_purpose():
    subprocess.run(["sh", "-c", "setsid sleep 63.OWN >/dev/null 2>&1 &"])

def test_descriptor():
    os.open("/dev/null", os.O_RDONLY)

def test_thread():
    threading.Thread(target=time.sleep, args=(60,), daemon=True, name="idler").start()

async def test_task():
    asyncio.get_running_loop().keep = asyncio.create_task(asyncio.sleep(60), name="dozer")

@given(st.booleans())
async def test_property_task(value):
    asyncio.get_running_loop().keep = asyncio.create_task(asyncio.sleep(60), name="dozer")

@pytest.mark.leaves("task")
async def test_task_on_purpose():
    asyncio.get_running_loop().keep = asyncio.create_task(asyncio.sleep(60))

def test_warning():
    warnings.warn("careless", UserWarning)

def test_write():
    Path(OUTSIDE, "by-the-test").write_text("x")

@pytest.mark.leaves("smell")
def test_unknown_kind(): pass

@pytest.mark.timeout(0.2)
def test_hangs():
    time.sleep(60)

def test_environment(tmp_path):
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "TMPDIR"):
        assert Path(os.environ[name]).is_relative_to(tmp_path.parent), name
    assert Path.cwd().is_relative_to(tmp_path.parent)
    assert not {"GITHUB_SHA", "SURFACE", "GEMINI_API_KEY", "BASH_ENV"} & os.environ.keys()
"""

CLEAN = ["clean", "ends_a_little_later", "on_purpose", "task_on_purpose", "environment"]
FOUND_IN_PROC = {
    "child": "sleep 60.",
    "orphan": "sleep 61.",
    "orphan_without_the_variable": "sleep 62.",
    "zombie": "nobody waited for it",
    "descriptor": "/dev/null",
}
FOUND_ANYWHERE = {
    "thread": "thread idler",
    "task": "task dozer",
    "property_task": "task dozer",
    "warning": "careless",
    "write": "by-the-test",
    "unknown_kind": "smell",
    "hangs": "Timeout",
}
REPOSITORY = Path(__file__).parents[1]


def run_pytest(root: Path, source: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a test file in ``root`` under this suite's own harness and settings."""
    (root / "conftest.py").write_text("from tests.conftest import *\n")
    (root / "test_it.py").write_text(source)
    command = [sys.executable, "-m", "pytest", "-c", str(REPOSITORY / "pyproject.toml"), "-vv"]
    command += [f"--rootdir={root}", "-p", "no:cacheprovider", "-o", "leak_settle_seconds=1"]
    environment = os.environ | {"PYTHONPATH": str(REPOSITORY)} | environment
    return subprocess.run(
        [*command, "test_it.py"], cwd=root, env=environment, capture_output=True, text=True
    )


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> str:
    outside = tmp_path_factory.mktemp("outside")
    source = f"OUTSIDE = {str(outside)!r}\n{OFFENDERS.replace('OWN', OWN)}"
    hostile = {"GITHUB_SHA": "1", "SURFACE": "Github", "GEMINI_API_KEY": "k", "BASH_ENV": "/x"}
    return run_pytest(tmp_path_factory.mktemp("offenders"), source, **hostile).stdout


@pytest.mark.parametrize("name", CLEAN)
def test_a_test_that_leaves_nothing_or_says_so_passes(outcomes: str, name: str) -> None:
    assert f"::test_{name} PASSED" in outcomes
    assert f"ERROR test_it.py::test_{name} " not in outcomes
    assert f"FAILED test_it.py::test_{name} " not in outcomes


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="needs Linux's /proc")
@pytest.mark.parametrize(("name", "evidence"), FOUND_IN_PROC.items())
def test_a_test_that_leaves_a_process_or_a_descriptor_fails_and_the_report_shows_it(
    outcomes: str, name: str, evidence: str
) -> None:
    assert_guilty(outcomes, name, evidence)


@pytest.mark.parametrize(("name", "evidence"), FOUND_ANYWHERE.items())
def test_a_careless_test_fails_and_the_report_shows_why(
    outcomes: str, name: str, evidence: str
) -> None:
    assert_guilty(outcomes, name, evidence)


def assert_guilty(outcomes: str, name: str, evidence: str) -> None:
    summary = outcomes.partition("short test summary info")[2]
    assert f"test_it.py::test_{name} - " in summary
    report = outcomes.partition(f" test_{name} ____")[2].partition("\n____")[0]
    assert evidence in report


def test_nothing_of_the_offenders_is_still_running(outcomes: str) -> None:
    assert outcomes
    commands = [processes.describe(pid) for pid in processes.running()]
    assert not [command for command in commands if f".{OWN}" in command and "sleep 6" in command]


@pytest.mark.skipif(shutil.which("git") is None, reason="compares with git")
@pytest.mark.parametrize(("ci", "status"), [("true", 1), ("", 0)])
def test_a_file_that_a_child_leaves_in_the_tree_fails_a_run_in_ci(
    project: Project, ci: str, status: int
) -> None:
    subprocess.run(["git", "init", "-q", project.path], check=True)
    source = f"""
import subprocess

def test_it():
    subprocess.run(["touch", {str(project.path / "stray")!r}], check=True)
"""
    done = run_pytest(project.path, source, CI=ci)
    assert "?? stray" in done.stdout
    assert done.returncode == status
