"""Checks that the wheel works without this tree: installed alone, it blocks a real tool call.

``python tools/wheel_check.py [WHEEL]``; without one it builds the wheel of this tree.
"""

import json
import os
import subprocess
import sys
import tempfile
import venv
import zipfile
from collections.abc import Sequence
from pathlib import Path

_ROOT = Path(__file__).parents[1]
_PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check")
_HOOK = """#!/bin/sh
grep -q AKIA || exit 0
echo 'that is a key' >&2
exit 2
"""
_SETTINGS = {
    "hooks": {
        "BeforeTool": [
            {
                "matcher": "write_file",
                "hooks": [{"type": "command", "name": "keys", "command": "./keys.sh"}],
            }
        ]
    }
}


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="hookline-wheel-") as scratch:
        given = sys.argv[1:]
        wheel = Path(given[0]).resolve() if given else _build(Path(scratch) / "dist")
        _check_names(wheel)
        command = _install(wheel, Path(scratch) / "environment")
        project = _make_project(Path(scratch) / "project")
        version = _run([command, "--version"], cwd=project).strip()
        _expect(version.endswith(_version_of(wheel)), f"--version says {version!r}")
        _expect_fire(command, project, content="AKIA0123456789", status=2)
        _expect_fire(command, project, content="nothing", status=0)
        # Both copy files that are not modules.
        made = json.loads(_run([command, "init", "--name", "first", "--json"], cwd=project))
        _expect(Path(made["script"]).is_file(), f"init made {made}")
        played = json.loads(_run([command, "demo", "--json"], cwd=project))
        _expect(played["summary"]["blocked"] > 0, f"the demo is {played['summary']}")
    print(f"{wheel.name}: --version, fire, init and demo work in an empty environment")
    return 0


def _build(directory: Path) -> Path:
    """Build with the installed backend, so that nothing is downloaded."""
    options = ["--no-deps", "--no-build-isolation", "--wheel-dir", str(directory)]
    _run([*_PIP, "wheel", "-qq", *options, _ROOT], cwd=_ROOT)
    (wheel,) = directory.glob("*.whl")
    return wheel


def _check_names(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    _expect("hookline/py.typed" in names, "py.typed is not in the wheel")
    strangers = {name.partition("/")[0] for name in names} - {"hookline"}
    _expect(all(name.endswith(".dist-info") for name in strangers), f"the wheel has {strangers}")


def _install(wheel: Path, environment: Path) -> Path:
    venv.create(environment, symlinks=True)
    python = environment / "bin" / "python"
    constraints = _ROOT / "constraints.txt"
    _run([*_PIP, "--python", python, "install", "-qq", "-c", constraints, wheel], cwd=_ROOT)
    return environment / "bin" / "hookline"


def _make_project(project: Path) -> Path:
    (project / ".hookline").mkdir(parents=True)
    (project / ".hookline" / "settings.json").write_text(json.dumps(_SETTINGS))
    (project / "keys.sh").write_text(_HOOK)
    (project / "keys.sh").chmod(0o755)
    return project


def _expect_fire(command: Path, project: Path, *, content: str, status: int) -> None:
    tool_input = json.dumps({"path": "a.txt", "content": content})
    fire = [str(command), "fire", "BeforeTool", "--tool", "write_file", "--tool-input", tool_input]
    answer = json.loads(_run([*fire, "--trust", "--json"], cwd=project, status=status))
    _expect(answer["plan"]["hooks"] == ["keys"], f"the plan is {answer['plan']}")
    _expect(answer["view"]["blocked"] is (status == 2), f"the answer is {answer}")


def _version_of(wheel: Path) -> str:
    return wheel.name.split("-")[1]


def _run(command: Sequence[str | Path], *, cwd: Path, status: int = 0) -> str:
    # With a PYTHONPATH the tree could be imported in place of the wheel.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True)
    printed = f"{done.stdout}{done.stderr}"
    _expect(done.returncode == status, f"{command} ended with {done.returncode}:\n{printed}")
    return done.stdout


def _expect(truth: bool, otherwise: str) -> None:
    if not truth:
        sys.exit(f"wheel check: {otherwise}")


if __name__ == "__main__":
    sys.exit(main())
