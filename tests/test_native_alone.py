"""Where nobody has configured anything of Claude Code's, nothing of it is loaded."""

import subprocess
import sys

import pytest

from tests.harness.scratch import Project

PROGRAM = """
import sys
from hookline import Hooks

hooks = Hooks.load(".", trusted=True)
hooks.on("BeforeTool", matcher="ask")(lambda event: {"decision": "ask", "reason": "sure?"})
face = hooks.sync
face.session_start()
face.before_agent("hello")
face.run_tool(print, {"sep": "-"}, name="ask", confirm=lambda request: True)
face.run_tool(print, {"sep": "-"}, name="shell")
face.after_agent("hello", "bye")
face.pre_compress()
face.notification("done")
face.fire("BeforeTool", {"tool_name": "shell", "tool_input": {}})
face.session_end()
hooks.close()
print(*(name for name in sys.modules if "claude" in name.lower()), file=sys.stderr)
"""


@pytest.mark.parametrize("settings", [{}, {"claude": False}])
def test_an_agent_with_native_hooks_loads_nothing_of_claude_codes(
    project: Project, settings: dict[str, bool]
) -> None:
    command = {"type": "command", "command": "true"}
    events = ("BeforeTool", "AfterTool", "BeforeAgent", "SessionStart", "PreCompress")
    project.settings({**settings, "hooks": {e: [{"hooks": [command]}] for e in events}})
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=project.path, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr.strip()) == (0, "")
