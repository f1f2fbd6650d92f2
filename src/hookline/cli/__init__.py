"""The ``hookline`` command: only the module of the verb that was asked for is imported.

Exit status: 0 go on, 2 blocked or stopped, 3 a hook asks for confirmation, 1 the command itself
failed; bad usage is a 1 as well.
"""

import gc
import os
import sys
from collections.abc import Sequence

# Verb -> what it is for; its module here has its name.
VERBS: dict[str, str] = {
    "fire": "fire one event and say what an agent should do",
    "list": "show every hook that is configured, and where",
    "check": "find mistakes in the settings and scripts",
    "test": "run hook tests, or record one from a real event",
    "bench": "measure how long one hook takes",
    "trace": "show what hooks did, from the log of a traced run",
    "trust": "review the project's hooks and let them run",
    "untrust": "stop running the project's hooks",
    "disable": "switch a hook off until it is enabled again",
    "enable": "switch a disabled hook on again",
    "init": "make a first hook, its settings and its tests",
    "schema": "print the JSON Schema of settings, hook tests or an event",
    "migrate": "convert another agent's hook settings",
    "serve": "run hooks for agents on a message bus",
    "mcp": "put hooks between an MCP client and an MCP server",
    "demo": "watch an agent and its hooks in a scratch project",
    "completion": "print a completion script for a shell",
}

# Objects that may be made before the first look for garbage; 700 is usual.
_COLLECTED_AFTER = 50_000

_EXAMPLES = (
    "hookline demo",
    """hookline fire BeforeTool --tool write_file --tool-input '{"content": "hi"}'""",
)


def run() -> None:
    """Be the ``hookline`` process: run its command line, and end with the status.

    Nearly all that a command makes are the modules it loads. So it is seldom searched for garbage,
    and left to the system to take away: Python would take as long over that as a hook runs. Nothing
    is lost, as ``main`` has put out what was printed, and stderr holds nothing back.
    """
    gc.set_threshold(_COLLECTED_AFTER)
    os._exit(main())


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and give its exit status; nothing but a status ever comes out."""
    # ``list`` is a verb's module here.
    arguments = sys.argv[1:] if argv is None else [*argv]
    if arguments[:1] == ["help"]:
        arguments = [*arguments[1:2], "--help"]
    verb = arguments[0] if arguments else "--help"
    status: int | None = None
    try:
        if verb in ("-h", "--help"):
            from hookline.cli.help import format_overview

            print(format_overview(VERBS, _EXAMPLES))
            status = 0
        elif verb in ("-V", "--version"):
            from hookline import __version__

            print(f"hookline {__version__}")
            status = 0
        elif verb not in VERBS:
            from hookline.cli.failures import unknown_verb

            raise unknown_verb(verb, VERBS)
        else:
            from hookline.cli.options import run_verb

            status = run_verb(verb, VERBS[verb], arguments[1:])
        if sys.stdout is not None:
            sys.stdout.flush()
    except BaseException as error:
        from hookline.cli.failures import report

        status = report(error, done=status)
    return status
