"""Start-up, which every ``hookline`` command pays: whole processes, from start to exit."""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks import fixtures
from benchmarks.peer import Peer
from benchmarks.sampling import Group, Measurement, Run, Workload

# What an installed console script does, for an interpreter without one beside it.
_COMMAND = "import sys; from hookline.cli import main; sys.exit(main())"


# The names that an agent starts with.
_ENGINE = "from hookline import Config, HookSystem"


def starting(scratch: Path) -> Group:
    """Importing the package, and the commands that do next to nothing."""
    project = _project(scratch)

    def hookline(verb: str) -> Workload:
        return Workload(f"hookline {verb}", running([*_hookline(), verb], project))

    bare = Workload("python -c pass", running([sys.executable, "-c", "pass"], project))
    package = _python("import hookline", project)
    engine = _python(_ENGINE, project)
    return Group(
        40,
        [
            Measurement(ours=package, baseline=bare, unit="ms"),
            Measurement(ours=engine, baseline=bare, unit="ms"),
            Measurement(ours=hookline("--version"), baseline=bare, unit="ms"),
            Measurement(ours=hookline("list"), baseline=bare, unit="ms"),
        ],
    )


def starting_beside(peer: Peer, scratch: Path) -> Group:
    """Importing the engine, ours and the peer's: seconds a sample, so only a few."""
    project = _project(scratch)
    theirs = Workload("peer", running(peer.import_command, project))
    return Group(5, [Measurement(ours=_python(_ENGINE, project), baseline=theirs, unit="ms")])


def running(argv: Sequence[str], directory: Path) -> Run:
    """The time of a process that must end well."""
    kept = ("PATH", "PYTHONPATH", "PYTHONDONTWRITEBYTECODE")
    environment = {name: os.environ[name] for name in kept if name in os.environ}
    environment["HOME"] = str(directory.parent)

    def run(iterations: int) -> float:
        started = time.perf_counter()
        for _ in range(iterations):
            subprocess.run(
                argv, cwd=directory, env=environment, check=True, stdout=subprocess.DEVNULL
            )
        return time.perf_counter() - started

    return run


def _python(code: str, project: Path) -> Workload:
    return Workload(code, running([sys.executable, "-c", code], project))


def _project(scratch: Path) -> Path:
    """A project with a few hooks, in a home directory without any."""
    settings = scratch / "project" / ".hookline" / "settings.json"
    settings.parent.mkdir(parents=True, exist_ok=True)
    hooks = [
        {"matcher": matcher, "hooks": [{"type": "command", "command": "true"}]}
        for matcher in fixtures.MATCHING_MATCHERS[:5]
    ]
    settings.write_text(json.dumps({"hooks": {"BeforeTool": hooks}}))
    return settings.parents[1]


def _hookline() -> list[str]:
    script = shutil.which("hookline", path=sysconfig.get_path("scripts"))
    return [script] if script else [sys.executable, "-c", _COMMAND]
