"""What of a project a review of a hook covers, and what it names because it cannot."""

import errno
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from shlex import quote
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hookline.pipeline.trust.coverage import Coverage, FileState, cover, lines_of, read_state
from hookline.pipeline.trust.review import TrustError, read_states
from hookline.shell.programs import hook_variables
from hookline.wire.events import HookEventName
from hookline.wire.hooks import CommandHook, HookSource
from tests.harness.scratch import Project

EXAMPLES = Path(__file__).parents[3] / "examples"
FOLDERS = sorted(file.parents[1] for file in EXAMPLES.glob("*/.hookline/settings.json"))
PATH = {"PATH": "/usr/local/bin:/usr/bin:/bin"}
RUNS = '#!/bin/sh\necho run >> "$MARK"\n'


def covered(
    project: Project,
    command: str,
    *args: str,
    environ: Mapping[str, str] = PATH,
    cwd: Path | None = None,
    project_dir: Path | None = None,
    **fields: Any,
) -> Coverage:
    hook = CommandHook(
        name="hook",
        command=command,
        args=args or None,
        **{"source": HookSource.PROJECT, **fields},
    )
    return cover(
        hook,
        HookEventName.BEFORE_TOOL,
        project_dir=str(project_dir or project.path),
        cwd=str(cwd or project.path),
        environ=environ,
    )


def uncovered(project: Project, command: str, *args: str, **fields: Any) -> list[str]:
    return [str(each) for each in covered(project, command, *args, **fields).uncovered]


@pytest.fixture
def guarded(project: Project) -> Project:
    """A project with one script that leaves a mark, wherever a test wants it."""
    project.script("tools/x.sh", RUNS)
    project.script("my tools/a,b=c.sh", RUNS)
    return project


def runs(project: Project, command: str, **env: str) -> bool:
    """Whether bash, as the engine starts it, comes to run the script."""
    mark = project.path.parent / "mark"
    given = hook_variables(
        project_dir=str(project.path), cwd=str(project.path), session_id="s", event="BeforeTool"
    )
    variables = {**PATH, **given, "MARK": str(mark), "HOME": str(project.path.parent), **env}
    subprocess.run(["bash", "-c", command], cwd=project.path, env=variables, input=b"", check=False)
    return mark.exists()


# Each runs the script, as the next test sees for itself.
WAYS = [
    "tools/x.sh",
    "./tools/../tools/x.sh",
    "'tools/x.sh' --strict",
    r"tools\/x.sh",
    "sh $'tools/\\x78.sh'",
    '"my tools/a,b=c.sh" --strict more',
    r"my\ tools/a,b=c.sh x",
    '"${HOOKLINE_PROJECT_DIR:-.}/tools/x.sh"',
    '"${HOOKLINE_PROJECT_DIR:?}/tools/x.sh"',
    "${NOTHING:-tools}/x.sh",
    ': "${D:=tools}"; $D/x.sh',
    "cd tools && ./x.sh",
    "(cd tools; ./x.sh)",
    "pushd tools > /dev/null; sh x.sh; popd",
    "cd tools; cd ..; cd tools; ./x.sh",
    "CDPATH=. cd tools > /dev/null; ./x.sh",
    "A=tools; $A/x.sh",
    "A=to; A+=ols; $A/x.sh",
    "export A=tools B=x.sh; $A/$B",
    "G='sh tools/x.sh'; $G",
    "for f in tools/*.sh; do sh $f; done",
    "for f in */x.sh; do $f; done",
    "tools/?.sh",
    "[t]ools/x.sh",
    "{tools,}/x.sh",
    "sh tools/{x,y}.sh",
    "PATH=tools:$PATH x.sh",
    "PATH=:$PATH; cd tools; x.sh",
    "env PATH=tools x.sh",
    'export PATH="$PWD/tools:$PATH"; x.sh',
    "sh -c 'sh tools/x.sh'",
    "sh -ec 'cd tools; exec ./x.sh'",
    "bash -c 'bash -c \"tools/x.sh\"'",
    "eval 'tools/x.sh'",
    "eval cd tools '&&' ./x.sh",
    "timeout 5 tools/x.sh",
    "timeout -k 1 5 nice -n 1 tools/x.sh",
    "env -i MARK=$MARK tools/x.sh",
    "env -C tools ./x.sh",
    "env -vS 'sh tools/x.sh' 2> /dev/null",
    "function f { cd tools; ./x.sh; }; f",
    "true && { g() { ./tools/x.sh; }; g; }",
    "cd ~+/tools; ./x.sh",
    "PATH=~+/tools:$PATH; x.sh",
    "sh tools/[^a].sh",
    "for ((i=0; i<1; i++)); do tools/x.sh; done",
    "coproc tools/x.sh; wait",
    "c\\d tools; ./x.sh",
    "E=eval; $E 'cd tools; ./x.sh'",
    "env -S 'sh tools/x.sh'",
    "nohup tools/x.sh",
    "exec tools/x.sh",
    "command tools/x.sh",
    "time -p tools/x.sh",
    "! tools/x.sh",
    "if tools/x.sh; then true; fi",
    "case x in (x) tools/x.sh ;; esac",
    "case y in x) true ;; y) cd tools; ./x.sh ;; esac",
    "f() { tools/x.sh; }; f",
    "f() { $A/x.sh; }; A=tools; f",
    "trap 'tools/x.sh' EXIT",
    "true | tools/x.sh",
    'true "$(tools/x.sh)"',
    "true `tools/x.sh`",
    'true "`cd tools; ./x.sh`"',
    "(( 1 )) && tools/x.sh",
    "[[ -n x ]] && tools/x.sh",
    "true <(tools/x.sh); sleep 0.3",
    "sh < tools/x.sh",
    "sh <<< tools/x.sh",
    "bash <<E\ncd tools\n./x.sh\nE",
    "cat <<E | cat\n$(tools/x.sh)\nE",
    "cat <<E\n\\\nE\ntools/x.sh",
    "cat <<'E'\na\\\nE\ntools/x.sh",
    ". tools/x.sh",
    "PATH=tools; . x.sh",
    "~+/tools/x.sh",
    "BASH_ENV=tools/x.sh bash -c true",
    "source tools/x.sh",
]
# These only name what they run, or not even that.
HIDDEN_WAYS = [
    "bash -c '\"$0\"' tools/x.sh",
    "tools$A/x.sh; for A in q; do true; done",
    "A='tools/y\u00a0z.sh'; cp tools/x.sh \"$A\"; $A",
    "declare -n r=A; A=x.sh; cd tools; sh $r",
    "declare -l A=X.SH; cd tools; sh $A",
    "f() { local IFS=,; A=sh,tools/x.sh; $A; }; f",
    "/proc/self/cwd/tools/x.sh",
    "cd /proc/self/cwd/tools; ./x.sh",
    "cd tools; true x.sh; sh $_",
    "shopt -s nocaseglob; sh T*/X.s*",
    "sh tools/[[:alpha:]].sh",
    "echo a | sed 's#a#tools/x.sh#e'",
    "read PATH <<< tools; x.sh",
    "printf -v PATH %s tools:/bin; x.sh",
    "echo a | xargs tools/x.sh",
    "find tools -exec tools/x.sh ';'",
    "while read -r a; do $a; done <<< tools/x.sh",
    "$(echo tools/x.sh)",
    '"$(pwd)/tools/x.sh"',
    "cat tools/x.sh | sh",
    'bash -c "$(cat tools/x.sh)"',
    "tools/{x..x}.sh",
    "A=(tools/x.sh); ${A[0]}",
    "set -- tools/x.sh; $1",
    "A=tools/x.sh.bak; ${A%.bak}",
    "A=B B=x; A=tools/x.sh; C=A; ${!C}",
    "IFS=,; A=sh,tools/x.sh; $A",
    "sh /proc/self/cwd/tools/x.sh",
    "A=tool; for i in 1; do A=${A}s; $A/x.sh; done",
]


@pytest.mark.parametrize("command", [*WAYS, *HIDDEN_WAYS])
def test_no_way_to_run_a_file_is_missed(guarded: Project, command: str) -> None:
    # Other systems lack one or the other of these programs.
    assert runs(guarded, command) or sys.platform != "linux"
    found = covered(guarded, command)
    assert {"tools/x.sh", "my tools/a,b=c.sh"} & set(found.files) or found.uncovered


AROUND: list[Callable[[str], str]] = [
    lambda command: f"sh -c {quote(command)}",
    lambda command: f"env Z=1 bash -ec {quote(command)} _ a",
    lambda command: f"eval {quote(command)}",
    lambda command: f"bash <<< {quote(command)}",
    lambda command: f"bash <<'E9'\n{command}\nE9\n",
    lambda command: f'Q={quote(command)}; eval "$Q"',
    lambda command: f"X={quote(command)} bash -c 'eval \"$X\"'",
    lambda command: f"trap {quote(command)} EXIT",
    lambda command: f"true | {{ {command}\n}}",
    lambda command: f"! ( {command}\n)",
    lambda command: f"if true; then {command}\nfi",
    lambda command: f"g() {{ {command}\n}}; g",
    lambda command: f"for i in 1; do {command}\ndone",
    lambda command: f"case x in x) {command}\n;; esac",
    lambda command: f'echo "$({command}\n)"',
    lambda command: f"[[ -n $({command}\n) ]]",
    lambda command: f"cat <<E8\n$({command}\n)\nE8\n",
    lambda command: f"true # it's\n{command}",
]


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.sampled_from(WAYS), st.lists(st.sampled_from(AROUND), max_size=4))
def test_no_way_is_missed_wherever_it_stands(
    guarded: Project, command: str, around: list[Callable[[str], str]]
) -> None:
    for wrap in around:
        command = wrap(command)
    mark = guarded.path.parent / "mark"
    mark.unlink(missing_ok=True)
    if runs(guarded, command):
        found = covered(guarded, command, environ={**PATH, "MARK": "m"})
        assert {"tools/x.sh", "my tools/a,b=c.sh"} & found.code or found.uncovered


@pytest.mark.parametrize("command", WAYS)
def test_a_file_that_is_named_plainly_is_code_and_nothing_is_left(
    guarded: Project, command: str
) -> None:
    found = covered(guarded, command, environ={**PATH, "MARK": "m"})
    assert {"tools/x.sh", "my tools/a,b=c.sh"} & found.code
    assert found.uncovered == ()


def test_what_runs_only_in_its_directory_is_also_looked_for_in_the_project(
    guarded: Project,
) -> None:
    guarded.script("sub/tools/x.sh", RUNS)
    found = covered(guarded, "tools/x.sh", cwd=guarded.path / "sub")
    assert set(found.files) == {"tools/x.sh", "sub/tools/x.sh"}


@pytest.mark.parametrize(
    ("command", "what"),
    [
        ('"$(git rev-parse --show-toplevel)/x.sh"', "$(git rev-parse --show-toplevel)/x.sh"),
        ("sh `pwd`/x.sh", "`pwd`/x.sh"),
        (". $WHERE/x.sh", "$WHERE/x.sh"),
        ("tool --file $(pick)", "$(pick)"),
        ("read -r A; $A", "$A"),
        ('eval "$X"', "eval $X"),
        ('sh -c "$X"', "sh -c $X"),
        ("curl -s x | sh", "sh"),
        ("cat x | python3 -", "python3"),
        ("cat x | env bash -s", "bash"),
        ("python3 -m pkg", "python3 -m pkg"),
        ("true && make hook", "make hook"),
        ("if just lint; then :; fi", "just lint"),
        ("x | npx tool", "npx tool"),
        ("! npm run hook", "npm run hook"),
        ('true "$(uv run x.py)"', "uv run x.py"),
        ("timeout 5 poetry run x", "poetry run x"),
        ("sudo -u me cargo run", "cargo run"),
        ("go run .", "go run ."),
        ("nice ./gradlew test", "gradlew test"),
        ("xargs pre-commit run", "pre-commit run xargs pre-commit"),
        ("git ls-files | xargs ruff", "xargs ruff"),
        ("find . -name x -exec sh {} +", "find -exec sh {}"),
        ('PATH="$(pwd)/x:$PATH"; guard', 'PATH="$(pwd)/x:$PATH"'),
        ("cd $(dirname $0); ./x.sh", "$(dirname $0)"),
        ("sh ./$HOOKLINE_SESSION_ID.sh", "./$HOOKLINE_SESSION_ID.sh"),
        ("sh x$((1)).sh", "x$((1)).sh"),
        ('python3 -c "$(cat x)"', "$(cat x)"),
        ("tools/cat $(x)", "$(x)"),
        ("./env -S $(x)", "$(x)"),
        ("node -r $(x) a.js", "$(x)"),
        ("sudo -nu me make all", "make all"),
        ("find . -print0 | xargs -0I% ruff %", "xargs ruff"),
        ("su me -c 'make x'", "make x"),
        ("echo 'unfinished", "echo 'unfinished"),
        ("$(" * 2000 + ")" * 2000, ("$(" * 60)[:119] + "…"),
    ],
)
def test_what_cannot_be_resolved_is_named(project: Project, command: str, what: str) -> None:
    assert what in [each.what for each in covered(project, command).uncovered]


def test_the_form_that_would_be_covered_is_said(project: Project) -> None:
    (found,) = covered(project, 'sh "$(git rev-parse --show-toplevel)/hooks/x.sh"').uncovered
    assert str(found) == "$(git rev-parse --show-toplevel)/hooks/x.sh: the output of a command"
    assert found.remedy == 'write "$HOOKLINE_PROJECT_DIR/hooks/x.sh"'
    (found,) = covered(project, "make hook").uncovered
    assert found.remedy == "name the script itself"


def test_what_is_named_is_the_same_whatever_the_environment_holds(project: Project) -> None:
    command = 'PATH="$(pwd):$PATH" guard "$(x)$HOME"'
    one = uncovered(project, command, environ={"PATH": "/a", "HOME": "/b"})
    assert one == uncovered(project, command, environ={"PATH": "/c", "HOME": "/d"}) != []


def test_what_is_named_is_short_and_has_no_control_characters(project: Project) -> None:
    for said in uncovered(project, f"sh $(x)/'\x1b[2J\r\n'{'y' * 500}"):
        assert said.isprintable()
        assert len(said) < 200


@pytest.mark.parametrize(
    "command",
    [
        "$HOOKLINE_PROJECT_DIR/.hookline/hooks/guard.py --strict",
        ".llxprt/hooks/x.sh",
        '"$GEMINI_PROJECT_DIR"/.gemini/hooks/secret-scanner.sh',
        "node $GEMINI_PROJECT_DIR/.gemini/hooks/x.js",
        'echo \'{"decision": "allow"}\'',
        "jq -e '.tool_input' > /dev/null",
        "python3 -c 'import json, sys; json.load(sys.stdin)'",
        "node -e 'process.exit(2)'",
        "printf '%s\\n' '{}'",
        "cat > stdin.json",
        "exec sleep 5",
        "trap '' TERM; i=0; while [ $i -lt 70 ]; do sleep 0.1; i=$((i+1)); done; echo survived",
        "sleep 3 & printf '%s\\n' '{\"decision\":\"deny\"}'",
        'python3 "${GEMINI_PROJECT_DIR}/show.py" "${GEMINI_SESSION_ID}"',
        "if grep -q 'push --force'; then echo 'force pushes are for people' >&2; exit 2; fi",
        "grep -q -- --force && echo 'use --force-with-lease' >&2 && exit 2 || exit 0",
        'a=$(cat); b=$(echo "$a" | jq -r .x); case "$b" in *rm*) echo "no: $b"; exit 2 ;; esac',
        'jq -r \'"\\(.tool_input.command)"\' >> "$HOME/log.txt"',
        'mkdir -p .hookline/state && date >> .hookline/state/log; notify-send "$(jq -r .message)"',
        'echo "$(date): $(cat)" >> hooks/log.txt',
        "command -v jq > /dev/null || exit 0",
        'test -n "$UNKNOWN" && [[ $(cat) == *x* ]] && exit 2; true',
        'curl -s -X POST -d "$(cat)" https://example.com/hook',
        'cd "$HOOKLINE_PROJECT_DIR" && hooks/x.sh .',
        "/usr/bin/env python3 hooks/x.py",
        "sed -n 's/a/b/p' | awk '{print $1}' | sort | head -1",
    ],
)
def test_an_ordinary_hook_leaves_nothing_uncovered(project: Project, command: str) -> None:
    project.write("hooks/x.sh", "")
    found = covered(project, command, environ={**PATH, "HOME": "/home/me"})
    assert found.uncovered == ()
    assert len(found.watched) <= 8


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_every_hook_of_every_example_is_covered_whole(folder: Path) -> None:
    loaded = json.loads((folder / ".hookline/settings.json").read_text())
    definitions = [
        d for key, each in loaded.get("hooks", {}).items() if key[0].isupper() for d in each
    ]
    for entry in (hook for definition in definitions for hook in definition["hooks"]):
        hook = CommandHook(name="x", command=entry["command"], source=HookSource.PROJECT)
        found = cover(
            hook,
            HookEventName.BEFORE_TOOL,
            project_dir=str(folder),
            cwd=str(folder),
            environ=PATH,
        )
        assert (found.uncovered, found.remarks) == ((), ())
        assert {name.split("/")[0] for name in found.files} == {"hooks"}


def test_words_of_the_exec_form_are_taken_as_they_are(project: Project) -> None:
    project.write("hooks/a b*.py", "")
    project.write("hooks/$X", "")
    found = covered(project, "python3", "${HOOKLINE_PROJECT_DIR}/hooks/a b*.py", "hooks/$X")
    assert {"hooks/a b*.py", "hooks/$X"} <= set(found.files)
    assert found.code == {"hooks/a b*.py"}
    found = covered(project, "sh", "-c", "cd hooks; . './a b*.py'")
    assert found.code == {"hooks/a b*.py"}


def test_a_hooks_own_variables_lead_to_files(project: Project) -> None:
    project.script("bin/guard", "#!/bin/sh\n")
    project.write("rules.txt", "")
    project.write("lib/x.py", "")
    found = covered(project, "guard $R", env={"PATH": "bin:/bin", "R": "rules.txt"})
    assert set(found.files) == {"bin/guard", "rules.txt"}
    assert found.code == {"bin/guard"}
    assert "bin/guard" in covered(project, "$G -x", env={"G": "bin/guard"}).code
    assert covered(project, "true", env={"BASH_ENV": "rules.txt"}).code == {"rules.txt"}
    assert covered(project, "x", env={"BASH_FUNC_x%%": "() { bin/guard; }"}).code == {"bin/guard"}
    for name in ("GLOBIGNORE", "BASHOPTS"):
        assert len(uncovered(project, "for i in *; do $i; done", env={name: "x"})) >= 1
    assert uncovered(project, "true", env={"PYTHONPATH": "lib"}) == [
        "lib: a directory of which not all is covered"
    ]


@pytest.mark.parametrize("entry", ["bin", "", ".", "{project}/bin", "{link}/bin"])
def test_a_program_planted_on_the_search_path_is_noticed(
    project: Project, tmp_path: Path, entry: str
) -> None:
    (project.path / "bin").mkdir()
    (tmp_path / "link").symlink_to(project.path)
    entry = entry.format(project=project.path, link=tmp_path / "link")
    name = "bin/jq" if entry.endswith("bin") else "jq"
    environ = {"PATH": f"/usr/bin:{entry}"}
    before = covered(project, "echo x | jq .", environ=environ)
    assert before.files == {}
    assert any(os.path.normpath(p).endswith(f"/{name}") for p in before.watched)
    project.script(name, "#!/bin/sh\n")
    assert covered(project, "echo x | jq .", environ=environ).code == {name}


def test_the_interpreter_of_a_first_line_is_looked_up_too(project: Project) -> None:
    project.script("hooks/x", "#!/usr/bin/env python3\n")
    project.script("venv/bin/python3", "")
    environ = {"PATH": f"{project.path}/venv/bin:/usr/bin"}
    assert "venv/bin/python3" in covered(project, "hooks/x", environ=environ).code
    project.script("hooks/y", f"#!{project.path}/venv/bin/python3\n")
    assert "venv/bin/python3" in covered(project, "hooks/y").code


def test_a_script_that_becomes_a_directory_is_covered_with_all_it_holds(project: Project) -> None:
    project.write("tools/guard.py/__main__.py", "")
    project.write("tools/guard.py/more/x.py", "")
    found = covered(project, "python3 tools/guard.py")
    names = {"tools/guard.py", "tools/guard.py/__main__.py", "tools/guard.py/more/x.py"}
    assert set(found.files) == found.code == names
    assert str(project.path / "tools/guard.py/more") in found.watched
    assert "tools/guard.py/__main__.py" in covered(project, "node tools/guard.py/").files


def test_node_finds_a_script_without_its_suffix(project: Project) -> None:
    before = covered(project, "node tools/x")
    assert str(project.path / "tools/x.mjs") in before.watched
    project.write("tools/x.js", "")
    assert covered(project, "node tools/x").code == {"tools/x.js"}
    project.write("tools/y/index.js", "")
    assert "tools/y/index.js" in covered(project, "node tools/y").code


def test_a_directory_that_another_program_reads_is_named(project: Project) -> None:
    project.write("src/a.py", "")
    project.write("hooks/rules/a.txt", "")
    project.write("hooks/x.sh", "")
    said = ["src: a directory of which not all is covered"]
    assert uncovered(project, "ruff check src") == said
    assert uncovered(project, "guard --plugins=src") == said
    for command in ("ruff .", f"ruff {project.path}", "ruff ..", "ls src", "cd src; true"):
        assert uncovered(project, command) == []
    assert uncovered(project, "sh hooks/x.sh hooks/rules") == []


@pytest.mark.parametrize(
    ("script", "beside", "is_covered"),
    [
        ("hooks/x.sh", "hooks/lib/util.sh", True),
        ("deep/hooks/a/x.sh", "deep/hooks/b.sh", True),
        (".hookline/x.sh", ".hookline/lib/y.sh", True),
        (".claude/skills/a/x.sh", ".claude/skills/b/y.sh", True),
        (".claude/skills/a/x.sh", ".claude/commands/y.md", False),
        (".gemini/hooks/x.sh", ".gemini/GEMINI.md", False),
        (".llxprt/x.sh", ".llxprt/settings.json", False),
        ("hooks/x.sh", "hooks/settings.json", True),
        (".hookline/x.sh", ".hookline/tests/x.hooktest.json", False),
        (".hookline/x.sh", ".hookline/state/count", False),
        ("hooks/x.sh", "hooks/state/count", False),
        ("hooks/x.py", "hooks/state/__init__.py", True),
        ("hooks/x.py", "hooks/__pycache__/y.cpython-312.pyc", False),
        ("hooks/x.py", "hooks/json.pyc", True),
        ("hooks/x.sh", "hooks/x.sh~", False),
        ("hooks/x.sh", "hooks/planted~", True),
        ("hooks/x.sh", "hooks/#x.sh#", False),
        ("hooks/x.sh", "hooks/#planted#", True),
        ("hooks/x.sh", "hooks/#x.sh", True),
        ("hooks/x.sh", "hooks/.x.sh.swp", False),
        ("hooks/x.sh", "hooks/x.swp", True),
        ("hooks/x.sh", "hooks/.swing", True),
        ("hooks/x.sh", "hooks/.#x.sh", False),
        ("hooks/x.sh", "hooks/.DS_Store", False),
        ("hooks/x.sh", "hooks/.git/config", False),
        ("HOOKS/x.sh", "HOOKS/y.sh", True),
        ("hooks/x.sh", "hooks/x.sh.bak", True),
        ("hooks/x.sh", "hooks/.env", True),
        ("tools/x.sh", "tools/y.sh", False),
    ],
)
def test_the_folder_that_hooks_live_in_is_covered_with_them(
    project: Project, script: str, beside: str, is_covered: bool
) -> None:
    project.write(script, "")
    project.write(beside, "")
    found = covered(project, f"sh {script}")
    assert script in found.files
    assert (beside in found.files) is is_covered
    assert (f"{script}: what it loads beside it" in found.remarks) is script.startswith("tools")
    assert found.uncovered == ()


@pytest.mark.parametrize(
    "mark",
    [
        ".claude-plugin/plugin.json",
        "plugin.json",
        "gemini-extension.json",
        "llxprt-extension.json",
    ],
)
def test_a_plugin_is_covered_whole(project: Project, mark: str) -> None:
    project.write(f"vendor/plug/{mark}", "{}")
    project.write("vendor/plug/scripts/x.sh", "")
    project.write("vendor/plug/lib/y.sh", "")
    assert "vendor/plug/lib/y.sh" in covered(project, "sh vendor/plug/scripts/x.sh").files


def test_a_file_that_appears_in_a_hook_folder_shows_in_what_is_watched(project: Project) -> None:
    project.write("hooks/x.sh", "")
    (project.path / "hooks/lib").mkdir()
    watched = covered(project, "sh hooks/x.sh").watched
    assert {str(project.path / "hooks"), str(project.path / "hooks/lib")} <= set(watched)


def test_a_folder_beyond_the_bounds_is_named_and_the_script_stays_covered(
    project: Project,
) -> None:
    project.write("hooks/x.sh", "")
    for number in range(201):
        project.write(f"hooks/data/{number}", "")
    found = covered(project, "sh hooks/x.sh")
    assert set(found.files) == {"hooks/x.sh"}
    assert [str(u) for u in found.uncovered] == ["hooks/: more than 200 files or 16 MiB"]
    for number in range(1, 201):
        (project.path / f"hooks/data/{number}").unlink()
    with open(project.path / "hooks/data/0", "wb") as file:
        file.truncate(16 * 1024 * 1024 + 1)
    assert [str(u) for u in covered(project, "sh hooks/x.sh").uncovered] == [
        "hooks/: more than 200 files or 16 MiB"
    ]
    assert uncovered(project, "tool hooks/data/0")[0] == "hooks/data/0: it is larger than 16 MiB"


def test_a_folder_within_the_bounds_is_covered_to_the_last_file(project: Project) -> None:
    project.write("hooks/x.sh", "")
    for number in range(199):
        project.write(f"hooks/data/{number}", "")
    found = covered(project, "sh hooks/x.sh")
    assert (len(found.files), found.uncovered) == (200, ())
    project.write("hooks/data/199", "")
    assert len(covered(project, "sh hooks/x.sh").files) == 1


def test_a_folder_is_covered_down_to_a_depth_of_32(project: Project) -> None:
    project.write("hooks/x.sh", "")
    deepest = "/".join(["hooks", *"d" * 32])
    project.write(f"{deepest}/file", "")
    found = covered(project, "sh hooks/x.sh")
    assert set(found.files) == {"hooks/x.sh", f"{deepest}/file"}
    (project.path / deepest / "d").mkdir()
    (name,) = uncovered(project, "sh hooks/x.sh")
    assert name == f"{deepest}/d/: a folder that cannot be listed"


@pytest.mark.parametrize(("size", "is_covered"), [(16 << 20, True), ((16 << 20) + 1, False)])
def test_a_file_of_16_mebibytes_is_covered_and_none_that_is_larger(
    project: Project, size: int, is_covered: bool
) -> None:
    with project.write("data", "").open("wb") as file:
        file.truncate(size)
    assert uncovered(project, "tool data") == (
        [] if is_covered else ["data: it is larger than 16 MiB"]
    )


@pytest.mark.parametrize(("size", "start"), [(256 << 10, "text:xx"), ((256 << 10) + 1, "sha256:")])
def test_a_text_is_kept_up_to_256_kibibytes(project: Project, size: int, start: str) -> None:
    state = read_state(str(project.write("x", "x" * size)), str(project.path))
    assert state is not None
    assert state.content.startswith(start)


@pytest.mark.parametrize(
    ("name", "is_kept"),
    [
        ("hooks/state/count", True),
        (".hookline/state/count", True),
        (".claude/state/deep/count", True),
        ("state/count", False),
        ("hooks/other/state/count", False),
        ("hooks/state/count.sh", False),
    ],
)
def test_what_hooks_keep_for_themselves_is_remarked_and_not_covered(
    project: Project, name: str, is_kept: bool
) -> None:
    project.write(name, "")
    found = covered(project, f"cat {name}")
    assert (name in found.files) is not is_kept
    assert (f"{name}: hooks write it themselves" in found.remarks) is is_kept
    (project.path / name).chmod(0o755)
    assert name in covered(project, f"cat {name}").files


def test_a_link_out_of_a_hook_folder_is_recorded_and_not_followed(
    project: Project, tmp_path: Path
) -> None:
    project.write("hooks/x.sh", "")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/y.sh").write_text("")
    (project.path / "hooks/lib").symlink_to(tmp_path / "outside")
    (project.path / "hooks/y.sh").symlink_to(tmp_path / "outside/y.sh")
    found = covered(project, "sh hooks/x.sh")
    assert set(found.files) == {"hooks/x.sh", "hooks/lib", "hooks/y.sh"}
    assert [str(u) for u in found.uncovered] == ["hooks/lib/: a link to a directory"]
    state = read_state(found.files["hooks/lib"], str(project.path))
    assert state == FileState(kind="directory", leads_to=str(tmp_path / "outside"))


def test_a_link_that_turns_in_a_circle_ends(project: Project) -> None:
    project.write("hooks/x.sh", "")
    (project.path / "hooks/again").symlink_to(".")
    (project.path / "hooks/self").symlink_to("self")
    found = covered(project, "sh hooks/x.sh")
    assert set(found.files) == {"hooks/x.sh", "hooks/again"}
    assert found.uncovered == ()


def test_what_a_command_writes_itself_is_not_covered(project: Project) -> None:
    for name in ("hooks/x.sh", "hooks/log.txt", "hooks/err.txt", "count"):
        project.write(name, "")
    found = covered(project, "sh hooks/x.sh < count 2> hooks/err.txt >> hooks/log.txt; touch count")
    assert set(found.files) == {"hooks/x.sh"}
    assert "hooks/x.sh" in covered(project, "date > hooks/x.sh; sh hooks/x.sh").files


def test_code_that_a_command_claims_to_write_stays_covered(project: Project) -> None:
    for name in ("hooks/x.sh", "hooks/lib.sh", "rules.py", "rules.txt"):
        project.write(name, "")
    found = covered(
        project, ": >> hooks/lib.sh; touch rules.py rules.txt; hooks/x.sh rules.py rules.txt"
    )
    assert set(found.files) == {"hooks/x.sh", "hooks/lib.sh", "rules.py"}
    assert "rules.txt: hooks write it themselves" in found.remarks


def test_a_switch_that_a_command_looks_for_is_watched(project: Project) -> None:
    found = covered(project, "[ -f .off ] && exit 0; [[ -e no ]] && exit 0; test -f maybe; exit 2")
    assert {str(project.path / name) for name in (".off", "no", "maybe")} <= set(found.watched)
    project.write(".off", "")
    assert ".off" in covered(project, "[ -f .off ] && exit 0; exit 2").files


def test_files_of_text_tools_and_of_options_are_covered(project: Project) -> None:
    for name in ("p.txt", "f.jq", "a,b.json", "c.json", "d/e.sed", "r:s", "lib.awk"):
        project.write(name, "")
    found = covered(
        project,
        "grep -f p.txt x | jq -f f.jq | guard --rules=a,b.json --more=x,c.json -Id/e.sed r:s "
        "| curl -d @d/e.sed y | awk -f lib.awk",
    )
    assert set(found.files) == {"p.txt", "f.jq", "a,b.json", "c.json", "d/e.sed", "r:s", "lib.awk"}
    assert "lib.awk" in found.code


def test_python_that_ignores_our_variables_would_read_planted_caches(project: Project) -> None:
    project.write("hooks/x.py", "")
    for command in ("python3 -I hooks/x.py", "python3 -E hooks/x.py"):
        assert len(uncovered(project, command)) == 1
    project.script("hooks/y", "#!/usr/bin/python3 -I\n")
    assert len(uncovered(project, "hooks/y")) == 1
    assert uncovered(project, "python3 -I -X pycache_prefix=/dev/null hooks/x.py") == []


def test_names_do_not_depend_on_the_link_through_which_the_project_was_reached(
    guarded: Project, tmp_path: Path
) -> None:
    (tmp_path / "alias").symlink_to(guarded.path)
    commands = ["tools/x.sh", '"$HOOKLINE_PROJECT_DIR/tools/x.sh"', f"{guarded.path}/tools/x.sh"]
    for command in (*commands, f"{tmp_path}/alias/tools/x.sh", "./tools/../tools/x.sh"):
        for path in (guarded.path, tmp_path / "alias"):
            for cwd in (guarded.path, tmp_path / "alias", tmp_path / "alias" / "tools"):
                found = covered(guarded, command, project_dir=path, cwd=cwd)
                assert set(found.files) == {"tools/x.sh"}


def test_a_link_keeps_its_own_name_and_is_watched_with_its_directory(guarded: Project) -> None:
    (guarded.path / "link.sh").symlink_to("tools/x.sh")
    found = covered(guarded, "./link.sh")
    assert set(found.files) == {"link.sh"}
    assert {str(guarded.path / "link.sh"), str(guarded.path)} <= set(found.watched)
    state = read_state(found.files["link.sh"], str(guarded.path))
    assert state is not None
    assert state.leads_to == "tools/x.sh"


def test_a_relative_program_of_a_user_is_the_users_own_if_it_is_beside_the_settings(
    guarded: Project, tmp_path: Path
) -> None:
    own = tmp_path / "config"
    fields: dict[str, Any] = {"source": HookSource.USER, "directory": str(own)}
    assert covered(guarded, "tools/x.sh", **fields).code == {"tools/x.sh"}
    (own / "tools").mkdir(parents=True)
    (own / "tools/x.sh").write_text("")
    found = covered(guarded, "tools/x.sh", **fields)
    assert (found.files, found.code) == ({}, frozenset())
    assert str(own / "tools/x.sh") in found.watched
    assert covered(guarded, "true; tools/x.sh", **fields).code == {"tools/x.sh"}
    assert covered(guarded, f"{guarded.path}/tools/x.sh", **fields).code == {"tools/x.sh"}


def test_code_outside_the_project_is_remarked(guarded: Project, tmp_path: Path) -> None:
    (tmp_path / "out.sh").write_text("")
    found = covered(guarded, f"sh {tmp_path}/out.sh /etc/passwd")
    assert (found.files, found.uncovered) == ({}, ())
    assert found.remarks == (f"{tmp_path}/out.sh: it is outside the project",)


@pytest.mark.parametrize(
    ("command", "variables"),
    [
        ("sh x", "BASH_ENV ENV LD_PRELOAD LD_AUDIT LD_LIBRARY_PATH DYLD_INSERT_LIBRARIES"),
        ("python3 x", "PYTHONPATH PYTHONHOME DYLD_LIBRARY_PATH"),
        ("node x", "NODE_OPTIONS NODE_PATH"),
        ("perl x", "PERL5LIB PERL5OPT"),
        ("ruby x", "RUBYLIB RUBYOPT"),
        ("java x", "CLASSPATH"),
    ],
)
def test_a_users_variable_is_remarked_for_the_programs_that_read_it(
    project: Project, command: str, variables: str
) -> None:
    project.write("src/x", "")
    place = project.path / "src"
    for name in variables.split():
        found = covered(project, command, environ={**PATH, name: str(place)})
        assert f"{name}={place}: what is loaded from there" in found.remarks
        # Every command has a shell.
        is_anyones = name.startswith(("LD_", "DYLD_")) or command == "sh x"
        other = covered(project, "lua x", environ={**PATH, name: str(place)})
        assert bool(other.remarks) is is_anyones, name


def test_a_users_variable_that_loads_from_the_project_is_remarked(project: Project) -> None:
    project.write("src/json.py", "")
    environ = {**PATH, "PYTHONPATH": str(project.path / "src")}
    remarks = covered(project, "python3 -c 'import json'", environ=environ).remarks
    assert f"PYTHONPATH={project.path}/src: what is loaded from there" in remarks
    assert covered(project, "echo x", environ=environ).remarks == ()


@pytest.mark.parametrize(
    "command",
    [
        "x " + " ".join(f"w{n}" for n in range(8000)),
        "a;" * 30_000,
        "x " + "{" * 5000,
        "x " + "{a,b}" * 5000,
        "(" * 60_000,
        "x " + "`\\`" * 20_000,
        "eval " * 10_000,
        "sh -c " * 10_000 + "x",
        "x " + "/*/*/*/* " * 3000,
        f"for f in {' '.join(f'a{n}' for n in range(250))}; do {'sh $f $f; ' * 2000} done",
        "A=$A$A; " * 8000 + "$A",
        "cd a; " * 2000 + "./x",
        "x " + "${A:-" * 3000 + "}" * 3000,
        "echo " + "a " * 500_000,
        "python3 -c '" + "a/b " * 10_000 + "'",
    ],
    ids=lambda text: text[:12],
)
def test_a_hostile_command_takes_no_long_time(project: Project, command: str) -> None:
    started = time.process_time()
    found = covered(project, command)
    assert time.process_time() - started < 4
    assert len(found.watched) <= 1100


PIECES = [
    *("a", "hooks/x.sh", "$A", "${A:-", "}", "{", ",", "*", "[", "]", "(", ")", "((", "$(", "`"),
    *("'", '"', "\\", "\n", ";", "|", "&", "<", "<<E", "E", "<<<", ">", "for", "in", "do"),
    *("done", "case", "esac", "if", "cd", "sh", "-c", "eval", "env", "xargs", "find", "-exec"),
    *("{}", "python3", "-m", "-I", "sed", "awk", "=", "A=", "PATH=", "~", "~+", "..", "/", "\0"),
    *("\ud800", "é", "time", "function", "trap", "export", "read", "timeout", "."),
]


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    st.lists(st.sampled_from([*PIECES, " ", " ", " "]), min_size=1, max_size=30).map("".join),
    st.sampled_from(list(HookSource)),
)
def test_any_text_is_survived(project: Project, command: str, source: HookSource) -> None:
    project.write("hooks/x.sh", "#!/bin/sh -\n")
    found = covered(project, command, source=source, directory=str(project.path))
    for said in (*map(str, found.uncovered), *found.remarks):
        assert said.isprintable()
        assert len(said) < 220
    for place in found.files.values():
        assert read_state(place, str(project.path)) is not None


def test_too_many_matches_are_named(project: Project) -> None:
    for number in range(201):
        project.write(f"rules/{number}.txt", "")
    assert uncovered(project, "guard rules/*") == ["rules/*: too many words"]
    (project.path / "rules/0.txt").unlink()
    found = covered(project, "guard rules/*")
    assert (len(found.files), found.uncovered) == (200, ())
    assert str(project.path / "rules") in found.watched


@pytest.mark.parametrize("command", ["hooks/x.sh\0", "sh '\ud800'", "x " + "a" * 5000, "''", "$"])
def test_a_word_that_can_name_no_file_is_no_trouble(project: Project, command: str) -> None:
    assert covered(project, command).files == {}


def test_a_text_is_kept_whole_and_shown_by_its_lines(project: Project) -> None:
    script = project.script("x.sh", "#!/bin/sh\necho é\n")
    state = read_state(str(script), str(project.path))
    assert state == FileState(
        kind="file", leads_to="x.sh", executable=True, content="text:#!/bin/sh\necho é\n"
    )
    assert lines_of(state) == ["#!/bin/sh", "echo é"]
    script.chmod(0o644)
    assert read_state(str(script), str(project.path)) != state


def test_one_byte_that_is_no_utf8_hides_nothing(project: Project) -> None:
    file = project.path / "x.sh"
    file.write_bytes(b"#!/bin/sh\nevil # \xff\n")
    state = read_state(str(file), str(project.path))
    assert state is not None
    assert lines_of(state) == ["#!/bin/sh", "evil # \\xff"]
    file.write_bytes(b"#!/bin/sh\nevil # \\xff\n")
    assert read_state(str(file), str(project.path)) != state
    file.write_bytes(b"\x7fELF\necho evil \xff\n")
    state = read_state(str(file), str(project.path))
    assert state is not None
    assert "echo evil \\xff" in lines_of(state)


def test_what_is_large_is_compared_by_checksum_and_beyond_that_not_read(project: Project) -> None:
    file = project.path / "data"
    file.write_bytes(b"x" * 300_000)
    state = read_state(str(file), str(project.path))
    assert state is not None
    (line,) = lines_of(state)
    assert line.startswith("sha256:")
    assert line.endswith("(300000 bytes)")
    file.write_bytes(b"x" * 299_999 + b"y")
    assert read_state(str(file), str(project.path)) != state
    with open(file, "wb") as opened:
        opened.truncate(1 << 40)
    started = time.process_time()
    state = read_state(str(file), str(project.path))
    assert time.process_time() - started < 1
    assert state is not None
    assert lines_of(state) == ["too large to cover (1099511627776 bytes)"]


def test_a_text_of_256_kibibytes_is_kept_and_none_that_is_longer(project: Project) -> None:
    file = project.write("data", "x" * 262_144)
    state = read_state(str(file), str(project.path))
    assert state is not None
    assert lines_of(state) == ["x" * 262_144]
    project.write("data", "x" * 262_145)
    state = read_state(str(file), str(project.path))
    assert state is not None
    assert lines_of(state)[0].endswith("(262145 bytes)")


@pytest.mark.parametrize("to", ["/dev/zero", "/dev/tty", "fifo"])
def test_what_is_no_regular_file_is_never_opened(project: Project, to: str) -> None:
    os.mkfifo(project.path / "fifo")
    (project.path / "x.sh").symlink_to(to)
    found = covered(project, "sh x.sh")
    state = read_state(found.files["x.sh"], str(project.path))
    assert state == FileState(kind="other", leads_to="fifo" if to == "fifo" else to)
    assert lines_of(state) == ["no regular file"]


def test_nothing_there_is_no_state_and_what_cannot_be_read_is_an_error(project: Project) -> None:
    project.write("file", "")
    (project.path / "broken").symlink_to("nowhere")
    (project.path / "loop").symlink_to("loop")
    for name in ("none", "file/none", "broken", "loop"):
        assert read_state(str(project.path / name), str(project.path)) is None
    if os.geteuid() != 0:
        (project.path / "file").chmod(0)
        with pytest.raises(PermissionError):
            read_state(str(project.path / "file"), str(project.path))


def test_a_state_never_mixes_two_files_that_a_link_leads_to_in_turn(project: Project) -> None:
    for name in ("a", "b"):
        project.write(name, name * 1000)
        (project.path / f"to-{name}").symlink_to(name)
    link, is_over = project.path / "link", threading.Event()
    link.symlink_to("a")

    def turn() -> None:
        while not is_over.is_set():
            for name in ("a", "b"):
                (project.path / "next").symlink_to(name)
                os.replace(project.path / "next", link)

    thread = threading.Thread(target=turn)
    thread.start()
    try:
        for _ in range(300):
            try:
                state = read_state(str(link), str(project.path))
            except OSError as error:
                if error.errno != errno.EBUSY:
                    raise
                continue
            assert state is not None
            assert state.content == f"text:{state.leads_to * 1000}"
    finally:
        is_over.set()
        thread.join()


def at_step(
    monkeypatch: pytest.MonkeyPatch, step: str, change: Callable[[], object], times: int = 1
) -> None:
    """Have something happen before or after a call of the system, as if another process did it."""
    when, name = step.split()
    real, left = getattr(os, name), [None] * times

    def call(*arguments: Any) -> Any:
        if when == "before" and left:
            left.pop()
            change()
        done = real(*arguments)
        if when == "after" and left:
            left.pop()
            change()
        return done

    monkeypatch.setattr(os, name, call)


STEPS = ["before open", "after open", "after read"]


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("is_replaced", [False, True])
def test_a_file_that_changes_while_it_is_read_is_read_again(
    project: Project, monkeypatch: pytest.MonkeyPatch, step: str, is_replaced: bool
) -> None:
    file, other = project.write("x.sh", "before"), project.write("other", "behind")

    def change() -> None:
        if is_replaced:
            os.replace(other, file)
        else:
            file.write_text("behind")
        os.utime(file, ns=(1, 1))

    at_step(monkeypatch, step, change)
    state = read_state(str(file), str(project.path))
    assert state == FileState(kind="file", leads_to="x.sh", content="text:behind")


def test_a_file_that_changes_at_every_look_is_an_error(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = project.write("x.sh", "")
    at_step(monkeypatch, "before open", lambda: file.write_text(file.read_text() + "x"), times=4)
    state = read_state(str(file), str(project.path))
    assert state is not None
    assert state.content == "text:xxxx"
    at_step(monkeypatch, "before open", lambda: file.write_text(file.read_text() + "x"), times=5)
    with pytest.raises(TrustError, match=r"x.sh cannot be read \(it keeps changing"):
        read_states({"x.sh": str(file)}, str(project.path))


@pytest.mark.parametrize("step", STEPS)
def test_a_link_that_is_led_elsewhere_while_it_is_read_is_read_again(
    project: Project, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    for name in ("a", "b"):
        project.write(name, name)
    link = project.path / "link"
    link.symlink_to("a")
    (project.path / "next").symlink_to("b")
    at_step(monkeypatch, step, lambda: os.replace(project.path / "next", link))
    state = read_state(str(link), str(project.path))
    assert state == FileState(kind="file", leads_to="b", content="text:b")


def test_a_file_that_becomes_something_else_before_it_is_opened_is_read_as_that(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, target = project.write("x", ""), project.write("target", "text")
    os.mkfifo(project.path / "fifo")
    (project.path / "link").symlink_to(target)
    at_step(monkeypatch, "before open", lambda: os.replace(project.path / "fifo", file))
    assert read_state(str(file), str(project.path)) == FileState(kind="other", leads_to="x")
    file.unlink()
    file.write_text("")
    at_step(monkeypatch, "before open", lambda: os.replace(project.path / "link", file))
    state = read_state(str(file), str(project.path))
    assert state == FileState(kind="file", leads_to="target", content="text:text")
    file.unlink()
    file.write_text("")
    at_step(monkeypatch, "before open", file.unlink)
    assert read_state(str(file), str(project.path)) is None


def test_what_is_behind_a_file_that_a_command_writes_is_covered(project: Project) -> None:
    for name in ("hooks/a.log", "hooks/b.sh", "hooks/x.sh"):
        project.write(name, "")
    (project.path / "hooks/aa").symlink_to("nowhere")
    found = covered(project, "sh hooks/x.sh > hooks/a.log")
    assert set(found.files) == {"hooks/b.sh", "hooks/x.sh"}
