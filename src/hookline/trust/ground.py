"""Which files belong to a project: those in it, and in a plugin folder that its settings name.

A path counts by where it leads after ``..`` and links are resolved, so no spelling of a path makes
a file of the project look like one from outside, or the other way round.
"""

import os
import stat
from collections.abc import Iterator

import msgspec

from hookline._support.files import open_regular
from hookline._support.places import is_inside

# A file that an interpreter loads, or a person takes for code.
CODE_SUFFIXES = (
    *(".sh", ".bash", ".zsh", ".ksh", ".py", ".pyc", ".pyo", ".pyw", ".so", ".dylib", ".pyd"),
    *(".js", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".node", ".rb", ".pl", ".pm", ".php", ".lua"),
    *(".awk", ".jq", ".pth", ".bundle"),
)


class Ground(msgspec.Struct, frozen=True):
    """A project: its folder, as it is called and as it really is, and a plugin's real folder."""

    project_dir: str
    real: str
    plugin: str = ""

    @classmethod
    def of(cls, project_dir: str, plugin: str | None = None) -> "Ground":
        """Return the ground of a project, and of a plugin if a hook comes from one."""
        real = os.path.realpath(project_dir)
        return cls(project_dir, real, "" if plugin is None else os.path.realpath(plugin))

    def name_of(self, place: str) -> str | None:
        """Return the path in the project of a place: "." for the project itself, a whole path in a
        plugin outside of it, None for a place outside. The last part may be a link."""
        try:
            parent, last = os.path.split(place.rstrip("/") or "/")
            if last in ("", ".", ".."):
                real = os.path.realpath(place)
            else:
                real = os.path.join(os.path.realpath(parent), last)
        except (OSError, ValueError):  # not a valid file name
            return None
        return self.name_of_real(real)

    def name_of_real(self, real: str) -> str | None:
        """Return the path in the project of a real path, as ``name_of`` does."""
        if is_inside(real, self.real):
            return real[len(self.real) :].lstrip("/") or "."
        return real if self.plugin and is_inside(real, self.plugin) else None

    def holds(self, place: str) -> bool:
        """True if a place leads into the project, by its name or through links."""
        try:
            leads_inside = self.name_of_real(os.path.realpath(place)) is not None
        except (OSError, ValueError):
            return False
        return leads_inside or self.name_of(place) is not None

    def place_of(self, name: str) -> str:
        """Return where a path in the project is."""
        return os.path.join(self.real, name)


def may_be_code(name: str, status: os.stat_result, place: str) -> bool:
    """True if an interpreter or the system may execute a file: by its name, mode or first bytes."""
    from importlib.machinery import all_suffixes

    if not stat.S_ISREG(status.st_mode):
        return False
    if status.st_mode & 0o111 or name.endswith((*CODE_SUFFIXES, *all_suffixes())):
        return True
    try:
        with open_regular(place) as file:
            return file.read(2) == b"#!"
    except (OSError, ValueError):
        return True


def parts_of(word: str) -> Iterator[str]:
    """Yield a word, and the parts of it behind signs that may name files."""
    yield word
    for sign in "=:,@":
        if sign in word:
            yield from (part for part in word.split(sign) if part and part != word)
