"""Reads a command line that leaves no question, as argparse would but without loading it.

Every option is known and spelt out, there is a value behind each that takes one, and one argument
besides. All else, a mistake or a call for help, is argparse's.
"""

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import msgspec


class PlainOptions(msgspec.Struct, frozen=True):
    """What a verb takes: its one argument, what all options are without being given, and those
    that are a text, a text to be given again and again, or a value by themselves."""

    argument: str
    defaults: Mapping[str, Any]
    texts: Mapping[str, str]
    lists: Mapping[str, str]
    flags: Mapping[str, tuple[str, Any]]

    def read(self, arguments: Sequence[str]) -> SimpleNamespace | None:
        """The options; None if argparse has to look at it."""
        found = dict(self.defaults)
        given: set[str] = set()
        rest = iter(arguments)
        for word in rest:
            if word in self.texts or word in self.lists:
                value = next(rest, None)
                # It may be an option that stands where a value should.
                if value is None or (value.startswith("-") and value != "-"):
                    return None
                if word in self.texts:
                    found[self.texts[word]] = value
                else:
                    found[self.lists[word]] = [*(found[self.lists[word]] or ()), value]
            elif word in self.flags:
                name, meaning = self.flags[word]
                if name in given and found[name] != meaning:
                    return None
                given.add(name)
                found[name] = meaning
            elif word.startswith("-") or self.argument in given:
                return None
            else:
                given.add(self.argument)
                found[self.argument] = word
        return SimpleNamespace(**found) if self.argument in given else None
