"""Finds and reads the scripts that a command names, by its words alone."""

import os
import shlex
import stat
from collections.abc import Iterator, Sequence

import msgspec

_MOST_READ = 1_000_000
_PROJECT_VARIABLES = ("CLAUDE_PROJECT_DIR", "GEMINI_PROJECT_DIR", "LLXPRT_PROJECT_DIR")


class Script(msgspec.Struct, frozen=True):
    """A script, and its text."""

    path: str
    text: str


def scripts_of(
    command: str, args: Sequence[str], *, project_dir: str, home: str | None
) -> list[Script]:
    """The scripts of the project and of the user's home that a command or its arguments name."""
    places = dict.fromkeys(_PROJECT_VARIABLES, project_dir) | ({"HOME": home} if home else {})
    found: dict[str, Script] = {}
    for word in (*_words(_filled_in(command, places)), *(_filled_in(arg, places) for arg in args)):
        path = os.path.normpath(os.path.join(project_dir, _from_home(word, home)))
        if path not in found and _is_inside(path, project_dir, home):
            text = _text(path)
            if text is not None:
                found[path] = Script(path, text)
    return list(found.values())


def _filled_in(text: str, places: dict[str, str]) -> str:
    for name, value in places.items():
        text = text.replace(f"${{{name}}}", value).replace(f"${name}", value)
    return text


def _words(command: str) -> Iterator[str]:
    try:
        words = shlex.split(command)
    except ValueError:
        words = command.split()
    for word in words:
        yield word.strip("(){};&|<>")


def _from_home(word: str, home: str | None) -> str:
    return os.path.join(home, word[2:]) if home and word.startswith("~/") else word


def _is_inside(path: str, project_dir: str, home: str | None) -> bool:
    return any(path.startswith(place + os.sep) for place in (project_dir, home) if place)


def _text(path: str) -> str | None:
    """The text of a regular file; None for what is none, a program that was compiled included."""
    try:
        if "\0" in path or not stat.S_ISREG(os.stat(path).st_mode):
            return None
        with open(path, "rb") as file:
            content = file.read(_MOST_READ)
    except OSError:
        return None
    return None if b"\0" in content else content.decode(errors="replace")
