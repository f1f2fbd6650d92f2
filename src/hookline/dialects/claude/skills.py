"""Finds hooks in the front matter of Claude Code's skills, commands and sub-agents.

They count only while Claude Code itself runs the skill or the sub-agent, so hookline does not run
them; ``check`` and ``list`` say so.
"""

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import islice

from hookline._support.problem import Problem

_FOLDERS = {"skills": "skill", "commands": "command", "agents": "sub-agent"}
_MANIFEST_FOLDER = ".claude-plugin"
_HOOKS = re.compile(r"^hooks\s*:", re.MULTILINE)
# The front matter is at the beginning; a folder that somebody else filled must not take long.
_MOST_BYTES = 32 * 1024
_MOST_FILES = 1_000


def find_unrun_hooks(files: Iterable[str]) -> Iterator[Problem]:
    """Find hooks in front matter that are not run: in the ``.claude`` folders and the plugins that
    these settings files are from."""
    folders = dict.fromkeys(folder for file in files if (folder := _find_folder(file)))
    for folder in folders:
        for name, kind in _FOLDERS.items():
            for file in islice(_list_texts(os.path.join(folder, name)), _MOST_FILES):
                line = _find_line(file)
                if line is not None:
                    yield Problem(
                        kind="not-run",
                        message=f"hooks: hooks of a {kind} run inside Claude Code only",
                        consequence="they are not run",
                        remedy="write them into settings, if they must run",
                        file=file,
                        line=line,
                        column=1,
                    )


def _find_folder(file: str) -> str | None:
    """Return the folder with the skills of a settings file or a plugin's manifest."""
    folder = os.path.dirname(file)
    if os.path.basename(folder) == _MANIFEST_FOLDER:
        return os.path.dirname(folder)
    return folder if os.path.basename(folder) == ".claude" else None


def _list_texts(folder: str) -> Iterator[str]:
    """Yield the texts of a folder: a skill is a folder of its own, which may be a link."""
    if os.path.basename(folder) == "skills":
        with suppress(OSError):
            yield from (os.path.join(folder, n, "SKILL.md") for n in sorted(os.listdir(folder)))
        return
    for directory, below, names in os.walk(folder):
        below.sort()
        yield from (os.path.join(directory, name) for name in sorted(names) if name[-3:] == ".md")


def _find_line(file: str) -> int | None:
    """Return the line of the key ``hooks`` in a file's front matter, None if there is none."""
    try:
        with open(file, "rb") as text:
            lines = text.read(_MOST_BYTES).decode(errors="replace")
    except OSError:
        return None
    if not lines.startswith("---"):
        return None
    front = re.split(r"^---\s*$", lines[3:], maxsplit=1, flags=re.MULTILINE)[0]
    match = _HOOKS.search(front)
    return None if match is None else front.count("\n", 0, match.start()) + 1
