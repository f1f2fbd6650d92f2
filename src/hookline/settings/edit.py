"""Changes settings files and leaves the rest of their text alone: comments, order and layout stay.

One writer at a time; the former content stays in place or in a copy. A file of another agent is
never written.
"""

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain, count
from typing import Any, TypeAlias

import msgspec

from hookline._support.files import write_atomically
from hookline._support.places import user_config_dir
from hookline._support.problem import Problem
from hookline.dialects import ROWS
from hookline.errors import HooklineError
from hookline.settings.jsonc import BOM, Document, Path, Span, parse, skip_blanks, spoken, value_at
from hookline.settings.reader import (
    DISABLED_NAMES,
    Origin,
    SettingsFileError,
    find_dialect,
    read_settings_file,
)
from hookline.wire import codec
from hookline.wire.hooks import HookSource

# What is written between two offsets in place of what stands there.
_Edit: TypeAlias = tuple[int, int, str]

_FIX_FIRST = "fix it first"
_EMPTY = re.compile(r"\[\s*\]")
_WIDTH = 96
# A list of plain objects still reads well on one line; what is deeper does not.
_DEEPEST_LINE = 2


class Updated(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a settings file; ``backup`` is where its former content is."""

    file: str
    created: bool
    changed: bool
    backup: str | None = None


class SettingsText(msgspec.Struct, frozen=True):
    """A settings file as it is; ``raw`` is None for one that is not there, which says nothing."""

    file: str
    raw: bytes | None
    document: Document


def read_settings_text(file: str) -> SettingsText:
    """The file, read to be added to; raises SettingsFileError, with the place, if it cannot be."""
    try:
        content = read_settings_file(file, blank="{}\n")
    except SettingsFileError as error:
        remedy = "" if error.problem.kind == "unreadable" else _FIX_FIRST
        raise SettingsFileError(msgspec.structs.replace(error.problem, remedy=remedy)) from None
    raw, document = (None, parse("{}\n")) if content is None else content
    return SettingsText(file, raw, document)


def add_to_settings(
    file: str,
    choose: Callable[[Mapping[str, Any]], Mapping[str, Any]],
    *,
    backup: bool = True,
) -> Updated:
    """Add to a settings file what ``choose`` makes of its value, nothing for an empty answer.

    The file is made if it is not there; raises SettingsFileError, and then it is as it was.
    """

    def add(settings: SettingsText) -> str:
        additions = choose(settings.document.value)
        return with_additions(settings, additions) if additions else settings.document.text

    return rewrite_settings(file, add, backup=backup)


def rewrite_settings(
    file: str, rewrite: Callable[[SettingsText], str], *, backup: bool = True
) -> Updated:
    """Give a settings file the text that ``rewrite`` makes of it; the same text writes nothing.

    The file is made if it is not there; raises SettingsFileError, and then it is as it was.
    """
    try:
        os.makedirs(os.path.dirname(file), exist_ok=True)
        with _lock_folder(os.path.dirname(file)):
            settings = read_settings_text(file)
            text = rewrite(settings)
            if text == settings.document.text:
                return Updated(file=file, created=False, changed=False)
            former, copy = settings.raw, None
            if backup and former is not None:
                names = (f"{file}.bak{number}" for number in count(2))
                copy = next(p for p in chain([f"{file}.bak"], names) if not os.path.lexists(p))
                write_atomically(copy, former, mode=os.stat(file).st_mode & 0o777)
            mark = BOM if former is not None and former.startswith(BOM) else b""
            try:
                write_atomically(file, mark + text.encode("utf-8", "surrogatepass"))
            except OSError:
                if copy is not None:
                    os.unlink(copy)
                raise
            return Updated(file=file, created=former is None, changed=True, backup=copy)
    except OSError as error:
        problem = Problem(
            kind="unwritable",
            message=f"cannot be written: {error.strerror or error}",
            consequence="nothing in it was changed",
            file=file,
        )
        raise SettingsFileError(problem) from None


def refuse_way_out(file: str, project_dir: str) -> None:
    """Raise SettingsFileError for a file of a project that a link leads out of it.

    The author of the link could otherwise get hooks into settings that need no trust.
    """
    real, project = os.path.realpath(file), os.path.realpath(project_dir)
    if not real.startswith(os.path.join(project, "")):
        problem = Problem(
            kind="leads-out",
            message=f"leads out of the project, to {real}",
            remedy="remove the link",
            file=file,
        )
        raise SettingsFileError(problem)


@contextmanager
def _lock_folder(directory: str) -> Iterator[None]:
    """Lock a folder, so that commands that write at the same time do so one after the other."""
    try:
        import fcntl
    except ImportError:  # no such locks on this platform
        yield
        return
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def with_additions(settings: SettingsText, additions: Mapping[str, Any]) -> str:
    """The text with ``additions`` in it: objects get the members they lack, lists the items.

    Raises SettingsFileError, with the place, where an addition finds something of another kind.
    """
    document, origin = settings.document, Origin(settings.file, settings.document)
    for problem in origin.duplicate_keys():
        problem = msgspec.structs.replace(problem, consequence="", remedy=_FIX_FIRST)
        raise SettingsFileError(problem)
    text = document.text
    edits = list(_make_edits(origin, document, (), document.value, additions))
    for start, end, new in sorted(edits, reverse=True):
        text = text[:start] + new + text[end:]
    assert parse(text).value == merge_additions(document.value, additions)
    return text


def merge_additions(value: Any, additions: Any) -> Any:
    """What a value is with additions to it."""
    if isinstance(value, Mapping) and isinstance(additions, Mapping):
        both = {
            key: merge_additions(value[key], new) for key, new in additions.items() if key in value
        }
        return {**value, **additions, **both}
    return [*value, *additions]


def _make_edits(
    origin: Origin, document: Document, path: Path, value: Any, additions: Any
) -> Iterator[_Edit]:
    if isinstance(additions, Mapping):
        problem = None if isinstance(value, Mapping) else "must be an object, {…}"
    elif isinstance(additions, list | tuple):
        problem = None if isinstance(value, list) else "must be a list, […]"
    else:
        problem = "is there already"
    if problem is not None:
        message = f"{spoken(path) or 'the file'} {problem}"
        raise SettingsFileError(origin.problem(path, "bad-field", message, remedy=_FIX_FIRST))
    new: Any = additions
    if isinstance(additions, Mapping):
        for key in additions.keys() & set(value):
            yield from _make_edits(origin, document, (*path, key), value[key], additions[key])
        new = {key: item for key, item in additions.items() if key not in value}
    span = document.span(path) if new else None
    if span is None:
        return
    # It goes behind the last that is in the object or the list.
    text, members, close = document.text, _list_members(span), span.end - 1
    last_end, has_comma = span.start + 1, False
    if members:
        last_end = members[-1].end
        after = skip_blanks(text, last_end)
        has_comma = text[after] == ","
        last_end = after + 1 if has_comma else last_end
    between = text[last_end:close].rstrip()
    comma = "," if members and not has_comma else ""
    if "\n" not in text[span.start : close] and (members or _measure_depth(new) <= 1):
        gap = " " if members or between else ""
        yield last_end, close, f"{comma}{between}{gap}{', '.join(_write_members(new))}"
        return
    line = text[text.rfind("\n", 0, span.start) + 1 : span.start]
    outer = line[: len(line) - len(line.lstrip())]
    # What one level is set in by is told by the first member of the file.
    unit = _find_child_indent(text, document.root) or "  "
    inner = _find_child_indent(text, span)
    if inner is None:
        inner = outer + unit
    lines = f",\n{inner}".join(_write_members(new, inner, unit))
    body = f"{comma}{between}\n{inner}{lines}{',' if has_comma else ''}\n{outer}"
    yield last_end, close, re.sub(r"\r?\n", "\r\n", body) if "\r\n" in text else body


def _list_members(span: Span) -> list[Span]:
    return list(span.members.values()) if isinstance(span.members, dict) else span.members or []


def _find_child_indent(text: str, span: Span) -> str | None:
    """What stands before the first member of an object or a list, if that begins a line."""
    for first in _list_members(span)[:1]:
        line = text.rfind("\n", 0, first.key) + 1
        before = text[line : first.key]
        if line > span.start and not before.strip():
            return before
    return None


def _write_members(new: Any, indent: str | None = None, unit: str = "") -> list[str]:
    """The members of an object or the items of a list, each in its own text: on one line where it
    fits and is not too deep to be read there, which without an indent it always is."""
    if isinstance(new, Mapping):
        pairs = [(f"{codec.encode(key).decode()}: ", value) for key, value in new.items()]
    else:
        pairs = [("", item) for item in new]
    members = []
    for label, value in pairs:
        if isinstance(value, Mapping | list | tuple):
            opening, closing = "{}" if isinstance(value, Mapping) else "[]"
            text = f"{opening}{', '.join(_write_members(value))}{closing}"
            is_wide = indent is not None and len(indent) + len(label) + len(text) >= _WIDTH
            if indent is not None and value and (is_wide or _measure_depth(value) > _DEEPEST_LINE):
                inner = indent + unit
                body = f",\n{inner}".join(_write_members(value, inner, unit))
                text = f"{opening}\n{inner}{body}\n{indent}{closing}"
        else:
            text = codec.encode(value).decode()
        members.append(label + text)
    return members


def _measure_depth(value: Any) -> int:
    if isinstance(value, Mapping):
        value = list(value.values())
    return 1 + max(map(_measure_depth, value), default=0) if isinstance(value, list | tuple) else 0


def without(text: str, path: Path, item: str) -> str:
    """The text without an item of the list at a path, as often as it is there.

    Raises JsoncError for a text that is no JSON; where there is no list, nothing changes.
    """
    while True:
        document = parse(text)
        listed, span = value_at(document.value, path), document.span(path)
        if span is None or not isinstance(listed, list) or item not in listed:
            return text
        index, items = listed.index(item), _list_members(span)
        at, end = items[index].start, items[index].end
        comma = skip_blanks(text, end)
        if text[comma] == ",":
            # What stands between the two is a comment, and stays.
            text = text[:at] + text[end:comma] + text[comma + 1 :]
        else:
            text = text[:at] + text[end:]
            if index:
                comma = skip_blanks(text, items[index - 1].end)
                text, at = text[:comma] + text[comma + 1 :], at - 1
        # Neither an empty line is left, nor the blanks that stood around what has gone.
        line, line_end = text.rfind("\n", 0, at) + 1, text.find("\n", at) + 1
        before, after = text[:at], text[at:].lstrip(" \t")
        if line_end and not text[line:line_end].strip():
            text = text[:line] + text[line_end:]
        elif after.startswith("]"):
            text = (before.rstrip(" \t") if text[line:at].strip() else before) + after
        elif before.endswith((" ", "\t", "\n", "[")):
            text = before + after
        empty = _EMPTY.match(text, span.start)
        if empty:
            text = text[: empty.start()] + "[]" + text[empty.end() :]


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """Where a switch is written: its layer, the file, and all files of ours that may have it."""

    source: HookSource
    file: str
    own_files: tuple[str, ...]


def user_place(settings_files: Sequence[str] | None) -> Place:
    """The user's own settings, or what was given instead of all settings; what is another
    agent's is not ours to change."""
    if settings_files:
        paths = map(os.path.abspath, settings_files)
        files = tuple(path for path in paths if find_dialect(path) not in ROWS)
        if not files:
            owner = ROWS[find_dialect(os.path.abspath(settings_files[0]))].title
            raise HooklineError(
                f"{settings_files[0]} is {owner}'s and stays as it is; name settings of ours with "
                "--settings before it"
            )
        return Place(source=HookSource.USER, file=files[0], own_files=files)
    directory = user_config_dir()
    if directory is None:
        raise HooklineError(
            "there is no folder for the user's settings; set HOME or XDG_CONFIG_HOME"
        )
    own = tuple(os.path.join(directory, name) for name in ("settings.json", "settings.local.json"))
    return Place(source=HookSource.USER, file=own[0], own_files=own)


def project_place(project_dir: str) -> Place:
    """The settings that a person has for one project; what it shares with others is not ours to
    change, nor may a link lead out of it."""
    file = os.path.join(project_dir, ".hookline", "settings.local.json")
    refuse_way_out(file, project_dir)
    return Place(source=HookSource.PROJECT, file=file, own_files=(file,))


def disable(place: Place, name: str) -> Updated:
    """Put a name among those that are disabled; raises SettingsFileError, and nothing changed."""

    def missing(value: Mapping[str, Any]) -> Mapping[str, Any]:
        values = [value_at(value, path) for path in DISABLED_NAMES]
        lists = [names for names in values if isinstance(names, list)]
        if any(name in names for names in lists):
            return {}
        # One list is easier to keep in view than two.
        is_newer = len(lists) == 1 and not isinstance(values[0], list)
        section, listed = DISABLED_NAMES[is_newer]
        return {str(section): {listed: [name]}}

    return add_to_settings(place.file, missing, backup=False)


def enable(place: Place, name: str) -> list[Updated]:
    """Take a name out of those that are disabled, wherever it is ours to do so; gives what was
    changed. Raises SettingsFileError: the file in question is as it was."""

    def remove_name(settings: SettingsText) -> str:
        text = settings.document.text
        for path in DISABLED_NAMES:
            text = without(text, path, name)
        return text

    there = [file for file in place.own_files if os.path.exists(file)]
    updates = [rewrite_settings(file, remove_name, backup=False) for file in there]
    return [updated for updated in updates if updated.changed]
