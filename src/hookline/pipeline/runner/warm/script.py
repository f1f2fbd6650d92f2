"""Tells the commands that start a Python script in a way that can be prepared for.

Only the command is looked at, and the first line of a script that is executed by itself. Whether
the interpreter can really be kept waiting is found out by trying.
"""

import functools
import os
import re
from collections.abc import Sequence

import msgspec

from hookline.files import Signature, signature

_SHEBANG_BYTES = 256
# Options that change nothing about how an interpreter starts but what it is told by them.
_HARMLESS = frozenset("bBdOPqsux")
_X_HARMLESS = frozenset(
    {
        *("cpu_count", "faulthandler", "frozen_modules", "gil", "int_max_str_digits"),
        *("no_debug_ranges", "pycache_prefix", "utf8", "warn_default_encoding"),
    }
)
_NOT_ALONE = {
    "c": "it is a program given with -c",
    "m": "it runs a module with -m",
    "i": "-i makes the interpreter interactive",
    "v": "-v makes the interpreter say what it does",
    "I": "-I keeps the interpreter from being prepared",
    "E": "-E keeps the interpreter from being prepared",
    "S": "-S keeps the interpreter from being prepared",
}


class PythonScript(msgspec.Struct, frozen=True):
    """A script and how it is started: ``program`` is the file to execute with ``argv``.

    ``interpreter`` and its ``interpreter_program`` start the interpreter alone, with its options.
    """

    argv: tuple[str, ...]
    program: str
    path: str
    interpreter: tuple[str, ...]
    interpreter_program: str


def python_script(argv: Sequence[str], *, program: str, cwd: str) -> PythonScript | None:
    """The script that a program started with ``argv`` would run; None if it cannot be warm."""
    found = _examined(tuple(argv), program, cwd)
    return None if isinstance(found, str) else found


def why_cold(argv: Sequence[str], *, program: str, cwd: str) -> str | None:
    """What keeps a command from being warm, in words that follow "because"; None if nothing."""
    found = _examined(tuple(argv), program, cwd)
    return found if isinstance(found, str) else None


def _examined(argv: tuple[str, ...], program: str, cwd: str) -> PythonScript | str:
    if _is_interpreter(program) or os.path.basename(program) == "env":
        return _by_command(argv, program)
    file = os.path.join(cwd, program)
    version = signature(file)
    if version is None:
        return "it is no Python script"
    return _by_first_line(argv, program, file, version)


@functools.lru_cache(maxsize=256)
def _by_command(argv: tuple[str, ...], program: str) -> PythonScript | str:
    """A command that names the interpreter: ``python3 -u x.py`` or ``env python3 x.py``."""
    start = 1
    if not _is_interpreter(program):
        start = 2
        if len(argv) < 2 or not _is_interpreter(argv[1]):
            return "it is no Python script"
    found = _options_end(argv, start)
    if isinstance(found, str):
        return found
    if found >= len(argv) or argv[found] in ("-", ""):
        return "it names no script"
    return PythonScript(argv, program, argv[found], argv[:found], program)


@functools.lru_cache(maxsize=256)
def _by_first_line(
    argv: tuple[str, ...], program: str, file: str, _version: Signature
) -> PythonScript | str:
    """A script that is executed by itself and names its interpreter in its first line."""
    words = _first_line(file)
    if not words:
        return "it is no Python script"
    at = 0
    if os.path.basename(words[0]) == "env":
        at = 2 if words[1:2] == ["-S"] else 1
    if at >= len(words) or not _is_interpreter(words[at]):
        return "it is no Python script"
    end = _options_end(words, at + 1)
    if isinstance(end, str):
        return end
    if end < len(words):
        return "its first line says more than options"
    interpreter = [words[0], *words[at:]] if at else words
    return PythonScript(argv, program, program, tuple(interpreter), words[0])


def _first_line(file: str) -> list[str]:
    try:
        with open(file, "rb") as script:
            line = script.readline(_SHEBANG_BYTES)
    except OSError:
        return []
    if not line.startswith(b"#!") or not line.endswith(b"\n"):
        return []
    text = os.fsdecode(line[2:]).strip()
    if re.search(r"[\"'\\$]", text):
        return []
    words = text.split(None, 1)
    # The system passes the rest of the line as one argument, which env -S takes apart.
    is_split = words[1:] and words[1].startswith("-S")
    return text.split() if is_split or len(words) < 2 else [words[0], words[1].strip()]


def _is_interpreter(program: str) -> bool:
    return re.fullmatch(r"python(\d+(\.\d+)*)?", os.path.basename(program)) is not None


def _options_end(words: Sequence[str], at: int) -> int | str:
    """Where the options of an interpreter end, or the one that cannot be."""
    while at < len(words) and words[at].startswith("-") and words[at] != "-":
        option = words[at]
        if option.startswith("--"):
            return f"the option {option} is not known here"
        for place, letter in enumerate(option[1:], 1):
            if letter in "WX":
                value = option[place + 1 :] or (words[at + 1] if at + 1 < len(words) else "")
                if letter == "X" and value.partition("=")[0] not in _X_HARMLESS:
                    return f"the option -X {value} is not known here"
                at += not option[place + 1 :]
                break
            if letter not in _HARMLESS:
                return _NOT_ALONE.get(letter, f"the option -{letter} is not known here")
        at += 1
    return at
