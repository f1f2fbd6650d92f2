"""Where files are, as the code finds them on each platform."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

from hookline.trace.records import MAX_FILE_BYTES, OLDER_FILES
from tools.reference.markdown import code, page, table

_HOME = "/the-home-of-the-user"
_PLATFORMS = {"linux": "Linux", "darwin": "macOS"}
# platformdirs chooses by the platform when it is imported, so each platform has a process.
_FIND = """
import json, sys
sys.platform = sys.argv[1]
from hookline.trace.records import default_trace_path
from hookline.dialects.claude.settings import _find_data_folder
from hookline.runner.invocation import _choose_bytecode_place
from hookline.settings.reader import find_foreign_files, find_settings_files
from hookline._support.places import home_dir, hook_state_dir, user_config_dir, user_state_dir
from hookline.trust.store import TrustStore
home, project = home_dir(), "/PROJECT"
def paths(files, source):
    return [file.path for file in files if file.source == source]
own, claude = find_settings_files(project, home), find_foreign_files(project, home)
print(json.dumps({
    "project": paths(own, "project"),
    "user": paths(own, "user"),
    "system": paths(own, "system"),
    "claude": [file.path for file in claude],
    "config": user_config_dir(),
    "state": user_state_dir(),
    "trust": TrustStore().folder_of("/NAME"),
    "hooks": hook_state_dir("/NAME"),
    "trace": default_trace_path(),
    "plugins": _find_data_folder("NAME"),
    "bytecode": _choose_bytecode_place({}, project)["PYTHONPYCACHEPREFIX"],
}))
"""


def render() -> str:
    found = {name: _find(name) for name in _PLATFORMS}
    linux = found["linux"]
    names = list(_PLATFORMS.values())
    kept = [
        ("reviews of projects (`hookline trust`)", "trust", "0400 in folders of 0700"),
        ("what a project's hooks write (`HOOKLINE_HOOK_STATE`)", "hooks", "the hooks'"),
        ("the trace (`hookline trace`)", "trace", "0600"),
        ("files of Claude Code's plugins", "plugins", "the plugin's"),
        ("compiled Python of hooks (a cache)", "bytecode", "Python's"),
    ]
    return page(
        "Files",
        "On Linux `~/.config` is `XDG_CONFIG_HOME` and `~/.local/state` is `XDG_STATE_HOME`, if "
        "they are set; `HOOKLINE_STATE_DIR` moves what is kept on every platform. Other platforms "
        "than these two go by `platformdirs`.",
        "## Settings",
        "All that exist are read, in this order: the project's, yours, the system's.",
        table(
            ("layer", *names),
            [
                *_rows("system policy", "system", found),
                *_rows("user", "user", found),
            ],
        ),
        "The **system policy file** holds for all users. No variable and no option moves it.",
        "A project has, on every platform:",
        table(("layer", "file"), [("project", code(_shown(path))) for path in linux["project"]]),
        "Its folder is the nearest upwards from the working directory that has a `.hookline`, "
        "`.llxprt` or `.gemini` folder, else the working directory itself. `settings.local.json` "
        "is for what is not committed. `--settings FILE` takes the place of your and the project's "
        "files, never of the system's.",
        "## Claude Code's settings",
        'Read only if somebody asks for them: `"claude": true` in settings, or `--claude`.',
        table(
            ("layer", *names),
            [
                (layer, *(code(_shown(found[name]["claude"][place])) for name in _PLATFORMS))
                for place, layer in enumerate(("project", "project", "user", "managed, for all"))
            ],
        ),
        "## Kept by hookline",
        table(
            ("what", *names, "mode"),
            [
                (what, *(code(_shown(found[name][key])) for name in _PLATFORMS), mode)
                for what, key, mode in kept
            ],
        ),
        f"`NAME` is made of the project's path, or is the plugin's name. The trace is rotated at "
        f"{MAX_FILE_BYTES // 1024 // 1024} MiB; {OLDER_FILES} older files "
        f"(`{os.path.basename(linux['trace'])}.1` …) are kept; `HOOKLINE_TRACE_MB` and "
        "`HOOKLINE_TRACE_FILES` set other numbers. Nothing is kept in a cache folder "
        "of the system. Working files of a hook test or a demo are in `TMPDIR`, and go with it.",
        "Settings that hookline changes (`enable`, `disable`, `init`, `migrate`, `check --fix`) "
        "keep their mode; `migrate` leaves a copy beside them (`settings.json.bak`).",
        "## Files of a project",
        table(
            ("file", "what it is", "commit it"),
            [
                ("`.hookline/settings.json`", "the project's settings", "yes"),
                ("`.hookline/settings.local.json`", "your own, for this project", "no"),
                ("`.hookline/settings.schema.json`", "what editors check settings by", "yes"),
                ("`.hookline/hooks/`", "scripts that `hookline init` makes", "yes"),
                ("`.hookline/tests/*.hooktest.json`", "tests of hooks", "yes"),
            ],
        ),
        "Hooks of a project run after a review: `hookline trust`.",
        "## What may be deleted",
        "- The trace, and compiled Python: at any time. Nothing depends on them.\n"
        "- Reviews: the project's hooks do not run until somebody reviews them again.\n"
        "- What plugins keep: theirs to know.",
        "## Uninstall",
        "`pip uninstall hookline` removes the program. What stays, and may be removed:",
        table(
            ("what", *names),
            [
                ("your settings", *(code(_shown(found[name]["config"])) for name in _PLATFORMS)),
                ("what was kept", *(code(_shown(found[name]["state"])) for name in _PLATFORMS)),
                *_rows("system policy", "system", found),
            ],
        ),
        "And in each project `.hookline`, and the completion script if you installed one. Agents "
        "that call `hookline` as a gate, or through `hookline mcp`, need another way first.",
    )


def _find(platform: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-c", _FIND, platform],
        env={"HOME": _HOME, "PATH": os.defpath},
        capture_output=True,
        text=True,
        check=True,
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _rows(layer: str, key: str, found: dict[str, dict[str, Any]]) -> Iterator[list[str]]:
    for paths in zip(*(found[name][key] for name in _PLATFORMS), strict=True):
        yield [layer, *(code(_shown(path)) for path in paths)]


def _shown(path: str) -> str:
    path = re.sub(r"NAME-[0-9a-f]{8}", "NAME-NUMBER", path)
    return path.replace(_HOME, "~").removeprefix("/PROJECT/")
