"""Before a tool changes files they are kept, and nothing of the user's in git is touched."""

from pathlib import Path

import pytest

from hookline.agent.providers.scripted import call
from tests.examples.toolbox import Workplace

CHECKPOINTS = "refs/hookline/checkpoints"


@pytest.fixture
def work(tmp_path: Path) -> Workplace:
    work = Workplace(tmp_path / "my project", "git-checkpoint")
    work.git("init", "--quiet", "--initial-branch=main")
    work.write("app.py", "committed\n")
    work.write(".gitignore", "*.log\n")
    work.git("add", ".")
    work.git("commit", "--quiet", "--message=first")
    return work


def state(work: Workplace) -> tuple[str, str, bytes]:
    """What is the user's: branches, what is staged, and the index to the byte."""
    index = (work.path / ".git" / "index").read_bytes()
    return work.git("show-ref", "--heads", "--head"), work.git("diff", "--cached"), index


async def test_what_a_write_replaces_can_be_had_back(work: Workplace) -> None:
    work.write("app.py", "staged\n")
    work.git("add", "app.py")
    work.write("app.py", "not even staged\n")
    work.write("new.py", "untracked\n")
    before = state(work)
    writes = [call("write_file", file_path=name, content="x") for name in ("app.py", "new.py")]
    await work.run("Go on.", writes, "Done.")
    assert (work.read("app.py"), work.read("new.py")) == ("x", "x")
    assert state(work) == before
    # The two ran at once, so the second checkpoint may hold what the first call wrote already.
    first = work.git("rev-list", "--reverse", CHECKPOINTS, "^HEAD").split()[0]
    work.git("restore", f"--source={first}", "--", "app.py", "new.py")
    assert (work.read("app.py"), work.read("new.py")) == ("not even staged\n", "untracked\n")


async def test_each_change_has_a_checkpoint_before_it(work: Workplace) -> None:
    await work.run(
        "Go on.",
        [call("write_file", file_path="app.py", content="one\n")],
        [call("replace", file_path="app.py", old_string="one", new_string="two")],
        [call("run_shell_command", command="echo three > app.py; echo x > a.log")],
        [call("run_shell_command", command="cat app.py")],
        "Done.",
    )
    kept = [work.git("show", f"{CHECKPOINTS}~{back}:app.py") for back in (3, 2, 1, 0)]
    assert kept == ["committed\n", "one\n", "two\n", "three\n"]
    assert "a.log" not in work.git("ls-tree", "--name-only", CHECKPOINTS)
    assert work.results[-1] == "three\n(exit 0)"


async def test_without_a_change_there_is_no_new_checkpoint(work: Workplace) -> None:
    await work.run(
        "Go on.", *[[call("run_shell_command", command="true")] for _ in range(2)], "Done."
    )
    assert work.git("rev-list", "--count", f"main..{CHECKPOINTS}") == "1\n"


async def test_calls_that_run_at_once_do_not_get_in_each_others_way(work: Workplace) -> None:
    names = [f"{number}.txt" for number in range(6)]
    calls = [call("write_file", file_path=name, content="x") for name in names]
    await work.run("Go on.", calls, "Done.")
    assert all(work.exists(name) for name in names)
    assert work.git("show", f"{CHECKPOINTS}:app.py") == "committed\n"


async def test_outside_a_repository_the_tool_runs_all_the_same(tmp_path: Path) -> None:
    work = Workplace(tmp_path / "plain", "git-checkpoint")
    await work.run("Go on.", [call("write_file", file_path="a.txt", content="x")], "Done.")
    assert work.results == ["Wrote a.txt."]
