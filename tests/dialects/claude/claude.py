"""Settings and plugins of Claude Code's, where it keeps them."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hookline._support.places import system_settings_file
from hookline.contract import Config
from hookline.dialects import list_managed_settings
from hookline.settings.reader import EffectiveSettings

PROJECT_FILE = ".claude/settings.json"
LOCAL_FILE = ".claude/settings.local.json"


def hooks(
    *commands: str | dict[str, Any], event: str = "PreToolUse", **more: Any
) -> dict[str, Any]:
    """Settings with one definition; a word is a command."""
    listed = [{"type": "command", "command": c} if isinstance(c, str) else c for c in commands]
    return {"hooks": {event: [{"hooks": listed}]}, **more}


def http(url: str = "https://example.org/hook", **more: Any) -> dict[str, Any]:
    return {"type": "http", "url": url, **more}


def write(path: Path, data: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(data if isinstance(data, str) else json.dumps(data))
    return path


def user_file() -> Path:
    return Path(os.environ["HOME"], ".claude", "settings.json")


def managed_file() -> Path:
    [path] = list_managed_settings("claude")
    return Path(path)


def system_file() -> Path:
    return Path(system_settings_file())


def own_user_file() -> Path:
    return Path(os.environ["XDG_CONFIG_HOME"], "hookline", "settings.json")


def plugin(
    folder: Path,
    data: object = None,
    *,
    manifest: Mapping[str, Any] | None = None,
    files: Mapping[str, str] | None = None,
) -> Path:
    """A plugin's folder: its ``hooks/hooks.json``, its manifest, and further files."""
    folder.mkdir(parents=True, exist_ok=True)
    if data is not None:
        write(folder / "hooks" / "hooks.json", data)
    if manifest is not None:
        write(folder / ".claude-plugin" / "plugin.json", manifest)
    for name, text in (files or {}).items():
        write(folder / name, text)
    return folder


def load(project: Path, **options: Any) -> EffectiveSettings:
    return Config.load(project, **{"trusted": True, **options}).get_settings()


def names(settings: EffectiveSettings) -> list[str]:
    return [f"{entry.source.value} {entry.name}" for entry in settings.entries]


def kinds(settings: EffectiveSettings) -> list[str]:
    return [problem.kind for problem in settings.problems]
