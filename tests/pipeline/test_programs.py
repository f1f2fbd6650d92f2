"""What a command starts: the file on PATH, the interpreter and the script."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from hookline.pipeline.programs import (
    Started,
    find_program,
    hook_variables,
    interpreter_in,
    read_shebang,
    started_by,
)
from hookline.wire.hooks import CommandHook, HookSource
from tests.harness.scratch import Project


def test_every_hook_finds_nine_variables() -> None:
    assert hook_variables(project_dir="/p", cwd="/p/c", session_id="s-1", event="BeforeTool") == {
        "HOOKLINE_PROJECT_DIR": "/p",
        "LLXPRT_PROJECT_DIR": "/p",
        "GEMINI_PROJECT_DIR": "/p",
        "CLAUDE_PROJECT_DIR": "/p",
        "HOOKLINE_CWD": "/p/c",
        "GEMINI_CWD": "/p/c",
        "HOOKLINE_SESSION_ID": "s-1",
        "GEMINI_SESSION_ID": "s-1",
        "HOOKLINE_EVENT": "BeforeTool",
    }


@pytest.fixture
def tools(project: Project) -> Project:
    project.write("first/tool", "no program\n")
    (project.path / "second/tool").mkdir(parents=True)
    project.script("third/tool", "#!/bin/sh\n")
    project.script("tool", "#!/bin/sh\n")
    return project


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("{0}/first:{0}/second:{0}/third:{0}", "{0}/third/tool"),
        ("first:second:third", "third/tool"),
        ("first:", "./tool"),
        ("", "./tool"),
        (".:third", "./tool"),
        ("{0}/third/tool:/no/such:third", "third/tool"),
        ("first:second:/no/such", None),
    ],
)
def test_a_name_is_the_first_program_on_the_path(
    tools: Project, path: str, found: str | None
) -> None:
    here = str(tools.path)
    expected = None if found is None else found.format(here)
    assert find_program("tool", path.format(here), cwd=here) == expected
    done = subprocess.run(
        ["/bin/sh", "-c", "command -v tool"],
        env={"PATH": path.format(here)},
        cwd=here,
        capture_output=True,
        text=True,
    )
    place = done.stdout.strip()
    assert bool(place) is (expected is not None)
    if expected is not None:
        assert os.path.samefile(tools.path / place, tools.path / expected)


def test_a_file_that_may_not_be_executed_is_found_where_that_is_asked(tools: Project) -> None:
    found = find_program("tool", "/no:first:third", cwd=str(tools.path), executable=False)
    assert found == "first/tool"


def test_a_name_with_a_slash_is_not_looked_for() -> None:
    assert find_program("no/such", "/bin", cwd="/") == "no/such"


def test_an_entry_that_may_not_be_searched_is_absent(tools: Project) -> None:
    (tools.path / "first").chmod(0)
    try:
        here = str(tools.path)
        assert find_program("tool", "first:third", cwd=here) == "third/tool"
        assert find_program("tool", "first", cwd=here) is None
    finally:
        (tools.path / "first").chmod(0o755)


SHEBANGS = [
    *("#!{0}", "#!{0}\n", "#! {0} \n", "#!\t{0}\t-x\t\n", "#!{0} -x -y  z \n", "#!{0} 'a b' \n"),
    *("#!/usr/bin/env {0}\n", "#!/usr/bin/env -S {0} -x -y\n", "#!/usr/bin/env -S{0} -x"),
]


@pytest.mark.skipif(sys.platform == "darwin", reason="macOS splits the line into words")
@pytest.mark.parametrize("line", SHEBANGS)
def test_a_first_line_is_read_as_the_system_reads_it(project: Project, line: str) -> None:
    show = project.script("show", '#!/bin/sh\nprintf \'%s\\0\' "$0" "$@"\n')
    script = project.script("script", line.format(show))
    done = subprocess.run([script, "last"], capture_output=True, text=True)
    words = read_shebang(str(script))
    assert words is not None
    started = words[1:] if words[0] == "/usr/bin/env" else words
    assert done.stdout.split("\0")[:-1] == [*started, str(script), "last"], done.stderr


@pytest.mark.parametrize(
    "content",
    [b"", b"#", b"#!", b"#!\n/bin/sh", b"#! \t\n", b" #!/bin/sh\n", b"#!" + b"/x" * 300],
)
def test_a_file_without_such_a_line_names_no_interpreter(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "script").write_bytes(content)
    assert read_shebang(str(tmp_path / "script")) is None
    assert read_shebang(str(tmp_path / "none")) is None


def test_a_carriage_return_is_part_of_the_interpreters_name(tmp_path: Path) -> None:
    (tmp_path / "script").write_bytes(b"#!/bin/sh\r\n")
    assert read_shebang(str(tmp_path / "script")) == ("/bin/sh\r",)


def test_what_env_would_not_split_at_blanks_is_left_whole(tmp_path: Path) -> None:
    (tmp_path / "script").write_text("#!/usr/bin/env -S python3 '-u x'\n")
    assert read_shebang(str(tmp_path / "script")) == ("/usr/bin/env", "-S python3 '-u x'")


@pytest.mark.parametrize(
    ("command", "kind", "script"),
    [
        ("python3 x.py", "python", "x.py"),
        ("/usr/bin/python3.12 -uW error -X dev x.py -c", "python", "x.py"),
        ("python3 -Werror -- x.py", "python", "x.py"),
        ("pypy3 x.py", "python", "x.py"),
        ("python3 -uc x.py", "python", None),
        ("python3 -m x.py", "python", None),
        ("python3 - x.py", "python", None),
        ("python3 -W", "python", None),
        ("bash -euo pipefail x.sh", "sh", "x.sh"),
        ("bash --norc --rcfile rc x.sh", "sh", "x.sh"),
        ("bash +e -- x.sh", "sh", "x.sh"),
        ("sh -ec x.sh", "sh", None),
        ("zsh -s x.sh", "sh", None),
        ("node -r dotenv/config --inspect x.js", "node", "x.js"),
        ("node --import=tsx x.js", "node", "x.js"),
        ("nodejs --eval 1 x.js", "node", None),
        ("ruby -Ilib -rjson -w x.rb", "ruby", "x.rb"),
        ("perl -Mstrict -I lib x.pl", "perl", "x.pl"),
        ("perl -ne x.pl", "perl", None),
        ("env python3 x.py", "python", "x.py"),
        ("/usr/bin/env -i A=1 sh x.sh", "sh", "x.sh"),
    ],
)
def test_an_interpreter_and_the_script_it_is_given(
    command: str, kind: str, script: str | None
) -> None:
    words = tuple(command.split())
    found = interpreter_in(words)
    assert found is not None
    assert (found.kind, None if found.script_at is None else words[found.script_at]) == (
        kind,
        script,
    )


@pytest.mark.parametrize(
    "command", ["", "x.py", "pythonic x.py", "env", "env -u A sh x", "env A=1", "make sh", "shx y"]
)
def test_another_program_is_no_interpreter(command: str) -> None:
    assert interpreter_in(command.split()) is None


def started(command: str, *args: str, **environ: str) -> Started | None:
    hook = CommandHook(name="h", command=command, args=args or None, env={"OWN": "mine"})
    variables = {"DIR": "/p q", "OWN": "mine", "HOOKLINE_PROJECT_DIR": "/p q"}
    return started_by(hook, variables, cwd="/c", project_dir="/p q", environ=environ)


@pytest.mark.parametrize(
    ("command", "program", "script"),
    [
        ("hooks/x.sh --y", "hooks/x.sh", "/c/hooks/x.sh"),
        ("$DIR/x.sh", "/p q/x.sh", "/p q/x.sh"),
        ("A=1 B='c d' sh x.sh", "sh", "/c/x.sh"),
        ("DIR=/other; $DIR/x.sh", "/other/x.sh", "/other/x.sh"),
        ("DIR=/other SUB=$DIR/sub $DIR/x.sh", "/p q/x.sh", "/p q/x.sh"),
        ("DIR=/other SUB=$DIR/sub; $SUB/x.sh", "/other/sub/x.sh", "/other/sub/x.sh"),
        ('cd "$DIR" && ./x.sh >"$LOG" 2>&1 || true', "./x.sh", "/p q/x.sh"),
        ("cd a; cd ../b\n./x.sh", "./x.sh", "/c/b/x.sh"),
        ("cat <x.txt | sh x.sh", "cat", None),
        ("'my tool' &", "my tool", None),
        ("~/x.sh", "/h/x.sh", "/h/x.sh"),
        ("$PWD/x.sh", "/c/x.sh", "/c/x.sh"),
        ("env A=1 python3 -u x.py", "python3", "/c/x.py"),
        ("env -u A x.sh", "env", None),
    ],
)
def test_what_a_command_starts_first(command: str, program: str, script: str | None) -> None:
    found = started(command, HOME="/h")
    assert found is not None
    assert (found.program, found.script_file) == (program, script)


@pytest.mark.parametrize(
    "command",
    [
        *("", "# x.sh", "if x.sh; then y; fi", "(x.sh)", "x.sh $(y)", "x.sh *", "$NONE/x.sh"),
        *("cat <<E\nx.sh\nE", "echo x.sh", "cd - && ./x.sh", "cd a b && ./x.sh", "x.sh `y`", "A=1"),
        *("diff <(a) b", "! x.sh", "'' x.sh", "A=1 $A/x.sh", "[[ x ]] && ./x.sh"),
    ],
)
def test_what_takes_a_shell_to_find_out_is_not_guessed(command: str) -> None:
    assert started(command) is None


def test_without_a_shell_every_word_is_one_of_its_own() -> None:
    found = started("sh", "$HOOKLINE_PROJECT_DIR/x y.sh", "*")
    assert found is not None
    assert (found.script_file, found.by_shell) == ("/p q/x y.sh", False)


@pytest.mark.parametrize(
    "command",
    [
        *("PATH={0}/third tool", "PATH={0}/third; tool", "env PATH={0}/third tool"),
        *("PATH={0}/third:$PATH tool", "cd {0} && PATH=third tool"),
    ],
)
def test_a_program_is_looked_up_on_the_path_it_is_started_with(
    tools: Project, command: str
) -> None:
    found = started(command.format(tools.path), PATH=str(tools.path))
    assert found is not None
    assert found.program_file == str(tools.path / "third/tool")


@pytest.mark.parametrize(
    "unit",
    [
        *(
            "env ",
            "nice ",
            "env -S ",
            "bash -c ",
            "sh ",
            "x/y;",
            "cd a;",
            "$HOOKLINE_CWD/x;",
            "$A/x;",
        ),
        *("`x/y`;", "$(x/y)", "(x/y);", "A=1 ", "x/y|", ">a ", "sh -c 'x/y';", "eval "),
        *("$HOOKLINE_CWD/x;", "awk "),
    ],
)
def test_a_long_command_is_looked_at_in_a_moment(unit: str) -> None:
    command = unit * (60_000 // len(unit))
    variables = {"HOOKLINE_CWD": "c", "A": "a", "HOOKLINE_PROJECT_DIR": "/p"}
    started_at = time.process_time()
    for args in (None, (*command.split(), "$HOOKLINE_PROJECT_DIR")):
        hook = CommandHook(name="h", command=command, args=args, source=HookSource.PROJECT)
        started_by(hook, variables, cwd="/", project_dir="/tmp", environ={})
    assert time.process_time() - started_at < 4
