"""The exit codes of hooks and commands."""

from hookline.cli import VERBS
from hookline.cli.events import ENDING_SIGNALS
from hookline.cli.failures import ASKS, BLOCKED, FAILED
from hookline.runner.context import RunLimits
from hookline.wire.hooks import DEFAULT_TIMEOUT_MS
from tools.reference.markdown import code, page, table, tell

# Verb -> what 0 means, and what makes it 1 apart from bad usage.
COMMANDS: dict[str, tuple[str, str]] = {
    "fire": ("go on", "nothing was decided: bad input, or the engine failed"),
    "list": ("hooks were listed, or there are none", "–"),
    "check": ("no errors", "an error was found; with `--strict` also a warning"),
    "test": ("every test passed", "a test failed, a file is no test, or there are no tests"),
    "bench": ("it was measured, also if the hook blocks or fails", "there is no such hook"),
    "trace": ("events were shown, also if there are none", "there is no such log or event"),
    "trust": (
        "the hooks are trusted, or need no review",
        "the answer was no; `--check`: something needs a review",
    ),
    "untrust": ("the project is not trusted", "–"),
    "disable": ("the hook is disabled", "there is no such hook, or it cannot be disabled"),
    "enable": ("the hook is enabled", "something else keeps it disabled"),
    "init": ("the files were made", "one of them is there already"),
    "migrate": ("the plan was shown, or carried out", "a file cannot be read or written"),
    "schema": ("the schema was printed", "there is no such schema"),
    "serve": (
        "it was told to end, and finished its work",
        "there is no bus, no policy to serve or, with `--stats`, no worker",
    ),
    "mcp": (
        "the client left; otherwise the server's own status",
        "the server cannot be started, or a message is too long",
    ),
    "demo": ("the session was shown", "the model gave no answer (`--live`)"),
    "completion": ("the script was printed", "no shell is named"),
}


def render() -> str:
    signals = [
        (str(128 + number), f"{number.name} ended the command; the hooks it ran were stopped")
        for number in ENDING_SIGNALS
    ]
    limits = RunLimits()
    return page(
        "Exit codes",
        "## hookline fire",
        "What a script or an agent does after `hookline fire`:",
        table(
            ("exit code", "meaning"),
            [
                ("0", "Go on. Also for events that cannot be blocked, and where no hook matched."),
                (str(FAILED), "Nothing was decided: the command itself failed. stderr says why."),
                (str(BLOCKED), "Blocked or stopped by a hook. The reason is on stderr."),
                (
                    str(ASKS),
                    (
                        "A hook asks for confirmation. The reason is on stderr. `--on-ask block` "
                        f"makes it {BLOCKED}, `--on-ask allow` makes it 0."
                    ),
                ),
                *signals,
            ],
        ),
        "A gate that must hold treats everything but 0 as no. `--strict` makes a failing hook a "
        f"{BLOCKED}.",
        "## Of a hook",
        "What the exit code of a command hook says:",
        table(
            ("exit code", "meaning", "`failed`"),
            [
                ("0", "It has answered: stdout is its answer, empty for nothing to say.", "–"),
                (
                    "2",
                    (
                        "It blocks. stderr is the reason; if that is empty, what stdout gives as a "
                        "reason."
                    ),
                    "–",
                ),
                ("any other, 1 too", "It failed. What it printed is not read.", "`exit`"),
                ("a signal", "It failed.", "`signal`"),
                (
                    "none in time",
                    (
                        f"After `timeout` ({DEFAULT_TIMEOUT_MS} ms unless it says otherwise) it "
                        f"gets SIGTERM, {limits.kill_grace:g} s later SIGKILL. It failed."
                    ),
                    "`timeout`",
                ),
                ("it cannot be started", "It failed.", "`spawn`"),
            ],
        ),
        'A hook that failed is warned of, and the agent goes on; with `"onFailure": "block"` or '
        "`strict` the event is blocked ([fail closed](settings.md#fail-closed)). On events that "
        "cannot be blocked, 2 has no effect but a warning. All kinds of failures: "
        "[failures](failures.md).",
        "stdout of a hook that exits with 0:",
        table(
            ("stdout", "is read as"),
            [
                ("empty", "nothing to say"),
                ("a JSON object", "the answer"),
                ("a JSON string", "decoded once more"),
                ("lines of text and an object", "the object, with a warning"),
                ("an answer that cannot be parsed", "a failure: `malformed`"),
                ("other text", "a `systemMessage`"),
            ],
        ),
        "From a hook that fails closed, stdout is empty, text without a `{`, or exactly one JSON "
        "object; anything else is `malformed` ([read strictly](../running.md#answered)).",
        "Claude Code's hooks follow Claude Code's rules: [Claude Code's hooks](../claude.md).",
        "## Of every command",
        f"Bad usage is {FAILED} everywhere, never {BLOCKED}. A signal is 128 and its number.",
        table(
            ("command", "0", str(FAILED)),
            [(code(name), *told) for name, told in tell(VERBS, COMMANDS, of="the verb")],
        ),
    )
