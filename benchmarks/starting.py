"""Start-up, which every ``hookline`` command pays: whole processes, from start to exit."""

import json
import os
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks import fixtures
from benchmarks.installed import Environment
from benchmarks.peer import Peer
from benchmarks.sampling import Group, Measurement, Run, Workload

# The names that an agent starts with.
_ENGINE = "from hookline import Config, HookSystem"


def starting(environment: Environment, scratch: Path) -> Group:
    """Importing the package, and the commands that do next to nothing."""
    project = _project(scratch)

    def hookline(verb: str) -> Workload:
        return Workload(f"hookline {verb}", running([str(environment.hookline), verb], project))

    bare = Workload("python -c pass", running([str(environment.python), "-c", "pass"], project))
    package = _python("import hookline", environment, project)
    engine = _python(_ENGINE, environment, project)
    return Group(
        30,
        [
            Measurement(ours=package, baseline=bare, unit="ms"),
            Measurement(ours=engine, baseline=bare, unit="ms"),
            Measurement(ours=hookline("--version"), baseline=bare, unit="ms"),
            Measurement(ours=hookline("list"), baseline=bare, unit="ms"),
        ],
    )


def starting_beside(peer: Peer, environment: Environment, scratch: Path) -> Group:
    """Importing the engine, ours and the peer's: seconds a sample, so only a few."""
    project = _project(scratch)
    theirs = Workload("peer", running(peer.import_command, project))
    ours = _python(_ENGINE, environment, project)
    return Group(5, [Measurement(ours=ours, baseline=theirs, unit="ms")])


def running(argv: Sequence[str], directory: Path, *, stdin: bytes = b"") -> Run:
    """The time of a process that must end well."""
    environment = {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(directory.parent)}

    def run(iterations: int) -> float:
        started = time.perf_counter()
        for _ in range(iterations):
            subprocess.run(
                argv,
                cwd=directory,
                env=environment,
                check=True,
                input=stdin,
                stdout=subprocess.DEVNULL,
            )
        return time.perf_counter() - started

    return run


def _python(code: str, environment: Environment, project: Path) -> Workload:
    return Workload(code, running([str(environment.python), "-c", code], project))


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
