"""A project with a guard that somebody has reviewed, and ways to fire an event at it."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hookline.contract import Config, HookSystem
from hookline.pipeline.answer import Answer
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


def trust(project: Path, **options: Any) -> str:
    """Review the project as it is now, and accept every open hook."""
    return TrustStore().write(Config.load(project, **options).project.review())


@contextmanager
def running(where: Path, **options: Any) -> Iterator[HookSystem]:
    """The hooks of a process that goes on."""
    system = Config.load(where, **options).get_hook_system()
    assert system is not None
    try:
        yield system
    finally:
        system.dispose()


def fire(where: Path, event: str = "BeforeTool", **options: Any) -> Answer:
    """What a new process would answer to an event."""
    with running(where, **options) as system:
        return system.fire_blocking(event, TOOL if event == "BeforeTool" else {"prompt": "hi"})


def find_notices(where: Path) -> list[str]:
    """What people are told of guards that go on as they were reviewed."""
    problems = Config.load(where).get_settings().problems
    return [problem.text for problem in problems if problem.kind == "guard-kept"]


def write_user_settings(home: Path, data: Any) -> Path:
    file = home / ".config" / "hookline" / "settings.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(data))
    return file
