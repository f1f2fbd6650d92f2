"""Finds the programs that a shell text starts, as far as reading it can tell.

It errs towards silence: it leaves out a name that may be a function, an alias or a variable, a
program that the text checks for with ``command -v`` or handles with ``||``, and all programs of a
text that checks which system it runs on.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import msgspec

from hookline.shell.programs import is_of_shell
from hookline.shell.tokens import REDIRECTIONS, Token, Word, read_tokens

_COMMAND_FOLLOWS = frozenset(
    {"if", "then", "else", "elif", "while", "until", "do", "{", "!", "time", "coproc"}
)
# After these come names of variables, patterns or nothing, up to the end of the command.
_NO_COMMAND_FOLLOWS = frozenset({"for", "select", "fi", "done", "}", "esac", "in"})
# A text of plain characters without any of these words has only simple commands.
GRAMMAR = _COMMAND_FOLLOWS | _NO_COMMAND_FOLLOWS | {"case", "function", "[["}
# They start the program that their first argument names.
_STARTERS = frozenset({"command", "exec", "builtin", "nohup", "env", "setsid"})
_LOOK_UPS = frozenset({"which", "type", "hash", "whence"})
_OF_FILES = frozenset({"-x", "-e", "-f", "-r", "-s"})
# What these load may define functions, but hardly with the names below.
_LOADERS = frozenset({".", "source", "eval"})
_NEVER_FUNCTIONS = frozenset(
    {
        *("awk", "curl", "gawk", "git", "jq", "node", "npm", "npx", "openssl", "perl", "python"),
        *("python3", "rg", "ruby", "sed", "wget", "yq"),
    }
)
_ASKS_SYSTEM = re.compile(r"\buname\b|\bOSTYPE\b")
# Limits for texts that nobody has reviewed: finding the end of arithmetic reads the whole rest.
_LONGEST = 65_536
_MOST_GUESSES = 20
_PROGRAM = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]*|/[^\s*?\[\]{}]+")


class Uses(NamedTuple):
    """The programs of a text, each once, and the PATH that it looks for them on."""

    names: tuple[str, ...] = ()
    path: str = ""


class _Use(msgspec.Struct):
    name: str
    is_seen_to: bool = False


class _Level(msgspec.Struct):
    """The state of the reading inside one pair of parentheses."""

    begins: bool = True
    words: list[Word] = []
    # The programs whose failure a following ``||`` handles.
    current: list[_Use] = []
    documents: int = 0
    is_target: bool = False


def find_uses(text: str, values: Mapping[str, str]) -> Uses:
    """Find what a text starts; ``values`` are the known variables, PATH among them."""
    if len(text) > _LONGEST or text.count("((") > _MOST_GUESSES or _ASKS_SYSTEM.search(text):
        return Uses()
    tokens = read_tokens(text)
    known = dict(values)
    uses: list[_Use] = []
    seen_to: set[str] = set()
    is_loading = False
    for command, current in _split_commands(tokens):
        for word in command:
            # After an assignment the old value no longer counts.
            if word.assigned == "PATH" and not word.is_known(known):
                return Uses()
            if word.assigned == "PATH":
                known["PATH"] = word.fill(known).partition("=")[2]
            elif word.assigned:
                known.pop(word.assigned, None)
        plain = [word for word in command if not word.assigned]
        if not plain:
            continue
        name, arguments = _read_word(plain[0], known), plain[1:]
        texts = [_read_word(word, known) for word in arguments]
        if name in _LOADERS:
            is_loading = True
        if name in _LOOK_UPS or (name == "command" and texts[:1] in (["-v"], ["-V"])):
            if None in texts:
                return Uses()
            seen_to.update(filter(None, texts))
            continue
        if name == "alias":
            seen_to.update(word.assigned for word in command if word.assigned)
        if name in ("test", "[", "[["):
            seen_to.update(t for o, t in pairwise(texts) if o in _OF_FILES and t)
            continue
        if name in _STARTERS:
            # With an option before it, the program cannot be told from the option's value.
            name = texts[0] if texts and not (texts[0] or "-").startswith("-") else None
        if name is None or is_of_shell(name) or not _PROGRAM.fullmatch(name):
            continue
        use = _Use(name)
        uses.append(use)
        current.append(use)
    seen_to |= _find_functions(tokens)
    names = dict.fromkeys(use.name for use in uses if not use.is_seen_to)
    may_be = (_NEVER_FUNCTIONS.intersection(names) if is_loading else set(names)) - seen_to
    return Uses(tuple(name for name in names if name in may_be), known.get("PATH", ""))


def _read_word(word: Word, known: Mapping[str, str]) -> str | None:
    # A bracket could be a pattern.
    return word.fill(known) if word.is_known(known) or _is_grammar(word, ("[",)) else None


def _find_functions(tokens: Sequence[Token]) -> set[str]:
    """Return the names of the functions that the text defines."""
    found = set()
    for at, token in enumerate(tokens):
        if not isinstance(token, Word):
            continue
        behind = [t if isinstance(t, str) else t.fill({}) for t in tokens[at + 1 : at + 3]]
        if token.fill({}) == "function" and behind:
            found.add(behind[0])
        elif behind == ["(", ")"]:
            found.add(token.fill({}))
    return found


def _split_commands(tokens: Sequence[Token]) -> Iterator[tuple[list[Word], list[_Use]]]:
    """Yield the words of each simple command, with the assignments before it, and the list to put
    its programs in."""
    level, above = _Level(), []
    at = 0
    while at < len(tokens):
        token = tokens[at]
        at += 1
        if isinstance(token, Word):
            if level.is_target:
                level.is_target = False
            elif level.documents < 0:
                # Skip the text of a here-document.
                level.documents += 1
            elif level.begins and not level.words and _is_grammar(token, _COMMAND_FOLLOWS):
                pass
            elif level.begins and not level.words and _is_grammar(token, {"function"}):
                at += 1
            elif level.begins and not level.words and _is_grammar(token, _NO_COMMAND_FOLLOWS):
                level.begins = False
            elif level.begins:
                level.words.append(token)
            if token.assigned and tokens[at : at + 1] == ["("] and token.fill({}).endswith("="):
                at = _skip_parenthesis(tokens, at)
        elif token in REDIRECTIONS:
            level.is_target = True
            level.documents += token == "<<"
        elif token == "(" and tokens[at : at + 1] == [")"]:
            # The name of a function, whose body follows; or arithmetic.
            at += 1
            level.words, level.begins = [], True
        elif token == "(":
            above.append(level)
            level = _Level(words=[], current=[])
        elif token == "case":
            level.begins = False
        elif token == "[[":
            level.words.append(Word(("[[",), is_exact=True))
        else:
            yield level.words, level.current
            inner = level.current
            if token == ")":
                level = above.pop() if above else _Level(words=[], current=[])
                level.current += inner
                continue
            is_double = tokens[at : at + 1] == [token]
            at += is_double and token in "|&"
            if token == "|" and is_double:
                for use in inner:
                    use.is_seen_to = True
            if token in ";\n" or (token == "&" and not is_double) or (token == "|" and is_double):
                level.current = []
            level.words, level.begins, level.is_target = [], True, False
            if token == "\n":
                level.documents = -level.documents
    yield level.words, level.current


def _is_grammar(word: Word, words: Collection[str]) -> bool:
    return word.written in words


def _skip_parenthesis(tokens: Sequence[Token], at: int) -> int:
    """Return the index after the array that begins with the parenthesis at ``at``."""
    depth = 0
    while at < len(tokens):
        depth += (tokens[at] == "(") - (tokens[at] == ")")
        at += 1
        if depth == 0:
            break
    return at
