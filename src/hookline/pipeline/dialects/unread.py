"""Says which fields of an answer nobody reads, in as few lines as the hook may print every time."""

from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache

# No field that anybody meant has a longer name.
LONGEST_NAME = 80
_MOST_NAMED = 5


def join_names(names: Sequence[str], prefix: str = "") -> str:
    """The first few names as people say them, and how many there are besides."""
    shown = ", ".join(prefix + _show(name) for name in names[:_MOST_NAMED])
    over = len(names) - _MOST_NAMED
    return f"{shown} and {over} more" if over > 0 else shown


def describe_unread(
    names: Sequence[str], known: Collection[str], *, where: str = "", prefix: str = ""
) -> Iterator[str]:
    """A warning for each name like a known one, and one for all others; ``prefix`` is the object
    that they stand in."""
    others = []
    for index, name in enumerate(names):
        meant = _find_meant(name[: LONGEST_NAME + 1], tuple(known)) if index < _MOST_NAMED else None
        if meant is None:
            others.append(name)
        else:
            is_unread = f"{prefix}{_show(name)} is not read{where and f' {where}'}"
            yield f"{is_unread}, did you mean {meant}?; it has no effect"
    if others:
        are, have = ("is", "it has") if len(others) == 1 else ("are", "they have")
        is_unread = f"{join_names(others, prefix)} {are} not read{where and f' {where}'}"
        yield f"{is_unread}; {have} no effect"


def _show(name: str) -> str:
    is_plain = 0 < len(name) <= LONGEST_NAME and name.isprintable() and " " not in name
    return name if is_plain else f"{name[:LONGEST_NAME]!r}"


@lru_cache(maxsize=256)
def _find_meant(name: str, known: tuple[str, ...]) -> str | None:
    # difflib is loaded by the first name that nobody knows.
    from hookline.nearest import only_one

    return only_one(name, known)
