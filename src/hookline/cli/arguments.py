"""What all verbs have in common: their options, their help, and bad usage that is no block.

argparse ends bad usage with 2, which here means that a hook blocked; so it raises instead.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from functools import partial
from importlib import import_module
from typing import NoReturn, Protocol, cast

from hookline.cli.failures import CommandError
from hookline.cli.screen import Screen


class Verb(Protocol):
    """What the module of a verb has.

    ``EXAMPLES`` are command lines that work as they stand, for its help; ``add_arguments`` declares
    what is its own; ``run`` does the work and gives the exit status. It prints through the screen
    alone, and raises HooklineError or OSError for what the user can mend.
    """

    EXAMPLES: tuple[str, ...]

    def add_arguments(self, parser: argparse.ArgumentParser) -> None: ...

    def run(self, options: argparse.Namespace, screen: Screen) -> int: ...


# Arguments are laid out when they are added already, as a check, which needs no terminal's width:
# to ask for that, argparse loads shutil.
_unmeasured = partial(argparse.HelpFormatter, width=80)


class _Parser(argparse.ArgumentParser):
    def format_help(self) -> str:
        self.formatter_class = argparse.RawDescriptionHelpFormatter
        return super().format_help()

    def error(self, message: str) -> NoReturn:
        raise CommandError(f'{message}; "{self.prog} --help" shows how')


def run_verb(verb: str, module: str, summary: str, arguments: Sequence[str]) -> int:
    """Parse a verb's arguments and run it."""
    implementation = cast(Verb, import_module(module))
    options = parser_of(verb, implementation, summary).parse_args(arguments)
    _check_places(options)
    return implementation.run(options, Screen(sys.stdout, sys.stderr))


def parser_of(verb: str, implementation: Verb, summary: str) -> argparse.ArgumentParser:
    """What parses the arguments of a verb, its own and those of every verb."""
    parser = _Parser(
        prog=f"hookline {verb}",
        description=f"{summary[0].upper()}{summary[1:]}.",
        epilog="examples:\n" + "".join(f"  {line}\n" for line in implementation.EXAMPLES),
        formatter_class=_unmeasured,
        allow_abbrev=False,
    )
    implementation.add_arguments(parser)
    _add_common_arguments(parser)
    return parser


def _add_common_arguments(parser: argparse.ArgumentParser) -> None:
    common = parser.add_argument_group("options of every verb")
    common.add_argument(
        "--json", action="store_true", help="print one JSON document and nothing else"
    )
    common.add_argument(
        "--cwd", metavar="DIR", help="the working directory of the hooks (default: this one)"
    )
    common.add_argument(
        "--settings",
        metavar="FILE",
        action="append",
        help="use this file instead of the settings found on disk; again for more, "
        "highest priority first",
    )


def _check_places(options: argparse.Namespace) -> None:
    if options.cwd is not None and not os.path.isdir(options.cwd):
        raise CommandError(f"--cwd: {options.cwd} is not a directory")
    for file in options.settings or ():
        if not os.path.isfile(file):
            raise CommandError(f"--settings: there is no file {file}")
