"""Puts directories into the words of a command that runs without a shell, as plain text.

A word that a shell, an interpreter or a similar program reads as code stays as written: it would
run a directory called ``$(touch x)``. The code can read the variable from its environment.

Programs are recognized by name anywhere in a command, so it does not matter what starts them. In
doubt a word counts as code: a variable that was not replaced is noticed at once.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

from hookline.shell.table import Program, find_in_table
from hookline.shell.tokens import expand

# Finds the indexes of words that are code: of all words, behind the program at an index.
_FindCode: TypeAlias = Callable[[Sequence[str], int, Program], Iterator[int]]

# With more words nothing is replaced: finding the code takes time quadratic in their number.
_MOST_WORDS = 1000
# Awk, sed and the like take a program or files: a word with other characters is a program.
_OF_PATHS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./:@%+,=-${}")


def fill_arguments(words: Sequence[str], values: Mapping[str, str]) -> list[str]:
    """Replace ``$NAME`` and ``${NAME}`` of ``values`` once, in every word that is not code."""
    code = code_in(words)
    return [word if at in code else expand(word, values) for at, word in enumerate(words)]


def code_in(words: Sequence[str]) -> set[int]:
    """The indexes of a command's words that are read as code."""
    if len(words) > _MOST_WORDS:
        return set(range(1, len(words)))
    texts: list[str] = []
    # The index among the words of each text.
    places: list[int] = []
    code = set()
    is_behind_env = False
    for at, word in enumerate(words):
        # env -S splits a word at blanks; it may name an interpreter for the words behind it.
        split = _split_by_env(words[at - 1], word) if is_behind_env else [word]
        if split != [word]:
            code.add(at)
        texts += split
        places += [at] * len(split)
        is_behind_env |= os.path.basename(word) == "env"
    for at, text in enumerate(texts):
        program = find_in_table(text)
        if program is not None and program.form:
            indexes = _FINDERS[program.form](texts, at, program)
            code |= {places[index] for index in indexes if index < len(places)}
    return code


def _split_by_env(before: str, word: str) -> list[str]:
    """Split a word as ``env -S`` does; the word alone if it is not to be split."""
    if _asks_to_split(word):
        joined = word.partition("=" if word.startswith("--") else "S")[2]
        return ["-S", *joined.split()] if joined else [word]
    is_value = _asks_to_split(before) and before.endswith(("S", "-string"))
    return word.split() if is_value else [word]


def _asks_to_split(word: str) -> bool:
    is_short = word.startswith("-") and not word.startswith("--") and "S" in word
    return is_short or word.startswith("--split-string")


def _find_shell_code(words: Sequence[str], at: int, program: Program) -> Iterator[int]:
    """Find the code behind -c: the first word that is neither an option nor its value."""
    reads_code = False
    at += 1
    while at < len(words) and words[at].startswith(("-", "+")):
        word, at = words[at], at + 1
        if word in ("-", "--"):
            break
        if word.startswith("--"):
            at += word in program.valued
            continue
        if word.startswith("-") and "c" in word:
            reads_code = True
            yield at - 1
        at += word.count("o") + word.count("O")
    if reads_code:
        yield at


def _find_interpreter_code(words: Sequence[str], at: int, program: Program) -> Iterator[int]:
    """Find what follows an option for code, or is joined to it, up to the script.

    Behind an option that is not in the tables, a word may be its value instead of the script.
    """
    yield from (place for place in range(at, len(words)) if "data:" in words[place])
    is_script_sure = True
    at += 1
    while at < len(words) and words[at] not in ("-", "--"):
        word, at = words[at], at + 1
        if not word.startswith("-"):
            if is_script_sure:
                return
            continue
        option, equals, _ = word.partition("=")
        # Letters may be joined, and the value may follow the last one directly.
        options = [option] if word.startswith("--") else [f"-{letter}" for letter in word[1:]]
        for place, each in enumerate(options, 2):
            is_joined = bool(equals if word.startswith("--") else word[place:])
            if each in program.code + program.inline:
                yield from (at - 1, at)
                at += 1
                break
            if each in program.valued + program.scriptless:
                at += not is_joined
                break
            if word.startswith("--") and not is_joined:
                is_script_sure = False


def _find_option_code(words: Sequence[str], at: int, program: Program) -> Iterator[int]:
    """Find what follows an option for code, or is joined to it, anywhere behind the program."""
    for place in range(at + 1, len(words)):
        if words[place].startswith(program.code):
            yield from (place, place + 1)


def _find_filter_code(words: Sequence[str], at: int, program: Program) -> Iterator[int]:
    """Find the first word that is not an option, unless an option names a file with the program,
    and every word that is not a path."""
    yield from _find_option_code(words, at, program)
    is_known = False
    for place in range(at + 1, len(words)):
        word = words[place]
        if word.startswith("-"):
            is_known |= "f" in word.partition("=")[0]
            is_code = not _OF_PATHS.issuperset(word)
        elif words[place - 1] in ("-v", "--assign"):
            is_code = False
        else:
            # A path begins with its directory.
            is_code = not (is_known and word.startswith("$") and _OF_PATHS.issuperset(word))
            is_known = True
        if is_code:
            yield place


def _find_all_behind(words: Sequence[str], at: int, _: Program) -> Iterator[int]:
    yield from range(at + 1, len(words))


def _find_assignments(words: Sequence[str], at: int, _: Program) -> Iterator[int]:
    """Find assignments, whose values make expands once more."""
    yield from (place for place in range(at + 1, len(words)) if "=" in words[place])


_FINDERS: dict[str, _FindCode] = {
    "shell": _find_shell_code,
    "script": _find_interpreter_code,
    "option": _find_option_code,
    "filter": _find_filter_code,
    "assignments": _find_assignments,
    "all": _find_all_behind,
}
