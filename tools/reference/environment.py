"""The variables that hookline reads, and those that it sets for hooks."""

from collections.abc import Iterable
from typing import Any

from hookline._support.secrets import SECRET_WORDS
from hookline.cli.demo.models import FAMILIES
from hookline.dialects import DIALECTS
from hookline.runner import invocation
from hookline.shell.programs import hook_variables
from hookline.wire.hooks import CommandHook, HookSource
from tools.reference.markdown import code, codes, page, table, tell

_READ: dict[str, str] = {
    "HOOKLINE_STRICT": "Anything but empty, `0`, `false`, `no`, `off`: hooks are strict, so that "
    "an event is blocked whenever its hooks could not all answer.",
    "HOOKLINE_TRACE": "`1` keeps a trace for `hookline trace`; `0`, `false`, `no`, `off` keep "
    "none, whatever the settings say.",
    "HOOKLINE_TRACE_MB": "The size in MiB at which a file of the trace is full and another begins; "
    "10 otherwise.",
    "HOOKLINE_TRACE_FILES": "How many full files of the trace are kept; 3 otherwise, 0 keeps none.",
    "HOOKLINE_STATE_DIR": "An absolute path: what hookline keeps (reviews, trace) is there.",
    "XDG_CONFIG_HOME": "On Linux: the user's settings are in `hookline` below it. An absolute "
    "path; otherwise `~/.config`.",
    "XDG_STATE_HOME": "On Linux: what hookline keeps is in `hookline` below it. An absolute path; "
    "otherwise `~/.local/state`.",
    "HOME": "The user's home.",
    "PATH": "Where programs of hooks are looked for.",
    "NO_COLOR": "Not empty: no colours on a terminal.",
    "TERM": "`dumb` or `unknown`: no colours on a terminal.",
    "COLUMNS": "How wide a terminal is; overrules the terminal itself.",
    "SHELL": "Which shell `hookline completion` names in its hint.",
    "TMPDIR": "Where temporary files are made.",
    "PYTHONPATH": "Handed on to hooks as it is.",
    "CLAUDE_CODE_STOP_HOOK_BLOCK_CAP": "How often hooks may send one turn back to work; 8 if it "
    "is not set.",
    "CLAUDE_CONFIG_DIR": "Where the Claude Agent SDK's adapter looks for Claude Code's settings.",
    "CLAUDE_CODE_SIMPLE": "In this mode Claude Code calls nobody's hooks: the adapter warns, "
    "and refuses if a hook must answer.",
    "GOOGLE_GENAI_HTTP_CLIENT": "Which HTTP package google-genai uses; the adapter uses the same.",
    "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "Where it is on, ADK's adapter warns: "
    "OpenTelemetry gets responses before hooks change them.",
    "GITHUB_SHA": "Set on a CI runner: hooks get only variables that are known to be harmless.",
    "SURFACE": "`Github`: the same.",
}
_SET: dict[str, str] = {
    "HOOKLINE_PROJECT_DIR": "The project's directory.",
    "LLXPRT_PROJECT_DIR": "The same, for hooks of LLxprt Code.",
    "GEMINI_PROJECT_DIR": "The same, for hooks of Gemini CLI.",
    "CLAUDE_PROJECT_DIR": "The same, for hooks of Claude Code.",
    "HOOKLINE_HOOK_STATE": "A folder of the user's in which the project's hooks may write.",
    "HOOKLINE_CWD": "The agent's working directory, `cwd` of the event.",
    "GEMINI_CWD": "The same, for hooks of Gemini CLI.",
    "HOOKLINE_SESSION_ID": "The session, `session_id` of the event.",
    "GEMINI_SESSION_ID": "The same, for hooks of Gemini CLI.",
    "HOOKLINE_EVENT": "The name of the event.",
}
_SET_FOR_EXTENSIONS: dict[str, str] = {
    "extensionPath": "The folder of the extension.",
    "workspacePath": "The project's directory.",
}
_SET_FOR_PLUGINS: dict[str, str] = {
    "CLAUDE_PLUGIN_ROOT": "The folder of the plugin.",
    "CLAUDE_PLUGIN_DATA": "A folder for what the plugin keeps.",
}
_SET_FOR_CLAUDE: dict[str, str] = {
    "CLAUDECODE": "`1`, as in Claude Code.",
    "CLAUDE_CODE_SESSION_ID": "The session.",
    "CLAUDE_CODE_ENTRYPOINT": "`sdk-py`: an agent of yours runs, and nobody sits at a terminal.",
}
_SET_SOMETIMES: dict[str, str] = {
    "CLAUDE_ENV_FILE": "A file for `export NAME=value` lines, which become the `exports` of the "
    "hook's answer. On SessionStart and Claude Code's Setup, CwdChanged and FileChanged.",
    "PYTHONPYCACHEPREFIX": "Keeps what Python compiles out of the project, unless it is set to a "
    "place outside of it already.",
    "PYTHONDONTWRITEBYTECODE": "`1` where there is no place for that.",
}


def render() -> str:
    keys = {
        key: f"Has `hookline demo --live` ask a model of {family.maker}'s."
        for family in FAMILIES
        for key in family.keys
    }
    return page(
        "Environment variables",
        "## Read by hookline",
        _show((_READ | keys).items()),
        "`HOOKLINE_WARM` is hookline's own, for processes that it starts itself. A header of an "
        "`http` hook and of `hookline mcp --header` may name any variable with `$NAME`.",
        "No variable moves the system's settings: see [files](files.md).",
        "## Set for every command hook",
        "A hook inherits the environment of the agent, less what redaction takes out (below). "
        "Then these are set, and then the hook's own `env`:",
        _show(tell(_made(), _SET, of="the variable")),
        "In a `command` each of them, as `$NAME` or `${NAME}`, is one word whatever it holds.",
        "## Set for some hooks",
        "Hooks of an extension:",
        _show(tell(_made(source=HookSource.EXTENSIONS), _SET_FOR_EXTENSIONS, of="the variable")),
        "Hooks of a plugin of Claude Code's:",
        _show(
            tell(
                _made(plugin_root="/p", plugin_data="/d", dialect="claude"),
                _SET_FOR_PLUGINS,
                of="the variable",
            )
        ),
        "Hooks of Claude Code's settings; nothing that begins with `OTEL_` is inherited:",
        _show(tell(_made_for_claude(), _SET_FOR_CLAUDE, of="the variable")),
        "Where there is need for them:",
        _show(_SET_SOMETIMES.items()),
        "## Redaction",
        "`security.environmentVariableRedaction` in the [settings](settings.md#security) of the "
        "user or the system keeps secrets from hooks. For each variable the first rule that fits "
        "counts:",
        "1. A name that begins with `GEMINI_CLI_` stays.\n"
        "2. A value that looks like a private key, a certificate, a URL with a password or a Slack "
        "token goes.\n"
        "3. A name that begins with `GIT_CONFIG_`, or is in `allowed`, stays.\n"
        "4. A name in `blocked` goes.\n"
        "5. A name that is always kept stays.\n"
        "6. A name that is never kept, or contains one of "
        f"{codes(SECRET_WORDS)}, goes. On a CI runner every other name goes, too.\n"
        "7. The rest stays.",
        f"Always kept: {codes(sorted(invocation._ALWAYS_KEPT))}.",
        f"Never kept: {codes(sorted(invocation._NEVER_KEPT))}.",
    )


def _show(pairs: Iterable[tuple[str, str]]) -> str:
    return table(("variable", "meaning"), [(code(name), told) for name, told in pairs])


def _made(**of_hook: Any) -> set[str]:
    """The variables of every hook; with fields of a hook, the variables that they add."""
    place: dict[str, Any] = {"project_dir": "/", "cwd": "/", "session_id": "", "event": ""}
    if not of_hook:
        return {*hook_variables(**place, hook_state="")}
    hook = CommandHook(name="x", command="x", **of_hook)
    return {*hook_variables(**place, hook=hook)} - {*hook_variables(**place)}


def _made_for_claude() -> set[str]:
    made = DIALECTS["claude"].variables("session")
    return {name for name, value in made.items() if value is not None}
