"""Two tools of a program of one's own, guarded by the hooks of this folder."""

from pathlib import Path

from hookline import Hooks

NOTES = {"notes/key.txt": "the key is AKIAIOSFODNN7EXAMPLE"}
# You wrote these hooks, so they are trusted; in a project of others, "hookline trust" asks.
hooks = Hooks.load(Path(__file__).parent, trusted=True)


@hooks.wrap(on_block="return")
def write_note(path: str, text: str) -> str:
    """Write a note."""
    NOTES[path] = text
    return f"wrote {path}"


@hooks.wrap(on_block="return")
def read_note(path: str) -> str:
    """Read a note."""
    return NOTES[path]


with hooks:
    # What a model would ask for, and what it would read.
    print(write_note("monday.txt", "water the plants"))
    print(write_note("../.ssh/authorized_keys", "mine"))
    print(read_note("monday.txt"))
    print(read_note("key.txt"))
