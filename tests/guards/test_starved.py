"""Without descriptors, threads, memory or imports a guard still blocks, and nothing is raised."""

import itertools
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.guards.starved import SOURCES, settings
from tests.harness.scratch import Project

pytestmark = pytest.mark.slow

LACKS = ("descriptors", "threads", "imports", "memory")
CASES = [
    (lack, when, source)
    for lack, when, source in itertools.product(LACKS, ("first", "later"), SOURCES)
    # Without the superuser's rights the program cannot read the files of a test.
    if (lack, source) != ("threads", "files")
]


def run(script: list[str], **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **variables}
    command = [sys.executable, *script]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment)


@pytest.mark.parametrize(("lack", "when", "source"), CASES)
def test_a_guard_blocks_at_every_door_whatever_the_process_lacks(
    project: Project, lack: str, when: str, source: str
) -> None:
    if lack in ("threads", "memory") and sys.platform != "linux":
        pytest.skip("only Linux limits the threads and the memory of a process")
    project.settings({"hooks": settings()})
    program = Path(__file__).with_name("starved.py")
    done = run([str(program), lack, when, source, str(project.path)])
    outcomes = [line.split("\t") for line in done.stdout.splitlines()]
    assert outcomes, done.stderr
    assert [(door, word) for door, _, word in outcomes if word.startswith("raised")] == []
    assert {word for _, tool, word in outcomes if tool == "guarded"} == {"blocked"}
    # Which hooks there are is not known: before the settings are read, before there is memory for
    # the engine, or under a name of Claude Code's that could not be looked up.
    is_unread = lack == "memory" or (source == "files" and lack == "descriptors")
    is_unread = is_unread and when == "first"
    free = {
        word
        for door, tool, word in outcomes
        if tool == "free" and "claude" not in door and "another name" not in door
    }
    assert free <= ({"allowed", "blocked"} if is_unread else {"allowed"})


# Nothing is loaded but what a hook system loads itself.
BARE = """
import sys
from hookline.contract import Config
from hookline.contract import HookSystem

class Refusing:
    def find_spec(self, name, path, target=None):
        raise ImportError(f"{name} cannot be imported any more")

hook = {"type": "command", "command": "exit 0", "onFailure": sys.argv[1]}
hooks = {event: [{"hooks": [hook]}] for event in ("BeforeTool", "BeforeModel", "BeforeAgent")}
system = HookSystem(Config(hooks=hooks))
sys.meta_path.insert(0, Refusing())
request = {"model": "m", "contents": "hi"}
for event, fields in (
    ("BeforeTool", {"tool_name": "t", "tool_input": {}, "mcp_context": {"server_name": "s"}}),
    ("BeforeTool", {"tool_name": 5}),
    ("BeforeModel", {"llm_request": request}),
    ("BeforeAgent", {"prompt": "hi"}),
    ("PreToolUse", {"tool_name": "t", "tool_input": {}}),
    ("BeforeTol", {}),
):
    answer = system.fire_blocking(event, fields)
    print(answer.blocked, bool(answer.errors), answer.is_synthetic, answer.reason is not None)
"""


@pytest.mark.parametrize("trace", ["", "1"])
@pytest.mark.parametrize(("on_failure", "blocked"), [("block", "True"), ("allow", "False")])
def test_the_way_to_a_failure_imports_nothing(
    tmp_path: Path, on_failure: str, blocked: str, trace: str
) -> None:
    done = run(["-c", BARE, on_failure], HOOKLINE_TRACE=trace, XDG_STATE_HOME=str(tmp_path))
    assert done.stdout.split("\n") == [f"{blocked} True False {blocked}"] * 6 + [""], done.stderr


OVER_A_BUS = """
import asyncio, os, resource, sys
from hookline import Hooks
from hookline.bus import InProcessMessageBus
hooks = Hooks(remote_bus=InProcessMessageBus(), remote_timeout=0.1, on_unavailable=sys.argv[1])
if sys.argv[2] == "later":
    hooks.sync.notification("the first event")
lowest = os.open(os.devnull, os.O_RDONLY)
resource.setrlimit(resource.RLIMIT_NOFILE, (lowest, lowest))
print(hooks.sync.before_tool("shell", {}).blocked)
sys.stdout.flush()
os._exit(0)
"""


@pytest.mark.parametrize("when", ["first", "later"])
@pytest.mark.parametrize(("meaning", "blocked"), [("block", "True"), ("allow", "False")])
def test_over_a_bus_what_an_outage_means_decides(meaning: str, blocked: str, when: str) -> None:
    done = run(["-c", OVER_A_BUS, meaning, when])
    assert done.stdout.strip() == blocked, done.stderr
    assert "Too many open files" in done.stderr


HALFWAY = """
import os, resource, sys
from hookline import Hooks
hook = {"type": "command", "command": "exit 0", "onFailure": sys.argv[1]}
hooks = Hooks(hooks={"AfterTool": [{"hooks": [hook]}]})

def tool():
    lowest = os.open(os.devnull, os.O_RDONLY)
    resource.setrlimit(resource.RLIMIT_NOFILE, (lowest, lowest))
    return "a secret"

print(hooks.sync.run_tool(tool, {}).llm_content)
"""


@pytest.mark.parametrize(("on_failure", "is_shown"), [("block", False), ("allow", True)])
def test_a_tool_that_leaves_no_descriptor_shows_its_result_to_no_one_unchecked(
    on_failure: str, is_shown: bool
) -> None:
    done = run(["-c", HALFWAY, on_failure])
    assert (done.stdout == "a secret\n") is is_shown, done.stderr
    assert done.stdout
