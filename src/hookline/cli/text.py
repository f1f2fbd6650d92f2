"""Text that hooks and settings wrote, made safe and short enough to show.

It may come from a project nobody has reviewed yet, so nothing in it may steer the terminal.
"""

_KEPT = frozenset("\n\u200d")  # the joiner holds emoji together


def printable(text: str) -> str:
    """The text with control and invisible characters written out, lone surrogates too."""
    if text.isprintable():
        return text
    return "".join(map(_shown, text))


def _shown(character: str) -> str:
    if character in _KEPT or character.isprintable():
        return character
    if character.isspace():
        return " "
    return character.encode("unicode_escape").decode("ascii")


def duration(milliseconds: float) -> str:
    """A time as people say it."""
    if milliseconds >= 1000:
        return f"{milliseconds / 1000:.3g} s"
    return f"{milliseconds:.0f} ms" if milliseconds >= 1 else f"{milliseconds:.1f} ms"


def count(number: int, noun: str) -> str:
    """``1 hook``, ``2 hooks``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def width_of(text: str) -> int:
    """How many columns of a terminal a text takes."""
    if text.isascii():
        return len(text)
    from unicodedata import category, east_asian_width

    return sum(
        0 if category(c) in ("Mn", "Me", "Cf") else 2 if east_asian_width(c) in "WF" else 1
        for c in text
    )
