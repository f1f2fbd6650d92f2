"""Reads the ``if`` of a hook, one permission rule of Claude Code's (``Bash(git push:*)``), and
decides whether it covers a tool call.

A rule narrows what a guard sees, so in doubt it covers the call: if the command, the path or the
rule itself cannot be read, or if a shell could turn the command into one that the rule names.
"""

import itertools
import os
import re
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

import msgspec

from hookline.dialects.claude.tools import LEGACY_NAMES
from hookline.dialects.matcher import Match, MatchTimeout, compile_expression
from hookline.dialects.tools import locate
from hookline.shell.commands import split_commands
from hookline.shell.table import Program, find_in_table
from hookline.shell.tokens import (
    Expansion,
    Pattern,
    Token,
    Variable,
    Word,
    is_readable,
    read_tokens,
)

# A rule for Edit covers all that edit, a rule for Read all that read.
_EDITING = frozenset({"Edit", "Write", "MultiEdit", "NotebookEdit"})
_SEARCHING = frozenset({"Grep", "Glob", "LS"})
_READING = frozenset({"Read", "NotebookRead"}) | _SEARCHING
_PATH_TOOLS = _EDITING | _READING
_PATHS = ("file_path", "notebook_path", "path")
# Tool -> the field that a rule's pattern is compared with, and its default.
_NAMED = {"Agent": ("subagent_type", "general-purpose"), "Skill": ("skill", "")}

_OPEN_FILES = ("/dev/", "/proc/")
_MOST_DEPTH = 8
_MOST_WRAPPED_WORDS = 200
# Read at most this many characters for one command, as the agent waits for it.
_MOST_TEXT = 100_000


class Rule(msgspec.Struct, frozen=True):
    """A tool, and a pattern for its calls; None covers all of them."""

    tool: str
    pattern: str | None = None


def read_rule(text: str) -> Rule | str:
    """Parse a rule; return it, or what is wrong with the text."""
    match = re.fullmatch(r"\s*([\w\-*.:]+)\s*(?:\((.*)\))?\s*", text, re.DOTALL)
    if match is None:
        return f'{text!r} is not a rule such as "Bash" or "Bash(git push:*)"'
    tool, pattern = LEGACY_NAMES.get(match[1], match[1]), match[2]
    if pattern is None or pattern.strip() in ("", "*"):
        return Rule(tool)
    pattern = re.sub(r"\\([()\\])", r"\1", pattern)
    if tool in _PATH_TOOLS:
        try:
            _compile_path(pattern)
        except ValueError as error:
            return f"{pattern!r} is not a path pattern ({error})"
    if tool == "WebFetch" and not pattern.startswith("domain:"):
        return f'a rule of WebFetch is "WebFetch(domain:example.com)", not {text!r}'
    takes_pattern = tool in ("Bash", "WebFetch") or tool in _PATH_TOOLS or tool in _NAMED
    return Rule(tool, pattern) if takes_pattern else f"rules for {tool} cannot have a pattern"


def covers(rule: Rule, names: Sequence[str], tool_input: Mapping[str, Any], cwd: str) -> bool:
    """True if a rule covers a call; ``names`` are all names of the tool, Claude Code's first, and
    the input is in its words."""
    if not _names_tool(rule.tool, names):
        return False
    if rule.pattern is None:
        return True
    tool, pattern = names[0], rule.pattern
    if tool in _PATH_TOOLS:
        path = next((tool_input[name] for name in _PATHS if name in tool_input), None)
        # A search may read any file.
        return tool in _SEARCHING or not isinstance(path, str) or covers_path(pattern, path, cwd)
    if tool == "WebFetch":
        return _covers_url(pattern.removeprefix("domain:"), tool_input.get("url"))
    if tool in _NAMED:
        field, usual = _NAMED[tool]
        text = tool_input.get(field) or usual
        return not isinstance(text, str) or _matches_text(pattern, text)
    command = tool_input.get("command")
    return tool != "Bash" or not isinstance(command, str) or covers_command(pattern, command)


def _names_tool(tool: str, names: Sequence[str]) -> bool:
    for name in names:
        is_of_server = tool.startswith("mcp__") and name.startswith(f"{tool}__")
        if is_of_server or _matches_glob(tool, name):
            return True
    if tool == "Edit":
        return not _EDITING.isdisjoint(names)
    return tool == "Read" and not _READING.isdisjoint(names)


def covers_path(pattern: str, path: str, cwd: str) -> bool:
    """True if a pattern as in a .gitignore covers a file, by its path or by the path that a link
    leads to. ``//`` begins at the root, ``~/`` at home, other patterns in the working directory."""
    if pattern.startswith("//"):
        bases, pattern = ["/"], pattern[1:]
    elif pattern.startswith("~/"):
        bases, pattern = [os.path.expanduser("~")], pattern[1:]
    elif pattern.startswith("/"):
        # It is relative to the settings' folder, which is the working directory or above it.
        bases = [cwd]
        while bases[-1] != os.path.dirname(bases[-1]):
            bases.append(os.path.dirname(bases[-1]))
    else:
        bases, pattern = [cwd], pattern.removeprefix("./")
    try:
        test = _compile_path(pattern)
        full = locate(path, cwd)
        files = {full, os.path.realpath(full)}
        relatives = (
            os.path.relpath(file, base)
            for base in dict.fromkeys([*bases, *map(os.path.realpath, bases)])
            for file in files
        )
        return any(test(path) for path in relatives if path.split("/")[0] != "..")
    except (ValueError, OSError, MatchTimeout):
        return True


def _compile_path(pattern: str) -> Match:
    """Compile a path pattern; raises ValueError for one that cannot be read."""
    if pattern.startswith("!"):
        raise ValueError("a pattern with ! excludes files; write the files to include")
    if "{" in pattern:
        raise ValueError("braces are not expanded in a path; write one hook for each")
    bare = pattern.strip("/")
    # A pattern without a slash matches at any depth.
    pieces = ["(?is)" if "/" in pattern.rstrip("/") else "(?is)(?:.*/)?"]
    for part in re.findall(r"/?\*\*/|\*\*|\*|\?|\[[^]]+\]|\\.|.", bare, re.DOTALL):
        if part in ("**/", "/**/"):
            pieces.append(f"{part[:-3]}(?:.*/)?")
        elif part in ("**", "*", "?"):
            pieces.append({"**": ".*", "*": "[^/]*", "?": "[^/]"}[part])
        elif part.startswith("[") and len(part) > 2:
            pieces.append(part.replace("[!", "[^", 1).replace("\\", "\\\\"))
        else:
            pieces.append(re.escape(part[-1]))
    # A pattern that covers a folder covers everything in it.
    return compile_expression(f"{''.join(pieces)}(?:/.*)?", whole=True)


def _covers_url(domain: str, url: object) -> bool:
    if not isinstance(url, str):
        return True
    try:
        parts = urlsplit(url if "://" in url else f"https://{url}")
        host = parts.hostname
    except ValueError:
        return True
    # Clients disagree about which host such an address names.
    is_odd = re.match(r"https?:(?!//[^/])", url.strip(), re.IGNORECASE)
    is_plain = not is_odd and re.fullmatch(r"[A-Za-z0-9.\-:\[\]@]+", parts.netloc)
    return not is_plain or _matches_glob(domain.lower(), (host or "").rstrip("."))


def covers_command(pattern: str, command: str) -> bool:
    """True if a pattern covers a command, or a command inside it. A pattern is the whole text, with
    ``*`` for any text, or the beginning of it before ``:*``."""
    return _Commands(pattern).are_covered(command, 0)


class _Commands:
    """A search for the commands that a pattern names."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern = pattern.strip()
        self._words = pattern.removesuffix(":*").removesuffix("*").split() or [""]
        # The pattern has more than the program's name, so the arguments count.
        self._is_longer = len(self._words) > 1
        # Texts that were read already.
        self._seen: set[str] = set()
        self._left = _MOST_TEXT

    def are_covered(self, command: str, depth: int) -> bool:
        if command in self._seen:
            return False
        self._seen.add(command)
        self._left -= len(command)
        # A shell drops NUL characters, so the text is not what it runs.
        if depth > _MOST_DEPTH or self._left < 0 or "\0" in command:
            return True
        if _matches_text(self._pattern, command) or not is_readable(command):
            return True
        if self._is_longer and any(map(_is_substituted, read_tokens(command))):
            return True
        return any(self._is_covered(c.words, depth) for c in split_commands(command) if c.words)

    def _is_covered(self, words: Sequence[Word], depth: int) -> bool:
        # Only the shell knows which words these become.
        if any(map(_is_made, words[: len(self._words)])):
            return True
        texts = [word.fill({}) for word in words]
        sources = [word.source for word in words]
        name, program = os.path.basename(texts[0]), find_in_table(texts[0])
        # A command that begins with an option follows ``time``, a word of the shell's grammar.
        is_wrapped = (program is not None and program.is_wrapper) or name.startswith("-")
        if is_wrapped and (len(words) > _MOST_WRAPPED_WORDS or any(map(_is_made, words))):
            return True
        for at in range(len(words) if is_wrapped else 1):
            if self._matches_words(texts[at:]) or self._matches_words(sources[at:]):
                return True
            if self._is_run_by_shell(words[at:], texts[at:], depth):
                return True
        if name == "xargs":
            own = itertools.takewhile(lambda text: text.startswith("-"), texts[1:])
            is_placed = any(text.startswith(("-i", "--replace")) for text in own)
            is_placed = is_placed or any(text.startswith("-I") for text in texts)
            return is_placed or any(map(self._is_runner, texts[1:]))
        return name == "parallel" and ":::" not in texts

    def _is_runner(self, text: str) -> bool:
        """True if a program may run a covered command with the arguments that xargs adds."""
        program = find_in_table(text)
        is_known = program is not None and (program.is_wrapper or program.runs_shell_code)
        return is_known or os.path.basename(text) == self._words[0]

    def _matches_words(self, words: Sequence[str]) -> bool:
        text = " ".join(words)
        by_name = " ".join([os.path.basename(words[0]), *words[1:]])
        return _matches_text(self._pattern, text) or _matches_text(self._pattern, by_name)

    def _is_run_by_shell(self, words: Sequence[Word], texts: Sequence[str], depth: int) -> bool:
        """True if a shell runs a covered command from its arguments, or may from stdin."""
        name, arguments = os.path.basename(texts[0]), list(texts[1:])
        program = find_in_table(name) or Program()
        options = [text for text in arguments if text.startswith("-")]
        if program.runs_shell_code and _has_option(options, program.code):
            # An option may have its value in the same word.
            codes = [value for text in options for value in (text[2:], text.partition("=")[2])]
            codes += [text for text in arguments if not text.startswith("-")]
            if name == "eval":
                codes = [" ".join(arguments)]
            if any(map(_is_made, words)) or any(self.are_covered(c, depth + 1) for c in codes):
                return True
            if not program.is_shell:
                return False
        leading: list[str] = []
        while arguments and arguments[0].startswith(("-", "+")):
            leading.append(arguments.pop(0))
            if _takes_value(leading[-1], program):
                # It may be an option after all.
                leading += arguments[:1]
                del arguments[:1]
        if _has_option(leading, program.stdin):
            return True
        if not program.is_shell and name not in (".", "source"):
            return False
        if not arguments or arguments[0].startswith(_OPEN_FILES) or self._matches_words(arguments):
            return True
        return not program.is_shell and _is_made(words[1])


def _takes_value(option: str, program: Program) -> bool:
    """True if the word behind an option is its value; letters may be joined to it."""
    is_last = not option.startswith("--") and f"-{option[-1:]}" in program.valued
    return is_last or option in program.valued


def _has_option(options: Sequence[str], names: Sequence[str] | None) -> bool:
    """True if an option is one of these names, also joined to others or cut short; no names need no
    option, and None is never there."""
    if not names:
        return names is not None
    letters = {name[1] for name in names if not name.startswith("--")}
    short = [option for option in options if option[:1] == "-" != option[1:2]]
    long = [option.partition("=")[0] for option in options if option[:2] == "--" and option[2:]]
    return any(map(letters.intersection, short)) or any(
        name.startswith(option) for name in names for option in long
    )


def _is_substituted(token: Token) -> bool:
    """True if a shell puts the output of a command or the value of a variable there."""
    return isinstance(token, Word) and any(
        isinstance(piece, Expansion) or (isinstance(piece, Variable) and piece.source != "~")
        for piece in token.pieces
    )


def _is_made(word: Word) -> bool:
    """True if a shell turns a word into another text, or into several words."""
    return _is_substituted(word) or any(isinstance(piece, Pattern) for piece in word.pieces)


def _matches_text(pattern: str, text: str) -> bool:
    text = text.strip()
    if pattern.endswith(":*"):
        prefix = pattern.removesuffix(":*").strip()
        return text == prefix or text.startswith((f"{prefix} ", f"{prefix}\t", f"{prefix}\n"))
    # ``git *`` covers ``git`` without arguments too.
    return _matches_glob(pattern, text) or (
        pattern.endswith(" *") and _matches_glob(pattern[:-2], text)
    )


def _matches_glob(pattern: str, text: str) -> bool:
    """True if a text matches a pattern in which a star is any text, in linear time."""
    first, *rest = pattern.split("*")
    if not rest:
        return pattern == text
    *middle, last = rest
    if not text.startswith(first) or len(text) < len(first) + len(last):
        return False
    at = len(first)
    for part in middle:
        place = text.find(part, at)
        if place < 0:
            return False
        at = place + len(part)
    return text.endswith(last) and at <= len(text) - len(last)
