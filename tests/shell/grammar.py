"""Random shell scripts around the variable ``V``, each with the form quoting has to give it."""

import functools
from collections.abc import Sequence
from typing import TypeAlias

from hypothesis import strategies as st

# A piece of a script and what it is to become.
Pair: TypeAlias = tuple[str, str]
Pairs: TypeAlias = st.SearchStrategy[Pair]


def joined(pairs: Sequence[Pair], by: str = "") -> Pair:
    source, expected = (by.join(pair[side] for pair in pairs) for side in (0, 1))
    return source, expected


def between(before: str, pairs: Pairs, after: str) -> Pairs:
    return pairs.map(lambda pair: (before + pair[0] + after, before + pair[1] + after))


def several(pairs: Pairs, *, least: int = 1, by: str = "") -> Pairs:
    return st.lists(pairs, min_size=least, max_size=3).map(lambda found: joined(found, by))


def followed(first: Pairs, second: Pairs) -> Pairs:
    return st.tuples(first, second).map(joined)


def same(*texts: str) -> Pairs:
    return st.sampled_from([(text, text) for text in texts])


BARE: Pairs = st.sampled_from([("$V/", '"$V"/'), ("${V}", '"${V}"')])
NOT_BARE = same(
    *("'$V \" ( #'", r"\$V", r"$'\'$V'", "$V_X", "a#b", "${V%/*}", "$((2 << 1))", r"\'", '"$V"')
)
TEXT_IN_QUOTES = same(
    *("$V/", "${V}", "it's", r"\"", "#", "(", "case x in a) ", "$V_X", "<<E", "${unset:-$V}")
)


@functools.cache
def scripts(*, depth: int) -> Pairs:
    """Several commands, each on its own line; ``depth`` is how far they may be nested."""
    return several(commands(depth), by="\n")


@functools.cache
def commands(depth: int) -> Pairs:
    word = words(depth)
    plain = (
        between("echo ", several(word, by=" "), "")
        | between("X=", word, " # it's $V )")
        | between("[[ wplain == ", word, " || -n $x ]]")
        | between("cat <<<", word, "")
    )
    return plain | compounds(depth - 1) if depth else plain


def compounds(depth: int) -> Pairs:
    script = scripts(depth=depth)
    clause = followed(between("", words(depth), ") "), script)
    return (
        between("case wplain/ in ", clause, "\n;; esac")
        | between("if :; then ", script, "\nfi")
        | between(" ( ", script, "\n)")
        | between(f"cat <<E{depth}\n$V it's $( ", script, f'\n) "\nE{depth}')
        | between(f"cat <<'E{depth}' <(", script, f"\n) \n$V it's $( \"\nE{depth}")
    )


@functools.cache
def words(depth: int) -> Pairs:
    pieces = BARE | NOT_BARE
    if depth:
        inner = words(depth - 1)
        pieces |= substitutions(depth - 1) | quoted(depth - 1) | between("${unset:-", inner, "}")
    return between("w", several(pieces), "")


@functools.cache
def substitutions(depth: int) -> Pairs:
    return between("$( ", scripts(depth=depth), "\n)")


@functools.cache
def quoted(depth: int) -> Pairs:
    return between('"', several(TEXT_IN_QUOTES | substitutions(depth), least=0), '"')
