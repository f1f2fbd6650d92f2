"""The ``hookline`` command: only the module of the verb that was asked for is imported.

Exit status: 0 go on, 2 blocked or stopped, 1 the command itself failed; bad usage is a 1 as well.
"""

import sys
from collections.abc import Sequence

from hookline._version import __version__

# Verb -> its module, and what it is for.
VERBS: dict[str, tuple[str, str]] = {
    "fire": ("hookline.cli.verbs.fire", "fire one event and say what an agent should do"),
    "list": ("hookline.cli.verbs.list", "show every hook that is configured, and where"),
    "demo": ("hookline.cli.verbs.demo", "watch an agent and its hooks in a scratch project"),
}

_HELP = """\
usage: hookline VERB [options]

Run hooks on the events of an AI agent.

{verbs}

examples:
  hookline demo
  hookline fire BeforeTool --tool write_file --tool-input '{{"content": "hi"}}'

"hookline VERB --help" explains a verb; "hookline --version" prints the version."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and give its exit status; nothing but a status ever comes out."""
    arguments = sys.argv[1:] if argv is None else list(argv)
    try:
        status = _run(arguments)
        if sys.stdout is not None:
            sys.stdout.flush()
    except BaseException as error:
        from hookline.cli.failures import report

        status = report(error)
    return status


def _run(arguments: list[str]) -> int:
    if not arguments or arguments[0] in ("-h", "--help"):
        print(_help())
        return 0
    if arguments[0] in ("-V", "--version"):
        print(f"hookline {__version__}")
        return 0
    verb, *rest = arguments
    if verb not in VERBS:
        from hookline.cli.failures import unknown_verb

        raise unknown_verb(verb, VERBS)
    from hookline.cli.arguments import run_verb

    module, summary = VERBS[verb]
    return run_verb(verb, module, summary, rest)


def _help() -> str:
    width = max(map(len, VERBS))
    lines = [f"  {verb:{width}}  {summary}" for verb, (_, summary) in VERBS.items()]
    return _HELP.format(verbs="\n".join(lines))
