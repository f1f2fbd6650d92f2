"""``hookline trust``: what no review vouches for is named, and asked for by itself."""

import pytest

from tests.cli.command import Done, hookline, on_terminal
from tests.cli.conftest import Call
from tests.guards.project import DENYING, PASSING, guard_project, hook, settings_of
from tests.harness.scratch import Project

WRITE = ("fire", "BeforeTool", "--tool", "write_file", "--tool-input", "{}")
PIPED = "hooks/guard.sh | cat"


@pytest.fixture
def here(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A project with a guard that is closed, and two hooks that are open."""
    monkeypatch.chdir(project.path)
    project.script("hooks/guard.sh", DENYING)
    piped = hook(PIPED, name="piped", onFailure="allow")
    outside = hook("cat /dev/null", name="outside", onFailure="allow")
    project.settings(settings_of(hook(), piped, outside))
    return project


def list_trusted(call: Call) -> dict[str, bool]:
    hooks = call("list", "--json").document["hooks"]
    return {hook["name"]: hook["trusted"] for hook in hooks}


OPEN = """\
BeforeTool piped
  open: what it starts in the project can change without a review
    it has a bare |, which a shell interprets
    closed would be: hooks/guard.sh

BeforeTool outside
  open: runs cat from outside the project
"""


@pytest.mark.usefixtures("here")
def test_with_yes_open_hooks_are_shown_and_left_out(call: Call) -> None:
    done = call("trust", "--yes")
    assert (done.status, OPEN in done.out) == (1, True)
    assert done.err.splitlines() == [
        f"warning: {name} does not run: it is open; look at it, and accept it by name with "
        f"--yes --accept-open {name}"
        for name in ("piped", "outside")
    ]
    assert list_trusted(call) == {"guard": True, "piped": False, "outside": False}
    assert call("trust", "--check").status == 1


@pytest.mark.usefixtures("here")
def test_those_that_are_accepted_by_name_run_and_no_others(call: Call) -> None:
    assert call("trust", "--yes", "--accept-open", "piped").status == 1
    assert list_trusted(call) == {"guard": True, "piped": True, "outside": False}
    assert call("trust", "--yes", "--accept-open", "outside").status == 0
    assert list_trusted(call) == {"guard": True, "piped": True, "outside": True}
    assert call("trust", "--check").status == 0
    listed = call("list").out
    assert listed.count("trusted, open") == 2
    hooks = {each["name"]: each for each in call("list", "--json").document["hooks"]}
    assert (hooks["guard"]["open"], hooks["guard"]["from_copy"]) == ("", True)
    assert (hooks["outside"]["open"], hooks["outside"]["from_copy"]) == (
        "runs cat from outside the project",
        False,
    )
    # Whoever looks again is reminded.
    assert OPEN in call("trust").out


def test_one_that_was_accepted_is_asked_for_again_when_it_changes(
    here: Project, call: Call
) -> None:
    both = ("--accept-open", "piped", "--accept-open", "outside")
    assert call("trust", "--yes", *both).status == 0
    here.script("hooks/guard.sh", PASSING)
    assert list_trusted(call) == {"guard": True, "piped": False, "outside": True}
    done = call("trust", "--yes")
    assert done.status == 1
    assert "--accept-open piped" in done.err
    assert "--accept-open outside" not in done.err


@pytest.mark.parametrize("more", [(), ("--json",)])
@pytest.mark.usefixtures("here")
def test_a_name_that_no_hook_has_changes_nothing(call: Call, more: tuple[str, ...]) -> None:
    for _ in range(2):
        done = call("trust", "--yes", "--accept-open", "pipped", *more)
        assert (done.status, done.out) == (1, "")
        assert done.err == "hookline: --accept-open: no hook is named 'pipped'\n"
    assert list_trusted(call) == {"guard": False, "piped": False, "outside": False}


@pytest.mark.usefixtures("here")
def test_the_document_says_what_is_open_and_what_was_left_out(call: Call) -> None:
    done = call("trust", "--yes", "--json")
    document = done.document
    assert (done.status, document["trusted"], len(document["to_review"])) == (1, False, 2)
    assert {each["name"]: each["open"] for each in document["hooks"]} == {
        "guard": "",
        "piped": "it has a bare |, which a shell interprets",
        "outside": "runs cat from outside the project",
    }
    assert document["hooks"][1]["remedy"] == "hooks/guard.sh"
    assert done.err == (
        "warning: open, so not trusted: piped, outside; look at it, and pass --accept-open NAME\n"
    )
    both = ("--accept-open", "piped", "--accept-open", "outside")
    done = call("trust", "--yes", "--json", *both)
    assert (done.status, done.err, done.document["trusted"]) == (0, "", True)


@pytest.mark.parametrize(
    ("typed", "trusted"),
    [
        (b"y\ny\nn\n", {"guard": True, "piped": True, "outside": False}),
        (b"y\ny\ny\n", {"guard": True, "piped": True, "outside": True}),
        (b"n\n", {"guard": False, "piped": False, "outside": False}),
    ],
)
def test_on_a_terminal_each_has_a_question_of_its_own(
    here: Project, call: Call, typed: bytes, trusted: dict[str, bool]
) -> None:
    done = on_terminal("trust", cwd=here.path, typed=typed, NO_COLOR="1")
    assert done.status == (0 if all(trusted.values()) else 1)
    question = "Let 'piped' run, though what it starts can change without a review? [y/N]\n"
    assert (question in done.out) is trusted["guard"]
    assert all(len(line) <= 80 for line in done.out.splitlines())
    assert list_trusted(call) == trusted


def test_the_question_about_a_guard_calls_it_one(project: Project) -> None:
    guard_project(project, hook(PIPED))
    done = on_terminal("trust", cwd=project.path, typed=b"y\ny\n", NO_COLOR="1")
    assert "Let the guard 'guard' run, though what it starts can change" in done.out
    project.script("hooks/guard.sh", PASSING)
    fired = hookline(*WRITE, cwd=project.path)
    assert fired.status == 2
    assert "hooks/guard.sh has changed since it was reviewed" in fired.err


@pytest.fixture
def replaced(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A project whose reviewed guard has given way to an open one."""
    monkeypatch.chdir(project.path)
    guard_project(project)
    assert hookline("trust", "--yes", cwd=project.path).status == 0
    project.settings(settings_of(hook("make guard"), hook("hooks/guard.sh -n", name="new")))
    return project


@pytest.mark.parametrize("verb", ["--yes", "--yes --json", "on a terminal"])
def test_an_open_guard_that_would_replace_a_reviewed_one_changes_nothing(
    replaced: Project, call: Call, verb: str
) -> None:
    done: Done
    if verb == "on a terminal":
        done = on_terminal("trust", cwd=replaced.path, typed=b"y\nn\n")
    else:
        done = call("trust", *verb.split())
    assert done.status == 1
    if "json" not in verb:
        said = " ".join((done.out + done.err).split())
        assert "nothing was changed: guard is open now, and was reviewed as a guard" in said
    fired = hookline(*WRITE, cwd=replaced.path)
    assert (fired.status, "no\n" in fired.err) == (2, True)
    assert len(call("trust", "--json").document["to_review"]) == 2


def test_accepted_by_name_it_takes_its_place(replaced: Project, call: Call) -> None:
    replaced.write("Makefile", "guard:\n\t@echo made >&2; exit 2\n")
    assert call("trust", "--yes", "--accept-open", "guard").status == 0
    assert call("trust", "--check").status == 0
    assert list_trusted(call) == {"guard": True, "new": True}
