"""The reviews themselves under attack: where they lie, what they hold, and what a crash, a full
disk or eight processes at once leave of them.
"""

import grp
import json
import os
import re
import resource
import shutil
import signal
import stat
import subprocess
import sys
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hookline import Hooks
from tests.trust.attacks.kit import (
    LAUNCH,
    REASON,
    Scene,
    call,
    code_for,
    command_hook,
    denial_for,
    fire,
    is_as_reviewed,
    review,
    run,
)
from tests.trust.attacks.test_guards import flipping

OTHER_USER = 54321


def deny(words: str) -> str:
    """A script that denies with these words."""
    return f"#!/bin/sh\necho '{words}' >&2\nexit 2\n"


def build(scene: Scene, script: str = denial_for("x.sh")) -> Scene:
    scene.write("hooks/x.sh", script)
    scene.settings(command_hook("hooks/x.sh"))
    return scene


@pytest.fixture
def guarded(scene: Scene) -> Scene:
    review(build(scene).path)
    return scene


def trust(scene: Scene) -> int:
    return call("trust", "--yes", "--cwd", str(scene.path)).status


def files_of(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]


def copies(scene: Scene, content: str) -> list[Path]:
    """The files of the store that hold a text and nothing else."""
    return [file for file in files_of(scene.store) if file.read_bytes() == content.encode()]


def documents(scene: Scene) -> Iterator[Path]:
    """The documents of the store, which tell of the guard."""
    for file in files_of(scene.store):
        if b'"guard"' in file.read_bytes():
            yield file


# What is kept.


def test_all_that_was_reviewed_is_copied_read_only_and_links_as_what_they_lead_to(
    scene: Scene,
) -> None:
    build(scene)
    scene.write("hooks/lib/deep/data", "data of a hook").chmod(0o644)
    scene.write("lib/linked", "bytes behind a link").chmod(0o644)
    scene.link("hooks/linked", "../lib/linked")
    scene.write("tools/y.sh", "#!/bin/sh\n# an ordinary hook\n")
    scene.write("hooks/__pycache__/x.cpython-311.pyc", "compiled")
    scene.settings(
        command_hook("hooks/x.sh"), command_hook("tools/y.sh", guard=False, name="ordinary")
    )
    review(scene.path)
    for content, bits in (
        (denial_for("x.sh"), 0o500),
        ("data of a hook", 0o400),
        ("bytes behind a link", 0o400),
        ("#!/bin/sh\n# an ordinary hook\n", 0o500),
    ):
        kept = copies(scene, content)
        assert kept
        for copy in kept:
            assert copy.stat().st_mode & 0o222 == 0
            assert copy.stat().st_mode & 0o700 == bits
    assert not [path for path in scene.store.rglob("*") if path.is_symlink()]
    assert not copies(scene, "compiled")


def test_folders_and_files_are_the_users_alone(guarded: Scene) -> None:
    for path in (guarded.store, *guarded.store.rglob("*")):
        if path.is_dir():
            assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path
        else:
            assert stat.S_IMODE(path.stat().st_mode) & 0o022 == 0, path


def test_the_reviews_in_force_and_before_stay_and_older_ones_go(scene: Scene) -> None:
    scripts = [deny(f"version {number}") for number in range(5)]
    for script in scripts:
        assert trust(build(scene, script)) == 0
    assert [bool(copies(scene, script)) for script in scripts] == [False] * 3 + [True] * 2
    assert fire(scene.path).reason == "version 4"


def test_what_is_shown_is_what_is_copied(scene: Scene) -> None:
    """However fast the files change meanwhile."""
    for number in range(6):
        build(scene, deny(f"good {number}"))
        with flipping(scene):
            done = call("trust", "--yes", "--cwd", str(scene.path))
        is_evil_shown = "touch" in done.out
        build(scene, deny(f"good {number}"))
        answer = fire(scene.path)
        if done.status == 0 and not is_evil_shown:
            assert answer.reason == f"good {number}"
            assert not scene.mark.exists()
        scene.mark.unlink(missing_ok=True)
        assert call("untrust", "--cwd", str(scene.path)).status in (0, 1)


# Where it is.


@pytest.mark.parametrize("place", ["@PROJECT@/state", "@OUTSIDE@/../project/s", "@OUTSIDE@/link/s"])
def test_a_store_inside_the_project_is_refused(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    build(scene)
    (scene.outside / "link").symlink_to(scene.path)
    monkeypatch.setenv("HOOKLINE_STATE_DIR", scene.text(place))
    done = call("trust", "--yes", "--cwd", str(scene.path))
    assert done.status == 1
    assert "HOOKLINE_STATE_DIR" in done.err
    assert not is_as_reviewed(fire(scene.path))
    assert sorted(path.name for path in scene.path.iterdir()) == [".hookline", "hooks"]


def test_a_store_that_came_with_the_project_is_refused_and_blocks(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOOKLINE_STATE_DIR", str(scene.outside / "state"))
    scene.write("hooks/x.sh", code_for("x.sh"))
    scene.settings(command_hook("hooks/x.sh"))
    review(scene.path)
    shutil.copytree(scene.outside / "state", scene.path / "state")
    monkeypatch.setenv("HOOKLINE_STATE_DIR", str(scene.path / "state"))
    assert fire(scene.path).blocked
    assert not scene.mark.exists()


def open_to_all(path: Path) -> None:
    path.chmod(0o777)


def of_another(path: Path) -> None:
    if os.getuid():
        pytest.skip("only root can give a folder away")
    os.chown(path, OTHER_USER, -1)


def open_to_group(path: Path) -> None:
    os.chown(path, -1, OTHER_USER if os.getuid() == 0 else -1)
    path.chmod(0o770)


REFUSED = {"world-writable": open_to_all, "another's": of_another, "the group's": open_to_group}


@pytest.mark.parametrize("inner", [False, True], ids=["state", "reviews"])
@pytest.mark.parametrize("name", REFUSED)
def test_a_store_that_others_can_write_is_refused_and_blocks(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, name: str, inner: bool
) -> None:
    members = grp.struct_group(("staff", "x", OTHER_USER, ["ada", "bert"]))
    monkeypatch.setattr(grp, "getgrgid", lambda _gid: members)
    state = scene.outside / "state"
    monkeypatch.setenv("HOOKLINE_STATE_DIR", str(state))
    review(build(scene).path)
    REFUSED[name](scene.store if inner else state)
    scene.strike("hooks/x.sh")
    answer = fire(scene.path)
    assert answer.blocked
    assert not is_as_reviewed(answer)
    assert str(state) in (answer.reason or "")
    # Our own folder may be put right, which is for a review to do and not for an event.
    assert trust(scene) == 1 or (inner and stat.S_IMODE(scene.store.stat().st_mode) == 0o700)
    assert not scene.mark.exists()


def test_a_store_below_a_folder_with_the_sticky_bit_is_fine(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    (scene.outside / "tmp").mkdir()
    (scene.outside / "tmp").chmod(0o1777)
    monkeypatch.setenv("HOOKLINE_STATE_DIR", str(scene.outside / "tmp/state"))
    review(build(scene).path)
    assert is_as_reviewed(fire(scene.path))


def test_ordinary_hooks_of_a_refused_store_do_not_run(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOOKLINE_STATE_DIR", str(scene.outside / "state"))
    scene.write("hooks/x.sh", code_for("x.sh"))
    scene.settings(command_hook("hooks/x.sh", guard=False))
    review(scene.path)
    (scene.outside / "state").chmod(0o777)
    assert not fire(scene.path).blocked
    assert not scene.mark.exists()


# Damage.


def garble(text: str) -> Callable[[Scene], None]:
    def damage(scene: Scene) -> None:
        for document in list(documents(scene)):
            document.chmod(0o600)
            document.write_text(text)

    return damage


def cut_document(scene: Scene) -> None:
    for document in list(documents(scene)):
        document.chmod(0o600)
        os.truncate(document, document.stat().st_size // 2)


def lose_copy(scene: Scene) -> None:
    for copy in copies(scene, denial_for("x.sh")):
        copy.parent.chmod(0o700)
        copy.unlink()


def change_copy(text: str) -> Callable[[Scene], None]:
    def damage(scene: Scene) -> None:
        for copy in copies(scene, denial_for("x.sh")):
            copy.chmod(0o700)
            copy.write_text(scene.text(text))

    return damage


def copy_as_folder(scene: Scene) -> None:
    for copy in copies(scene, denial_for("x.sh")):
        copy.parent.chmod(0o700)
        copy.unlink()
        copy.mkdir()


DAMAGE: dict[str, Callable[[Scene], None]] = {
    "no document": garble(""),
    "half a document": cut_document,
    "no JSON": garble("{"),
    "another JSON": garble('{"guard": 1, "hooks": []}'),
    "a list": garble("[]"),
    "no UTF-8": garble("\udcff".encode("utf-8", "surrogatepass").decode("latin-1")),
    "too deep": garble("[" * 100_000),
    "no copy": lose_copy,
    "an empty copy": change_copy(""),
    "half a copy": change_copy("#!/bin/sh\n"),
    "another copy": change_copy(code_for("x.sh")),
    "a folder as a copy": copy_as_folder,
}


def assert_damage_blocks(scene: Scene) -> None:
    answer = fire(scene.path)
    assert answer.blocked
    assert not is_as_reviewed(answer)
    assert "trust" in (answer.reason or "")
    assert not scene.mark.exists()


@pytest.mark.parametrize("name", DAMAGE)
def test_a_damaged_review_blocks_the_events_of_its_guards(guarded: Scene, name: str) -> None:
    assert list(documents(guarded))
    DAMAGE[name](guarded)
    assert_damage_blocks(guarded)


@pytest.mark.parametrize("name", DAMAGE)
def test_a_new_review_mends_it(guarded: Scene, name: str) -> None:
    """Though nothing has changed in the project: that is what the message tells people to do."""
    DAMAGE[name](guarded)
    assert trust(guarded) == 0
    assert is_as_reviewed(fire(guarded.path))


@pytest.mark.parametrize("name", [name for name in DAMAGE if "copy" in name])
def test_a_damaged_copy_blocks_whatever_the_settings_say(guarded: Scene, name: str) -> None:
    guarded.settings()
    DAMAGE[name](guarded)
    assert_damage_blocks(guarded)


def test_where_it_cannot_be_told_which_every_event_that_can_be_blocked_is(guarded: Scene) -> None:
    garble("{")(guarded)
    with Hooks.load(guarded.path) as hooks:
        assert hooks.sync.before_agent("hello").blocked
        assert hooks.sync.before_tool("other", {}).blocked
        assert not hooks.sync.session_start("startup").blocked


# Crashes, full disks, crowds.


def test_a_review_that_is_killed_leaves_the_old_one_or_the_new_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = []
    for name, kills in (("killed", True), ("calm", False)):
        scene = build(Scene(tmp_path / name))
        monkeypatch.setenv("HOOKLINE_STATE_DIR", str(scene.outside / "state"))
        command = [sys.executable, "-m", "tests.trust.attacks.crashing", str(scene.path)]
        done = subprocess.run(
            [*command, *([] if kills else ["--calm"])],
            cwd=Path(__file__).parents[3],
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        found = json.loads(done.stdout)
        assert found["wrong"] == []
        assert found["answers"][-1] == "version 99"
        left.append(len(list((scene.outside / "state").rglob("*"))))
    # Half-written folders are gone too: what is there is what reviews leave that nobody kills.
    assert left[0] == left[1]


@pytest.mark.parametrize("most", [0, 64, 3000])
def test_a_full_disk_leaves_the_old_review(guarded: Scene, most: int) -> None:
    guarded.write("hooks/x.sh", deny("of today") + "#" * 10_000)

    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))

    done = subprocess.run(
        [*LAUNCH, "trust", "--yes"],
        cwd=guarded.path,
        preexec_fn=limit,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "internal error" not in done.stderr
    assert is_as_reviewed(fire(guarded.path))
    assert trust(guarded) == 0
    assert fire(guarded.path).reason == "of today"


def test_eight_processes_that_review_at_once_leave_one_review(scene: Scene) -> None:
    build(scene)
    command = [*LAUNCH, "trust", "--yes"]
    started = [
        subprocess.Popen(
            command, cwd=scene.path, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        for _ in range(8)
    ]
    errors = [(process.communicate()[1], process.returncode) for process in started]
    assert [status for _, status in errors] == [0] * 8, errors
    assert is_as_reviewed(fire(scene.path))
    assert call("trust", "--check", "--cwd", str(scene.path)).status == 0
    assert trust(scene) == 0
    assert len(copies(scene, denial_for("x.sh"))) <= 2


# Reviews of earlier versions, and of folders that are others now.


@pytest.fixture
def earlier(scene: Scene) -> Scene:
    """A project that 0.1 has reviewed, and nobody since."""
    build(scene)
    project = os.path.realpath(scene.path)
    readable = "".join(c if c.isascii() and c.isalnum() else "-" for c in project).strip("-")
    name = f"{readable[-100:]}-{zlib.crc32(os.fsencode(project)):08x}.json"
    file = scene.store.parent / "trust" / name
    file.parent.mkdir(parents=True, mode=0o700)
    entry = {"event": "BeforeTool", "name": "guard", "command": "hooks/x.sh", "onFailure": "block"}
    record = {
        "version": 2,
        "project": project,
        "hooks": [{"entry": entry, "files": ["hooks/x.sh"]}],
        "files": {},
        "trusted_at": "2026-01-01T00:00:00.000Z",
    }
    file.write_text(json.dumps(record))
    return scene


def test_a_review_of_an_earlier_version_is_noticed_explained_and_asked_for_again(
    earlier: Scene,
) -> None:
    where = ("--cwd", str(earlier.path))
    assert call("trust", "--check", *where).status == 1
    for verb in ("trust", "list"):
        done = run(verb, cwd=earlier.path)
        assert re.search("(earlier|older|another) version", done.out + done.err), verb
    fired = run("fire", "BeforeTool", "--tool", "run", "--tool-input", "{}", cwd=earlier.path)
    assert "hookline trust" in fired.err
    assert not is_as_reviewed(fire(earlier.path))
    assert trust(earlier) == 0
    assert is_as_reviewed(fire(earlier.path))
    done = run("list", cwd=earlier.path)
    assert not re.search("(earlier|older|another) version", done.out + done.err)


def test_a_folder_that_is_another_one_now_is_asked_for_again(scene: Scene) -> None:
    scene.write("hooks/x.sh", code_for("x.sh"))
    scene.settings(command_hook("hooks/x.sh", guard=False))
    review(scene.path)
    scene.path.rename(scene.outside / "before")
    shutil.copytree(scene.outside / "before", scene.path)
    assert call("trust", "--check", "--cwd", str(scene.path)).status == 1
    fire(scene.path)
    assert not scene.mark.exists()


def test_a_folder_that_moved_takes_no_review_along(scene: Scene) -> None:
    scene.write("hooks/x.sh", code_for("x.sh"))
    scene.settings(command_hook("hooks/x.sh", guard=False))
    review(scene.path)
    scene.path.rename(scene.outside / "after")
    fire(scene.outside / "after")
    assert not scene.mark.exists()


def test_untrust_stale_forgets_projects_that_are_gone(scene: Scene, guarded: Scene) -> None:
    gone = build(Scene(scene.root / "other"), deny("of a project that is gone"))
    review(gone.path)
    assert copies(gone, deny("of a project that is gone"))
    shutil.rmtree(gone.path)
    assert call("untrust", "--stale", "--cwd", str(guarded.path)).status == 0
    assert not copies(gone, deny("of a project that is gone"))
    assert is_as_reviewed(fire(guarded.path))


def test_untrust_leaves_nothing_of_the_project(guarded: Scene) -> None:
    assert call("untrust", "--cwd", str(guarded.path)).status == 0
    assert not copies(guarded, denial_for("x.sh"))
    assert not [file for file in files_of(guarded.store) if REASON.encode() in file.read_bytes()]
