"""Says what a command starts: the file on PATH, the interpreter and the script.

Whoever runs, reviews, checks, measures or migrates a hook asks here, so all of them mean the same
program. Files are looked at, nothing is executed.
"""

import os
import sys
from collections.abc import Mapping, Sequence

import msgspec

from hookline.wire.hooks import CommandHook

_PLAIN = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./:@%+,=- \t")
_QUOTING = frozenset("'\"\\$")
# What a shell keeps for itself: words of its grammar, and programs that it has built in.
_OF_THE_SHELL = frozenset(
    {
        *("!", "{", "}", "[[", "]]", "case", "coproc", "do", "done", "elif", "else", "esac", "fi"),
        *("for", "function", "if", "in", "select", "then", "time", "until", "while"),
        *(".", ":", "[", "alias", "bg", "bind", "break", "builtin", "caller", "cd", "command"),
        *("compgen", "complete", "compopt", "continue", "declare", "dirs", "disown", "echo"),
        *("enable", "eval", "exec", "exit", "export", "false", "fc", "fg", "getopts", "hash"),
        *("help", "history", "jobs", "kill", "let", "local", "logout", "mapfile", "popd"),
        *("printf", "pushd", "pwd", "read", "readarray", "readonly", "return", "set", "shift"),
        *("shopt", "source", "suspend", "test", "times", "trap", "true", "type", "typeset"),
        *("ulimit", "umask", "unalias", "unset", "wait"),
    }
)
_INTERPRETERS = {
    **dict.fromkeys(["python", "pypy"], "python"),
    **dict.fromkeys(["sh", "bash", "dash", "zsh", "ksh"], "sh"),
    **dict.fromkeys(["node", "nodejs"], "node"),
    "ruby": "ruby",
    "perl": "perl",
}
# For each kind of interpreter the options that have a value, and those that leave no script.
_OPTIONS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "python": (("-W", "-X", "--check-hash-based-pycs"), ("-c", "-m")),
    "sh": (("-o", "-O", "--rcfile", "--init-file"), ("-c", "-s")),
    "node": (
        ("-r", "--require", "--import", "--loader", "-C", "--conditions"),
        ("-e", "--eval", "-p", "--print"),
    ),
    "ruby": (("-I", "-r", "-C"), ("-e",)),
    "perl": (("-I", "-M", "-m"), ("-e", "-E")),
}
# Linux reads no more of a script to find its interpreter.
_SHEBANG_BYTES = 256
_IS_MACOS = sys.platform == "darwin"


def hook_variables(*, project_dir: str, cwd: str, session_id: str, event: str) -> dict[str, str]:
    """The variables every hook finds, under the names of each host its script may come from."""
    return {
        "HOOKLINE_PROJECT_DIR": project_dir,
        "LLXPRT_PROJECT_DIR": project_dir,
        "GEMINI_PROJECT_DIR": project_dir,
        "CLAUDE_PROJECT_DIR": project_dir,
        "HOOKLINE_CWD": cwd,
        "GEMINI_CWD": cwd,
        "HOOKLINE_SESSION_ID": session_id,
        "GEMINI_SESSION_ID": session_id,
        "HOOKLINE_EVENT": event,
    }


def is_of_shell(word: str) -> bool:
    """Whether a shell keeps a word for itself: one of its grammar, or a program built into it."""
    return word in _OF_THE_SHELL


def words_in(command: str, values: Mapping[str, str]) -> list[str]:
    """Every word of a command, wherever it stands; a variable without a value stays as written."""
    from hookline.pipeline.shell import read_tokens

    return [token.fill(values) for token in read_tokens(command) if not isinstance(token, str)]


def plain_words(command: str, values: Mapping[str, str]) -> list[str] | None:
    """The words that a shell would make of a command; None if there is more to it than words.

    ``values`` are the variables that each stand for one word, or a part of one, whatever they
    hold. A command that begins with something of the shell's own is more than words.
    """
    if _QUOTING.isdisjoint(command):
        # A look at the characters spares a command line the loading of a reader.
        words = command.split() if _PLAIN.issuperset(command) else []
        return words if words and "=" not in words[0] and words[0] not in _OF_THE_SHELL else None
    from hookline.pipeline.shell import read_tokens

    words = []
    for token in read_tokens(command):
        if isinstance(token, str) or not token.is_known(values) or (token.assigned and not words):
            return None
        words.append(token.fill(values))
    return words if words and words[0] and words[0] not in _OF_THE_SHELL else None


def argv_of(hook: CommandHook, values: Mapping[str, str]) -> list[str] | None:
    """What is executed for a hook without a shell; None where it takes one.

    With ``args``, ``$NAME`` and ``${NAME}`` of ``values`` are replaced by their text, once.
    """
    if hook.args is None:
        return plain_words(hook.command, values)
    words = [hook.command, *hook.args]
    if not any("$" in word for word in words):
        return words
    from hookline.pipeline.shell import expand

    return [expand(word, values) for word in words]


def find_program(name: str, path: str, *, cwd: str, executable: bool = True) -> str | None:
    """The file that a name starts: the first on a search path that may be executed, or is there.

    A name with a slash is a file by itself. Entries may be relative to ``cwd``, and then so is the
    file; entries that this user may not search are as good as absent.
    """
    if "/" in name:
        return name
    for entry in path.split(os.pathsep):
        file = f"{entry or '.'}/{name}"
        place = os.path.join(cwd, file)
        if _is_executable(place) or (not executable and os.path.exists(place)):
            return file
    return None


def _is_executable(file: str) -> bool:
    # Only a text that can be a file's name may be asked about access.
    return os.path.isfile(file) and os.access(file, os.X_OK)


def read_shebang(file: str) -> tuple[str, ...] | None:
    """The words that run a script, as its first line names them; None where it names none."""
    from hookline.files import open_regular

    try:
        with open_regular(file) as script:
            return shebang_in(script.read(_SHEBANG_BYTES))
    except (OSError, ValueError):
        return None


def shebang_in(content: bytes) -> tuple[str, ...] | None:
    """The same, of a file that begins with ``content``."""
    if not content.startswith(b"#!"):
        return None
    line, newline, _ = content[2:_SHEBANG_BYTES].partition(b"\n")
    text = os.fsdecode(line).replace("\t", " ").strip(" ")
    program, blank, rest = text.partition(" ")
    if not program or not (newline or blank or len(content) < _SHEBANG_BYTES):
        return None
    rest = rest.strip(" ")
    if os.path.basename(program) == "env" and rest.startswith("-S"):
        # What env splits is not words where it has a syntax of its own.
        return (program, rest) if set(rest) & set("\"'\\$#") else (program, *rest[2:].split())
    # Linux hands on the rest as one argument.
    words = rest.split(" ") if _IS_MACOS else [rest]
    return (program, *(word for word in words if word))


def program_at(words: Sequence[str]) -> int | None:
    """Which of the words is the program: the first, or the one that ``env`` starts, if any."""
    if not words or os.path.basename(words[0]) != "env":
        return 0 if words else None
    at = 1
    while at < len(words) and ("=" in words[at] or words[at] == "-i"):
        at += 1
    return at if at < len(words) and not words[at].startswith("-") else None


class Interpreter(msgspec.Struct, frozen=True):
    """An interpreter among the words of a command: which word it is, its options with the value
    of each, and which word is its script."""

    kind: str
    at: int
    options: tuple[tuple[str, str], ...]
    script_at: int | None


def interpreter_in(words: Sequence[str]) -> Interpreter | None:
    """The interpreter that a command starts, None where it starts something else."""
    at = program_at(words)
    if at is None:
        return None
    kind = _INTERPRETERS.get(os.path.basename(words[at]).rstrip("0123456789."))
    if kind is None:
        return None
    options: list[tuple[str, str]] = []
    with_value, without_script = _OPTIONS[kind]
    signs = ("-", "+") if kind == "sh" else ("-",)
    end = at + 1
    while end < len(words) and words[end].startswith(signs) and words[end] not in ("-", "--"):
        word, end = words[end], end + 1
        # Letters may be joined: -ec is -e and -c.
        is_long = word.startswith("--")
        for place, letter in enumerate(word[1:], 2):
            option, _, value = word.partition("=") if is_long else (f"-{letter}", "", "")
            if option in with_value and not value:
                joined = "" if is_long or kind == "sh" else word[place:]
                value = joined or "".join(words[end : end + 1])
                end += not joined
            options.append((option, value))
            if option in without_script:
                return Interpreter(kind, at, tuple(options), None)
            if is_long or (value and kind != "sh"):
                break
    if end < len(words) and words[end] == "--":
        options.append(("--", ""))
        end += 1
    has_script = end < len(words) and words[end] not in ("", "-")
    return Interpreter(kind, at, tuple(options), end if has_script else None)


class Started(msgspec.Struct, frozen=True, kw_only=True):
    """What a command starts first, where and on which search path.

    ``script`` is the word that names a script, which may be the program itself; ``interpreter`` is
    the kind of program that runs it, None when it runs by itself. A shell also runs a script whose
    first line names nothing.
    """

    program: str
    script: str | None
    interpreter: str | None
    cwd: str
    path: str
    by_shell: bool

    @property
    def script_file(self) -> str | None:
        """Where the script should be."""
        return None if self.script is None else self._place(self.script)

    @property
    def program_file(self) -> str | None:
        """The file that is executed, None where none is found."""
        file = find_program(self.program, self.path, cwd=self.cwd)
        place = None if file is None else self._place(file)
        return place if place is not None and _is_executable(place) else None

    def _place(self, file: str) -> str:
        return os.path.normpath(os.path.join(self.cwd, file))


def started_by(
    hook: CommandHook, variables: Mapping[str, str], *, cwd: str, environ: Mapping[str, str]
) -> Started | None:
    """What a hook starts first; None where that takes a shell to find out.

    ``variables`` are those that the hook is given, beside those of ``environ``.
    """
    from hookline.pipeline.shell import REDIRECTIONS, read_tokens

    values = {**environ, "PWD": cwd, **variables}
    if hook.args is not None:
        return _started(argv_of(hook, variables) or [], values, cwd, by_shell=False)
    words: list[str] = []
    # What is assigned in front of a command is not there yet when its words are made.
    assigned: dict[str, str] = {}
    is_target = False
    for token in (*read_tokens(hook.command), ";"):
        if not isinstance(token, str):
            known = {**values, **assigned} if token.assigned and not words else values
            if is_target:
                is_target = False
            elif not token.is_known(known):
                return None
            elif token.assigned and not words:
                assigned[token.assigned] = token.fill(known).partition("=")[2]
            else:
                words.append(token.fill(values))
        elif token in REDIRECTIONS and token != "<<":
            is_target = True
        elif token not in (";", "&", "|", "\n"):
            return None
        elif not words:
            values |= assigned
        elif words[0] == "cd" and len(words) == 2 and not words[1].startswith("-"):
            cwd, words, assigned = os.path.join(cwd, words[1]), [], {}
        elif words[0] in _OF_THE_SHELL:
            return None
        else:
            return _started(words, values | assigned, cwd, by_shell=True)
    return None


def _started(
    words: Sequence[str], values: Mapping[str, str], cwd: str, *, by_shell: bool
) -> Started | None:
    if not words or not words[0]:
        return None
    at = program_at(words) or 0
    found = interpreter_in(words)
    script_at = found.script_at if found is not None else at if "/" in words[at] else None
    told_env = dict(word.split("=", 1) for word in words[1:at] if "=" in word)
    return Started(
        program=words[at],
        script=None if script_at is None else words[script_at],
        interpreter=found.kind if found is not None else None,
        cwd=cwd,
        path={**values, **told_env}.get("PATH", os.defpath),
        by_shell=by_shell and at == 0,
    )
