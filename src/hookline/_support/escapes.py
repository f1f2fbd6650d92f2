"""How a text is written for people: numbers of things, and characters that they would not see.

Those characters end a line, control a terminal, turn the direction of text or are invisible, so
that one name passes for another. Nothing is imported for an escape: a log may tell of a process
that cannot.
"""

import re
from collections.abc import Callable

_ESCAPES = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
# Python calls these printable, but nothing is seen of them. The expressions are compiled with the
# first text that needs them, as most commands show none.
_UNSEEN = (
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u3164\ufe00-\ufe0f\uffa0"
    "\U000e0100-\U000e01ef]"
)
# The joiner and the selector have a place in emoji.
_OF_EMOJI = "\u200d\ufe0f"
_PICTURE = (
    "[\xa9\xae\u203c\u2049\u2100-\u27bf\u2900-\u2bff\u3030-\u3299\U0001f000-\U0001faff]\ufe0f?"
)
_EMOJI = f"{_PICTURE}(?:\u200d{_PICTURE})*|[0-9#*]\ufe0f\u20e3"


def count(number: int, one: str, many: str = "") -> str:
    """Write a number of things: ``1 hook``, ``2 hooks``; ``many`` is for a plural without s."""
    return f"{number} {one if number == 1 else many or one + 's'}"


def one_line(text: str) -> str:
    """Escape everything in a text that may end a line, control a terminal or go unseen."""
    return escape_unseen(text, spell)


def escape_unseen(text: str, escape: Callable[[str], str], *, exceptions: str = "") -> str:
    """Escape the characters of a text that are not seen as themselves: controls, those that turn
    the direction of text, and invisible ones except within emoji; those in ``exceptions`` stay."""
    if text.isprintable() and (text.isascii() or re.search(_UNSEEN, text) is None):
        return text
    within = {at for match in re.finditer(_EMOJI, text) for at in range(*match.span())}
    return "".join(
        character
        if character in exceptions
        or (character.isprintable() and re.match(_UNSEEN, character) is None)
        or (character in _OF_EMOJI and at in within)
        else escape(character)
        for at, character in enumerate(text)
    )


def spell(character: str) -> str:
    """Write a character as Python escapes it; a codec would have to be imported."""
    code = ord(character)
    if code > 0xFFFF:
        return f"\\U{code:08x}"
    return _ESCAPES.get(character) or (f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}")


def spell_json(character: str) -> str:
    """Write a character as JSON escapes it: what is beyond sixteen bits in halves."""
    code = ord(character)
    if code < 0x10000:
        return f"\\u{code:04x}"
    return f"\\u{0xD7C0 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"
