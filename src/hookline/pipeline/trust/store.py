"""Keeps reviews: one file for each project, in the user's state directory."""

import os

import msgspec

from hookline.errors import EXHAUSTED
from hookline.files import write_atomically
from hookline.pipeline.trust.review import VERSION, Review, TrustError
from hookline.places import STATE_VARIABLE, home_dir, user_state_dir
from hookline.wire import codec
from hookline.wire.codec import timestamp


class TrustStore:
    """The user's reviews, one file for each project, readable by the user alone."""

    def __init__(self, directory: str | None = None) -> None:
        state = user_state_dir()
        self._directory = directory or (None if state is None else os.path.join(state, "trust"))

    def read(self, project_dir: str) -> Review | None:
        """Read the review of a project, None if there is none; raises TrustError."""
        file = self._locate(project_dir)
        if file is None:
            return None
        try:
            with open(file, "rb") as opened:
                content = opened.read()
            record = msgspec.json.decode(content)
            is_record = isinstance(record, dict) and isinstance(record.get("project"), str)
            if is_record and record.get("version") != VERSION:
                raise TrustError(
                    f"{file} was written by another version of hookline, which reviewed less; "
                    "no project hook runs until you review them with `hookline trust`"
                )
            known = msgspec.convert(record, Review)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            if error.errno in EXHAUSTED:
                raise
            raise TrustError(
                f"{file} cannot be read ({error.strerror}); make it readable"
            ) from None
        except (msgspec.DecodeError, ValueError) as error:
            raise TrustError(
                f"{file} is damaged ({error}); trust the project again, which replaces it"
            ) from None
        return known if known.project == os.path.realpath(project_dir) else None

    def write(self, reviewed: Review) -> str:
        """Write a review and return its file; raises TrustError, and then the old record stays."""
        file = self._locate(reviewed.project)
        if file is None:
            raise TrustError(
                f"there is no home directory to keep it in; set HOME or {STATE_VARIABLE}"
            )
        kept = msgspec.structs.replace(reviewed, version=VERSION, trusted_at=timestamp())
        try:
            os.makedirs(os.path.dirname(file), mode=0o700, exist_ok=True)
            write_atomically(file, codec.encode(msgspec.to_builtins(kept)), mode=0o600)
        except OSError as error:
            raise TrustError(
                f"{file} cannot be written ({error.strerror or error}); nothing was changed, "
                "make room or correct its permissions"
            ) from None
        return file

    def forget(self, project_dir: str) -> bool:
        """Remove the review of a project, and return whether there was one; raises TrustError."""
        file = self._locate(project_dir)
        try:
            if file is None:
                return False
            os.unlink(file)
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError as error:
            raise TrustError(f"{file} cannot be removed ({error.strerror}); remove it") from None
        return True

    def file_of(self, project_dir: str) -> str | None:
        """The file that keeps a project's review, None for a user without a home directory."""
        if self._directory is None:
            return None
        # Valid on any file system, and readable for people.
        path = os.path.realpath(project_dir)
        readable = "".join(c if c.isascii() and c.isalnum() else "-" for c in path).strip("-")
        import zlib

        number = zlib.crc32(os.fsencode(path))
        return os.path.join(self._directory, f"{readable[-100:]}-{number:08x}.json")

    def _locate(self, project_dir: str) -> str | None:
        """The same file; raises TrustError if the project itself could write to it."""
        named = os.environ.get(STATE_VARIABLE, "")
        if named and not os.path.isabs(named):
            raise TrustError(f"{STATE_VARIABLE} is {named!r}; it must be an absolute path")
        if self._directory is not None:
            store, project = os.path.realpath(self._directory), os.path.realpath(project_dir)
            home = home_dir()
            # A project that contains the home directory contains all of the user's files anyway.
            holds_home = home is not None and is_inside(os.path.realpath(home), project)
            if is_inside(store, project) and not holds_home:
                raise TrustError(
                    f"reviews would be kept in {store}, inside the project itself; "
                    f"set {STATE_VARIABLE} to a directory outside the project"
                )
        return self.file_of(project_dir)


def is_inside(path: str, directory: str) -> bool:
    """Whether a path is a directory, or is in it; both are real paths."""
    return path == directory or path.startswith(directory.rstrip(os.sep) + os.sep)
