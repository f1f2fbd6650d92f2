"""Compares the files of a reviewed hook with its review: byte by byte before it runs in place, by
checksums to tell people what a guard, which runs from its copy, no longer looks like."""

import os
import time
from collections.abc import Iterable, Mapping

import msgspec

from hookline._support.files import QUIETLY, Signature, sign_settled
from hookline.errors import EXHAUSTED
from hookline.trust.coverage import is_left_out, read_state
from hookline.trust.ground import Ground
from hookline.trust.review import (
    ReviewedFile,
    ReviewedHook,
    TrustError,
    explain_difference,
    find_names,
)
from hookline.trust.store import ReviewRecord, is_copied

# Bytes of a hook's files up to which they are compared by content each time.
_MOST_COMPARED = 1024 * 1024


class _Folder(msgspec.Struct, frozen=True, eq=False):
    """A folder of a hook as it was reviewed: its covered files, by their names in it, and all
    names that are known there."""

    name: str
    files: dict[str, tuple[bytes, bool]]
    known: frozenset[str]


class Comparison:
    """The comparison of one hook with its review; it remembers what makes the next one quick."""

    def __init__(self, record: ReviewRecord, hook: ReviewedHook, ground: Ground) -> None:
        self._record, self._hook, self._ground = record, hook, ground
        # What a quick comparison expects; the signatures of files too large to compare each time.
        self._folders: tuple[_Folder, ...] | None = None
        self._signatures: dict[str, Signature | None] | None = None

    def find_fault(self) -> str | None:
        """Return what of the hook differs from its review, by content, None if nothing does."""
        if not self._hook.files and not self._hook.folders:
            return None
        try:
            if self._folders is not None and all(map(self._is_same, self._folders)):
                return None
            return self._compare_all()
        except TrustError as error:
            return str(error)
        except OSError as error:
            if error.errno in EXHAUSTED:
                raise
            return f"{error.filename} cannot be read ({error.strerror})"

    def find_change(self) -> str | None:
        """Return what of the live files differs from the copy, None if nothing does. Only people
        are told of it, so a checksum will do."""
        ground, files = self._ground, self._record.review.files
        try:
            for name in sorted(find_names(ground, self._hook)):
                then = files.get(name) if name in self._hook.files else None
                state = read_state(ground, name)
                if then is None or not then.matches(state):
                    changed = explain_difference(name, then, ReviewedFile.of(state))
                    return f"{changed or f'{name} has changed'}{_date(ground.place_of(name))}"
            if not self._record.review.is_of_folder():
                return f"{ground.real} is another folder than the one that was reviewed"
        except OSError as error:
            return f"{error.filename or 'a file of it'} cannot be read ({error.strerror})"
        return None

    def _compare_all(self) -> str | None:
        """Compare without what is known from the last time."""
        record, hook, ground = self._record, self._hook, self._ground
        began = time.time_ns()
        names = find_names(ground, hook)
        reviewed = record.review.files
        files = [name for name in hook.files if is_copied(name, reviewed[name])]
        is_large = sum(reviewed[name].size for name in files) > _MOST_COMPARED
        signatures = sign_settled(map(ground.place_of, names), since=began) if is_large else None
        if is_large and signatures == self._signatures:
            return None
        contents = {name: record.read_copy(name) for name in files}
        fault = self._find_difference(names, contents)
        self._signatures = signatures if fault is None else None
        is_simple = len(files) == len(hook.files) and not hook.entry.get("covers")
        if fault is None and not is_large and is_simple:
            self._folders = self._expect(contents)
        return fault

    def _expect(self, contents: Mapping[str, bytes]) -> tuple[_Folder, ...] | None:
        """Return what a quick comparison expects; None if a link, or a folder for what hooks
        write, takes a closer look."""
        hook, ground = self._hook, self._ground
        by_folder: dict[str, dict[str, tuple[bytes, bool]]] = {name: {} for name in hook.folders}
        for name, content in contents.items():
            file = self._record.review.files[name]
            folder, _, last = name.rpartition("/")
            if file.leads_to != name or os.path.isabs(name):
                return None
            by_folder.setdefault(folder, {})[last] = (content, file.executable)
        folders = []
        for folder, files in by_folder.items():
            present = set(os.listdir(ground.place_of(folder)))
            is_covered = any(f"{folder}/".startswith(f"{each}/") for each in hook.folders)
            parts = [each.rpartition("/") for each in by_folder]
            expected = {*files, *(last for parent, _, last in parts if parent == folder)}
            expected |= {n for n in present - expected if is_left_out(f"{folder}/{n}", n, present)}
            if is_covered and not present <= expected:
                return None
            # A file outside of all hook folders is covered alone.
            folders.append(_Folder(folder, files, frozenset(expected if is_covered else ())))
        return tuple(folders)

    def _is_same(self, expected: _Folder) -> bool:
        """True if a folder and its covered files are as they were reviewed, byte by byte."""
        flags = QUIETLY | os.O_NOFOLLOW
        folder = os.open(self._ground.place_of(expected.name), flags | os.O_DIRECTORY)
        try:
            if expected.known and not expected.known.issuperset(os.listdir(folder)):
                return False
            for name, (content, is_executable) in expected.files.items():
                try:
                    descriptor = os.open(name, flags, dir_fd=folder)
                except OSError:
                    return False
                try:
                    mode = os.fstat(descriptor).st_mode
                    if mode & 0o170000 != 0o100000 or bool(mode & 0o111) is not is_executable:
                        return False
                    if os.read(descriptor, len(content) + 1) != content:
                        return False
                finally:
                    os.close(descriptor)
        finally:
            os.close(folder)
        return True

    def _find_difference(self, names: Iterable[str], contents: Mapping[str, bytes]) -> str | None:
        """Compare files with the reviewed ones, byte by byte."""
        for name in sorted(names):
            then = self._record.review.files.get(name) if name in self._hook.files else None
            if then is None:
                return f"{name} was not there when it was reviewed"
            state = read_state(self._ground, name)
            content = contents.get(name) if is_copied(name, then) else state.content
            same = (then.kind, then.leads_to, then.executable, content or b"")
            is_same = same == (state.kind, state.leads_to, state.executable, state.content)
            if not is_same or not (is_copied(name, then) or ReviewedFile.of(state) == then):
                file = ReviewedFile.of(state)
                return explain_difference(name, then, file) or f"{name} has changed"
        return None


def _date(place: str) -> str:
    """Return since when a file is as it is, in words."""
    try:
        changed = os.lstat(place).st_mtime
    except OSError:
        return ""
    return f" (changed {time.strftime('%Y-%m-%d %H:%M', time.localtime(changed))})"
