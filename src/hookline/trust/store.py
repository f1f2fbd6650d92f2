"""Keeps reviews and their copies in the user's state directory, so that no crash mixes two.

Each review is a folder that is written under another name and renamed when it is whole. The highest
number is the review in force; the one before it stays, as guards of running agents may be it.
"""

import os
import stat
from collections.abc import Iterable, Iterator, Mapping

import msgspec

from hookline._support.files import open_regular, read_bounded
from hookline._support.places import (
    STATE_VARIABLE,
    account_state_dir,
    home_dir,
    is_inside,
    project_key,
    user_state_dir,
)
from hookline.errors import EXHAUSTED
from hookline.trust.form import copied_name
from hookline.trust.review import VERSION, Review, ReviewDraft, ReviewedFile, TrustError
from hookline.wire import codec
from hookline.wire.codec import timestamp

_DOCUMENT, _FILES = "review.json", "files"
_KEPT = 2
_MOST_BYTES = 64 * 1024 * 1024
_TEMPORARY = ".new-"


def is_copied(name: str, file: ReviewedFile) -> bool:
    """True if a review keeps the bytes of a covered file: of any regular one but compiled Python,
    which nobody can read."""
    return file.kind == "file" and not name.endswith(".pyc")


class ReviewRecord(msgspec.Struct, frozen=True):
    """A review, and the folder that holds it and its copy."""

    review: Review
    folder: str

    @property
    def root(self) -> str:
        """The folder of the copied files."""
        return os.path.join(self.folder, _FILES)

    def read_copy(self, name: str) -> bytes:
        """Return the bytes of a file as it was reviewed; raises TrustError if they are not
        there."""
        import zlib

        file, place = self.review.files[name], os.path.join(self.root, copied_name(name))
        try:
            with open_regular(place) as copied:
                content = copied.read(file.size + 1)
                mode = os.fstat(copied.fileno()).st_mode
        except (OSError, ValueError) as error:
            if getattr(error, "errno", None) in EXHAUSTED:
                raise
            why = f"the copy of {name} that was reviewed cannot be read"
            raise TrustError(f"{why} ({getattr(error, 'strerror', error)})") from None
        bits = 0o500 if file.executable else 0o400
        is_whole = (len(content), zlib.crc32(content)) == (file.size, file.checksum)
        if not is_whole or mode & bits != bits:
            raise TrustError(f"the copy of {name} that was reviewed is damaged")
        return content

    def find_damage(self, names: Iterable[str]) -> str | None:
        """Return what is wrong with the copies of some files, None if they are whole."""
        try:
            for name in names:
                if is_copied(name, self.review.files[name]):
                    self.read_copy(name)
        except KeyError as missing:
            return f"the review lacks {missing}"
        except TrustError as error:
            return str(error)
        return None


class TrustStore:
    """The reviews in one state directory; those of a user who has none are nowhere."""

    def __init__(self, state: str | None = None) -> None:
        state = state or user_state_dir()
        self._state = state
        self.directory = None if state is None else os.path.join(state, "reviews")

    @classmethod
    def all(cls) -> "list[TrustStore]":
        """Return the store that the environment leads to, then that of the user's account, which
        no variable moves."""
        stores = [cls()]
        account = account_state_dir()
        if account is not None and cls(account).directory != stores[0].directory:
            stores.append(cls(account))
        return stores

    def folder_of(self, project_dir: str) -> str | None:
        """Return the folder of a project's reviews, None for a user without a home directory."""
        if self.directory is None:
            return None
        return os.path.join(self.directory, project_key(project_dir))

    def find_projects(self, directories: Iterable[str]) -> list[str]:
        """Return those of some real directories that may have a review here."""
        try:
            keys = set(os.listdir(self.directory)) if self.directory is not None else set()
        except OSError:
            return []
        return [each for each in directories if keys and project_key(each) in keys]

    def read(self, project_dir: str) -> ReviewRecord | None:
        """Read the review of a project that is in force, None if there is none; raises
        TrustError."""
        folder = self.folder_of(project_dir)
        if folder is None:
            return None
        self._refuse_unsafe(project_dir)
        for _ in range(3):
            numbers = _list_numbers(folder)
            if not numbers:
                return None
            place = os.path.join(folder, numbers[-1])
            try:
                record = _read_document(place)
            except FileNotFoundError:
                # Another process wrote two reviews meanwhile, and removed this one.
                if numbers == _list_numbers(folder):
                    raise TrustError(f"{place} lacks its document; {_AGAIN}") from None
                continue
            return record if record.review.project == os.path.realpath(project_dir) else None
        raise TrustError(f"{folder} keeps changing while it is read")

    def has_record_of_earlier_version(self, project_dir: str) -> bool:
        """True if an earlier version of hookline kept a review of a project here."""
        folder = self.folder_of(project_dir)
        if folder is None or self._state is None:
            return False
        old = os.path.join(self._state, "trust", f"{os.path.basename(folder)}.json")
        return os.path.isfile(old)

    def write(self, draft: ReviewDraft) -> str:
        """Write a review with its copy, and return its folder; raises TrustError, and then the
        review before it stays in force."""
        project = draft.review.project
        folder = self.folder_of(project)
        if folder is None or self.directory is None:
            raise TrustError(
                f"there is no home directory to keep it in; set HOME or {STATE_VARIABLE}"
            )
        state_dir = os.environ.get(STATE_VARIABLE, "")
        if state_dir and not os.path.isabs(state_dir):
            raise TrustError(f"{STATE_VARIABLE} is {state_dir!r}; it must be an absolute path")
        from hookline._version import __version__

        document = msgspec.structs.replace(
            draft.review, version=VERSION, written_by=__version__, trusted_at=timestamp()
        )
        try:
            # Before anything is made in a place that is refused.
            self._refuse_unsafe(project)
            _make_private(self._state or self.directory, self.directory, folder)
            _remove_leftovers(folder)
            temporary = os.path.join(folder, f"{_TEMPORARY}{os.getpid()}-{os.urandom(4).hex()}")
            try:
                _write_copy(temporary, document, draft.contents)
                place = _rename_to_next(temporary, folder)
            except BaseException:
                _remove_tree(temporary)
                raise
            _sync(folder)
            for number in _list_numbers(folder)[:-_KEPT]:
                _remove_tree(os.path.join(folder, number))
        except OSError as error:
            if error.errno in EXHAUSTED:
                raise
            raise TrustError(
                f"{folder} cannot be written ({error.strerror or error}); nothing was changed, "
                "make room or correct its permissions"
            ) from None
        return place

    def forget(self, project_dir: str) -> bool:
        """Remove the reviews of a project, and return whether there was one; raises TrustError."""
        folder = self.folder_of(project_dir)
        if folder is None or not os.path.lexists(folder):
            return False
        had = bool(_list_numbers(folder))
        # One rename takes it out of force, whatever happens to the rest.
        aside = f"{folder}{_TEMPORARY}{os.getpid()}-{os.urandom(4).hex()}"
        try:
            os.rename(folder, aside)
            _remove_tree(aside)
        except OSError as error:
            raise TrustError(f"{folder} cannot be removed ({error.strerror}); remove it") from None
        return had

    def list_projects(self) -> Iterator[str]:
        """Yield the projects that have a review here, and can be read."""
        if self.directory is None or not os.path.isdir(self.directory):
            return
        for entry in sorted(os.listdir(self.directory)):
            folder = os.path.join(self.directory, entry)
            numbers = _list_numbers(folder)
            try:
                if numbers and _TEMPORARY not in entry:
                    yield _read_document(os.path.join(folder, numbers[-1])).review.project
            except (TrustError, OSError):
                continue

    def _refuse_unsafe(self, project_dir: str) -> None:
        """Raise TrustError if the project or other users could write to the reviews."""
        assert self.directory is not None
        store, project = os.path.realpath(self.directory), os.path.realpath(project_dir)
        home = home_dir()
        # A project that contains the home directory contains all of the user's files anyway.
        holds_home = home is not None and is_inside(os.path.realpath(home), project)
        if is_inside(store, project) and not holds_home:
            raise TrustError(
                f"reviews would be kept in {store}, inside the project itself; "
                f"set {STATE_VARIABLE} to a directory outside the project"
            )
        for folder in _list_ancestors(store):
            why = _why_unsafe(folder)
            if why is not None:
                raise TrustError(
                    f"reviews are kept in {store}, and {folder} {why}, so others could change "
                    "them; correct that"
                )


_AGAIN = "`hookline trust` replaces it"


def _read_document(place: str) -> ReviewRecord:
    """Read the review in a folder; raises TrustError, and FileNotFoundError if there is none."""
    file = os.path.join(place, _DOCUMENT)
    try:
        review = msgspec.json.decode(read_bounded(file, _MOST_BYTES), type=Review)
    except FileNotFoundError:
        raise
    except OSError as error:
        if error.errno in EXHAUSTED:
            raise
        raise TrustError(f"{file} cannot be read ({error.strerror}); {_AGAIN}") from None
    except (msgspec.DecodeError, ValueError) as error:
        raise TrustError(f"{file} is damaged ({error}); {_AGAIN}") from None
    if review.version != VERSION:
        raise TrustError(f"{file} was written by another version of hookline; {_AGAIN}")
    return ReviewRecord(review, place)


def _list_numbers(folder: str) -> list[str]:
    try:
        return sorted(name for name in os.listdir(folder) if name.isdigit())
    except (OSError, ValueError):
        return []


def _make_private(*folders: str) -> None:
    for folder in folders:
        os.makedirs(folder, mode=0o700, exist_ok=True)
    for folder in folders[1:]:
        if stat.S_IMODE(os.stat(folder).st_mode) != 0o700:
            os.chmod(folder, 0o700)


def _write_copy(place: str, document: Review, contents: Mapping[str, bytes]) -> None:
    """Write the document and the files of a review, and have them on the disk."""
    os.mkdir(place, 0o700)
    root = os.path.join(place, _FILES)
    os.mkdir(root, 0o700)
    for name, file in document.files.items():
        if is_copied(name, file):
            copy = os.path.join(root, copied_name(name))
            os.makedirs(os.path.dirname(copy), mode=0o700, exist_ok=True)
            _write(copy, contents[name], 0o500 if file.executable else 0o400)
    for directory, _, _ in os.walk(root, topdown=False):
        _sync(directory)
    _write(os.path.join(place, _DOCUMENT), codec.encode(msgspec.to_builtins(document)), 0o400)
    _sync(place)


def _write(file: str, content: bytes, mode: int) -> None:
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(descriptor, "wb") as opened:
        opened.write(content)
        opened.flush()
        os.fchmod(descriptor, mode)
        os.fsync(descriptor)


def _sync(folder: str) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _rename_to_next(temporary: str, folder: str) -> str:
    for _ in range(1_000):
        numbers = _list_numbers(folder)
        place = os.path.join(folder, f"{int(numbers[-1]) + 1 if numbers else 1:08}")
        try:
            os.rename(temporary, place)
        except (FileExistsError, NotADirectoryError):
            continue
        except OSError:
            # The name is taken: another process was faster.
            if os.path.isdir(place):
                continue
            raise
        return place
    raise FileExistsError(f"too many reviews are written to {folder} at once")


def _remove_leftovers(folder: str) -> None:
    """Remove what writers that were killed have left in a project's folder."""
    for name in os.listdir(folder):
        if not name.startswith(_TEMPORARY):
            continue
        pid = name.removeprefix(_TEMPORARY).partition("-")[0]
        try:
            os.kill(int(pid), 0)
        except (ProcessLookupError, ValueError):
            _remove_tree(os.path.join(folder, name))
        except OSError:
            continue


def _remove_tree(place: str) -> None:
    import shutil

    shutil.rmtree(place, ignore_errors=True)


def _list_ancestors(folder: str) -> Iterator[str]:
    while True:
        if os.path.lexists(folder):
            yield folder
        parent = os.path.dirname(folder)
        if parent == folder:
            return
        folder = parent


def _why_unsafe(folder: str) -> str | None:
    status = os.stat(folder)
    user = os.geteuid()
    if status.st_uid not in (user, 0):
        return f"belongs to another user ({status.st_uid})"
    is_sticky = bool(status.st_mode & stat.S_ISVTX)
    if status.st_mode & stat.S_IWOTH and not is_sticky:
        return "can be written by every user"
    if status.st_mode & stat.S_IWGRP and not is_sticky and _has_other_members(status.st_gid, user):
        return f"can be written by the group {status.st_gid}"
    return None


def _has_other_members(group: int, user: int) -> bool:
    import grp
    import pwd

    try:
        own = {pwd.getpwuid(user).pw_name, "root"}
    except KeyError:
        own = {"root"}
    try:
        listed = set(grp.getgrgid(group).gr_mem)
    except KeyError:
        listed = set()
    primary = {each.pw_name for each in pwd.getpwall() if each.pw_gid == group}
    return bool((listed | primary) - own)
