"""Where a directory is put into the arguments of a command, and where it would become code."""

import pytest

from hookline.shell.arguments import fill_arguments
from hookline.shell.programs import argv_of
from hookline.wire.hooks import CommandHook, HookSource

DIRECTORY = "pkg $(touch x)"
VARIABLE = "$HOOKLINE_PROJECT_DIR"


def is_filled(*words: str) -> bool:
    """Whether the directory got into a command that has it in one place."""
    filled = fill_arguments(words, {"HOOKLINE_PROJECT_DIR": DIRECTORY})
    assert len(filled) == len(words)
    return any(DIRECTORY in word for word in filled)


@pytest.mark.parametrize(
    "before",
    [
        *("sh -c", "/bin/bash -c", "bash -ec", "bash -euo pipefail -c", "sh -c -e", "bash -c --"),
        *("bash -c -o pipefail", "bash -O extglob -c", "bash --rcfile rc -c", "sh +e -c", "zsh -c"),
        *("dash -xc", "fish -c", "fish -C", "fish --init-command", "ksh -c", "ash -c", "csh -c"),
        *("busybox sh -c", "toybox sh -c", "env sh -c", "env -i A=1 sh -c", "env -u A sh -c"),
        *("timeout 5 sh -c", "timeout -k 1 5 sh -c", "nice -n 5 sh -c", "sudo -u me sh -c"),
        *("xargs -I {} sh -c", "nohup sh -c", "setsid -w sh -c", "stdbuf -oL sh -c", "sh sh -c"),
        *("find . -exec sh -c", "direnv exec . bash -c", "docker run image sh -c", "uv run sh -c"),
        *("python3 -c", "python3.12 -uc", "/usr/bin/python -Ic", "pypy3 -c", "python3 -X dev -c"),
        *(
            "python3 -W error -c",
            "python3 -Wd -c",
            "env python3 -c",
            "poetry run python -c",
            "uvx python -c",
        ),
        *("node -e", "node --eval", "node -p", "node --print", "node -pe", "nodejs -e"),
        *("node --unknown value -e", "node --no-warnings -e", "node -r x -e", "node --import x -p"),
        *("deno eval", "bun -e", "bun --print", "perl -e", "perl -E", "perl -ne", "perl -pi -e"),
        *("perl -i.bak -pe", "perl -M", "ruby -e", "ruby -rjson -ne", "php -r", "lua -e"),
        *("Rscript -e", "julia -E", "osascript -e", "pwsh -Command", "pwsh -NoProfile -c"),
        *("awk", "awk -F, -v a=b", "gawk -e", "sed", "sed -n -e", "jq", "jq -r", "jq --arg a b"),
        *("env -S", "env -iS", "env --split-string", "su -c", "su me -c", "script -c", "ssh host"),
        *("watch", "watch -n 1 ls", "flock lock -c", "parallel", "eval", "npx -c", "npm exec -c"),
        *(
            "vim -c",
            "emacs --eval",
            "gdb -ex",
            "nu -c",
            "psql -c",
            "mysql -e",
            "sqlite3 db",
            "git -c",
        ),
        *("nix-shell --run", "tmux new"),
    ],
)
def test_an_argument_that_is_read_as_code_stays_as_written(before: str) -> None:
    assert not is_filled(*before.split(), f"print '{VARIABLE}' {{ }}")


@pytest.mark.parametrize(
    "word",
    [
        *("sh -c{0}", "python3 -cprint({0})", "python3 -uc{0}", "node --eval={0}", "node -e={0}"),
        *("node --print={0}", "perl -e{0}", "perl -Mlib={0}", "perl -F/{0}/", "ruby -e{0}"),
        *("fish --command={0}", "fish -c{0}", "env -S{0}", "env --split-string={0}", "php -r{0}"),
        *("emacs --eval={0}", "su --command={0}", "awk --source={0}", "sed -e{0}", "make A={0}"),
        *("node --import=data:text/javascript,{0}", "node --import data:text/javascript,{0}"),
        *("sed -i'{0}' s/a/b/", "jq -f x.jq -L'{0}'"),
        *("sed --expression={0}", "julia -e{0}", "sed s/a/{0}/", "sed -i .bak s/a/{0}/"),
    ],
)
def test_code_that_is_joined_to_its_option_stays_as_written(word: str) -> None:
    assert not is_filled(*word.format(VARIABLE).split())


def test_a_bare_path_that_a_shell_reads_as_code_stays_as_written() -> None:
    for command in ("sh -c", "bash -ceu", "env -S bash -c", "busybox ash -c", "ssh host", "su -c"):
        assert not is_filled(*command.split(), f"{VARIABLE}/x.sh"), command
    assert not is_filled("env", "-S", "bash -c", f"{VARIABLE}/x.sh")
    assert not is_filled("/usr/bin/env", "-Sbash -euo pipefail -c", f"{VARIABLE}/x.sh")


@pytest.mark.parametrize(
    "command",
    [
        *(
            "{0}/x.sh",
            "{0}/x.sh -c {1}",
            "tool -c {0}/config.json",
            "tool --eval={0}",
            "{0}/bin/sh",
        ),
        *("python3 {0}/x.py", "python3 x.py -c {0}", "python3 -u -X dev x.py -e {0}", "cat {0}"),
        *("bash {0}/x.sh", "bash -eu x.sh -c {0}", "node x.js -e {0}", "node -r {0}/a.js x.js"),
        *("sh -c code sh {0}", "sh -ec -- code sh {0}", "python3 -c code {0}", "node -e code {0}"),
        *(
            "env A={0} tool",
            "env STAGE={0} tool",
            "env PATH={0}/bin tool",
            "timeout 5 {0}/x.sh",
            "sudo -u me {0}/x.sh",
        ),
        *("awk -f {0}/x.awk", "sed -f {0}/x.sed", "jq -f {0}/x.jq", "perl -I{0}/lib x.pl"),
        *(
            "perl {0}/x.pl -e",
            "ruby -I {0} x.rb",
            "python3 -m pkg {0}",
            "make -C {0}",
            "git -C {0}",
        ),
        *("ln -s {0} sh", "sh", "grep -e {0} file", "xargs {0}/x.sh", "env -S tool {0}"),
        *("git -C {0}", "{0}/bin/sh", "docker -v {0}:/src image"),
        *("python3 -u x.py -c {0}", "node --unknown=a x.js -e {0}", "awk -f{0}/x.awk data"),
        *("deno run -A {0}/x.ts", "awk -v dir={0} -f x.awk", "jq -f x.jq {0}/x.json"),
    ],
)
def test_any_other_argument_gets_the_directory_as_text(command: str) -> None:
    words = command.format(VARIABLE, "other").split()
    assert is_filled(*words) is (VARIABLE in command.format(VARIABLE, ""))


def test_text_with_blanks_and_signs_is_text_to_a_program_that_reads_no_code() -> None:
    said = f"in {VARIABLE}: 'done' {{1}}; ok?"
    assert is_filled("notify-send", said)
    assert fill_arguments(
        ["say", "${HOOKLINE_PROJECT_DIR}x$HOOKLINE_PROJECT_DIRS"], {"HOOKLINE_PROJECT_DIR": "/p"}
    ) == ["say", "/px$HOOKLINE_PROJECT_DIRS"]


def test_only_directories_are_put_into_arguments() -> None:
    names = ("HOOKLINE_CWD", "GEMINI_CWD", "HOOKLINE_SESSION_ID", "HOOKLINE_EVENT", "OWN", "PATH")
    hook = CommandHook(name="h", command="say", args=tuple(f"${name}" for name in names))
    assert argv_of(hook, dict.fromkeys(names, "value")) == ["say", *(f"${name}" for name in names)]
    dirs = ("HOOKLINE", "LLXPRT", "GEMINI", "CLAUDE")
    hook = CommandHook(name="h", command="say", args=tuple(f"${{{d}_PROJECT_DIR}}/" for d in dirs))
    assert argv_of(hook, {f"{d}_PROJECT_DIR": "/p" for d in dirs}) == ["say", *["/p/"] * 4]


def test_a_project_cannot_pass_a_value_of_its_own_for_an_extensions_directory() -> None:
    args = ("${extensionPath}/x", "${workspacePath}/y")
    own = {"extensionPath": "/e", "workspacePath": "/w"}
    hook = CommandHook(name="h", command="say", args=args, source=HookSource.PROJECT)
    assert argv_of(hook, own) == ["say", *args]
    hook = CommandHook(name="h", command="say", args=args, source=HookSource.EXTENSIONS)
    assert argv_of(hook, own) == ["say", "/e/x", "/w/y"]


@pytest.mark.parametrize("command", ["perl -e {0} -e {1}", "node -r x -e {0} -p {1}"])
def test_every_option_for_code_counts(command: str) -> None:
    for code, path in ((VARIABLE, "x"), ("x", VARIABLE)):
        assert not is_filled(*command.format(code, path).split())


@pytest.mark.parametrize(
    "command", ["perl -e x {0}", "python3 -W {0} x.py", "node --require {0} x.js", "sh -o {0} x"]
)
def test_a_script_and_its_arguments_behind_code_or_options_are_text(command: str) -> None:
    assert is_filled(*command.format(VARIABLE).split())


def test_beyond_a_thousand_words_nothing_is_filled_in() -> None:
    assert is_filled("tool", VARIABLE, *["x"] * 998)
    assert not is_filled("tool", VARIABLE, *["x"] * 999)
    assert is_filled(VARIABLE, *["x"] * 1000)
