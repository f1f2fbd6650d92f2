"""What of a hook's time is nothing but starting: found by starting its interpreter on no work.

The same runner starts both in turn, so what differs is the work of the script alone.
"""

import os
from collections.abc import Mapping

import msgspec

from hookline.pipeline.programs import argv_of, find_program, interpreter_in, read_shebang
from hookline.wire.hooks import CommandHook

# Kind of interpreter -> the arguments that give it nothing to do.
_IDLE: dict[str, tuple[str, ...]] = {
    "python": ("-c", "pass"),
    "sh": ("-c", ":"),
    "node": ("-e", "0"),
    "ruby": ("-e", "0"),
    "perl": ("-e", "0"),
}
# Those that change how Python starts, and take no argument of their own.
_FLAGS = frozenset("bBdEIOPqsSuv")


class Baseline(msgspec.Struct, frozen=True):
    """A hook that only starts, and what it is in words."""

    words: str
    hook: CommandHook
    is_python: bool = False


def baseline_of(hook: CommandHook, values: Mapping[str, str], *, cwd: str) -> Baseline:
    """The bare start of whatever runs a hook; ``values`` are the variables of its command."""
    words = argv_of(hook, values)
    if words is None:
        return Baseline("the shell's bare start", _replaced(hook, ":", None))
    if interpreter_in(words) is None:
        path = os.environ.get("PATH", os.defpath)
        file = find_program(words[0], path, cwd=cwd) or words[0]
        words = list(read_shebang(os.path.join(cwd, file)) or ())
    found = interpreter_in(words)
    if found is None:
        return Baseline("true", _replaced(hook, "true", ()))
    program, flags = words[found.at], []
    for option, _ in found.options if found.kind == "python" else ():
        if option[1:] not in _FLAGS:
            break
        flags.append(option)
    arguments = (*flags, *_IDLE[found.kind])
    name = os.path.basename(program)
    shown = " ".join([name, *arguments])
    is_python = name.startswith("python")
    return Baseline(shown, _replaced(hook, program, arguments), is_python)


def _replaced(hook: CommandHook, command: str, args: tuple[str, ...] | None) -> CommandHook:
    name = f"start of {hook.name}"
    return msgspec.structs.replace(hook, name=name, command=command, args=args, warm=False)
