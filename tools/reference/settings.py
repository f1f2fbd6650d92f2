"""Every key of a settings file, with a file that uses most of them."""

from hookline.settings.schema import KeyRow, describe_settings
from hookline.wire.events import HookEventName
from hookline.wire.hooks import HookSource
from tools.reference.events import file_of
from tools.reference.markdown import code, escape, fence, page, table

EXAMPLE = """
{
  "$schema": "./settings.schema.json",
  "strict": false,
  "hooks": {
    "BeforeTool": [
      {
        "matcher": "write_file|replace",
        "hooks": [
          {
            "type": "command",
            "name": "secret-scan",
            "command": "python3 \\"$HOOKLINE_PROJECT_DIR/hooks/scan.py\\"",
            "timeout": 5000,           // milliseconds
            "onFailure": "block",      // fail closed: no answer is a block
            "env": {"MODE": "strict"},
            "warm": true,
          },
        ],
      },
    ],
    "AfterModel": [
      {
        "sequential": true,
        "hooks": [
          {"type": "command", "name": "redact", "command": "hooks/redact", "args": ["--cards"]},
          {
            "type": "http",
            "name": "audit",
            "url": "https://policy.example.com/after-model",
            "headers": {"Authorization": "Bearer $POLICY_TOKEN"},
            "allowedEnvVars": ["POLICY_TOKEN"],
          },
        ],
      },
    ],
    "AfterAgent": [
      {"hooks": [{"type": "prompt", "prompt": "Did the agent run the tests? $ARGUMENTS"}]},
    ],
    "disabled": ["audit"],
    "required": ["project:secret-scan"],
  },
}
"""

# A section's heading, the path that its keys begin with, and its description.
_SECTIONS = (
    ("Top level", "", ""),
    ("hooks", "hooks.", "The events, and what holds for hooks of all events."),
    ("A definition", "hooks.EVENT[].", "Each event has a list of these."),
    ("A hook", "hooks.EVENT[].hooks[].", "Each definition has a list of these in `hooks`."),
    ("hooks.tools", "hooks.tools.NAME.", "For hooks of Claude Code's settings."),
    ("hooksConfig", "hooksConfig.", ""),
    ("hookline", "hookline.", ""),
    ("security", "security.", ""),
    (
        "security.environmentVariableRedaction",
        "security.environmentVariableRedaction.",
        "The rules of what is kept from hooks: [environment](environment.md).",
    ),
    ("tools", "tools.", ""),
)
_FAIL_CLOSED = (
    ("this hook fails closed", '`"onFailure": "block"` in the hook', "this hook's events"),
    ("everything fails closed", '`"strict": true`', "every event that can be blocked"),
    ("the hook must be there", '`"required": ["NAME"]` in `hooks`', "every event, until it is"),
    ("nobody can disable the hook", '`"managed": true` in the system\'s file', "–"),
)


def render() -> str:
    keys = describe_settings()
    sections = []
    for heading, prefix, told in _SECTIONS:
        held = [key for key in keys if _section(key.path) == prefix]
        sections += [f"## {heading}", told, _keys_table(held, prefix)]
    layers = ", then ".join(code(source.value) for source in HookSource)
    return page(
        "Settings",
        "Settings are JSON; comments and trailing commas are fine. Where the files are: "
        "[files](files.md). `hookline schema settings` prints this page as JSON Schema, and "
        "`hookline check` finds mistakes. A file with most of the keys:",
        fence("jsonc", EXAMPLE),
        "## Fail closed",
        "By default hooks fail open: a hook that crashes, hangs or prints nonsense is warned of, "
        "and the agent goes on. To have it blocked instead:",
        table(("so that", "write", "blocks"), _FAIL_CLOSED),
        "`--strict`, `--require NAME`, `HOOKLINE_STRICT=1` and `Config(strict=True)` say the same "
        "for one run. All of these only ever make things stricter: no layer takes back what "
        "another says.",
        "## Which layer wins",
        f"Hooks of all layers run, in this order: {layers}. `runtime` hooks are registered in "
        "code, `extensions` come with the agent. A project's `settings.local.json` is read before "
        "its `settings.json`. A lower trust cannot disarm a higher one: what a project says of "
        "`enableHooks` and `disabled` reaches its own hooks alone, and a `managed` hook cannot be "
        "disabled. Below, each key has the layers that may set it; elsewhere it is ignored with "
        "a warning.",
        *sections,
    )


def _section(path: str) -> str:
    """The longest prefix of a path that is a section."""
    found = [prefix for _, prefix, _ in _SECTIONS if path.startswith(prefix)]
    return max(found, key=len)


def _keys_table(keys: list[KeyRow], prefix: str) -> str:
    return table(
        ("key", "type", "meaning and layers"),
        [
            (
                _show_name(key.path.removeprefix(prefix)),
                key.type + _show_default(key.default),
                f"{escape(key.meaning)}<br>*{key.layers[0].upper()}{key.layers[1:]}.*",
            )
            for key in keys
        ],
    )


def _show_default(default: str) -> str:
    if default in ("none", "required"):
        return "; required" if default == "required" else ""
    return f"; default {code(default)}"


def _show_name(name: str) -> str:
    """A key as code; the key of an event links to its page."""
    if name in [*HookEventName]:
        return f"[`{name}`](events/{file_of(HookEventName(name))})"
    return code(name)
