"""Applies the fixes that are certain: it changes text at its place and nowhere else.

It writes only files of the project and the user; it never writes the system's files, or a file that
a link or a path puts outside of these folders.
"""

import os
import stat
from collections.abc import Iterable

import msgspec

from hookline._support.files import read_bounded, write_atomically
from hookline.check.findings import Finding, Fix, MakeExecutable, NewScript, TextEdit
from hookline.check.material import Checked, CheckedFile
from hookline.errors import HooklineError
from hookline.settings.jsonc import BOM, JsoncError, parse
from hookline.wire.hooks import HookSource

# Large, as a compiled program may need its exec bit.
_MOST_READ = 64 * 1024 * 1024


class FixError(HooklineError):
    """A fix that could not be applied; files not reported as changed are unchanged."""

    def __init__(self, file: str, problem: str) -> None:
        self.file = file
        self.problem = problem
        super().__init__(f"{file} could not be fixed: {problem}")


class FileChange(msgspec.Struct, frozen=True):
    """One file before and after; a new one had no mode before."""

    file: str
    is_settings: bool
    before: bytes
    after: bytes
    mode_before: int
    mode_after: int


def changes(findings: Iterable[Finding], checked: Checked) -> list[FileChange]:
    """Compute the changes of the findings' fixes, file by file; nothing is written yet."""
    by_file: dict[str, list[Fix]] = {}
    for finding in findings:
        if is_fixable(finding, checked):
            for fix in finding.fixes:
                by_file.setdefault(fix.file, []).append(fix)
    settings = {file.path: file for file in checked.files}
    file_changes: list[FileChange] = []
    for path, fixes in by_file.items():
        new = next((fix for fix in fixes if isinstance(fix, NewScript)), None)
        if new is not None:
            file_changes.append(FileChange(path, False, b"", new.text.encode(), 0, 0o755))
            continue
        try:
            before = read_bounded(path, _MOST_READ)
            mode = stat.S_IMODE(os.stat(path).st_mode)
        except OSError as error:
            raise FixError(path, error.strerror or str(error)) from None
        after, mode_after = before, mode
        if path in settings:
            before = settings[path].raw
            after = _edit_settings(
                settings[path], [fix for fix in fixes if isinstance(fix, TextEdit)]
            )
        elif any(not isinstance(fix, MakeExecutable) for fix in fixes):
            after = before.replace(b"\r\n", b"\n")
        if any(isinstance(fix, MakeExecutable) for fix in fixes):
            # Everyone who may read it may run it, and always the owner.
            mode_after = mode | ((mode & 0o444) >> 2) | 0o100
        if (before, mode) != (after, mode_after):
            file_changes.append(FileChange(path, path in settings, before, after, mode, mode_after))
    return file_changes


def _edit_settings(file: CheckedFile, edits: list[TextEdit]) -> bytes:
    text, last_start = file.document.text, len(file.document.text) + 1
    for edit in sorted(edits, key=lambda edit: (edit.start, edit.end), reverse=True):
        # An edit that overlaps another is left for the next round.
        if edit.end < last_start:
            text, last_start = text[: edit.start] + edit.text + text[edit.end :], edit.start
    try:
        parse(text)
    except JsoncError as error:
        problem = f"the result would not be JSON ({error}); correct the file by hand"
        raise FixError(file.path, problem) from None
    return (BOM if file.raw.startswith(BOM) else b"") + text.encode()


def is_fixable(finding: Finding, checked: Checked) -> bool:
    """True if a finding has fixes, all in files that may be written."""
    settings = next((f for f in checked.files if f.path == finding.settings), None)
    if not finding.fixes or settings is None or settings.source is HookSource.SYSTEM:
        return False
    allowed = [os.path.realpath(checked.project_dir)]
    if settings.source is HookSource.USER:
        allowed.append(os.path.dirname(os.path.realpath(settings.path)))
    return all(
        any(os.path.commonpath([real, directory]) == directory for directory in allowed)
        for real in {os.path.realpath(fix.file) for fix in finding.fixes}
    )


def carry_out(change: FileChange) -> None:
    """Write one file; raises HooklineError, and then the file is as it was."""

    def refuse_if_changed(content: bytes | None) -> None:
        if content != change.before:
            raise FixError(change.file, "it has changed since it was read; check again")

    if change.is_settings:
        # Other commands write settings too, under a lock.
        from hookline.settings.edit import SettingsText, rewrite_settings

        def write_new_text(settings: SettingsText) -> str:
            refuse_if_changed(settings.raw)
            return change.after.removeprefix(BOM).decode()

        rewrite_settings(change.file, write_new_text, backup=False)
        return
    try:
        if not change.mode_before:
            os.makedirs(os.path.dirname(change.file), exist_ok=True)
            if os.path.lexists(change.file):
                raise FixError(change.file, "it is there already; check again")
            write_atomically(change.file, change.after, mode=change.mode_after)
            return
        refuse_if_changed(read_bounded(change.file, _MOST_READ))
        if change.after != change.before:
            write_atomically(change.file, change.after, mode=change.mode_after)
        else:
            os.chmod(change.file, change.mode_after)
    except OSError as error:
        raise FixError(change.file, error.strerror or str(error)) from None
