"""What a command starts: the file on PATH, the interpreter and the script."""

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from hookline.shell.programs import (
    Started,
    find_program,
    find_user_config,
    hook_variables,
    interpreter_in,
    own_variables,
    program_at,
    read_shebang,
    resolve_in_command,
    resolve_relative,
    resolve_words,
    shebang_in,
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
        *("echo x.sh", "cd - && ./x.sh", "cd a b && ./x.sh", "x.sh `y`", "A=1"),
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


@pytest.mark.slow
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


def test_a_hook_of_an_extension_or_a_plugin_finds_its_directories_too() -> None:
    def variables(**fields: Any) -> dict[str, str]:
        hook = CommandHook(name="h", command="x", **fields)
        places: dict[str, Any] = {"project_dir": "/p", "cwd": "/c", "session_id": "", "event": ""}
        plain = hook_variables(**places)
        return {n: v for n, v in hook_variables(**places, hook=hook).items() if n not in plain}

    extension = {"source": HookSource.EXTENSIONS}
    assert variables(directory="/d") == {}
    assert variables(directory="/e", **extension) == {"extensionPath": "/e", "workspacePath": "/p"}
    assert variables(**extension)["extensionPath"] == "/${extensionPath}"
    assert variables(plugin_root="/r", dialect="claude") == {"CLAUDE_PLUGIN_ROOT": "/r"}
    both = {"CLAUDE_PLUGIN_ROOT": "/r", "CLAUDE_PLUGIN_DATA": "/s"}
    assert variables(plugin_root="/r", plugin_data="/s", dialect="claude") == both
    assert variables(plugin_data="/s") == {}


def test_only_an_extensions_variables_may_name_its_directories() -> None:
    env = {"A": "${extensionPath}/a:$workspacePath", "B": "$HOME"}
    values = {"extensionPath": "/e", "workspacePath": "/w", "HOME": "/h"}
    hook = CommandHook(name="h", command="x", env=env, source=HookSource.EXTENSIONS)
    assert own_variables(hook, values) == {"A": "/e/a:/w", "B": "$HOME"}
    assert own_variables(hook, {}) == env
    assert own_variables(CommandHook(name="h", command="x", env=env), values) == env


@pytest.mark.parametrize(
    ("command", "args", "found"),
    [
        ("x ${user_config.KEY} y", None, "${user_config.KEY}"),
        ("x", ("a", "${user_config.A}${user_config.B}"), "${user_config.A}"),
        ("${user_config.KEY", None, "${user_config.KEY"),
        ("$user_config.KEY", ("${user}",), None),
    ],
)
def test_what_a_plugins_user_was_asked_for_is_found(
    command: str, args: tuple[str, ...] | None, found: str | None
) -> None:
    assert find_user_config(CommandHook(name="h", command=command, args=args)) == found


@pytest.mark.parametrize(
    ("words", "at"),
    [
        ("", None),
        ("x a", 0),
        ("env x", 1),
        ("/usr/bin/env -i A=1 B=2 x", 4),
        ("env -u A x", None),
        ("env", None),
        ("env A=1", None),
    ],
)
def test_the_program_is_the_first_word_or_what_env_starts(words: str, at: int | None) -> None:
    assert program_at(words.split()) == at


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"#!/bin/sh\n", ("/bin/sh",)),
        (b"#!/bin/sh", ("/bin/sh",)),
        (b"#! \t/bin/sh -e x\n", ("/bin/sh", "-e x")),
        (b"#!\n", None),
        (b"#!" + b"x" * 253 + b"\n", ("x" * 253,)),
        (b"#!" + b"x" * 254 + b"\n", None),
        (b"#!/bin/sh " + b"x" * 300, ("/bin/sh", "x" * 246)),
    ],
)
def test_of_a_first_line_no_more_than_256_bytes_count(
    content: bytes, words: tuple[str, ...] | None
) -> None:
    assert shebang_in(content) == words


@pytest.mark.parametrize(
    ("there", "source", "found"),
    [
        ({"p/x", "c/x", "d/x"}, HookSource.PROJECT, "p/x"),
        ({"c/x", "d/x"}, HookSource.PROJECT, "x"),
        ({"p/x", "c/x", "d/x"}, HookSource.USER, "d/x"),
        ({"p/x", "c/x"}, HookSource.USER, "x"),
        ({"p/x"}, HookSource.USER, "p/x"),
        (set(), HookSource.USER, "x"),
    ],
)
def test_a_relative_path_is_looked_for_where_its_layer_may_have_it(
    project: Project, there: set[str], source: HookSource, found: str
) -> None:
    for name in there:
        project.write(name, "")
    places = {each: str(project.path / each) for each in "pcd"}
    hook = CommandHook(name="h", command="x", source=source, directory=places["d"])
    word = resolve_relative("./x", hook, cwd=places["c"], project_dir=places["p"])
    assert word == ("./x" if found == "x" else str(project.path / found))


def test_a_file_that_cannot_be_looked_at_keeps_its_place(project: Project) -> None:
    project.write("x.js", "")
    (project.path / "loop").symlink_to("loop")
    hook = CommandHook(name="h", command="x", source=HookSource.PROJECT)
    places = {"cwd": str(project.path / "below"), "project_dir": str(project.path)}
    assert resolve_relative("loop/x", hook, **places) == f"{project.path}/loop/x"
    assert resolve_relative("a" * 300, hook, **places) == "a" * 300
    assert resolve_relative("a\0", hook, **places) == "a\0"
    assert resolve_relative("x.js/y", hook, **places) == "x.js/y"
    assert resolve_words(["node", "x"], hook, **places) == ["node", f"{project.path}/x"]
    assert resolve_words(["sh", "x"], hook, **places) == ["sh", "x"]


@pytest.mark.parametrize(
    "before", ["2>log ", ">log ", "true; 2>&1 >log ", "A=1 2>log ", "2>log A=1 "]
)
def test_a_relative_program_behind_a_redirection_is_the_projects_own(
    project: Project, before: str
) -> None:
    project.script("x.sh", "")
    hook = CommandHook(name="h", command="x", source=HookSource.PROJECT)
    places = {"cwd": str(project.path / "below"), "project_dir": str(project.path)}
    assert resolve_in_command(f"{before}./x.sh", {}, hook, **places) == (
        f"{before}'{project.path}/x.sh'"
    )


@pytest.mark.parametrize(
    ("command", "at"),
    [
        ("env -u A hooks/x.sh", 3),
        ("env -C deep hooks/x.sh", None),
        ("sudo -u root hooks/x.sh", 3),
        ("sudo -D deep hooks/x.sh", None),
        ("nice -C hooks/x.sh", 2),
        ("timeout -k 1 5 hooks/x.sh", 4),
        ("timeout 5 nice -n 1 hooks/x.sh", 5),
        ("uv run hooks/x.sh", 2),
        ("uv run x.py", 2),
        ("uv run --script x.py", 3),
        ("uv run --with a --quiet python hooks/x.sh", 6),
        ("uv run --directory deep hooks/x.sh", None),
        ("uv run --quiet", None),
        ("poetry run sh hooks/x.sh", 3),
        ("php x.py", 1),
        ("php x.py hooks/x.sh", 1),
        ("deno run -A hooks/x.sh", 3),
        ("deno run", None),
        ("php", None),
        ("source hooks/x.sh", 1),
        (". x.py", None),
        ("cat hooks/x.sh", None),
        ("x.py", None),
        ("/bin/sh hooks/x.sh", 1),
    ],
)
def test_of_the_words_of_a_command_only_what_it_starts_is_looked_for_in_the_project(
    project: Project, command: str, at: int | None
) -> None:
    project.write("hooks/x.sh", "")
    project.write("x.py", "")
    hook = CommandHook(name="h", command="x", source=HookSource.PROJECT)
    words, places = command.split(), {"cwd": "/nowhere", "project_dir": str(project.path)}
    changed = {at: str(project.path / words[at])} if at is not None else {}
    expected = [changed.get(index, word) for index, word in enumerate(words)]
    assert resolve_words(words, hook, **places) == expected


STARTERS = [
    *("nohup", "setsid -w", "command", "builtin command", "busybox sh", "toybox sh", "npx tsx"),
    *("bunx", "ionice -c 2 --classdata 1", "chrt -T 1 5", "taskset 1", "stdbuf -o L -e 0"),
    *(
        "time -f x",
        "exec -a n",
        "doas -u me",
        "xargs -n 1 -I {}",
        "flock -w 1 lock",
        "env -a n",
    ),
    *("uv run -p 3", "uv run --env-file e", "poetry run", "pipenv run", "pdm run", "hatch run"),
    *("fish", "lua", "luajit -i", "bun run", "ts-node", "Rscript", "julia", "osascript"),
    *("tclsh", "pwsh", "elixir", "groovy", "ruby -C d", "perl -I d", "node -C d", "zsh", "ksh"),
]


def test_what_a_program_starts_is_looked_for_in_the_project(project: Project) -> None:
    project.write("hooks/x.sh", "")
    hook = CommandHook(name="h", command="x", source=HookSource.PROJECT)
    places = {"cwd": "/nowhere", "project_dir": str(project.path)}
    for words in (before.split() for before in STARTERS):
        expected = [*words, str(project.path / "hooks/x.sh"), "hooks/x.sh"]
        assert resolve_words([*words, "hooks/x.sh", "hooks/x.sh"], hook, **places) == expected


BEHIND_CD = [
    ("cd hooks && ./x.sh", "cd 'P/hooks' && ./x.sh"),
    ("cd hooks; ./x.sh; ./x.sh", "cd 'P/hooks'; ./x.sh; ./x.sh"),
    ("cd hooks/..; hooks/x.sh", "cd 'P/hooks/..'; hooks/x.sh"),
    ("hooks/x.sh; cd hooks; ./x.sh", "'P/hooks/x.sh'; cd 'P/hooks'; ./x.sh"),
    ("(cd hooks; (./x.sh)); hooks/x.sh", "(cd 'P/hooks'; (./x.sh)); 'P/hooks/x.sh'"),
    ("(cd /; true); hooks/x.sh", "(cd /; true); 'P/hooks/x.sh'"),
    ("o=$(cd hooks; ./x.sh); hooks/x.sh", "o=$(cd 'P/hooks'; ./x.sh); 'P/hooks/x.sh'"),
    ("cd $D && ./x.sh", "cd 'P/hooks' && ./x.sh"),
    ("sh -c 'hooks/x.sh'", "sh -c ''\\''P/hooks/x.sh'\\'''"),
    ("cd a;" * 16 + "./x.sh", "cd 'P/a';" + "cd a;" * 15 + "./x.sh"),
    *(
        (command, command)
        for command in (
            *("cd /abs; hooks/x.sh", "cd -; hooks/x.sh", "cd hooks; cd /; ./x.sh"),
            *("cd hooks extra; hooks/x.sh", "builtin cd /; hooks/x.sh", "popd; hooks/x.sh"),
            *("pushd hooks; ./x.sh", "cd hooks; sh -c './x.sh'", "D=y; cd $D && ./x.sh"),
            *("D=y; $D/x.sh", "$E/x.sh", "hooks/none.sh", "cd a;" * 17 + "./x.sh"),
        )
    ),
]


def test_a_path_behind_cd_is_the_projects_as_long_as_it_is_known(project: Project) -> None:
    for name in ("hooks/x.sh", f"{'a/' * 16}x.sh", f"{'a/' * 17}x.sh"):
        project.write(name, "")
    hook = CommandHook(name="h", command="x", source=HookSource.PROJECT)
    places = {"cwd": str(project.path / "below"), "project_dir": str(project.path)}
    for command, resolved in BEHIND_CD:
        found = resolve_in_command(command, {"D": "hooks"}, hook, **places)
        assert found == resolved.replace("P/", f"{project.path}/")
