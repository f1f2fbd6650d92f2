"""Decides from a command whether it starts a Python script that can be kept warm.

It reads only the command, and the first line of a script that is executed directly. Whether the
interpreter can really be kept waiting, a template finds out by trying.
"""

import functools
import os
from collections.abc import Sequence

import msgspec

from hookline._support.files import Signature, signature
from hookline.shell.programs import interpreter_in, read_shebang

# Options that are passed on as they are and do not prevent warm starts.
_HARMLESS = frozenset("bBdOPqsuxW")
_X_HARMLESS = frozenset(
    {
        *("cpu_count", "faulthandler", "frozen_modules", "gil", "int_max_str_digits"),
        *("no_debug_ranges", "pycache_prefix", "utf8", "warn_default_encoding"),
    }
)
_NOT_ALONE = {
    "-c": "it is a program given with -c",
    "-m": "it runs a module with -m",
    "-i": "-i makes the interpreter interactive",
    "-v": "-v makes the interpreter print what it imports",
    "-I": "-I keeps the interpreter from being prepared",
    "-E": "-E keeps the interpreter from being prepared",
    "-S": "-S keeps the interpreter from being prepared",
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


def python_script(argv: Sequence[str], *, program: str, cwd: str) -> PythonScript | str:
    """Return the script that a program started with ``argv`` would run; or why it cannot be warm,
    worded to follow "because"."""
    file = os.path.join(cwd, program)
    return _examine(tuple(argv), program, file, signature(file))


@functools.lru_cache(maxsize=256)
def _examine(
    argv: tuple[str, ...], program: str, file: str, _version: Signature | None
) -> PythonScript | str:
    """Recognise ``python3 -u x.py``, ``env python3 x.py``, and a first line that says such."""
    words = argv if interpreter_in(argv) else read_shebang(file) or ()
    interpreter = interpreter_in(words)
    name = os.path.basename(words[interpreter.at]) if interpreter is not None else ""
    # Behind more words of env there could be anything.
    if interpreter is None or interpreter.at > 1 or not name.startswith("python"):
        return "it is not a Python script"
    for option, value in interpreter.options:
        if option == "-X":
            if value.partition("=")[0] not in _X_HARMLESS:
                return f"hookline does not know the option -X {value}"
        elif option[1:] not in _HARMLESS:
            return _NOT_ALONE.get(option, f"hookline does not know the option {option}")
    if words is not argv:
        if interpreter.script_at is not None:
            return "its first line has more than an interpreter and options"
        return PythonScript(argv, program, program, words, words[0])
    if interpreter.script_at is None:
        return "it names no script"
    script = argv[interpreter.script_at]
    return PythonScript(argv, program, script, argv[: interpreter.script_at], program)
