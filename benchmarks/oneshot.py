"""Measures ``hookline fire`` as a shell script calls it: a process for every event."""

import json
import subprocess
from pathlib import Path

from benchmarks import fixtures
from benchmarks.hooks import HOOK, Scripts
from benchmarks.installed import Environment
from benchmarks.peer import Peer
from benchmarks.sampling import Group, Measurement, Run, Workload
from benchmarks.starting import running
from hookline.wire import codec


def oneshot(environment: Environment, scripts: Scripts) -> Group:
    """Compared with an interpreter that does nothing, then the hook."""
    ours = _fire(environment, scripts)
    bare = Workload("python -c pass, then the hook", _interpreter_and_hook(environment, scripts))
    return Group(30, [Measurement(ours=ours, baseline=bare, unit="ms", target=4)])


def oneshot_beside(peer: Peer, environment: Environment, scripts: Scripts) -> Group:
    """Compared with the peer up to its first decision: few samples, as each takes seconds."""
    argv = peer.oneshot_command(HOOK, fixtures.TOOL_NAME, fixtures.TOOL_INPUT)
    theirs = Workload("peer", running(argv, scripts.directory))
    ours = _fire(environment, scripts)
    return Group(5, [Measurement(ours=ours, baseline=theirs, unit="ms", target=0.08)])


def _fire(environment: Environment, scripts: Scripts) -> Workload:
    settings = scripts.directory / "settings.json"
    hook = {"type": "command", "command": HOOK}
    settings.write_text(json.dumps({"hooks": {"BeforeTool": [{"hooks": [hook]}]}}))
    event = ["BeforeTool", "--tool", fixtures.TOOL_NAME]
    tool_input = ["--tool-input", json.dumps(fixtures.TOOL_INPUT)]
    argv = [str(environment.hookline), "fire", *event, *tool_input, "--settings", str(settings)]
    _expect_go(argv, scripts.directory)
    return Workload("hookline fire, one command hook", running(argv, scripts.directory))


def _expect_go(argv: list[str], directory: Path) -> None:
    done = subprocess.run([*argv, "--json"], cwd=directory, check=True, stdout=subprocess.PIPE)
    (result,) = json.loads(done.stdout)["results"]
    if not result["success"]:
        raise RuntimeError(f"hookline fire: {result}")


def _interpreter_and_hook(environment: Environment, scripts: Scripts) -> Run:
    payload = codec.encode(fixtures.event(fixtures.TOOL_INPUT))
    interpreter = running([str(environment.python), "-c", "pass"], scripts.directory)
    hook = running(["bash", "--norc", "-p", "-c", "--", HOOK], scripts.directory, stdin=payload)

    def run(iterations: int) -> float:
        return sum(interpreter(1) + hook(1) for _ in range(iterations))

    return run
