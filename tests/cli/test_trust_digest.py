"""``hookline trust --digest``: for machines where --yes by itself would trust anything."""

import shutil
from pathlib import Path

import pytest

from tests.cli.command import hookline
from tests.guards.project import PASSING, guard_project, hook, settings_of
from tests.harness.scratch import Project

WRITE = ("fire", "BeforeTool", "--tool", "write_file", "--tool-input", "{}")


@pytest.fixture
def guarded(project: Project) -> Project:
    guard_project(project)
    return project


def read_digest(project: Path) -> str:
    done = hookline("trust", "--digest", cwd=project)
    assert done.status == 0
    return done.out.strip()


def test_it_is_printed_and_nothing_is_trusted(guarded: Project) -> None:
    digest = read_digest(guarded.path)
    assert digest.startswith("sha256:")
    assert hookline("trust", "--check", cwd=guarded.path).status == 1
    document = hookline("trust", "--digest", "--json", cwd=guarded.path).document
    assert document == {"project": str(guarded.path), "digest": digest}
    assert hookline("trust", "--json", cwd=guarded.path).document["digest"] == digest


def test_it_is_the_same_wherever_the_project_is(guarded: Project, tmp_path: Path) -> None:
    shutil.copytree(guarded.path, tmp_path / "elsewhere")
    assert read_digest(tmp_path / "elsewhere") == read_digest(guarded.path)


@pytest.mark.parametrize("change", ["script", "entry", "mode", "new file", "strict"])
def test_it_is_another_after_a_change_of(guarded: Project, change: str) -> None:
    before = read_digest(guarded.path)
    if change == "script":
        guarded.script("hooks/guard.sh", PASSING)
    elif change == "entry":
        guarded.settings(settings_of(hook(timeout=7)))
    elif change == "mode":
        (guarded.path / "hooks/guard.sh").chmod(0o644)
    elif change == "new file":
        guarded.write("hooks/lib.sh", "")
    else:
        guarded.settings({**settings_of(hook()), "strict": True})
    assert read_digest(guarded.path) != before


def test_with_yes_that_policy_is_trusted_and_no_other(guarded: Project) -> None:
    digest = read_digest(guarded.path)
    guarded.script("hooks/guard.sh", PASSING)
    done = hookline("trust", "--yes", "--digest", digest, cwd=guarded.path)
    assert done.status == 1
    assert f"other hooks: their digest is {read_digest(guarded.path)}" in done.out
    assert hookline("trust", "--check", cwd=guarded.path).status == 1
    guard_project(guarded)
    # With or without the name of the algorithm.
    bare = digest.removeprefix("sha256:").upper()
    assert hookline("trust", "--yes", "--digest", bare, cwd=guarded.path).status == 0
    assert hookline(*WRITE, cwd=guarded.path).status == 2
    assert hookline("trust", "--check", cwd=guarded.path).status == 0


def test_with_check_it_is_compared_without_any_store(guarded: Project) -> None:
    digest = read_digest(guarded.path)
    nowhere = {"XDG_STATE_HOME": "/dev/null"}
    check = ("trust", "--check", "--digest", digest)
    done = hookline(*check, cwd=guarded.path, **nowhere)
    assert (done.status, done.out) == (0, "the hooks have this digest\n")
    assert hookline(*check, "--json", cwd=guarded.path, **nowhere).document["same"] is True
    guarded.script("hooks/guard.sh", PASSING)
    assert hookline(*check, cwd=guarded.path, **nowhere).status == 1
    document = hookline(*check, "--json", cwd=guarded.path, **nowhere)
    assert (document.status, document.document["same"]) == (1, False)
    # It trusts nothing, whatever else is given.
    guard_project(guarded)
    assert hookline(*check, "--yes", cwd=guarded.path).status == 0
    assert hookline("trust", "--check", cwd=guarded.path).status == 1
    assert not (Path.home() / ".local/state/hookline/reviews").exists()


@pytest.mark.parametrize("verb", ["--yes", "--check"])
@pytest.mark.parametrize("given", [("--digest",), ("--digest", "")])
def test_without_a_digest_there_is_nothing_to_compare(
    guarded: Project, verb: str, given: tuple[str, ...]
) -> None:
    done = hookline("trust", verb, *given, cwd=guarded.path)
    assert (done.status, done.out) == (1, "")
    assert "--digest needs the digest behind it" in done.err
    assert hookline("trust", "--check", cwd=guarded.path).status == 1
