"""Puts directories into the words of a command that runs without a shell, as plain text.

A word that a shell, an interpreter or a similar program reads as code stays as written: it would
run a directory called ``$(touch x)``. The code can read the variable from its environment.

Programs are recognized by name anywhere in a command, so it does not matter what starts them. In
doubt a word counts as code: a variable that was not replaced is noticed at once.
"""

import functools
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

from hookline.shell.tokens import expand

# Finds the indexes of words that are code, given the words and the index of the program.
_FindCode: TypeAlias = Callable[[Sequence[str], int], Iterator[int]]

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
        name = os.path.basename(text).lower().removesuffix(".exe")
        find = _READERS.get(name) or _READERS.get(name.rstrip("0123456789."))
        if find is not None:
            code |= {places[found] for found in find(texts, at) if found < len(places)}
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


def _find_shell_code(words: Sequence[str], at: int) -> Iterator[int]:
    """Find the code behind -c: the first word that is neither an option nor its value."""
    reads_code = False
    at += 1
    while at < len(words) and words[at].startswith(("-", "+")):
        word, at = words[at], at + 1
        if word in ("-", "--"):
            break
        if word.startswith("--"):
            at += word in ("--rcfile", "--init-file", "--emulate")
            continue
        if word.startswith("-") and "c" in word:
            reads_code = True
            yield at - 1
        at += word.count("o") + word.count("O")
    if reads_code:
        yield at


def _find_interpreter_code(
    words: Sequence[str], at: int, *, code: Sequence[str], valued: Sequence[str] = ()
) -> Iterator[int]:
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
            if each in code:
                yield from (at - 1, at)
                at += 1
                break
            if each in valued:
                at += not is_joined
                break
            if word.startswith("--") and not is_joined:
                is_script_sure = False


def _find_option_code(words: Sequence[str], at: int, *, code: Sequence[str]) -> Iterator[int]:
    """Find what follows an option for code, or is joined to it, anywhere behind the program."""
    for place in range(at + 1, len(words)):
        if words[place].startswith(tuple(code)):
            yield from (place, place + 1)


def _find_filter_code(
    words: Sequence[str], at: int, *, code: Sequence[str] = ("-e",)
) -> Iterator[int]:
    """Find the first word that is not an option, unless an option names a file with the program,
    and every word that is not a path."""
    yield from _find_option_code(words, at, code=code)
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


def _find_all_behind(words: Sequence[str], at: int) -> Iterator[int]:
    yield from range(at + 1, len(words))


def _find_assignments(words: Sequence[str], at: int) -> Iterator[int]:
    """Find assignments, whose values make expands once more."""
    yield from (place for place in range(at + 1, len(words)) if "=" in words[place])


def _make_interpreter_finder(code: str, valued: str = "") -> _FindCode:
    return functools.partial(_find_interpreter_code, code=code.split(), valued=valued.split())


def _make_option_finder(code: str) -> _FindCode:
    return functools.partial(_find_option_code, code=code.split())


_BY_NAMES: tuple[tuple[str, _FindCode], ...] = (
    ("sh bash rbash dash ash zsh ksh mksh yash csh tcsh", _find_shell_code),
    ("fish", _make_interpreter_finder("-c -C --command --init-command", "-d -o -f -p")),
    ("nu xonsh elvish", _make_option_finder("-c -e --commands --execute")),
    ("python pythonw pypy ipython", _make_interpreter_finder("-c", "-W -X -m")),
    (
        "node nodejs bun tsx ts-node",
        _make_interpreter_finder(
            "-e -p --eval --print", "-r -C --require --import --loader --conditions"
        ),
    ),
    ("deno", _make_option_finder("eval")),
    ("perl", _make_interpreter_finder("-e -E -M -m -F", "-I")),
    ("ruby", _make_interpreter_finder("-e", "-I -r -C -E")),
    ("php", _make_interpreter_finder("-r -B -R -E -F --run", "-c -d -f -z -S -t")),
    ("lua luajit", _make_interpreter_finder("-e", "-l")),
    ("r rscript", _make_interpreter_finder("-e", "-f")),
    ("julia", _make_interpreter_finder("-e -E --eval --print", "-J -C -p -t -L")),
    ("osascript", _make_interpreter_finder("-e", "-l -s")),
    (
        "elixir erl groovy scala ghc guile clojure clj swift",
        _make_option_finder("-e -c --eval -eval"),
    ),
    ("su runuser script flock", _make_option_finder("-c --command --session-command")),
    ("npx npm pnpm yarn", _make_option_finder("-c --call")),
    ("nix nix-shell", _make_option_finder("-c --run --command")),
    ("vi vim nvim ex", _make_option_finder("-c + --cmd")),
    (
        "emacs emacsclient gdb lldb",
        _make_option_finder("-e -o -iex --eval --execute --eval-command"),
    ),
    ("psql mysql mariadb", _make_option_finder("-c -e --command --execute")),
    ("git", _make_option_finder("-c")),
    ("awk gawk mawk nawk", functools.partial(_find_filter_code, code=("-e", "--source"))),
    ("sed gsed", functools.partial(_find_filter_code, code=("-e", "--expression"))),
    ("jq gojq yq sqlite3", _find_filter_code),
    ("make gmake", _find_assignments),
    ("eval ssh watch parallel tmux screen pwsh powershell cmd", _find_all_behind),
)
_READERS = {name: find for names, find in _BY_NAMES for name in names.split()}
