"""Says whether a review can vouch for a command: whether it is closed, or open and why.

Closed is a short list of forms: plain words, or a program with arguments, whose program is a file
of the project, or an interpreter from outside that is given one. All else is open.
"""

import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence

import msgspec

from hookline._support.places import hook_state_dir
from hookline.shell.plain import NotPlainError, PlainWord, read_plain
from hookline.shell.programs import (
    argv_of,
    directory_names,
    find_program,
    hook_variables,
    resolve_relative,
    shebang_in,
    words_in,
)
from hookline.shell.table import HARMLESS_LOADERS, INTERPRETERS_BY_SUFFIX, LOADERS, OF_THE_SHELL
from hookline.trust.ground import Ground, may_be_code, parts_of
from hookline.wire.hooks import CommandHook, HookSource

_SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh"})
_PYTHON = re.compile(r"python(3(\.[0-9]{1,2})?)?")
_OTHERS = frozenset({"node", "ruby", "perl"})
_SHELL_FLAGS, _PYTHON_FLAGS = frozenset("eux"), frozenset("BEIOsSu")
_ENV = ("env", "/usr/bin/env", "/bin/env")
_EXECUTABLES = (b"\x7fELF", b"\xcf\xfa\xed\xfe", b"\xce\xfa\xed\xfe", b"\xca\xfe\xba\xbe")
_FIRST_BYTES = 4096
# Folders in which the words of an open command are looked for.
_MOST_BASES = 8
CHANGES = "what it starts in the project can change without a review"


class Argument(msgspec.Struct, frozen=True, omit_defaults=True):
    """A word of a command. If it ends with the name of a file of the project, ``before`` is what
    stands in front of the name and ``file`` the path of that file."""

    text: str
    before: str = ""
    file: str = ""


class Form(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How a command is started. It is closed unless ``open`` says why it is not.

    ``script`` is the file of the project that is started, ``interpreter`` the program from outside
    that runs it, with its flags; () if the system executes it. ``named`` are the files of the
    project that its words name, ``remedy`` is the closed form that would do. With ``is_missing``
    what it starts is not there.
    """

    open: str = ""
    remedy: str = ""
    is_missing: bool = False
    interpreter: tuple[str, ...] = ()
    script: str = ""
    arguments: tuple[Argument, ...] = ()
    named: tuple[str, ...] = ()

    def argv_in(self, root: str, covered: Collection[str]) -> tuple[str, ...]:
        """Return what is executed from the copy in a folder: the words that name covered files
        lead there, all others are data of the live project."""
        words = (
            each.before + os.path.join(root, copied_name(each.file))
            if each.file in covered
            else each.text
            for each in self.arguments
        )
        return (*self.interpreter, os.path.join(root, copied_name(self.script)), *words)

    def argv_in_place(self, ground: Ground) -> tuple[str, ...]:
        """Return what is executed in the project itself."""
        words = (each.text for each in self.arguments)
        return (*self.interpreter, ground.place_of(self.script), *words)


def copied_name(name: str) -> str:
    """Return the path of a covered file in its copy; a plugin's file has a whole path."""
    return os.path.join("outside", name.lstrip("/")) if os.path.isabs(name) else name


class _OpenError(Exception):
    """A command is not closed; the message says why."""


class _MissingError(_OpenError):
    """What a command starts is not there."""


def read_form(hook: CommandHook, event: str, ground: Ground, *, cwd: str) -> Form:
    """Return the form of a command as it is now. Nothing is executed."""
    return _FormReader(hook, event, ground, cwd).read()


class _FormReader:
    def __init__(self, hook: CommandHook, event: str, ground: Ground, cwd: str) -> None:
        self._hook = hook
        self._ground = ground
        self._cwd = cwd
        variables = hook_variables(
            project_dir=ground.project_dir,
            cwd=cwd,
            session_id="",
            event=event,
            hook=hook,
            hook_state=hook_state_dir(ground.project_dir),
        )
        self._folders = {n: variables[n] for n in directory_names(hook) if n in variables}

    def read(self) -> Form:
        try:
            self._check_env()
            return self._read_words(self._make_words())
        except _OpenError as found:
            mentions = tuple(dict.fromkeys(self._find_named()))
            is_missing = isinstance(found, _MissingError)
            remedy = "" if is_missing else self._suggest(mentions)
            return Form(open=str(found), remedy=remedy, named=mentions, is_missing=is_missing)

    def _make_words(self) -> list[str]:
        hook = self._hook
        if hook.args is not None:
            return argv_of(hook, self._folders) or [""]
        try:
            words = read_plain(hook.command)
        except NotPlainError as error:
            raise _OpenError(f"it has {error}, which a shell interprets") from None
        for word in words:
            self._check_variables(word)
        texts = [word.fill(self._folders) for word in words]
        if texts[0] in OF_THE_SHELL:
            raise _OpenError(f"{texts[0]} is a word of the shell")
        return texts

    def _check_variables(self, word: PlainWord) -> None:
        for name in word.names():
            if name not in self._folders:
                raise _OpenError(f"${name} is known only when it runs")
        if not word.begins_with_its_variables():
            raise _OpenError("it has a variable inside a word")

    def _read_words(self, words: Sequence[str]) -> Form:
        at = 1 if words[0] in _ENV and len(words) > 1 else 0
        interpreter = self._find_interpreter(words[at])
        if interpreter is None:
            if at:
                raise _OpenError(f"{words[0]} starts {words[1]}")
            # Without a slash it is looked for on the PATH.
            script = self._find_file(words[0]) if "/" in words[0] else None
            if script is None:
                raise _OpenError(f"runs {words[0]} from outside the project")
            before = self._find_runner(script)
            return self._make(before, script, words[1:])
        flags, rest = split_flags(words[at], words[at + 1 :])
        if not rest or rest[0].startswith("-"):
            what = rest[0] if rest else "no script"
            raise _OpenError(f"{words[at]} is given {what}")
        script = self._find_file(rest[0])
        if script is None:
            raise _OpenError(f"{rest[0]}, which {words[at]} runs, is no file of the project")
        return self._make((interpreter, *flags), script, rest[1:])

    def _make(self, interpreter: Sequence[str], script: str, rest: Sequence[str]) -> Form:
        arguments = tuple(map(self._read_argument, rest))
        return Form(
            interpreter=tuple(interpreter), script=script, arguments=arguments, named=(script,)
        )

    def _read_argument(self, word: str) -> Argument:
        """Return an argument, and the regular file of the project that it ends with."""
        for part in sorted(parts_of(word), key=len, reverse=True):
            name = self._find_name(part) if word.endswith(part) else None
            if name is not None and os.path.isfile(self._ground.place_of(name)):
                return Argument(word, word.removesuffix(part), name)
        return Argument(word)

    def _find_interpreter(self, word: str) -> str | None:
        """Return the interpreter that a word names, as an absolute path outside the project; None
        if it names no interpreter of the list."""
        base = os.path.basename(word)
        if not (base in _SHELLS or base in _OTHERS or _PYTHON.fullmatch(base)):
            return None
        if "/" in word:
            if os.path.isabs(word) and not self._ground.holds(word):
                if not os.access(word, os.X_OK):
                    raise _OpenError(f"there is no {word}")
                return word
            if os.path.isabs(word) or self._find_file(word) is not None:
                raise _OpenError(f"its interpreter {word} is in the project")
            raise _OpenError(f"its interpreter {word} is no absolute path")
        program = find_outside(word, self._ground)
        if program is None:
            raise _OpenError(f"{word} is not found outside the project")
        return program

    def _find_runner(self, script: str) -> tuple[str, ...]:
        """Return the words that run a script by its first line; () for a compiled program."""
        place = self._ground.place_of(script)
        try:
            with open(place, "rb") as file:
                first = file.read(_FIRST_BYTES)
        except OSError as error:
            raise _OpenError(f"{script} cannot be read ({error.strerror})") from None
        if first.startswith(_EXECUTABLES):
            return ()
        words = shebang_in(first)
        if words is None:
            if first.startswith(b"#!"):
                raise _OpenError(f"the first line of {script} names no program")
            # A shell runs such a file itself.
            shell = find_outside("bash", self._ground) or find_outside("sh", self._ground)
            return (shell or "/bin/sh",)
        at = 1 if words[0] in _ENV and len(words) > 1 else 0
        interpreter = self._find_interpreter(words[at])
        if interpreter is None:
            raise _OpenError(f"the first line of {script} names {words[at]}")
        # Linux hands a script's interpreter all flags as one word.
        words_after = [each for word in words[at + 1 :] for each in word.split()]
        flags, rest = split_flags(words[at], words_after)
        if rest:
            raise _OpenError(f"the first line of {script} gives {words[at]} {rest[0]}")
        return (interpreter, *flags)

    def _find_file(self, word: str) -> str | None:
        """Return the path in the project of the regular file that a word names as a program or a
        script; None if it is none of the project's."""
        hook = self._hook
        if not word:
            return None
        if hook.source is HookSource.PROJECT:
            place = os.path.join(self._ground.real, word)
        else:
            folders = {"cwd": self._cwd, "project_dir": self._ground.project_dir}
            place = os.path.join(self._cwd, resolve_relative(word, hook, **folders))
        name = self._ground.name_of(place)
        if name is None:
            return None
        if not os.path.lexists(place):
            raise _MissingError(f"there is no {word} in the project")
        if not os.path.isfile(place):
            raise _OpenError(f"{word} is no regular file")
        return name

    def _find_name(self, part: str) -> str | None:
        """Return the path in the project of what exists under a name."""
        try:
            place = os.path.join(self._ground.real, part)
            if not part.strip("./") or not os.path.lexists(place):
                return None
        except ValueError:
            return None
        name = self._ground.name_of(place)
        return None if name == "." else name

    def _check_env(self) -> None:
        """Raise _OpenError for a variable of the entry that is relative or leads into the
        project."""
        for name, value in self._hook.env.items():
            value = _fill(value, self._folders)
            is_loader = name == "PATH" or LOADERS.fullmatch(name) is not None
            # An empty entry of a search path is the working directory.
            parts = {part for part in re.split(r"[\s:=,;]", value) if part or is_loader}
            for part in parts:
                if self._leads_inside(name, part, is_loader=is_loader):
                    raise _OpenError(f"its variable {name} leads into the project: {value}")

    def _leads_inside(self, name: str, part: str, *, is_loader: bool) -> bool:
        if os.path.isabs(part):
            return self._ground.holds(part)
        if name in HARMLESS_LOADERS:
            return False
        if is_loader or not part.strip("./"):
            return not part.isdigit()
        is_path = "/" in part and not re.match(r"[a-z][a-z0-9+.-]*://", part)
        return is_path or part.startswith("~") or self._find_name(part) is not None

    def _find_named(self) -> Iterator[str]:
        """Yield the files of the project that the words of an open command name. A word may be
        relative to a folder that a word in front of it names, as behind ``cd``."""
        hook, ground = self._hook, self._ground
        texts = [hook.command, *(hook.args or ()), *hook.env.values()]
        for text in texts:
            try:
                words = words_in(text, self._folders)
            except RecursionError:
                words = text.split()
            bases = list(dict.fromkeys((ground.real, os.path.realpath(self._cwd))))
            for word in (text, *words, *(each for w in words for each in w.split())):
                for part in parts_of(_fill(word, self._folders)):
                    part = part.strip("'\"()`;")
                    for base in tuple(bases):
                        name = self._find_name(os.path.join(base, part)) if part else None
                        place = "" if name is None else ground.place_of(name)
                        if os.path.isfile(place):
                            yield str(name)
                        elif place and place not in bases and len(bases) < _MOST_BASES:
                            bases.append(place)

    def _suggest(self, mentions: Sequence[str]) -> str:
        """Return the closed form that would do: the script that an open command names, or a new
        one."""
        for name in mentions:
            place = self._ground.place_of(name)
            if may_be_code(name, os.stat(place), place):
                runner = INTERPRETERS_BY_SUFFIX.get(os.path.splitext(name)[1], "")
                return f"{runner} {name}".lstrip()
        return "a script in a folder called hooks, named as the command: hooks/NAME.sh"


def split_flags(interpreter: str, words: Sequence[str]) -> tuple[tuple[str, ...], Sequence[str]]:
    """Return the flags in front that change nothing of what is run, and the rest."""
    base = os.path.basename(interpreter)
    harmless = _SHELL_FLAGS if base in _SHELLS else frozenset[str]()
    if _PYTHON.fullmatch(base):
        harmless = _PYTHON_FLAGS
    at = 0
    while at < len(words) and words[at][:1] == "-" and harmless.issuperset(words[at][1:] or "-"):
        at += 1
    return tuple(words[:at]), words[at:]


def find_outside(name: str, ground: Ground) -> str | None:
    """Return the absolute path of a program that the PATH leads to outside of the project."""
    for entry in os.environ.get("PATH", os.defpath).split(os.pathsep):
        if os.path.isabs(entry) and not ground.holds(entry):
            program = find_program(name, entry, cwd="/")
            if program is not None and not ground.holds(program):
                return program
    return None


def _fill(text: str, values: Mapping[str, str]) -> str:
    if "$" not in text:
        return text
    from hookline.shell.tokens import expand

    return expand(text, values)
