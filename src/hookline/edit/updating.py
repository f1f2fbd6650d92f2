"""Adds to a settings file, one writer at a time: what stood there before is there, or in a copy."""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import msgspec

from hookline.edit.inserting import InsertionError, inserted
from hookline.errors import HooklineError
from hookline.files import write_atomically
from hookline.pipeline.jsonc import BOM, Document, JsoncError, parse
from hookline.pipeline.settings import content_of


class SettingsFileError(HooklineError):
    """A settings file that cannot be read or written; it is as it was."""

    def __init__(self, file: str, problem: str) -> None:
        self.file = file
        self.problem = problem
        super().__init__(f"{file}{problem}")


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
        raw = _content(file)
        text = (raw or b"{}\n").removeprefix(BOM).decode()
        document = parse(text if text.strip() else "{}\n")
    except JsoncError as error:
        problem = f":{error.line}:{error.column}: is not valid JSON: {error.problem}; mend it first"
        raise SettingsFileError(file, problem) from None
    except UnicodeDecodeError as error:
        problem = f": is not UTF-8 at byte {error.start}; mend it first"
        raise SettingsFileError(file, problem) from None
    except OSError as error:
        raise SettingsFileError(file, f": cannot be read: {error.strerror or error}") from None
    if not isinstance(document.value, dict):
        raise SettingsFileError(file, ": must hold an object, {…}; mend it first")
    return SettingsText(file, raw, document)


def with_additions(settings: SettingsText, additions: Mapping[str, Any]) -> str:
    """The text with additions; raises SettingsFileError, with the place, if they have no room."""
    try:
        return inserted(settings.document.text, additions)
    except InsertionError as error:
        problem = f":{error.line}:{error.column}: {error.problem}; mend it first"
        raise SettingsFileError(settings.file, problem) from None


def add_to_settings(
    file: str,
    choose: Callable[[Mapping[str, Any]], Mapping[str, Any]],
    *,
    backup: bool = True,
) -> Updated:
    """Add to a settings file what ``choose`` makes of its value, nothing for an empty answer.

    The file is made if it is not there; raises SettingsFileError, and then it is as it was.
    """

    def added(settings: SettingsText) -> str:
        additions = choose(settings.document.value)
        return with_additions(settings, additions) if additions else settings.document.text

    return rewrite_settings(file, added, backup=backup)


def rewrite_settings(
    file: str, rewritten: Callable[[SettingsText], str], *, backup: bool = True
) -> Updated:
    """Give a settings file the text that ``rewritten`` makes of it; the same text writes nothing.

    The file is made if it is not there; raises SettingsFileError, and then it is as it was.
    """
    try:
        os.makedirs(os.path.dirname(file), exist_ok=True)
        with _only_writer(os.path.dirname(file)):
            settings = read_settings_text(file)
            text = rewritten(settings)
            if text == settings.document.text:
                return Updated(file=file, created=False, changed=False)
            return _write(settings, text, backup=backup)
    except OSError as error:
        problem = f": cannot be written: {error.strerror or error}; nothing in it was changed"
        raise SettingsFileError(file, problem) from None


def refuse_way_out(file: str, project_dir: str) -> None:
    """Raise SettingsFileError for a file of a project that a link leads out of it.

    Whoever made the link could otherwise have hooks written into settings that need no trust.
    """
    real, project = os.path.realpath(file), os.path.realpath(project_dir)
    if not real.startswith(os.path.join(project, "")):
        raise SettingsFileError(file, f" leads out of the project, to {real}; take the link away")


def _content(file: str) -> bytes | None:
    try:
        return content_of(file)
    except FileNotFoundError:
        return None


def _write(settings: SettingsText, text: str, *, backup: bool) -> Updated:
    mark = BOM if settings.raw is not None and settings.raw.startswith(BOM) else b""
    kept = _back_up(settings) if backup and settings.raw is not None else None
    try:
        write_atomically(settings.file, mark + text.encode("utf-8", "surrogatepass"))
    except OSError:
        if kept is not None:
            os.unlink(kept)
        raise
    return Updated(file=settings.file, created=settings.raw is None, changed=True, backup=kept)


def _back_up(settings: SettingsText) -> str:
    """A copy beside the file, under a name that no copy has yet."""
    number, path = 1, f"{settings.file}.bak"
    while os.path.lexists(path):
        number += 1
        path = f"{settings.file}.bak{number}"
    mode = os.stat(settings.file).st_mode & 0o777
    write_atomically(path, settings.raw or b"", mode=mode)
    return path


@contextmanager
def _only_writer(directory: str) -> Iterator[None]:
    """Two commands that add at the same time do so one after the other."""
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
