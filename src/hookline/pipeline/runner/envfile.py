"""Gives a hook the file that CLAUDE_ENV_FILE names, and reads what it exports there.

Claude Code has its shells source that file. hookline sources nothing: it reads the exports as a
shell would make them, and they reach the host with the hook's answer. What only a shell could
evaluate is left out, with a warning.
"""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile

from hookline.files import open_regular
from hookline.shell.tokens import (
    NAME,
    Pattern,
    Piece,
    Token,
    Unmade,
    Variable,
    Word,
    is_readable,
    read_tokens,
)

_VARIABLE = "CLAUDE_ENV_FILE"
# Reading a long file would block the event loop.
_MOST_BYTES = 128 * 1024
_MOST_MADE = 4 * 1024 * 1024
_MOST_NAMED = 5
# A shell's own variables, and the file that is gone with the hook; ``export -p`` lists them.
_NOT_HANDED_ON = frozenset({_VARIABLE, "OLDPWD", "PWD", "SHLVL", "_"})
# Between these words a command may run more than once, later, or not at all.
_OPENING = frozenset({"if", "while", "until", "for", "select", "{"})
_CLOSING = frozenset({"fi", "done", "}"})
# The commands that export, with the options that they must have and may have.
_EXPORTING = {
    "export": (set[str](), {"p"}),
    "declare": ({"x"}, {*"gprx"}),
    "typeset": ({"x"}, {*"gprx"}),
}
_NEWLINE = "\n"
# Where a tilde stands for the home directory, unless it is quoted.
_TILDE = r"(?:^|(?<=:))~"


class EnvFile:
    """The file of one run of a hook, deleted after it. Without it the hook still runs."""

    def __init__(self) -> None:
        self.variables: dict[str, str] = {}
        self.warnings: list[str] = []
        self._directory = ""

    def __enter__(self) -> "EnvFile":
        import tempfile

        try:
            # mkdtemp makes a private directory: no other user can put anything there.
            self._directory = tempfile.mkdtemp(prefix="hookline-")
            path = os.path.join(self._directory, "env")
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
            self.variables = {_VARIABLE: path}
        except OSError as error:
            self.warnings.append(f"it runs without {_VARIABLE}: cannot create the file: {error}")
        return self

    def __exit__(self, *_: object) -> None:
        if self._directory:
            import shutil

            shutil.rmtree(self._directory, ignore_errors=True)

    def read(self, environ: Mapping[str, str]) -> dict[str, str]:
        """Return what the hook exports, by name; ``environ`` are the variables that it had."""
        if not self.variables:
            return {}
        try:
            with open_regular(self.variables[_VARIABLE]) as file:
                written = file.read(_MOST_BYTES + 1)
        except FileNotFoundError:
            return {}
        except OSError as error:
            self.warnings.append(f"its {_VARIABLE} cannot be read: {error.strerror or error}")
            return {}
        if len(written) > _MOST_BYTES:
            self.warnings.append(f"its {_VARIABLE} is ignored: longer than {_MOST_BYTES} bytes")
            return {}
        text = written.decode("utf-8", "surrogateescape").removeprefix("\ufeff")
        exports, left_out = read_exports(text, environ)
        if left_out:
            self.warnings.append(f"left out of what its {_VARIABLE} exports: {left_out}")
        return exports


def read_exports(text: str, environ: Mapping[str, str]) -> tuple[dict[str, str], str]:
    """Return the variables that a shell script exports, and which lines were left out and why, ""
    if none. Values may refer to earlier ones and to ``environ``."""
    reader = _Reader(text, environ)
    reader.run()
    named = [
        f"line {text.count(_NEWLINE, 0, start) + 1}: {why}"
        for start, why in sorted(reader.left_out)[:_MOST_NAMED]
    ]
    if more := len(reader.left_out) - len(named):
        named.append(f"and {more} more")
    return reader.exports, "; ".join(named)


class _LeftOutError(Exception):
    """Raised for a command, or a word of one, that is left out; the message says why."""


class _Reader:
    """Reads the commands of a script from top to bottom."""

    def __init__(self, text: str, environ: Mapping[str, str]) -> None:
        self._text = text
        self._environ = environ
        self.exports: dict[str, str] = {}
        # The place of everything that was left out, and why.
        self.left_out: list[tuple[int, str]] = []
        # Variables that are assigned and not exported yet: the value and the place.
        self._assigned: dict[str, tuple[str, int]] = {}
        # Variables that a left-out command gave a value.
        self._unknown: set[str] = set()
        self._room = _MOST_MADE

    def run(self) -> None:
        """Find all exports of the script."""
        lines = list(_split_lines(read_tokens(self._text)))
        # An unclosed quote or bracket extends to the end.
        is_whole = not lines or is_readable(self._text[lines[-1][0] :])
        # The number of compound commands that are open.
        depth = 0
        for number, (start, tokens) in enumerate(lines, 1):
            words = [token for token in tokens if isinstance(token, Word)]
            begins = [word.written for word in words if word.begins]
            opened = sum(word in _OPENING for word in begins)
            if depth:
                self._forget(words)
            elif number == len(lines) and not is_whole:
                self._leave_out(start, "a quote or bracket is never closed", words)
            elif "case" in tokens or "function" in begins:
                # Its end cannot be found without a shell.
                depth = len(lines)
                self._leave_out(start, "only a shell can read the rest", words)
            elif opened:
                self._leave_out(start, "only a shell knows whether this runs", words)
            else:
                try:
                    for command in _split_at_ands(tokens):
                        self._read_command(command, start)
                except _LeftOutError as why:
                    self._leave_out(start, str(why), words)
            depth = max(0, depth + opened - sum(word in _CLOSING for word in begins))
        for name, (_, start) in self._assigned.items():
            self.left_out.append((start, f"{name} is set but not exported"))

    def _leave_out(self, start: int, why: str, words: Sequence[Word]) -> None:
        self.left_out.append((start, why))
        self._forget(words)

    def _forget(self, words: Sequence[Word]) -> None:
        for name in {word.assigned for word in words if word.assigned}:
            self._unknown.add(name)
            self.exports.pop(name, None)
            self._assigned.pop(name, None)

    def _read_command(self, tokens: Sequence[Token], start: int) -> None:
        words = [token for token in tokens if isinstance(token, Word)]
        if len(words) < len(tokens) or not words:
            raise _LeftOutError("this needs a shell")
        if all(word.assigned for word in words):
            for word in words:
                name, value = self._read_assignment(self._make_word(word))
                if name in self.exports:
                    self.exports[name] = value or ""
                else:
                    self._assigned[name] = (value or "", start)
            return
        texts = [word.fill({}) for word in words]
        options = list(takewhile(lambda text: text.startswith("-"), texts[1:]))
        letters = {letter for option in options for letter in option.lstrip("-")}
        required, allowed = _EXPORTING.get(texts[0], ({""}, set()))
        if not required <= letters <= allowed:
            # Anything but a name might be a secret.
            is_name = words[0].is_exact and texts[0].isidentifier()
            shown = texts[: 1 + len(options)] if texts[0] in _EXPORTING else texts[:1]
            called = repr(" ".join(shown)) if is_name else "this"
            raise _LeftOutError(f"{called} is not an export")
        # A shell expands all words before it exports the first.
        made: list[str | _LeftOutError] = []
        arguments = words[1 + len(options) :]
        for word in arguments:
            try:
                made.append(self._make_word(word))
            except _LeftOutError as why:
                made.append(why)
        for word, text in zip(arguments, made, strict=True):
            try:
                if isinstance(text, _LeftOutError):
                    raise text
                self._export(text)
            except _LeftOutError as why:
                self._leave_out(start, str(why), [word])

    def _export(self, text: str) -> None:
        """Export the assignment in a word, or the variable that the word names."""
        name, value = self._read_assignment(text)
        earlier, _ = self._assigned.pop(name, (None, 0))
        value = earlier if value is None else value
        if value is not None and name not in _NOT_HANDED_ON:
            self.exports[name] = value

    def _read_assignment(self, text: str) -> tuple[str, str | None]:
        """Return a name, and the value that is assigned to it, if any."""
        name, equals, value = text.partition("=")
        is_added = bool(equals) and name.endswith("+")
        name = name.removesuffix("+") if is_added else name
        if not re.fullmatch(NAME, name):
            raise _LeftOutError("this is not the name of a variable")
        try:
            value.encode()
        except UnicodeError:
            raise _LeftOutError(f"the value of {name} is not UTF-8") from None
        if "\0" in value:
            raise _LeftOutError(f"the value of {name} contains a NUL character")
        if is_added:
            value = self._make_text([Variable(name, f"${name}")], name) + value
        if equals:
            self._unknown.discard(name)
        return name, value if equals else None

    def _make_word(self, word: Word) -> str:
        if word.assigned and "~" in word.written:
            word = _replace_tildes(word)
        return self._make_text(word.pieces, word.assigned or "this")

    def _make_text(self, pieces: Sequence[Piece], what: str) -> str:
        """Return what a shell makes of the pieces of a word that it does not split."""
        texts: list[str] = []
        for piece in pieces:
            if isinstance(piece, str):
                text: str | None = piece
            elif isinstance(piece, Pattern):
                # Assignments expand no file patterns, but braces make several words.
                text = None if piece.text == "{" else piece.text
            elif isinstance(piece, Unmade):
                text = None
            else:
                text = self._find_value(piece.name)
                if text is None and self.left_out:
                    # A left-out command may have given it a value.
                    pass
                elif piece.other is not None:
                    text = text or self._make_text(piece.other.pieces, what)
                elif text is None and "?" not in piece.written:
                    text = ""
            if text is None:
                raise _LeftOutError(f"only a shell can make {what}")
            # A value may double in length on every line.
            self._room -= len(text)
            if self._room < 0:
                raise _LeftOutError(f"the values come to more than {_MOST_MADE} characters")
            texts.append(text)
        return "".join(texts)

    def _find_value(self, name: str) -> str | None:
        if name in self._unknown:
            return None
        if name in self._assigned:
            return self._assigned[name][0]
        return self.exports.get(name, self._environ.get(name))


def _replace_tildes(word: Word) -> Word:
    """Replace an unquoted ``~`` at the start of a path by ``${HOME}`` in an assignment."""
    before, _, value = word.written.partition("=")
    tilde = _TILDE if _blank_quoted(value) == value else "^~"
    value = re.sub(rf"{tilde}(?=[/:]|$)", "${HOME}", value)
    if re.search(_TILDE, _blank_quoted(value)):
        raise _LeftOutError(f"only a shell can make {word.assigned}")
    made = read_tokens(f"{before}={value}")[-1]
    return made if isinstance(made, Word) else word


def _blank_quoted(text: str) -> str:
    text = text.replace("\\\n", "")
    return re.sub(r"""'[^']*'|"(?:\\.|[^"\\])*"|\\.""", "_", text, flags=re.DOTALL)


def _split_lines(tokens: Sequence[Token]) -> Iterator[tuple[int, list[Token]]]:
    """Split commands at newlines and semicolons; yields the place where each begins. Of what is in
    parentheses only the opening one is kept."""
    line: list[Token] = []
    start: int | None = None
    depth = 0
    for token in (*tokens, "\n"):
        if isinstance(token, Word):
            if start is None and token.place is not None:
                start = token.place[0]
            if not (depth or token.is_body):
                line.append(token)
        elif depth:
            depth += (token == "(") - (token == ")")
        elif token == "\n" and (line[-1:] == ["|"] or line[-2:] == ["&", "&"]):
            # The command after it may be on the next line.
            continue
        elif token in ("\n", ";"):
            if line:
                yield start or 0, line
            line, start = [], None
        else:
            line.append(token)
            depth += token == "("
    if line:
        yield start or 0, line


def _split_at_ands(tokens: Sequence[Token]) -> Iterator[list[Token]]:
    """Split at ``&&``: each command runs if the one before it succeeds."""
    command: list[Token] = []
    for token in tokens:
        if token == "&" and command[-1:] == ["&"]:
            yield command[:-1]
            command = []
        else:
            command.append(token)
    yield command
