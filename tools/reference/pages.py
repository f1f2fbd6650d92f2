"""Which pages there are, and what renders each."""

from collections.abc import Callable, Mapping
from functools import partial

from hookline.wire.events import HookEventName
from tools.reference import (
    api,
    commands,
    environment,
    events,
    exit_codes,
    failures,
    files,
    fire_json,
    index,
    matchers,
    settings,
)

PAGES: Mapping[str, Callable[[], str]] = {
    "index.md": index.render,
    "events/index.md": events.render_index,
    **{
        f"events/{events.file_of(event)}": partial(events.render_event, event)
        for event in HookEventName
    },
    "settings.md": settings.render,
    "matchers.md": matchers.render,
    "exit-codes.md": exit_codes.render,
    "environment.md": environment.render,
    "files.md": files.render,
    "fire-json.md": fire_json.render,
    "failures.md": failures.render,
    "commands.md": commands.render,
    "api.md": api.render,
}


def render_pages() -> dict[str, str]:
    """Every page by its place below docs/reference."""
    return {name: render() for name, render in PAGES.items()}
