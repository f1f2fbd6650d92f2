"""The options of every verb, its help, and bad usage that is no block, with argparse.

argparse ends bad usage with 2, which here means that a hook blocked; so it raises instead.
"""

import argparse
from functools import partial
from typing import Any, NoReturn

from hookline.cli.arguments import Verb
from hookline.cli.failures import CommandError

# Arguments are laid out when they are added already, as a check, which needs no terminal's width:
# to ask for that, argparse loads shutil.
_unmeasured = partial(argparse.HelpFormatter, width=80)


class _Parser(argparse.ArgumentParser):
    def format_help(self) -> str:
        self.formatter_class = argparse.RawDescriptionHelpFormatter
        return super().format_help()

    def print_help(self, file: Any = None) -> None:
        """On stdout alone; argparse would go elsewhere, and keep quiet about a full disk."""
        print(self.format_help(), end="", file=file)

    def error(self, message: str) -> NoReturn:
        raise CommandError(f"{message}; `{self.prog} --help` shows how")


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


def add_event_arguments(
    parser: "argparse.ArgumentParser | argparse._ArgumentGroup", *, fields: str
) -> None:
    """What ``read_payload`` makes an event's input of, for verbs that fire one; ``fields`` says
    what ``--input`` is there."""
    parser.add_argument("--input", metavar="JSON|@FILE|-", help=fields)
    parser.add_argument("--tool", metavar="NAME", help="the tool, for BeforeTool and AfterTool")
    parser.add_argument("--tool-input", metavar="JSON", help="what the tool is called with")
    parser.add_argument("--session-id", metavar="ID", help="the session the event belongs to")


def add_trust_arguments(parser: argparse.ArgumentParser) -> None:
    """What overrides ``hookline trust`` for once, for verbs that run a project's hooks."""
    trust = parser.add_mutually_exclusive_group()
    trust.add_argument(
        "--trust",
        action="store_true",
        default=None,
        help="run the project's own hooks whether or not `hookline trust` lets them",
    )
    trust.add_argument("--no-trust", dest="trust", action="store_false", help="hold them back")


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
