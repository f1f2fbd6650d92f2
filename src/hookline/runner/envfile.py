"""Gives a hook the file that a variable of its dialect names, and reads what it exports there.

Other agents have their shells source that file. hookline sources nothing: it reads lines such as
``export NAME=value``, and what they set reaches the host with the hook's answer. Any other line is
not read, with a warning.
"""

import os
from collections.abc import Mapping

from hookline._support.files import open_regular
from hookline.shell.commands import Command, split_commands
from hookline.shell.tokens import Variable, Word, is_readable

# Reading a long file would block the event loop.
_MOST_BYTES = 128 * 1024
_MOST_MADE = 4 * 1024 * 1024
_MOST_NAMED = 5
# A shell's own variables, which ``export -p`` lists.
_NOT_HANDED_ON = frozenset({"OLDPWD", "PWD", "SHLVL", "_"})
# What may be in front of NAME=value; bash itself writes the last.
_EXPORTING = ((), ("export",), ("declare", "-x"))
_PLAIN_ENDS = ("", "\n", ";")


class EnvFile:
    """The file of one run of a hook, which ``variable`` names, deleted after it. Without it the
    hook still runs."""

    def __init__(self, variable: str) -> None:
        self._variable = variable
        self.variables: dict[str, str] = {}
        self.warnings: list[str] = []
        self._directory = ""

    def __enter__(self) -> "EnvFile":
        import tempfile

        try:
            # mkdtemp makes a private directory: no other user can put anything there.
            self._directory = tempfile.mkdtemp(prefix="hookline-")
            path = os.path.join(self._directory, "env")
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
            self.variables = {self._variable: path}
        except OSError as error:
            self.warnings.append(
                f"it runs without {self._variable}: cannot create the file: {error}"
            )
        return self

    def __exit__(self, *_: object) -> None:
        if self._directory:
            import shutil

            shutil.rmtree(self._directory, ignore_errors=True)

    def read(self, environ: Mapping[str, str]) -> dict[str, str]:
        """Return what the hook exports, by name; ``environ`` are the variables that it had."""
        if not self.variables:
            return {}
        try:
            with open_regular(self.variables[self._variable]) as file:
                content = file.read(_MOST_BYTES + 1)
        except FileNotFoundError:
            return {}
        except OSError as error:
            self.warnings.append(f"its {self._variable} cannot be read: {error.strerror or error}")
            return {}
        if len(content) > _MOST_BYTES:
            self.warnings.append(
                f"its {self._variable} is ignored: longer than {_MOST_BYTES} bytes"
            )
            return {}
        text = content.decode("utf-8", "surrogateescape").removeprefix("\ufeff")
        exports, skipped = read_exports(text, environ)
        # The file is gone with the hook.
        exports.pop(self._variable, None)
        if skipped:
            self.warnings.append(f"not read in its {self._variable}: {skipped}")
        return exports


def read_exports(text: str, environ: Mapping[str, str]) -> tuple[dict[str, str], str]:
    """Return the variables that a text sets, and which lines were not read and why, "" if none.
    Values may refer to earlier ones and to ``environ``."""
    if not is_readable(text):
        return {}, "all of it: a quote or bracket is never closed"
    exports: dict[str, str] = {}
    values, room = dict(environ), _MOST_MADE
    # The places of what was not read, and why.
    skipped: list[tuple[int, str]] = []
    is_over = False
    for command in split_commands(text):
        place, why = _find_place(command), "this is not a plain export NAME=value"
        words = _find_assignments(command)
        if is_over or words is None or not all(word.is_known(values) for word in words):
            if command.is_grammar:
                why = "only a shell can read the rest"
            if not is_over:
                skipped.append((place, why))
            is_over |= command.is_grammar
            # It may have changed these, or any other variable that a value refers to.
            for word in (*command.assignments, *command.words):
                exports.pop(word.assigned, None)
            values = {}
            continue
        for word in words:
            room -= _measure(word, values)
            if room < 0:
                skipped.append((place, f"the values come to more than {_MOST_MADE} characters"))
                break
            name, _, value = word.fill(values).partition("=")
            if not _is_utf8(value):
                skipped.append((place, f"the value of {name} is not UTF-8"))
            elif name not in _NOT_HANDED_ON:
                exports[name] = values[name] = value
    remarks = [f"line {text.count(chr(10), 0, at) + 1}: {why}" for at, why in skipped[:_MOST_NAMED]]
    if more := len(skipped) - len(remarks):
        remarks.append(f"and {more} more")
    return exports, "; ".join(remarks)


def _find_place(command: Command) -> int:
    targets = (each.target for each in command.redirections)
    words = (*command.assignments, *command.words, *targets)
    return min((word.place[0] for word in words if word.place is not None), default=0)


def _find_assignments(command: Command) -> tuple[Word, ...] | None:
    """Return the assignments of a command that does nothing else; None for any other command."""
    ends = command.before, command.after
    if command.scope or command.redirections or not set(ends).issubset(_PLAIN_ENDS):
        return None
    for front in _EXPORTING:
        words = (*command.assignments, *command.words)
        behind = words[len(front) :]
        is_exporting = tuple(word.source for word in words[: len(front)]) == front
        if is_exporting and behind and all(map(_is_assignment, behind)):
            return behind
    return None


def _is_assignment(word: Word) -> bool:
    return bool(word.assigned) and word.source.startswith(f"{word.assigned}=")


def _measure(word: Word, values: Mapping[str, str]) -> int:
    """The most characters that a word may come to; values may double in length on every line."""
    variables = (piece for piece in word.pieces if isinstance(piece, Variable))
    return len(word.source) + sum(len(values.get(piece.name, "")) for piece in variables)


def _is_utf8(value: str) -> bool:
    try:
        value.encode()
    except UnicodeError:
        return False
    return True
