"""The one table of programs that run code or other programs, and of the words of a shell itself.

A program is here for what it makes of its arguments: which of them are code, a script, or the
program that it starts.
"""

import os
import re

import msgspec

# Variables that make an interpreter, a shell or the system's loader load code.
LOADERS = re.compile(
    r"BASH_FUNC_.*|BASH_ENV|ENV|SHELLOPTS|BASHOPTS|PS4|ZDOTDIR|FPATH|LD_.*|DYLD_.*|PYTHON.*|NODE_.*"
    r"|PERL5.*|PERLLIB|RUBY.*|GEM_.*|BUNDLE_.*|GCONV_PATH|LOCPATH|LESSOPEN|LESSCLOSE"
    r"|_?JAVA_\w*OPTIONS",
    re.DOTALL,
)
HARMLESS_LOADERS = frozenset(
    {
        *("PYTHONUNBUFFERED", "PYTHONIOENCODING", "PYTHONUTF8", "PYTHONDONTWRITEBYTECODE"),
        *("PYTHONHASHSEED", "PYTHONNOUSERSITE", "PYTHONSAFEPATH", "NODE_ENV", "NODE_NO_WARNINGS"),
    }
)
# The interpreter that a person would write in front of a script, by the end of its name.
INTERPRETERS_BY_SUFFIX = {
    ".py": "python3",
    ".js": "node",
    ".mjs": "node",
    ".rb": "ruby",
    ".pl": "perl",
}
# Behind these words of a shell's grammar a command begins.
OPENING = frozenset(
    {"if", "then", "else", "elif", "while", "until", "do", "for", "{", "!", "time", "coproc"}
)
# All words of its grammar, which it knows only where a command begins.
RESERVED = OPENING | {"}", "[[", "]]", "case", "done", "esac", "fi", "function", "in", "select"}
_BUILTINS = frozenset(
    {
        *(".", ":", "[", "alias", "bg", "bind", "break", "builtin", "caller", "cd", "command"),
        *("compgen", "complete", "compopt", "continue", "declare", "dirs", "disown", "echo"),
        *("enable", "eval", "exec", "exit", "export", "false", "fc", "fg", "getopts", "hash"),
        *("help", "history", "jobs", "kill", "let", "local", "logout", "mapfile", "popd"),
        *("printf", "pushd", "pwd", "read", "readarray", "readonly", "return", "set", "shift"),
        *("shopt", "source", "suspend", "test", "times", "trap", "true", "type", "typeset"),
        *("ulimit", "umask", "unalias", "unset", "wait"),
    }
)
# What a shell handles itself, unless it is quoted or has a path.
OF_THE_SHELL = RESERVED | _BUILTINS


class Program(msgspec.Struct, frozen=True, kw_only=True):
    """What a program makes of its arguments.

    ``kind`` is that of an interpreter whose options are all known. ``form`` says where code is:
    behind a "shell"'s option, behind an option before the "script", behind an "option" anywhere, in
    the first operand of a "filter", in "assignments", or in "all" arguments. ``code`` are the
    options for code, ``inline`` those for code besides a script, ``scriptless`` others without a
    script, ``valued`` the rest that take a value. With one of ``stdin`` it reads commands from
    there, none means always; with one of ``moves`` it changes the directory first. A wrapper starts
    the program behind ``operands``, None if its place is not known.
    """

    kind: str = ""
    is_shell: bool = False
    is_wrapper: bool = False
    has_script: bool = False
    runs_shell_code: bool = False
    form: str = ""
    code: tuple[str, ...] = ()
    inline: tuple[str, ...] = ()
    scriptless: tuple[str, ...] = ()
    valued: tuple[str, ...] = ()
    stdin: tuple[str, ...] | None = None
    moves: tuple[str, ...] = ()
    operands: int | None = None


def find_in_table(word: str) -> Program | None:
    """Return what is known about the program that a word starts, whatever its folder or version."""
    name = os.path.basename(word).lower().removesuffix(".exe")
    return _PROGRAMS.get(name) or _PROGRAMS.get(name.rstrip("0123456789."))


def find_kind(kind: str) -> Program:
    """Return what is known about a kind of interpreter."""
    return _PROGRAMS[kind]


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


_SHELL = Program(
    kind="sh",
    is_shell=True,
    runs_shell_code=True,
    form="shell",
    code=("-c",),
    scriptless=("-s",),
    valued=_words("-o -O --rcfile --init-file --emulate"),
    stdin=("-s",),
)
_PYTHON = Program(
    kind="python",
    form="script",
    code=("-c",),
    scriptless=("-m",),
    valued=_words("-W -X --check-hash-based-pycs"),
)
_NODE = Program(
    kind="node",
    form="script",
    code=_words("-e --eval -p --print"),
    valued=_words("-r --require --import --loader -C --conditions"),
)
_TELLS_A_SHELL = Program(
    runs_shell_code=True, form="option", code=_words("-c --command --session-command")
)
_ROWS: tuple[tuple[str, Program], ...] = (
    ("sh bash rbash dash ash zsh ksh mksh yash", _SHELL),
    ("csh tcsh", msgspec.structs.replace(_SHELL, kind="", has_script=True)),
    (
        "fish",
        Program(
            is_shell=True,
            has_script=True,
            runs_shell_code=True,
            form="script",
            code=_words("-c -C --command --init-command"),
            valued=_words("-d -o -f -p"),
            stdin=("-s",),
        ),
    ),
    ("nu xonsh elvish", Program(form="option", code=_words("-c -e --commands --execute"))),
    ("python pypy", _PYTHON),
    ("pythonw ipython", msgspec.structs.replace(_PYTHON, kind="")),
    ("node nodejs", _NODE),
    ("bun tsx ts-node", msgspec.structs.replace(_NODE, kind="", has_script=True)),
    ("deno", Program(has_script=True, form="option", code=("eval",))),
    (
        "perl",
        Program(
            kind="perl",
            form="script",
            code=("-e", "-E"),
            inline=("-M", "-m", "-F"),
            valued=("-I",),
        ),
    ),
    ("ruby", Program(kind="ruby", form="script", code=("-e",), valued=_words("-I -r -C -E"))),
    (
        "php",
        Program(
            has_script=True,
            form="script",
            code=_words("-r -B -R -E -F --run"),
            valued=_words("-c -d -f -z -S -t"),
        ),
    ),
    ("lua luajit", Program(has_script=True, form="script", code=("-e",), valued=("-l",))),
    ("r", Program(form="script", code=("-e",), valued=("-f",))),
    ("rscript", Program(has_script=True, form="script", code=("-e",), valued=("-f",))),
    (
        "julia",
        Program(
            has_script=True,
            form="script",
            code=_words("-e -E --eval --print"),
            valued=_words("-J -C -p -t -L"),
        ),
    ),
    ("osascript", Program(has_script=True, form="script", code=("-e",), valued=("-l", "-s"))),
    ("tclsh", Program(has_script=True)),
    ("elixir groovy", Program(has_script=True, form="option", code=_words("-e -c --eval -eval"))),
    (
        "erl scala ghc guile clojure clj swift",
        Program(form="option", code=_words("-e -c --eval -eval")),
    ),
    ("vi vim nvim ex", Program(form="option", code=_words("-c + --cmd"))),
    (
        "emacs emacsclient gdb lldb",
        Program(form="option", code=_words("-e -o -iex --eval --execute --eval-command")),
    ),
    ("psql mysql mariadb", Program(form="option", code=_words("-c -e --command --execute"))),
    ("git", Program(form="option", code=("-c",))),
    ("awk gawk mawk nawk", Program(form="filter", code=("-e", "--source"))),
    ("sed gsed", Program(form="filter", code=("-e", "--expression"))),
    ("jq gojq yq sqlite3", Program(form="filter", code=("-e",))),
    ("make gmake", Program(form="assignments")),
    ("pwsh", Program(has_script=True, form="all")),
    ("powershell cmd", Program(form="all")),
    ("eval trap ssh tmux screen", Program(runs_shell_code=True, form="all")),
    ("sg", _TELLS_A_SHELL),
    ("npm pnpm yarn", Program(runs_shell_code=True, form="option", code=("-c", "--call"))),
    (
        "nix nix-shell",
        Program(runs_shell_code=True, form="option", code=_words("-c --run --command")),
    ),
    # Wrappers.
    ("nohup setsid command builtin busybox toybox bunx", Program(is_wrapper=True, operands=0)),
    (
        "npx",
        Program(
            is_wrapper=True,
            operands=0,
            runs_shell_code=True,
            form="option",
            code=("-c", "--call"),
        ),
    ),
    (
        "env",
        Program(
            is_wrapper=True,
            operands=0,
            runs_shell_code=True,
            code=("-S", "--split-string"),
            valued=_words("-u --unset -a --argv0"),
            moves=("-C", "--chdir", "-D"),
        ),
    ),
    (
        "timeout",
        Program(is_wrapper=True, operands=1, valued=_words("-s --signal -k --kill-after")),
    ),
    ("nice", Program(is_wrapper=True, operands=0, valued=("-n", "--adjustment"))),
    (
        "ionice",
        Program(is_wrapper=True, operands=0, valued=_words("-c --class -n --classdata")),
    ),
    ("chrt", Program(is_wrapper=True, operands=1, valued=("-T", "-P", "-D"))),
    ("taskset", Program(is_wrapper=True, operands=1)),
    (
        "stdbuf",
        Program(is_wrapper=True, operands=0, valued=_words("-i --input -o --output -e --error")),
    ),
    ("time", Program(is_wrapper=True, operands=0, valued=_words("-f --format -o --output"))),
    ("exec", Program(is_wrapper=True, operands=0, valued=("-a",))),
    (
        "sudo",
        Program(
            is_wrapper=True,
            operands=0,
            valued=_words("-u -g -h -p -C -r -t -T -U"),
            stdin=_words("-s -i --shell --login"),
            moves=("-C", "--chdir", "-D"),
        ),
    ),
    (
        "doas",
        Program(is_wrapper=True, operands=0, valued=("-u", "-C"), stdin=("-s", "-i")),
    ),
    ("xargs", Program(is_wrapper=True, operands=0, valued=_words("-I -n -P -d -E -L -s -a"))),
    (
        "flock",
        msgspec.structs.replace(
            _TELLS_A_SHELL, is_wrapper=True, operands=1, valued=("-w", "--timeout", "-E")
        ),
    ),
    (
        "uv",
        Program(
            is_wrapper=True,
            operands=1,
            valued=_words(
                "-p --python --with --with-editable --with-requirements --env-file --extra --group"
                " --package --project"
            ),
            moves=("--directory",),
        ),
    ),
    ("poetry pipenv pdm hatch", Program(is_wrapper=True, operands=1)),
    ("script", msgspec.structs.replace(_TELLS_A_SHELL, is_wrapper=True)),
    ("su runuser", msgspec.structs.replace(_TELLS_A_SHELL, is_wrapper=True, stdin=())),
    ("watch parallel", Program(is_wrapper=True, runs_shell_code=True, form="all")),
    (
        "chroot find strace ltrace caffeinate unbuffer systemd-run unshare nsenter setarch",
        Program(is_wrapper=True),
    ),
)
_PROGRAMS = {name: program for names, program in _ROWS for name in names.split()}
