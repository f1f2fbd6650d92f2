"""What all verbs have in common: how one is found, given its options, and run."""

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, cast

from hookline.cli.failures import CommandError
from hookline.cli.screen import Screen

if TYPE_CHECKING:
    import argparse


class Verb(Protocol):
    """What the module of a verb has.

    ``EXAMPLES`` are command lines that work as they stand, for its help; ``add_arguments`` declares
    what is its own; ``run`` does the work and gives the exit status. It prints through the screen
    alone, and raises HooklineError or OSError for what the user can mend.
    """

    EXAMPLES: tuple[str, ...]

    def add_arguments(self, parser: "argparse.ArgumentParser") -> None: ...

    def run(self, options: "argparse.Namespace", screen: Screen) -> int: ...


def run_verb(verb: str, module: str, summary: str, arguments: Sequence[str]) -> int:
    """Parse a verb's arguments and run it."""
    implementation = cast(Verb, import_module(module))
    options = _read_plainly(implementation, arguments)
    if options is None:
        from hookline.cli.parsing import parser_of

        options = parser_of(verb, implementation, summary).parse_args(arguments)
    _check_places(options)
    screen = Screen(sys.stdout, sys.stderr)
    return screen.status(implementation.run(options, screen))


def _read_plainly(implementation: Verb, arguments: Sequence[str]) -> Any:
    """The options of a verb that is called in loops and so has said how to read them quickly;
    None where that takes argparse."""
    plain = getattr(implementation, "PLAIN", None)
    return None if plain is None else plain.read(arguments)


def _check_places(options: "argparse.Namespace") -> None:
    if options.cwd is not None and not os.path.isdir(options.cwd):
        raise CommandError(f"--cwd: {options.cwd} is not a directory")
    for file in options.settings or ():
        if os.path.isdir(file):
            raise CommandError(f"--settings: {file} is a directory; name the file in it")
        if not os.path.isfile(file):
            raise CommandError(f"--settings: there is no file {file}")
