"""``hookline schema``: the JSON Schema of a settings file, a file of hook tests, or an event."""

from hookline.cli.failures import CommandError
from hookline.cli.options import Option, Options, read_event_name
from hookline.cli.screen import Screen
from hookline.wire.events import HookEventName

EXAMPLES = (
    "hookline schema",
    "hookline schema hooktest",
    "hookline schema event BeforeTool",
)
KINDS = ("settings", "hooktest", "event")
OPTIONS = (
    Option(
        "what",
        "WHAT",
        "settings (default), hooktest, or event NAME (ours or Claude Code's)",
        default=(),
        count="*",
    ),
)


def run(options: Options, screen: Screen) -> int:
    """Print the schema: in lines for people and for files, on one line with ``--json``."""
    from hookline.settings.schema import write_schema

    schema = _find_schema(*options.what)
    if options.json:
        screen.document(schema)
    else:
        print(write_schema(schema), end="")
    return 0


def _find_schema(kind: str = "settings", name: str | None = None, *more: str) -> dict[str, object]:
    from hookline._support.nearest import name_hint
    from hookline.settings import schema

    names = ", ".join(HookEventName)
    if kind in (*HookEventName, *schema.list_foreign_names()):
        raise CommandError(f"{kind} is an event; write `hookline schema event {kind}`")
    if kind not in KINDS:
        raise CommandError(f"there is no schema {kind!r}; {name_hint(kind, KINDS)}")
    if more or (name is not None and kind != "event"):
        raise CommandError("name one schema; `hookline schema --help` shows how")
    if kind == "settings":
        return schema.settings_schema()
    if kind == "hooktest":
        from hookline.hooktests.schema import hooktest_schema

        return hooktest_schema()
    if name is None:
        raise CommandError(f"name an event after `hookline schema event`; the events are {names}")
    event = read_event_name("", name)
    if not isinstance(event, HookEventName):
        raise CommandError(
            f"{event} is only Claude Code's and has no schema; the events with one are {names}"
        )
    return schema.event_schema(event)
