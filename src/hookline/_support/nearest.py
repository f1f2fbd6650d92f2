"""Suggestions for misspelt words; difflib is loaded with the first one."""

from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

# No known field has a longer name.
LONGEST_NAME = 80
_MOST_NAMED = 5
# An answer has a handful of fields; this many are looked at for a typing error.
MOST_COMPARED = 50

# From this ratio on, a word counts as a misspelling of the other.
_CERTAIN = 0.8
# And it must be nearer than any other by this much.
_APART = 0.08
# Limits on the length of a word, and on the number of words it is compared with.
_LONGEST = 200
_MOST_KNOWN = 500
# A typing slip leaves out this many letters at most; a name shorter than _SHORT may have no wrong
# letter, and one of up to _CAREFUL letters a single one.
_MOST_LEFT_OUT = 3
_SHORT = 5
_CAREFUL = 6


def nearest(word: str, known: Iterable[str], *, cutoff: float = 0.6) -> list[str]:
    """Return up to two known words like this one, best first; case and underscores are ignored."""
    try:
        from difflib import get_close_matches
    except (ImportError, OSError):
        # A process without a free descriptor does not lose its error for want of a suggestion.
        return []
    if len(word) > _LONGEST:
        return []
    by_spelling: dict[str, list[str]] = {}
    for name in islice(known, _MOST_KNOWN):
        by_spelling.setdefault(_normalize(name), []).append(name)
    spellings = get_close_matches(_normalize(word), by_spelling, n=2, cutoff=cutoff)
    return [name for bare in spellings for name in by_spelling[bare]][:2]


def only_one(word: str, known: Iterable[str]) -> str | None:
    """Return the one known word that is almost the same; None if another is nearly as close."""
    try:
        from difflib import SequenceMatcher
    except (ImportError, OSError):
        return None
    if len(word) > _LONGEST:
        return None
    matcher = SequenceMatcher(b=_normalize(word))
    ratios = []
    for name in islice(known, _MOST_KNOWN):
        matcher.set_seq1(_normalize(name))
        ratios.append((matcher.ratio() if matcher.quick_ratio() > 0.6 else 0.0, name))
    (best, name), (second, _) = sorted([*ratios, (0.0, ""), (0.0, "")], reverse=True)[:2]
    return name if best >= _CERTAIN and best - second >= _APART else None


def is_slip(word: str, name: str) -> bool:
    """True if a word differs from a name only in case and underscores, a letter or two at one
    place, or a missing end; without difflib, for callers who have no time to load it."""
    word, name = _normalize(word), _normalize(name)
    if abs(len(word) - len(name)) > _MOST_LEFT_OUT:
        return False
    least = min(len(word), len(name))
    start = next((at for at in range(least) if word[at] != name[at]), least)
    end = next((at for at in range(least - start) if word[-1 - at] != name[-1 - at]), least - start)
    left, wanted = word[start : len(word) - end], name[start : len(name) - end]
    size = max(len(left), len(wanted))
    if len(name) < _SHORT:
        return size == 0
    is_turned = size == 2 and left == wanted[::-1]
    is_begun = not left and start == len(word) >= _SHORT
    return size <= 1 or is_turned or is_begun or (size == 2 and len(name) > _CAREFUL)


def find_slip(word: str, known: Iterable[str]) -> str | None:
    """Return the known word that differs by a slip, or has the same letters in another order."""
    letters = sorted(_normalize(word[: LONGEST_NAME + 1]))
    for name in known:
        if is_slip(word, name) or sorted(_normalize(name)) == letters:
            return name
    return None


def did_you_mean(names: Iterable[str]) -> str:
    """Return the question for a few names, "" for none."""
    spoken = " or ".join(names)
    return f"did you mean {spoken}?" if spoken else ""


def ask_which(word: str, known: Iterable[str]) -> str:
    """Return the question for the words that may have been meant, or for the only likely one."""
    names = list(known)
    one = only_one(word, names)
    return did_you_mean([one] if one else nearest(word, names))


def name_hint(word: str, known: Collection[str]) -> str:
    """Return the question for the names that may have been meant, or else all names."""
    return did_you_mean(nearest(word, known)) or f"there are {', '.join(known)}"


def join_names(names: Sequence[str], prefix: str = "") -> str:
    """Join the first few names, and say how many more there are."""
    text = ", ".join(prefix + _show_name(name) for name in names[:_MOST_NAMED])
    over = len(names) - _MOST_NAMED
    return f"{text} and {over} more" if over > 0 else text


class Unread(NamedTuple):
    """Warnings of fields that are not read: one for each that is like a known one, and one for all
    that nobody has a meaning for."""

    slips: list[str]
    others: list[str]


def describe_unread(
    names: Sequence[str], known: Collection[str], *, where: str = "", prefix: str = ""
) -> Unread:
    """Describe fields that are not read; ``prefix`` is the object that they stand in."""
    slips, others = [], []
    for index, name in enumerate(names):
        likely_name = None
        if index < MOST_COMPARED:
            likely_name = _find_field(name[: LONGEST_NAME + 1], tuple(known), index < _MOST_NAMED)
        if likely_name is None:
            others.append(name)
        else:
            is_unread = f"{prefix}{_show_name(name)} is not read{where and f' {where}'}"
            slips.append(f"{is_unread}, did you mean {likely_name}?; it has no effect")
    if not others:
        return Unread(slips, [])
    are, have = ("is", "it has") if len(others) == 1 else ("are", "they have")
    is_unread = f"{join_names(others, prefix)} {are} not read{where and f' {where}'}"
    return Unread(slips, [f"{is_unread}; {have} no effect"])


def _show_name(name: str) -> str:
    is_plain = 0 < len(name) <= LONGEST_NAME and name.isprintable() and " " not in name
    return name if is_plain else f"{name[:LONGEST_NAME]!r}"


@lru_cache(maxsize=256)
def _find_field(name: str, known: tuple[str, ...], is_searched: bool) -> str | None:
    """Find the known field that was meant, with ``is_searched`` also one that is only like it;
    cached, as a hook answers with the same fields."""
    return find_slip(name, known) or (only_one(name, known) if is_searched else None)


def _normalize(word: str) -> str:
    return word.replace("_", "").replace("-", "").lower()
