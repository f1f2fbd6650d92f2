"""A verb's options, declared once: the quick reader, argparse and shell completion read one table.

``hookline fire`` is called in loops, so a command line that leaves no question is read without
loading argparse. A mistake, a call for help or ``--option=value`` is argparse's.
"""

import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, TypeAlias, cast

import msgspec

from hookline.cli.failures import CommandError, report_unwritten
from hookline.cli.screen import Screen, shorten_path
from hookline.errors import UnknownEventError
from hookline.wire.events import EventName, HookEventName

if TYPE_CHECKING:
    import argparse

# The values of a command line: an attribute for each option.
Options: TypeAlias = SimpleNamespace


class Option(msgspec.Struct, frozen=True):
    """An option, or an argument if its name has no dashes.

    ``value`` is what the help calls its value; without it the help shows the ``choices``. A
    flag has none, and stands for what it ``means``. ``count`` is "?" for a value that may be left
    out, which then is what the option ``means``, and "*" for any number of arguments; ``again``
    is for an option that makes a list. Of the options with one word in ``one_of`` only one may be
    given. ``group`` is their heading in the help, which leaves out an option without ``help``.
    """

    name: str
    value: str
    help: str | None
    default: Any = None
    choices: tuple[str, ...] = ()
    type: Callable[[str], Any] = str
    means: Any = None
    count: str = ""
    again: bool = False
    required: bool = False
    attribute: str = ""
    one_of: str = ""
    group: str = ""

    @property
    def is_argument(self) -> bool:
        """True for an argument, which is known by its place."""
        return not self.name.startswith("-")

    @property
    def is_flag(self) -> bool:
        """True for an option that takes no value."""
        return not self.value and not self.choices

    @property
    def key(self) -> str:
        """The attribute of ``Options`` that has its value."""
        return self.attribute or self.name.lstrip("-").replace("-", "_")


def flag(name: str, help: str | None, *, default: Any = False, **more: Any) -> Option:
    """An option that takes no value."""
    return Option(name, "", help, default, **{"means": True, **more})


def event_options(fields: str, **more: Any) -> tuple[Option, ...]:
    """The options that ``firing.read_event`` needs; ``fields`` is the help of ``--input``."""
    return (
        Option("--input", "JSON|@FILE|-", fields, **more),
        Option("--tool", "NAME", "the name of the tool, for a tool's events", **more),
        Option("--tool-input", "JSON", "the arguments of the tool, for a tool's events", **more),
        Option("--session-id", "ID", "the session that the event belongs to", **more),
    )


# Options that override ``hookline trust`` for one run, for verbs that run a project's hooks.
TRUST = (
    flag(
        "--trust",
        "run the project's hooks even if they are not trusted",
        default=None,
        one_of="trust",
    ),
    flag(
        "--no-trust",
        "do not run the project's hooks, even if they are trusted",
        default=None,
        means=False,
        attribute="trust",
        one_of="trust",
    ),
)
# Options that make the settings stricter for one run.
STRICTNESS = (
    flag("--strict", "block if any hook could not answer (also HOOKLINE_STRICT=1)"),
    Option(
        "--require",
        "NAME",
        "block unless this hook is in force; layer:NAME for one of another layer; can be given "
        "more than once",
        again=True,
    ),
)
# Further sources of hooks, for verbs that read settings.
SOURCES = (
    flag(
        "--claude",
        "also read Claude Code's settings: the project's, yours and the managed ones",
        default=None,
    ),
    Option(
        "--plugin",
        "DIR",
        "also use the hooks of this Claude Code plugin; can be given more than once",
        again=True,
    ),
)
# argparse has it by itself.
_HELP = flag("--help", "show this help and exit")
_EVERY_VERB = "options of every verb"
COMMON = (
    flag("--json", "print one JSON document and nothing else", group=_EVERY_VERB),
    Option(
        "--cwd",
        "DIR",
        "the working directory of the hooks (default: the current one)",
        group=_EVERY_VERB,
    ),
    Option(
        "--settings",
        "FILE",
        "use this file instead of the settings found on disk; can be given more than once, "
        "highest priority first",
        again=True,
        group=_EVERY_VERB,
    ),
)


def find_sources(options: Options) -> dict[str, Any]:
    """Return where the options take hooks from, as arguments of ``Config.load``."""
    return {
        "settings_files": options.settings,
        "claude": options.claude,
        "plugins": options.plugin or (),
    }


def repeat_options(options: Options) -> list[str]:
    """Return the words by which the options name a directory, settings and sources, for a further
    command about the same hooks."""
    words: list[str] = []
    for option in (*COMMON, *SOURCES):
        value = getattr(options, option.key, None)
        if option.key != "json" and value:
            for each in value if option.again else [value]:
                words += [option.name] if option.is_flag else [option.name, each]
    return words


def explain_unread(files: Sequence[str]) -> str:
    """How to read Claude Code's settings that were found and left out."""
    paths = ", ".join(map(shorten_path, files))
    are, them = ("is", "it") if len(files) == 1 else ("are", "them")
    how = f'pass --claude, or write "claude": true into your settings, to read {them}'
    return f"{paths} {are} not read; {how}"


class Verb(Protocol):
    """What the module of a verb has.

    ``EXAMPLES`` are command lines that work as they stand, for its help; ``OPTIONS`` are its own;
    ``run`` does the work and gives the exit status. It prints through the screen alone, and raises
    HooklineError or OSError for what the user can fix.
    """

    EXAMPLES: tuple[str, ...]
    OPTIONS: tuple[Option, ...]

    def run(self, options: Options, screen: Screen) -> int: ...


def load_verb(name: str) -> Verb:
    """The module of a verb."""
    return cast(Verb, import_module(f"hookline.cli.{name}"))


def run_verb(name: str, summary: str, arguments: Sequence[str]) -> int:
    """Parse a verb's arguments and run it."""
    verb = load_verb(name)
    options = read_quickly((*verb.OPTIONS, *COMMON), arguments)
    if options is None:
        options = make_parser(name, verb, summary).parse_args(arguments, SimpleNamespace())
    if options.cwd is not None and not os.path.isdir(options.cwd):
        raise CommandError(f"--cwd: {options.cwd} is not a directory")
    for file in options.settings or ():
        if os.path.isdir(file):
            raise CommandError(f"--settings: {file} is a directory; name the file in it")
        if not os.path.isfile(file):
            raise CommandError(f"--settings: there is no file {file}")
    for folder in getattr(options, "plugin", None) or ():
        if not os.path.isdir(folder):
            raise CommandError(f"--plugin: {folder} is not a directory")
    screen = Screen(sys.stdout, sys.stderr)
    status = verb.run(options, screen)
    return status if screen.lost is None else report_unwritten(screen.lost, status)


def read_quickly(table: Sequence[Option], arguments: Sequence[str]) -> Options | None:
    """The options as argparse would read them; None if argparse has to look at it.

    Every option must be known and spelt out, with a value behind each that takes one, and at most
    one argument besides.
    """
    by_name = {option.name: option for option in table}
    argument = next((option for option in table if option.is_argument), None)
    values = {option.key: option.default for option in table}
    present: dict[str, str] = {}
    rest = iter(arguments)
    for word in rest:
        option = by_name.get(word) if word.startswith("-") else argument
        if option is None or (option.is_argument and (option.count or option.name in present)):
            return None
        value: Any = option.means
        if option.is_argument:
            value = word
        elif not option.is_flag:
            value = next(rest, None)
            # It may be an option that stands where a value should.
            if value is None or (value.startswith("-") and value != "-"):
                return None
        if not option.is_flag and (option.type is not str or option.count):
            return None
        if option.choices and value not in option.choices:
            return None
        group = option.one_of or option.name
        if present.setdefault(group, option.name) != option.name:
            return None
        values[option.key] = [*(values[option.key] or ()), value] if option.again else value
    must = [option for option in table if option.required or option.is_argument]
    if any(not option.count and option.name not in present for option in must):
        return None
    return Options(**values)


def explain_unknown_event(error: UnknownEventError) -> str:
    """Explain an unknown event name, with the nearest names of either family, or all of ours."""
    from hookline._support.nearest import nearest
    from hookline.dialects import list_event_names

    suggestions = nearest(str(error.name), dict.fromkeys(list_event_names()))
    if suggestions:
        return str(UnknownEventError(error.name, suggestions))
    return f"{error}; the events are {', '.join(HookEventName)}, and Claude Code's (PreToolUse, …)"


def read_event_name(option: str, name: str) -> EventName:
    """The event that an option names, by our name or Claude Code's; raises CommandError for an
    unknown name."""
    from hookline.dialects import find_named_event

    try:
        return find_named_event(name)
    except UnknownEventError as error:
        raise CommandError(option + explain_unknown_event(error)) from None


def make_parser(name: str, verb: Verb, summary: str) -> "argparse.ArgumentParser":
    """Make the parser of a verb's arguments, which also writes its help.

    argparse ends bad usage with 2, which here means that a hook blocked; so this one raises.
    """
    import argparse

    class Parser(argparse.ArgumentParser):
        def format_help(self) -> str:
            from hookline.cli.help import format_verb

            return format_verb(name, summary, (*verb.OPTIONS, *COMMON), verb.EXAMPLES)

        def print_help(self, file: Any = None) -> None:
            """On stdout alone; argparse would go elsewhere, and keep quiet about a full disk."""
            print(self.format_help(), end="", file=file)

        def error(self, message: str) -> NoReturn:
            message = message.removeprefix("argument ")
            raise CommandError(f"{message}; `{self.prog} --help` shows how")

        def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
            """Report an unknown option before anything that argparse finds."""
            from itertools import takewhile

            from hookline._support.nearest import did_you_mean, nearest

            helps = {option.name: option.help for option in (_HELP, *verb.OPTIONS, *COMMON)}
            for word in takewhile(lambda word: word != "--", args or ()):
                flag_name = word.partition("=")[0]
                # One with a blank in it is an argument.
                if flag_name.startswith("--") and flag_name not in helps and " " not in flag_name:
                    names = [name for name, help in helps.items() if help is not None]
                    hint = (
                        did_you_mean(nearest(flag_name, names))
                        or f"`{self.prog} --help` lists them"
                    )
                    raise CommandError(f"{self.prog} has no option {flag_name}; {hint}")
            return super().parse_known_args(args, namespace)

    parser = Parser(prog=f"hookline {name}", allow_abbrev=False)
    groups: dict[str, Any] = {"": parser}
    for option in (*verb.OPTIONS, *COMMON):
        key = option.one_of
        group = groups[key] = groups.get(key) or parser.add_mutually_exclusive_group()
        arguments: dict[str, Any] = {"default": option.default}
        if not option.is_argument:
            arguments |= {"dest": option.key, "required": option.required}
        if option.is_flag:
            arguments |= {"action": "store_const", "const": option.means}
        else:
            further = {
                "type": option.type,
                "metavar": option.value,
                "choices": option.choices,
                "nargs": option.count,
                "const": option.means if option.count == "?" else None,
                "action": "append" if option.again else "",
            }
            arguments |= {word: it for word, it in further.items() if it}
        group.add_argument(option.name, **arguments)
    return parser
