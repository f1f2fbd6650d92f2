"""Agents load a project's ``.env``: no variable that it sets reaches a closed guard, or hides the
reviews that are in force.
"""

import os
import re
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from hookline import Hooks
from tests.trust.attacks.kit import (
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
from tests.trust.attacks.test_commands import library
from tests.trust.attacks.test_guards import WRITE

USES = "cat > /dev/null; date > /dev/null\n"
SCRIPTS = {
    "hooks/x.sh": "#!/bin/sh\n" + USES + f"echo '{REASON}' >&2\nexit 2\n",
    "hooks/x.bash": "#!/bin/bash\n" + USES + f"echo '{REASON}' >&2\nexit 2\n",
    "hooks/x.py": denial_for("x.py"),
    "hooks/x.js": denial_for("x.js"),
    "hooks/x.pl": denial_for("x.pl"),
    "hooks/x.rb": denial_for("x.rb"),
    # A guard that denies by an assertion, which one variable takes out.
    "hooks/assert.py": "#!/usr/bin/env python3\nimport sys\ntry:\n    assert False, 'denied'\n"
    f"except AssertionError:\n    sys.exit(sys.stderr.write('{REASON}') and 2)\n",
}
LIBRARY = f"lib/python3.{sys.version_info.minor}/site-packages"
MODULE = {"tools/sitecustomize.py": code_for("z.py")}
FUNCTION = "() { touch '@MARK@'; }"
# The environment of these tests is one that loads no packages of the user's, the base is not.
BASE = f"{sys.base_prefix}/bin:/usr/bin:/bin"


class Hostile(NamedTuple):
    name: str
    command: str
    variables: Mapping[str, str]
    files: Mapping[str, str] = {}
    needs_compiler: bool = False
    is_real: bool = True  # True if the variables would make somebody else's code run
    path: str = ""  # PATH when it is reviewed and when it runs

    @property
    def needs(self) -> str:
        return "gcc" if self.needs_compiler else self.command.split()[0]


ENVIRONMENTS = [
    Hostile("BASH_ENV", "bash hooks/x.sh", {"BASH_ENV": "@PROJECT@/tools/z.sh"},
            {"tools/z.sh": code_for("z.sh")}),
    Hostile("BASH_ENV of a shebang", "hooks/x.bash", {"BASH_ENV": "tools/z.sh"},
            {"tools/z.sh": code_for("z.sh")}),
    Hostile("BASH_ENV outside", "bash hooks/x.sh", {"BASH_ENV": "@OUTSIDE@/z.sh"},
            {"@OUTSIDE@/z.sh": code_for("z.sh")}),
    Hostile("BASH_ENV with code", "bash hooks/x.sh", {"BASH_ENV": "$(touch @MARK@)"}),
    Hostile("ENV", "sh hooks/x.sh", {"ENV": "@PROJECT@/tools/z.sh"},
            {"tools/z.sh": code_for("z.sh")}, is_real=False),
    Hostile("function echo", "bash hooks/x.sh", {"BASH_FUNC_echo%%": FUNCTION}),
    Hostile("function exit", "hooks/x.bash", {"BASH_FUNC_exit%%": FUNCTION}),
    Hostile("function with a slash", "hooks/x.bash", {"BASH_FUNC_cat%%": FUNCTION}),
    Hostile("PS4", "bash hooks/x.sh", {"SHELLOPTS": "xtrace", "PS4": "$(touch @MARK@)"},
            is_real=os.getuid() != 0),
    Hostile("SHELLOPTS noexec", "bash hooks/x.sh", {"SHELLOPTS": "noexec"}, is_real=False),
    Hostile("ZDOTDIR", "zsh hooks/x.sh", {"ZDOTDIR": "@PROJECT@/tools"},
            {"tools/.zshenv": "touch @MARK@\n"}),
    Hostile("PATH of an interpreter", "python3 hooks/x.py",
            {"PATH": "@PROJECT@/tools:/usr/bin:/bin"}, {"tools/python3": code_for("")}),
    Hostile("PATH of a shell", "bash hooks/x.sh", {"PATH": "@PROJECT@/tools:/usr/bin:/bin"},
            {"tools/bash": code_for("")}),
    Hostile("PATH of a shebang", "hooks/x.py", {"PATH": "@PROJECT@/tools:/usr/bin:/bin"},
            {"tools/python3": code_for("")}),
    Hostile("PATH of env", "/usr/bin/env python3 hooks/x.py", {"PATH": "tools:/usr/bin:/bin"},
            {"tools/python3": code_for("")}),
    Hostile("PATH of a tool", "hooks/x.sh", {"PATH": "@PROJECT@/tools:/usr/bin:/bin"},
            {"tools/cat": code_for("")}),
    Hostile("PATH that is relative", "hooks/x.sh", {"PATH": "tools:/usr/bin:/bin"},
            {"tools/cat": code_for("")}),
    Hostile("PATH with an empty entry", "hooks/x.sh", {"PATH": ":/usr/bin:/bin"},
            {"cat": code_for("")}),
    Hostile("PATH by ..", "hooks/x.sh", {"PATH": "@OUTSIDE@/../project/tools:/usr/bin:/bin"},
            {"tools/cat": code_for("")}),
    Hostile("PATH of an outsider", "python3 hooks/x.py", {"PATH": "@OUTSIDE@/bin:/usr/bin:/bin"},
            {"@OUTSIDE@/bin/python3": code_for("")}),
    Hostile("PATH of an outsider's shebang", "hooks/x.py", {"PATH": "@OUTSIDE@/bin:/usr/bin:/bin"},
            {"@OUTSIDE@/bin/python3": code_for("")}),
    Hostile("no PATH", "python3 hooks/x.py", {"PATH": ""}, is_real=False),
    Hostile("PYTHONPATH", "python3 hooks/x.py", {"PYTHONPATH": "@PROJECT@/tools"}, MODULE),
    Hostile("PYTHONPATH of a shebang", "hooks/x.py", {"PYTHONPATH": "tools"}, MODULE),
    Hostile("PYTHONHOME", "python3 hooks/x.py", {"PYTHONHOME": "/nowhere"}, is_real=False),
    Hostile("PYTHONSTARTUP", "python3 hooks/x.py", {"PYTHONSTARTUP": "tools/sitecustomize.py",
            "PYTHONINSPECT": "1"}, MODULE, is_real=False),
    Hostile("PYTHONOPTIMIZE", "python3 hooks/assert.py", {"PYTHONOPTIMIZE": "1"}, is_real=False),
    Hostile("PYTHONUSERBASE", "python3 hooks/x.py", {"PYTHONUSERBASE": "@PROJECT@/tools"},
            {f"tools/{LIBRARY}/usercustomize.py": code_for("z.py")}, path=BASE),
    Hostile("HOME of Python", "python3 hooks/x.py", {"HOME": "@PROJECT@/tools"},
            {f"tools/.local/{LIBRARY}/usercustomize.py": code_for("z.py")}, path=BASE),
    Hostile("NODE_OPTIONS", "node hooks/x.js", {"NODE_OPTIONS": "--require=@PROJECT@/tools/z.js"},
            {"tools/z.js": code_for("z.js")}),
    Hostile("NODE_OPTIONS of a shebang", "hooks/x.js", {"NODE_OPTIONS": "--require ./tools/z.js"},
            {"tools/z.js": code_for("z.js")}),
    Hostile("PERL5OPT", "perl hooks/x.pl", {"PERL5OPT": "-I./tools -MZ"},
            {"tools/Z.pm": code_for("Z.pm")}),
    Hostile("PERL5LIB", "hooks/x.pl", {"PERL5LIB": "@PROJECT@/tools", "PERL5OPT": "-MZ"},
            {"tools/Z.pm": code_for("Z.pm")}),
    Hostile("PERL5DB", "perl hooks/x.pl", {"PERL5OPT": "-d", "PERL5DB": "BEGIN { open(F, '>', "
            "'@MARK@') } sub DB::DB {}"}),
    Hostile("RUBYOPT", "ruby hooks/x.rb", {"RUBYOPT": "-r@PROJECT@/tools/z"},
            {"tools/z.rb": code_for("z.rb")}),
    Hostile("LD_PRELOAD", "hooks/x.sh", {"LD_PRELOAD": "@PROJECT@/tools/z.so"},
            needs_compiler=True),
    Hostile("LD_PRELOAD of Python", "python3 hooks/x.py", {"LD_PRELOAD": "@PROJECT@/tools/z.so"},
            needs_compiler=True),
    Hostile("LD_AUDIT", "bash hooks/x.sh", {"LD_AUDIT": "@PROJECT@/tools/z.so"},
            needs_compiler=True, is_real=False),
    Hostile("LD_PRELOAD of nothing", "hooks/x.sh", {"LD_PRELOAD": "/nowhere/z.so"}, is_real=False),
    Hostile("LD_LIBRARY_PATH", "hooks/x.sh", {"LD_LIBRARY_PATH": "@PROJECT@/tools"},
            {"tools/libc.so.6": ""}, is_real=False),
    Hostile("variables of the engine", "hooks/x.sh", {"HOOKLINE_PROJECT_DIR": "@OUTSIDE@",
            "HOOKLINE_HOOK_STATE": "@PROJECT@", "HOOKLINE_CWD": "/"}, is_real=False),
]  # fmt: skip


@pytest.mark.parametrize("hostile", [pytest.param(each, id=each.name) for each in ENVIRONMENTS])
def test_no_variable_changes_the_answer_of_a_closed_guard(
    tmp_path: Path, hostile: Hostile, monkeypatch: pytest.MonkeyPatch
) -> None:
    if hostile.needs.isalnum() and shutil.which(hostile.needs) is None:
        pytest.skip(f"{hostile.needs} is not on this machine")
    if hostile.path:
        monkeypatch.setenv("PATH", hostile.path)
    scenes = [Scene(tmp_path / name) for name in ("unreviewed", "reviewed")]
    for scene, guard in zip(scenes, (False, True), strict=True):
        for name, text in (SCRIPTS | dict(hostile.files)).items():
            scene.write(name, text)
        (scene.path / "hooks/x.bash").chmod(0o755)
        if hostile.needs_compiler:
            library("tools/z.so")(scene)
        scene.settings(command_hook(hostile.command, guard=guard))
    unreviewed, reviewed = scenes
    (hook,) = review(reviewed.path)
    assert hook["open"] == ""
    for scene in scenes:
        with pytest.MonkeyPatch.context() as environment:
            for variable, value in hostile.variables.items():
                environment.setenv(variable, scene.text(value))
            answer = fire(scene.path, **({"trusted": True} if scene is unreviewed else {}))
    assert unreviewed.mark.exists() or not hostile.is_real, "the attack is none"
    assert is_as_reviewed(answer)
    assert not reviewed.mark.exists()


def test_what_was_taken_out_is_told_once(scene: Scene) -> None:
    scene.write("hooks/x.sh", denial_for("x.sh"))
    scene.settings(command_hook("bash hooks/x.sh"))
    review(scene.path)
    done = run(*WRITE, cwd=scene.path, BASH_ENV="/nowhere.sh", LD_PRELOAD="")
    assert done.status == 2
    assert done.err.count("BASH_ENV") == 1


def test_an_ordinary_hook_keeps_its_environment(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene.write("hooks/x.sh", '#!/bin/sh\necho "$PYTHONPATH" >&2\nexit 2\n')
    scene.settings(command_hook("hooks/x.sh", guard=False))
    review(scene.path)
    monkeypatch.setenv("PYTHONPATH", "/somewhere")
    assert fire(scene.path).reason == "/somewhere"


def test_a_guard_keeps_what_is_no_danger(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    scene.write("hooks/x.sh", '#!/bin/sh\necho "$TOKEN $MODE $LANG" >&2\nexit 2\n')
    scene.settings(command_hook("hooks/x.sh", env={"MODE": "strict"}))
    review(scene.path)
    monkeypatch.setenv("TOKEN", "of-the-user")
    assert fire(scene.path).reason == "of-the-user strict C.UTF-8"


# The interpreter.


def own_interpreter(folder: Path) -> Path:
    """Put an interpreter into a folder: the one of these tests, by another name."""
    folder.mkdir(parents=True)
    (folder / "python3").write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    (folder / "python3").chmod(0o755)
    return folder


@pytest.mark.parametrize("command", ["python3 hooks/x.py", "hooks/x.py"])
def test_an_interpreter_that_is_gone_fails_the_guard_and_is_named(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    folder = own_interpreter(scene.outside / "bin")
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    scene.write("hooks/x.py", denial_for("x.py"))
    scene.settings(command_hook(command))
    review(scene.path)
    assert is_as_reviewed(fire(scene.path))
    (folder / "python3").unlink()
    answer = fire(scene.path)
    assert answer.blocked
    assert not is_as_reviewed(answer)
    assert str(folder / "python3") in (answer.reason or "")


@pytest.mark.parametrize("command", ["python3 hooks/x.py", "hooks/x.py"])
def test_an_interpreter_is_looked_up_outside_the_project(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    folder = own_interpreter(scene.path / ".venv/bin")
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    scene.write("hooks/x.py", denial_for("x.py"))
    scene.settings(command_hook(command))
    (hook,) = review(scene.path)
    scene.write(".venv/bin/python3", code_for(""))
    answer = fire(scene.path)
    if hook["open"] == "":
        assert is_as_reviewed(answer)
        assert not scene.mark.exists()


# Where the reviews are.


@pytest.fixture
def guarded(scene: Scene) -> Scene:
    scene.write("hooks/x.sh", denial_for("x.sh"))
    scene.settings(command_hook("hooks/x.sh"))
    review(scene.path)
    return scene


@pytest.mark.parametrize("variable", ["HOME", "XDG_STATE_HOME", "HOOKLINE_STATE_DIR"])
@pytest.mark.parametrize("place", ["@OUTSIDE@/new", "", "relative", "/dev/null", "/dev/null/x"])
def test_guards_of_the_passwd_home_stay_in_force_where_variables_lead_elsewhere(
    guarded: Scene, monkeypatch: pytest.MonkeyPatch, variable: str, place: str
) -> None:
    monkeypatch.setenv(variable, guarded.text(place))
    guarded.settings()
    guarded.strike("hooks/x.sh")
    assert fire(guarded.path).blocked
    if "null" not in place:
        assert is_as_reviewed(fire(guarded.path))
    assert not guarded.mark.exists()


def test_all_of_them_at_once(guarded: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "HOOKLINE_STATE_DIR"):
        monkeypatch.setenv(variable, str(guarded.outside / variable))
    guarded.settings()
    assert is_as_reviewed(fire(guarded.path))
    for variable in ("HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "HOOKLINE_STATE_DIR"):
        monkeypatch.delenv(variable)
    assert is_as_reviewed(fire(guarded.path))


@pytest.mark.parametrize("variable", ["HOME", "XDG_STATE_HOME", "HOOKLINE_STATE_DIR"])
def test_nor_does_a_place_in_the_project_hide_them(
    guarded: Scene, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.setenv(variable, str(guarded.path / "state"))
    guarded.settings()
    assert fire(guarded.path).blocked
    assert not (guarded.path / "state").exists()


def test_a_review_elsewhere_without_the_guard_does_not_end_it(
    guarded: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOOKLINE_STATE_DIR", str(guarded.outside / "new"))
    guarded.write("tools/y.sh", "#!/bin/sh\nexit 0\n")
    guarded.settings(command_hook("tools/y.sh"))
    call("trust", "--yes", "--cwd", str(guarded.path))
    assert is_as_reviewed(fire(guarded.path))


def test_guards_of_where_variables_lead_are_in_force_too(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOOKLINE_STATE_DIR", str(scene.outside / "state"))
    scene.write("hooks/x.sh", denial_for("x.sh"))
    scene.settings(command_hook("hooks/x.sh"))
    review(scene.path)
    scene.settings()
    assert is_as_reviewed(fire(scene.path))


@pytest.mark.parametrize("value", ["relative", "./state", "~/state"])
def test_a_state_directory_that_is_relative_is_refused(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.setenv("HOOKLINE_STATE_DIR", value)
    scene.write("hooks/x.sh", denial_for("x.sh"))
    scene.settings(command_hook("hooks/x.sh"))
    done = call("trust", "--yes", "--cwd", str(scene.path))
    assert (done.status, "absolute" in done.err) == (1, True)


# Python guards that are kept warm.


def test_a_warm_guard_is_the_reviewed_one(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    scene.write("hooks/x.py", denial_for("x.py"))
    scene.settings(command_hook("python3 hooks/x.py", warm=True))
    review(scene.path)
    scene.write("tools/sitecustomize.py", code_for("z.py"))
    monkeypatch.setenv("PYTHONPATH", str(scene.path / "tools"))
    with Hooks.load(scene.path) as hooks:
        for _ in range(4):
            assert is_as_reviewed(hooks.sync.before_tool("run", {}))
            scene.strike("hooks/x.py")
            scene.strike("hooks/json.py")
    assert not scene.mark.exists()


def test_a_test_gives_its_variables_to_the_hook_and_to_nothing_of_ours(scene: Scene) -> None:
    scene.write("hooks/x.sh", "#!/bin/sh\nexit 0\n")
    scene.settings(command_hook("bash hooks/x.sh"))
    case = '{"event": "BeforeTool", "tool": "run", "tool_input": {}, "expect": {}, "env": %s}'
    variables = '{"BASH_ENV": "@PROJECT@/tools/z.sh", "HOOKLINE_STATE_DIR": "@PROJECT@/state"}'
    scene.write("tools/z.sh", code_for("z.sh"))
    scene.write(".hookline/tests/x.hooktest.json", case % variables)
    done = call("test", "--cwd", str(scene.path))
    assert not scene.mark.exists()
    assert re.search("--trust|hookline trust", done.out + done.err)
