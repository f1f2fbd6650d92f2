"""The ``hookline`` command: only the module of the verb that was asked for is imported.

Exit status: 0 go on, 2 blocked or stopped, 3 a hook asks for confirmation, 1 the command itself
failed; bad usage is a 1 as well.
"""

import gc
import os
import sys
from collections.abc import Sequence

# Verb -> what it does; its module in this package has the same name.
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

# Objects that may be created before garbage is collected; Python's own limit is 700.
_COLLECTED_AFTER = 50_000

_EXAMPLES = (
    "hookline demo",
    """hookline fire BeforeTool --tool write_file --tool-input '{"content": "hi"}'""",
)


def run() -> None:
    """Run the command line of this process and exit with its status.

    Nearly all objects of a command are the modules it loads, so garbage is seldom collected, and
    the system frees the memory at the end: Python would take as long for that as a hook runs.
    Nothing is lost, as ``main`` has flushed stdout, and stderr is not buffered.
    """
    gc.set_threshold(_COLLECTED_AFTER)
    os._exit(main())


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status; it raises nothing."""
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

        status = report(error, status_so_far=status)
    return status
