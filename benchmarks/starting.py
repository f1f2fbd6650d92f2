"""Measures start-up, which every ``hookline`` command pays for: whole processes."""

import json
import os
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.installed import Environment
from benchmarks.peer import Peer
from benchmarks.sampling import Group, Measurement, Run, Workload

# The names that an agent starts with.
_ENGINE = "from hookline import Config, HookSystem"


def starting(environment: Environment, scratch: Path) -> Group:
    """Importing the package, and commands that do almost nothing."""
    project, large = _project(scratch / "few", 5), _project(scratch / "many", 200)

    def hookline(verb: str, where: Path, what: str = "") -> Workload:
        return Workload(f"hookline {verb}{what}", running([str(environment.hookline), verb], where))

    bare = Workload("python -c pass", running([str(environment.python), "-c", "pass"], project))
    package = _python("import hookline", environment, project)
    engine = _python(_ENGINE, environment, project)
    return Group(
        30,
        [
            Measurement(ours=package, baseline=bare, unit="ms"),
            Measurement(ours=engine, baseline=bare, unit="ms"),
            Measurement(ours=hookline("--version", project), baseline=bare, unit="ms"),
            Measurement(ours=hookline("list", project), baseline=bare, unit="ms"),
            *(
                Measurement(
                    ours=hookline(verb, large, ", 200 hooks"), baseline=bare, unit="ms", target=15
                )
                for verb in ("list", "check")
            ),
        ],
    )


def starting_beside(peer: Peer, environment: Environment, scratch: Path) -> Group:
    """Importing the engine, ours and the peer's: few samples, as each takes seconds."""
    project = _project(scratch / "few", 5)
    theirs = Workload("peer", running(peer.import_command, project))
    ours = _python(_ENGINE, environment, project)
    return Group(5, [Measurement(ours=ours, baseline=theirs, unit="ms")])


def running(argv: Sequence[str], directory: Path, *, stdin: bytes = b"") -> Run:
    """Return a function that measures a process, which must succeed."""
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


def _project(home: Path, count: int) -> Path:
    """Make a project with hooks, in a home directory without any."""
    settings = home / "project" / ".hookline" / "settings.json"
    settings.parent.mkdir(parents=True, exist_ok=True)
    matchers = ["write_file", "read_file|glob", "^run_.*$", "replace"]
    hooks = [
        {
            "matcher": matchers[number % len(matchers)],
            "hooks": [{"type": "command", "name": f"hook {number}", "command": f"true {number}"}],
        }
        for number in range(count)
    ]
    settings.write_text(json.dumps({"hooks": {"BeforeTool": hooks}}))
    return settings.parents[1]
