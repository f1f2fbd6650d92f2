"""``hookline completion``: a script for a shell to read; by itself it changes nothing."""

import argparse
import os
import sys

from hookline.cli.failures import CommandError
from hookline.cli.screen import Screen

EXAMPLES = (
    "hookline completion bash > hookline.bash",
    "hookline completion zsh > _hookline",
    "hookline completion fish > hookline.fish",
)

_SHELLS = ("bash", "zsh", "fish")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what is completion's own."""
    parser.add_argument("shell", metavar="SHELL", nargs="*", help=", ".join(_SHELLS))
    # For the scripts themselves: the words of the line that is being completed follow.
    parser.add_argument("--names", action="store_true", help=argparse.SUPPRESS)


def run(options: argparse.Namespace, screen: Screen) -> int:
    """Print the script, or for a script the names of hooks."""
    if options.names:
        return _print_names(options.shell)
    if len(options.shell) != 1 or options.shell[0] not in _SHELLS:
        raise CommandError(f"name one shell: {_hint()}")
    shell = options.shell[0]
    script = _script(shell)
    if options.json:
        screen.document({"shell": shell, "script": script})
    else:
        print(script, end="")
    if screen.is_terminal and not options.json:
        screen.note(("this is for the shell to read; its first lines say how", "faint"))
    return 0


def _script(shell: str) -> str:
    from importlib import import_module

    from hookline.cli import VERBS
    from hookline.cli.completing.grammar import read_grammar

    module = import_module(f"hookline.cli.completing.{shell}")
    return str(module.script(read_grammar(VERBS)))


def _print_names(words: list[str]) -> int:
    from hookline.cli.completing.names import hook_names

    if sys.stdout is None:
        return 0
    encoding = sys.stdout.encoding or "utf-8"
    for name in hook_names(words):
        # One that the shell could not be told as it is would be a hook that is not there.
        if name.encode(encoding, "replace").decode(encoding) == name:
            print(name)
    return 0


def _hint() -> str:
    used = os.path.basename(os.environ.get("SHELL", ""))
    if used in _SHELLS:
        return f"yours is {used}, so `hookline completion {used}`"
    return "`hookline completion bash`, zsh or fish"
