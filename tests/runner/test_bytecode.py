"""What Python compiles of a hook's modules is neither left in the project nor taken from it."""

import os
import py_compile
import sys
import time
from pathlib import Path

import pytest

from hookline.runner.command import CommandRunner
from hookline.runner.context import InputDocument, RunContext
from hookline.runner.invocation import make_environment
from hookline.wire.events import HookEventName
from hookline.wire.hooks import Redaction
from tests.harness.scratch import Project
from tests.runner.planned import TOOL, run_one, script

GUARD = "import helper, sys\nsys.exit(helper.SAID)\n"


@pytest.fixture
def guard(project: Project) -> Project:
    project.write("hooks/guard.py", GUARD)
    project.write("hooks/helper.py", "SAID = 'reviewed'\n")
    return project


def plant(project: Project) -> None:
    """Put bytecode beside a module that Python would take for its own."""
    helper = project.path / "hooks/helper.py"
    text, times = helper.read_text(), os.stat(helper)
    helper.write_text("SAID = 'planted '\n"[: len(text) - 1] + "\n")
    mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "pycache_prefix", None)
        planted = py_compile.compile(str(helper), invalidation_mode=mode)
    assert planted is not None
    helper.write_text(text)
    os.utime(helper, ns=(times.st_atime_ns, times.st_mtime_ns))


@pytest.mark.parametrize("command", ["PYTHON hooks/guard.py", "PYTHON hooks/guard.py | cat"])
async def test_bytecode_that_was_planted_in_the_project_is_not_run(
    guard: Project, command: str
) -> None:
    plant(guard)
    here = str(guard.path)
    hook = script(command.replace("PYTHON", sys.executable))
    result = await run_one(hook, cwd=here, project_dir=here)
    assert result.stderr.strip() == "reviewed"


async def test_a_warm_interpreter_does_not_run_planted_bytecode_either(guard: Project) -> None:
    plant(guard)
    here = str(guard.path)
    context = RunContext(
        cwd=here, project_dir=here, session_id="s", why_untrusted=lambda _hook: None
    )
    document = InputDocument(HookEventName.BEFORE_TOOL, TOOL)
    runner = CommandRunner(warn=lambda _said: None)
    hook = script(f"{sys.executable} hooks/guard.py", warm=True)
    try:
        deadline, is_warm = time.monotonic() + 30, 0
        while is_warm < 2:
            result = await runner.run(hook, document, context)
            assert (result.stderr.strip(), result.warnings) == ("reviewed", ())
            pool = runner._pool
            assert pool is not None
            is_warm += any(template.is_ready for template in pool._templates.values())
            assert time.monotonic() < deadline
    finally:
        runner.dispose()
    assert not (guard.path / "hooks/__pycache__").joinpath("guard.pyc").exists()


async def test_a_run_leaves_nothing_in_the_project(
    guard: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    here = str(guard.path)
    before = sorted(guard.path.rglob("*"))
    for _ in range(2):
        await run_one(script(f"{sys.executable} hooks/guard.py"), cwd=here, project_dir=here)
    assert sorted(guard.path.rglob("*")) == before
    kept = Path(os.environ["XDG_STATE_HOME"]) / "hookline/pycache"
    assert list(kept.rglob("helper.*.pyc"))


def prefix_of(project: str, own: dict[str, str] | None = None) -> str:
    env = make_environment(Redaction(), {"HOOKLINE_PROJECT_DIR": project}, own or {})
    return env["PYTHONPYCACHEPREFIX"]


def test_a_place_of_the_users_choice_stays_unless_it_is_in_the_project(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, ours = str(project.path), f"{os.environ['XDG_STATE_HOME']}/hookline/pycache"
    assert prefix_of(here) == ours
    (tmp_path / "link").symlink_to(project.path)
    inside = (f"{here}/cache", here, "cache", "", f"{tmp_path}/link/cache", f"{here}/../project/c")
    for place in inside:
        assert prefix_of(here, {"PYTHONPYCACHEPREFIX": place}) == ours
        monkeypatch.setenv("PYTHONPYCACHEPREFIX", place)
        assert prefix_of(here) == ours
    monkeypatch.setenv("PYTHONPYCACHEPREFIX", f"{here}-cache")
    assert prefix_of(here) == f"{here}-cache"
    assert prefix_of(here, {"PYTHONPYCACHEPREFIX": "/other"}) == "/other"


async def test_where_there_is_no_place_for_it_nothing_is_kept(
    guard: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = str(guard.path)
    plant(guard)
    before = sorted(guard.path.rglob("*"))
    for name, value in (("XDG_STATE_HOME", f"{here}/state"), ("HOME", "relative")):
        monkeypatch.setenv(name, value)
        hook = script(f"{sys.executable} hooks/guard.py")
        result = await run_one(hook, cwd=here, project_dir=here)
        assert result.stderr.strip() == "reviewed"
        assert sorted(guard.path.rglob("*")) == before


def test_in_a_home_that_is_the_project_it_is_kept_as_everywhere() -> None:
    ours = f"{os.environ['XDG_STATE_HOME']}/hookline/pycache"
    assert prefix_of(os.environ["HOME"]) == ours
    assert prefix_of("/") == ours


def test_without_a_place_python_is_told_to_write_none(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", f"{project.path}/state")
    env = make_environment(Redaction(), {"HOOKLINE_PROJECT_DIR": str(project.path)}, {})
    assert env["PYTHONPYCACHEPREFIX"] == "/dev/null/pycache"
    assert env["PYTHONDONTWRITEBYTECODE"] == "1"


def test_a_place_that_can_be_no_path_is_left_for_its_author_to_correct() -> None:
    assert prefix_of("/project", {"PYTHONPYCACHEPREFIX": "/a\0b"}) == "/a\0b"
