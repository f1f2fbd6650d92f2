"""A reviewed guard goes on guarding as it was reviewed, whatever the project's settings say now,
and ends by the user's word alone.
"""

import json
import mmap
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from hookline import Hooks
from tests.harness.scratch import system_file
from tests.trust.attacks.kit import (
    REASON,
    Scene,
    call,
    code_for,
    command_hook,
    denial_for,
    fire,
    is_as_reviewed,
    look,
    review,
    run,
)

SETTINGS = ".hookline/settings.json"
LOCAL = ".hookline/settings.local.json"
WRITE = ("fire", "BeforeTool", "--tool", "run", "--tool-input", "{}")


@pytest.fixture
def guarded(scene: Scene) -> Scene:
    """A project with a reviewed guard that denies every call."""
    scene.write("hooks/x.sh", denial_for("x.sh"))
    scene.settings(command_hook("hooks/x.sh"))
    review(scene.path)
    assert is_as_reviewed(fire(scene.path))
    return scene


def edited(**fields: Any) -> Callable[[Scene], None]:
    return lambda scene: scene.settings(command_hook("hooks/x.sh") | fields)


def without(field: str) -> Callable[[Scene], None]:
    def change(scene: Scene) -> None:
        entry = command_hook("hooks/x.sh")
        del entry[field]
        scene.settings(entry)

    return change


def with_settings(text: str, file: str = SETTINGS) -> Callable[[Scene], None]:
    def change(scene: Scene) -> None:
        scene.write(file, text)

    return change


def under(event: str, matcher: str | None = None) -> Callable[[Scene], None]:
    definition: dict[str, Any] = {"hooks": [command_hook("hooks/x.sh")]}
    if matcher is not None:
        definition["matcher"] = matcher
    return with_settings(json.dumps({"hooks": {event: [definition]}}))


def switched_off(**keys: Any) -> Callable[[Scene], None]:
    return lambda scene: scene.settings(command_hook("hooks/x.sh"), **keys)


def without_settings(scene: Scene) -> None:
    (scene.path / SETTINGS).unlink()


def without_folder(scene: Scene) -> None:
    shutil.rmtree(scene.path / ".hookline")


def folder_as_file(scene: Scene) -> None:
    without_folder(scene)
    (scene.path / ".hookline").write_text("")


def settings_as_folder(scene: Scene) -> None:
    without_settings(scene)
    (scene.path / SETTINGS).mkdir()


def settings_as_fifo(scene: Scene) -> None:
    without_settings(scene)
    os.mkfifo(scene.path / SETTINGS)


def settings_without_end(scene: Scene) -> None:
    scene.link(SETTINGS, "/dev/zero")


def ring_of_links(scene: Scene) -> None:
    scene.link(SETTINGS, "settings.json")


def unreadable(scene: Scene) -> None:
    (scene.path / SETTINGS).chmod(0)


def everything_gone(scene: Scene) -> None:
    for entry in scene.path.iterdir():
        shutil.rmtree(entry)


GUARD_OFF = '{"hooks": {"disabled": ["guard"]}}'
DISARMING = {
    "another command": edited(command="true"),
    "arguments": edited(args=["--all"]),
    "fails open": edited(onFailure="allow"),
    "fails open by default": without("onFailure"),
    "another name": edited(name="other"),
    "no name": without("name"),
    "variables": edited(env={"MODE": "lenient"}),
    "no time": edited(timeout=1),
    "covers more": edited(covers=["lib/**"]),
    "in the background": edited(**{"async": True}),
    "another kind": edited(type="http", url="http://127.0.0.1:1"),
    "an unknown kind": edited(type="nothing"),
    "no command": edited(command=None),
    "another event": under("AfterTool"),
    "an unknown event": under("BeforeTools"),
    "another matcher": under("BeforeTool", "other"),
    "a matcher of nothing": under("BeforeTool", "(?!)"),
    "entry deleted": with_settings('{"hooks": {"BeforeTool": []}}'),
    "no hooks": with_settings("{}"),
    "disabled": switched_off(in_hooks={"disabled": ["guard"]}),
    "disabled by source": switched_off(in_hooks={"disabled": ["project:guard"]}),
    "disabled locally": with_settings(GUARD_OFF, LOCAL),
    "disabled for Gemini": with_settings(GUARD_OFF, ".gemini/settings.json"),
    "hooks.enabled false": switched_off(in_hooks={"enabled": False}),
    "enableHooks false": switched_off(enableHooks=False),
    "enableHooks false locally": with_settings('{"enableHooks": false}', LOCAL),
    "hooksConfig off": switched_off(hooksConfig={"enabled": False}),
    "hooksConfig disabled": switched_off(hooksConfig={"disabled": ["guard"]}),
    "tools.enableHooks": switched_off(tools={"enableHooks": False}),
    "disableAllHooks": switched_off(disableAllHooks=True),
    "garbled": with_settings('{"hooks": {'),
    "no text": with_settings("\0\ufffe"),
    "empty": with_settings(""),
    "another type": with_settings('["hooks"]'),
    "hooks of another type": with_settings('{"hooks": "none"}'),
    "twice": with_settings('{"hooks": {"BeforeTool": []}, "hooks": {}}'),
    "2 MiB": with_settings(json.dumps({"hooks": {}, "x": "x" * (2 << 20)})),
    "too deep": with_settings("[" * 100_000 + "]" * 100_000),
    "65 deep": with_settings('{"hooks": {}, "x": ' + "[" * 65 + "]" * 65 + "}"),
    "settings deleted": without_settings,
    "settings folder deleted": without_folder,
    "settings folder is a file": folder_as_file,
    "settings are a folder": settings_as_folder,
    "settings are a FIFO": settings_as_fifo,
    "settings without end": settings_without_end,
    "settings are a ring of links": ring_of_links,
    "settings unreadable": unreadable,
    "everything deleted": everything_gone,
}


@pytest.mark.timeout(20)
@pytest.mark.parametrize("name", DISARMING)
def test_no_change_of_the_projects_settings_takes_a_guard_away(guarded: Scene, name: str) -> None:
    DISARMING[name](guarded)
    assert is_as_reviewed(fire(guarded.path))


@pytest.mark.parametrize(
    "name", ["another command", "fails open", "entry deleted", "garbled", "settings deleted"]
)
def test_check_tells_that_a_review_is_due(guarded: Scene, name: str) -> None:
    DISARMING[name](guarded)
    assert call("trust", "--check", "--cwd", str(guarded.path)).status == 1


@pytest.mark.parametrize(
    "name", ["entry deleted", "garbled", "settings deleted", "enableHooks false"]
)
def test_list_shows_the_guard_and_who_decides(guarded: Scene, name: str) -> None:
    DISARMING[name](guarded)
    done = call("list", "--cwd", str(guarded.path))
    assert "guard" in done.out
    assert "hookline trust" in done.out + done.err
    listed = call("list", "--json", "--cwd", str(guarded.path)).document["hooks"]
    assert "guard" in [hook["name"] for hook in listed]


TELLING = """
import logging, sys
from hookline import Hooks
logging.basicConfig(format="%(message)s")
for _ in range(2):
    with Hooks.load(sys.argv[1]) as hooks:
        for _ in range(3):
            answer = hooks.sync.before_tool("run", {})
            assert answer.blocked and "by the reviewed script" in answer.reason, answer.reason
"""


@pytest.mark.parametrize("name", ["entry deleted", "fails open", "garbled", "enableHooks false"])
def test_people_are_told_once_a_process(guarded: Scene, name: str) -> None:
    DISARMING[name](guarded)
    done = subprocess.run(
        [sys.executable, "-c", TELLING, str(guarded.path)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    told = [line for line in done.stderr.splitlines() if "guard:" in line]
    assert len(told) == 1, done.stderr
    assert "hookline trust" in told[0]


def test_people_are_told_by_fire_too(guarded: Scene) -> None:
    guarded.settings()
    done = run(*WRITE, cwd=guarded.path)
    assert done.status == 2
    assert REASON in done.err
    assert done.err.count("`hookline trust`") == 1


def test_nobody_is_told_where_nothing_has_changed(guarded: Scene) -> None:
    done = run(*WRITE, cwd=guarded.path)
    assert done.status == 2
    assert "hookline trust" not in done.err


def test_what_is_new_waits_and_the_guard_stays(guarded: Scene) -> None:
    guarded.write("hooks2/evil.sh", code_for("evil.sh"))
    new = [command_hook("hooks2/evil.sh", guard=g, name=n) for g in (True, False) for n in "ab"]
    guarded.settings(*new, command_hook("hooks2/evil.sh"))
    assert is_as_reviewed(fire(guarded.path))
    assert not guarded.mark.exists()


def test_an_answer_of_a_new_hook_does_not_outvote_the_guard(guarded: Scene) -> None:
    allow = """printf '{"decision": "allow"}'"""
    guarded.settings(command_hook("hooks/x.sh"), command_hook(allow, guard=False))
    assert is_as_reviewed(fire(guarded.path))


@pytest.mark.parametrize("cwd", ["sub", "sub/deep", "sub/.hookline"])
@pytest.mark.parametrize(
    "settings", ["{}", '{"enableHooks": false}', '{"hooks": {"disabled": ["guard"]}}', "{"]
)
def test_a_settings_folder_below_hides_no_guard(guarded: Scene, cwd: str, settings: str) -> None:
    guarded.write(f"sub/{SETTINGS}", settings)
    (guarded.path / cwd).mkdir(exist_ok=True)
    assert is_as_reviewed(fire(guarded.path / cwd))


@pytest.mark.parametrize("folder", [".hookline", ".gemini", ".llxprt", ".claude"])
def test_nor_does_a_bare_folder(guarded: Scene, folder: str) -> None:
    (guarded.path / "sub" / folder).mkdir(parents=True)
    assert is_as_reviewed(fire(guarded.path / "sub"))


def test_a_project_below_has_its_own_review_and_that_of_its_parent(guarded: Scene) -> None:
    below = Scene(guarded.path, "sub")
    below.write("hooks/y.sh", "#!/bin/sh\ntouch @OUTSIDE@/below\n")
    below.settings(command_hook("hooks/y.sh", name="below"))
    review(below.path)
    assert is_as_reviewed(fire(below.path))
    assert (below.outside / "below").exists()


def test_a_guard_above_runs_for_its_own_project(scene: Scene) -> None:
    scene.write("hooks/x.sh", '#!/bin/sh\necho "$HOOKLINE_PROJECT_DIR" >&2\nexit 2\n')
    scene.settings(command_hook("hooks/x.sh"))
    review(scene.path)
    scene.write(f"sub/{SETTINGS}", "{}")
    assert Path(fire(scene.path / "sub").reason or "").samefile(scene.path)


def test_a_guard_below_does_not_reach_up(scene: Scene) -> None:
    below = Scene(scene.path, "sub")
    below.write("hooks/x.sh", denial_for("x.sh"))
    below.settings(command_hook("hooks/x.sh"))
    review(below.path)
    assert not fire(scene.path).blocked


def test_a_link_to_the_project_hides_no_guard(guarded: Scene) -> None:
    (guarded.outside / "link").symlink_to(guarded.path)
    without_folder(guarded)
    assert is_as_reviewed(fire(guarded.outside / "link"))


@pytest.mark.parametrize("field", ["required", "block"])
def test_what_is_required_is_a_guard(scene: Scene, field: str) -> None:
    is_required = field == "required"
    scene.write("hooks/x.sh", denial_for("x.sh"))
    required = {"required": ["guard"]} if is_required else {}
    scene.settings(command_hook("hooks/x.sh", guard=not is_required), in_hooks=required)
    (hook,) = review(scene.path)
    assert hook["guard"] is True
    scene.strike("hooks/x.sh")
    scene.settings()
    assert is_as_reviewed(fire(scene.path))
    assert not scene.mark.exists()


def test_strict_mode_blocks_where_a_hook_is_not_as_reviewed(scene: Scene) -> None:
    scene.write("hooks/x.sh", "#!/bin/sh\nexit 0\n")
    scene.settings(command_hook("hooks/x.sh", guard=False))
    review(scene.path)
    assert not fire(scene.path, strict=True).blocked
    scene.strike("hooks/x.sh")
    assert fire(scene.path, strict=True).blocked
    assert not scene.mark.exists()


def test_an_ordinary_hook_that_changed_is_held_back_loudly(
    scene: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    scene.write("hooks/x.sh", denial_for("x.sh"))
    scene.settings(command_hook("hooks/x.sh", guard=False))
    review(scene.path)
    scene.strike("hooks/x.sh")
    assert not fire(scene.path).blocked
    assert "hooks/x.sh" in caplog.text
    assert "hookline trust" in caplog.text


# How a guard ends.


def user_settings(data: dict[str, Any]) -> None:
    file = Path(os.environ["XDG_CONFIG_HOME"], "hookline", "settings.json")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(data))


def test_the_users_own_disabled_ends_it(guarded: Scene) -> None:
    user_settings({"hooks": {"disabled": ["guard"]}})
    assert not fire(guarded.path).blocked
    user_settings({})
    assert is_as_reviewed(fire(guarded.path))


def test_disable_ends_it_and_disable_project_does_not_and_says_so(guarded: Scene) -> None:
    done = call("disable", "guard", "--project", "--cwd", str(guarded.path))
    assert re.search("in force|does not end|goes on|stays", done.out + done.err)
    assert is_as_reviewed(fire(guarded.path))
    assert call("disable", "guard", "--cwd", str(guarded.path)).status == 0
    assert not fire(guarded.path).blocked


def test_untrust_ends_it(guarded: Scene) -> None:
    without_folder(guarded)
    assert call("untrust", "--cwd", str(guarded.path)).status == 0
    assert not fire(guarded.path).blocked


def test_a_review_without_it_ends_it_and_shows_it_as_removed(guarded: Scene) -> None:
    guarded.settings()
    shown = call("trust", "--cwd", str(guarded.path))
    assert re.search("(removed|leaves).*guard|guard.*(removed|leaves)", shown.out)
    assert is_as_reviewed(fire(guarded.path))
    assert call("trust", "--yes", "--cwd", str(guarded.path)).status == 0
    assert not fire(guarded.path).blocked


def test_a_review_of_settings_that_cannot_be_read_does_not_end_it(guarded: Scene) -> None:
    guarded.write(SETTINGS, "{")
    assert call("trust", "--yes", "--cwd", str(guarded.path)).status == 1
    assert is_as_reviewed(fire(guarded.path))


def test_a_new_review_shows_the_lines_that_differ_and_is_in_force(guarded: Scene) -> None:
    guarded.write("hooks/x.sh", "#!/bin/sh\necho as of today >&2\nexit 2\n")
    shown = call("trust", "--cwd", str(guarded.path)).out
    assert "as of today" in shown
    assert REASON in shown
    review(guarded.path)
    assert "as of today" in (fire(guarded.path).reason or "")
    assert call("trust", "--check", "--cwd", str(guarded.path)).status == 0


def test_the_callers_own_word_runs_hooks_in_place(guarded: Scene) -> None:
    guarded.strike("hooks/x.sh")
    assert not fire(guarded.path, trusted=True).blocked
    assert guarded.mark.exists()
    guarded.mark.unlink()
    assert run(*WRITE, "--trust", cwd=guarded.path).status == 0
    assert guarded.mark.exists()


def test_with_settings_given_by_the_caller_no_review_is_used(guarded: Scene) -> None:
    own = guarded.outside / "own.json"
    own.write_text("{}")
    assert run(*WRITE, "--settings", str(own), cwd=guarded.path).status == 0


# Open guards.


@pytest.fixture
def opened(scene: Scene) -> Scene:
    """A project with an open guard that somebody has accepted by name."""
    scene.write("hooks/x.sh", denial_for("x.sh"))
    scene.settings(command_hook("nice hooks/x.sh"))
    (hook,) = review(scene.path)
    assert hook["open"]
    assert is_as_reviewed(fire(scene.path))
    return scene


def test_an_open_guard_is_refused_unless_it_is_accepted_by_name(scene: Scene) -> None:
    scene.write("hooks/x.sh", denial_for("x.sh"))
    scene.settings(command_hook("nice hooks/x.sh"), command_hook("hooks/x.sh", name="closed"))
    where = ("--cwd", str(scene.path))
    for words in ((), ("--accept-open", "other"), ("--accept-open", "closed")):
        done = call("trust", "--yes", *words, *where)
        assert done.status == 1
        assert "--accept-open" in done.out + done.err
        trusted = {
            h["name"]: h["trusted"] for h in call("list", "--json", *where).document["hooks"]
        }
        assert trusted["guard"] is False
    assert call("trust", "--yes", "--accept-open", "guard", *where).status == 0
    assert call("trust", "--check", *where).status == 0
    assert "trusted, open" in call("list", *where).out


def test_the_screen_says_what_is_open_and_why(scene: Scene) -> None:
    scene.write("hooks/x.sh", denial_for("x.sh"))
    scene.settings(
        command_hook("nice hooks/x.sh", name="a"), command_hook("gitleaks detect", name="b")
    )
    shown = " ".join(call("trust", "--cwd", str(scene.path)).out.split())
    assert "open: what it starts in the project can change without a review" in shown
    assert "open: runs gitleaks from outside the project" in shown


def test_a_change_of_what_an_open_guard_covers_makes_it_block(opened: Scene) -> None:
    opened.strike("hooks/x.sh")
    answer = fire(opened.path)
    assert answer.blocked
    assert "hookline trust" in (answer.reason or "")
    assert not opened.mark.exists()


@pytest.mark.parametrize("change", ["hooks/new.sh", {"hooks/x.sh": None}])
def test_so_does_a_file_that_comes_or_goes(opened: Scene, change: Any) -> None:
    opened.strike(change)
    assert fire(opened.path).blocked
    assert not opened.mark.exists()


@pytest.mark.parametrize(
    "name", ["entry deleted", "garbled", "settings folder deleted", "fails open"]
)
def test_an_open_guard_stays_in_force_too(opened: Scene, name: str) -> None:
    DISARMING[name](opened)
    assert is_as_reviewed(fire(opened.path))


def test_an_open_ordinary_hook_is_asked_for_by_itself_too(scene: Scene) -> None:
    scene.settings(command_hook("echo hi > ran", guard=False))
    assert call("trust", "--yes", "--cwd", str(scene.path)).status == 1
    fire(scene.path)
    assert not (scene.path / "ran").exists()
    review(scene.path)
    fire(scene.path)
    assert (scene.path / "ran").exists()


@pytest.mark.parametrize(
    ("entry", "closed"),
    [
        ({"type": "http", "url": "https://example.org/hook"}, True),
        ({"type": "prompt", "prompt": "Is this safe?"}, True),
    ],
)
def test_http_and_prompt_hooks_are_closed_by_what_they_are(
    scene: Scene, entry: dict[str, Any], closed: bool
) -> None:
    definition = {"hooks": [{**entry, "name": "guard", "onFailure": "block"}]}
    scene.write(".claude/settings.json", json.dumps({"hooks": {"PreToolUse": [definition]}}))
    scene.write(SETTINGS, '{"claude": true}')
    (hook,) = look(scene.path)
    assert (hook["open"] == "") is closed


# What check says.


def test_check_calls_an_open_guard_an_error_and_shows_the_closed_form(scene: Scene) -> None:
    scene.write("hooks/x.sh", denial_for("x.sh"))
    scene.settings(command_hook("cat | hooks/x.sh"))
    done = call("check", "--cwd", str(scene.path))
    assert done.status == 1
    assert "open" in done.out
    assert "hooks/x.sh" in done.out


def test_and_a_warning_if_it_names_nothing_of_the_project(scene: Scene) -> None:
    scene.settings(command_hook("cat | grep -q secret && exit 2"))
    done = call("check", "--cwd", str(scene.path))
    assert done.status == 0
    assert "open" in done.out


def test_fix_moves_a_one_line_shell_guard_into_a_script(scene: Scene) -> None:
    scene.settings(command_hook(f"cat > /dev/null; echo '{REASON}' >&2; exit 2"))
    call("check", "--fix", "--cwd", str(scene.path))
    (hook,) = review(scene.path)
    assert hook["open"] == ""
    assert hook["files"]
    assert is_as_reviewed(fire(scene.path))
    assert call("check", "--cwd", str(scene.path)).status == 0


def test_fix_leaves_alone_what_names_something_of_the_project(scene: Scene) -> None:
    scene.write("tools/y.sh", denial_for("y.sh"))
    scene.settings(command_hook("cat | tools/y.sh"))
    before = (scene.path / SETTINGS).read_text()
    call("check", "--fix", "--cwd", str(scene.path))
    assert (scene.path / SETTINGS).read_text() == before


# Hooks of the user and the system that start a file of the project.


@pytest.fixture(params=["user", "system"])
def others(request: pytest.FixtureRequest, scene: Scene) -> tuple[Scene, Path]:
    """A project whose script the user or the system starts, and their settings file."""
    file = Path(os.environ["XDG_CONFIG_HOME"], "hookline", "settings.json")
    if request.param == "system":
        file = system_file()
    file.parent.mkdir(parents=True, exist_ok=True)
    scene.write("hooks/x.sh", denial_for("x.sh"))
    scene.write(SETTINGS, "{}")
    return scene, file


def start_from(file: Path, *, guard: bool) -> None:
    entry = command_hook("$HOOKLINE_PROJECT_DIR/hooks/x.sh", guard=guard)
    file.write_text(json.dumps({"hooks": {"BeforeTool": [{"hooks": [entry]}]}}))


def test_a_guard_of_others_runs_a_projects_file_from_its_copy(others: tuple[Scene, Path]) -> None:
    scene, file = others
    start_from(file, guard=True)
    answer = fire(scene.path)
    assert answer.blocked
    assert not is_as_reviewed(answer)
    assert call("trust", "--yes", "--cwd", str(scene.path)).status == 0
    assert is_as_reviewed(fire(scene.path))
    scene.strike("hooks/x.sh")
    assert is_as_reviewed(fire(scene.path))
    (scene.path / "hooks/x.sh").unlink()
    assert is_as_reviewed(fire(scene.path))
    assert not scene.mark.exists()


def test_an_ordinary_hook_of_others_waits_for_the_review_of_a_projects_file(
    others: tuple[Scene, Path],
) -> None:
    scene, file = others
    start_from(file, guard=False)
    assert not fire(scene.path).blocked
    assert call("trust", "--yes", "--cwd", str(scene.path)).status == 0
    assert is_as_reviewed(fire(scene.path))
    scene.strike("hooks/x.sh")
    assert not fire(scene.path).blocked
    assert not scene.mark.exists()


# Between the look and the start.


@contextmanager
def flipping(scene: Scene) -> Iterator[None]:
    """Swap a script with the attacker's code, as fast as renaming goes."""
    script, evil = scene.path / "hooks/x.sh", scene.outside / "evil.sh"
    evil.write_text(scene.text(code_for("evil.sh")))
    evil.chmod(0o755)
    good = scene.outside / "good.sh"
    shutil.copy(script, good)
    ended = threading.Event()

    def flip() -> None:
        while not ended.is_set():
            for source in (evil, good):
                shutil.copy(source, scene.outside / "next.sh")
                os.replace(scene.outside / "next.sh", script)

    thread = threading.Thread(target=flip)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def test_no_swap_of_a_script_reaches_a_guard(guarded: Scene) -> None:
    with flipping(guarded), Hooks.load(guarded.path) as hooks:
        answers = [hooks.sync.before_tool("run", {}) for _ in range(20)]
    assert all(map(is_as_reviewed, answers))
    assert not guarded.mark.exists()


@pytest.mark.parametrize("guard", [False, True], ids=["hook", "guard"])
def test_a_change_while_a_process_lives_is_seen_at_the_next_event(
    scene: Scene, guard: bool
) -> None:
    scene.write("hooks/x.sh", denial_for("x.sh") + "#" * 500)
    scene.settings(command_hook("hooks/x.sh", guard=guard))
    review(scene.path)
    script = scene.path / "hooks/x.sh"
    with Hooks.load(scene.path) as hooks:
        assert is_as_reviewed(hooks.sync.before_tool("run", {}))
        status = script.stat()
        code = scene.text(code_for("x.sh")).ljust(status.st_size, "\n")
        with script.open("r+") as file:
            file.write(code)
        os.utime(script, ns=(status.st_atime_ns, status.st_mtime_ns))
        answer = hooks.sync.before_tool("run", {})
    assert is_as_reviewed(answer) is guard
    assert not scene.mark.exists()


@pytest.mark.parametrize("guard", [False, True], ids=["hook", "guard"])
def test_a_map_that_was_open_before_the_review_changes_nothing(scene: Scene, guard: bool) -> None:
    scene.write("hooks/x.sh", denial_for("x.sh") + "#" * 500)
    scene.settings(command_hook("hooks/x.sh", guard=guard))
    script = scene.path / "hooks/x.sh"
    with script.open("r+b") as file, mmap.mmap(file.fileno(), 0) as content:
        content[-1:] = b"#"  # its page is dirty from now on, so a later write moves no time
        review(scene.path)
        with Hooks.load(scene.path) as hooks:
            assert is_as_reviewed(hooks.sync.before_tool("run", {}))
            code = scene.text(code_for("x.sh")).encode()
            content[:] = code.ljust(len(content), b"\n")
            answer = hooks.sync.before_tool("run", {})
    assert is_as_reviewed(answer) is guard
    assert not scene.mark.exists()


def test_beyond_a_mebibyte_the_time_of_the_change_tells(scene: Scene) -> None:
    scene.write("hooks/x.sh", denial_for("x.sh") + "#" * 500)
    os.truncate(scene.write("hooks/data", ""), 2 << 20)
    scene.settings(command_hook("hooks/x.sh", guard=False))
    review(scene.path)
    script = scene.path / "hooks/x.sh"
    assert is_as_reviewed(fire(scene.path))
    status = script.stat()
    script.write_text(scene.text(code_for("x.sh")).ljust(status.st_size, "\n"))
    os.utime(script, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert not fire(scene.path).blocked
    assert not scene.mark.exists()


# The policy's digest, and hook tests.


def digest(where: Path) -> str:
    done = call("trust", "--digest", "--cwd", str(where))
    assert done.status == 0
    return done.out.strip()


def test_a_digest_names_one_policy_wherever_it_is(scene: Scene) -> None:
    scene.write("hooks/x.sh", denial_for("x.sh"))
    scene.settings(command_hook("hooks/x.sh"))
    first = digest(scene.path)
    shutil.copytree(scene.path, scene.outside / "clone")
    assert digest(scene.outside / "clone") == first
    for change in ({"hooks/x.sh": code_for("x.sh")}, {"hooks/new": ""}, edited(timeout=5)):
        clone = Scene(scene.root / "clones")
        shutil.copytree(scene.path, clone.path, dirs_exist_ok=True)
        clone.strike(change)
        assert digest(clone.path) != first
        shutil.rmtree(clone.root)


def test_yes_with_a_digest_records_that_policy_alone(scene: Scene) -> None:
    scene.write("hooks/x.sh", denial_for("x.sh"))
    scene.settings(command_hook("hooks/x.sh"))
    known = digest(scene.path)
    scene.write("hooks/x.sh", code_for("x.sh"))
    where = ("--cwd", str(scene.path))
    assert call("trust", "--yes", "--digest", known, *where).status == 1
    assert call("trust", "--yes", "--digest", "0" * len(known), *where).status == 1
    fire(scene.path)
    assert not scene.mark.exists()
    scene.write("hooks/x.sh", denial_for("x.sh"))
    assert call("trust", "--yes", "--digest", known, *where).status == 0
    assert is_as_reviewed(fire(scene.path))


def test_check_with_a_digest_needs_no_store(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    scene.write("hooks/x.sh", denial_for("x.sh"))
    scene.settings(command_hook("hooks/x.sh"))
    known = digest(scene.path)
    monkeypatch.setenv("HOOKLINE_STATE_DIR", "/dev/null/nowhere")
    where = ("--cwd", str(scene.path))
    assert call("trust", "--check", "--digest", known, *where).status == 0
    scene.strike("hooks/x.sh")
    assert call("trust", "--check", "--digest", known, *where).status == 1


TEST = {
    "event": "BeforeTool",
    "tool": "run",
    "tests": [{"name": "denies", "tool_input": {}, "expect": {"decision": "deny"}}],
}


def test_test_runs_the_copy_and_says_so_or_the_project_if_the_user_agrees(guarded: Scene) -> None:
    guarded.write(".hookline/tests/x.hooktest.json", json.dumps(TEST))
    review(guarded.path)
    assert call("test", "--cwd", str(guarded.path)).status == 0
    guarded.strike("hooks/x.sh")
    done = call("test", "--cwd", str(guarded.path))
    assert done.status == 0
    assert re.search("cop(y|ies)|review", (done.out + done.err).splitlines()[0])
    assert not guarded.mark.exists()
    assert call("test", "--trust", "--cwd", str(guarded.path)).status == 1
    assert guarded.mark.exists()


def test_trust_runs_the_guards_tests_or_says_that_there_are_none(scene: Scene) -> None:
    scene.write("hooks/x.sh", denial_for("x.sh"))
    scene.settings(command_hook("hooks/x.sh"))
    assert "test" in call("trust", "--yes", "--cwd", str(scene.path)).out
    scene.write(".hookline/tests/x.hooktest.json", json.dumps(TEST))
    scene.write("hooks/x.sh", denial_for("x.sh") + "# again\n")
    shown = call("trust", "--yes", "--cwd", str(scene.path)).out
    assert "1 test passed" in shown
