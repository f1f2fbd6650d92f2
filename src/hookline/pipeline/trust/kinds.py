"""Tables of what well-known programs do with their words: read text, load code, start others.

A program that is in no table may read whatever its words name.
"""

from enum import StrEnum


class Use(StrEnum):
    """What a command does with a name."""

    PROGRAM = "program"
    """It is looked up on PATH."""
    CODE = "code"
    """It is executed or loaded, a directory with all it holds."""
    DATA = "data"
    """It may be read; in a directory, any of its files may be."""
    SEEN = "seen"
    """It may be read; of a directory, only its state."""
    MAYBE = "maybe"
    """It is text, and perhaps the name of a file."""
    WRITTEN = "written"
    """The command itself writes it."""


# Words of the grammar behind which a command begins or ends.
OPENING = frozenset(
    {
        *("if", "then", "else", "elif", "while", "until", "do", "{", "!", "time", "coproc"),
        *("fi", "done", "esac", "}"),
    }
)
REPEATING = frozenset({"for", "while", "until", "select", "function", "trap"})
# Their arguments are text or files they write, not files they read.
TEXT_ONLY = frozenset(
    {
        *("echo", "printf", ":", "true", "false", "exit", "return", "break", "continue", "shift"),
        *("date", "basename", "dirname", "sleep", "kill", "pwd", "wait", "type", "which", "hash"),
        *("umask", "ulimit", "unset", "seq", "expr", "id", "whoami", "uname", "hostname", "tty"),
        *("logger", "notify-send", "terminal-notifier", "say", "printenv", "mktemp", "jobs"),
        *("mkdir", "rmdir", "touch", "rm", "tee", "chmod", "let", "set", "shopt", "popd", "fg"),
    }
)
WRITING = frozenset({"mkdir", "rmdir", "touch", "rm", "tee", "mktemp"})
# They read files as text and load no code; the first operand of some is a pattern.
PATTERN_FIRST = frozenset({"grep", "egrep", "fgrep", "zgrep", "jq", "tr", "sed"})
READING = PATTERN_FIRST - {"sed"} | frozenset(
    {
        *("cat", "cut", "head", "tail", "wc", "sort", "uniq", "diff", "cmp", "comm", "paste"),
        *("base64", "sha256sum", "sha1sum", "md5sum", "cksum", "nl", "tac", "rev", "fold", "od"),
        *("curl", "xxd", "column", "join", "split", "stat", "file", "realpath", "readlink"),
        *("test", "[", "[[", "ls", "find", "du"),
    }
)
LOOKING = frozenset({"test", "[", "[[", "ls", "find", "du", "stat", "realpath", "readlink"})
SHELLS = frozenset({"ash", "mksh", "rbash", "yash", "fish", "csh", "tcsh", "oksh", "posh"})
# Their operands are scripts; the options below take code as a value.
INTERPRETERS = frozenset(
    {
        *("php", "lua", "luajit", "tsx", "ts-node", "Rscript", "osascript", "pwsh", "tclsh"),
        *("julia", "elixir", "guile", "expect", "wish", "gjs", "qjs", "escript", "groovy"),
        *("java", "nu", "xonsh", "racket", "sbcl", "coffee", "deno", "bun", "jshell", "swift"),
        *("awk", "gawk", "mawk", "nawk", "sed", "gsed", "R", "clojure", "bb", "scala"),
    }
)
CODE_OPTIONS = frozenset({"-c", "-e", "-E", "-r", "-R", "--eval", "-p", "--print", "eval"})
CODE_OPTIONS_OF = {
    "python": frozenset({"-c"}),
    "node": frozenset({"-e", "--eval", "-p", "--print"}),
    "ruby": frozenset({"-e"}),
    "perl": frozenset({"-e", "-E"}),
    "sh": frozenset[str](),
}
# In the code of awk and sed, what may start a program.
STARTING = ("system", "getline", "|", "e ")
LOADING_OPTIONS = frozenset(
    {"-r", "--require", "--import", "--loader", "--experimental-loader", "--rcfile", "--init-file"}
)
# They run what is in files that the command does not name; some only with these words.
ALWAYS_RUNNING = frozenset(
    {
        *("make", "gmake", "just", "task", "rake", "tox", "nox", "invoke", "inv", "fab", "npx"),
        *("pnpx", "bunx", "uvx", "npm", "yarn", "pnpm", "composer", "gradle", "gradlew", "mvn"),
        *("mvnw", "ant", "sbt", "lein", "mix", "bazel", "bazelisk", "scons", "ninja", "meson"),
        *("cmake", "ctest", "pre-commit", "lefthook", "husky", "lint-staged", "turbo", "nx"),
        *("lerna", "gulp", "grunt", "jest", "vitest", "mocha", "eslint", "pytest", "py.test"),
        *("mise", "direnv", "rspec", "rails", "phing", "phpunit", "stack", "cabal", "earthly"),
        *("dagger", "act", "run-parts", "docker-compose", "ansible-playbook", "vagrant"),
        *("runghc", "nix-shell"),
    }
)
RUNNERS: dict[str, frozenset[str]] = {
    **dict.fromkeys(ALWAYS_RUNNING, frozenset()),
    "bun": frozenset({"run", "exec", "test", "x", "install"}),
    "bundle": frozenset({"exec"}),
    "cargo": frozenset({"run", "test", "build", "check", "clippy", "bench", "xtask", "nextest"}),
    "deno": frozenset({"task", "test", "bench"}),
    "docker": frozenset({"compose", "build", "buildx"}),
    "dotnet": frozenset({"run", "test", "build", "exec", "tool"}),
    "go": frozenset({"run", "test", "generate", "build", "tool", "vet"}),
    "hatch": frozenset({"run", "test", "shell", "build"}),
    "nix": frozenset({"run", "develop", "shell", "build"}),
    "node": frozenset({"--test", "--run"}),
    "pdm": frozenset({"run"}),
    "pipenv": frozenset({"run"}),
    "pipx": frozenset({"run"}),
    "poetry": frozenset({"run"}),
    "rye": frozenset({"run", "test"}),
    "swift": frozenset({"run", "test", "build"}),
    "uv": frozenset({"run", "tool"}),
}
# Programs that start another command: options that take a value, and operands before it.
WRAPPERS: dict[str, tuple[tuple[str, ...], int]] = {
    "env": (("-u", "--unset", "-C", "--chdir", "-S", "--split-string", "-P", "-a"), 0),
    "timeout": (("-s", "--signal", "-k", "--kill-after"), 1),
    "gtimeout": (("-s", "--signal", "-k", "--kill-after"), 1),
    "nice": (("-n", "--adjustment"), 0),
    "ionice": (("-c", "-n", "--class", "--classdata"), 0),
    "chrt": ((), 1),
    "taskset": ((), 1),
    "nohup": ((), 0),
    "setsid": ((), 0),
    "stdbuf": (("-i", "-o", "-e", "--input", "--output", "--error"), 0),
    "unbuffer": ((), 0),
    "time": (("-f", "-o", "--format", "--output"), 0),
    "exec": (("-a",), 0),
    "command": ((), 0),
    "builtin": ((), 0),
    "noglob": ((), 0),
    "sudo": (("-u", "-g", "-h", "-p", "-C", "-D", "-R", "-T", "-U", "-r", "-t", "--user"), 0),
    "doas": (("-u", "-C"), 0),
    "flock": (("-w", "-E", "--timeout", "--conflict-exit-code", "-c", "--command"), 1),
    "chroot": (("--userspec", "--groups"), 1),
    "caffeinate": (("-t", "-w"), 0),
    "busybox": ((), 0),
    "toybox": ((), 0),
    "strace": (("-o", "-e", "-p", "-s", "-u"), 0),
    "parallel": (("-j", "-a", "-I", "-S", "--jobs", "--arg-file"), 0),
    "xargs": (
        (
            *("-I", "-n", "-P", "-d", "-a", "-L", "-s", "-E", "-J", "-R"),
            *("--max-args", "--max-procs", "--delimiter", "--arg-file", "--max-chars"),
        ),
        0,
    ),
    "watch": (("-n", "--interval"), 0),
    **dict.fromkeys(
        ("unshare", "setarch", "linux32", "linux64", "fakeroot", "numactl", "pkexec", "ltrace"),
        ((), 0),
    ),
    **dict.fromkeys(
        ("systemd-run", "systemd-inhibit", "xvfb-run", "dbus-run-session", "valgrind", "rlwrap"),
        ((), 0),
    ),
}
CODE_OPTIONS_OF_WRAPPERS = {
    "env": frozenset({"-S", "--split-string"}),
    "flock": frozenset({"-c", "--command"}),
}
# They run a command that is the value of an option.
EVALUATING = frozenset({"su", "runuser", "script"})
# They start what their configuration names, which may be in the project.
CONFIGURED = frozenset({"git", "hg"})
FROM_INPUT = frozenset({"xargs", "parallel"})
DECLARING = frozenset({"export", "declare", "typeset", "local", "readonly"})
SETTING = frozenset({"read", "mapfile", "readarray", "getopts"})
# Variables that make an interpreter of a kind ("" for any program) load files.
LOADERS: dict[str, tuple[str, Use]] = {
    "BASH_ENV": ("sh", Use.CODE),
    "ENV": ("sh", Use.CODE),
    "LD_PRELOAD": ("", Use.CODE),
    "LD_AUDIT": ("", Use.CODE),
    "LD_LIBRARY_PATH": ("", Use.DATA),
    "DYLD_INSERT_LIBRARIES": ("", Use.CODE),
    "DYLD_LIBRARY_PATH": ("", Use.DATA),
    "PYTHONPATH": ("python", Use.DATA),
    "PYTHONHOME": ("python", Use.DATA),
    "NODE_OPTIONS": ("node", Use.CODE),
    "NODE_PATH": ("node", Use.DATA),
    "PERL5LIB": ("perl", Use.DATA),
    "PERL5OPT": ("perl", Use.CODE),
    "RUBYLIB": ("ruby", Use.DATA),
    "RUBYOPT": ("ruby", Use.CODE),
    "CLASSPATH": ("java", Use.DATA),
}
# Variables that a shell sets itself, whatever the environment has.
OF_THE_MOMENT = frozenset(
    {
        *("_", "RANDOM", "SRANDOM", "SECONDS", "LINENO", "EPOCHSECONDS", "EPOCHREALTIME"),
        *("BASHPID", "PPID", "SHLVL", "BASH_COMMAND", "BASH_SOURCE", "BASH_ARGV", "FUNCNAME"),
        *("BASH_EXECUTION_STRING", "DIRSTACK", "REPLY", "OPTARG", "MAPFILE", "BASH"),
    }
)
# They make a shell match words in a way that is not followed here.
OTHER_WAYS = frozenset({"GLOBIGNORE", "BASHOPTS"})
OTHER_MATCHING = frozenset({"extglob", "dotglob", "nocaseglob", "globstar", "nocasematch"})
RUN_BY_SED = r"(?:[^\w\s;][0-9gpimIM]*|(?:^|[;\n])[\s0-9,~+]*)e[0-9gpimIM]*\s*(?:[;}\n]|$)"
# The option that a text for sed may be joined to.
BEFORE_SED = r"^(?:-[A-Za-z]*?e|--expression=)"
WITHOUT_SYNTAX = {ord(char): " " for char in ";&|<>()`=,:{}[]'\"\\$@!?*#\n\r\t"}

OF_THE_SHELL = frozenset(
    {
        *DECLARING,
        *SETTING,
        *(".", ":", "[", "[[", "alias", "break", "builtin", "cd", "command", "continue", "echo"),
        *("eval", "exec", "exit", "false", "fc", "hash", "jobs", "kill", "let", "popd", "printf"),
        *("pushd", "pwd", "return", "set", "shift", "shopt", "source", "test", "trap", "true"),
        *("type", "ulimit", "umask", "unalias", "unset", "wait", "bg", "fg", "times", "enable"),
    }
)
