"""A project with a guard that somebody has reviewed, and ways to fire an event at it."""

import json
from pathlib import Path
from typing import Any

from hookline.answer import Answer
from hookline.config import Config
from hookline.trust.store import TrustStore
from tests.harness.scratch import Project

TOOL = {"tool_name": "write_file", "tool_input": {"path": "x"}}
DENYING = "#!/bin/sh\necho no >&2\nexit 2\n"
PASSING = "#!/bin/sh\nexit 0\n"


def hook(command: str = "hooks/guard.sh", **fields: Any) -> dict[str, Any]:
    return {"type": "command", "command": command, "name": "guard", "onFailure": "block", **fields}


def settings_of(*hooks: dict[str, Any], matcher: str = "write_file", **more: Any) -> dict[str, Any]:
    """Settings with hooks before a tool; ``more`` is for the ``hooks`` object."""
    return {"hooks": {"BeforeTool": [{"matcher": matcher, "hooks": list(hooks)}], **more}}


def guard_project(project: Project, *hooks: dict[str, Any]) -> None:
    """A guard that denies, and passes nothing by failing."""
    project.script("hooks/guard.sh", DENYING)
    project.settings(settings_of(*(hooks or (hook(),))))


def trust(project: Path) -> str:
    return TrustStore().write(Config.load(project).review_project())


def fire(where: Path, event: str = "BeforeTool", **options: Any) -> Answer:
    """What a new process would answer to an event."""
    config = Config.load(where, **options)
    system = config.get_hook_system()
    assert system is not None
    try:
        return system.fire_blocking(event, TOOL if event == "BeforeTool" else {"prompt": "hi"})
    finally:
        system.dispose()


def write_user_settings(home: Path, data: Any) -> Path:
    file = home / ".config" / "hookline" / "settings.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(data))
    return file
