"""Measures hooks that are scripts: without a shell, and with an interpreter already running."""

import json
import os
import shutil
import subprocess
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from pathlib import Path

import msgspec

from benchmarks import fixtures
from benchmarks.command_hooks import firing_case
from benchmarks.hooks import CommandCase, Scripts
from benchmarks.installed import Environment
from benchmarks.sampling import Group, Loop, Measurement, Workload, awaiting, calling
from hookline import Config, HookSystem
from hookline.trust.store import TrustStore
from hookline.wire import codec


def directly(loop: Loop, scripts: Scripts, stack: ExitStack) -> Group:
    """An ``sh`` script that is one plain word, beside the same in a command that needs a shell."""
    plain = CommandCase("direct", "./hook.sh, an sh script", f"./{scripts.shell.name}")
    # The cheapest thing that only a shell can do: exec replaces it by the script without a fork.
    shell = CommandCase("shell", "the same through bash", f"exec ./{scripts.shell.name}")
    ours, baseline = (firing_case(case, loop, scripts.directory, stack) for case in (plain, shell))
    return Group(100, [Measurement(ours=ours, baseline=baseline, unit="ms", target=0.7)])


def reviewed(loop: Loop, scripts: Scripts, scratch: Path, stack: ExitStack) -> Group:
    """A reviewed guard, which runs from its copy, beside a reviewed hook that runs in place."""
    os.environ["HOOKLINE_STATE_DIR"] = str(scratch / "state")
    guard, hook = (
        Workload(title, awaiting(loop, _fire_reviewed(scripts, scratch / kind, kind, stack)))
        for title, kind in (("a guard, from its copy", "block"), ("a hook, in place", "allow"))
    )
    return Group(100, [Measurement(ours=guard, baseline=hook, unit="ms", target=1.05)])


def _fire_reviewed(
    scripts: Scripts, project: Path, kind: str, stack: ExitStack
) -> Callable[[], Awaitable[object]]:
    (project / "hooks").mkdir(parents=True)
    shutil.copy(scripts.shell, project / "hooks" / "hook.sh")
    hook = {"type": "command", "command": "hooks/hook.sh", "onFailure": kind}
    settings = project / ".hookline" / "settings.json"
    settings.parent.mkdir()
    settings.write_text(json.dumps({"hooks": {"BeforeTool": [{"hooks": [hook]}]}}))
    TrustStore().write(Config.load(project).project.review())
    system = HookSystem(Config.load(project))
    stack.callback(system.dispose)
    system.initialize_blocking()
    handler = system.get_event_handler()
    return lambda: handler.fire_before_tool_event(fixtures.TOOL_NAME, {})


def python(
    loop: Loop,
    scripts: Scripts,
    environment: Environment,
    stack: ExitStack,
) -> Group:
    """A Python script, cold and warm, run by an interpreter with nothing installed beside us."""
    case = scripts.python_hook()
    cold = firing_case(case, loop, scripts.directory, stack)
    argv = [str(environment.python), str(scripts.python)]
    payload = codec.encode(fixtures.event(case.tool_input))
    bare = Workload("python hook.py", calling(_run, argv, payload))
    kept = msgspec.structs.replace(case, title=f"{case.title}, warm")
    warm = firing_case(kept, loop, scripts.directory, stack, warm=True)
    return Group(
        30,
        [
            Measurement(ours=cold, baseline=bare, unit="ms", peer=case.name),
            Measurement(
                ours=warm, baseline=cold, unit="ms", target=0.12, peer=case.name, peer_target=0.08
            ),
        ],
    )


def _run(argv: list[str], payload: bytes) -> None:
    subprocess.run(argv, input=payload, stdout=subprocess.PIPE, check=True)
