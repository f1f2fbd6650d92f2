"""A table of commands as an attacker would try them: changed code of the project runs only where
the review called the command open.

Reviewed scripts deny. ``named`` says that a word of the command names what changes: then it is
covered, and does not run even where the command is open.
"""

import json
import mmap
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.trust.attacks.kit import (
    REASON,
    Change,
    Scene,
    code_for,
    command_hook,
    denial_for,
    fire,
    is_as_reviewed,
    look,
    review,
)

SCRIPTS = ("hooks/x.sh", "hooks/x.py", "hooks/x.js", "hooks/x.pl", "hooks/x.rb", "tools/y.sh")


class Attack(NamedTuple):
    name: str
    command: str
    change: Change = "tools/y.sh"
    closed: bool | None = None  # None where either is right, as long as the law holds
    named: bool = False
    args: tuple[str, ...] | None = None
    env: Mapping[str, str] = {}
    files: Mapping[str, str] = {}
    prepare: Callable[[Scene], object] | None = None
    needs: tuple[str, ...] = ()
    cwd: str = "."
    is_real: bool = True  # False where nothing creates the mark, review or none
    is_run: bool = True  # False where it is enough to know what the review calls it

    def build(self, scene: Scene, *, guard: bool) -> None:
        for name in SCRIPTS:
            scene.write(name, denial_for(name))
        for name, text in self.files.items():
            scene.write(name, text)
        if self.prepare is not None:
            self.prepare(scene)
        (scene.path / self.cwd).mkdir(parents=True, exist_ok=True)
        fields: dict[str, Any] = {}
        if self.args is not None:
            fields["args"] = [scene.text(word) for word in self.args]
        if self.env:
            fields["env"] = {name: scene.text(value) for name, value in self.env.items()}
        scene.settings(command_hook(scene.text(self.command), guard=guard, **fields))

    def is_runnable(self) -> bool:
        return self.is_run and all(map(shutil.which, self.needs))


def exec_forms(attacks: list[Attack]) -> Iterator[Attack]:
    """The same words as a command and its arguments, without a shell."""
    for attack in attacks:
        command, *args = shlex.split(attack.command)
        name = f"{attack.name} as arguments"
        yield attack._replace(name=name, command=command, args=tuple(args))


def opened(command: str, **fields: Any) -> Attack:
    """A command that is open, whatever it does."""
    return Attack(command, command, closed=False, **fields)


def plain(command: str, change: Change = "hooks/x.sh", **fields: Any) -> Attack:
    """A command that everybody writes, and that a review vouches for."""
    return Attack(fields.pop("name", command), command, change, closed=True, **fields)


def git(scene: Scene, *words: str) -> None:
    subprocess.run(["git", *map(scene.text, words)], cwd=scene.path, check=True)


def repository(scene: Scene) -> None:
    git(scene, "init", "-q")


def set_git(key: str, value: str) -> Callable[[Scene], None]:
    return lambda scene: git(scene, "config", key, value)


def keep_size_and_times(name: str) -> Callable[[Scene], None]:
    """Change a script through a map of it, so that its size and times are as they were."""

    def change(scene: Scene) -> None:
        path = scene.path / name
        status = path.stat()
        code = scene.text(code_for(name)).encode()
        with path.open("r+b") as file, mmap.mmap(file.fileno(), 0) as content:
            content[:] = code.ljust(len(content), b"\n")[: len(content)]
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))

    return change


def long_script(scene: Scene) -> None:
    """A script with room for the attacker's code."""
    for name in ("hooks/x.sh", "hooks/x.py"):
        scene.write(name, denial_for(name) + "# " + "x" * 500 + "\n")


def library(name: str) -> Callable[[Scene], None]:
    """Put a library there that does its work when it is loaded."""

    def change(scene: Scene) -> None:
        source = scene.outside / "library.c"
        source.write_text(
            "#include <fcntl.h>\n#include <unistd.h>\n__attribute__((constructor)) "
            f'static void load(void) {{ close(open("{scene.mark}", O_CREAT | O_WRONLY, 0600)); }}\n'
        )
        path = scene.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["gcc", "-shared", "-fPIC", "-o", str(path), str(source)], check=True)

    return change


def replace_by_link(name: str, target: str) -> Callable[[Scene], None]:
    def change(scene: Scene) -> None:
        scene.write(target, code_for(name))
        scene.link(name, f"@PROJECT@/{target}")

    return change


def replace_by_folder(scene: Scene) -> None:
    (scene.path / "hooks/x.sh").unlink()
    (scene.path / "hooks/x.sh").mkdir()


def give_other_name(scene: Scene) -> None:
    (scene.path / "other").mkdir()
    os.link(scene.path / "hooks/x.sh", scene.path / "other/x.sh")


def through_hard_link(scene: Scene) -> None:
    """Change a script by its other name, which nobody reviewed."""
    with (scene.path / "other/x.sh").open("w") as file:
        file.write(scene.text(code_for("x.sh")))


def repoint(name: str, target: str) -> Callable[[Scene], None]:
    return lambda scene: scene.link(name, target)


def replace_interpreter(scene: Scene) -> None:
    # Its folder moves away, as this link leads to the interpreter of these tests.
    (scene.path / ".venv").rename(scene.path / ".venv-before")
    scene.write(".venv/bin/python", code_for(""))


def archive(code: str) -> Callable[[Scene], None]:
    """Put an archive there that Python runs."""

    def change(scene: Scene) -> None:
        with zipfile.ZipFile(scene.path / "tools/z.pyz", "w") as file:
            file.writestr("__main__.py", scene.text(code))

    return change


WRAPPERS = [
    opened("env tools/y.sh", named=True),
    opened("env FOO=1 tools/y.sh", named=True),
    opened("env -i tools/y.sh", named=True),
    opened("env -S tools/y.sh", named=True),
    opened("env PATH=tools:/usr/bin:/bin y.sh"),
    opened("nice tools/y.sh", named=True),
    opened("nice -n 5 sh tools/y.sh", named=True),
    opened("timeout 5 tools/y.sh", named=True),
    opened("timeout --signal=KILL 5 sh tools/y.sh", named=True),
    opened("nohup tools/y.sh", named=True),
    opened("setsid -w tools/y.sh", named=True, needs=("setsid",)),
    opened("stdbuf -oL tools/y.sh", named=True, needs=("stdbuf",)),
    opened("flock @OUTSIDE@/lock tools/y.sh", named=True, needs=("flock",)),
    opened("ionice -c3 tools/y.sh", named=True, needs=("ionice",)),
    opened("script -qec tools/y.sh /dev/null", named=True, needs=("script",)),
    opened("find tools -name y.sh -exec {} ';'"),
    opened("find tools -name '*.sh' -exec sh {} ';'", change={"tools/z.sh": code_for("z.sh")}),
    opened("xargs -a tools/list -n 1 sh", named=True, change={"tools/list": "tools/z.sh\n"},
           files={"tools/list": "hooks/x.sh\n", "tools/z.sh": code_for("z.sh")}),
    opened("busybox sh tools/y.sh", named=True, needs=("busybox",)),
    opened("parallel -n0 tools/y.sh ::: 1", named=True, needs=("parallel",)),
    opened("sudo tools/y.sh", named=True, is_run=False),
    opened("doas tools/y.sh", named=True, is_run=False),
    opened("systemd-run --pipe tools/y.sh", named=True, is_run=False),
]  # fmt: skip
INTERPRETERS = [
    opened("python3 -m tools.z", change="tools/z.py", files={"tools/z.py": denial_for("z.py")}),
    opened("python3 -mtools.z", change="tools/z.py", files={"tools/z.py": denial_for("z.py")}),
    opened("python3 -Bm hooks.x", change="hooks/x.py"),
    opened("python3 -um json.tool", change={"json.py": code_for("y.py")}),
    opened("python3 -c 'import runpy; runpy.run_path(\"tools/z.py\")'",
           change="tools/z.py", files={"tools/z.py": denial_for("z.py")}),
    opened("python3 -c 'import z'", change="z.py"),
    opened("python3 -X dev hooks/x.py", change="hooks/x.py", named=True),
    opened("python3 -W ignore hooks/x.py", change="hooks/x.py", named=True),
    opened("python3 -Werror::z.Z -P hooks/x.py", change="hooks/x.py", named=True),
    opened("python3 -i hooks/x.py", change="hooks/x.py", named=True),
    opened("python3 --check-hash-based-pycs never hooks/x.py", change="hooks/x.py", named=True),
    opened("node -r ./tools/z.js hooks/x.js", named=True, change="tools/z.js",
           files={"tools/z.js": ""}, needs=("node",)),
    opened("node --require=./tools/z.js hooks/x.js", change="tools/z.js",
           files={"tools/z.js": ""}, needs=("node",)),
    opened("node --import ./tools/z.mjs hooks/x.js", named=True, change="tools/z.mjs",
           files={"tools/z.mjs": ""}, needs=("node",)),
    opened("node --env-file=tools/env hooks/x.js", needs=("node",), files={"tools/env": ""},
           change={"tools/env": "NODE_OPTIONS=--require=./tools/z.js\n",
                   "tools/z.js": code_for("z.js")}, is_real=False),
    opened("node -e 'require(\"./tools/z.js\")'", change="tools/z.js", needs=("node",),
           files={"tools/z.js": ""}),
    opened("node -p 'require(\"./tools/z.js\")'", change="tools/z.js", needs=("node",),
           files={"tools/z.js": ""}),
    opened("node .", change={"index.js": code_for("z.js")}, needs=("node",)),
    opened("perl -Itools -MZ hooks/x.pl", change="tools/Z.pm", needs=("perl",),
           files={"tools/Z.pm": "1;"}),
    opened("perl -Mlib=tools -MZ hooks/x.pl", change="tools/Z.pm", needs=("perl",),
           files={"tools/Z.pm": "1;"}),
    opened("perl -e 'do \"./tools/z.pl\"'", change="tools/z.pl", needs=("perl",),
           files={"tools/z.pl": "1;"}),
    opened("perl -x tools/z.txt", change={"tools/z.txt": "#!perl\n" + code_for("z.pl")},
           needs=("perl",), files={"tools/z.txt": "#!perl\n"}, named=True),
    opened("ruby -r./tools/z hooks/x.rb", change="tools/z.rb", needs=("ruby",),
           files={"tools/z.rb": ""}),
    opened("ruby -Itools -rz hooks/x.rb", change="tools/z.rb", needs=("ruby",),
           files={"tools/z.rb": ""}),
    opened("ruby -e 'load \"tools/z.rb\"'", change="tools/z.rb", needs=("ruby",),
           files={"tools/z.rb": ""}),
    opened("sh -c tools/y.sh"),
    opened("bash -c '. tools/y.sh'"),
    opened("bash -ec tools/y.sh"),
    opened("bash -lc tools/y.sh"),
    opened("bash --rcfile tools/y.sh -i -c true", named=True),
    opened("bash --init-file tools/y.sh -ic true", named=True),
    opened("bash -O extglob hooks/x.sh", change="hooks/x.sh", named=True),
    opened("bash -o errexit hooks/x.sh", change="hooks/x.sh", named=True),
    opened("bash -i hooks/x.sh", change="hooks/x.sh", named=True),
    opened("bash -l hooks/x.sh", change="hooks/x.sh", named=True),
    opened("bash --posix hooks/x.sh", change="hooks/x.sh", named=True),
    opened("awk -f tools/z.awk", change="tools/z.awk", named=True, needs=("awk",),
           files={"tools/z.awk": "BEGIN { exit 2 }\n"}),
    opened("sed -n -f tools/z.sed /etc/passwd", change="tools/z.sed", named=True,
           files={"tools/z.sed": "q\n"}, is_real=sys.platform == "linux"),
    opened("jq -L tools -n 'include \"z\"; f'", change={"tools/z.jq": "def f: 1;"}, needs=("jq",),
           files={"tools/z.jq": "def f: 2;"}, is_real=False),
    opened("tclsh tools/z.tcl", change="tools/z.tcl", named=True, needs=("tclsh",),
           files={"tools/z.tcl": "exit 2\n"}),
    opened("make guard", change={"Makefile": code_for("z.mk")}, needs=("make",),
           files={"Makefile": "guard:\n\tfalse\n"}),
    opened("make -s -f tools/z.mk guard", change="tools/z.mk", named=True, needs=("make",),
           files={"tools/z.mk": "guard:\n\tfalse\n"}),
    opened("make -C tools guard", change={"tools/Makefile": code_for("z.mk")}, needs=("make",),
           files={"tools/Makefile": "guard:\n\tfalse\n"}),
    opened("cmake -P tools/z.cmake", change="tools/z.cmake", named=True, needs=("cmake",),
           files={"tools/z.cmake": "\n"}),
    opened("npm run guard", needs=("npm",), files={"package.json": "{}"}, is_run=False,
           change={"package.json": '{"scripts": {"guard": "touch @MARK@"}}'}),
    opened("npx guard", change="node_modules/.bin/guard", is_run=False),
    opened("uv run hooks/x.py", change="hooks/x.py", is_run=False),
    opened("bun hooks/x.js", change="hooks/x.js", is_run=False),
    opened("deno run -A hooks/x.js", change="hooks/x.js", is_run=False),
    opened("tsx hooks/x.js", change="hooks/x.js", is_run=False),
    opened("php hooks/x.php", files={"hooks/x.php": ""}, is_run=False),
    opened("fish hooks/x.sh", is_run=False),
    opened("poetry run python hooks/x.py", is_run=False),
    opened("pre-commit run", is_run=False),
    opened("just guard", is_run=False),
    opened("cargo run", is_run=False),
    opened("docker compose run guard", is_run=False),
    opened("direnv exec . hooks/x.sh", is_run=False),
    opened("git status --porcelain", prepare=repository, needs=("git",),
           change=set_git("core.fsmonitor", "@PROJECT@/tools/z.sh"),
           files={"tools/z.sh": code_for("z.sh")}),
    opened("git guard", prepare=repository, needs=("git",),
           change=set_git("alias.guard", "!touch @MARK@")),
    opened("git -c core.pager=tools/y.sh --paginate config --list", prepare=repository,
           needs=("git",), is_real=False),
    opened("git -c alias.guard=!tools/y.sh guard", prepare=repository, needs=("git",)),
    opened("git hook run guard", prepare=repository, change=".git/hooks/guard", is_run=False),
    opened("tar -cf /dev/null --checkpoint=1 --checkpoint-action=exec=tools/y.sh hooks",
           is_real=sys.platform == "linux", needs=("tar",)),
    opened("ssh -o ProxyCommand=tools/y.sh -o BatchMode=yes nowhere", needs=("ssh",)),
    opened("ssh -F tools/conf nowhere", named=True, needs=("ssh",),
           files={"tools/conf": "BatchMode yes\nProxyCommand false\n"},
           change={"tools/conf": "BatchMode yes\nProxyCommand touch @MARK@\n"}),
    opened("vim -es -u NONE -S tools/z.vim", change="tools/z.vim", named=True, needs=("vim",),
           files={"tools/z.vim": "cq\n"}),
    opened("gdb -batch -nx -x tools/z.gdb", change="tools/z.gdb", named=True, needs=("gdb",),
           files={"tools/z.gdb": "quit 2\n"}),
    opened("sqlite3 -init tools/z.sql :memory: .quit", change="tools/z.sql", named=True,
           needs=("sqlite3",), files={"tools/z.sql": "\n"}),
    opened(".venv/bin/python hooks/x.py", change=replace_interpreter,
           prepare=lambda scene: scene.link(".venv/bin/python", sys.executable)),
    opened("$HOOKLINE_PROJECT_DIR/.venv/bin/python hooks/x.py", change=replace_interpreter,
           prepare=lambda scene: scene.link(".venv/bin/python", sys.executable)),
    opened("gitleaks detect", is_run=False),
]  # fmt: skip
SYNTAX = [
    opened("hooks/x.sh; tools/y.sh", named=True),
    opened("hooks/x.sh && tools/y.sh", named=True, is_real=False),
    opened("hooks/x.sh || tools/y.sh", named=True),
    opened("hooks/x.sh | tools/y.sh", named=True),
    opened("hooks/x.sh & tools/y.sh", named=True),
    opened("(tools/y.sh)", named=True),
    opened("{ tools/y.sh; }", named=True),
    opened("! tools/y.sh", named=True),
    opened("time tools/y.sh", named=True),
    opened("if true; then tools/y.sh; fi", named=True),
    opened("for f in tools/*.sh; do sh $f; done", change="tools/z.sh"),
    opened("f() { tools/y.sh; }; f"),
    opened("case x in x) tools/y.sh;; esac"),
    opened("exec tools/y.sh", named=True),
    opened("eval tools/y.sh", named=True),
    opened("command tools/y.sh", named=True),
    opened("builtin . tools/y.sh", named=True),
    opened(". tools/y.sh", named=True),
    opened("source tools/y.sh", named=True),
    opened("trap tools/y.sh EXIT", named=True),
    opened("coproc tools/y.sh; wait"),
    opened("hash -p tools/y.sh ls; ls", named=True),
    opened('"$(pwd)/tools/y.sh"'),
    opened("`pwd`/tools/y.sh"),
    opened("${X:-tools/y.sh}"),
    opened("${X:-./tools}/y.sh"),
    opened("tools/${X}y.sh"),
    opened("tools/y.sh$X"),
    opened('"tools/y.sh$X"'),
    opened("$(cat tools/list)", change={"tools/list": "tools/z.sh"},
           files={"tools/list": "hooks/x.sh", "tools/z.sh": code_for("z.sh")}),
    opened("`cat tools/list`", change={"tools/list": "tools/z.sh"},
           files={"tools/list": "hooks/x.sh", "tools/z.sh": code_for("z.sh")}),
    opened("tools/*.sh"),
    opened("tools/?.sh"),
    opened("tools/[y].sh"),
    opened("{tools/y.sh,}"),
    opened("~/y.sh", is_run=False),
    opened("$HOME/y.sh", is_run=False),
    opened("$'tools/y.sh'"),
    opened('$"tools/y.sh"'),
    opened("X=1 tools/y.sh", named=True),
    opened("X=tools/y.sh; $X"),
    opened("BASH_ENV=tools/y.sh bash hooks/x.sh"),
    opened("PYTHONPATH=tools python3 hooks/x.py", change="tools/json.py"),
    opened("PATH=tools:$PATH y.sh"),
    opened("cd tools && ./y.sh"),
    opened("true\ntools/y.sh", named=True),
    opened("tools/y.sh # as ever", named=True),
    opened("tools/y.sh !", named=True),
    opened("tools/y.sh 2>&1", named=True),
    opened("tools/y.sh > /dev/null", named=True),
    opened("tools/y.sh <<< text", named=True),
    opened("sh < tools/y.sh", named=True),
    opened("cat tools/y.sh | sh", named=True),
    opened("bash <(cat tools/y.sh)"),
    opened("bash -s < tools/y.sh", named=True),
    opened("python3 - < hooks/x.py", change="hooks/x.py", named=True),
    opened("echo tools/y.sh | xargs sh", named=True),
    opened("[ -x tools/y.sh ] && tools/y.sh", named=True),
    opened("[[ -x tools/y.sh ]] && tools/y.sh", named=True),
    opened("GIT_EDITOR=tools/y.sh git config --edit", prepare=repository, needs=("git",)),
    opened("LESSOPEN='|tools/y.sh %s' less tools/list", files={"tools/list": "x"},
           needs=("less",)),
    opened("enable -f ./tools/z.so z", change=library("tools/z.so"), needs=("gcc",)),
    opened("$HOOKLINE_PROJECT_DIR_X/tools/y.sh", is_run=False),
    opened("tools/y.sh --in=$HOOKLINE_PROJECT_DIR", named=True),
    opened("'$HOOKLINE_PROJECT_DIR/tools/y.sh'", is_run=False),
    opened("\\$HOOKLINE_PROJECT_DIR/tools/y.sh", is_run=False),
    # Code that is outside the project is not the project's, but the command is open.
    opened("$HOOKLINE_PROJECT_DIR/../outside/y.sh", change="@OUTSIDE@/y.sh"),
    opened("../outside/y.sh", change="@OUTSIDE@/y.sh", files={"@OUTSIDE@/y.sh": denial_for("")}),
    opened("sh ../outside/y.sh", change="@OUTSIDE@/y.sh", files={"@OUTSIDE@/y.sh": denial_for("")}),
]  # fmt: skip
# What a reader of text and a shell may take for different words.
WORDS = [
    opened("a=b/x.sh tools/y.sh", named=True, files={"a=b/x.sh": denial_for("")}),
    opened("a+=b tools/y.sh", named=True),
    opened("${HOOKLINE_PROJECT_DIR}-evil/y.sh", change="@PROJECT@-evil/y.sh"),
    opened("${HOOKLINE_PROJECT_DIR}evil/y.sh", change="@PROJECT@evil/y.sh"),
    opened("${HOOKLINE_PROJECT_DIR%/*}/outside/y.sh", change="@OUTSIDE@/y.sh"),
    opened("tools/y.sh \\\n--flag", named=True),
    opened("python3 -Em tools.z", change="tools/z.py", files={"tools/z.py": denial_for("z.py")}),
    opened("python3 -uc 'import z'", change="z.py"),
    opened("python3 -u -c 'import z'", change="z.py"),
    opened("python3 -B -m tools.z", change="tools/z.py", files={"tools/z.py": ""}),
    opened("bash -xc tools/y.sh"),
    opened("bash -e -c tools/y.sh"),
    opened("bash -e -i tools/y.sh", named=True),
    opened("node tools", change={"tools/package.json": '{"main": "z.js"}'}, needs=("node",),
           files={"tools/index.js": denial_for("x.js"), "tools/z.js": code_for("z.js")}),
    Attack("a backslash in quotes", '"tools/\\y.sh"', "tools/\\y.sh"),
    *(
        Attack(f"{blank!r} in a word", f"tools/a{blank}y.sh", f"tools/a{blank}y.sh",
               files={"tools/a": denial_for("")})
        for blank in ("\r", "\f", "\v", "\u00a0", "\u2028", "\x85")
    ),
    Attack("a dash", "bash - tools/y.sh", named=True),
    Attack("another flag of perl", "perl -w hooks/x.pl", "hooks/x.pl", named=True,
           needs=("perl",)),
    Attack("an absolute path", "python3 @PROJECT@/hooks/x.py", "hooks/x.py", named=True),
    Attack("an absolute path by ..", "@OUTSIDE@/../project/hooks/x.sh", "hooks/x.sh", named=True),
    Attack("two slashes", "hooks//x.sh", "hooks/x.sh", named=True),
    Attack("a dot between", "./hooks/./x.sh", "hooks/x.sh", named=True),
    Attack("an archive", "python3 tools/z.pyz", archive(code_for("z.py")), named=True,
           prepare=archive(denial_for("z.py"))),
    Attack("the engine's own variable", "$HOOKLINE_PROJECT_DIR/hooks/x.sh", "@OUTSIDE@/hooks/x.sh",
           files={"@OUTSIDE@/hooks/x.sh": denial_for("")}, is_real=False,
           env={"HOOKLINE_PROJECT_DIR": "@OUTSIDE@"}),
]  # fmt: skip
PLAIN = [
    plain("hooks/x.sh"),
    plain("./hooks/x.sh"),
    plain("hooks/x.sh --flag value"),
    plain("'hooks/x.sh'"),
    plain('"hooks/x.sh" "two words"'),
    plain('hooks/"x.sh"'),
    plain("hooks/x.sh two\\ words"),
    plain("hooks/x.sh 'a; b $(c) `d` * ~ # { } $HOME'"),
    plain("tools/y.sh", "tools/y.sh"),
    plain("python3 hooks/x.py --flag", "hooks/x.py"),
    plain("python3 hooks/x.py '$(touch @MARK@)'", "hooks/x.py"),
    plain("python3 -u -B hooks/x.py", "hooks/x.py"),
    plain("python3 -E -s hooks/x.py", "hooks/x.py"),
    plain("python3 -S -O hooks/x.py", "hooks/x.py"),
    plain("python3 -I hooks/x.py", "hooks/x.py"),
    plain("python hooks/x.py", "hooks/x.py", needs=("python",)),
    plain(f"python3.{sys.version_info.minor} hooks/x.py", "hooks/x.py",
          needs=(f"python3.{sys.version_info.minor}",)),
    plain("/usr/bin/env python3 hooks/x.py", "hooks/x.py"),
    plain("/usr/bin/env bash hooks/x.sh"),
    plain("bash -e hooks/x.sh"),
    plain("sh -u hooks/x.sh"),
    plain("bash -e -x hooks/x.sh"),
    plain("dash hooks/x.sh", needs=("dash",)),
    plain("node hooks/x.js", "hooks/x.js", needs=("node",)),
    plain("perl hooks/x.pl", "hooks/x.pl", needs=("perl",)),
    plain("ruby hooks/x.rb", "hooks/x.rb", needs=("ruby",)),
    plain("zsh hooks/x.sh", needs=("zsh",)),
    plain("ksh hooks/x.sh", needs=("ksh",)),
    plain("$HOOKLINE_PROJECT_DIR/hooks/x.sh"),
    plain('"$HOOKLINE_PROJECT_DIR"/hooks/x.sh'),
    plain('"$HOOKLINE_PROJECT_DIR/hooks/x.sh"'),
    plain("${CLAUDE_PROJECT_DIR}/hooks/x.sh"),
    plain('"${GEMINI_PROJECT_DIR}/hooks/x.sh"'),
    plain("$LLXPRT_PROJECT_DIR/hooks/x.sh"),
    plain('python3 "$HOOKLINE_PROJECT_DIR"/hooks/x.py "$HOOKLINE_PROJECT_DIR"', "hooks/x.py"),
]  # fmt: skip
# Commands that a review vouches for, and what else an attacker could change.
CHANGES = [
    plain("hooks/x.sh", keep_size_and_times("hooks/x.sh"), name="size and times kept",
          prepare=long_script),
    plain("python3 hooks/x.py", keep_size_and_times("hooks/x.py"), name="size and times kept, py",
          prepare=long_script),
    plain("hooks/x.sh", {"hooks/x.sh": None}, name="script deleted", is_real=False),
    plain("hooks/x.sh", lambda s: (s.path / "hooks/x.sh").chmod(0), name="no modes",
          is_real=False),
    plain("hooks/x.sh", replace_by_link("hooks/x.sh", "tools/z.sh"), name="a link instead"),
    plain("hooks/x.sh", replace_by_folder, name="a folder instead", is_real=False),
    plain("hooks/x.sh", lambda s: shutil.rmtree(s.path / "hooks"), name="hook folder deleted",
          is_real=False),
    plain("hooks/x.sh", through_hard_link, name="by another name",
          prepare=give_other_name),
    plain("python3 hooks/x.py", "hooks/json.py", name="json.py beside it"),
    plain("hooks/x.py", "hooks/json.py", name="json.py beside a program"),
    plain("python3 hooks/x.py", "hooks/json/__init__.py", name="json package beside it"),
    plain("python3 -B hooks/x.py", library("hooks/json.abi3.so"), name="json.abi3.so",
          needs=("gcc",)),
    plain("python3 hooks/x.py",
          library(f"hooks/json{sysconfig.get_config_var('EXT_SUFFIX')}"), name="json.cpython.so",
          needs=("gcc",)),
    plain("python3 hooks/x.py", "json.py", name="json.py in the project", is_real=False),
    plain("node hooks/x.js", {"package.json": '{"type": "module"}'}, name="type of modules",
          needs=("node",), is_real=False),
    plain("node hooks/x.js", {"hooks/package.json": '{"type": "module"}'},
          name="type of modules beside it", needs=("node",), is_real=False),
    plain("hooks/x.sh", "hooks/x.sh", name="link inside",
          prepare=lambda s: (s.write("tools/real.sh", denial_for("x.sh")),
                             s.link("hooks/x.sh", "../tools/real.sh"))),
    plain("hooks/x.sh", "tools/real.sh", name="target of a link",
          prepare=lambda s: (s.write("tools/real.sh", denial_for("x.sh")),
                             s.link("hooks/x.sh", "../tools/real.sh"))),
    plain("hooks/x.sh", repoint("hooks/x.sh", "../tools/z.sh"), name="link to another",
          files={"tools/z.sh": code_for("z.sh")},
          prepare=lambda s: s.link("hooks/x.sh", "../tools/y.sh")),
    plain("python3 hooks/x.py", "tools/real.py", name="target of a chain of links",
          prepare=lambda s: (s.write("tools/real.py", denial_for("x.py")),
                             s.link("tools/middle.py", "real.py"),
                             s.link("hooks/x.py", "@PROJECT@/tools/middle.py"))),
    # The kernel resolves the link before the "..", a reader of text would not.
    Attack("link before ..", "hooks/deep/../z.sh", "tools/z.sh",
           files={"hooks/z.sh": denial_for(""), "tools/z.sh": denial_for(""), "tools/sub/a": ""},
           prepare=lambda s: s.link("hooks/deep", "../tools/sub")),
    Attack("hook folder is a link", "hooks2/x.sh", "real/x.sh", files={"real/x.sh": denial_for("")},
           prepare=lambda s: s.link("hooks2", "real")),
    Attack("hook folder led elsewhere", "hooks2/x.sh", repoint("hooks2", "evil"),
           files={"real/x.sh": denial_for(""), "evil/x.sh": code_for("")},
           prepare=lambda s: s.link("hooks2", "real")),
    Attack("inside after ..", "hooks/../tools/y.sh", "tools/y.sh"),
    Attack("link out", "hooks/z.sh", repoint("hooks/z.sh", "../tools/z.sh"), closed=False,
           files={"@OUTSIDE@/z.sh": denial_for(""), "tools/z.sh": code_for("z.sh")},
           prepare=lambda s: s.link("hooks/z.sh", "@OUTSIDE@/z.sh")),
    Attack("link out beside it", "hooks/x.sh", "hooks/x.sh", closed=False,
           prepare=lambda s: s.link("hooks/data", "@OUTSIDE@")),
    Attack("a FIFO beside it", "hooks/x.sh", "hooks/x.sh", closed=False,
           prepare=lambda s: os.mkfifo(s.path / "hooks/fifo")),
    Attack("201 files beside it", "hooks/x.sh", "hooks/x.sh", closed=False,
           files={f"hooks/many/{n}": "" for n in range(201)}),
    Attack("17 MiB beside it", "hooks/x.sh", "hooks/x.sh", closed=False,
           prepare=lambda s: os.truncate(s.write("hooks/big", ""), 17 << 20)),
    plain("hooks/x.sh", "sub/hooks/x.sh", name="shadowed in a subfolder", cwd="sub", is_real=False),
    plain("python3 hooks/x.py", "sub/hooks/x.py", name="shadowed in a subfolder, py", cwd="sub",
          is_real=False),
    plain("hooks/x.sh", "hooks/x.sh", name="from a subfolder", cwd="sub/deep"),
    Attack("word without a folder", "sh z.sh", "z.sh", files={"z.sh": denial_for("")}),
    Attack("word without a folder, below", "sh z.sh", "sub/z.sh", cwd="sub",
           files={"z.sh": denial_for("")}, is_real=False),
    Attack("folder as a program", "python3 hooks", "hooks/__main__.py",
           files={"hooks/__main__.py": denial_for("x.py")}),
    Attack("bare env", "env python3 hooks/x.py", "hooks/x.py", named=True),
    Attack("env of a script", "/usr/bin/env tools/y.sh", named=True),
    Attack("absolute shell", "/bin/sh hooks/x.sh", "hooks/x.sh", named=True),
    Attack("flags in one word", "bash -eux hooks/x.sh", "hooks/x.sh", named=True),
    Attack("double dash", "bash -- hooks/x.sh", "hooks/x.sh", named=True),
    Attack("plus flag", "bash +B hooks/x.sh", "hooks/x.sh", named=True),
    Attack("directory of the event", "$HOOKLINE_CWD/hooks/x.sh", "sub/hooks/x.sh", cwd="sub"),
    Attack("name of a shell builtin", "test hooks/x.sh", is_real=False, change="hooks/x.sh"),
]  # fmt: skip
SHEBANGS = [
    plain("hooks/z", "hooks/z", name=f"shebang {line}", files={"hooks/z": f"#!{line}\n{body}"})
    for line, body in (
        ("/bin/sh", f"echo {REASON} >&2; exit 2"),
        (" /bin/sh", f"echo {REASON} >&2; exit 2"),
        ("/bin/bash -e", f"echo {REASON} >&2; exit 2"),
        ("/usr/bin/env bash", f"echo {REASON} >&2; exit 2"),
        ("/usr/bin/env python3", denial_for("x.py")),
    )
] + [
    Attack("shebang of a module", "hooks/z", "tools/z.py", closed=False,
           files={"hooks/z": "#!/usr/bin/env -S python3 -m tools.z\n",
                  "tools/z.py": denial_for("z.py")}),
    Attack("shebang of inline code", "hooks/z", "tools/z.py", closed=False,
           files={"hooks/z": "#!/usr/bin/env -S python3 -c \"import tools.z\"\n",
                  "tools/z.py": denial_for("z.py")}),
    Attack("relative shebang", "hooks/z", "tools/y.sh", closed=False,
           files={"hooks/z": "#!./tools/y.sh\n"}),
    Attack("shebang in the project", "hooks/z", "tools/y.sh", closed=False,
           files={"hooks/z": "#!@PROJECT@/tools/y.sh\n"}),
    Attack("shebang beside it", "hooks/z", "hooks/x.sh", closed=False,
           files={"hooks/z": "#!@PROJECT@/hooks/x.sh\n"}),
    Attack("shebang through env -C", "hooks/z", "tools/y.sh", closed=False,
           files={"hooks/z": "#!/usr/bin/env -S -C @PROJECT@/tools ./y.sh\n"}),
    Attack("shebang of a name", "hooks/z", "tools/guardian", closed=False,
           files={"hooks/z": "#!/usr/bin/env guardian\n", "tools/guardian": denial_for("")},
           env={"PATH": "@PROJECT@/tools:/usr/bin:/bin"}),
    Attack("shebang of make", "hooks/z", {"tools/z.mk": code_for("z.mk")}, closed=False,
           files={"hooks/z": "#!/usr/bin/make -f\ninclude tools/z.mk\n",
                  "tools/z.mk": "guard:\n\tfalse\n"}, needs=("make",),
           is_real=Path("/usr/bin/make").exists()),
    Attack("shebang with a variable", "hooks/z", {"tools/y.sh": code_for("y.sh")}, closed=False,
           files={"hooks/z": "#!/usr/bin/env -S BASH_ENV=tools/y.sh bash\n"}),
    Attack("shebang with start-up file", "hooks/z", "tools/y.sh", closed=False,
           files={"hooks/z": "#!/usr/bin/env -S bash --rcfile tools/y.sh -i\n"}),
    Attack("no shebang", "hooks/z", {"hooks/z": "touch @MARK@\n"},
           files={"hooks/z": f"echo {REASON} >&2\nexit 2\n"}),
    Attack("shebang with CRLF", "hooks/z", {"hooks/z": code_for("")},
           files={"hooks/z": f"#!/bin/sh\r\necho {REASON} >&2\r\nexit 2\r\n"}),
    Attack("interpreter called python3", "tools/python3 hooks/x.py", "tools/python3",
           files={"tools/python3": denial_for("")}),
]  # fmt: skip
SITE = {"tools/sitecustomize.py": code_for("z.py")}
SH, PY, JS = "bash hooks/x.sh", "python3 hooks/x.py", "node hooks/x.js"
Z = "bash hooks/z.sh"


def with_env(
    command: str, name: str, value: str, change: Change, closed: bool | None = False, *needs: str
) -> Attack:
    """A command whose entry has a variable."""
    row = f"env {name}={value}"
    files = {"hooks/z.sh": 'date >&2; guardian; . "${HOOK_LIB:-/dev/null}"\n' + denial_for("z.sh")}
    return Attack(row, command, change, closed, env={name: value}, needs=needs, files=files)


ENVIRONMENTS = [
    plain("hooks/x.sh", name="env MODE=strict", env={"MODE": "strict", "LEVEL": "2"}),
    with_env(SH, "BASH_ENV", "tools/y.sh", "tools/y.sh"),
    with_env(SH, "BASH_ENV", "./tools/y.sh", "tools/y.sh"),
    with_env(SH, "BASH_ENV", "@PROJECT@/tools/y.sh", "tools/y.sh"),
    with_env(SH, "BASH_ENV", "@OUTSIDE@/../project/tools/y.sh", "tools/y.sh"),
    with_env(SH, "BASH_ENV", "later.sh", "later.sh", None),
    with_env(SH, "BASH_ENV", "${HOOKLINE_PROJECT_DIR}/tools/y.sh", "tools/y.sh", None),
    with_env(SH, "BASH_ENV", "$(tools/y.sh)", "tools/y.sh", None),
    with_env(SH, "BASH_FUNC_echo%%", "() { tools/y.sh; }", "tools/y.sh", None),
    with_env(PY, "PYTHONPATH", "tools", SITE),
    with_env(PY, "PYTHONPATH", "@PROJECT@/tools", SITE),
    with_env(PY, "PYTHONPATH", "/usr/lib:tools", SITE),
    with_env(PY, "PYTHONPATH", "/usr/lib:@PROJECT@/tools", SITE),
    with_env(PY, "PYTHONPATH", ".", "sitecustomize.py"),
    with_env(PY, "PYTHONPATH", "/usr/lib:", "sitecustomize.py", None),
    with_env(JS, "NODE_OPTIONS", "--require ./tools/z.js", "tools/z.js", None, "node"),
    with_env(JS, "NODE_OPTIONS", "--require=@PROJECT@/tools/z.js", "tools/z.js", False, "node"),
    with_env("perl hooks/x.pl", "PERL5OPT", "-I./tools -MZ", "tools/Z.pm", None, "perl"),
    with_env("ruby hooks/x.rb", "RUBYOPT", "-r./tools/z", "tools/z.rb", None, "ruby"),
    with_env("hooks/x.sh", "LD_PRELOAD", "./tools/z.so", library("tools/z.so"), False, "gcc"),
    with_env(SH, "LD_PRELOAD", "@PROJECT@/tools/z.so", library("tools/z.so"), False, "gcc"),
    with_env(PY, "LD_PRELOAD", "/nowhere.so:tools/z.so", library("tools/z.so"), False, "gcc"),
    with_env(Z, "PATH", "tools:/usr/bin:/bin", "tools/date"),
    with_env(Z, "PATH", "/usr/bin:@PROJECT@/tools:/bin", "tools/guardian"),
    with_env(Z, "PATH", "/usr/bin:/bin:", "guardian", None),
    with_env(Z, "HOOK_LIB", "tools/y.sh", "tools/y.sh"),
    Attack("env PS4", SH, env={"SHELLOPTS": "xtrace", "PS4": "$(tools/y.sh)"},
           is_real=os.getuid() != 0),
]  # fmt: skip
EXEC_ONLY = [
    Attack("code in an argument", "sh", closed=False, args=("-c", "tools/y.sh")),
    Attack("code with a variable", "sh", closed=False, is_run=False,
           args=("-c", "$HOOKLINE_PROJECT_DIR/tools/y.sh")),
    Attack("words that a shell would read", "hooks/x.sh", "hooks/x.sh", closed=True,
           args=("; tools/y.sh", "$(tools/y.sh)", "`tools/y.sh`", "|", "&&", "*")),
    Attack("a program with a blank", "hooks/a b.sh", "hooks/a b.sh", closed=True, args=(),
           files={"hooks/a b.sh": denial_for("")}),
    Attack("a directory in the program", "${CLAUDE_PROJECT_DIR}/hooks/x.sh", "hooks/x.sh",
           closed=True, args=("${CLAUDE_PROJECT_DIR}",)),
]  # fmt: skip
# A few of each kind say it of all: the exec form only leaves the shell out.
_WORDS = [row for row in INTERPRETERS if row.name.startswith(("python3", "node", "perl", "sh"))]
SHELL_FORMS = [
    *WRAPPERS,
    *INTERPRETERS,
    *SYNTAX,
    *WORDS,
    *PLAIN,
    *CHANGES,
    *SHEBANGS,
    *ENVIRONMENTS,
]
COMMANDS = [
    *(*SHELL_FORMS, *EXEC_ONLY),
    *exec_forms([*WRAPPERS[:10:3], *_WORDS[::3], *PLAIN[::4]]),
]


@pytest.mark.parametrize("attack", [pytest.param(each, id=each.name) for each in COMMANDS])
def test_changed_code_runs_only_where_the_review_called_the_command_open(
    tmp_path: Path, attack: Attack
) -> None:
    if attack.is_runnable():
        unreviewed = Scene(tmp_path / "unreviewed")
        attack.build(unreviewed, guard=False)
        unreviewed.strike(attack.change)
        fire(unreviewed.path / attack.cwd, trusted=True)
        assert unreviewed.mark.exists() or not attack.is_real, "the attack is none"
    for guard in (False, True):
        resist(Scene(tmp_path / ("guard" if guard else "hook")), attack, guard=guard)


def resist(scene: Scene, attack: Attack, *, guard: bool) -> None:
    """Review, attack and fire once; raise AssertionError if the law does not hold."""
    attack.build(scene, guard=guard)
    if not attack.is_runnable():
        (hook,) = look(scene.path)
        # Without its interpreter a command cannot be closed.
        assert attack.closed in (None, hook["open"] == "") or attack.needs
        return
    (hook,) = review(scene.path)
    is_closed = hook["open"] == ""
    assert attack.closed in (None, is_closed), hook["open"]
    assert hook["guard"] is guard
    if is_closed and not guard:
        assert is_as_reviewed(fire(scene.path / attack.cwd)) or attack.closed is None
    scene.strike(attack.change)
    answer = fire(scene.path / attack.cwd)
    if is_closed or attack.named:
        assert not scene.mark.exists()
    if guard:
        assert is_as_reviewed(answer) if is_closed else answer.blocked or not attack.named


PLUGINS = [
    ("${CLAUDE_PLUGIN_ROOT}/run.sh", "run.sh", True),
    ('"${CLAUDE_PLUGIN_ROOT}"/scripts/run.sh', "scripts/run.sh", True),
    ("python3 ${CLAUDE_PLUGIN_ROOT}/run.py", "run.py", True),
    ("python3 ${CLAUDE_PLUGIN_ROOT}/run.py", "json.py", True),
    ("bash ${CLAUDE_PLUGIN_ROOT}/scripts/run.sh", "scripts/run.sh", True),
    ("cd ${CLAUDE_PLUGIN_ROOT} && ./run.sh", "run.sh", False),
    ("bash -c ${CLAUDE_PLUGIN_ROOT}/run.sh", "run.sh", False),
]


@pytest.mark.parametrize("where", ["@PROJECT@/plugged", "@OUTSIDE@/plugged"], ids=["in", "out"])
@pytest.mark.parametrize(("command", "changed", "closed"), PLUGINS)
@pytest.mark.parametrize("guard", [False, True], ids=["hook", "guard"])
def test_a_plugin_that_the_project_names_is_code_of_the_project(
    scene: Scene, where: str, command: str, changed: str, closed: bool, guard: bool
) -> None:
    folder = scene.text(where)
    for name in ("run.sh", "scripts/run.sh", "run.py"):
        scene.write(f"{folder}/{name}", denial_for(name))
    definitions = [{"hooks": [command_hook(command, guard=guard)]}]
    scene.write(f"{folder}/hooks/hooks.json", json.dumps({"hooks": {"PreToolUse": definitions}}))
    scene.write(".hookline/settings.json", json.dumps({"plugins": [folder]}))
    (hook,) = review(scene.path)
    assert (hook["open"] == "") is closed
    assert is_as_reviewed(fire(scene.path))
    scene.write(f"{folder}/{changed}", code_for(changed))
    answer = fire(scene.path)
    assert not (closed and scene.mark.exists())
    assert is_as_reviewed(answer) or not (closed and guard)


@pytest.mark.parametrize(
    ("command", "variables", "change"),
    [
        ("bash hooks/x.sh", {"BASH_ENV": "tools/y.sh"}, "tools/y.sh"),
        ("python3 hooks/x.py", {"PYTHONPATH": "@PROJECT@/tools"}, SITE),
        ("python3 hooks/x.py", {"PATH": "@PROJECT@/tools:/usr/bin:/bin"}, "tools/python3"),
    ],
)
@pytest.mark.parametrize("guard", [False, True], ids=["hook", "guard"])
def test_the_settings_own_variables_are_as_good_as_an_entrys(
    scene: Scene, command: str, variables: dict[str, str], change: Change, guard: bool
) -> None:
    for name in SCRIPTS:
        scene.write(name, denial_for(name))
    data = {
        "env": {name: scene.text(value) for name, value in variables.items()},
        "hooks": {"PreToolUse": [{"hooks": [command_hook(command, guard=guard)]}]},
    }
    scene.write(".claude/settings.json", json.dumps(data))
    scene.write(".hookline/settings.json", '{"claude": true}')
    (hook,) = review(scene.path)
    scene.strike(change)
    answer = fire(scene.path)
    if hook["open"] == "":
        assert not scene.mark.exists()
        assert is_as_reviewed(answer) or not guard
