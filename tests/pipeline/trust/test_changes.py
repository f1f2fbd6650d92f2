"""What has changed since a review, phrase by phrase, and what of a new one is recorded."""

from typing import Any

import pytest

from hookline.pipeline.trust.coverage import FileState, Uncovered
from hookline.pipeline.trust.review import Review, ReviewedHook, accept
from hookline.pipeline.trust.store import TrustStore, is_inside
from tests.harness.scratch import Project


def reviewed(name: str = "guard", *, files: tuple[str, ...] = (), **fields: Any) -> ReviewedHook:
    entry = {"event": "BeforeTool", "name": name, "command": "x", **fields.pop("entry", {})}
    return ReviewedHook(entry=entry, files=files, **fields)


def of(*hooks: ReviewedHook, **fields: Any) -> Review:
    return Review(**{"project": "/none", "hooks": hooks, "files": {}, **fields})


def state(content: str = "a", **fields: Any) -> FileState:
    return FileState(**{"kind": "file", "leads_to": "x.sh", "content": content, **fields})


BLOCK = {"onFailure": "block"}
USERS = {"source": "user"}


def test_guards_are_the_projects_enabled_hooks_that_fail_closed() -> None:
    hooks = [
        reviewed("closed", entry=BLOCK),
        reviewed("open"),
        reviewed("off", entry=BLOCK, enabled=False),
        reviewed("users", entry=BLOCK | USERS),
    ]
    assert [hook.name for hook in of(*hooks).get_guards()] == ["closed"]
    assert [hook.name for hook in of(*hooks, strict=True).get_guards()] == ["closed", "open"]


@pytest.mark.parametrize(
    ("then", "now", "why"),
    [
        (state(), state(), None),
        (None, None, None),
        (state(), None, "x.sh has vanished since it was reviewed"),
        (None, state(), "x.sh was not there when it was reviewed"),
        (state(), state("b"), "x.sh has changed since it was reviewed"),
        (state(), state(executable=True), "x.sh has changed since it was reviewed"),
        (
            *(state(), state(leads_to="y.sh")),
            "x.sh points to another place than when it was reviewed",
        ),
        (
            *(state(), state(kind="directory")),
            "x.sh was a file when it was reviewed, and is now a directory",
        ),
        (
            *(state(kind="other"), state()),
            "x.sh was a special file when it was reviewed, and is now a file",
        ),
    ],
)
def test_a_file_that_is_not_as_it_was_is_named(
    then: FileState | None, now: FileState | None, why: str | None
) -> None:
    hook = reviewed(files=("x.sh",))
    known = of(hook, files={} if then is None else {"x.sh": then})
    assert known.why_changed(hook, {} if now is None else {"x.sh": now}) == why


@pytest.mark.parametrize(
    ("then", "now", "why"),
    [
        ({}, {}, None),
        ({}, {"entry": BLOCK}, "its entry in the settings has changed since it was reviewed"),
        ({}, {"name": "other"}, "nobody has reviewed it"),
        ({}, {"entry": {"event": "AfterTool"}}, "nobody has reviewed it"),
        ({"enabled": False}, {}, "it was disabled when it was reviewed"),
        ({}, {"enabled": False}, None),
        ({}, {"files": ("x.sh",)}, "x.sh was not there when it was reviewed"),
        ({"files": ("x.sh",)}, {}, None),
        ({}, {"remarks": ("a",)}, None),
        ({}, {"uncovered": (Uncovered("a", "b"),)}, "what it runs cannot be reviewed: a: b"),
        ({"uncovered": (Uncovered("a", "c"),)}, {"uncovered": (Uncovered("a", "b"),)}, None),
        ({"uncovered": (Uncovered("a", "b"),)}, {}, None),
    ],
)
def test_a_hook_that_is_not_as_it_was_reviewed_says_why(
    then: dict[str, Any], now: dict[str, Any], why: str | None
) -> None:
    files = {"x.sh": state()}
    assert of(reviewed(**then), files=files).why_changed(reviewed(**now), files) == why


@pytest.mark.parametrize(
    ("then", "now", "changes"),
    [
        ([reviewed()], [reviewed()], []),
        ([reviewed()], [], ["BeforeTool guard: it is no longer there"]),
        ([reviewed(entry=USERS)], [], []),
        ([], [reviewed()], ["BeforeTool guard: nobody has reviewed it"]),
        (
            *([reviewed()], [reviewed(entry=BLOCK)]),
            ["BeforeTool guard: its entry in the settings has changed since it was reviewed"],
        ),
        ([reviewed(), reviewed("b")], [reviewed("b")], ["BeforeTool guard: it is no longer there"]),
    ],
)
def test_a_second_look_says_which_hooks_are_new_gone_or_changed(
    then: list[ReviewedHook], now: list[ReviewedHook], changes: list[str]
) -> None:
    assert of(*then).changes_of(of(*now)) == changes


@pytest.mark.parametrize(
    ("then", "now", "changes"),
    [
        ({"strict": True}, {}, ["strict or required: the project's settings have changed"]),
        ({}, {"required": ("a",)}, ["strict or required: the project's settings have changed"]),
        ({}, {"tools": {"t": {}}}, ["hooks.tools: the project declares other tools now"]),
        ({"tests": ("t",), "files": {"t": state()}}, {}, []),
        ({}, {"tests": ("t",), "files": {"t": state()}}, ["t: a new or changed test"]),
        ({"files": {"t": state()}}, {"tests": ("t",), "files": {"t": state()}}, ["t: a new or "]),
        (
            {"tests": ("t",), "files": {"t": state()}},
            {"tests": ("t",), "files": {"t": state("b")}},
            ["t: a new or changed test"],
        ),
        (
            {"tests": ("t",), "files": {"t": state()}},
            {"tests": ("t",), "files": {"t": state()}},
            [],
        ),
    ],
)
def test_a_second_look_says_what_else_has_changed(
    then: dict[str, Any], now: dict[str, Any], changes: list[str]
) -> None:
    found = of(**then).changes_of(of(**now))
    assert len(found) == len(changes)
    assert all(map(str.startswith, found, changes))


def test_a_file_that_a_look_from_elsewhere_does_not_name_is_read_all_the_same(
    project: Project,
) -> None:
    project.write("x.sh", "a")
    hook, here = reviewed(files=("x.sh",)), str(project.path)
    known = of(hook, files={"x.sh": state("text:a")}, project=here)
    assert known.changes_of(of(reviewed(), project=here)) == []
    project.write("x.sh", "b")
    (change,) = known.changes_of(of(reviewed(), project=here))
    assert change == "BeforeTool guard: x.sh has changed since it was reviewed"


def test_what_no_review_covers_is_recorded_only_if_the_user_accepts_that() -> None:
    unclear = reviewed("unclear", files=("u.sh",), uncovered=(Uncovered("make", "?"),))
    clear = reviewed("clear", files=("c.sh",))
    now = of(unclear, clear, files={"u.sh": state(), "c.sh": state(), "t": state()}, tests=("t",))
    assert accept(now, None, uncovered=True) is now
    kept = accept(now, None, uncovered=False)
    assert (kept.hooks, set(kept.files)) == ((clear,), {"c.sh", "t"})
    assert accept(now, now, uncovered=False).hooks == (unclear, clear)


def test_a_guard_stays_recorded_if_what_replaces_it_cannot_be_reviewed() -> None:
    guard = reviewed(files=("g.sh",), entry=BLOCK)
    other = reviewed("other", entry=BLOCK)
    unclear = reviewed(uncovered=(Uncovered("make", "?"),))
    known = of(guard, other, files={"g.sh": state("old")})
    kept = accept(of(unclear, files={"g.sh": state("new")}), known, uncovered=False)
    assert kept.hooks == (guard,)
    assert kept.files == {"g.sh": state("new")}


def test_a_record_of_another_project_is_not_this_ones(project: Project) -> None:
    store, here = TrustStore(), str(project.path)
    file = store.write(of(project=here))
    assert store.file_of(here) == file
    known = store.read(here)
    assert known is not None
    assert (known.project, known.version, known.trusted_at != "") == (here, 2, True)
    (project.path.parent / "other").mkdir()
    other = store.file_of(str(project.path.parent / "other"))
    assert other is not None
    project.path.joinpath(file).rename(other)
    assert store.read(str(project.path.parent / "other")) is None


@pytest.mark.parametrize(
    ("path", "directory", "inside"),
    [
        ("/a", "/a", True),
        ("/a/b", "/a", True),
        ("/ab", "/a", False),
        ("/a", "/a/b", False),
        ("/a", "/", True),
        ("/", "/", True),
    ],
)
def test_a_path_is_inside_a_directory_and_not_beside_it(
    path: str, directory: str, inside: bool
) -> None:
    assert is_inside(path, directory) is inside
