"""Scripts behind a plain command: what they load is covered, is named as not covered, or makes the
hook open; what they read is the copy's where a guard says so in its words.
"""

import importlib.util
import os
import py_compile
import re
import shutil
import sysconfig
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.trust.attacks.kit import (
    REASON,
    Change,
    Scene,
    call,
    code_for,
    command_hook,
    denial_for,
    fire,
    is_as_reviewed,
    review,
)
from tests.trust.attacks.test_commands import library, repoint

DENY = f"echo '{REASON}' >&2; exit 2\n"
PY_DENY = f"sys.exit(sys.stderr.write('{REASON}') and 2)\n"
JS_DENY = f"console.error('{REASON}'); process.exit(2);\n"
PL_DENY = f"print STDERR '{REASON}'; exit 2;\n"
EXTENSION = sysconfig.get_config_var("EXT_SUFFIX")


class Script(NamedTuple):
    name: str
    text: str
    change: Change
    file: str = "hooks/x.sh"
    command: str = ""
    files: Mapping[str, str] = {}
    prepare: Callable[[Scene], object] | None = None
    covers: tuple[str, ...] = ()
    closed: bool | None = True
    hint: str = ""  # what the review must name as not covered
    guard_only: bool = False  # where only the copy can help an ordinary hook's reader
    needs: tuple[str, ...] = ()
    is_real: bool = True

    def build(self, scene: Scene, *, guard: bool) -> None:
        scene.write("tools/y.sh", denial_for("y.sh"))
        scene.write(self.file, self.text)
        for name, text in self.files.items():
            scene.write(name, text)
        if self.prepare is not None:
            self.prepare(scene)
        fields: dict[str, Any] = {"covers": list(self.covers)} if self.covers else {}
        command = scene.text(self.command or self.file)
        scene.settings(command_hook(command, guard=guard, **fields))


def sh(name: str, body: str, change: Change, **fields: Any) -> Script:
    return Script(name, f"#!/bin/sh\n{body}\n{DENY}", change, **fields)


def bash(name: str, body: str, change: Change, **fields: Any) -> Script:
    return Script(name, f"#!/bin/bash\n{body}\n{DENY}", change, **fields)


def py(name: str, body: str, change: Change, **fields: Any) -> Script:
    text = f"#!/usr/bin/env python3\nimport os, sys\n{body}\n{PY_DENY}"
    return Script(name, text, change, **{"file": "hooks/x.py"} | fields)


def js(name: str, body: str, change: Change, **fields: Any) -> Script:
    text = f"#!/usr/bin/env node\n{body}\n{JS_DENY}"
    return Script(name, text, change, **{"file": "hooks/x.js", "needs": ("node",)} | fields)


def pl(name: str, body: str, change: Change, **fields: Any) -> Script:
    text = f"#!/usr/bin/perl\n{body}\n{PL_DENY}"
    return Script(name, text, change, file="hooks/x.pl", needs=("perl",), **fields)


def plant_bytecode(scene: Scene) -> None:
    """Leave compiled code for a module that Python takes without looking at its source."""
    code = scene.outside / "lib.py"
    code.write_text(scene.text(code_for("lib.py")))
    cache = importlib.util.cache_from_source(str(scene.path / "hooks/lib.py"))
    mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
    py_compile.compile(str(code), cfile=cache, invalidation_mode=mode)


def compile_beside(name: str) -> Callable[[Scene], None]:
    """Leave compiled code without a source."""

    def change(scene: Scene) -> None:
        code = scene.outside / "code.py"
        code.write_text(scene.text(code_for("code.py")))
        py_compile.compile(str(code), cfile=str(scene.path / name))

    return change


NEIGHBOURS = [
    sh("sources a neighbour", '. "$(dirname "$0")/lib.sh"', "hooks/lib.sh",
       files={"hooks/lib.sh": ""}),
    bash("sources by BASH_SOURCE", '. "${BASH_SOURCE[0]%/*}/lib.sh"', "hooks/lib.sh",
         files={"hooks/lib.sh": ""}),
    sh("changes into its folder", 'cd "$(dirname "$0")" && . ./lib.sh', "hooks/lib.sh",
       files={"hooks/lib.sh": ""}),
    sh("starts a neighbour", '"$(dirname "$0")/other.sh"', "hooks/other.sh",
       files={"hooks/other.sh": "#!/bin/sh\n"}),
    sh("starts one deeper", '"$(dirname "$0")/lib/deep/other.sh"', "hooks/lib/deep/other.sh",
       files={"hooks/lib/deep/other.sh": "#!/bin/sh\n"}),
    sh("starts all of a folder", 'for f in "$(dirname "$0")"/x.d/*; do . "$f"; done',
       "hooks/x.d/z.sh", files={"hooks/x.d/a.sh": ""}),
    sh("starts what may be there", 'more=$(dirname "$0")/more; [ ! -x "$more" ] || "$more"',
       "hooks/more"),
    sh("evaluates a neighbour", 'eval "$(cat "$(dirname "$0")/code")"',
       {"hooks/code": "touch '@MARK@'"}, files={"hooks/code": ""}),
    sh("neighbour through a link", '. "$(dirname "$0")/lib/z.sh"', "lib/z.sh",
       files={"lib/z.sh": ""}, prepare=lambda s: s.link("hooks/lib", "../lib"), closed=None),
    sh("link of a neighbour led elsewhere", '. "$(dirname "$0")/lib/z.sh"',
       repoint("hooks/lib", "../evil"), files={"lib/z.sh": "", "evil/z.sh": code_for("z.sh")},
       prepare=lambda s: s.link("hooks/lib", "../lib"), closed=None),
    sh("file through a link", '. "$(dirname "$0")/lib.sh"', "lib/z.sh", files={"lib/z.sh": ""},
       prepare=lambda s: s.link("hooks/lib.sh", "../lib/z.sh")),
    sh("in .claude/hooks", '. "$(dirname "$0")/lib.sh"', ".claude/hooks/lib.sh",
       file=".claude/hooks/x.sh", files={".claude/hooks/lib.sh": ""}),
    sh("below .hookline", '. "$(dirname "$0")/lib.sh"', ".hookline/scripts/lib.sh",
       file=".hookline/scripts/x.sh", files={".hookline/scripts/lib.sh": ""}),
    sh("state that is sourced", 'z=$(dirname "$0")/state/z.sh; [ ! -e "$z" ] || . "$z"',
       "hooks/state/z.sh", files={"hooks/state/count": "1"}),
    sh("state that is started", 'z=$(dirname "$0")/state/z; [ ! -x "$z" ] || "$z"',
       "hooks/state/z", files={"hooks/state/count": "1"}),
    py("imports a sibling", "import lib", "hooks/lib.py", files={"hooks/lib.py": ""}),
    py("imports a package", "import pkg.a", "hooks/pkg/a.py",
       files={"hooks/pkg/__init__.py": "", "hooks/pkg/a.py": ""}),
    py("namespace package", "import ns.a", "hooks/ns/__init__.py", files={"hooks/ns/a.py": ""}),
    py("folder of its own", "sys.path.insert(0, os.path.dirname(__file__) + '/lib'); import z",
       "hooks/lib/z.py", files={"hooks/lib/z.py": ""}),
    py("state.py and state/", "import state", "hooks/state/__init__.py",
       files={"hooks/state.py": "", "hooks/state/count": "1"}),
    py("state.py and abi3", "import state", library("hooks/state/__init__.abi3.so"),
       files={"hooks/state.py": "", "hooks/state/count": "1"}, needs=("gcc",)),
    py("state.py and cpython", "import state", library(f"hooks/state/__init__{EXTENSION}"),
       files={"hooks/state.py": "", "hooks/state/count": "1"}, needs=("gcc",)),
    py("state.py and bytecode", "import state", compile_beside("hooks/state/__init__.pyc"),
       files={"hooks/state.py": "", "hooks/state/count": "1"}),
    py("module in state", "try: import state.more\nexcept ImportError: pass", "hooks/state/more.py",
       files={"hooks/state/count": "1"}),
    py("planted bytecode", "import lib", plant_bytecode, files={"hooks/lib.py": ""},
       is_real=False),
    py("module that may be there", "try: import more\nexcept ImportError: pass", "hooks/more.py"),
    py("bytecode that may be there", "try: import more\nexcept ImportError: pass",
       compile_beside("hooks/more.pyc")),
    py("folder of sites", "import site; site.addsitedir(os.path.dirname(__file__) + '/site')",
       {"hooks/site/z.pth": "import os; open('@MARK@', 'w')\n"}, files={"hooks/site/a.pth": "\n"}),
    js("requires a neighbour", "require('./lib')", "hooks/lib.js", files={"hooks/lib.js": ""}),
    js("requires a package", "require('./lib')",
       {"hooks/lib/package.json": '{"main": "z.js"}'},
       files={"hooks/lib/package.json": '{"main": "a.js"}', "hooks/lib/a.js": "",
              "hooks/lib/z.js": code_for("z.js")}, closed=True),
    js("name without a suffix", "require('./lib')", {"hooks/lib": code_for("z.js")},
       files={"hooks/lib.js": ""}),
    js("module of the folder", "try { require('z') } catch (e) {}",
       {"hooks/node_modules/z/index.js": code_for("z.js")}),
    js("module of the project", "try { require('z') } catch (e) {}",
       {"node_modules/z/index.js": code_for("z.js")}, guard_only=True),
    pl("own library", "use FindBin; use lib $FindBin::Bin; use Z;", "hooks/Z.pm",
       files={"hooks/Z.pm": "1;"}),
    Script("requires relatively", "require_relative 'lib'\n" + denial_for("x.rb"), "hooks/lib.rb",
           file="hooks/x.rb", command="ruby hooks/x.rb", files={"hooks/lib.rb": ""},
           needs=("ruby",)),
]  # fmt: skip
# Covered files that a script names by the project's path: the live ones, though the script is a
# copy. A review vouches for them or says that it does not.
BY_PROJECT_PATH = [
    sh("sources its neighbour by path", ". hooks/lib.sh", "hooks/lib.sh",
       files={"hooks/lib.sh": ""}, closed=None),
    sh("sources by the variable", '. "$HOOKLINE_PROJECT_DIR/hooks/lib.sh"', "hooks/lib.sh",
       files={"hooks/lib.sh": ""}, closed=None),
    sh("starts by the variable", 'sh "${CLAUDE_PROJECT_DIR}"/hooks/other.sh', "hooks/other.sh",
       files={"hooks/other.sh": ""}, closed=None),
    py("runs by path", "import runpy; runpy.run_path('hooks/lib.py')", "hooks/lib.py",
       files={"hooks/lib.py": ""}, closed=None),
    pl("requires by path", 'require "./hooks/z.pl";', "hooks/z.pl", files={"hooks/z.pl": "1;"},
       closed=None),
    sh("sources what covers names", ". tools/lib.sh", "tools/lib.sh", covers=("tools/**",),
       files={"tools/lib.sh": ""}, closed=None),
    py("imports what covers names", "sys.path.insert(0, 'lib'); import z", "lib/z.py",
       covers=("lib/**",), files={"lib/z.py": ""}, closed=None),
]  # fmt: skip
NAMED = [
    sh("sources another", ". tools/lib.sh", "tools/lib.sh", files={"tools/lib.sh": ""},
       hint="tools/lib.sh", closed=None),
    sh("sources another by the variable", '. "$HOOKLINE_PROJECT_DIR/tools/lib.sh"', "tools/lib.sh",
       files={"tools/lib.sh": ""}, hint="tools/lib.sh", closed=None),
    sh("starts another", "tools/y.sh", "tools/y.sh", hint="tools/y.sh", closed=None),
    sh("starts another quietly", "out=$(sh ./tools/y.sh 2>/dev/null)", "tools/y.sh",
       hint="tools/y.sh", closed=None),
    py("runs another", "import runpy; runpy.run_path('tools/z.py')", "tools/z.py",
       files={"tools/z.py": ""}, hint="tools/z.py", closed=None),
    py("starts another program", 'import subprocess; subprocess.run(["sh", "tools/y.sh"])',
       "tools/y.sh", hint="tools/y.sh", closed=None),
    pl("does another", 'do "./tools/z.pl";', "tools/z.pl", files={"tools/z.pl": "1;"},
       hint="tools/z.pl", closed=None),
    js("starts another by node",
       "require('child_process').execFileSync('sh', ['tools/y.sh'], {stdio: 'ignore'})",
       "tools/y.sh", hint="tools/y.sh", closed=None, guard_only=True, is_real=False),
    sh("interpreter of the project", "tools/python3 -V", "tools/python3", hint="tools/python3",
       closed=None, files={"tools/python3": "#!/bin/sh\n"}),
    sh("one without a hook folder", '. "$(dirname "$0")/lib.sh"', "tools/lib.sh",
       file="tools/x.sh", files={"tools/lib.sh": ""}, guard_only=True),
]  # fmt: skip


@pytest.mark.parametrize(
    "script", [pytest.param(each, id=each.name) for each in NEIGHBOURS + BY_PROJECT_PATH + NAMED]
)
def test_what_a_script_loads_runs_as_reviewed_or_was_named(tmp_path: Path, script: Script) -> None:
    if not all(map(shutil.which, script.needs)):
        pytest.skip(f"{script.needs} is not on this machine")
    unreviewed = Scene(tmp_path / "unreviewed")
    script.build(unreviewed, guard=False)
    unreviewed.strike(script.change)
    fire(unreviewed.path, trusted=True)
    assert unreviewed.mark.exists() or not script.is_real, "the attack is none"
    for guard in (False, True):
        if guard or not script.guard_only:
            resist(Scene(tmp_path / ("guard" if guard else "hook")), script, guard=guard)


def resist(scene: Scene, script: Script, *, guard: bool) -> None:
    """Review, attack and fire once; raise AssertionError if the law does not hold."""
    script.build(scene, guard=guard)
    screen = " ".join(call("trust", "--cwd", str(scene.path)).out.split())
    (hook,) = review(scene.path)
    is_closed = hook["open"] == ""
    assert script.closed in (None, is_closed) or script.hint or script.guard_only, hook["open"]
    hints = re.findall(r"(\S+), line \d+, names (\S+): not covered", screen)
    is_named = script.change in [name for _, name in hints]
    if script.hint:
        assert (script.file, script.hint) in hints, screen
        assert re.search("covers.* adds it", screen)
    if is_closed and not script.guard_only:
        assert is_as_reviewed(fire(scene.path))
    scene.strike(script.change)
    answer = fire(scene.path)
    if is_closed and not is_named:
        assert not scene.mark.exists()
        assert is_as_reviewed(answer) or not guard or script.guard_only


def test_a_hint_names_the_line(scene: Scene) -> None:
    scene.write("hooks/x.sh", f"#!/bin/sh\n# first\n\npython3 tools/x.py\n{DENY}")
    scene.write("tools/x.py", "")
    scene.settings(command_hook("hooks/x.sh"))
    screen = " ".join(call("trust", "--yes", "--cwd", str(scene.path)).out.split())
    assert "hooks/x.sh, line 4, names tools/x.py: not covered" in screen


def test_covers_adds_what_a_script_starts(scene: Scene) -> None:
    scene.write("hooks/x.sh", f"#!/bin/sh\ntools/y.sh\n{DENY}")
    scene.write("tools/y.sh", "#!/bin/sh\n")
    scene.settings(command_hook("hooks/x.sh", guard=False, covers=["tools/**"]))
    (hook,) = review(scene.path)
    assert "tools/y.sh" in hook["files"]
    assert is_as_reviewed(fire(scene.path))
    scene.strike("tools/y.sh")
    fire(scene.path)
    assert not scene.mark.exists()


@pytest.mark.parametrize("change", ["tools/new.sh", {"tools/y.sh": None}])
def test_what_appears_in_or_leaves_covered_folders_is_a_change(
    scene: Scene, change: Change
) -> None:
    scene.write("hooks/x.sh", denial_for("x.sh"))
    scene.write("tools/y.sh", "#!/bin/sh\n")
    scene.settings(command_hook("hooks/x.sh", guard=False, covers=["tools/**"]))
    review(scene.path)
    scene.strike(change)
    assert not fire(scene.path).blocked
    assert call("trust", "--check", "--cwd", str(scene.path)).status == 1


@pytest.mark.parametrize("covers", [["../outside/**"], ["/etc/passwd"], ["@OUTSIDE@/**"]])
def test_covers_leads_nowhere_else(scene: Scene, covers: list[str]) -> None:
    (scene.outside / "secret").write_text("secret of another place")
    scene.write("hooks/x.sh", denial_for("x.sh"))
    scene.settings(command_hook("hooks/x.sh", covers=list(map(scene.text, covers))))
    call("trust", "--yes", "--accept-open", "guard", "--cwd", str(scene.path))
    kept = [file.read_bytes() for file in scene.store.rglob("*") if file.is_file()]
    assert kept
    assert not [content for content in kept if b"secret of another place" in content]
    assert not list(scene.store.rglob("passwd"))


PROJECT, STATE = "HOOKLINE_PROJECT_DIR", "HOOKLINE_HOOK_STATE"
LOCATING = [
    ("hooks/x.sh", 'cd "$(dirname "$0")/.."', PROJECT),
    ("hooks/x.sh", 'ROOT=$(dirname "$(dirname "$0")")', PROJECT),
    ("hooks/x.sh", 'ROOT="${0%/*}/../.."', PROJECT),
    ("hooks/x.bash", 'ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"', PROJECT),
    ("hooks/x.py", "ROOT = pathlib.Path(__file__).parent.parent", PROJECT),
    ("hooks/x.py", "ROOT = pathlib.Path(__file__).resolve().parents[1]", PROJECT),
    ("hooks/x.py", "ROOT = os.path.join(os.path.dirname(__file__), '..')", PROJECT),
    ("hooks/x.py", "ROOT = os.path.dirname(os.path.dirname(__file__))", PROJECT),
    ("hooks/x.js", "const root = require('path').join(__dirname, '..');", PROJECT),
    ("hooks/x.mjs", "const root = new URL('..', import.meta.url);", PROJECT),
    ("hooks/x.sh", 'echo ran >> "$(dirname "$0")/log"', STATE),
    ("hooks/x.sh", 'touch "$(dirname "$0")/state/seen"', STATE),
    ("hooks/x.py", "open(os.path.join(os.path.dirname(__file__), 'log'), 'a').write('ran')",
     STATE),
    ("hooks/x.py", "pathlib.Path(__file__).with_suffix('.log').write_text('ran')",
     STATE),
]  # fmt: skip
HEADS = {
    "sh": ("#!/bin/sh\n# guards\n", DENY),
    "bash": ("#!/bin/bash\n# guards\n", DENY),
    "py": ("#!/usr/bin/env python3\nimport os, pathlib, sys\n", PY_DENY),
    "js": ("#!/usr/bin/env node\n// guards\n", JS_DENY),
    "mjs": ("#!/usr/bin/env node\n// guards\n", JS_DENY),
}


@pytest.mark.parametrize(("name", "line", "remedy"), LOCATING)
def test_a_guard_that_looks_from_its_own_place_is_an_error_and_open(
    scene: Scene, name: str, line: str, remedy: str
) -> None:
    head, tail = HEADS[Path(name).suffix[1:]]
    scene.write(name, f"{head}{line}\n{tail}").chmod(0o755)
    scene.settings(command_hook(name))
    done = call("check", "--cwd", str(scene.path))
    said = done.out + done.err
    assert done.status == 1
    assert re.search(rf"{re.escape(name)}(:|, line )3\b", said), said
    assert remedy in said
    refused = call("trust", "--yes", "--json", "--cwd", str(scene.path))
    (hook,) = refused.document["hooks"]
    assert hook["open"]
    assert (refused.status, refused.document["trusted"]) == (1, False)
    # An ordinary hook runs in place, where it finds all that it looks for.
    scene.settings(command_hook(name, guard=False))
    (hook,) = review(scene.path)
    assert hook["open"] == ""


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("hooks/x.sh", 'cd "$HOOKLINE_PROJECT_DIR"'),
        ("hooks/x.sh", 'echo ran >> "$HOOKLINE_HOOK_STATE/log"'),
        ("hooks/x.sh", 'cat "$(dirname "$0")/x.sh" > /dev/null'),
        ("hooks/x.py", "HERE = os.path.dirname(__file__)"),
        ("hooks/x.py", "os.path.join(os.environ['HOOKLINE_PROJECT_DIR'], '..')"),
    ],
)
def test_the_remedies_are_closed_and_no_error(scene: Scene, name: str, line: str) -> None:
    head, tail = HEADS[Path(name).suffix[1:]]
    scene.write(name, f"{head}{line}\n{tail}").chmod(0o755)
    scene.settings(command_hook(name))
    assert call("check", "--cwd", str(scene.path)).status == 0
    (hook,) = review(scene.path)
    assert hook["open"] == ""
    assert is_as_reviewed(fire(scene.path))


def test_the_folder_for_state_is_the_users_and_outside_the_project(scene: Scene) -> None:
    scene.write("hooks/x.sh", f'#!/bin/sh\necho "$HOOKLINE_HOOK_STATE" > @OUTSIDE@/said\n{DENY}')
    scene.settings(command_hook("hooks/x.sh"))
    review(scene.path)
    fire(scene.path)
    state = Path((scene.outside / "said").read_text().strip())
    assert state.is_dir()
    assert not state.resolve().is_relative_to(scene.path.resolve())
    assert state.stat().st_mode & 0o077 == 0
    assert os.access(state, os.W_OK)


WORDS = [
    "hooks/x.sh hooks/rules",
    "hooks/x.sh --rules=hooks/rules",
    'hooks/x.sh "$HOOKLINE_PROJECT_DIR"/hooks/rules',
    "sh hooks/x.sh ./hooks/rules",
    "hooks/x.sh @PROJECT@/hooks/rules",
]
READS = f'#!/bin/sh\ngrep -q deny "${{1#--rules=}}" || exit 0\n{DENY}'


@pytest.mark.parametrize("command", WORDS)
def test_words_that_name_covered_files_lead_a_guard_to_the_copy(scene: Scene, command: str) -> None:
    scene.write("hooks/x.sh", READS)
    scene.write("hooks/rules", "deny\n")
    scene.settings(command_hook(scene.text(command)))
    review(scene.path)
    scene.write("hooks/rules", "allow\n")
    assert is_as_reviewed(fire(scene.path))
    (scene.path / "hooks/rules").unlink()
    assert is_as_reviewed(fire(scene.path))


def test_words_that_name_what_covers_adds_lead_to_the_copy_too(scene: Scene) -> None:
    scene.write("hooks/x.sh", READS)
    scene.write("lib/deep/rules", "deny\n")
    scene.settings(command_hook("hooks/x.sh lib/deep/rules", covers=["lib/**"]))
    review(scene.path)
    scene.write("lib/deep/rules", "allow\n")
    assert is_as_reviewed(fire(scene.path))


def test_every_other_word_is_data_of_the_live_project_and_is_listed(scene: Scene) -> None:
    scene.write("hooks/x.sh", READS)
    scene.write("src/data", "allow\n")
    scene.settings(command_hook("hooks/x.sh src/data"))
    assert "src/data" in call("trust", "--cwd", str(scene.path)).out
    review(scene.path)
    assert not fire(scene.path).blocked
    scene.write("src/data", "deny\n")
    assert is_as_reviewed(fire(scene.path))


def test_a_guard_sees_the_live_project_around_it(scene: Scene) -> None:
    scene.write(
        "hooks/x.sh",
        "#!/bin/sh\npwd > @OUTSIDE@/said; echo $HOOKLINE_PROJECT_DIR >> @OUTSIDE@/said\n"
        f"cat >> @OUTSIDE@/said\n{DENY}",
    )
    scene.settings(command_hook("hooks/x.sh"))
    review(scene.path)
    fire(scene.path)
    cwd, project, event = (scene.outside / "said").read_text().splitlines()[:3]
    assert Path(cwd).samefile(scene.path)
    assert Path(project).samefile(scene.path)
    assert '"tool_name":"run"' in event.replace(" ", "")


@pytest.mark.parametrize(
    ("name", "text", "is_change"),
    [
        ("hooks/state/count", "2", False),
        ("hooks/state/log.txt", "ran", False),
        ("hooks/state/cache.json", "{}", False),
        ("hooks/__pycache__/x.cpython-311.pyc", "", False),
        ("hooks/x.sh~", "", False),
        ("hooks/.x.sh.swp", "", False),
        ("src/other.py", "", False),
        ("hooks/state/run.py", "", True),
        ("hooks/state/run.pyc", "", True),
        ("hooks/state/run.js", "", True),
        ("hooks/state/run.sh", "", True),
        ("hooks/state/run.abi3.so", "", True),
        (f"hooks/state/run{EXTENSION}", "", True),
        ("hooks/state/run.txt", "#!/bin/sh\n", True),
        ("hooks/new.txt", "", True),
        ("hooks/deep/new", "", True),
    ],
)
def test_what_may_appear_beside_a_hook(scene: Scene, name: str, text: str, is_change: bool) -> None:
    scene.write("hooks/x.sh", denial_for("x.sh"))
    scene.settings(command_hook("hooks/x.sh", guard=False))
    review(scene.path)
    scene.write(name, text).chmod(0o644)
    assert is_as_reviewed(fire(scene.path)) is not is_change
    assert call("trust", "--check", "--cwd", str(scene.path)).status == is_change


@pytest.mark.parametrize("mode", [0o755, 0o711, 0o100])
def test_an_executable_bit_in_state_is_a_change(scene: Scene, mode: int) -> None:
    scene.write("hooks/x.sh", denial_for("x.sh"))
    scene.settings(command_hook("hooks/x.sh", guard=False))
    review(scene.path)
    scene.write("hooks/state/data.bin", "").chmod(mode)
    assert not fire(scene.path).blocked


def test_a_mode_that_changes_is_a_change(scene: Scene) -> None:
    scene.write("hooks/x.sh", denial_for("x.sh"))
    scene.write("hooks/data", "x").chmod(0o644)
    scene.settings(command_hook("hooks/x.sh", guard=False))
    review(scene.path)
    (scene.path / "hooks/data").chmod(0o755)
    assert not fire(scene.path).blocked
    assert call("trust", "--check", "--cwd", str(scene.path)).status == 1


def test_a_script_that_is_not_utf8_is_shown_with_escapes(scene: Scene) -> None:
    (scene.path / "hooks").mkdir()
    (scene.path / "hooks/x.sh").write_bytes(b"#!/bin/sh\n# \xff\x1b[2J\nrm -rf /\n")
    scene.settings(command_hook("sh hooks/x.sh"))
    shown = call("trust", "--cwd", str(scene.path)).out
    assert "rm -rf /" in shown
    assert "\\xff" in shown
    assert "\x1b" not in shown


def test_hooks_leave_no_bytecode_in_the_project(scene: Scene) -> None:
    scene.write("hooks/x.py", f"#!/usr/bin/env python3\nimport sys, lib\n{PY_DENY}")
    scene.write("hooks/lib.py", "")
    for guard in (False, True):
        scene.settings(command_hook("python3 hooks/x.py", guard=guard))
        review(scene.path)
        assert is_as_reviewed(fire(scene.path))
    assert not list(scene.path.rglob("*.pyc"))
    # Nor does a guard find any beside its copy that somebody else has left there.
    assert not list(scene.store.rglob("*.pyc"))
