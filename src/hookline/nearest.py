"""What somebody may have meant: difflib is loaded by the first misspelt word, never before."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import islice

# No field that anybody meant has a longer name.
LONGEST_NAME = 80
_MOST_NAMED = 5

# From here on two spellings are one word with a slip in it.
_CERTAIN = 0.8
# And by this much it must be nearer than any other.
_APART = 0.08
# No word that people type is longer, and nobody remembers more of them.
_LONGEST = 200
_MOST_KNOWN = 500
# A slip of the fingers: so many letters are left out at most; in a name this short none, and in one
# of up to so many letters a single one is wrong.
_MOST_LEFT_OUT = 3
_SHORT = 5
_CAREFUL = 6


def nearest(word: str, known: Iterable[str], *, cutoff: float = 0.6) -> list[str]:
    """Up to two known words like this one, best first, whatever their case and underscores."""
    from difflib import get_close_matches

    if len(word) > _LONGEST:
        return []
    spelt: dict[str, list[str]] = {}
    for name in islice(known, _MOST_KNOWN):
        spelt.setdefault(_normalize(name), []).append(name)
    found = get_close_matches(_normalize(word), spelt, n=2, cutoff=cutoff)
    return [name for bare in found for name in spelt[bare]][:2]


def only_one(word: str, known: Iterable[str]) -> str | None:
    """The one known word that is almost the same; None where another is nearly as close."""
    from difflib import SequenceMatcher

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
    """Whether a word is a name but for its case and underscores, a letter or two at one place, or
    an end that was left out; without difflib, for readers that have no time to load it."""
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


def did_you_mean(names: Iterable[str]) -> str:
    """The question for a few names, "" for none."""
    spoken = " or ".join(names)
    return f"did you mean {spoken}?" if spoken else ""


def ask_which(word: str, known: Iterable[str]) -> str:
    """The question for the words that may have been meant, for the one alone if it is clear."""
    names = list(known)
    one = only_one(word, names)
    return did_you_mean([one] if one else nearest(word, names))


def name_hint(word: str, known: Collection[str]) -> str:
    """The question for the names that may have been meant, or else all there are."""
    return did_you_mean(nearest(word, known)) or f"there are {', '.join(known)}"


def join_names(names: Sequence[str], prefix: str = "") -> str:
    """The first few names as people say them, and how many there are besides."""
    shown = ", ".join(prefix + _show_name(name) for name in names[:_MOST_NAMED])
    over = len(names) - _MOST_NAMED
    return f"{shown} and {over} more" if over > 0 else shown


def describe_unread(
    names: Sequence[str], known: Collection[str], *, where: str = "", prefix: str = ""
) -> Iterator[str]:
    """A warning for each name like a known one, and one for all others; ``prefix`` is the object
    that they stand in."""
    others = []
    for index, name in enumerate(names):
        meant = _find_field(name[: LONGEST_NAME + 1], tuple(known)) if index < _MOST_NAMED else None
        if meant is None:
            others.append(name)
        else:
            is_unread = f"{prefix}{_show_name(name)} is not read{where and f' {where}'}"
            yield f"{is_unread}, did you mean {meant}?; it has no effect"
    if others:
        are, have = ("is", "it has") if len(others) == 1 else ("are", "they have")
        is_unread = f"{join_names(others, prefix)} {are} not read{where and f' {where}'}"
        yield f"{is_unread}; {have} no effect"


def _show_name(name: str) -> str:
    is_plain = 0 < len(name) <= LONGEST_NAME and name.isprintable() and " " not in name
    return name if is_plain else f"{name[:LONGEST_NAME]!r}"


@lru_cache(maxsize=256)
def _find_field(name: str, known: tuple[str, ...]) -> str | None:
    """Remembered, as a hook answers with the same fields each time."""
    mixed_up = (each for each in known if sorted(_normalize(each)) == sorted(_normalize(name)))
    return next(mixed_up, None) or only_one(name, known)


def _normalize(word: str) -> str:
    return word.replace("_", "").replace("-", "").lower()
