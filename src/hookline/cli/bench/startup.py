"""What of a hook's time is nothing but starting: found by starting its interpreter on no work.

The same runner starts both in turn, so what differs is the work of the script alone.
"""

import os
import re
from collections.abc import Mapping, Sequence

import msgspec

from hookline.pipeline.runner.shell import exec_argv
from hookline.pipeline.runner.words import plain_words
from hookline.wire.hooks import CommandHook

# Interpreter -> the arguments that give it nothing to do.
_IDLE: dict[str, tuple[str, ...]] = {
    "python": ("-c", "pass"),
    "pypy": ("-c", "pass"),
    "sh": ("-c", ":"),
    "bash": ("-c", ":"),
    "dash": ("-c", ":"),
    "zsh": ("-c", ":"),
    "ksh": ("-c", ":"),
    "node": ("-e", "0"),
    "ruby": ("-e", "0"),
    "perl": ("-e", "0"),
}
_NAME = re.compile(r"([a-z]+)[\d.]*")
# Those that change how Python starts, and take no argument of their own.
_FLAGS = re.compile(r"-[bBdEIOPqsSuv]+")


class Baseline(msgspec.Struct, frozen=True):
    """A hook that only starts, and what it is in words."""

    words: str
    hook: CommandHook
    is_python: bool = False


def baseline_of(hook: CommandHook, values: Mapping[str, str], *, cwd: str) -> Baseline:
    """The bare start of whatever runs a hook; ``values`` are the variables of its command."""
    words = _argv(hook, values)
    if words is None:
        return Baseline("the shell's bare start", _replaced(hook, ":", None))
    found = _interpreter(words) or _interpreter(_shebang(words[0], cwd))
    if found is None:
        return Baseline("true", _replaced(hook, "true", ()))
    family, program, flags = found
    arguments = (*flags, *_IDLE[family])
    shown = " ".join([os.path.basename(program), *arguments])
    is_python = family == "python"
    return Baseline(shown, _replaced(hook, program, arguments), is_python)


def _argv(hook: CommandHook, values: Mapping[str, str]) -> list[str] | None:
    if hook.args is not None:
        return list(exec_argv(hook.command, hook.args, values))
    return plain_words(hook.command, values)


def _replaced(hook: CommandHook, command: str, args: tuple[str, ...] | None) -> CommandHook:
    cold = {"warm": False} if "warm" in CommandHook.__struct_fields__ else {}
    name = f"start of {hook.name}"
    return msgspec.structs.replace(hook, name=name, command=command, args=args, **cold)


def _interpreter(words: Sequence[str]) -> tuple[str, str, tuple[str, ...]] | None:
    """The family, the program and the flags of the interpreter that a command line begins with."""
    if words and os.path.basename(words[0]) == "env":
        words = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
    if not words:
        return None
    name = _NAME.fullmatch(os.path.basename(words[0]))
    if name is None or name[1] not in _IDLE:
        return None
    flags: list[str] = []
    for word in words[1:]:
        if name[1] != "python" or not _FLAGS.fullmatch(word):
            break
        flags.append(word)
    return name[1], words[0], tuple(flags)


def _shebang(program: str, cwd: str) -> list[str]:
    """The words of the line in a script that names its interpreter."""
    file = os.path.join(cwd, program) if os.sep in program else _on_path(program)
    try:
        with open(file, "rb") as script:
            line = script.readline(256)
    except OSError:
        return []
    return os.fsdecode(line[2:]).split() if line.startswith(b"#!") else []


def _on_path(program: str) -> str:
    import shutil

    return shutil.which(program) or program
