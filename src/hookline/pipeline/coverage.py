"""Provisional."""

import os
from collections.abc import Iterator, Mapping

import msgspec

from hookline.pipeline.programs import argv_of, hook_variables, words_in
from hookline.pipeline.shell import expand
from hookline.wire.events import HookEventName
from hookline.wire.hooks import CommandHook

_WITHOUT_SYNTAX = {ord(char): " " for char in ";&|<>()`=,:{}"}
_WITHOUT_QUOTES = {ord(char): "" for char in "'\"\\"}


class Uncovered(msgspec.Struct, frozen=True):
    what: str
    why: str = ""
    remedy: str = ""


class Coverage(msgspec.Struct, frozen=True, kw_only=True):
    files: dict[str, str]
    watched: tuple[str, ...]
    uncovered: tuple[Uncovered, ...] = ()
    remarks: tuple[str, ...] = ()
    code: frozenset[str] = frozenset()


class FileState(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    kind: str
    leads_to: str
    executable: bool = False
    content: str = ""


def cover(
    hook: CommandHook,
    event: HookEventName,
    *,
    project_dir: str,
    cwd: str,
    environ: Mapping[str, str],
) -> Coverage:
    found: dict[str, str] = {}
    watched = []
    for name, place in _candidates(event, hook, project_dir=project_dir, cwd=cwd):
        watched.append(place)
        if name not in found and os.path.isfile(place):
            found[name] = place
    return Coverage(files=found, watched=tuple(watched), code=frozenset(found))


def _candidates(
    event: HookEventName, hook: CommandHook, *, project_dir: str, cwd: str
) -> Iterator[tuple[str, str]]:
    project = os.path.realpath(project_dir)
    values = hook_variables(project_dir=project_dir, cwd=cwd, session_id="", event=event.value)
    values = {"PWD": cwd, **values, **hook.env}
    argv = words_in(hook.command, values) if hook.args is None else argv_of(hook, values) or []
    words: list[str] = []
    for text in (hook.command, *argv, *hook.env.values()):
        whole = expand(text, values).translate(_WITHOUT_QUOTES)
        words += [text, *words_in(text, values), whole]
        words += whole.translate(_WITHOUT_SYNTAX).split()
    for word in dict.fromkeys(words):
        for base in dict.fromkeys((project_dir, cwd)):
            place = os.path.join(base, os.path.expanduser(word))
            try:
                paths = os.path.realpath(place), os.path.normpath(place)
            except ValueError:
                continue
            inside = (path for path in paths if path.startswith(project.rstrip(os.sep) + os.sep))
            if (path := next(inside, None)) is not None:
                yield os.path.relpath(path, project), place


def read_state(place: str, project_dir: str) -> FileState | None:
    real = os.path.realpath(place)
    leads = os.path.relpath(real, project_dir) if real.startswith(project_dir) else real
    if not os.path.exists(place):
        return None
    if not os.path.isfile(place):
        return FileState(kind="directory", leads_to=leads)
    with open(place, "rb") as opened:
        data = opened.read()
    return FileState(kind="file", leads_to=leads, content=data.decode(errors="backslashreplace"))


def lines_of(state: FileState) -> list[str]:
    return state.content.splitlines()
